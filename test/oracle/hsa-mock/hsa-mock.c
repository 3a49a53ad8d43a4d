/*
 * A libhsa-runtime64.so.1 without a GPU, for tests of the native device: one CPU agent, GPU agents, and queues whose packets are handled
 * when the doorbell rings. A kernel of any kernel object stores its argument and the number of the work-item: { uint32_t *out; uint32_t
 * value; } gives out[i] = value + i; one whose object begins with 0xdead is an illegal instruction, with 0xb10c it never ends. Environment: HSA_MOCK_INIT, the status of hsa_init; HSA_MOCK_GPUS, how many GPUs there are.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uint32_t status_t;
typedef status_t (*callback_t)(uint64_t handle, void *data);

enum { SUCCESS = 0, INVALID_ARGUMENT = 0x1001, INVALID_ALLOCATION = 0x1003, INVALID_AGENT = 0x1004, NOT_INITIALIZED = 0x100b };
enum { CPU = 1, GPU = 100, ISA = 200, FINE = 300, KERNARG = 301, VRAM = 302, GROUP = 303 };

typedef struct { int64_t kind, value; uint64_t mailbox; uint32_t event, pad; uint64_t start, end, queue, pad2; } signal_t;

typedef struct {
  uint32_t type, features;
  uint64_t base, doorbell;
  uint32_t size, pad0;
  uint64_t id;
  uint64_t next, blocked; /* of the mock: packets begun, and whether one never ends */
  uint64_t write_index;
  uint32_t shared_hi, private_hi;
  uint8_t pad2[56];
  uint64_t read_index;
  uint8_t pad3[56];
  uint64_t inactive_signal;
  uint8_t rest[56];
} queue_t;
_Static_assert(sizeof(queue_t) == 256, "amd_queue_t");
_Static_assert(__builtin_offsetof(queue_t, write_index) == 56, "write_dispatch_id");
_Static_assert(__builtin_offsetof(queue_t, read_index) == 128, "read_dispatch_id");
_Static_assert(__builtin_offsetof(queue_t, inactive_signal) == 192, "queue_inactive_signal");

static char calls[1 << 16];
static int references;

static void record(const char *name) {
  size_t used = strlen(calls);
  snprintf(calls + used, sizeof calls - used, "%s\n", name);
}
#define CALL do { record(__func__ + 4); if (references == 0) return NOT_INITIALIZED; } while (0)

/* What was called since the last time, one name to a line without hsa_. */
const char *hsa_mock_calls(void) {
  static char copy[sizeof calls];
  memcpy(copy, calls, sizeof calls);
  calls[0] = 0;
  return copy;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int gpu_count(void) {
  const char *text = getenv("HSA_MOCK_GPUS");
  return text == NULL ? 1 : atoi(text);
}

static int is_gpu(uint64_t agent) { return agent >= GPU && agent < (uint64_t)(GPU + gpu_count()); }

status_t hsa_init(void) {
  record("init");
  const char *text = getenv("HSA_MOCK_INIT");
  status_t status = text == NULL ? SUCCESS : (status_t)strtoul(text, NULL, 0);
  if (status == SUCCESS) references++;
  return status;
}

status_t hsa_shut_down(void) { CALL; references--; return SUCCESS; }

status_t hsa_system_get_info(uint32_t id, void *value) {
  CALL;
  uint64_t result = id == 2 ? now() : 1000000000u;
  if (id != 2 && id != 3) return INVALID_ARGUMENT;
  memcpy(value, &result, 8);
  return SUCCESS;
}

status_t hsa_iterate_agents(callback_t callback, void *data) {
  CALL;
  status_t status = callback(CPU, data);
  for (int i = 0; i < gpu_count() && status == SUCCESS; i++) status = callback((uint64_t)(GPU + i), data);
  return status;
}

status_t hsa_agent_get_info(uint64_t agent, uint32_t id, void *value) {
  CALL;
  if (agent != CPU && !is_gpu(agent)) return INVALID_AGENT;
  uint32_t number = 0;
  switch (id) {
    case 0: strcpy(value, agent == CPU ? "mock cpu" : "gfx90a"); return SUCCESS;
    case 0xa009: strcpy(value, "Mock Instinct"); return SUCCESS;
    case 0xa011: strcpy(value, "GPU-0123456789abcdef"); return SUCCESS;
    case 18: { uint32_t sizes[4] = { 16384, 8388608, 0, 0 }; memcpy(value, sizes, 16); return SUCCESS; }
    case 0xa016: { uint64_t frequency = 100000000; memcpy(value, &frequency, 8); return SUCCESS; }
    case 6: number = 64; break;
    case 8: number = 1024; break;
    case 17: number = agent == CPU ? 0 : 1; break;
    case 0xa000: number = 0x740f; break;
    case 0xa002: number = 104; break;
    case 0xa00a: number = 32; break;
    default: return INVALID_ARGUMENT;
  }
  memcpy(value, &number, 4);
  return SUCCESS;
}

status_t hsa_agent_iterate_isas(uint64_t agent, callback_t callback, void *data) { CALL; return is_gpu(agent) ? callback(ISA, data) : SUCCESS; }

status_t hsa_isa_get_info_alt(uint64_t isa, uint32_t id, void *value) {
  CALL;
  if (isa != ISA || id != 1) return INVALID_ARGUMENT;
  strcpy(value, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  return SUCCESS;
}

status_t hsa_amd_agent_iterate_memory_pools(uint64_t agent, callback_t callback, void *data) {
  CALL;
  uint64_t first = agent == CPU ? FINE : VRAM;
  status_t status = callback(first + (agent == CPU), data);
  return status == SUCCESS ? callback(first + (agent != CPU), data) : status;
}

status_t hsa_amd_memory_pool_get_info(uint64_t pool, uint32_t id, void *value) {
  CALL;
  uint32_t number = 0;
  uint64_t size = pool == GROUP ? 65536 : 1u << 28;
  switch (id) {
    case 0: number = pool == GROUP ? 3 : 0; break;
    case 1: number = pool == FINE ? 2 : pool == KERNARG ? 3 : 4; break;
    case 2: memcpy(value, &size, 8); return SUCCESS;
    default: return INVALID_ARGUMENT;
  }
  memcpy(value, &number, 4);
  return SUCCESS;
}

static uint64_t allocated;

status_t hsa_amd_memory_pool_allocate(uint64_t pool, uint64_t size, uint32_t flags, void **address) {
  CALL;
  if (pool != FINE || flags != 4) return INVALID_ARGUMENT;
  size = (size + 4095) & ~4095ull;
  if (size > 1u << 28) return 0x1008;
  *address = aligned_alloc(4096, size);
  memset(*address, 0xcc, size);
  allocated += 1;
  return SUCCESS;
}

status_t hsa_amd_memory_pool_free(void *address) { CALL; free(address); allocated -= 1; return SUCCESS; }

/* How many allocations of pools there are. */
uint64_t hsa_mock_allocations(void) { return allocated; }

status_t hsa_amd_agents_allow_access(uint32_t count, const uint64_t *agents, const uint32_t *flags, const void *address) {
  CALL;
  return count != 1 || !is_gpu(agents[0]) || flags != NULL || address == NULL ? INVALID_ARGUMENT : SUCCESS;
}

status_t hsa_signal_create(int64_t initial, uint32_t count, const uint64_t *consumers, uint64_t *signal) {
  CALL;
  (void)count, (void)consumers;
  signal_t *made = aligned_alloc(64, sizeof *made);
  memset(made, 0, sizeof *made);
  made->kind = 1;
  made->value = initial;
  *signal = (uint64_t)made;
  return SUCCESS;
}

status_t hsa_signal_destroy(uint64_t signal) { CALL; free((void *)signal); return SUCCESS; }

int64_t hsa_signal_load_scacquire(uint64_t signal) { return __atomic_load_n(&((signal_t *)signal)->value, __ATOMIC_ACQUIRE); }

status_t hsa_queue_create(uint64_t agent, uint32_t size, uint32_t type, void *callback, void *data, uint32_t private_size,
                          uint32_t group_size, queue_t **made) {
  CALL;
  (void)data, (void)private_size, (void)group_size;
  if (!is_gpu(agent)) return INVALID_AGENT;
  if (callback != NULL || (size & (size - 1)) != 0) return INVALID_ARGUMENT;
  queue_t *queue = aligned_alloc(64, sizeof *queue);
  memset(queue, 0, sizeof *queue);
  queue->type = type;
  queue->size = size;
  uint8_t *ring = aligned_alloc(4096, size * 64ull);
  for (uint32_t i = 0; i < size; i++) *(uint16_t *)(ring + i * 64) = 1;
  queue->base = (uint64_t)ring;
  queue->shared_hi = 0x1234;
  queue->private_hi = 0x5678;
  hsa_signal_create(0, 0, NULL, &queue->doorbell);
  hsa_signal_create(0, 0, NULL, &queue->inactive_signal);
  ((signal_t *)queue->doorbell)->kind = -1;
  ((signal_t *)queue->doorbell)->queue = (uint64_t)queue;
  *made = queue;
  return SUCCESS;
}

status_t hsa_queue_destroy(queue_t *queue) {
  CALL;
  free((void *)queue->base);
  free((void *)queue->doorbell);
  free((void *)queue->inactive_signal);
  free(queue);
  return SUCCESS;
}

uint64_t hsa_queue_load_read_index_scacquire(const queue_t *queue) { return queue->read_index; }

uint64_t hsa_queue_add_write_index_screlease(queue_t *queue, uint64_t count) {
  return __atomic_fetch_add(&queue->write_index, count, __ATOMIC_RELEASE);
}

/* Returns whether the packet was a kernel dispatch that could run. */
static int run_packet(queue_t *queue, uint8_t *packet) {
  uint64_t kernel = *(uint64_t *)(packet + 32);
  signal_t *done = *(signal_t **)(packet + 56);
  signal_t *inactive = (signal_t *)queue->inactive_signal;
  if ((packet[0] & 0xff) != 2) { inactive->value = 32; return 0; }
  /* What a kernel object begins with chooses what becomes of the dispatch. */
  if (kernel == 0) { inactive->value = 8; return 0; }
  if (*(uint32_t *)kernel == 0xdead) { inactive->value = 0x40000000; return 0; }
  if (*(uint32_t *)kernel == 0xb10c) { queue->blocked = 1; return 1; }
  uint32_t *grid = (uint32_t *)(packet + 12);
  struct { uint32_t *out; uint32_t value; } *arguments = *(void **)(packet + 40);
  uint64_t start = now();
  if (arguments != NULL) {
    for (uint32_t i = 0; i < grid[0] * grid[1] * grid[2]; i++) arguments->out[i] = arguments->value + i;
  }
  done->start = start;
  done->end = now();
  __atomic_sub_fetch(&done->value, 1, __ATOMIC_RELEASE);
  return 1;
}

void hsa_signal_store_screlease(uint64_t handle, int64_t value) {
  signal_t *signal = (signal_t *)handle;
  if (signal->kind != -1) { __atomic_store_n(&signal->value, value, __ATOMIC_RELEASE); return; }
  record("doorbell");
  queue_t *queue = (queue_t *)signal->queue;
  if (queue->write_index - queue->read_index > queue->size) abort();
  while (queue->next < queue->write_index && ((signal_t *)queue->inactive_signal)->value == 0) {
    uint8_t *packet = (uint8_t *)queue->base + (queue->next % queue->size) * 64;
    if (__atomic_load_n((uint16_t *)packet, __ATOMIC_ACQUIRE) == 1 || !run_packet(queue, packet)) break;
    queue->next++;
    if (queue->blocked) continue;
    *(uint16_t *)packet = 1;
    queue->read_index++;
  }
}

status_t hsa_amd_profiling_set_profiler_enabled(queue_t *queue, int enable) { CALL; (void)queue, (void)enable; return SUCCESS; }

status_t hsa_amd_profiling_get_dispatch_time(uint64_t agent, uint64_t signal, uint64_t *times) {
  CALL;
  if (!is_gpu(agent)) return INVALID_AGENT;
  times[0] = ((signal_t *)signal)->start;
  times[1] = ((signal_t *)signal)->end;
  return SUCCESS;
}
