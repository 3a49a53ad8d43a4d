/* Queues: the program writes packets and indices into the device's memory; the device process takes them out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* Compute units of a GPU that a mask can name. */
enum { MAX_EVENT_HANDLERS = 64, MASK_WORDS = 32, WORD_BITS = 32 };

typedef struct queue {
  struct queue *next;
  amd_queue_t *memory;
  uint64_t agent;
  uint32_t unit_mask[MASK_WORDS];
} queue_t;

typedef struct {
  watch_t watch;
  amd_queue_t *queue;
  uint64_t agent;
  queue_callback_t callback;
  void *data;
} stop_watch_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static queue_t *queues;
static struct {
  event_callback_t callback;
  void *data;
} handlers[MAX_EVENT_HANDLERS];
static size_t handler_count;

/* Called with the lock. */
static queue_t *known_queue(const amd_queue_t *queue) {
  queue_t *at = queues;
  while (at != NULL && at->memory != queue) at = at->next;
  return at;
}

static bool is_queue(const amd_queue_t *queue) {
  pthread_mutex_lock(&lock);
  bool is_known = known_queue(queue) != NULL;
  pthread_mutex_unlock(&lock);
  return is_known;
}

void queues_reset(void) {
  while (queues != NULL) {
    queue_t *next = queues->next;
    free(queues);
    queues = next;
  }
  handler_count = 0;
}

static bool queue_has_stopped(watch_t *entry) { return signal_load(((stop_watch_t *)entry)->queue->inactive_signal) != 0; }

/* Returns whether anybody was told. */
static bool tell_of_fault(const event_t *event) {
  pthread_mutex_lock(&lock);
  size_t count = handler_count;
  pthread_mutex_unlock(&lock);
  for (size_t i = 0; i < count; i++) handlers[i].callback(event, handlers[i].data);
  return count > 0;
}

/* Prints what the device process says of the end of a queue, then tells the program as ROCm's runtime does. */
static bool report_stop(watch_t *entry) {
  const stop_watch_t *own = (const stop_watch_t *)entry;
  status_t status = (status_t)signal_load(own->queue->inactive_signal);
  queue_error_request_t request = {(uintptr_t)own->queue};
  queue_error_reply_t reply = {0};
  void *text = NULL;
  size_t text_bytes = 0;
  request_t whole = {&request, sizeof request, NULL, 0};
  /* The queue may have been inactivated, which is no error. */
  if (call(OP_QUEUE_ERROR, whole, &reply, sizeof reply, &text, &text_bytes) == SUCCESS) {
    print_demangled(text, text_bytes);
    event_t event = {0, 0, own->agent, reply.fault_address, (uint32_t)reply.reason, 0};
    if (reply.is_memory_fault != 0 && !tell_of_fault(&event) && own->callback == NULL) abort();
    if (own->callback != NULL) own->callback(status, own->queue, own->data);
  }
  free(text);
  return false;
}

static void all_units(uint64_t agent, uint32_t *mask) {
  uint32_t count = 0;
  records_answer(known(), agent, AGENT_INFO_COMPUTE_UNIT_COUNT, &count);
  for (uint32_t unit = 0; unit < count && unit < MASK_WORDS * WORD_BITS; unit++) mask[unit / WORD_BITS] |= 1u << unit % WORD_BITS;
}

static status_t remember(amd_queue_t *memory, uint64_t agent, queue_callback_t callback, void *data) {
  queue_t *queue = malloc(sizeof *queue);
  stop_watch_t *entry = calloc(1, sizeof *entry);
  if (queue == NULL || entry == NULL) {
    free(queue);
    free(entry);
    return OUT_OF_RESOURCES;
  }
  pthread_mutex_lock(&lock);
  *queue = (queue_t){queues, memory, agent, {0}};
  all_units(agent, queue->unit_mask);
  queues = queue;
  pthread_mutex_unlock(&lock);
  watch_t stop = {.is_due = queue_has_stopped, .run = report_stop, .owner = memory};
  *entry = (stop_watch_t){stop, memory, agent, callback, data};
  return watch(WATCHER_HANDLERS, &entry->watch);
}

static status_t destroy_remote(uint64_t address) {
  destroy_queue_request_t request = {address};
  return call_words(OP_DESTROY_QUEUE, &request, sizeof request, NULL, 0);
}

EXPORT status_t hsa_queue_create(uint64_t agent, uint32_t size, uint32_t type, queue_callback_t callback, void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, amd_queue_t **queue) {
  TRACED(hsa_queue_create, agent, size);
  EXPECT_INITIALIZED();
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  EXPECT(queue != NULL && type <= 2 && size != 0 && (size & (size - 1)) == 0, INVALID_ARGUMENT);
  create_queue_request_t request = {agent, size, type, private_bytes, group_bytes};
  create_queue_reply_t reply;
  status_t status = call_words(OP_CREATE_QUEUE, &request, sizeof request, &reply, sizeof reply);
  if (status != SUCCESS) return status;
  status = remember((amd_queue_t *)(uintptr_t)reply.address, agent, callback, data);
  if (status != SUCCESS) destroy_remote(reply.address);
  else *queue = (amd_queue_t *)(uintptr_t)reply.address;
  return status;
}

EXPORT status_t hsa_queue_destroy(amd_queue_t *queue) {
  TRACED(hsa_queue_destroy, (uintptr_t)queue, 0);
  EXPECT_INITIALIZED();
  EXPECT(queue != NULL, INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  queue_t **at = &queues;
  while (*at != NULL && (*at)->memory != queue) at = &(*at)->next;
  queue_t *found = *at;
  if (found != NULL) *at = found->next;
  pthread_mutex_unlock(&lock);
  EXPECT(found != NULL, INVALID_QUEUE);
  free(found);
  unwatch(WATCHER_HANDLERS, queue);
  return destroy_remote((uintptr_t)queue);
}

EXPORT status_t hsa_queue_inactivate(amd_queue_t *queue) {
  EXPECT_INITIALIZED();
  EXPECT(is_queue(queue), INVALID_QUEUE);
  inactivate_queue_request_t request = {(uintptr_t)queue};
  status_t status = call_words(OP_INACTIVATE_QUEUE, &request, sizeof request, NULL, 0);
  notify(CONCERNS_ALL);
  return status;
}

EXPORT status_t hsa_amd_queue_set_priority(amd_queue_t *queue, uint32_t priority) {
  EXPECT_INITIALIZED();
  EXPECT(is_queue(queue), INVALID_QUEUE);
  set_priority_request_t request = {(uintptr_t)queue, priority};
  return call_words(OP_SET_PRIORITY, &request, sizeof request, NULL, 0);
}

/* The emulator has no use for masks: they are kept for who asks. No words stand for all compute units; those that are not there do not count. */
static status_t set_mask(queue_t *queue, uint32_t words, const uint32_t *mask) {
  uint32_t all[MASK_WORDS] = {0}, wanted[MASK_WORDS] = {0}, left = 0;
  EXPECT(queue != NULL, INVALID_QUEUE);
  all_units(queue->agent, all);
  for (uint32_t i = 0; i < MASK_WORDS; i++) {
    wanted[i] = all[i] & (words == 0 ? UINT32_MAX : i < words ? mask[i] : 0);
    left |= wanted[i];
  }
  EXPECT(left != 0, INVALID_ARGUMENT);
  memcpy(queue->unit_mask, wanted, sizeof wanted);
  return SUCCESS;
}

EXPORT status_t hsa_amd_queue_cu_set_mask(const amd_queue_t *queue, uint32_t bits, const uint32_t *mask) {
  EXPECT_INITIALIZED();
  EXPECT(bits % WORD_BITS == 0 && (bits == 0) == (mask == NULL), INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  status_t status = set_mask(known_queue(queue), bits / WORD_BITS, mask);
  pthread_mutex_unlock(&lock);
  return status;
}

EXPORT status_t hsa_amd_queue_cu_get_mask(const amd_queue_t *queue, uint32_t bits, uint32_t *mask) {
  EXPECT_INITIALIZED();
  EXPECT(bits != 0 && bits % WORD_BITS == 0 && mask != NULL, INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  const queue_t *found = known_queue(queue);
  for (uint32_t i = 0; found != NULL && i < bits / WORD_BITS; i++) mask[i] = i < MASK_WORDS ? found->unit_mask[i] : 0;
  pthread_mutex_unlock(&lock);
  return found == NULL ? INVALID_QUEUE : SUCCESS;
}

/* Dispatches are always timed; the bit is for who asks. */
EXPORT status_t hsa_amd_profiling_set_profiler_enabled(amd_queue_t *queue, int is_enabled) {
  EXPECT_INITIALIZED();
  EXPECT(is_queue(queue), INVALID_QUEUE);
  if (is_enabled) atomic_fetch_or(&queue->properties, QUEUE_PROFILING);
  else atomic_fetch_and(&queue->properties, ~(uint32_t)QUEUE_PROFILING);
  return SUCCESS;
}

EXPORT status_t hsa_amd_profiling_async_copy_enable(bool is_enabled) {
  EXPECT_INITIALIZED();
  (void)is_enabled;
  return SUCCESS;
}

static status_t times_of(uint64_t signal, profiling_time_t *time) {
  EXPECT(time != NULL, INVALID_ARGUMENT);
  EXPECT(is_signal(signal), INVALID_SIGNAL);
  const amd_signal_t *memory = (const amd_signal_t *)(uintptr_t)signal;
  *time = (profiling_time_t){system_time(memory->start_ticks), system_time(memory->end_ticks)};
  return SUCCESS;
}

EXPORT status_t hsa_amd_profiling_get_dispatch_time(uint64_t agent, uint64_t signal, profiling_time_t *time) {
  EXPECT_INITIALIZED();
  EXPECT(is_gpu(agent), INVALID_AGENT);
  return times_of(signal, time);
}

EXPORT status_t hsa_amd_profiling_get_async_copy_time(uint64_t signal, profiling_time_t *time) {
  EXPECT_INITIALIZED();
  return times_of(signal, time);
}

EXPORT status_t hsa_amd_profiling_convert_tick_to_system_domain(uint64_t agent, uint64_t tick, uint64_t *system_tick) {
  EXPECT_INITIALIZED();
  EXPECT(system_tick != NULL, INVALID_ARGUMENT);
  EXPECT(is_gpu(agent), INVALID_AGENT);
  *system_tick = system_time(tick);
  return SUCCESS;
}

EXPORT status_t hsa_amd_register_system_event_handler(event_callback_t callback, void *data) {
  EXPECT_INITIALIZED();
  EXPECT(callback != NULL, INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  status_t status = handler_count < MAX_EVENT_HANDLERS ? SUCCESS : OUT_OF_RESOURCES;
  if (status == SUCCESS) {
    handlers[handler_count].callback = callback;
    handlers[handler_count].data = data;
    handler_count++;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

enum { QUEUE_INFO_AGENT, QUEUE_INFO_DOORBELL_ID };

EXPORT status_t hsa_amd_queue_get_info(const amd_queue_t *queue, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(value != NULL && attribute <= QUEUE_INFO_DOORBELL_ID, INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  const queue_t *found = known_queue(queue);
  uint64_t agent = found == NULL ? 0 : found->agent;
  pthread_mutex_unlock(&lock);
  EXPECT(agent != 0, INVALID_QUEUE);
  const amd_signal_t *doorbell = (const amd_signal_t *)(uintptr_t)queue->doorbell_signal;
  uint64_t answer = attribute == QUEUE_INFO_AGENT ? agent : (uint64_t)doorbell->value;
  memcpy(value, &answer, sizeof answer);
  return SUCCESS;
}

#define LOAD_INDEX(order) \
  EXPORT uint64_t hsa_queue_load_read_index_##order(const amd_queue_t *queue) { return queue->read_index; } \
  EXPORT uint64_t hsa_queue_load_write_index_##order(const amd_queue_t *queue) { return queue->write_index; }
LOAD_INDEX(relaxed)
LOAD_INDEX(scacquire)

/* The read index is the packet processor's: these functions are for queues that the program itself serves. */
#define STORE_INDEX(order) \
  EXPORT void hsa_queue_store_write_index_##order(amd_queue_t *queue, uint64_t value) { queue->write_index = value; } \
  EXPORT void hsa_queue_store_read_index_##order(amd_queue_t *queue, uint64_t value) { queue->read_index = value; }
STORE_INDEX(relaxed)
STORE_INDEX(screlease)

#define CHANGE_INDEX(order) \
  EXPORT uint64_t hsa_queue_add_write_index_##order(amd_queue_t *queue, uint64_t value) { \
    return atomic_fetch_add(&queue->write_index, value); \
  } \
  EXPORT uint64_t hsa_queue_cas_write_index_##order(amd_queue_t *queue, uint64_t expected, uint64_t value) { \
    atomic_compare_exchange_strong(&queue->write_index, &expected, value); \
    return expected; \
  }
CHANGE_INDEX(relaxed)
CHANGE_INDEX(scacquire)
CHANGE_INDEX(screlease)
CHANGE_INDEX(scacq_screl)
