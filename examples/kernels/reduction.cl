/*
 * reduction(uint *total, const uint *in, int n): *total += sum of in[0..n), modulo 2^32: each work-item strides through the
 * input, each group adds up in LDS, its first work-item adds to *total atomically.
 * Launch: one dimension, groups of 256, any number of groups.
 */
#include "gpu.clh"

#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1))) kernel void reduction(global uint *total, global const uint *in,
                                                                        int n) {
  local uint sums[GROUP];
  int self = local_id_x(), step = (int)num_groups_x() * GROUP;
  uint sum = 0;
  for (int i = group_id_x() * GROUP + self; i < n; i += step) sum += in[i];
  sums[self] = sum;
  for (int width = GROUP / 2; width > 0; width /= 2) {
    workgroup_barrier();
    if (self < width) sums[self] += sums[self + width];
  }
  if (self == 0) __scoped_atomic_fetch_add(total, sums[0], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
