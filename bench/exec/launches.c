/*
 * What a launch costs a program: `launches FILE.co KERNEL` launches a kernel without arguments, one after the other with a wait for
 * each, then many with a wait for the last. Prints lines of a name and nanoseconds for each launch, the median of several runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsa-abi.h"

status_t hsa_init(void);
status_t hsa_shut_down(void);
status_t hsa_system_get_info(uint32_t, void *);
status_t hsa_iterate_agents(handle_callback_t, void *);
status_t hsa_agent_get_info(uint64_t, uint32_t, void *);
status_t hsa_signal_create(int64_t, uint32_t, const uint64_t *, uint64_t *);
void hsa_signal_store_screlease(uint64_t, int64_t);
void hsa_signal_silent_store_relaxed(uint64_t, int64_t);
int64_t hsa_signal_wait_scacquire(uint64_t, uint32_t, int64_t, uint64_t, uint32_t);
status_t hsa_queue_create(uint64_t, uint32_t, uint32_t, queue_callback_t, void *, uint32_t, uint32_t, amd_queue_t **);
uint64_t hsa_queue_add_write_index_relaxed(amd_queue_t *, uint64_t);
uint64_t hsa_queue_load_read_index_scacquire(const amd_queue_t *);
status_t hsa_code_object_reader_create_from_memory(const void *, size_t, uint64_t *);
status_t hsa_executable_create_alt(uint32_t, uint32_t, const char *, uint64_t *);
status_t hsa_executable_load_agent_code_object(uint64_t, uint64_t, uint64_t, const char *, uint64_t *);
status_t hsa_executable_freeze(uint64_t, const char *);
status_t hsa_executable_get_symbol_by_name(uint64_t, const char *, const uint64_t *, uint64_t *);
status_t hsa_executable_symbol_get_info(uint64_t, uint32_t, void *);

enum { QUEUE_PACKETS = 4096, WAITED = 2000, PIPELINED = 20000, RUNS = 5 };

static void expect(status_t status) {
  if (status == SUCCESS) return;
  fprintf(stderr, "status 0x%x\n", status);
  exit(1);
}

static uint64_t gpu;

static status_t take_agent(uint64_t agent, void *data) {
  (void)data;
  uint32_t kind = 0;
  expect(hsa_agent_get_info(agent, 17, &kind));
  if (kind == 1) gpu = agent;
  return SUCCESS;
}

static uint64_t now_ns(void) {
  uint64_t ns;
  expect(hsa_system_get_info(2, &ns));
  return ns;
}

static uint64_t kernel_of(const char *file, const char *name) {
  static char bytes[1 << 20];
  FILE *stream = fopen(file, "rb");
  if (stream == NULL) expect(INVALID_FILE);
  size_t size = fread(bytes, 1, sizeof bytes, stream);
  fclose(stream);
  uint64_t reader, executable, symbol, kernel;
  expect(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
  expect(hsa_executable_create_alt(1, 0, NULL, &executable));
  expect(hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL));
  expect(hsa_executable_freeze(executable, NULL));
  expect(hsa_executable_get_symbol_by_name(executable, name, &gpu, &symbol));
  expect(hsa_executable_symbol_get_info(symbol, 22, &kernel));
  return kernel;
}

/* One work-item. */
static void launch(amd_queue_t *queue, uint64_t kernel, uint64_t signal) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= QUEUE_PACKETS) __builtin_ia32_pause();
  uint64_t *packet = (uint64_t *)(uintptr_t)queue->base_address + index % QUEUE_PACKETS * 8;
  uint64_t words[8] = {0, 1 | 1ull << 32, 1, 0, kernel, 0, 0, signal};
  ((uint16_t *)words)[2] = ((uint16_t *)words)[3] = ((uint16_t *)words)[4] = 1;
  ((uint32_t *)words)[3] = ((uint32_t *)words)[4] = ((uint32_t *)words)[5] = 1;
  memcpy((char *)packet + 4, (char *)words + 4, 60);
  /* A dispatch in order with all others, of one dimension. */
  atomic_store((_Atomic uint32_t *)packet, 2 | 1 << 8 | 2 << 9 | 2 << 11 | 1 << 16);
  hsa_signal_store_screlease(queue->doorbell_signal, (int64_t)index);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct {
  amd_queue_t *queue;
  uint64_t kernel, signal;
  uint32_t hint;
} subject_t;

static void waited(subject_t own) {
  for (int i = 0; i < WAITED; i++) {
    hsa_signal_silent_store_relaxed(own.signal, 1);
    launch(own.queue, own.kernel, own.signal);
    while (hsa_signal_wait_scacquire(own.signal, CONDITION_LT, 1, UINT64_MAX, own.hint) >= 1);
  }
}

static void pipelined(subject_t own) {
  hsa_signal_silent_store_relaxed(own.signal, 1);
  for (int i = 1; i <= PIPELINED; i++) launch(own.queue, own.kernel, i == PIPELINED ? own.signal : 0);
  while (hsa_signal_wait_scacquire(own.signal, CONDITION_LT, 1, UINT64_MAX, own.hint) >= 1);
}

static void measure(const char *name, void (*run)(subject_t), subject_t own, int launches) {
  double ns[RUNS];
  run(own);
  for (int i = 0; i < RUNS; i++) {
    uint64_t begin = now_ns();
    run(own);
    ns[i] = (double)(now_ns() - begin) / launches;
  }
  qsort(ns, RUNS, sizeof *ns, by_size);
  printf("%s %.0f\n", name, ns[RUNS / 2]);
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  expect(hsa_init());
  expect(hsa_iterate_agents(take_agent, NULL));
  subject_t own = {NULL, kernel_of(arguments[1], arguments[2]), 0, WAIT_ACTIVE};
  expect(hsa_queue_create(gpu, QUEUE_PACKETS, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &own.queue));
  expect(hsa_signal_create(1, 0, NULL, &own.signal));
  measure("waited-active", waited, own, WAITED);
  own.hint = WAIT_BLOCKED;
  measure("waited-blocked", waited, own, WAITED);
  measure("pipelined", pipelined, own, PIPELINED);
  expect(hsa_shut_down());
  return 0;
}
