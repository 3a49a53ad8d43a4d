/* Work-items that work together through LDS and barriers. */
#include "kernel.h"

/* Sum, smallest and largest number of each group. */
kernel void reduction(global ulong *out, global const uint *a, uint n) {
  WORKGROUP_ARRAY(ulong, sums, 256);
  WORKGROUP_ARRAY(uint, smallest, 256);
  WORKGROUP_ARRAY(uint, largest, 256);
  uint i = global_x(), self = local_x();
  sums[self] = i < n ? a[i] : 0;
  smallest[self] = i < n ? a[i] : ~0u;
  largest[self] = i < n ? a[i] : 0;
  for (uint width = 128; width > 0; width /= 2) {
    workgroup_barrier();
    if (self < width && self + width < group_size_x()) {
      sums[self] += sums[self + width];
      if (smallest[self + width] < smallest[self]) smallest[self] = smallest[self + width];
      if (largest[self + width] > largest[self]) largest[self] = largest[self + width];
    }
  }
  if (self != 0) return;
  out[group_x() * 3] = sums[0];
  out[group_x() * 3 + 1] = smallest[0];
  out[group_x() * 3 + 2] = largest[0];
}

/* Prefix sums of each group. */
kernel void scan(global uint *out, global const uint *a, local uint *sums, uint n) {
  uint i = global_x(), self = local_x(), size = full_size_x(), from = 0, to = size;
  sums[self] = i < n ? a[i] : 0;
  for (uint distance = 1; distance < size; distance *= 2) {
    workgroup_barrier();
    uint sum = sums[from + self];
    if (self >= distance) sum += sums[from + self - distance];
    sums[to + self] = sum;
    to = from;
    from = size - from;
  }
  workgroup_barrier();
  if (i < n) out[i] = sums[from + self];
}

/* Bitonic sort of 512 numbers by 256 work-items. */
kernel FIXED_GROUP(256, 1, 1) void sort(global int *out, global const int *a) {
  WORKGROUP_ARRAY(int, numbers, 512);
  uint self = local_x(), first = group_x() * 512;
  numbers[self] = a[first + self];
  numbers[self + 256] = a[first + self + 256];
  for (uint size = 2; size <= 512; size *= 2)
    for (uint distance = size / 2; distance > 0; distance /= 2) {
      workgroup_barrier();
      uint low = (self / distance) * distance * 2 + self % distance, high = low + distance;
      bool up = (low & size) == 0;
      int x = numbers[low], y = numbers[high];
      if ((x > y) == up) {
        numbers[low] = y;
        numbers[high] = x;
      }
    }
  workgroup_barrier();
  out[first + self] = numbers[self];
  out[first + self + 256] = numbers[self + 256];
}

/* Transposed through tiles of 16 by 16; width and height need not be multiples. */
kernel void transpose(global double *out, global const double *in, uint width, uint height) {
  WORKGROUP_ARRAY(double, tile, 16 * 17);
  uint x = global_x(), y = global_y();
  if (x < width && y < height) tile[local_y() * 17 + local_x()] = in[y * width + x];
  workgroup_barrier();
  uint column = group_y() * 16 + local_x(), row = group_x() * 16 + local_y();
  if (column < height && row < width && local_x() < group_size_y() && local_y() < group_size_x())
    out[row * height + column] = tile[local_x() * 17 + local_y()];
}

/* Product of matrices of any size; sums are chains of FMA. */
kernel FIXED_GROUP(16, 16, 1) void matmul(global float *c, global const float *a, global const float *b, uint n) {
  WORKGROUP_ARRAY(float, left, 256);
  WORKGROUP_ARRAY(float, right, 256);
  uint x = local_x(), y = local_y(), column = group_x() * 16 + x, row = group_y() * 16 + y;
  float sum = 0;
  for (uint k = 0; k < n; k += 16) {
    left[y * 16 + x] = row < n && k + x < n ? a[row * n + k + x] : 0;
    right[y * 16 + x] = column < n && k + y < n ? b[(k + y) * n + column] : 0;
    workgroup_barrier();
    for (uint i = 0; i < 16; i++) sum = __builtin_fmaf(left[y * 16 + i], right[i * 16 + x], sum);
    workgroup_barrier();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

/* Counts in LDS, added up in global memory; the last group to finish looks at all of them. */
kernel void histogram(global uint *counts, global uint *finished, global uint *total, global const uchar *a, uint n) {
  WORKGROUP_ARRAY(uint, own, 256);
  WORKGROUP_ARRAY(uint, is_last, 1);
  uint self = local_x(), size = group_size_x();
  for (uint k = self; k < 256; k += size) own[k] = 0;
  workgroup_barrier();
  for (uint k = global_x(); k < n; k += grid_size_x())
    __scoped_atomic_fetch_add(&own[a[k]], 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  workgroup_barrier();
  for (uint k = self; k < 256; k += size)
    if (own[k] != 0) __scoped_atomic_fetch_add(&counts[k], own[k], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  workgroup_barrier();
  if (self == 0) {
    uint groups = (grid_size_x() + full_size_x() - 1) / full_size_x();
    is_last[0] = __scoped_atomic_fetch_add(finished, 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) == groups - 1;
  }
  workgroup_barrier();
  if (!is_last[0]) return;
  for (uint k = self; k < 256; k += size) own[k] = counts[k] * k;
  workgroup_barrier();
  if (self == 0)
    for (uint k = 0; k < 256; k++) *total += own[k];
}

/* Three dimensions, two barriers for each of several rounds, bytes in LDS. */
kernel GROUP_UP_TO(512) void life(global uchar *out, global const uchar *in, uint rounds) {
  WORKGROUP_ARRAY(uchar, cells, 8 * 8 * 8);
  uint x = local_x(), y = local_y(), z = local_z(), self = (z * 8 + y) * 8 + x;
  uint place = ((group_z() * 8 + z) * grid_size_y() + group_y() * 8 + y) * grid_size_x() + group_x() * 8 + x;
  cells[self] = in[place] & 1;
  for (uint round = 0; round < rounds; round++) {
    workgroup_barrier();
    uint around = 0;
    for (int d = 0; d < 27; d++) {
      uint nx = (x + d % 3 + 7) & 7, ny = (y + d / 3 % 3 + 7) & 7, nz = (z + d / 9 + 7) & 7;
      if (d != 13) around += cells[(nz * 8 + ny) * 8 + nx];
    }
    workgroup_barrier();
    cells[self] = cells[self] ? around >= 4 && around <= 7 : around >= 6 && around <= 8;
  }
  out[place] = cells[self];
}
