/*
 * matmul16(float *c, const float *a, const float *b, int n): c = a * b for row-major n by n matrices, through 16 by 16 tiles in
 * LDS. Each element is a chain of fma over k in ascending order from 0.
 * Launch: groups of 16 by 16, n / 16 by n / 16 groups; n is a multiple of 16.
 */
#include "gpu.clh"

#define TILE 16

__attribute__((reqd_work_group_size(TILE, TILE, 1))) kernel void matmul16(global float *c, global const float *a,
                                                                         global const float *b, int n) {
  local float tile_a[TILE][TILE], tile_b[TILE][TILE];
  int x = local_id_x(), y = local_id_y();
  int column = group_id_x() * TILE + x, row = group_id_y() * TILE + y;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    workgroup_barrier();
    for (int i = 0; i < TILE; i++) sum = __builtin_fmaf(tile_a[y][i], tile_b[i][x], sum);
    workgroup_barrier();
  }
  c[row * n + column] = sum;
}
