/*
 * fma8(float *out, int n): n rounds of 8 independent f32 FMA per work-item, x_k = fma(x_k, 0.75, k + 1) from
 * x_k = i * 0.001 + k with the work-item's number i; out[i] = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7)).
 * Launch: one dimension, any group size; out has one element per work-item. 8 FMA per round.
 */
#include "gpu.clh"

kernel void fma8(global float *out, int n) {
  int i = global_id_x();
  float start = (float)i * 0.001f;
  float x0 = start, x1 = start + 1, x2 = start + 2, x3 = start + 3;
  float x4 = start + 4, x5 = start + 5, x6 = start + 6, x7 = start + 7;
#pragma clang loop unroll(disable)
  for (int round = 0; round < n; round++) {
    x0 = __builtin_fmaf(x0, 0.75f, 1);
    x1 = __builtin_fmaf(x1, 0.75f, 2);
    x2 = __builtin_fmaf(x2, 0.75f, 3);
    x3 = __builtin_fmaf(x3, 0.75f, 4);
    x4 = __builtin_fmaf(x4, 0.75f, 5);
    x5 = __builtin_fmaf(x5, 0.75f, 6);
    x6 = __builtin_fmaf(x6, 0.75f, 7);
    x7 = __builtin_fmaf(x7, 0.75f, 8);
  }
  out[i] = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
}
