/*
 * Signals: 64 bytes of the device's memory each, so that packets and kernels use them by their address. They are made, changed
 * and waited for in this process; the device process looks at those that packets name.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime.h"

enum { CHUNK_BYTES = 65536 };
/*
 * How long a waiting thread looks before it sleeps: as long as it takes to fall asleep and to be woken, on both sides, so that it never
 * costs more than twice the better choice. Where it is not asked to be active it looks so long only if waits were as short of late.
 */
enum { SHORT_NS = 200000, BLOCKED_NS = 5000, LOOKS_PER_TIME = 32 };
#define NS_PER_S 1000000000u
/* How long it sleeps before it makes sure that somebody is there to wait for, and how long between looks at signals of others. */
enum { PATIENCE_NS = 200000000, SHARED_NS = 1000000 };
enum { PAGE_BYTES = 4096 };
enum { MAX_GROUP_SIGNALS = 1 << 20 };
/* hsa_amd_signal_attribute_t. */
enum { ATTRIBUTE_GPU_ONLY = 1, ATTRIBUTE_IPC = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *free_signals;
static size_t free_count, signal_count;

/* Signals that are waited for together. The handle is its address, which is looked up. */
typedef struct signal_group {
  struct signal_group *next;
  uint32_t count;
  uint64_t signals[];
} signal_group_t;

static signal_group_t *groups;

/* The list of free signals has room for all signals. Called with the lock. */
static status_t add_chunk(void) {
  size_t more = CHUNK_BYTES / sizeof(amd_signal_t);
  uint64_t *list = realloc(free_signals, (signal_count + more) * sizeof *list);
  if (list == NULL) return OUT_OF_RESOURCES;
  free_signals = list;
  allocate_request_t request = {host_pool(), CHUNK_BYTES, 0};
  allocate_reply_t reply;
  status_t status = call_words(OP_ALLOCATE, &request, sizeof request, &reply, sizeof reply);
  if (status != SUCCESS) return status;
  for (size_t i = more; i-- > 0;) free_signals[free_count++] = reply.address + i * sizeof(amd_signal_t);
  signal_count += more;
  return SUCCESS;
}

void signals_reset(void) {
  while (groups != NULL) {
    signal_group_t *next = groups->next;
    free(groups);
    groups = next;
  }
  free(free_signals);
  free_signals = NULL;
  free_count = signal_count = 0;
}

static amd_signal_t *at(uint64_t handle) { return (amd_signal_t *)(uintptr_t)handle; }

/* One that was destroyed has no kind. */
bool is_signal(uint64_t handle) {
  return handle != 0 && handle % sizeof(amd_signal_t) == 0 && is_in_arena(at(handle)) && at(handle)->kind != 0;
}

static status_t create(int64_t value, uint64_t *signal) {
  pthread_mutex_lock(&lock);
  status_t status = free_count > 0 ? SUCCESS : add_chunk();
  uint64_t handle = status == SUCCESS ? free_signals[--free_count] : 0;
  pthread_mutex_unlock(&lock);
  if (status != SUCCESS) return status;
  memset(at(handle), 0, sizeof(amd_signal_t));
  at(handle)->kind = SIGNAL_USER;
  at(handle)->value = value;
  *signal = handle;
  return SUCCESS;
}

static status_t check_consumers(uint32_t count, const uint64_t *consumers) {
  EXPECT(count == 0 || consumers != NULL, INVALID_ARGUMENT);
  for (uint32_t i = 0; i < count; i++) {
    EXPECT(is_subject(consumers[i], SUBJECT_AGENT), INVALID_AGENT);
    for (uint32_t j = 0; j < i; j++) EXPECT(consumers[i] != consumers[j], INVALID_ARGUMENT);
  }
  return SUCCESS;
}

EXPORT status_t hsa_signal_create(int64_t value, uint32_t count, const uint64_t *consumers, uint64_t *signal) {
  TRACED(hsa_signal_create, value, count);
  EXPECT_INITIALIZED();
  EXPECT(signal != NULL, INVALID_ARGUMENT);
  status_t status = check_consumers(count, consumers);
  return status == SUCCESS ? create(value, signal) : status;
}

/* A signal with an allocation of its own, which other processes can map. */
static status_t create_shared(int64_t value, uint64_t *signal) {
  status_t status = pool_allocate(host_pool(), PAGE_BYTES, 0, signal);
  if (status != SUCCESS) return status;
  *at(*signal) = (amd_signal_t){.kind = SIGNAL_USER, .value = value, .is_shared = 1};
  return SUCCESS;
}

/* A signal for the GPU alone is as good for all. */
EXPORT status_t hsa_amd_signal_create(int64_t value, uint32_t count, const uint64_t *consumers, uint64_t attributes, uint64_t *signal) {
  EXPECT_INITIALIZED();
  EXPECT((attributes & ~(uint64_t)(ATTRIBUTE_GPU_ONLY | ATTRIBUTE_IPC)) == 0, INVALID_ARGUMENT);
  if ((attributes & ATTRIBUTE_IPC) == 0) return hsa_signal_create(value, count, consumers, signal);
  EXPECT(signal != NULL, INVALID_ARGUMENT);
  status_t status = check_consumers(count, consumers);
  return status == SUCCESS ? create_shared(value, signal) : status;
}

EXPORT status_t hsa_amd_ipc_signal_create(uint64_t signal, ipc_handle_t *handle) {
  EXPECT_INITIALIZED();
  EXPECT(handle != NULL, INVALID_ARGUMENT);
  EXPECT(is_signal(signal), INVALID_SIGNAL);
  EXPECT(at(signal)->is_shared != 0, INVALID_ARGUMENT);
  return memory_share(signal, PAGE_BYTES, handle);
}

EXPORT status_t hsa_amd_ipc_signal_attach(const ipc_handle_t *handle, uint64_t *signal) {
  EXPECT_INITIALIZED();
  EXPECT(handle != NULL && signal != NULL, INVALID_ARGUMENT);
  uint64_t address;
  status_t status = memory_attach(handle, PAGE_BYTES, &address);
  if (status != SUCCESS) return status;
  if (!is_signal(address) || at(address)->is_shared == 0) {
    memory_detach(address);
    return INVALID_ARGUMENT;
  }
  *signal = address;
  return SUCCESS;
}

/* It lives on for other processes that use it. */
static status_t destroy_shared(uint64_t signal) {
  if (memory_detach(signal) == SUCCESS) return SUCCESS;
  return memory_release(signal) == SUCCESS ? SUCCESS : INVALID_SIGNAL;
}

EXPORT status_t hsa_signal_destroy(uint64_t signal) {
  TRACED(hsa_signal_destroy, signal, 0);
  EXPECT_INITIALIZED();
  EXPECT(signal != 0, INVALID_ARGUMENT);
  EXPECT(is_signal(signal) && at(signal)->kind == SIGNAL_USER, INVALID_SIGNAL);
  if (at(signal)->is_shared != 0) return destroy_shared(signal);
  pthread_mutex_lock(&lock);
  bool has_room = free_count < signal_count;
  if (has_room) {
    at(signal)->kind = 0;
    free_signals[free_count++] = signal;
  }
  pthread_mutex_unlock(&lock);
  return has_room ? SUCCESS : INVALID_SIGNAL;
}

/* The value of a doorbell is a word elsewhere. */
static _Atomic int64_t *value_of(uint64_t handle) {
  amd_signal_t *signal = at(handle);
  if (signal->kind != SIGNAL_DOORBELL) return &signal->value;
  return (_Atomic int64_t *)(uintptr_t)(uint64_t)signal->value;
}

int64_t signal_load(uint64_t handle) { return *value_of(handle); }

/* A place in a signal's page, so that signals that were made together differ. */
uint32_t concern_of(uint64_t handle) { return 1u << (handle / sizeof(amd_signal_t) % SIGNAL_CONCERNS); }

uint64_t patience_for(uint64_t handle) { return at(handle)->is_shared != 0 ? SHARED_NS : UINT64_MAX; }

void signal_add(uint64_t handle, int64_t value) {
  atomic_fetch_add(value_of(handle), value);
  notify(concern_of(handle));
}

EXPORT status_t hsa_amd_signal_value_pointer(uint64_t signal, _Atomic int64_t **pointer) {
  EXPECT_INITIALIZED();
  EXPECT(pointer != NULL, INVALID_ARGUMENT);
  EXPECT(is_signal(signal), INVALID_SIGNAL);
  *pointer = value_of(signal);
  return SUCCESS;
}

static void store(uint64_t handle, int64_t value) {
  trace_t bell = {0};
  bool is_doorbell = at(handle)->kind == SIGNAL_DOORBELL;
  if (is_doorbell) bell = trace_begin(TRACED_doorbell, at(handle)->queue, (uint64_t)value);
  *value_of(handle) = value;
  notify(is_doorbell ? 0 : concern_of(handle));
  trace_end(&bell);
}

/* Memory orders, whose older names are no functions of their own, say what is promised at least; all get the strongest. */
#define LOAD(order) \
  EXPORT int64_t hsa_signal_load_##order(uint64_t signal) { return signal_load(signal); }
LOAD(relaxed)
LOAD(scacquire)

#define STORE(order) \
  EXPORT void hsa_signal_store_##order(uint64_t signal, int64_t value) { store(signal, value); }
STORE(relaxed)
STORE(screlease)

#define SILENT_STORE(order) \
  EXPORT void hsa_signal_silent_store_##order(uint64_t signal, int64_t value) { *value_of(signal) = value; }
SILENT_STORE(relaxed)
SILENT_STORE(screlease)

#define CHANGE(name, function, order) \
  EXPORT void hsa_signal_##name##_##order(uint64_t signal, int64_t value) { \
    function(value_of(signal), value); \
    notify(concern_of(signal)); \
  }
#define EXCHANGE(order) \
  EXPORT int64_t hsa_signal_exchange_##order(uint64_t signal, int64_t value) { \
    int64_t old = atomic_exchange(value_of(signal), value); \
    notify(concern_of(signal)); \
    return old; \
  }
#define COMPARE_AND_SWAP(order) \
  EXPORT int64_t hsa_signal_cas_##order(uint64_t signal, int64_t expected, int64_t value) { \
    atomic_compare_exchange_strong(value_of(signal), &expected, value); \
    notify(concern_of(signal)); \
    return expected; \
  }
#define IN_ORDER(order) \
  CHANGE(add, atomic_fetch_add, order) \
  CHANGE(subtract, atomic_fetch_sub, order) \
  CHANGE(and, atomic_fetch_and, order) \
  CHANGE(or, atomic_fetch_or, order) \
  CHANGE(xor, atomic_fetch_xor, order) \
  EXCHANGE(order) \
  COMPARE_AND_SWAP(order)
IN_ORDER(relaxed)
IN_ORDER(scacquire)
IN_ORDER(screlease)
IN_ORDER(scacq_screl)

static bool condition_holds(uint32_t condition, int64_t value, int64_t compare) {
  switch (condition) {
    case CONDITION_EQ: return value == compare;
    case CONDITION_NE: return value != compare;
    case CONDITION_LT: return value < compare;
    default: return value >= compare;
  }
}

uint32_t current_epoch(void) { return *control_word(CONTROL_EPOCH); }

void wait_for_change(uint32_t epoch, uint64_t max_ns, uint32_t concerns) {
  bool is_patient = max_ns >= SHARED_NS;
  uint64_t end_ns = system_time_now() + (max_ns > PATIENCE_NS ? PATIENCE_NS : max_ns);
  struct timespec end = {(time_t)(end_ns / NS_PER_S), (long)(end_ns % NS_PER_S)};
  long result = syscall(SYS_futex, control_word(CONTROL_EPOCH), FUTEX_WAIT_BITSET, epoch, &end, NULL, concerns);
  if (result != 0 && is_patient && connection_is_lost()) runtime_lost("the device process ended");
}

typedef struct {
  uint32_t count;
  const uint64_t *signals;
  const uint32_t *conditions;
  const int64_t *values;
  bool is_all;
} group_t;

/* Index of a signal that holds; of the last one, where all must hold and do. UINT32_MAX: not yet. `seen`: a value of each or of that one. */
static uint32_t look(const group_t *group, int64_t *seen) {
  for (uint32_t i = 0; i < group->count; i++) {
    int64_t *value = &seen[group->is_all ? i : 0];
    *value = signal_load(group->signals[i]);
    bool holds = condition_holds(group->conditions[i], *value, group->values[i]);
    if (holds != group->is_all) return holds ? i : UINT32_MAX;
  }
  return group->is_all ? group->count - 1 : UINT32_MAX;
}

static inline void pause_thread(void) {
#if defined(__aarch64__)
  __asm__ volatile("yield");
#else
  __builtin_ia32_pause();
#endif
}

/* Looks for some time without sleeping, which an empty kernel takes: to sleep and to be woken costs both sides more. */
static uint32_t look_for(const group_t *group, uint64_t start_ns, uint64_t span_ns, int64_t *seen) {
  uint32_t found = UINT32_MAX;
  for (int i = 1; found == UINT32_MAX && (i % LOOKS_PER_TIME != 0 || system_time_now() - start_ns < span_ns); i++) {
    pause_thread();
    found = look(group, seen);
  }
  return found;
}

static uint32_t sleep_for(const group_t *group, uint64_t start_ns, uint64_t timeout_ns, int64_t *seen) {
  uint32_t found, concerns = 0;
  uint64_t patience_ns = UINT64_MAX;
  for (uint32_t i = 0; i < group->count; i++) {
    concerns |= concern_of(group->signals[i]);
    if (patience_for(group->signals[i]) < patience_ns) patience_ns = patience_for(group->signals[i]);
  }
  atomic_fetch_add(control_word(CONTROL_WAITERS), 1);
  for (;;) {
    uint32_t epoch = current_epoch();
    found = look(group, seen);
    uint64_t passed = system_time_now() - start_ns;
    if (found != UINT32_MAX || passed >= timeout_ns) break;
    uint64_t left_ns = timeout_ns - passed;
    wait_for_change(epoch, left_ns < patience_ns ? left_ns : patience_ns, concerns);
  }
  atomic_fetch_sub(control_word(CONTROL_WAITERS), 1);
  return found;
}

/* `timeout_ns`, in ticks of the system's clock, is a hint. */
static uint32_t wait_for(const group_t *group, uint64_t timeout_ns, uint32_t hint, int64_t *seen) {
  /* What waits of this thread took of late, of the last ones most. */
  static _Thread_local uint64_t late_ns = SHORT_NS;
  uint32_t found = look(group, seen);
  if (found != UINT32_MAX || timeout_ns == 0) return found;
  uint64_t start = system_time_now();
  uint64_t span_ns = hint == WAIT_ACTIVE || late_ns <= SHORT_NS ? SHORT_NS : BLOCKED_NS;
  found = look_for(group, start, span_ns < timeout_ns ? span_ns : timeout_ns, seen);
  if (found == UINT32_MAX) found = sleep_for(group, start, timeout_ns, seen);
  uint64_t took_ns = system_time_now() - start;
  late_ns = (3 * late_ns + (took_ns < 4 * SHORT_NS ? took_ns : 4 * SHORT_NS)) / 4;
  return found;
}

#define WAIT(order) \
  EXPORT int64_t hsa_signal_wait_##order(uint64_t signal, uint32_t condition, int64_t compare, uint64_t timeout, uint32_t hint) { \
    TRACED(hsa_signal_wait_##order, signal, compare); \
    int64_t seen = 0; \
    group_t group = {1, &signal, &condition, &compare, false}; \
    wait_for(&group, timeout, hint, &seen); \
    return seen; \
  }
WAIT(relaxed)
WAIT(scacquire)

static bool is_group(uint32_t count, const uint64_t *signals) {
  if (!runtime_is_live() || count == 0 || count > MAX_GROUP_SIGNALS || signals == NULL) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!is_signal(signals[i])) return false;
  }
  return true;
}

/* Returns the index of a signal that holds. */
EXPORT uint32_t hsa_amd_signal_wait_any(uint32_t count, const uint64_t *signals, const uint32_t *conditions, const int64_t *values,
                                        uint64_t timeout, uint32_t hint, int64_t *satisfying) {
  TRACED(hsa_amd_signal_wait_any, (uintptr_t)signals, count);
  if (!is_group(count, signals)) return UINT32_MAX;
  int64_t seen;
  group_t group = {count, signals, conditions, values, false};
  uint32_t found = wait_for(&group, timeout, hint, &seen);
  if (found != UINT32_MAX && satisfying != NULL) *satisfying = seen;
  return found;
}

/* Returns 0 when all hold, and their values. */
EXPORT uint32_t hsa_amd_signal_wait_all(uint32_t count, const uint64_t *signals, const uint32_t *conditions, const int64_t *values,
                                        uint64_t timeout, uint32_t hint, int64_t *satisfying) {
  TRACED(hsa_amd_signal_wait_all, (uintptr_t)signals, count);
  if (!is_group(count, signals)) return UINT32_MAX;
  int64_t *seen = calloc(count, sizeof *seen);
  if (seen == NULL) return UINT32_MAX;
  group_t group = {count, signals, conditions, values, true};
  uint32_t found = wait_for(&group, timeout, hint, seen);
  if (found != UINT32_MAX && satisfying != NULL) memcpy(satisfying, seen, count * sizeof *seen);
  free(seen);
  return found == UINT32_MAX ? UINT32_MAX : 0;
}

/* Where the list has a group; where it ends, for any other handle. Called with the lock. */
static signal_group_t **place_of(uint64_t handle) {
  signal_group_t **place = &groups;
  while (*place != NULL && (uintptr_t)*place != handle) place = &(*place)->next;
  return place;
}

EXPORT status_t hsa_signal_group_create(uint32_t count, const uint64_t *signals, uint32_t consumer_count, const uint64_t *consumers,
                                        uint64_t *group) {
  EXPECT_INITIALIZED();
  EXPECT(count != 0 && count <= MAX_GROUP_SIGNALS && signals != NULL && consumer_count != 0 && group != NULL, INVALID_ARGUMENT);
  status_t status = check_consumers(consumer_count, consumers);
  if (status != SUCCESS) return status;
  EXPECT(is_group(count, signals), INVALID_SIGNAL);
  signal_group_t *made = malloc(sizeof *made + count * sizeof *signals);
  EXPECT(made != NULL, OUT_OF_RESOURCES);
  made->count = count;
  memcpy(made->signals, signals, count * sizeof *signals);
  pthread_mutex_lock(&lock);
  made->next = groups;
  groups = made;
  pthread_mutex_unlock(&lock);
  *group = (uintptr_t)made;
  return SUCCESS;
}

EXPORT status_t hsa_signal_group_destroy(uint64_t group) {
  EXPECT_INITIALIZED();
  pthread_mutex_lock(&lock);
  signal_group_t **place = place_of(group), *found = *place;
  if (found != NULL) *place = found->next;
  pthread_mutex_unlock(&lock);
  free(found);
  return found == NULL ? INVALID_SIGNAL_GROUP : SUCCESS;
}

/* Until a condition holds, however long it takes. */
static status_t wait_for_group(uint64_t handle, const uint32_t *conditions, const int64_t *values, uint32_t hint, uint64_t *signal,
                               int64_t *value) {
  EXPECT_INITIALIZED();
  EXPECT(conditions != NULL && values != NULL && signal != NULL && value != NULL, INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  const signal_group_t *found = *place_of(handle);
  pthread_mutex_unlock(&lock);
  EXPECT(found != NULL, INVALID_SIGNAL_GROUP);
  group_t group = {found->count, found->signals, conditions, values, false};
  *signal = found->signals[wait_for(&group, UINT64_MAX, hint, value)];
  return SUCCESS;
}

#define WAIT_GROUP(order) \
  EXPORT status_t hsa_signal_group_wait_any_##order(uint64_t group, const uint32_t *conditions, const int64_t *values, uint32_t hint, \
                                                    uint64_t *signal, int64_t *value) { \
    return wait_for_group(group, conditions, values, hint, signal, value); \
  }
WAIT_GROUP(relaxed)
WAIT_GROUP(scacquire)

/* A handler of the program, or a function that it wants to be called on another thread. */
typedef struct {
  watch_t watch;
  uint64_t signal;
  uint32_t condition;
  int64_t value;
  signal_handler_t handler;
  void (*function)(void *argument);
  void *argument;
} handler_watch_t;

static bool handler_is_due(watch_t *entry) {
  const handler_watch_t *own = (const handler_watch_t *)entry;
  return own->handler == NULL || condition_holds(own->condition, signal_load(own->signal), own->value);
}

static bool run_handler(watch_t *entry) {
  const handler_watch_t *own = (const handler_watch_t *)entry;
  if (own->handler != NULL) return own->handler(signal_load(own->signal), own->argument);
  own->function(own->argument);
  return false;
}

static status_t add_handler(handler_watch_t wanted) {
  handler_watch_t *entry = malloc(sizeof *entry);
  EXPECT(entry != NULL, OUT_OF_RESOURCES);
  *entry = wanted;
  entry->watch = (watch_t){.is_due = handler_is_due, .run = run_handler};
  if (wanted.handler != NULL) watch_for(&entry->watch, wanted.signal);
  return watch(WATCHER_HANDLERS, &entry->watch);
}

EXPORT status_t hsa_amd_signal_async_handler(uint64_t signal, uint32_t condition, int64_t value, signal_handler_t handler, void *argument) {
  TRACED(hsa_amd_signal_async_handler, signal, value);
  EXPECT_INITIALIZED();
  EXPECT(handler != NULL && condition <= CONDITION_GTE, INVALID_ARGUMENT);
  EXPECT(is_signal(signal), INVALID_SIGNAL);
  return add_handler((handler_watch_t){.signal = signal, .condition = condition, .value = value, .handler = handler, .argument = argument});
}

EXPORT status_t hsa_amd_async_function(void (*function)(void *argument), void *argument) {
  EXPECT_INITIALIZED();
  EXPECT(function != NULL, INVALID_ARGUMENT);
  return add_handler((handler_watch_t){.function = function, .argument = argument});
}
