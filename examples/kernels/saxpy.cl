/*
 * saxpy(float *y, const float *x, int a, int n): y[i] = fma((float)a, x[i], y[i]), one element per work-item.
 * Launch: one dimension, any group size, at least n work-items.
 */
#include "gpu.clh"

kernel void saxpy(global float *y, global const float *x, int a, int n) {
  int i = global_id_x();
  if (i < n) y[i] = __builtin_fmaf((float)a, x[i], y[i]);
}
