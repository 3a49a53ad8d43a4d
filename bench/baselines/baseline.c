/*
 * Measures one plan at a time; `src/bench/node-baseline.ts` is at the other end. Requests on standard input, answers on standard output:
 *
 *   prepare SOURCE BUFFERS LAUNCHES   then for each buffer one of
 *     z SIZE           zeros
 *     b SIZE           its bytes follow the end of the line
 *     r SIZE           the same, and every run begins with them
 *                      and for each launch
 *     KERNEL DIMENSIONS GX GY GZ WX WY WZ ARGUMENTS   then for each argument one of
 *       b NUMBER       a buffer
 *       i BITS         a number of 32 bits
 *       l BITS         a number of 64 bits
 *                      answer: "ok" or "unsupported WHY"
 *   run                one run; answer: "ok"
 *   sample MS          runs until it has used that much CPU time; answer: CPU seconds and wall seconds of one run, on average
 *   read BUFFER        answer: the size, and after the end of the line the bytes of a buffer
 *   cpu                answer: CPU seconds of this process so far
 *
 * CPU time is that of the process: PoCL works in a thread of its own.
 */
#include "baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct plan plan;

static void fail(const char *what) {
  fprintf(stderr, "baseline: %s\n", what);
  exit(1);
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *allocate(size_t size) {
  /* As aligned as device memory is. */
  void *memory = aligned_alloc(256, (size + 255) & ~(size_t)255);
  if (memory == NULL) fail("no memory");
  return memory;
}

static void read_buffer(struct buffer *buffer) {
  char kind;
  if (scanf(" %c %zu", &kind, &buffer->size) != 2 || getchar() != '\n') fail("expected a buffer");
  buffer->data = allocate(buffer->size);
  if (kind == 'z')
    memset(buffer->data, 0, buffer->size);
  else if (fread(buffer->data, 1, buffer->size, stdin) != buffer->size)
    fail("expected the bytes of a buffer");
  if (kind == 'r') {
    buffer->contents = allocate(buffer->size);
    memcpy(buffer->contents, buffer->data, buffer->size);
  }
}

static void read_argument(struct argument *argument) {
  char kind;
  unsigned long long value;
  if (scanf(" %c %llu", &kind, &value) != 2) fail("expected an argument");
  if (kind == 'b') {
    if (value >= (unsigned long long)plan.buffer_count) fail("expected the number of a buffer");
    argument->index = (int)value;
    argument->buffer = plan.buffers[value].data;
    argument->size = plan.buffers[value].size;
    return;
  }
  uint64_t bits = value;
  argument->value = (int32_t)bits;
  argument->size = kind == 'l' ? 8 : 4;
  memcpy(argument->bytes, &bits, sizeof bits);
}

static void read_launch(struct launch *launch) {
  size_t *g = launch->grid, *w = launch->workgroup;
  if (scanf("%63s %d %zu %zu %zu %zu %zu %zu %d", launch->kernel, &launch->dimensions, g, g + 1, g + 2, w, w + 1, w + 2,
            &launch->argument_count) != 9 ||
      launch->argument_count > MAX_ARGUMENTS)
    fail("expected a launch");
  for (int i = 0; i < launch->argument_count; i++) read_argument(&launch->arguments[i]);
}

static void prepare(void) {
  for (int i = 0; i < plan.buffer_count; i++) {
    free(plan.buffers[i].data);
    free(plan.buffers[i].contents);
  }
  free(plan.launches);
  memset(&plan, 0, sizeof plan);
  if (scanf("%255s %d %d", plan.source, &plan.buffer_count, &plan.launch_count) != 3 || plan.buffer_count > MAX_BUFFERS)
    fail("expected a plan");
  for (int i = 0; i < plan.buffer_count; i++) read_buffer(&plan.buffers[i]);
  plan.launches = calloc((size_t)plan.launch_count, sizeof *plan.launches);
  if (plan.launches == NULL) fail("no memory");
  for (int i = 0; i < plan.launch_count; i++) read_launch(&plan.launches[i]);
  const char *problem = baseline_prepare(&plan);
  if (problem != NULL)
    printf("unsupported %s\n", problem);
  else
    printf("ok\n");
}

static void restore(void) {
  for (int i = 0; i < plan.buffer_count; i++)
    if (plan.buffers[i].contents != NULL) baseline_restore(i);
}

static void sample(void) {
  double milliseconds;
  if (scanf("%lf", &milliseconds) != 1) fail("expected milliseconds");
  double used = 0, wall = 0;
  int runs = 0;
  do {
    restore();
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID), wall_start = seconds(CLOCK_MONOTONIC);
    baseline_run();
    used += seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    wall += seconds(CLOCK_MONOTONIC) - wall_start;
    runs++;
  } while (used * 1000 < milliseconds);
  printf("%.9g %.9g\n", used / runs, wall / runs);
}

static void show(void) {
  int index;
  if (scanf("%d", &index) != 1 || index < 0 || index >= plan.buffer_count) fail("expected the number of a buffer");
  baseline_read(index);
  printf("%zu\n", plan.buffers[index].size);
  fwrite(plan.buffers[index].data, 1, plan.buffers[index].size, stdout);
}

int main(void) {
  char request[16];
  while (scanf("%15s", request) == 1) {
    if (strcmp(request, "prepare") == 0)
      prepare();
    else if (strcmp(request, "run") == 0) {
      restore();
      baseline_run();
      printf("ok\n");
    } else if (strcmp(request, "sample") == 0)
      sample();
    else if (strcmp(request, "read") == 0)
      show();
    else if (strcmp(request, "cpu") == 0)
      printf("%.9g\n", seconds(CLOCK_PROCESS_CPUTIME_ID));
    else
      fail("unknown request");
    fflush(stdout);
  }
  return 0;
}
