/*
 * mfma16(float *c, const float *a, const float *b, int n): c = a * b for row-major n by n matrices, one wave for each tile of 16 by 16 with
 * v_mfma_f32_16x16x4f32. Each element is a chain of fma over k in ascending order from 0.
 * Launch: groups of 64 by 1, n / 16 by n / 16 groups; n is a multiple of 16.
 */
#include "gpu.clh"

typedef float float_4 __attribute__((ext_vector_type(4)));

__attribute__((reqd_work_group_size(64, 1, 1))) kernel void mfma16(global float *c, global const float *a,
                                                                    global const float *b, int n) {
  int x = local_id_x() % 16, y = local_id_x() / 16;
  int row = group_id_y() * 16, column = group_id_x() * 16;
  float_4 sum = 0;
  for (int k = 0; k < n; k += 4)
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[(row + x) * n + k + y], b[(k + y) * n + column + x], sum, 0, 0, 0);
  for (int i = 0; i < 4; i++) c[(row + 4 * y + i) * n + column + x] = sum[i];
}
