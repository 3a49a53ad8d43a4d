/* AMD's loader extension: a table of functions that are no exports. */
#include <string.h>

#include "runtime.h"

enum { LOADER = 0x201 };

HIDDEN status_t reader_from_file_part(int file, size_t offset, size_t size_bytes, uint64_t *reader);
HIDDEN status_t loaded_code_object_info(uint64_t handle, uint32_t attribute, void *value);
HIDDEN status_t iterate_loaded_code_objects(uint64_t executable, void *callback, void *data);
HIDDEN status_t iterate_executables(handle_callback_t callback, void *data);
HIDDEN status_t executable_of_address(uint64_t address, uint64_t *handle);
HIDDEN status_t query_segment_descriptors(void *descriptors, size_t *count);

/* The host reads and writes what kernels do, at the same address. */
static status_t query_host_address(const void *device_address, const void **host_address) {
  EXPECT_INITIALIZED();
  EXPECT(device_address != NULL && host_address != NULL, INVALID_ARGUMENT);
  uint64_t executable;
  status_t status = executable_of_address((uintptr_t)device_address, &executable);
  if (status == SUCCESS) *host_address = device_address;
  return status;
}

static status_t query_executable(const void *device_address, uint64_t *executable) {
  return executable_of_address((uintptr_t)device_address, executable);
}

/* hsa_ven_amd_loader_1_03_pfn_t. */
typedef struct {
  status_t (*query_host_address)(const void *, const void **);
  status_t (*query_segment_descriptors)(void *, size_t *);
  status_t (*query_executable)(const void *, uint64_t *);
  status_t (*executable_iterate_loaded_code_objects)(uint64_t, void *, void *);
  status_t (*loaded_code_object_get_info)(uint64_t, uint32_t, void *);
  status_t (*code_object_reader_create_from_file_with_offset_size)(int, size_t, size_t, uint64_t *);
  status_t (*iterate_executables)(handle_callback_t, void *);
} loader_table_t;

static const loader_table_t LOADER_TABLE = {
    query_host_address,      query_segment_descriptors, query_executable,    iterate_loaded_code_objects,
    loaded_code_object_info, reader_from_file_part,     iterate_executables,
};

EXPORT status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t major, size_t size_bytes, void *table) {
  EXPECT_INITIALIZED();
  EXPECT(table != NULL && extension == LOADER && major == 1, INVALID_ARGUMENT);
  memcpy(table, &LOADER_TABLE, size_bytes < sizeof LOADER_TABLE ? size_bytes : sizeof LOADER_TABLE);
  return SUCCESS;
}

/* Deprecated. Version 1.00 has three functions, 1.01 five, 1.02 six, 1.03 seven. */
EXPORT status_t hsa_system_get_extension_table(uint16_t extension, uint16_t major, uint16_t minor, void *table) {
  static const size_t COUNTS[] = {3, 5, 6, 7};
  EXPECT(minor < sizeof COUNTS / sizeof *COUNTS, INVALID_ARGUMENT);
  return hsa_system_get_major_extension_table(extension, major, COUNTS[minor] * sizeof(void *), table);
}
