/*
 * histogram(uint *bins, const uint *in, int n): bins[v & 255] += 1 for each v of in[0..n): each group counts in LDS with atomics, then adds
 * its counts to the bins atomically.
 * Launch: one dimension, groups of 256, any number of groups.
 */
#include "gpu.clh"

#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1))) kernel void histogram(global uint *bins, global const uint *in, int n) {
  local uint counts[GROUP];
  int self = local_id_x(), step = (int)num_groups_x() * GROUP;
  counts[self] = 0;
  workgroup_barrier();
  for (int i = group_id_x() * GROUP + self; i < n; i += step)
    __scoped_atomic_fetch_add(&counts[in[i] & 255], 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  workgroup_barrier();
  __scoped_atomic_fetch_add(&bins[self], counts[self], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
