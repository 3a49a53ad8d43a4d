/*
 * wmma16(float *c, const half *a, const half *b, int n): c = a * b for n by n matrices, a row-major and b column-major, with
 * v_wmma_f32_16x16x16_f16 and f32 sums, one wave for 32 rows and 32 columns: 4 tiles of 16 by 16, so that every factor is used twice.
 * Launch: groups of 32 by 1, n / 32 by n / 32 groups; n is a multiple of 32.
 */
#include "gpu.clh"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define TILES 2

typedef half half_16 __attribute__((ext_vector_type(16)));
typedef float float_8 __attribute__((ext_vector_type(8)));

__attribute__((reqd_work_group_size(32, 1, 1))) kernel void wmma16(global float *c, global const half *a,
                                                                    global const half *b, int n) {
  int x = local_id_x() % 16, y = local_id_x() / 16;
  int row = group_id_y() * 16 * TILES, column = group_id_x() * 16 * TILES;
  float_8 sums[TILES][TILES] = {};
  for (int k = 0; k < n; k += 16) {
    half_16 left[TILES], right[TILES];
    for (int i = 0; i < TILES; i++) left[i] = *(global const half_16 *)(a + (row + 16 * i + x) * n + k);
    for (int j = 0; j < TILES; j++) right[j] = *(global const half_16 *)(b + (column + 16 * j + x) * n + k);
    for (int i = 0; i < TILES; i++)
      for (int j = 0; j < TILES; j++)
        sums[i][j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(left[i], right[j], sums[i][j]);
  }
  for (int i = 0; i < TILES; i++)
    for (int j = 0; j < TILES; j++)
      for (int r = 0; r < 8; r++) c[(row + 16 * i + 2 * r + y) * n + column + 16 * j + x] = sums[i][j][r];
}
