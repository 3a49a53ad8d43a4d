/*
 * Threads that look at signals: one runs the handlers of the program and tells of queues that stopped, one runs copies that wait.
 * A handler may block until a copy is done, so they are two.
 */
#include <stdlib.h>

#include "runtime.h"

OF_FIRST_GLIBC(pthread_create)
OF_FIRST_GLIBC(pthread_join)
OF_FIRST_GLIBC(pthread_detach)

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  bool has_thread;
  /* The thread looks at it without the lock, too. */
  _Atomic bool is_ending;
  watch_t *first;
  /* What it runs now, without the lock. */
  watch_t *running;
} watcher_t;

static watcher_t watchers[WATCHER_COUNT] = {
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
};

/* Takes an entry out of the list. Called with the lock. */
static void drop(watcher_t *own, watch_t *entry) {
  for (watch_t **at = &own->first; *at != NULL; at = &(*at)->next) {
    if (*at != entry) continue;
    *at = entry->next;
    free(entry);
    return;
  }
}

/* Runs what is due. Called with the lock, which is free while something runs. Returns whether anything was. */
static bool run_due(watcher_t *own) {
  for (watch_t *entry = own->first; entry != NULL; entry = entry->next) {
    if (!entry->is_due(entry)) continue;
    own->running = entry;
    pthread_mutex_unlock(&own->lock);
    bool goes_on = entry->run(entry);
    pthread_mutex_lock(&own->lock);
    own->running = NULL;
    if (!goes_on || entry->is_removed) drop(own, entry);
    pthread_cond_broadcast(&own->changed);
    return true;
  }
  return false;
}

void watch_for(watch_t *entry, uint64_t signal) {
  uint64_t patience_ns = patience_for(signal);
  entry->concerns |= concern_of(signal);
  if (patience_ns < UINT64_MAX) entry->patience_ns = patience_ns;
}

/* Called with the lock. */
static uint32_t concerns_of(const watcher_t *own, uint64_t *patience_ns) {
  uint32_t concerns = 0;
  *patience_ns = UINT64_MAX;
  for (const watch_t *entry = own->first; entry != NULL; entry = entry->next) {
    concerns |= entry->concerns;
    if (entry->patience_ns != 0) *patience_ns = entry->patience_ns;
  }
  return concerns;
}

static void *work(void *argument) {
  watcher_t *own = argument;
  pthread_mutex_lock(&own->lock);
  while (!own->is_ending) {
    if (own->first == NULL) {
      pthread_cond_wait(&own->changed, &own->lock);
      continue;
    }
    uint64_t patience_ns;
    uint32_t concerns = concerns_of(own, &patience_ns), waiters = concerns == 0 ? 0 : 1;
    atomic_fetch_add(control_word(CONTROL_WAITERS), waiters);
    uint32_t epoch = current_epoch();
    bool has_run = run_due(own);
    pthread_mutex_unlock(&own->lock);
    if (!has_run && !own->is_ending) wait_for_change(epoch, patience_ns, concerns | CONCERNS_OTHER);
    atomic_fetch_sub(control_word(CONTROL_WAITERS), waiters);
    pthread_mutex_lock(&own->lock);
  }
  pthread_mutex_unlock(&own->lock);
  return NULL;
}

status_t watch(int watcher, watch_t *entry) {
  watcher_t *own = &watchers[watcher];
  pthread_mutex_lock(&own->lock);
  status_t status = SUCCESS;
  if (!own->has_thread) {
    own->is_ending = false;
    own->has_thread = pthread_create(&own->thread, NULL, work, own) == 0;
    if (!own->has_thread) status = OUT_OF_RESOURCES;
  }
  if (status == SUCCESS) {
    watch_t **end = &own->first;
    while (*end != NULL) end = &(*end)->next;
    *end = entry;
    pthread_cond_broadcast(&own->changed);
  } else {
    free(entry);
  }
  pthread_mutex_unlock(&own->lock);
  /* It may sleep until something changes, and this did. */
  if (status == SUCCESS) notify(CONCERNS_ALL);
  return status;
}

void unwatch(int watcher, const void *owner) {
  watcher_t *own = &watchers[watcher];
  pthread_mutex_lock(&own->lock);
  for (watch_t *entry = own->first, *next; entry != NULL; entry = next) {
    next = entry->next;
    if (entry->owner != owner) continue;
    entry->is_removed = true;
    if (entry != own->running) drop(own, entry);
  }
  bool is_own_thread = own->has_thread && pthread_equal(own->thread, pthread_self());
  while (own->running != NULL && own->running->owner == owner && !is_own_thread) {
    pthread_cond_wait(&own->changed, &own->lock);
  }
  pthread_mutex_unlock(&own->lock);
}

void watchers_stop(void) {
  for (int i = 0; i < WATCHER_COUNT; i++) {
    watcher_t *own = &watchers[i];
    pthread_mutex_lock(&own->lock);
    own->is_ending = true;
    bool has_thread = own->has_thread;
    own->has_thread = false;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->lock);
    if (has_thread) {
      notify(CONCERNS_ALL);
      if (pthread_equal(own->thread, pthread_self())) pthread_detach(own->thread);
      else pthread_join(own->thread, NULL);
    }
    while (own->first != NULL) drop(own, own->first);
  }
}

void watchers_forget(void) {
  for (int i = 0; i < WATCHER_COUNT; i++) {
    watchers[i].has_thread = false;
    watchers[i].first = NULL;
  }
}
