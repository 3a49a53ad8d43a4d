/*
 * vadd(float *out, const float *a, const float *b, int n): out[i] = a[i] + b[i], one element per work-item.
 * Launch: one dimension, any group size, at least n work-items.
 */
#include "gpu.clh"

kernel void vadd(global float *out, global const float *a, global const float *b, int n) {
  int i = global_id_x();
  if (i < n) out[i] = a[i] + b[i];
}
