/* What GPUs are used for, in small: transforms, simulations, ciphers, sparse matrices, searches. Groups may be cut. */
#include "kernel.h"

/* Transforms of 256 complex numbers, each by a group: radix 2, in place in LDS; `roots` holds e^(-2 pi i k / 256). */
kernel void fft(global float2 *out, global const float2 *in, global const float2 *roots, uint count) {
  WORKGROUP_ARRAY(float2, numbers, 256);
  uint self = local_x(), size = group_size_x(), first = group_x() * 256;
  for (uint k = self; k < 256; k += size) {
    uint reversed = __builtin_bitreverse32(k) >> 24;
    numbers[reversed] = group_x() < count ? in[first + k] : (float2){0, 0};
  }
  for (uint half_size = 1; half_size < 256; half_size *= 2) {
    workgroup_barrier();
    for (uint k = self; k < 128; k += size) {
      uint at = k % half_size, low = (k / half_size) * half_size * 2 + at, high = low + half_size;
      float2 root = roots[at * (128 / half_size)], a = numbers[low], b = numbers[high], product;
      product.x = __builtin_fmaf(b.x, root.x, -(b.y * root.y));
      product.y = __builtin_fmaf(b.x, root.y, b.y * root.x);
      numbers[low] = a + product;
      numbers[high] = a - product;
    }
  }
  workgroup_barrier();
  if (group_x() < count)
    for (uint k = self; k < 256; k += size) out[first + k] = numbers[k];
}

/* A step of bodies that attract each other, the others' positions and masses in LDS by turns. */
kernel void n_body(global float4 *out, global const float4 *bodies, global const float4 *speeds, float step, uint n) {
  WORKGROUP_ARRAY(float4, tile, 96);
  uint i = global_x(), self = local_x(), size = group_size_x();
  float4 own = i < n ? bodies[i] : (float4){0, 0, 0, 0};
  float x = 0, y = 0, z = 0;
  for (uint start = 0; start < n; start += 96) {
    uint count = n - start < 96 ? n - start : 96;
    workgroup_barrier();
    for (uint k = self; k < count; k += size) tile[k] = bodies[start + k];
    workgroup_barrier();
    for (uint k = 0; k < count; k++) {
      float4 other = tile[k];
      float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
      float square = __builtin_fmaf(dx, dx, __builtin_fmaf(dy, dy, __builtin_fmaf(dz, dz, 0.0625f)));
      float pull = other.w / (square * __builtin_sqrtf(square));
      x = __builtin_fmaf(dx, pull, x);
      y = __builtin_fmaf(dy, pull, y);
      z = __builtin_fmaf(dz, pull, z);
    }
  }
  if (i >= n) return;
  float4 speed = speeds[i];
  speed.x += x * step;
  speed.y += y * step;
  speed.z += z * step;
  own.x += speed.x * step;
  own.y += speed.y * step;
  own.z += speed.z * step;
  out[2 * i] = own;
  out[2 * i + 1] = speed;
}

/* FIPS 197, a block for each work-item; what depends on the key is in LDS. */
PURE uint doubled(uint byte) { return (byte << 1 ^ (byte & 0x80 ? 0x1B : 0)) & 0xFF; }

PURE uint product_of(uint a, uint b) {
  uint product = 0;
  for (uint bit = 0; bit < 8; bit++, a = doubled(a))
    if (b >> bit & 1) product ^= a;
  return product;
}

PURE uint substitute(local const uchar *box, uint word) {
  uint result = 0;
  for (uint k = 0; k < 32; k += 8) result |= (uint)box[word >> k & 0xFF] << k;
  return result;
}

kernel void aes(global uint4 *out, global const uint4 *blocks, global const uint *key, uint n) {
  WORKGROUP_ARRAY(uchar, box, 256);
  WORKGROUP_ARRAY(uint, keys, 44);
  uint i = global_x(), self = local_x(), size = group_size_x();
  for (uint byte = self; byte < 256; byte += size) {
    /* The inverse in GF(2^8) is the 254th power. */
    uint power = byte, inverse = 1;
    for (uint k = 1; k < 8; k++) {
      power = product_of(power, power);
      inverse = product_of(inverse, power);
    }
    uint twice = inverse | inverse << 8;
    box[byte] = (uchar)((twice ^ twice >> 4 ^ twice >> 5 ^ twice >> 6 ^ twice >> 7) ^ 0x63);
  }
  workgroup_barrier();
  if (self == 0) {
    uint constant_of_round = 1;
    for (uint k = 0; k < 4; k++) keys[k] = key[k];
    for (uint k = 4; k < 44; k++) {
      uint word = keys[k - 1];
      if (k % 4 == 0) {
        word = substitute(box, word >> 8 | word << 24) ^ constant_of_round;
        constant_of_round = doubled(constant_of_round);
      }
      keys[k] = keys[k - 4] ^ word;
    }
  }
  workgroup_barrier();
  if (i >= n) return;
  uint state[4];
  for (uint k = 0; k < 4; k++) state[k] = blocks[i][k] ^ keys[k];
  for (uint round = 1; round <= 10; round++) {
    uint next[4];
    for (uint column = 0; column < 4; column++) {
      uint word = 0;
      for (uint row = 0; row < 4; row++) word |= (uint)box[state[(column + row) & 3] >> row * 8 & 0xFF] << row * 8;
      if (round < 10) {
        uint mixed = 0;
        for (uint row = 0; row < 4; row++) {
          uint a = word >> row * 8 & 0xFF, b = word >> (row + 1 & 3) * 8 & 0xFF;
          uint c = word >> (row + 2 & 3) * 8 & 0xFF, d = word >> (row + 3 & 3) * 8 & 0xFF;
          mixed |= (doubled(a) ^ doubled(b) ^ b ^ c ^ d) << row * 8;
        }
        word = mixed;
      }
      next[column] = word ^ keys[round * 4 + column];
    }
    for (uint k = 0; k < 4; k++) state[k] = next[k];
  }
  out[i] = (uint4){state[0], state[1], state[2], state[3]};
}

/* Five points in two dimensions through tiles of 16 by 8 with a border. */
kernel void stencil(global float *out, global const float *in, uint width, uint height) {
  WORKGROUP_ARRAY(float, tile, 18 * 10);
  int left = (int)(group_x() * 16) - 1, top = (int)(group_y() * 8) - 1;
  uint self = local_y() * group_size_x() + local_x(), size = group_size_x() * group_size_y();
  for (uint k = self; k < 18 * 10; k += size) {
    int x = left + (int)(k % 18), y = top + (int)(k / 18);
    x = x < 0 ? 0 : x >= (int)width ? (int)width - 1 : x;
    y = y < 0 ? 0 : y >= (int)height ? (int)height - 1 : y;
    tile[k] = in[y * (int)width + x];
  }
  workgroup_barrier();
  uint x = global_x(), y = global_y();
  if (x >= width || y >= height) return;
  local const float *at = &tile[(local_y() + 1) * 18 + local_x() + 1];
  out[y * width + x] = __builtin_fmaf(0.25f, (at[-1] + at[1]) + (at[-18] + at[18]) - 4 * at[0], at[0]);
}

/* Seven points in three dimensions, the column of each work-item in registers. */
kernel void columns(global double *out, global const double *in, uint width, uint height, uint depth) {
  uint x = global_x(), y = global_y(), layer = width * height;
  if (x >= width || y >= height) return;
  uint at = y * width + x;
  uint west = x > 0 ? 1 : 0, east = x < width - 1 ? 1 : 0, north = y > 0 ? width : 0, south = y < height - 1 ? width : 0;
  double below = in[at], here = in[at];
  for (uint z = 0; z < depth; z++, at += layer) {
    double above = in[z < depth - 1 ? at + layer : at];
    double around = (in[at - west] + in[at + east]) + (in[at - north] + in[at + south]) + (below + above);
    out[at] = __builtin_fma(around - 6 * here, 0.125, here);
    below = here;
    here = above;
  }
}

/* Compressed rows: one for each work-item. */
kernel void sparse_rows(global double *out, global const double *values, global const uint *places, global const uint *starts,
                        global const double *vector, uint rows) {
  uint row = global_x();
  if (row >= rows) return;
  double sum = 0;
  for (uint k = starts[row]; k < starts[row + 1]; k++) sum = __builtin_fma(values[k], vector[places[k]], sum);
  out[row] = sum;
}

/* Compressed rows: one for each group, whose sums are added as a tree. */
kernel void sparse_groups(global double *out, global const double *values, global const uint *places, global const uint *starts,
                          global const double *vector, uint rows) {
  WORKGROUP_ARRAY(double, sums, 64);
  uint row = group_x(), self = local_x();
  double sum = 0;
  if (row < rows)
    for (uint k = starts[row] + self; k < starts[row + 1]; k += full_size_x())
      sum = __builtin_fma(values[k], vector[places[k]], sum);
  sums[self] = sum;
  for (uint width = 32; width > 0; width /= 2) {
    workgroup_barrier();
    if (self < width && self + width < group_size_x()) sums[self] += sums[self + width];
  }
  if (self == 0 && row < rows) out[row] = sums[0];
}

/* Horspool's search for a word of up to 16 letters: each work-item looks for words that begin in its 32 letters. */
kernel void search(global uint *found, global uint *total, global const uchar *text, global const uchar *word, uint length,
                   uint n) {
  WORKGROUP_ARRAY(uchar, skip, 256);
  uint i = global_x(), self = local_x(), size = group_size_x();
  for (uint k = self; k < 256; k += size) skip[k] = (uchar)length;
  workgroup_barrier();
  if (self == 0)
    for (uint k = 0; k + 1 < length; k++) skip[word[k]] = (uchar)(length - 1 - k);
  workgroup_barrier();
  uint places = 0, end = (i + 1) * 32 < n ? (i + 1) * 32 : n;
  for (uint at = i * 32; at < end && at + length <= n;) {
    uint matched = length;
    while (matched > 0 && text[at + matched - 1] == word[matched - 1]) matched--;
    if (matched == 0) places |= 1u << at % 32;
    at += skip[text[at + length - 1]];
  }
  if (i * 32 >= n) return;
  found[i] = places;
  __scoped_atomic_fetch_add(total, (uint)__builtin_popcount(places), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
