/*
 * wmma16(float *c, const half *a, const half *b, int n): c = a * b for n by n matrices, a row-major and b column-major, one wave for each tile of
 * 16 by 16 with v_wmma_f32_16x16x16_f16, f32 sums.
 * Launch: groups of 32 by 1, n / 16 by n / 16 groups; n is a multiple of 16.
 */
#include "gpu.clh"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef half half_16 __attribute__((ext_vector_type(16)));
typedef float float_8 __attribute__((ext_vector_type(8)));

__attribute__((reqd_work_group_size(32, 1, 1))) kernel void wmma16(global float *c, global const half *a,
                                                                    global const half *b, int n) {
  int x = local_id_x() % 16, y = local_id_x() / 16;
  int row = group_id_y() * 16, column = group_id_x() * 16;
  float_8 sum = 0;
  for (int k = 0; k < n; k += 16) {
    half_16 left = *(global const half_16 *)(a + (row + x) * n + k);
    half_16 right = *(global const half_16 *)(b + (column + x) * n + k);
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(left, right, sum);
  }
  for (int i = 0; i < 8; i++) c[(row + 2 * i + y) * n + column + x] = sum[i];
}
