/*
 * reduction [COUNT]: sum and maximum of COUNT (default 10000) pseudo-random numbers: each work-item takes its share, each block
 * adds up in workgroup memory, the blocks meet in device memory, and the last block prints. The result does not depend on the
 * launch.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

#define MAX_THREADS 1024

WORKGROUP_SHARED uint64_t sums[MAX_THREADS];
WORKGROUP_SHARED uint32_t maxima[MAX_THREADS];

static uint64_t total;
static uint32_t maximum, finished;

static uint32_t number(uint32_t i) {
  uint32_t x = i * 0x9e3779b9u;
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

static void raise_maximum(uint32_t value) {
  uint32_t seen = atomic_load(&maximum);
  while (seen < value && !atomic_compare_exchange(&maximum, &seen, value)) {
  }
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 10000;
  if (count < 1) {
    if (global_id() == 0) fputs("usage: reduction [COUNT]\n", stderr);
    return 2;
  }
  uint64_t sum = 0;
  uint32_t largest = 0;
  for (uint64_t i = global_id(); i < (uint64_t)count; i += global_size()) {
    uint32_t value = number((uint32_t)i);
    sum += value;
    if (value > largest) largest = value;
  }
  uint32_t self = thread_id();
  sums[self] = sum;
  maxima[self] = largest;
  for (uint32_t active = num_threads(); active > 1;) {
    uint32_t half = (active + 1) / 2;
    workgroup_barrier();
    if (self + half < active) {
      sums[self] += sums[self + half];
      if (maxima[self] < maxima[self + half]) maxima[self] = maxima[self + half];
    }
    active = half;
  }
  if (self == 0) {
    atomic_add(&total, sums[0]);
    raise_maximum(maxima[0]);
    if (atomic_add(&finished, 1) == num_blocks() - 1)
      printf("sum %llu, maximum %u of %d numbers\n", (unsigned long long)atomic_load(&total), atomic_load(&maximum), count);
  }
  return 0;
}
