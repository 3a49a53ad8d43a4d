/*
 * nbody(float *out, const float *bodies, int n): the acceleration of each body (x, y, z, mass) by all n, with softening, as x, y, z and the
 * sum of masses over distances. Bodies pass through LDS in tiles of 256. The reciprocal square root is the approximate instruction.
 * Launch: one dimension, groups of 256, n work-items; n is a multiple of 256.
 */
#include "gpu.clh"

#define TILE 256
#define SOFTENING 0.01f

__attribute__((reqd_work_group_size(TILE, 1, 1))) kernel void nbody(global float4 *out, global const float4 *bodies, int n) {
  local float4 tile[TILE];
  int i = global_id_x(), self = local_id_x();
  float4 body = bodies[i], sum = 0;
  for (int first = 0; first < n; first += TILE) {
    tile[self] = bodies[first + self];
    workgroup_barrier();
    for (int j = 0; j < TILE; j++) {
      float4 other = tile[j];
      float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
      float inverse = reciprocal_sqrt(__builtin_fmaf(dx, dx, __builtin_fmaf(dy, dy, __builtin_fmaf(dz, dz, SOFTENING))));
      float potential = other.w * inverse, pull = potential * inverse * inverse;
      sum.x = __builtin_fmaf(dx, pull, sum.x);
      sum.y = __builtin_fmaf(dy, pull, sum.y);
      sum.z = __builtin_fmaf(dz, pull, sum.z);
      sum.w += potential;
    }
    workgroup_barrier();
  }
  out[i] = sum;
}
