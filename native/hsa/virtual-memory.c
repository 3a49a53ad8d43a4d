/*
 * Addresses that memory is mapped at when the program says so, and memory of other applications. The device process keeps account of
 * both and maps the pages first; here they are mapped once more, at the same addresses of this process.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime.h"

enum { PAGE_BYTES = 4096, TYPE_COUNT = 2 };

static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

static uint64_t whole_pages(uint64_t size_bytes) { return (size_bytes + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES; }

static bool map_pages(uint64_t address, uint64_t size_bytes, int file, uint64_t offset) {
  int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
  return mmap(pointer(address), size_bytes, protection, flags, file, (off_t)offset) == pointer(address);
}

/* As `map_pages`, of a file that came with a reply, if it did. Its descriptor goes. */
static bool map_file(uint64_t address, uint64_t size_bytes, int file, uint64_t offset) {
  if (file < 0) return false;
  bool is_mapped = map_pages(address, size_bytes, file, offset);
  close(file);
  return is_mapped;
}

/* Nobody reads or writes there. */
static bool map_nothing(uint64_t address, uint64_t size_bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  return mmap(pointer(address), size_bytes, PROT_NONE, flags, -1, 0) == pointer(address);
}

/* The device's own memory is there again, of which other allocations may be. */
static bool map_arena(uint64_t address, uint64_t size_bytes) {
  return map_pages(address, size_bytes, arena_file(), address - arena_base());
}

/* Nothing can be mapped there any more. */
static status_t unreserve(uint64_t address, uint64_t size_bytes) {
  unreserve_request_t request = {address, size_bytes};
  return call_words(OP_UNRESERVE, &request, sizeof request, NULL, 0);
}

/* The device's memory comes back before the device process may give these addresses to others. */
static status_t free_addresses(uint64_t address, uint64_t size_bytes) {
  free_addresses_request_t request = {address};
  if (!map_arena(address, whole_pages(size_bytes))) return ERROR;
  return call_words(OP_FREE_ADDRESSES, &request, sizeof request, NULL, 0);
}

static status_t reserve(uint64_t size_bytes, uint64_t alignment_bytes, uint64_t flags, void **address) {
  EXPECT(size_bytes != 0 && address != NULL, INVALID_ARGUMENT);
  if (flags != 0) return refuse("hsa_amd_vmem_address_reserve for the host alone");
  reserve_request_t request = {size_bytes, alignment_bytes};
  reserve_reply_t reply;
  status_t status = call_words(OP_RESERVE, &request, sizeof request, &reply, sizeof reply);
  if (status != SUCCESS) return status;
  allocation_t reserved = {reply.address, size_bytes, 0, NULL, POINTER_RESERVED};
  if (!map_nothing(reply.address, whole_pages(size_bytes)) || !memory_remember(reserved)) {
    unreserve(reply.address, size_bytes);
    free_addresses(reply.address, size_bytes);
    return OUT_OF_RESOURCES;
  }
  *address = pointer(reply.address);
  return SUCCESS;
}

/* No address is better than another: a wish for one is not heard, as ROCm's runtime may do. */
EXPORT status_t hsa_amd_vmem_address_reserve(void **address, size_t size_bytes, uint64_t wanted, uint64_t flags) {
  EXPECT_INITIALIZED();
  (void)wanted;
  return reserve(size_bytes, 0, flags, address);
}

EXPORT status_t hsa_amd_vmem_address_reserve_align(void **address, size_t size_bytes, uint64_t wanted, uint64_t alignment_bytes,
                                                   uint64_t flags) {
  EXPECT_INITIALIZED();
  (void)wanted;
  return reserve(size_bytes, alignment_bytes, flags, address);
}

EXPORT status_t hsa_amd_vmem_address_free(void *address, size_t size_bytes) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && size_bytes != 0, INVALID_ARGUMENT);
  status_t status = unreserve((uintptr_t)address, size_bytes);
  if (status != SUCCESS) return status;
  memory_forget((uintptr_t)address, POINTER_RESERVED);
  return free_addresses((uintptr_t)address, size_bytes);
}

EXPORT status_t hsa_amd_vmem_handle_create(uint64_t pool, size_t size_bytes, uint32_t type, uint64_t flags, uint64_t *handle) {
  EXPECT_INITIALIZED();
  (void)flags;
  EXPECT(size_bytes != 0 && type < TYPE_COUNT && handle != NULL, INVALID_ARGUMENT);
  EXPECT(is_subject(pool, SUBJECT_POOL), INVALID_ARGUMENT);
  create_memory_request_t request = {pool, size_bytes, type};
  return call_words(OP_CREATE_MEMORY, &request, sizeof request, handle, sizeof *handle);
}

EXPORT status_t hsa_amd_vmem_handle_release(uint64_t handle) {
  EXPECT_INITIALIZED();
  release_memory_request_t request = {handle};
  return call_words(OP_RELEASE_MEMORY, &request, sizeof request, NULL, 0);
}

static status_t unmap(uint64_t address, uint64_t size_bytes) {
  unmap_memory_request_t request = {address, size_bytes};
  return call_words(OP_UNMAP_MEMORY, &request, sizeof request, NULL, 0);
}

/* The program may use what is mapped at once, kernels when they have access. */
EXPORT status_t hsa_amd_vmem_map(void *address, size_t size_bytes, size_t offset, uint64_t handle, uint64_t flags) {
  EXPECT_INITIALIZED();
  (void)flags;
  EXPECT(address != NULL && size_bytes != 0, INVALID_ARGUMENT);
  map_memory_request_t request = {(uintptr_t)address, size_bytes, offset, handle};
  int file;
  status_t status = call_for_file(OP_MAP_MEMORY, &request, sizeof request, &file, NULL, 0);
  if (status != SUCCESS) return status;
  if (map_file((uintptr_t)address, size_bytes, file, offset)) return SUCCESS;
  unmap((uintptr_t)address, size_bytes);
  return OUT_OF_RESOURCES;
}

EXPORT status_t hsa_amd_vmem_unmap(void *address, size_t size_bytes) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && size_bytes != 0, INVALID_ARGUMENT);
  status_t status = unmap((uintptr_t)address, size_bytes);
  if (status != SUCCESS) return status;
  return map_nothing((uintptr_t)address, size_bytes) ? SUCCESS : ERROR;
}

EXPORT status_t hsa_amd_vmem_set_access(void *address, size_t size_bytes, const access_t *access, size_t count) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && size_bytes != 0 && access != NULL && count != 0, INVALID_ARGUMENT);
  for (size_t i = 0; i < count; i++) EXPECT(is_subject(access[i].agent, SUBJECT_AGENT), INVALID_AGENT);
  uint64_t(*pairs)[2] = calloc(count, sizeof *pairs);
  EXPECT(pairs != NULL, OUT_OF_RESOURCES);
  for (size_t i = 0; i < count; i++) {
    pairs[i][0] = access[i].agent;
    pairs[i][1] = access[i].permissions;
  }
  set_access_request_t words = {(uintptr_t)address, size_bytes};
  status_t status = call(OP_SET_ACCESS, (request_t){&words, sizeof words, pairs, count * sizeof *pairs}, NULL, 0, NULL, NULL);
  free(pairs);
  return status;
}

EXPORT status_t hsa_amd_vmem_get_access(void *address, uint32_t *permissions, uint64_t agent) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && permissions != NULL, INVALID_ARGUMENT);
  get_access_request_t request = {(uintptr_t)address, agent};
  get_access_reply_t reply = {0};
  status_t status = call_words(OP_GET_ACCESS, &request, sizeof request, &reply, sizeof reply);
  *permissions = (uint32_t)reply.permissions;
  return status;
}

/* The descriptor is the program's. */
EXPORT status_t hsa_amd_vmem_export_shareable_handle(int *file, uint64_t handle, uint64_t flags) {
  EXPECT_INITIALIZED();
  (void)flags;
  EXPECT(file != NULL, INVALID_ARGUMENT);
  export_memory_request_t request = {handle};
  status_t status = call_for_file(OP_EXPORT_MEMORY, &request, sizeof request, file, NULL, 0);
  return status == SUCCESS && *file < 0 ? OUT_OF_RESOURCES : status;
}

EXPORT status_t hsa_amd_vmem_import_shareable_handle(int file, uint64_t *handle) {
  EXPECT_INITIALIZED();
  EXPECT(file >= 0 && handle != NULL, INVALID_ARGUMENT);
  import_memory_request_t request = {(uint64_t)file};
  return call_words(OP_IMPORT_MEMORY, &request, sizeof request, handle, sizeof *handle);
}

EXPORT status_t hsa_amd_vmem_retain_alloc_handle(uint64_t *handle, void *address) {
  EXPECT_INITIALIZED();
  EXPECT(handle != NULL && address != NULL, INVALID_ARGUMENT);
  retain_memory_request_t request = {(uintptr_t)address};
  return call_words(OP_RETAIN_MEMORY, &request, sizeof request, handle, sizeof *handle);
}

EXPORT status_t hsa_amd_vmem_get_alloc_properties_from_handle(uint64_t handle, uint64_t *pool, uint32_t *type) {
  EXPECT_INITIALIZED();
  EXPECT(pool != NULL && type != NULL, INVALID_ARGUMENT);
  memory_info_request_t request = {handle};
  memory_info_reply_t reply;
  status_t status = call_words(OP_MEMORY_INFO, &request, sizeof request, &reply, sizeof reply);
  if (status != SUCCESS) return status;
  *pool = reply.pool;
  *type = (uint32_t)reply.type;
  return SUCCESS;
}

status_t memory_share(uint64_t address, uint64_t size_bytes, ipc_handle_t *handle) {
  share_memory_request_t request = {address, size_bytes};
  return call_words(OP_SHARE_MEMORY, &request, sizeof request, handle, sizeof *handle);
}

static status_t detach(uint64_t address) {
  detach_memory_request_t request = {address};
  return call_words(OP_DETACH_MEMORY, &request, sizeof request, NULL, 0);
}

status_t memory_attach(const ipc_handle_t *handle, uint64_t size_bytes, uint64_t *address) {
  const uint64_t *words = handle->words;
  attach_memory_request_t request = {words[0], words[1], words[2], words[3], size_bytes};
  attach_memory_reply_t reply;
  int file;
  status_t status = call_for_file(OP_ATTACH_MEMORY, &request, sizeof request, &file, &reply, sizeof reply);
  if (status != SUCCESS) return status;
  allocation_t attached = {reply.address, size_bytes, reply.pool, NULL, POINTER_IPC};
  if (!map_file(reply.address, reply.mapped_bytes, file, reply.offset) || !memory_remember(attached)) {
    map_arena(reply.address, reply.mapped_bytes);
    detach(reply.address);
    return OUT_OF_RESOURCES;
  }
  *address = reply.address;
  return SUCCESS;
}

status_t memory_detach(uint64_t address) {
  uint64_t size_bytes = memory_forget(address, POINTER_IPC);
  EXPECT(size_bytes != 0, INVALID_ARGUMENT);
  if (!map_arena(address, whole_pages(size_bytes))) return ERROR;
  return detach(address);
}

EXPORT status_t hsa_amd_ipc_memory_create(void *address, size_t size_bytes, ipc_handle_t *handle) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && handle != NULL, INVALID_ARGUMENT);
  return memory_share((uintptr_t)address, size_bytes, handle);
}

EXPORT status_t hsa_amd_ipc_memory_attach(const ipc_handle_t *handle, size_t size_bytes, uint32_t count, const uint64_t *agents,
                                          void **address) {
  EXPECT_INITIALIZED();
  EXPECT(handle != NULL && address != NULL && (count == 0 || agents != NULL), INVALID_ARGUMENT);
  for (uint32_t i = 0; i < count; i++) EXPECT(is_subject(agents[i], SUBJECT_AGENT), INVALID_AGENT);
  uint64_t found = 0;
  status_t status = memory_attach(handle, size_bytes, &found);
  if (status == SUCCESS) *address = pointer(found);
  return status;
}

EXPORT status_t hsa_amd_ipc_memory_detach(void *address) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL, INVALID_ARGUMENT);
  return memory_detach((uintptr_t)address);
}
