/*
 * hipMemcpy of 64 MiB against memcpy, both of pages that were touched before: prints lines of a name and microseconds, the median of
 * several runs. Declares what it needs of HIP, so that gcc alone builds it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int hipMalloc(void **, size_t);
int hipMemcpy(void *, const void *, size_t, int);

enum { TO_DEVICE = 1, TO_HOST = 2, BYTES = 64 << 20, RUNS = 7 };

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* `direction` 0 for a plain copy. */
static void measure(const char *name, char *to, const char *from, int direction) {
  double us[RUNS];
  for (int i = -1; i < RUNS; i++) {
    double begin = now_us();
    if (direction == 0) memcpy(to, from, BYTES);
    else if (hipMemcpy(to, from, BYTES, direction) != 0) exit(1);
    if (i >= 0) us[i] = now_us() - begin;
  }
  qsort(us, RUNS, sizeof *us, by_size);
  printf("%s %.0f\n", name, us[RUNS / 2]);
}

int main(void) {
  char *from = malloc(BYTES), *to = malloc(BYTES);
  void *device;
  if (from == NULL || to == NULL || hipMalloc(&device, BYTES) != 0) return 1;
  memset(from, 1, BYTES);
  memset(to, 2, BYTES);
  measure("memcpy", to, from, 0);
  measure("to-device", device, from, TO_DEVICE);
  measure("to-host", to, device, TO_HOST);
  return memcmp(from, to, BYTES) != 0;
}
