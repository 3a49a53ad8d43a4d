/*
 * collatz(int *out, int first, int limit): out[i] = number of steps from first + i to 1 by x / 2 or 3x + 1 (modulo 2^32), at most
 * `limit`; i is the work-item's number.
 * Launch: one dimension, any group size; out has one element per work-item.
 */
#include "gpu.clh"

kernel void collatz(global int *out, int first, int limit) {
  int i = global_id_x();
  uint x = (uint)(first + i);
  int steps = 0;
  for (; x != 1 && steps < limit; steps++) {
    if (x % 2 == 0)
      x = x / 2;
    else
      x = 3 * x + 1;
  }
  out[i] = steps;
}
