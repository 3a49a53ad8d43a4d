/*
 * matmul4x4(float *c, const float *a, const float *b, int n): c = a * b for row-major n by n matrices, a 64 by 64 tile per group
 * and 4 by 4 elements per work-item. Each element is a chain of fma over k in ascending order from 0.
 * Launch: groups of 16 by 16, n / 64 by n / 64 groups; n is a multiple of 64.
 */
#include "gpu.clh"

#define THREADS 16
#define EACH 4
#define TILE (THREADS * EACH)
#define DEPTH 16

__attribute__((reqd_work_group_size(THREADS, THREADS, 1))) kernel void matmul4x4(global float *c, global const float *a,
                                                                                global const float *b, int n) {
  local float tile_a[DEPTH][TILE], tile_b[DEPTH][TILE];
  int x = local_id_x(), y = local_id_y(), self = y * THREADS + x;
  int left = group_id_x() * TILE, top = group_id_y() * TILE;
  float sum[EACH][EACH] = {{0}};
  for (int k = 0; k < n; k += DEPTH) {
    for (int part = 0; part < EACH; part++) {
      int at = part * THREADS * THREADS + self;
      tile_a[at % DEPTH][at / DEPTH] = a[(top + at / DEPTH) * n + k + at % DEPTH];
      tile_b[at / TILE][at % TILE] = b[(k + at / TILE) * n + left + at % TILE];
    }
    workgroup_barrier();
    for (int i = 0; i < DEPTH; i++)
      for (int v = 0; v < EACH; v++)
        for (int u = 0; u < EACH; u++)
          sum[v][u] = __builtin_fmaf(tile_a[i][y * EACH + v], tile_b[i][x * EACH + u], sum[v][u]);
    workgroup_barrier();
  }
  for (int v = 0; v < EACH; v++)
    for (int u = 0; u < EACH; u++) c[(top + y * EACH + v) * n + left + x * EACH + u] = sum[v][u];
}
