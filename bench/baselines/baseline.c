/*
 * Measures one kernel at a time; `src/bench/node-baseline.ts` is at the other end. Requests on standard input, answers on standard output:
 *
 *   prepare KERNEL DIMENSIONS GX GY GZ WX WY WZ ARGUMENTS   then for each argument one of
 *     i VALUE        a 32-bit integer
 *     z SIZE         a buffer of zeros
 *     b SIZE         a buffer; its bytes follow the end of the line
 *                    answer: "ok" or "unsupported WHY"
 *   run              one run; answer: "ok"
 *   sample MS        runs until it has used that much CPU time; answer: CPU seconds and wall seconds of one run, on average
 *   read ARGUMENT    answer: the size, and after the end of the line the bytes of a buffer
 *
 * CPU time is that of the process: PoCL works in a thread of its own.
 */
#include "baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct launch launch;

static void fail(const char *what) {
  fprintf(stderr, "baseline: %s\n", what);
  exit(1);
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void read_argument(struct argument *argument) {
  char kind;
  long long value;
  if (scanf(" %c %lld", &kind, &value) != 2 || getchar() != '\n') fail("expected an argument");
  if (kind == 'i') {
    argument->value = (int32_t)value;
    return;
  }
  argument->size = (size_t)value;
  /* As aligned as device memory is. */
  argument->buffer = aligned_alloc(256, (argument->size + 255) & ~(size_t)255);
  if (argument->buffer == NULL) fail("no memory");
  if (kind == 'z')
    memset(argument->buffer, 0, argument->size);
  else if (fread(argument->buffer, 1, argument->size, stdin) != argument->size)
    fail("expected the bytes of a buffer");
}

static void prepare(void) {
  for (int i = 0; i < launch.argument_count; i++) free(launch.arguments[i].buffer);
  memset(&launch, 0, sizeof launch);
  size_t *g = launch.grid, *w = launch.workgroup;
  if (scanf("%63s %d %zu %zu %zu %zu %zu %zu %d", launch.kernel, &launch.dimensions, g, g + 1, g + 2, w, w + 1, w + 2,
            &launch.argument_count) != 9 ||
      launch.argument_count > MAX_ARGUMENTS)
    fail("expected a launch");
  for (int i = 0; i < launch.argument_count; i++) read_argument(&launch.arguments[i]);
  const char *problem = baseline_prepare(&launch);
  if (problem != NULL)
    printf("unsupported %s\n", problem);
  else
    printf("ok\n");
}

static void sample(void) {
  double milliseconds;
  if (scanf("%lf", &milliseconds) != 1) fail("expected milliseconds");
  double start = seconds(CLOCK_PROCESS_CPUTIME_ID), wall_start = seconds(CLOCK_MONOTONIC), used;
  int runs = 0;
  do {
    baseline_run();
    runs++;
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
  } while (used * 1000 < milliseconds);
  printf("%.9g %.9g\n", used / runs, (seconds(CLOCK_MONOTONIC) - wall_start) / runs);
}

static void show(void) {
  int index;
  if (scanf("%d", &index) != 1 || index < 0 || index >= launch.argument_count || launch.arguments[index].buffer == NULL)
    fail("expected the number of a buffer argument");
  baseline_read(index);
  printf("%zu\n", launch.arguments[index].size);
  fwrite(launch.arguments[index].buffer, 1, launch.arguments[index].size, stdout);
}

int main(void) {
  char request[16];
  while (scanf("%15s", request) == 1) {
    if (strcmp(request, "prepare") == 0)
      prepare();
    else if (strcmp(request, "run") == 0) {
      baseline_run();
      printf("ok\n");
    } else if (strcmp(request, "sample") == 0)
      sample();
    else if (strcmp(request, "read") == 0)
      show();
    else
      fail("unknown request");
    fflush(stdout);
  }
  return 0;
}
