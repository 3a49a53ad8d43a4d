/*
 * What is not implemented: every function that clients of ROCm's runtime link or look up is there, and refuses by its name. Arguments
 * are passed in registers, and nobody looks at them.
 */
#include <stdio.h>

#include "runtime.h"

#define REFUSE(name) \
  EXPORT status_t name(void) { return refuse(#name); }
/* For what the attributes of GPUs promise. */
#define REFUSE_ALOUD(name) \
  EXPORT status_t name(void) { \
    static _Atomic bool is_said; \
    if (!is_said && runtime_is_live()) { \
      is_said = true; \
      fprintf(stderr, "wavewright: " #name ": there are no images and samplers\n"); \
    } \
    return refuse(#name); \
  }

REFUSE(hsa_amd_agent_set_async_scratch_limit)
REFUSE(hsa_amd_coherency_get_type)
REFUSE(hsa_amd_coherency_set_type)
REFUSE(hsa_amd_enable_logging)
REFUSE_ALOUD(hsa_amd_image_create)
REFUSE(hsa_amd_image_get_info_max_dim)
REFUSE(hsa_amd_interop_map_buffer)
REFUSE(hsa_amd_interop_unmap_buffer)
REFUSE(hsa_amd_memory_migrate)
REFUSE(hsa_amd_portable_close_dmabuf)
REFUSE(hsa_amd_portable_export_dmabuf)
REFUSE(hsa_amd_portable_export_dmabuf_v2)
REFUSE(hsa_amd_queue_intercept_create)
REFUSE(hsa_amd_queue_intercept_register)
REFUSE(hsa_amd_runtime_queue_create_register)
REFUSE(hsa_amd_spm_acquire)
REFUSE(hsa_amd_spm_release)
REFUSE(hsa_amd_spm_set_dest_buffer)
REFUSE(hsa_amd_svm_attributes_get)
REFUSE(hsa_amd_svm_attributes_set)
REFUSE(hsa_amd_svm_prefetch_async)
REFUSE(hsa_code_object_get_info)
REFUSE(hsa_code_object_get_symbol)
REFUSE(hsa_code_object_get_symbol_from_name)
REFUSE(hsa_code_object_iterate_symbols)
REFUSE(hsa_code_object_serialize)
REFUSE(hsa_code_symbol_get_info)
REFUSE(hsa_executable_iterate_program_symbols)
REFUSE(hsa_executable_load_program_code_object)
REFUSE(hsa_ext_image_clear)
REFUSE(hsa_ext_image_copy)
REFUSE_ALOUD(hsa_ext_image_create)
REFUSE_ALOUD(hsa_ext_image_create_with_layout)
REFUSE(hsa_ext_image_data_get_info)
REFUSE(hsa_ext_image_data_get_info_with_layout)
REFUSE(hsa_ext_image_destroy)
REFUSE(hsa_ext_image_export)
REFUSE(hsa_ext_image_get_capability)
REFUSE(hsa_ext_image_get_capability_with_layout)
REFUSE(hsa_ext_image_import)
REFUSE(hsa_ext_program_add_module)
REFUSE(hsa_ext_program_create)
REFUSE(hsa_ext_program_destroy)
REFUSE(hsa_ext_program_finalize)
REFUSE(hsa_ext_program_get_info)
REFUSE(hsa_ext_program_iterate_modules)
REFUSE_ALOUD(hsa_ext_sampler_create)
REFUSE_ALOUD(hsa_ext_sampler_create_v2)
REFUSE(hsa_ext_sampler_destroy)
REFUSE(hsa_soft_queue_create)
REFUSE(hsa_ven_amd_pcs_create)
REFUSE(hsa_ven_amd_pcs_create_from_id)
REFUSE(hsa_ven_amd_pcs_destroy)
REFUSE(hsa_ven_amd_pcs_flush)
REFUSE(hsa_ven_amd_pcs_iterate_configuration)
REFUSE(hsa_ven_amd_pcs_start)
REFUSE(hsa_ven_amd_pcs_stop)

/* `struct r_debug` for debuggers, as ROCm's: version, list of code objects, address to break at, state, base. Nothing is entered yet. */
EXPORT struct {
  int32_t version;
  void *list;
  uint64_t breakpoint;
  int32_t state;
  uint64_t base;
} _amdgpu_r_debug = {.version = 10};
