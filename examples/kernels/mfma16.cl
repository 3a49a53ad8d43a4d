/*
 * mfma16(float *c, const float *a, const float *b, int n): c = a * b for row-major n by n matrices with v_mfma_f32_16x16x4f32, one wave for 32
 * rows and 64 columns: 8 tiles of 16 by 16, so that every factor that is loaded is used 2 or 4 times. Each element is a chain of fma over k
 * in ascending order from 0.
 * Launch: groups of 64 by 1, n / 64 by n / 32 groups; n is a multiple of 64.
 */
#include "gpu.clh"

#define ROWS 2
#define COLUMNS 4

typedef float float_4 __attribute__((ext_vector_type(4)));

__attribute__((reqd_work_group_size(64, 1, 1))) kernel void mfma16(global float *c, global const float *a,
                                                                    global const float *b, int n) {
  int x = local_id_x() % 16, y = local_id_x() / 16;
  int row = group_id_y() * 16 * ROWS, column = group_id_x() * 16 * COLUMNS;
  float_4 sums[ROWS][COLUMNS] = {};
  for (int k = 0; k < n; k += 4) {
    float left[ROWS], right[COLUMNS];
    for (int i = 0; i < ROWS; i++) left[i] = a[(row + 16 * i + x) * n + k + y];
    for (int j = 0; j < COLUMNS; j++) right[j] = b[(k + y) * n + column + 16 * j + x];
    for (int i = 0; i < ROWS; i++)
      for (int j = 0; j < COLUMNS; j++)
        sums[i][j] = __builtin_amdgcn_mfma_f32_16x16x4f32(left[i], right[j], sums[i][j], 0, 0, 0);
  }
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      for (int r = 0; r < 4; r++) c[(row + 16 * i + 4 * y + r) * n + column + 16 * j + x] = sums[i][j][r];
}
