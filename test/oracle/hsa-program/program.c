/*
 * A program that speaks HSA directly: what clients of ROCm's runtime do, and the statuses that errors have. `program FILE.co` loads the
 * kernel `store`, whose arguments are { uint32_t *out; uint32_t value; }: out[i] = value + i. With another argument it is a burden for the runtime instead. Prints what
 * is wrong, and returns whether anything is.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hsa-abi.h"

status_t hsa_init(void);
status_t hsa_shut_down(void);
status_t hsa_status_string(status_t, const char **);
status_t hsa_system_get_info(uint32_t, void *);
status_t hsa_system_extension_supported(uint16_t, uint16_t, uint16_t, bool *);
status_t hsa_system_get_major_extension_table(uint16_t, uint16_t, size_t, void *);
status_t hsa_iterate_agents(handle_callback_t, void *);
status_t hsa_agent_get_info(uint64_t, uint32_t, void *);
status_t hsa_agent_iterate_isas(uint64_t, handle_callback_t, void *);
status_t hsa_isa_get_info_alt(uint64_t, uint32_t, void *);
status_t hsa_amd_agent_iterate_memory_pools(uint64_t, handle_callback_t, void *);
status_t hsa_amd_memory_pool_get_info(uint64_t, uint32_t, void *);
status_t hsa_amd_agent_memory_pool_get_info(uint64_t, uint64_t, uint32_t, void *);
status_t hsa_amd_memory_pool_allocate(uint64_t, size_t, uint32_t, void **);
status_t hsa_amd_memory_pool_free(void *);
status_t hsa_amd_agents_allow_access(uint32_t, const uint64_t *, const uint32_t *, const void *);
status_t hsa_amd_pointer_info(const void *, pointer_info_t *, void *(*)(size_t), uint32_t *, uint64_t **);
status_t hsa_amd_memory_fill(void *, uint32_t, size_t);
status_t hsa_amd_memory_async_copy(void *, uint64_t, const void *, uint64_t, size_t, uint32_t, const uint64_t *, uint64_t);
status_t hsa_amd_memory_lock(void *, size_t, const uint64_t *, int, void **);
status_t hsa_amd_memory_unlock(void *);
status_t hsa_signal_create(int64_t, uint32_t, const uint64_t *, uint64_t *);
status_t hsa_signal_destroy(uint64_t);
int64_t hsa_signal_load_scacquire(uint64_t);
void hsa_signal_store_screlease(uint64_t, int64_t);
void hsa_signal_subtract_relaxed(uint64_t, int64_t);
int64_t hsa_signal_cas_scacq_screl(uint64_t, int64_t, int64_t);
int64_t hsa_signal_wait_scacquire(uint64_t, uint32_t, int64_t, uint64_t, uint32_t);
uint32_t hsa_amd_signal_wait_any(uint32_t, const uint64_t *, const uint32_t *, const int64_t *, uint64_t, uint32_t, int64_t *);
status_t hsa_amd_signal_async_handler(uint64_t, uint32_t, int64_t, signal_handler_t, void *);
status_t hsa_queue_create(uint64_t, uint32_t, uint32_t, queue_callback_t, void *, uint32_t, uint32_t, amd_queue_t **);
status_t hsa_queue_destroy(amd_queue_t *);
uint64_t hsa_queue_add_write_index_relaxed(amd_queue_t *, uint64_t);
uint64_t hsa_queue_load_read_index_scacquire(const amd_queue_t *);
status_t hsa_amd_profiling_get_dispatch_time(uint64_t, uint64_t, profiling_time_t *);
status_t hsa_code_object_reader_create_from_memory(const void *, size_t, uint64_t *);
status_t hsa_code_object_reader_destroy(uint64_t);
status_t hsa_executable_create_alt(uint32_t, uint32_t, const char *, uint64_t *);
status_t hsa_executable_load_agent_code_object(uint64_t, uint64_t, uint64_t, const char *, uint64_t *);
status_t hsa_executable_freeze(uint64_t, const char *);
status_t hsa_executable_validate(uint64_t, uint32_t *);
status_t hsa_executable_get_symbol_by_name(uint64_t, const char *, const uint64_t *, uint64_t *);
status_t hsa_executable_symbol_get_info(uint64_t, uint32_t, void *);
status_t hsa_executable_iterate_symbols(uint64_t, status_t (*)(uint64_t, uint64_t, void *), void *);
status_t hsa_executable_destroy(uint64_t);
status_t hsa_amd_register_system_event_handler(event_callback_t, void *);
status_t hsa_amd_svm_prefetch_async(void);
status_t hsa_signal_group_create(uint32_t, const uint64_t *, uint32_t, const uint64_t *, uint64_t *);
status_t hsa_signal_group_destroy(uint64_t);
status_t hsa_signal_group_wait_any_scacquire(uint64_t, const uint32_t *, const int64_t *, uint32_t, uint64_t *, int64_t *);
status_t hsa_isa_from_name(const char *, uint64_t *);
status_t hsa_isa_compatible(uint64_t, uint64_t, bool *);
status_t hsa_amd_queue_cu_set_mask(const amd_queue_t *, uint32_t, const uint32_t *);
status_t hsa_amd_queue_cu_get_mask(const amd_queue_t *, uint32_t, uint32_t *);

static int wrong;
#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      printf("%d: not %s\n", __LINE__, #condition); \
      wrong++; \
    } \
  } while (0)
#define FOREVER UINT64_MAX

static struct {
  uint64_t cpu, gpu, fine, kernarg, vram, isa, kernel;
  uint32_t kernarg_bytes;
  uint64_t executable;
} found;

static status_t take_agent(uint64_t agent, void *data) {
  (void)data;
  uint32_t kind = 9;
  EXPECT(hsa_agent_get_info(agent, 17, &kind) == SUCCESS);
  if (kind == 0) found.cpu = agent;
  else found.gpu = agent;
  return SUCCESS;
}

static status_t take_pool(uint64_t pool, void *data) {
  (void)data;
  uint32_t segment = 9, flags = 0;
  EXPECT(hsa_amd_memory_pool_get_info(pool, 0, &segment) == SUCCESS);
  if (segment != 0) return SUCCESS;
  EXPECT(hsa_amd_memory_pool_get_info(pool, 1, &flags) == SUCCESS);
  if (flags == 2) found.fine = pool;
  if (flags == 3) found.kernarg = pool;
  return SUCCESS;
}

static status_t take_vram(uint64_t pool, void *data) {
  (void)data;
  found.vram = pool;
  return INFO_BREAK;
}

static status_t take_isa(uint64_t isa, void *data) {
  (void)data;
  found.isa = isa;
  return SUCCESS;
}

static void look_around(void) {
  char name[64];
  uint32_t wave = 0, access = 9;
  bool has_loader = false;
  EXPECT(hsa_iterate_agents(take_agent, NULL) == SUCCESS);
  EXPECT(hsa_iterate_agents(NULL, NULL) == INVALID_ARGUMENT);
  EXPECT(hsa_agent_get_info(found.gpu, 0, name) == SUCCESS && strcmp(name, "gfx90a") == 0);
  EXPECT(hsa_agent_get_info(found.gpu, 6, &wave) == SUCCESS && wave == 64);
  EXPECT(hsa_agent_get_info(found.gpu, 0x9999, name) == INVALID_ARGUMENT);
  EXPECT(hsa_agent_get_info(7, 0, name) == INVALID_AGENT);
  EXPECT(hsa_amd_agent_iterate_memory_pools(found.cpu, take_pool, NULL) == SUCCESS);
  EXPECT(hsa_amd_agent_iterate_memory_pools(found.gpu, take_vram, NULL) == INFO_BREAK);
  EXPECT(hsa_amd_agent_memory_pool_get_info(found.gpu, found.vram, 0, &access) == SUCCESS && access == 1);
  EXPECT(hsa_agent_iterate_isas(found.gpu, take_isa, NULL) == SUCCESS);
  uint32_t length = 0;
  EXPECT(hsa_isa_get_info_alt(found.isa, 0, &length) == SUCCESS && length < sizeof name);
  memset(name, 0, sizeof name);
  EXPECT(hsa_isa_get_info_alt(found.isa, 1, name) == SUCCESS);
  EXPECT(strcmp(name, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-") == 0);
  EXPECT(hsa_system_extension_supported(0x201, 1, 0, &has_loader) == SUCCESS && has_loader);
  uint64_t before = 0, after = 0;
  EXPECT(hsa_system_get_info(2, &before) == SUCCESS && hsa_system_get_info(2, &after) == SUCCESS && after >= before && before > 0);
  EXPECT(hsa_amd_svm_prefetch_async() == NOT_SUPPORTED);
}

static void use_memory(void) {
  char *first = NULL, *second = NULL;
  EXPECT(hsa_amd_memory_pool_allocate(found.vram, 10000, 0, (void **)&first) == SUCCESS);
  EXPECT(hsa_amd_memory_pool_allocate(found.fine, 10000, 0, (void **)&second) == SUCCESS);
  EXPECT(hsa_amd_memory_pool_allocate(found.vram, 0, 0, (void **)&second) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_memory_pool_allocate(1, 4096, 0, (void **)&second) == INVALID_MEMORY_POOL);
  void *none = NULL;
  EXPECT(hsa_amd_memory_pool_allocate(found.vram, (size_t)1 << 40, 0, &none) == INVALID_ALLOCATION && none == NULL);
  EXPECT(hsa_amd_agents_allow_access(1, &found.gpu, NULL, second) == SUCCESS);
  EXPECT(hsa_amd_memory_fill(first, 0x01020304, 2500) == SUCCESS && first[9999] == 1 && first[0] == 4);
  uint64_t done, gate;
  EXPECT(hsa_signal_create(1, 0, NULL, &done) == SUCCESS && hsa_signal_create(1, 0, NULL, &gate) == SUCCESS);
  EXPECT(hsa_amd_memory_async_copy(second, found.cpu, first, found.gpu, 10000, 1, &gate, done) == SUCCESS);
  EXPECT(hsa_signal_wait_scacquire(done, CONDITION_LT, 1, 20000000, WAIT_BLOCKED) == 1);
  hsa_signal_store_screlease(gate, 0);
  EXPECT(hsa_signal_wait_scacquire(done, CONDITION_LT, 1, FOREVER, WAIT_BLOCKED) == 0);
  EXPECT(memcmp(first, second, 10000) == 0);
  pointer_info_t info = {.size = sizeof info};
  EXPECT(hsa_amd_pointer_info(first + 5000, &info, NULL, NULL, NULL) == SUCCESS);
  EXPECT(info.type == POINTER_HSA && info.agent_base == (uintptr_t)first && info.size_bytes == 10000 && info.owner == found.gpu);
  EXPECT(hsa_amd_pointer_info(&info, &info, NULL, NULL, NULL) == SUCCESS && info.type == POINTER_UNKNOWN);
  EXPECT(hsa_amd_memory_pool_free(first + 8) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_memory_pool_free(first) == SUCCESS && hsa_amd_memory_pool_free(first) == INVALID_ALLOCATION);
  EXPECT(hsa_amd_memory_pool_free(NULL) == SUCCESS && hsa_amd_memory_pool_free(second) == SUCCESS);
  EXPECT(hsa_signal_destroy(gate) == SUCCESS && hsa_signal_destroy(done) == SUCCESS && hsa_signal_destroy(0) == INVALID_ARGUMENT);
}

static void lock_memory(void) {
  char *host = malloc(20000), *device = NULL, *again = NULL;
  memset(host, 7, 20000);
  EXPECT(hsa_amd_memory_lock(host + 100, 10000, NULL, 0, (void **)&device) == SUCCESS && device != host + 100);
  EXPECT(hsa_amd_memory_lock(host + 200, 100, NULL, 0, (void **)&again) == SUCCESS && again == device + 100);
  host[100] = 1;
  device[1] = 2;
  EXPECT(device[0] == 1 && host[101] == 2 && host[102] == 7 && host[19999] == 7);
  EXPECT(hsa_amd_memory_unlock(host + 200) == SUCCESS && hsa_amd_memory_unlock(host + 100) == SUCCESS);
  EXPECT(hsa_amd_memory_unlock(host + 100) == INVALID_ARGUMENT);
  EXPECT(host[100] == 1 && host[101] == 2 && host[10099] == 7);
  free(host);
}

static status_t count_symbol(uint64_t executable, uint64_t symbol, void *count) {
  uint64_t agent = 0;
  EXPECT(executable == found.executable && hsa_executable_symbol_get_info(symbol, 20, &agent) == SUCCESS && agent == found.gpu);
  ++*(int *)count;
  return SUCCESS;
}

typedef struct {
  uint64_t agent, executable;
  uint32_t storage_type;
  const void *storage;
  uint64_t storage_bytes, storage_offset, base, size_bytes;
} segment_t;

static void load_code(const char *path) {
  static char bytes[1 << 20];
  FILE *file = fopen(path, "rb");
  size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
  if (file != NULL) fclose(file);
  uint64_t reader = 0, symbol = 0, loaded = 0;
  uint32_t result = 9, kind = 9;
  EXPECT(hsa_code_object_reader_create_from_memory(bytes, size, &reader) == SUCCESS);
  EXPECT(hsa_executable_create_alt(1, 0, NULL, &found.executable) == SUCCESS);
  uint64_t bad;
  EXPECT(hsa_code_object_reader_create_from_memory("no ELF file", 11, &bad) == SUCCESS);
  EXPECT(hsa_executable_load_agent_code_object(found.executable, found.gpu, bad, NULL, NULL) == INVALID_CODE_OBJECT);
  EXPECT(hsa_code_object_reader_destroy(bad) == SUCCESS && hsa_code_object_reader_destroy(bad) == INVALID_CODE_OBJECT_READER);
  EXPECT(hsa_executable_load_agent_code_object(found.executable, found.gpu, reader, NULL, &loaded) == SUCCESS);
  EXPECT(hsa_executable_validate(found.executable, &result) == SUCCESS && result == 0);
  EXPECT(hsa_executable_freeze(found.executable, NULL) == SUCCESS && hsa_executable_freeze(found.executable, NULL) == FROZEN_EXECUTABLE);
  EXPECT(hsa_code_object_reader_destroy(reader) == SUCCESS);
  EXPECT(hsa_executable_get_symbol_by_name(found.executable, "nothing", &found.gpu, &symbol) == INVALID_SYMBOL_NAME);
  EXPECT(hsa_executable_get_symbol_by_name(found.executable, "store.kd", &found.gpu, &symbol) == SUCCESS);
  EXPECT(hsa_executable_symbol_get_info(symbol, 0, &kind) == SUCCESS && kind == 1);
  EXPECT(hsa_executable_symbol_get_info(symbol, 22, &found.kernel) == SUCCESS && found.kernel != 0);
  EXPECT(hsa_executable_symbol_get_info(symbol, 11, &found.kernarg_bytes) == SUCCESS && found.kernarg_bytes >= 12);
  EXPECT(hsa_executable_symbol_get_info(symbol, 21, &kind) == INVALID_ARGUMENT);
  EXPECT(hsa_executable_symbol_get_info(12345, 0, &kind) == INVALID_EXECUTABLE_SYMBOL);
  int count = 0;
  EXPECT(hsa_executable_iterate_symbols(found.executable, count_symbol, &count) == SUCCESS && count == 1);
  void *table[3];
  EXPECT(hsa_system_get_major_extension_table(0x201, 1, sizeof table, table) == SUCCESS);
  const void *host = NULL;
  status_t (*query_host_address)(const void *, const void **) = (status_t(*)(const void *, const void **))table[0];
  EXPECT(query_host_address((void *)(uintptr_t)found.kernel, &host) == SUCCESS && (uintptr_t)host == found.kernel);
  status_t (*query_segments)(segment_t *, size_t *) = (status_t(*)(segment_t *, size_t *))table[1];
  segment_t segment[2] = {{0}};
  size_t segments = 0;
  EXPECT(query_segments(NULL, NULL) == INVALID_ARGUMENT && query_segments(segment, &segments) == INVALID_ARGUMENT);
  EXPECT(query_segments(NULL, &segments) == SUCCESS && segments == 1);
  EXPECT(query_segments(NULL, &segments) == INVALID_ARGUMENT);
  EXPECT(query_segments(segment, &segments) == SUCCESS && segment[0].agent == found.gpu && segment[0].executable == found.executable);
  EXPECT(segment[0].storage_type == 2 && segment[0].storage_bytes == size && memcmp(segment[0].storage, bytes, size) == 0);
  EXPECT(segment[0].storage_offset == 0 && found.kernel - segment[0].base < segment[0].size_bytes);
  segments = 2;
  EXPECT(query_segments(segment, &segments) == INCOMPATIBLE_ARGUMENTS && segments == 2);
}

typedef struct {
  uint16_t header, setup, workgroup[3], reserved;
  uint32_t grid[3], private_bytes, group_bytes;
  uint64_t kernel, kernarg, reserved2, completion;
} packet_t;

static void dispatch(amd_queue_t *queue, uint64_t kernel, void *kernarg, uint32_t work_items, uint64_t completion) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size_packets) usleep(10);
  packet_t *packet = (packet_t *)(uintptr_t)queue->base_address + index % queue->size_packets;
  packet_t wanted = {1, 3, {64, 1, 1}, 0, {work_items, 1, 1}, 0, 0, kernel, (uintptr_t)kernarg, 0, completion};
  memcpy((char *)packet + 4, (char *)&wanted + 4, sizeof wanted - 4);
  __atomic_store_n((uint32_t *)packet, 0x00031502u, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (int64_t)index);
}

static void *arguments(uint32_t *out, uint32_t value) {
  char *kernarg = NULL;
  EXPECT(hsa_amd_memory_pool_allocate(found.kernarg, found.kernarg_bytes, 0, (void **)&kernarg) == SUCCESS);
  memcpy(kernarg, &out, sizeof out);
  memcpy(kernarg + 8, &value, sizeof value);
  return kernarg;
}

static _Atomic int handled;

static bool count_handler(int64_t value, void *data) {
  EXPECT(value == 0 && data == &handled);
  handled++;
  return false;
}

static void run_kernels(void) {
  amd_queue_t *queue = NULL;
  uint64_t done;
  uint32_t *out = NULL;
  EXPECT(hsa_queue_create(found.gpu, 3, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue) == INVALID_ARGUMENT);
  EXPECT(hsa_queue_create(found.cpu, 64, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue) == INVALID_AGENT);
  EXPECT(hsa_queue_create(found.gpu, 4, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue) == SUCCESS);
  EXPECT(hsa_signal_create(1, 0, NULL, &done) == SUCCESS);
  EXPECT(hsa_amd_signal_async_handler(done, CONDITION_EQ, 0, count_handler, &handled) == SUCCESS);
  EXPECT(hsa_amd_memory_pool_allocate(found.vram, 4096 * 4, 0, (void **)&out) == SUCCESS);
  char *first = arguments(out, 5), *second = arguments(out, 9);
  /* More than the ring has. */
  for (int i = 0; i < 20; i++) dispatch(queue, found.kernel, first, 4096, 0);
  dispatch(queue, found.kernel, second, 4000, done);
  EXPECT(hsa_signal_wait_scacquire(done, CONDITION_LT, 1, FOREVER, WAIT_BLOCKED) == 0);
  for (uint32_t i = 0; i < 4096; i++) EXPECT(out[i] == i + (i < 4000 ? 9 : 5));
  for (int i = 0; i < 60000 && handled == 0; i++) usleep(1000);
  EXPECT(handled == 1);
  profiling_time_t time = {0, 0};
  uint64_t now = 0;
  EXPECT(hsa_amd_profiling_get_dispatch_time(found.gpu, done, &time) == SUCCESS && hsa_system_get_info(2, &now) == SUCCESS);
  EXPECT(time.start != 0 && time.start <= time.end && time.end <= now + 1000000 && now + 1000000 - time.end < 60000000000u);
  EXPECT(hsa_queue_destroy(queue) == SUCCESS && hsa_queue_destroy(queue) == INVALID_QUEUE);
  EXPECT(hsa_amd_memory_pool_free(out) == SUCCESS);
}

static _Atomic int stopped;

static void count_stop(status_t status, amd_queue_t *queue, void *data) {
  EXPECT(status == MEMORY_FAULT && queue != NULL && data == &stopped);
  stopped++;
}

static status_t take_event(const event_t *event, void *data) {
  EXPECT(event->type == 0 && event->agent == found.gpu && event->virtual_address >> 32 == 0);
  ++*(_Atomic int *)data;
  return SUCCESS;
}

static void fail_kernels(void) {
  _Atomic int events = 0;
  amd_queue_t *queue = NULL;
  EXPECT(hsa_amd_register_system_event_handler(take_event, (void *)&events) == SUCCESS);
  EXPECT(hsa_queue_create(found.gpu, 64, 0, count_stop, &stopped, UINT32_MAX, UINT32_MAX, &queue) == SUCCESS);
  dispatch(queue, found.kernel, arguments((uint32_t *)64, 1), 64, 0);
  for (int i = 0; i < 60000 && stopped == 0; i++) usleep(1000);
  EXPECT(stopped == 1 && events == 1);
  EXPECT(hsa_queue_destroy(queue) == SUCCESS);
}

static uint64_t shared_signal;

static void *count_down(void *data) {
  for (int i = 0; i < 1000; i++) hsa_signal_subtract_relaxed(shared_signal, 1);
  return data;
}

static void use_signals(void) {
  pthread_t threads[4];
  uint64_t other;
  EXPECT(hsa_signal_create(4000, 1, &found.gpu, &shared_signal) == SUCCESS && hsa_signal_create(1, 0, NULL, &other) == SUCCESS);
  EXPECT(hsa_signal_create(1, 1, &shared_signal, &other) == INVALID_AGENT);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count_down, NULL);
  uint64_t signals[] = {other, shared_signal};
  uint32_t conditions[] = {CONDITION_EQ, CONDITION_EQ};
  int64_t values[] = {0, 0}, seen = 9;
  EXPECT(hsa_amd_signal_wait_any(2, signals, conditions, values, FOREVER, WAIT_BLOCKED, &seen) == 1 && seen == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  EXPECT(hsa_signal_cas_scacq_screl(shared_signal, 0, -5) == 0 && hsa_signal_cas_scacq_screl(shared_signal, 0, 1) == -5);
  EXPECT(hsa_signal_load_scacquire(shared_signal) == -5);
}

static void use_groups(void) {
  uint64_t signals[2], group = 0, signal = 0;
  uint32_t conditions[] = {CONDITION_EQ, CONDITION_GTE};
  int64_t values[] = {7, 3}, value = 0;
  EXPECT(hsa_signal_create(1, 0, NULL, &signals[0]) == SUCCESS && hsa_signal_create(3, 0, NULL, &signals[1]) == SUCCESS);
  EXPECT(hsa_signal_group_create(0, signals, 1, &found.gpu, &group) == INVALID_ARGUMENT);
  EXPECT(hsa_signal_group_create(2, signals, 0, NULL, &group) == INVALID_ARGUMENT);
  EXPECT(hsa_signal_group_create(2, signals, 1, &signals[0], &group) == INVALID_AGENT);
  EXPECT(hsa_signal_group_create(1, &found.gpu, 1, &found.gpu, &group) == INVALID_SIGNAL);
  EXPECT(hsa_signal_group_create(2, signals, 1, &found.gpu, &group) == SUCCESS);
  EXPECT(hsa_signal_group_wait_any_scacquire(group, conditions, values, WAIT_BLOCKED, &signal, &value) == SUCCESS);
  EXPECT(signal == signals[1] && value == 3);
  EXPECT(hsa_signal_group_wait_any_scacquire(group, NULL, values, WAIT_BLOCKED, &signal, &value) == INVALID_ARGUMENT);
  EXPECT(hsa_signal_group_destroy(group) == SUCCESS && hsa_signal_group_destroy(group) == INVALID_SIGNAL_GROUP);
  EXPECT(hsa_signal_group_wait_any_scacquire(group, conditions, values, WAIT_BLOCKED, &signal, &value) == INVALID_SIGNAL_GROUP);
}

static void use_isas_and_masks(void) {
  char name[128] = {0};
  uint64_t isa = 0;
  bool is_compatible = false;
  EXPECT(hsa_isa_get_info_alt(found.isa, 1, name) == SUCCESS && hsa_isa_from_name(name, &isa) == SUCCESS);
  EXPECT(hsa_isa_compatible(isa, found.isa, &is_compatible) == SUCCESS && is_compatible);
  EXPECT(hsa_isa_from_name("amdgcn-amd-amdhsa--gfx1", &isa) == INVALID_ISA_NAME && hsa_isa_compatible(1, found.isa, &is_compatible) == INVALID_ISA);
  amd_queue_t *queue = NULL;
  uint32_t mask[2] = {9, 9}, wanted[2] = {1, 5}, none[1] = {2};
  EXPECT(hsa_queue_create(found.gpu, 64, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue) == SUCCESS);
  EXPECT(hsa_amd_queue_cu_get_mask(queue, 64, mask) == SUCCESS && mask[0] == 1 && mask[1] == 0);
  EXPECT(hsa_amd_queue_cu_set_mask(queue, 64, wanted) == SUCCESS && hsa_amd_queue_cu_set_mask(queue, 0, NULL) == SUCCESS);
  EXPECT(hsa_amd_queue_cu_set_mask(queue, 33, wanted) == INVALID_ARGUMENT && hsa_amd_queue_cu_set_mask(queue, 32, none) == INVALID_ARGUMENT);
  EXPECT(hsa_amd_queue_cu_get_mask(queue, 0, mask) == INVALID_ARGUMENT);
  EXPECT(hsa_queue_destroy(queue) == SUCCESS && hsa_amd_queue_cu_get_mask(queue, 32, mask) == INVALID_QUEUE);
  EXPECT(hsa_amd_queue_cu_set_mask(queue, 0, NULL) == INVALID_QUEUE);
}

static void fork_child(void) {
  pid_t child = fork();
  if (child == 0) _exit(hsa_iterate_agents(take_agent, NULL) == NOT_INITIALIZED && hsa_init() == OUT_OF_RESOURCES ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT(status == 0);
}

enum { THREADS = 64, LAUNCHES = 20 };
static amd_queue_t *shared_queue;

static void *launch(void *data) {
  uint64_t done;
  EXPECT(hsa_signal_create(LAUNCHES, 0, NULL, &done) == SUCCESS);
  uint32_t *out = (uint32_t *)data;
  for (uint32_t i = 0; i < LAUNCHES; i++) dispatch(shared_queue, found.kernel, arguments(out, i), 64, done);
  EXPECT(hsa_signal_wait_scacquire(done, CONDITION_LT, 1, FOREVER, WAIT_BLOCKED) == 0);
  for (uint32_t i = 0; i < 64; i++) EXPECT(out[i] == i + LAUNCHES - 1);
  EXPECT(hsa_signal_destroy(done) == SUCCESS);
  return NULL;
}

/* Many threads launch into one small queue. */
static void launch_from_threads(void) {
  pthread_t threads[THREADS];
  uint32_t *out = NULL;
  EXPECT(hsa_queue_create(found.gpu, 16, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &shared_queue) == SUCCESS);
  EXPECT(hsa_amd_memory_pool_allocate(found.vram, THREADS * 64 * sizeof *out, 0, (void **)&out) == SUCCESS);
  for (int i = 0; i < THREADS; i++) EXPECT(pthread_create(&threads[i], NULL, launch, out + 64 * i) == 0);
  for (int i = 0; i < THREADS; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
}

/* Takes all memory, in pieces that become smaller; what is given back is there again, and all else works. */
static void fill_memory(void) {
  static void *pieces[100000];
  size_t count = 0;
  for (size_t bytes = (size_t)1 << 30; bytes >= 4096;) {
    status_t status = hsa_amd_memory_pool_allocate(found.vram, bytes, 0, &pieces[count]);
    if (status == SUCCESS && count < sizeof pieces / sizeof *pieces - 1) count++;
    else bytes /= 2;
    EXPECT(status == SUCCESS || status == OUT_OF_RESOURCES);
  }
  amd_queue_t *queue;
  EXPECT(hsa_queue_create(found.gpu, 4096, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue) != SUCCESS);
  EXPECT(hsa_amd_memory_lock(pieces, 1 << 16, NULL, 0, &pieces[count]) == OUT_OF_RESOURCES);
  EXPECT(count > 3);
  while (count-- > 0) EXPECT(hsa_amd_memory_pool_free(pieces[count]) == SUCCESS);
}

/* Without descriptors for files there is no connection, and with some again there is. */
static void want_files(void) {
  struct rlimit limit, none = {3, 3};
  EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  none.rlim_max = limit.rlim_max;
  for (rlim_t files = 3; files < 6; files++) {
    none.rlim_cur = files;
    EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
    if (hsa_init() == SUCCESS) EXPECT(hsa_shut_down() == SUCCESS && files == 5);
  }
  EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* What is a burden: many threads, no memory, no files; at last it ends in the middle of its launches. */
static void burden(const char *path) {
  want_files();
  EXPECT(hsa_init() == SUCCESS);
  look_around();
  load_code(path);
  fill_memory();
  launch_from_threads();
  uint32_t *out = NULL;
  EXPECT(hsa_amd_memory_pool_allocate(found.vram, 1 << 20, 0, (void **)&out) == SUCCESS);
  for (int i = 0; i < 16; i++) dispatch(shared_queue, found.kernel, arguments(out, 1), 1 << 18, 0);
}

int main(int argc, char **argv) {
  const char *text = NULL;
  if (argc == 3) {
    burden(argv[1]);
    printf("%d wrong\n", wrong);
    return wrong != 0;
  }
  if (argc != 2) return 2;
  EXPECT(hsa_iterate_agents(take_agent, NULL) == NOT_INITIALIZED && hsa_shut_down() == NOT_INITIALIZED);
  EXPECT(hsa_status_string(0x100b, &text) == SUCCESS && strncmp(text, "HSA_STATUS_ERROR_NOT_INITIALIZED", 32) == 0);
  for (int round = 0; round < 2; round++) {
    EXPECT(hsa_init() == SUCCESS && hsa_init() == SUCCESS && hsa_shut_down() == SUCCESS);
    look_around();
    use_memory();
    lock_memory();
    use_signals();
    use_groups();
    use_isas_and_masks();
    load_code(argv[1]);
    run_kernels();
    fail_kernels();
    fork_child();
    EXPECT(hsa_executable_destroy(found.executable) == SUCCESS && hsa_executable_destroy(found.executable) == INVALID_EXECUTABLE);
    EXPECT(hsa_shut_down() == SUCCESS && hsa_iterate_agents(take_agent, NULL) == NOT_INITIALIZED);
    handled = stopped = 0;
  }
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
