/*
 * Memory: pools, copies, locked pages. All memory of the device is this process's, too, at the same addresses; so copies are
 * memcpy. Locked pages of the program become pages of the device: both see what the other writes.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime.h"

enum { PAGE_BYTES = 4096, MAX_CALLERS = 32 };
enum { COPY_ENGINE = 1 };

typedef struct {
  allocation_t memory;
  /* The pages of the program, and how often they are locked. */
  uint64_t host;
  uint32_t count;
} locked_t;

typedef struct callback {
  struct callback *next;
  uint64_t address;
  deallocation_callback_t function;
  void *user_data;
} callback_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Sorted by address. */
static allocation_t *allocations;
static size_t allocation_count, allocation_room;
static locked_t *locked;
static size_t locked_count, locked_room;
static callback_t *callbacks;

static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

/* How many allocations begin at or before an address. Called with the lock. */
static size_t allocations_until(uint64_t address) {
  size_t low = 0, high = allocation_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (allocations[middle].address <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Called with the lock. */
static allocation_t *allocation_with(uint64_t address) {
  size_t index = allocations_until(address);
  if (index == 0) return NULL;
  allocation_t *found = &allocations[index - 1];
  return address - found->address < found->size_bytes ? found : NULL;
}

/* The list with room for one more item; NULL when there is no memory for it, and the list is as it was. */
static void *with_room(void *list, size_t count, size_t *room, size_t item_bytes) {
  if (count < *room) return list;
  size_t more = *room == 0 ? 64 : *room * 2;
  void *longer = realloc(list, more * item_bytes);
  if (longer != NULL) *room = more;
  return longer;
}

bool memory_remember(allocation_t allocation) {
  pthread_mutex_lock(&lock);
  allocation_t *list = with_room(allocations, allocation_count, &allocation_room, sizeof *allocations);
  if (list != NULL) {
    allocations = list;
    size_t index = allocations_until(allocation.address);
    memmove(&allocations[index + 1], &allocations[index], (allocation_count - index) * sizeof *allocations);
    allocations[index] = allocation;
    allocation_count++;
  }
  pthread_mutex_unlock(&lock);
  return list != NULL;
}

/* Called with the lock. */
static void forget(allocation_t *allocation) {
  size_t index = (size_t)(allocation - allocations);
  allocation_count--;
  memmove(allocation, allocation + 1, (allocation_count - index) * sizeof *allocations);
}

/* The allocation of a type that begins at an address. Called with the lock. */
static allocation_t *allocation_at(uint64_t address, uint32_t type) {
  allocation_t *found = allocation_with(address);
  return found != NULL && found->address == address && found->type == type ? found : NULL;
}

uint64_t memory_forget(uint64_t address, uint32_t type) {
  pthread_mutex_lock(&lock);
  allocation_t *found = allocation_at(address, type);
  uint64_t size_bytes = found == NULL ? 0 : found->size_bytes;
  if (found != NULL) forget(found);
  pthread_mutex_unlock(&lock);
  return size_bytes;
}

/* As `call_words`; the device process learns who called, for what is said of faults. */
static status_t call_with_callers(uint32_t operation, const void *words, size_t words_bytes, void *reply, size_t reply_bytes) {
  void *callers[MAX_CALLERS];
  int count = backtrace(callers, MAX_CALLERS);
  request_t request = {words, words_bytes, callers, (size_t)count * sizeof *callers};
  return call(operation, request, reply, reply_bytes, NULL, NULL);
}

static status_t free_remote(uint64_t address) {
  free_request_t request = {address};
  return call_with_callers(OP_FREE, &request, sizeof request, NULL, 0);
}

status_t pool_allocate(uint64_t pool, uint64_t size_bytes, uint32_t flags, uint64_t *address) {
  allocate_request_t request = {pool, size_bytes, flags};
  allocate_reply_t reply;
  status_t status = call_with_callers(OP_ALLOCATE, &request, sizeof request, &reply, sizeof reply);
  if (status != SUCCESS) return status;
  if (!memory_remember((allocation_t){reply.address, size_bytes, pool, NULL, POINTER_HSA})) {
    free_remote(reply.address);
    return OUT_OF_RESOURCES;
  }
  *address = reply.address;
  return SUCCESS;
}

static status_t allocate(uint64_t pool, size_t size_bytes, uint32_t flags, void **address) {
  uint64_t found = 0;
  status_t status = pool_allocate(pool, size_bytes, flags, &found);
  if (status == SUCCESS) *address = pointer(found);
  return status;
}

EXPORT status_t hsa_amd_memory_pool_allocate(uint64_t pool, size_t size_bytes, uint32_t flags, void **address) {
  TRACED(hsa_amd_memory_pool_allocate, pool, size_bytes);
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && size_bytes != 0, INVALID_ARGUMENT);
  EXPECT(is_subject(pool, SUBJECT_POOL), INVALID_MEMORY_POOL);
  return allocate(pool, size_bytes, flags, address);
}

EXPORT status_t hsa_memory_allocate(uint64_t region, size_t size_bytes, void **address) {
  TRACED(hsa_memory_allocate, region, size_bytes);
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && size_bytes != 0, INVALID_ARGUMENT);
  EXPECT(is_subject(region, SUBJECT_POOL), INVALID_REGION);
  return allocate(region, size_bytes, 0, address);
}

/* Calls what waits for the end of an allocation. */
static void run_callbacks(uint64_t address, uint64_t size_bytes) {
  for (;;) {
    pthread_mutex_lock(&lock);
    callback_t **at = &callbacks;
    while (*at != NULL && (*at)->address - address >= size_bytes) at = &(*at)->next;
    callback_t *due = *at;
    if (due != NULL) *at = due->next;
    pthread_mutex_unlock(&lock);
    if (due == NULL) return;
    due->function(pointer(due->address), due->user_data);
    free(due);
  }
}

status_t memory_release(uint64_t address) {
  if (address == 0) return SUCCESS;
  uint64_t size_bytes = memory_forget(address, POINTER_HSA);
  EXPECT(size_bytes != 0, INVALID_ALLOCATION);
  run_callbacks(address, size_bytes);
  return free_remote(address);
}

EXPORT status_t hsa_amd_memory_pool_free(void *address) {
  TRACED(hsa_amd_memory_pool_free, (uintptr_t)address, 0);
  EXPECT_INITIALIZED();
  return memory_release((uintptr_t)address);
}

EXPORT status_t hsa_memory_free(void *address) {
  TRACED(hsa_memory_free, (uintptr_t)address, 0);
  EXPECT_INITIALIZED();
  return memory_release((uintptr_t)address);
}

/* What a copy needs to know of rows: a plain copy is one row. */
typedef struct {
  pitched_pointer_t to, from;
  size_t width, rows, planes;
} box_t;

static void count_copy(uint64_t size_bytes) {
  atomic_fetch_add((_Atomic uint64_t *)control_word(CONTROL_COPIES), 1);
  atomic_fetch_add((_Atomic uint64_t *)control_word(CONTROL_COPIED_BYTES), size_bytes);
}

static void copy_box(const box_t *box) {
  count_copy(box->width * box->rows * box->planes);
  for (size_t plane = 0; plane < box->planes; plane++) {
    for (size_t row = 0; row < box->rows; row++) {
      char *to = (char *)box->to.base + plane * box->to.slice + row * box->to.pitch;
      const char *from = (const char *)box->from.base + plane * box->from.slice + row * box->from.pitch;
      memmove(to, from, box->width);
    }
  }
}

EXPORT status_t hsa_memory_copy(void *to, const void *from, size_t size_bytes) {
  TRACED(hsa_memory_copy, (uintptr_t)to, size_bytes);
  EXPECT_INITIALIZED();
  EXPECT(size_bytes == 0 || (to != NULL && from != NULL), INVALID_ARGUMENT);
  if (size_bytes > 0) memmove(to, from, size_bytes);
  count_copy(size_bytes);
  return SUCCESS;
}

EXPORT status_t hsa_amd_memory_fill(void *address, uint32_t value, size_t count) {
  TRACED(hsa_amd_memory_fill, (uintptr_t)address, count);
  EXPECT_INITIALIZED();
  EXPECT(count == 0 || (address != NULL && (uintptr_t)address % 4 == 0), INVALID_ARGUMENT);
  for (size_t i = 0; i < count; i++) ((uint32_t *)address)[i] = value;
  return SUCCESS;
}

/* A copy that waits for signals. */
typedef struct {
  watch_t watch;
  box_t box;
  uint64_t completion;
  uint32_t count;
  uint64_t dependencies[];
} copy_t;

static bool are_zero(uint32_t count, const uint64_t *signals) {
  for (uint32_t i = 0; i < count; i++) {
    if (signal_load(signals[i]) != 0) return false;
  }
  return true;
}

static void copy_now(const box_t *box, uint64_t completion) {
  TRACED(copy, completion, box->width * box->rows * box->planes);
  uint64_t start = device_ticks_now();
  copy_box(box);
  if (completion == 0) return;
  amd_signal_t *signal = pointer(completion);
  signal->start_ticks = start;
  signal->end_ticks = device_ticks_now();
  signal_add(completion, -1);
}

static bool copy_is_due(watch_t *entry) {
  const copy_t *own = (const copy_t *)entry;
  return are_zero(own->count, own->dependencies);
}

static bool run_copy(watch_t *entry) {
  const copy_t *own = (const copy_t *)entry;
  copy_now(&own->box, own->completion);
  return false;
}

/* The program may go on when the copy is done: those that need not wait are done at once. */
static status_t submit(box_t box, uint32_t count, const uint64_t *dependencies, uint64_t completion) {
  EXPECT(count == 0 || dependencies != NULL, INVALID_ARGUMENT);
  for (uint32_t i = 0; i < count; i++) EXPECT(is_signal(dependencies[i]), INVALID_SIGNAL);
  EXPECT(completion == 0 || is_signal(completion), INVALID_SIGNAL);
  if (are_zero(count, dependencies)) {
    copy_now(&box, completion);
    return SUCCESS;
  }
  copy_t *entry = calloc(1, sizeof *entry + count * sizeof *dependencies);
  EXPECT(entry != NULL, OUT_OF_RESOURCES);
  entry->watch = (watch_t){.is_due = copy_is_due, .run = run_copy};
  for (uint32_t i = 0; i < count; i++) watch_for(&entry->watch, dependencies[i]);
  entry->box = box;
  entry->completion = completion;
  entry->count = count;
  memcpy(entry->dependencies, dependencies, count * sizeof *dependencies);
  return watch(WATCHER_COPIES, &entry->watch);
}

static status_t check_copy(const void *to, uint64_t to_agent, const void *from, uint64_t from_agent) {
  EXPECT(to != NULL && from != NULL, INVALID_ARGUMENT);
  EXPECT(is_subject(to_agent, SUBJECT_AGENT) && is_subject(from_agent, SUBJECT_AGENT), INVALID_AGENT);
  return SUCCESS;
}

EXPORT status_t hsa_amd_memory_async_copy(void *to, uint64_t to_agent, const void *from, uint64_t from_agent, size_t size_bytes,
                                          uint32_t count, const uint64_t *dependencies, uint64_t completion) {
  TRACED(hsa_amd_memory_async_copy, (uintptr_t)to, size_bytes);
  EXPECT_INITIALIZED();
  status_t status = check_copy(to, to_agent, from, from_agent);
  if (status != SUCCESS) return status;
  box_t box = {{to, 0, 0}, {(void *)(uintptr_t)from, 0, 0}, size_bytes, 1, 1};
  return submit(box, count, dependencies, completion);
}

EXPORT status_t hsa_amd_memory_async_copy_on_engine(void *to, uint64_t to_agent, const void *from, uint64_t from_agent,
                                                    size_t size_bytes, uint32_t count, const uint64_t *dependencies,
                                                    uint64_t completion, uint32_t engine, bool forced) {
  TRACED(hsa_amd_memory_async_copy_on_engine, (uintptr_t)to, size_bytes);
  EXPECT_INITIALIZED();
  (void)forced;
  EXPECT(engine == COPY_ENGINE, INVALID_ARGUMENT);
  return hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size_bytes, count, dependencies, completion);
}

EXPORT status_t hsa_amd_memory_copy_engine_status(uint64_t to_agent, uint64_t from_agent, uint32_t *engines) {
  EXPECT_INITIALIZED();
  EXPECT(engines != NULL, INVALID_ARGUMENT);
  EXPECT(is_subject(to_agent, SUBJECT_AGENT) && is_subject(from_agent, SUBJECT_AGENT), INVALID_AGENT);
  EXPECT(to_agent != from_agent, INVALID_AGENT);
  *engines = COPY_ENGINE;
  return SUCCESS;
}

EXPORT status_t hsa_amd_memory_get_preferred_copy_engine(uint64_t to_agent, uint64_t from_agent, uint32_t *engines) {
  return hsa_amd_memory_copy_engine_status(to_agent, from_agent, engines);
}

static status_t check_rows(const pitched_pointer_t *place, const dim3_t *offset, const dim3_t *range, char **base) {
  EXPECT(place->base != NULL && place->pitch >= range->x, INVALID_ARGUMENT);
  EXPECT(range->z < 2 || place->slice >= place->pitch * range->y, INVALID_ARGUMENT);
  *base = (char *)place->base + offset->z * place->slice + offset->y * place->pitch + offset->x;
  return SUCCESS;
}

EXPORT status_t hsa_amd_memory_async_copy_rect(const pitched_pointer_t *to, const dim3_t *to_offset, const pitched_pointer_t *from,
                                               const dim3_t *from_offset, const dim3_t *range, uint64_t agent, uint32_t direction,
                                               uint32_t count, const uint64_t *dependencies, uint64_t completion) {
  TRACED(hsa_amd_memory_async_copy_rect, (uintptr_t)to, (uintptr_t)from);
  EXPECT_INITIALIZED();
  (void)direction;
  EXPECT(to != NULL && from != NULL && to_offset != NULL && from_offset != NULL && range != NULL, INVALID_ARGUMENT);
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  box_t box = {*to, *from, range->x, range->y, range->z};
  char *to_base, *from_base;
  status_t status = check_rows(to, to_offset, range, &to_base);
  if (status == SUCCESS) status = check_rows(from, from_offset, range, &from_base);
  if (status != SUCCESS) return status;
  box.to.base = to_base;
  box.from.base = from_base;
  return submit(box, count, dependencies, completion);
}

/* Called with the lock. */
static locked_t *locked_with(uint64_t host) {
  for (size_t i = 0; i < locked_count; i++) {
    if (host - locked[i].host < locked[i].memory.size_bytes) return &locked[i];
  }
  return NULL;
}

/* Called with the lock. */
static bool overlaps_locked(uint64_t start, uint64_t size_bytes) {
  for (size_t i = 0; i < locked_count; i++) {
    if (start < locked[i].host + locked[i].memory.size_bytes && locked[i].host < start + size_bytes) return true;
  }
  return false;
}

/*
 * Copies whole pages, then makes a system call that puts the copy in their place. They may be pages of this thread's stack: nothing is
 * written to it between the two. Returns what the call does.
 */
static int64_t move_pages(uint64_t to, uint64_t from, uint64_t size_bytes, int64_t number, const int64_t arguments[6]) {
#if defined(__aarch64__)
  register int64_t which __asm__("x8") = number;
  register int64_t result __asm__("x0") = arguments[0];
  register int64_t second __asm__("x1") = arguments[1];
  register int64_t third __asm__("x2") = arguments[2];
  register int64_t fourth __asm__("x3") = arguments[3];
  register int64_t fifth __asm__("x4") = arguments[4];
  register int64_t sixth __asm__("x5") = arguments[5];
  uint64_t low, high;
  __asm__ volatile("1: ldp %[low], %[high], [%[from]], #16\n\tstp %[low], %[high], [%[to]], #16\n\t"
                   "subs %[size], %[size], #16\n\tb.ne 1b\n\tsvc #0"
                   : "+r"(result), [to] "+&r"(to), [from] "+&r"(from), [size] "+&r"(size_bytes), [low] "=&r"(low), [high] "=&r"(high)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory", "cc");
#else
  int64_t result = number;
  register int64_t fourth __asm__("r10") = arguments[3];
  register int64_t fifth __asm__("r8") = arguments[4];
  register int64_t sixth __asm__("r9") = arguments[5];
  __asm__ volatile("rep movsb\n\tmov %[first], %%rdi\n\tmov %[second], %%rsi\n\tsyscall"
                   : "+&a"(result), "+&D"(to), "+&S"(from), "+&c"(size_bytes)
                   : [first] "r"(arguments[0]), [second] "r"(arguments[1]), "d"(arguments[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "r11", "memory", "cc");
#endif
  return result;
}

/* Makes pages of the program pages of the device, with what they hold. Called with the lock. */
static status_t lock_pages(uint64_t start, uint64_t size_bytes, uint64_t pool, uint64_t *address) {
  locked_t *list = with_room(locked, locked_count, &locked_room, sizeof *locked);
  EXPECT(list != NULL, OUT_OF_RESOURCES);
  locked = list;
  allocate_request_t request = {pool, size_bytes, 0};
  allocate_reply_t reply;
  status_t status = call_words(OP_ALLOCATE, &request, sizeof request, &reply, sizeof reply);
  if (status != SUCCESS) return status;
  /* A store of another thread into these pages, between the copy and the call, is lost. */
  int64_t offset = (int64_t)(reply.address - arena_base());
  int64_t map[6] = {(int64_t)start, (int64_t)size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, arena_file(), offset};
  if (move_pages(reply.address, start, size_bytes, SYS_mmap, map) != (int64_t)start) {
    free_remote(reply.address);
    return OUT_OF_RESOURCES;
  }
  locked[locked_count++] = (locked_t){{reply.address, size_bytes, pool, NULL, POINTER_LOCKED}, start, 1};
  *address = reply.address;
  return SUCCESS;
}

static status_t lock_memory(void *host, size_t size_bytes, uint64_t pool, void **address) {
  uint64_t start = (uintptr_t)host & -(uint64_t)PAGE_BYTES;
  uint64_t end = ((uintptr_t)host + size_bytes + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
  uint64_t within = (uintptr_t)host - start, place = 0;
  pthread_mutex_lock(&lock);
  locked_t *found = locked_with(start);
  status_t status = SUCCESS;
  if (found != NULL && end <= found->host + found->memory.size_bytes) {
    found->count++;
    place = found->memory.address + (start - found->host);
  } else if (overlaps_locked(start, end - start)) {
    status = refuse("locking memory that shares a page with locked memory");
  } else {
    status = lock_pages(start, end - start, pool, &place);
  }
  pthread_mutex_unlock(&lock);
  if (status == SUCCESS) *address = pointer(place + within);
  return status;
}

/* Pages of the program's own again, with what they hold. */
static bool make_private(const locked_t *pages) {
  size_t size_bytes = pages->memory.size_bytes;
  void *copy = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  int64_t size = (int64_t)size_bytes, host = (int64_t)pages->host;
  int64_t move[6] = {(int64_t)(uintptr_t)copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, host, 0};
  if (move_pages((uintptr_t)copy, pages->memory.address, size_bytes, SYS_mremap, move) == host) return true;
  munmap(copy, size_bytes);
  return false;
}

void memory_unshare_locked(void) {
  for (size_t i = 0; i < locked_count; i++) make_private(&locked[i]);
  locked_count = 0;
}

uint64_t host_pool(void) {
  size_t count;
  const uint64_t *pools = records_list(known(), SUBJECT_AGENT, LIST_POOLS, &count);
  return count == 0 ? 0 : pools[0];
}

static status_t check_lock(const void *host, size_t size_bytes, const uint64_t *agents, int count, void **address) {
  EXPECT(host != NULL && size_bytes != 0 && address != NULL, INVALID_ARGUMENT);
  EXPECT((agents != NULL) == (count != 0), INVALID_ARGUMENT);
  for (int i = 0; i < count; i++) EXPECT(is_subject(agents[i], SUBJECT_AGENT), INVALID_AGENT);
  return SUCCESS;
}

EXPORT status_t hsa_amd_memory_lock(void *host, size_t size_bytes, const uint64_t *agents, int count, void **address) {
  TRACED(hsa_amd_memory_lock, (uintptr_t)host, size_bytes);
  EXPECT_INITIALIZED();
  status_t status = check_lock(host, size_bytes, agents, count, address);
  return status == SUCCESS ? lock_memory(host, size_bytes, host_pool(), address) : status;
}

EXPORT status_t hsa_amd_memory_lock_to_pool(void *host, size_t size_bytes, const uint64_t *agents, int count, uint64_t pool,
                                            uint32_t flags, void **address) {
  TRACED(hsa_amd_memory_lock_to_pool, (uintptr_t)host, size_bytes);
  EXPECT_INITIALIZED();
  EXPECT(flags == 0, INVALID_ARGUMENT);
  EXPECT(is_subject(pool, SUBJECT_POOL), INVALID_MEMORY_POOL);
  status_t status = check_lock(host, size_bytes, agents, count, address);
  return status == SUCCESS ? lock_memory(host, size_bytes, pool, address) : status;
}

EXPORT status_t hsa_amd_memory_unlock(void *host) {
  TRACED(hsa_amd_memory_unlock, (uintptr_t)host, 0);
  EXPECT_INITIALIZED();
  status_t status = INVALID_ARGUMENT;
  uint64_t released = 0;
  pthread_mutex_lock(&lock);
  locked_t *found = locked_with((uintptr_t)host & -(uint64_t)PAGE_BYTES);
  if (found != NULL) {
    status = SUCCESS;
    if (--found->count == 0) {
      status = make_private(found) ? SUCCESS : OUT_OF_RESOURCES;
      released = found->memory.address;
      *found = locked[--locked_count];
    }
  }
  pthread_mutex_unlock(&lock);
  if (released != 0) free_remote(released);
  return status;
}

static void describe(pointer_info_t *info, const pointer_info_t *found) {
  uint32_t size = info->size;
  if (size == 0) size = 48;
  if (size > sizeof *info) size = sizeof *info;
  memcpy(info, found, size);
  info->size = size;
}

/* What is known of a pointer; type 0 for what is no memory of the runtime. */
static pointer_info_t find_pointer(uint64_t address, uint64_t *pool) {
  pointer_info_t info = {.size = sizeof info};
  pthread_mutex_lock(&lock);
  const allocation_t *found = allocation_with(address);
  const locked_t *pages = found == NULL ? locked_with(address) : NULL;
  for (size_t i = 0; i < locked_count && found == NULL && pages == NULL; i++) {
    if (address - locked[i].memory.address < locked[i].memory.size_bytes) pages = &locked[i];
  }
  if (pages != NULL) found = &pages->memory;
  if (found != NULL) {
    info.type = found->type;
    info.agent_base = found->address;
    info.host_base = pages == NULL ? found->address : pages->host;
    info.size_bytes = found->size_bytes;
    info.user_data = found->user_data;
    *pool = found->pool;
  }
  pthread_mutex_unlock(&lock);
  return info;
}

/* Agents that may use what is allocated: all. In memory of the caller's allocator. */
static status_t accessible_agents(void *(*allocator)(size_t), uint32_t *count, uint64_t **agents) {
  size_t known_count;
  const uint64_t *all = records_list(known(), SUBJECT_SYSTEM, LIST_AGENTS, &known_count);
  *agents = allocator(known_count * sizeof **agents);
  EXPECT(*agents != NULL, OUT_OF_RESOURCES);
  memcpy(*agents, all, known_count * sizeof **agents);
  *count = (uint32_t)known_count;
  return SUCCESS;
}

static uint64_t owner_of(uint64_t pool) {
  size_t count;
  const uint64_t *agents = records_list(known(), SUBJECT_SYSTEM, LIST_AGENTS, &count);
  for (size_t i = 0; i < count; i++) {
    size_t pool_count;
    const uint64_t *pools = records_list(known(), agents[i], LIST_POOLS, &pool_count);
    for (size_t j = 0; j < pool_count; j++) {
      if (pools[j] == pool) return agents[i];
    }
  }
  return 0;
}

EXPORT status_t hsa_amd_pointer_info(const void *address, pointer_info_t *info, void *(*allocator)(size_t), uint32_t *count,
                                     uint64_t **agents) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && info != NULL, INVALID_ARGUMENT);
  uint64_t pool = 0;
  pointer_info_t found = find_pointer((uintptr_t)address, &pool);
  if (found.type != POINTER_UNKNOWN) {
    found.owner = owner_of(pool);
    records_answer(known(), pool, POOL_INFO_GLOBAL_FLAGS, &found.global_flags);
  }
  describe(info, &found);
  if (allocator == NULL || count == NULL || agents == NULL) return SUCCESS;
  *count = 0;
  return found.type == POINTER_UNKNOWN ? SUCCESS : accessible_agents(allocator, count, agents);
}

EXPORT status_t hsa_amd_pointer_info_set_userdata(const void *address, void *user_data) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL, INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  allocation_t *found = allocation_with((uintptr_t)address);
  if (found != NULL) found->user_data = user_data;
  pthread_mutex_unlock(&lock);
  return found == NULL ? INVALID_ALLOCATION : SUCCESS;
}

/* All agents have all memory. */
EXPORT status_t hsa_amd_agents_allow_access(uint32_t count, const uint64_t *agents, const uint32_t *flags, const void *address) {
  EXPECT_INITIALIZED();
  EXPECT(count != 0 && agents != NULL && flags == NULL && address != NULL, INVALID_ARGUMENT);
  for (uint32_t i = 0; i < count; i++) EXPECT(is_subject(agents[i], SUBJECT_AGENT), INVALID_AGENT);
  uint64_t pool;
  return find_pointer((uintptr_t)address, &pool).type == POINTER_UNKNOWN ? INVALID_ALLOCATION : SUCCESS;
}

EXPORT status_t hsa_amd_memory_pool_can_migrate(uint64_t from, uint64_t to, bool *result) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(from, SUBJECT_POOL) && is_subject(to, SUBJECT_POOL), INVALID_MEMORY_POOL);
  EXPECT(result != NULL, INVALID_ARGUMENT);
  *result = false;
  return SUCCESS;
}

EXPORT status_t hsa_memory_register(void *address, size_t size_bytes) {
  EXPECT_INITIALIZED();
  return address == NULL || size_bytes == 0 ? INVALID_ARGUMENT : SUCCESS;
}

EXPORT status_t hsa_memory_deregister(void *address, size_t size_bytes) {
  EXPECT_INITIALIZED();
  (void)address;
  (void)size_bytes;
  return SUCCESS;
}

EXPORT status_t hsa_memory_assign_agent(void *address, uint64_t agent, uint32_t access) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && access >= 1 && access <= 3, INVALID_ARGUMENT);
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  uint64_t pool;
  return find_pointer((uintptr_t)address, &pool).type == POINTER_UNKNOWN ? INVALID_ALLOCATION : SUCCESS;
}

EXPORT status_t hsa_amd_register_deallocation_callback(void *address, deallocation_callback_t function, void *user_data) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && function != NULL, INVALID_ARGUMENT);
  callback_t *entry = malloc(sizeof *entry);
  EXPECT(entry != NULL, OUT_OF_RESOURCES);
  pthread_mutex_lock(&lock);
  bool is_known = allocation_with((uintptr_t)address) != NULL;
  if (is_known) {
    *entry = (callback_t){callbacks, (uintptr_t)address, function, user_data};
    callbacks = entry;
  }
  pthread_mutex_unlock(&lock);
  if (!is_known) free(entry);
  return is_known ? SUCCESS : INVALID_ALLOCATION;
}

EXPORT status_t hsa_amd_deregister_deallocation_callback(void *address, deallocation_callback_t function) {
  EXPECT_INITIALIZED();
  EXPECT(address != NULL && function != NULL, INVALID_ARGUMENT);
  pthread_mutex_lock(&lock);
  callback_t **at = &callbacks;
  while (*at != NULL && ((*at)->address != (uintptr_t)address || (*at)->function != function)) at = &(*at)->next;
  callback_t *found = *at;
  if (found != NULL) *at = found->next;
  pthread_mutex_unlock(&lock);
  free(found);
  return found == NULL ? INVALID_ARGUMENT : SUCCESS;
}

void memory_reset(void) {
  memory_unshare_locked();
  while (callbacks != NULL) {
    callback_t *next = callbacks->next;
    free(callbacks);
    callbacks = next;
  }
  free(allocations);
  free(locked);
  allocations = NULL;
  locked = NULL;
  allocation_count = allocation_room = locked_count = locked_room = 0;
}
