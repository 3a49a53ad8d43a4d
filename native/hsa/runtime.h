/* What the files of the library have of each other. */
#ifndef WAVEWRIGHT_RUNTIME_H
#define WAVEWRIGHT_RUNTIME_H

#include <pthread.h>

#include "api-tables.h"
#include "hsa-abi.h"
#include "protocol.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define ARENA_BYTES (UINT64_C(1) << 32)

/*
 * A function by the version that glibc gave it first, so that older ones than the 2.34 that gave it another have it, too. Sanitizers put
 * their own in the place of all versions.
 */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define OF_FIRST_GLIBC(name)
#elif defined(__aarch64__)
#define OF_FIRST_GLIBC(name) __asm__(".symver " #name ", " #name "@GLIBC_2.17");
#else
#define OF_FIRST_GLIBC(name) __asm__(".symver " #name ", " #name "@GLIBC_2.2.5");
#endif

/* Every function but hsa_init, hsa_shut_down and hsa_status_string begins so. */
#define EXPECT_INITIALIZED() \
  do { \
    if (!runtime_is_live()) return NOT_INITIALIZED; \
  } while (0)
#define EXPECT(condition, status) \
  do { \
    if (!(condition)) return (status); \
  } while (0)

/* runtime.c: the life of the runtime. */
HIDDEN bool runtime_is_live(void);
/* Ends the process: what the program waits for will not come any more. */
HIDDEN _Noreturn void runtime_lost(const char *why);
/* Says on standard error what is not implemented: once, and only under WAVEWRIGHT_TRACE. */
HIDDEN status_t refuse(const char *name);

/* tools.c: the table of functions, and tools that look at it. */
HIDDEN void tools_load(void);
HIDDEN void tools_unload(void);

/* demangle.c: a line on stderr, with names of C++ as programs have them where the program has what knows them. */
HIDDEN void print_demangled(const char *text, size_t size_bytes);

/* connection.c: the device process and the memory that it shares. */
typedef struct {
  const void *words;
  size_t words_bytes;
  const void *tail;
  size_t tail_bytes;
} request_t;

HIDDEN status_t connection_open(void);
HIDDEN void connection_close(void);
/* A fork's child has no connection: it gives up its copy of the socket, and leaves that of its parent alone. */
HIDDEN void connection_forget(void);
/*
 * One request and its reply. `words` gets the words of the reply, `tail`, where it is not NULL, what follows in memory
 * that the caller frees.
 */
HIDDEN status_t call(uint32_t operation, request_t request, void *words, size_t words_bytes, void **tail, size_t *tail_bytes);
/* As `call`, for messages without tails. */
HIDDEN status_t call_words(uint32_t operation, const void *words, size_t words_bytes, void *reply, size_t reply_bytes);
/* As `call_words`, for requests whose replies bring a file: -1 where there was no descriptor for it. */
HIDDEN status_t call_for_file(uint32_t operation, const void *words, size_t words_bytes, int *file, void *reply, size_t reply_bytes);
/*
 * Memory that the device process looks at has changed, and signals that threads wait for: those whose concerns have a bit of these. To
 * wake a thread costs many times what a look at a signal does.
 */
HIDDEN void notify(uint32_t concerns);
#define CONCERNS_ALL UINT32_MAX
/* What no signal concerns. */
#define CONCERNS_OTHER (1u << SIGNAL_CONCERNS)
/* The program can see that the device process is gone. */
HIDDEN bool connection_is_lost(void);
HIDDEN uint64_t arena_base(void);
HIDDEN bool is_in_arena(const void *pointer);
HIDDEN int arena_file(void);
/* A word of the control page. */
HIDDEN _Atomic uint32_t *control_word(uint32_t index);
/* A tick of the device's clock as system time, in nanoseconds. */
HIDDEN uint64_t system_time(uint64_t ticks);
HIDDEN uint64_t system_time_now(void);
HIDDEN uint64_t device_ticks_now(void);

/* records.c: what is known of handles. */
typedef struct {
  uint8_t *bytes;
  size_t size_bytes;
  /* Where each record begins. */
  size_t *places;
  size_t count;
} records_t;

HIDDEN bool records_parse(records_t *records, uint8_t *bytes, size_t size_bytes);
HIDDEN void records_free(records_t *records);
HIDDEN const void *records_find(const records_t *records, uint64_t subject, uint64_t attribute, size_t *size_bytes);
/* Copies what is known; INVALID_ARGUMENT where nothing is. */
HIDDEN status_t records_answer(const records_t *records, uint64_t subject, uint64_t attribute, void *value);
/* Handles of a list, as an array of them. */
HIDDEN const uint64_t *records_list(const records_t *records, uint64_t subject, uint64_t list, size_t *count);
/* Leaves the GPUs that `visible` names, in its order; all of them for NULL. */
HIDDEN void records_choose_gpus(records_t *records, const char *visible);
/* Those of system, agents and pools. */
HIDDEN records_t *known(void);
HIDDEN bool is_subject(uint64_t handle, uint32_t kind);
HIDDEN bool is_gpu(uint64_t agent);
HIDDEN status_t iterate(uint64_t subject, uint64_t list, handle_callback_t callback, void *data);

/* memory.c */
typedef struct {
  uint64_t address, size_bytes, pool;
  void *user_data;
  /* POINTER_HSA and the like. */
  uint32_t type;
} allocation_t;

/* Keeps what is known of memory that no pool handed out; false when there is no room. */
HIDDEN bool memory_remember(allocation_t allocation);
/* Forgets an allocation of a type that begins at an address, and returns its size; 0 where there is none. */
HIDDEN uint64_t memory_forget(uint64_t address, uint32_t type);
/* What hsa_amd_memory_pool_free does. */
HIDDEN status_t memory_release(uint64_t address);

HIDDEN status_t pool_allocate(uint64_t pool, uint64_t size_bytes, uint32_t flags, uint64_t *address);
/* The first pool of the CPU agent: fine-grained memory. */
HIDDEN uint64_t host_pool(void);
HIDDEN void memory_reset(void);
/* A fork's child keeps what its pages hold, and shares them no longer. */
HIDDEN void memory_unshare_locked(void);

/* signals.c */
HIDDEN void signals_reset(void);
HIDDEN bool is_signal(uint64_t handle);
HIDDEN int64_t signal_load(uint64_t handle);
HIDDEN void signal_add(uint64_t handle, int64_t value);
/* What a signal concerns. */
HIDDEN uint32_t concern_of(uint64_t handle);
/* How long a thread may sleep that waits for a signal: nobody wakes it for those of several processes. */
HIDDEN uint64_t patience_for(uint64_t handle);
/*
 * Sleeps until something was notified since `epoch` was read that has one of the concerns, or for `max_ns`. Ends the process when the
 * device process is gone.
 */
HIDDEN void wait_for_change(uint32_t epoch, uint64_t max_ns, uint32_t concerns);
HIDDEN uint32_t current_epoch(void);

/* trace.c */
typedef struct {
  bool is_on;
  int call;
  uint64_t begin_ns, a, b;
} trace_t;

HIDDEN bool trace_is_on(void);
HIDDEN trace_t trace_begin(int traced, uint64_t a, uint64_t b);
HIDDEN void trace_end(const trace_t *own);
/* Where calls are traced, the one that this stands in, until it returns. */
#define TRACED(name, a, b) \
  __attribute__((cleanup(trace_end))) const trace_t trace_of_call = trace_begin(TRACED_##name, (uint64_t)(a), (uint64_t)(b))

/* watchers.c: threads that look at signals and do something when they change. */
typedef struct watch watch_t;
struct watch {
  watch_t *next;
  /* Whether it is due. */
  bool (*is_due)(watch_t *watch);
  /* Returns whether to go on watching; else it is freed. */
  bool (*run)(watch_t *watch);
  /* Whose it is: watches of a queue go with the queue. */
  const void *owner;
  /* Of the signals that it looks at; 0 for what always wakes everybody. */
  uint32_t concerns;
  bool is_removed;
  /* How long to sleep between looks at most; 0 where it is always woken. */
  uint64_t patience_ns;
};
/* One more signal that it looks at. */
HIDDEN void watch_for(watch_t *watch, uint64_t signal);
enum { WATCHER_HANDLERS, WATCHER_COPIES, WATCHER_COUNT };
/* The watch is the watcher's from now on. */
HIDDEN status_t watch(int watcher, watch_t *entry);
/* Waits until none of its watches runs any more, unless it is called by one. */
HIDDEN void unwatch(int watcher, const void *owner);
HIDDEN void watchers_stop(void);
HIDDEN void watchers_forget(void);

/* virtual-memory.c: memory of other applications at addresses of this one. */
HIDDEN status_t memory_share(uint64_t address, uint64_t size_bytes, ipc_handle_t *handle);
HIDDEN status_t memory_attach(const ipc_handle_t *handle, uint64_t size_bytes, uint64_t *address);
HIDDEN status_t memory_detach(uint64_t address);

/* code.c */
HIDDEN void code_reset(void);

/* queues.c */
HIDDEN void queues_reset(void);

#endif
