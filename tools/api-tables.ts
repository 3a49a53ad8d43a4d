/**
 * The tables of functions that ROCm's runtime hands to tools (`hsa_api_trace.h` of ROCr 6.x and of 2025, with
 * the same places): each export jumps through its entry, so that a tool that changes an entry sees all calls.
 * Made into `native/hsa/api-tables.h` by tools/native.ts.
 */

interface ApiTable {
  readonly major: number;
  readonly step: number;
  /** In the order of the table, which only ever grew at its end. */
  readonly functions: readonly string[];
}

const names = (text: string): string[] => text.trim().split(/\s+/);

/** In the order of `HsaApiTable`, whose own version is 3.1. */
export const API_TABLES = {
  core: {
    major: 2,
    step: 0,
    functions: names(`
  hsa_init hsa_shut_down hsa_system_get_info hsa_system_extension_supported hsa_system_get_extension_table
  hsa_iterate_agents hsa_agent_get_info hsa_queue_create hsa_soft_queue_create hsa_queue_destroy
  hsa_queue_inactivate hsa_queue_load_read_index_scacquire hsa_queue_load_read_index_relaxed
  hsa_queue_load_write_index_scacquire hsa_queue_load_write_index_relaxed hsa_queue_store_write_index_relaxed
  hsa_queue_store_write_index_screlease hsa_queue_cas_write_index_scacq_screl
  hsa_queue_cas_write_index_scacquire hsa_queue_cas_write_index_relaxed hsa_queue_cas_write_index_screlease
  hsa_queue_add_write_index_scacq_screl hsa_queue_add_write_index_scacquire hsa_queue_add_write_index_relaxed
  hsa_queue_add_write_index_screlease hsa_queue_store_read_index_relaxed hsa_queue_store_read_index_screlease
  hsa_agent_iterate_regions hsa_region_get_info hsa_agent_get_exception_policies
  hsa_agent_extension_supported hsa_memory_register hsa_memory_deregister hsa_memory_allocate hsa_memory_free
  hsa_memory_copy hsa_memory_assign_agent hsa_signal_create hsa_signal_destroy hsa_signal_load_relaxed
  hsa_signal_load_scacquire hsa_signal_store_relaxed hsa_signal_store_screlease hsa_signal_wait_relaxed
  hsa_signal_wait_scacquire hsa_signal_and_relaxed hsa_signal_and_scacquire hsa_signal_and_screlease
  hsa_signal_and_scacq_screl hsa_signal_or_relaxed hsa_signal_or_scacquire hsa_signal_or_screlease
  hsa_signal_or_scacq_screl hsa_signal_xor_relaxed hsa_signal_xor_scacquire hsa_signal_xor_screlease
  hsa_signal_xor_scacq_screl hsa_signal_exchange_relaxed hsa_signal_exchange_scacquire
  hsa_signal_exchange_screlease hsa_signal_exchange_scacq_screl hsa_signal_add_relaxed
  hsa_signal_add_scacquire hsa_signal_add_screlease hsa_signal_add_scacq_screl hsa_signal_subtract_relaxed
  hsa_signal_subtract_scacquire hsa_signal_subtract_screlease hsa_signal_subtract_scacq_screl
  hsa_signal_cas_relaxed hsa_signal_cas_scacquire hsa_signal_cas_screlease hsa_signal_cas_scacq_screl
  hsa_isa_from_name hsa_isa_get_info hsa_isa_compatible hsa_code_object_serialize hsa_code_object_deserialize
  hsa_code_object_destroy hsa_code_object_get_info hsa_code_object_get_symbol hsa_code_symbol_get_info
  hsa_code_object_iterate_symbols hsa_executable_create hsa_executable_destroy
  hsa_executable_load_code_object hsa_executable_freeze hsa_executable_get_info
  hsa_executable_global_variable_define hsa_executable_agent_global_variable_define
  hsa_executable_readonly_variable_define hsa_executable_validate hsa_executable_get_symbol
  hsa_executable_symbol_get_info hsa_executable_iterate_symbols hsa_status_string hsa_extension_get_name
  hsa_system_major_extension_supported hsa_system_get_major_extension_table
  hsa_agent_major_extension_supported hsa_cache_get_info hsa_agent_iterate_caches
  hsa_signal_silent_store_relaxed hsa_signal_silent_store_screlease hsa_signal_group_create
  hsa_signal_group_destroy hsa_signal_group_wait_any_scacquire hsa_signal_group_wait_any_relaxed
  hsa_agent_iterate_isas hsa_isa_get_info_alt hsa_isa_get_exception_policies hsa_isa_get_round_method
  hsa_wavefront_get_info hsa_isa_iterate_wavefronts hsa_code_object_get_symbol_from_name
  hsa_code_object_reader_create_from_file hsa_code_object_reader_create_from_memory
  hsa_code_object_reader_destroy hsa_executable_create_alt hsa_executable_load_program_code_object
  hsa_executable_load_agent_code_object hsa_executable_validate_alt hsa_executable_get_symbol_by_name
  hsa_executable_iterate_agent_symbols hsa_executable_iterate_program_symbols
`),
  },
  amdExt: {
    major: 2,
    step: 7,
    functions: names(`
  hsa_amd_coherency_get_type hsa_amd_coherency_set_type hsa_amd_profiling_set_profiler_enabled
  hsa_amd_profiling_async_copy_enable hsa_amd_profiling_get_dispatch_time
  hsa_amd_profiling_get_async_copy_time hsa_amd_profiling_convert_tick_to_system_domain
  hsa_amd_signal_async_handler hsa_amd_async_function hsa_amd_signal_wait_any hsa_amd_queue_cu_set_mask
  hsa_amd_memory_pool_get_info hsa_amd_agent_iterate_memory_pools hsa_amd_memory_pool_allocate
  hsa_amd_memory_pool_free hsa_amd_memory_async_copy hsa_amd_memory_async_copy_on_engine
  hsa_amd_memory_copy_engine_status hsa_amd_agent_memory_pool_get_info hsa_amd_agents_allow_access
  hsa_amd_memory_pool_can_migrate hsa_amd_memory_migrate hsa_amd_memory_lock hsa_amd_memory_unlock
  hsa_amd_memory_fill hsa_amd_interop_map_buffer hsa_amd_interop_unmap_buffer hsa_amd_image_create
  hsa_amd_pointer_info hsa_amd_pointer_info_set_userdata hsa_amd_ipc_memory_create hsa_amd_ipc_memory_attach
  hsa_amd_ipc_memory_detach hsa_amd_signal_create hsa_amd_ipc_signal_create hsa_amd_ipc_signal_attach
  hsa_amd_register_system_event_handler hsa_amd_queue_intercept_create hsa_amd_queue_intercept_register
  hsa_amd_queue_set_priority hsa_amd_memory_async_copy_rect hsa_amd_runtime_queue_create_register
  hsa_amd_memory_lock_to_pool hsa_amd_register_deallocation_callback hsa_amd_deregister_deallocation_callback
  hsa_amd_signal_value_pointer hsa_amd_svm_attributes_set hsa_amd_svm_attributes_get
  hsa_amd_svm_prefetch_async hsa_amd_spm_acquire hsa_amd_spm_release hsa_amd_spm_set_dest_buffer
  hsa_amd_queue_cu_get_mask hsa_amd_portable_export_dmabuf hsa_amd_portable_close_dmabuf
  hsa_amd_vmem_address_reserve hsa_amd_vmem_address_free hsa_amd_vmem_handle_create
  hsa_amd_vmem_handle_release hsa_amd_vmem_map hsa_amd_vmem_unmap hsa_amd_vmem_set_access
  hsa_amd_vmem_get_access hsa_amd_vmem_export_shareable_handle hsa_amd_vmem_import_shareable_handle
  hsa_amd_vmem_retain_alloc_handle hsa_amd_vmem_get_alloc_properties_from_handle
  hsa_amd_agent_set_async_scratch_limit hsa_amd_queue_get_info hsa_amd_vmem_address_reserve_align
  hsa_amd_enable_logging hsa_amd_signal_wait_all hsa_amd_memory_get_preferred_copy_engine
  hsa_amd_portable_export_dmabuf_v2
`),
  },
  finalizer: {
    major: 2,
    step: 0,
    functions: names(`
  hsa_ext_program_create hsa_ext_program_destroy hsa_ext_program_add_module hsa_ext_program_iterate_modules
  hsa_ext_program_get_info hsa_ext_program_finalize
`),
  },
  image: {
    major: 2,
    step: 1,
    functions: names(`
  hsa_ext_image_get_capability hsa_ext_image_data_get_info hsa_ext_image_create hsa_ext_image_import
  hsa_ext_image_export hsa_ext_image_copy hsa_ext_image_clear hsa_ext_image_destroy hsa_ext_sampler_create
  hsa_ext_sampler_destroy hsa_ext_image_get_capability_with_layout hsa_ext_image_data_get_info_with_layout
  hsa_ext_image_create_with_layout hsa_ext_sampler_create_v2
`),
  },
  tools: {
    major: 1,
    step: 0,
    functions: names(`
  hsa_amd_tool_scratch_event_alloc_start hsa_amd_tool_scratch_event_alloc_end
  hsa_amd_tool_scratch_event_free_start hsa_amd_tool_scratch_event_free_end
  hsa_amd_tool_scratch_event_async_reclaim_start hsa_amd_tool_scratch_event_async_reclaim_end
`),
  },
  pcSampling: {
    major: 1,
    step: 0,
    functions: names(`
  hsa_ven_amd_pcs_iterate_configuration hsa_ven_amd_pcs_create hsa_ven_amd_pcs_create_from_id
  hsa_ven_amd_pcs_destroy hsa_ven_amd_pcs_start hsa_ven_amd_pcs_stop hsa_ven_amd_pcs_flush
`),
  },
} as const satisfies Readonly<Record<string, ApiTable>>;

/**
 * AMD's extensions in ROCr 5.2, whose tables are of version 1: later some functions came in between. All
 * other tables only grew at their ends.
 */
const CAME_IN_BETWEEN = /^hsa_amd_(memory_(async_copy_on_engine|copy_engine_status)|spm_.*)$/;
export const API_TABLES_1 = {
  coreCount: 125,
  amdExt: API_TABLES.amdExt.functions.filter((name) => !CAME_IN_BETWEEN.test(name)).slice(0, 48),
  imageCount: 13,
};

/** Entries that are no exports. */
const ONLY_IN_TABLES =
  /^hsa_amd_(tool_scratch_event_|queue_intercept_(create|register)$|runtime_queue_create_register$)/;

/** Older names of memory orders: exports that go to the entries of the newer ones. */
const OLD_ORDERS = { acquire: 'scacquire', release: 'screlease', acq_rel: 'scacq_screl' } as const;
/** Functions that never had such a name are newer. */
const OLD_NAMES = /^hsa_(signal_(?!silent_|group_)|queue_)/;
const orderOf = (name: string): string => /_(relaxed|scacquire|screlease|scacq_screl)$/.exec(name)?.[1] ?? '';

/** The exports that jump to an entry. */
function exportsOf(name: string): string[] {
  if (ONLY_IN_TABLES.test(name)) return [];
  const olds = Object.entries(OLD_ORDERS).filter(([, order]) => order === orderOf(name) && OLD_NAMES.test(name));
  return [name, ...olds.map(([old]) => name.slice(0, -orderOf(name).length) + old)];
}

const macro = (name: string, rows: readonly string[]): string[] => [
  `#define ${name}(ENTRY)${rows.length > 0 ? ' \\' : ''}`,
  ...rows.map((row, i) => `  ${row}${i < rows.length - 1 ? ' \\' : ''}`),
];

/** The text of `native/hsa/api-tables.h`. */
export function apiTablesHeader(): string {
  const tables = Object.entries<ApiTable>(API_TABLES).map(([name, table]) => ({
    ...table,
    name: name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
  }));
  return [
    '/* Made of tools/api-tables.ts by tools/native.ts, which explains what stands here. */',
    '#ifndef WAVEWRIGHT_API_TABLES_H',
    '#define WAVEWRIGHT_API_TABLES_H',
    '',
    '/* What is behind the exports of these names. */',
    ...tables.flatMap(({ functions }) => functions.map((name) => `#define ${name} own_${name}`)),
    '',
    ...tables.flatMap(({ name, major, step, functions }) => [
      `enum { ${name}_MAJOR = ${major}, ${name}_STEP = ${step}, ${name}_COUNT = ${functions.length} };`,
      ...macro(
        `${name}_TABLE`,
        functions.map((each, i) => `ENTRY(${each}, ${i})`),
      ),
      ...macro(
        `${name}_EXPORTS`,
        functions.flatMap((each, i) => exportsOf(each).map((from) => `ENTRY(${from}, ${i})`)),
      ),
    ]),
    "/* Version 1; places of AMD's extensions in the newer table. */",
    `enum { CORE_1_COUNT = ${API_TABLES_1.coreCount}, IMAGE_1_COUNT = ${API_TABLES_1.imageCount} };`,
    `enum { AMD_EXT_1_COUNT = ${API_TABLES_1.amdExt.length} };`,
    ...macro(
      'AMD_EXT_1_PLACES',
      API_TABLES_1.amdExt.map((name) => `ENTRY(${API_TABLES.amdExt.functions.indexOf(name)})`),
    ),
    '',
    '#endif',
    '',
  ].join('\n');
}
