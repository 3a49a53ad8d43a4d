/* Effects of a few kernels by their names. What they take is checked as the hardware would. */
#include "cuda-mock.h"
#include <string.h>
#include <unistd.h>

/* saxpy(float *y, const float *x, float a, int n) */
static result_t saxpy(const launch_t *launch) {
  uint64_t y, x;
  float a;
  int32_t n, threads = (int32_t)(launch->grid[0] * launch->block[0]);
  memcpy(&y, launch->params, 8);
  memcpy(&x, launch->params + 8, 8);
  memcpy(&a, launch->params + 16, 4);
  memcpy(&n, launch->params + 20, 4);
  if (n > threads) n = threads;
  if (n <= 0) return 0;
  if (!is_memory(y, 4u * (uint64_t)n) || !is_memory(x, 4u * (uint64_t)n)) return ILLEGAL_ADDRESS;
  for (int32_t i = 0; i < n; i++) ((float *)y)[i] = a * ((const float *)x)[i] + ((float *)y)[i];
  return 0;
}

/* shared(unsigned *out): how much shared memory the launch gave. */
static result_t shared(const launch_t *launch) {
  uint64_t out;
  memcpy(&out, launch->params, 8);
  if (!is_memory(out, 4)) return ILLEGAL_ADDRESS;
  *(uint32_t *)out = launch->shared;
  return 0;
}

/* fault(unsigned result): ends as the hardware would that the driver tells of so. */
static result_t fault(const launch_t *launch) {
  result_t result;
  memcpy(&result, launch->params, 4);
  return result;
}

static result_t spin(const launch_t *launch) {
  (void)launch;
  for (;;) usleep(1000);
}

/* nap(unsigned milliseconds) */
static result_t nap(const launch_t *launch) {
  uint32_t milliseconds;
  memcpy(&milliseconds, launch->params, 4);
  usleep(1000 * milliseconds);
  return 0;
}

effect_t *find_effect(const char *name) {
  static const struct { const char *name; effect_t *effect; } effects[] = {
    { "saxpy", saxpy }, { "shared", shared }, { "fault", fault }, { "spin", spin }, { "nap", nap },
  };
  for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) if (strcmp(effects[i].name, name) == 0) return effects[i].effect;
  return NULL;
}
