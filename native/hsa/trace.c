/* Tells the device process what the program does, where it asked for it: records in a ring of the device's memory. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime.h"

static _Atomic uint64_t *long_word(uint32_t index) { return (_Atomic uint64_t *)control_word(index); }

bool trace_is_on(void) { return arena_base() != 0 && *long_word(CONTROL_TRACE_RING) != 0; }

static void write_record(const trace_t *own, uint64_t end_ns) {
  static _Thread_local uint64_t thread;
  _Atomic uint64_t *written = long_word(CONTROL_TRACE_WRITTEN);
  uint64_t index = *written;
  do {
    if (index - *long_word(CONTROL_TRACE_READ) >= TRACE_RECORDS) {
      atomic_fetch_add(long_word(CONTROL_TRACE_LOST), 1);
      return;
    }
  } while (!atomic_compare_exchange_weak(written, &index, index + 1));
  if (thread == 0) thread = (uint64_t)syscall(SYS_gettid);
  trace_record_t *record = (trace_record_t *)(uintptr_t)*long_word(CONTROL_TRACE_RING) + index % TRACE_RECORDS;
  record->begin_ns = own->begin_ns;
  record->end_ns = end_ns;
  record->call = (uint64_t)own->call;
  record->thread = thread;
  record->a = own->a;
  record->b = own->b;
  atomic_store((_Atomic uint64_t *)&record->sequence, index + 1);
}

trace_t trace_begin(int traced, uint64_t a, uint64_t b) {
  return trace_is_on() ? (trace_t){true, traced, system_time_now(), a, b} : (trace_t){0};
}

void trace_end(const trace_t *own) {
  if (own->is_on && trace_is_on()) write_record(own, system_time_now());
}
