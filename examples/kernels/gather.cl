/*
 * gather(float *out, const float *a, const int *index, int n): out[i] = a[index[i]], one element per work-item.
 * Launch: one dimension, any group size, at least n work-items.
 */
#include "gpu.clh"

kernel void gather(global float *out, global const float *a, global const int *index, int n) {
  int i = global_id_x();
  if (i < n) out[i] = a[index[i]];
}
