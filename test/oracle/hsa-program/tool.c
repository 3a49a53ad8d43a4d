/*
 * A tool as HSA_TOOLS_LIB names them: looks at the table of functions, puts itself before some, and says at the end what it saw. Places of
 * functions are those of ROCr's hsa_api_trace.h, in tables of version 1 of ROCr 5.2's. With TOOL_REFUSES it does not want to be loaded.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hsa-abi.h"

typedef struct {
  uint32_t major, size_bytes, step, reserved;
} version_t;
typedef struct {
  version_t version;
  void *functions[];
} table_t;
typedef struct {
  version_t version;
  table_t *core, *amd_ext, *finalizer, *image, *tools, *pc_sampling;
} api_table_t;

enum { SYSTEM_GET_INFO = 2, QUEUE_CREATE = 7, SIGNAL_LOAD_SCACQUIRE = 40, EXECUTABLE_FREEZE = 86 };
enum { MEMORY_POOL_ALLOCATE = 13, AGENTS_ALLOW_ACCESS = 19, QUEUE_INTERCEPT_CREATE = 37 };
/* Two functions before these came later than version 1. */
enum { LATER = 2 };

static status_t (*queue_create)(uint64_t, uint32_t, uint32_t, queue_callback_t, void *, uint32_t, uint32_t, amd_queue_t **);
static status_t (*freeze)(uint64_t, const char *);
static status_t (*allocate)(uint64_t, size_t, uint32_t, void **);
static int64_t (*load)(uint64_t);
static status_t (*allow)(uint32_t, const uint64_t *, const uint32_t *, const void *);
static int queues, freezes, allocations, loads, accesses;

static status_t see_queue_create(uint64_t agent, uint32_t size, uint32_t type, queue_callback_t callback, void *data, uint32_t private_bytes,
                                 uint32_t group_bytes, amd_queue_t **queue) {
  queues++;
  return queue_create(agent, size, type, callback, data, private_bytes, group_bytes, queue);
}

static status_t see_freeze(uint64_t executable, const char *options) {
  freezes++;
  return freeze(executable, options);
}

static status_t see_allocate(uint64_t pool, size_t size_bytes, uint32_t flags, void **address) {
  allocations++;
  return allocate(pool, size_bytes, flags, address);
}

static status_t see_allow(uint32_t count, const uint64_t *agents, const uint32_t *flags, const void *address) {
  accesses++;
  return allow(count, agents, flags, address);
}

static int64_t see_load(uint64_t signal) {
  loads++;
  return load(signal);
}

bool OnLoad(api_table_t *table, uint64_t version, uint64_t failed_count, const char *const *failed);
void OnUnload(void);

bool OnLoad(api_table_t *table, uint64_t version, uint64_t failed_count, const char *const *failed) {
  if (getenv("TOOL_REFUSES") != NULL) return false;
  bool is_old = table->version.major == 1;
  const version_t *all[7] = {&table->version, &table->core->version, &table->amd_ext->version, &table->finalizer->version,
                             &table->image->version};
  if (!is_old) {
    all[5] = &table->tools->version;
    all[6] = &table->pc_sampling->version;
  }
  fprintf(stderr, "tool: version %lu, %lu failed%s%s, tables", version, failed_count, failed_count > 0 ? ": " : "", failed_count > 0 ? failed[0] : "");
  for (int i = 0; i < (is_old ? 5 : 7); i++) fprintf(stderr, " %u.%u of %u", all[i]->major, all[i]->step, all[i]->size_bytes);
  uint64_t frequency = 0;
  status_t status = ((status_t (*)(uint32_t, void *))table->core->functions[SYSTEM_GET_INFO])(3, &frequency);
  status_t refused = ((status_t (*)(void))table->amd_ext->functions[QUEUE_INTERCEPT_CREATE - (is_old ? LATER : 0)])();
  fprintf(stderr, "; status %u, %lu Hz, refused %u\n", status, frequency, refused);
  queue_create = table->core->functions[QUEUE_CREATE];
  freeze = table->core->functions[EXECUTABLE_FREEZE];
  load = table->core->functions[SIGNAL_LOAD_SCACQUIRE];
  allocate = table->amd_ext->functions[MEMORY_POOL_ALLOCATE];
  void **allow_entry = &table->amd_ext->functions[AGENTS_ALLOW_ACCESS - (is_old ? LATER : 0)];
  allow = *allow_entry;
  *allow_entry = (void *)see_allow;
  table->core->functions[QUEUE_CREATE] = (void *)see_queue_create;
  table->core->functions[EXECUTABLE_FREEZE] = (void *)see_freeze;
  table->core->functions[SIGNAL_LOAD_SCACQUIRE] = (void *)see_load;
  table->amd_ext->functions[MEMORY_POOL_ALLOCATE] = (void *)see_allocate;
  return true;
}

void OnUnload(void) {
  fprintf(stderr, "tool: %d queues, %d executables, allocations %s, loads %s, access %s\n", queues, freezes,
          allocations > 0 ? "seen" : "unseen", loads > 0 ? "seen" : "unseen", accesses > 0 ? "seen" : "unseen");
}
