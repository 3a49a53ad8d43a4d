/* Lanes that go different ways: branches, loops, switches, early ends, calls. */
#include "kernel.h"

#define PUT(value) *out++ = (ulong)(value)

NOINLINE int step(int value, int by) {
  if (value & 1) return value * 3 + by;
  return value / 2 - by;
}

NOINLINE long many_arguments(int a, long b, char c, short d, float e, double f, int g, int h, long i, long j, int k, int l, int m, int n,
                             int o, int p, ulong q, ulong r, int s, int t, int u, int v, int w, int x, int y, int z, int aa, int bb,
                             long cc, long dd, int4 ee, half ff, uchar gg, long hh) {
  return a + b * 2 + c * 3 + d * 4 + (long)(e * 5) + (long)(f * 6) + g * 7 + h * 8 + i * 9 + j * 10 + k * 11 + l * 12 + m * 13 + n * 14 +
         o * 15 + p * 16 + (long)q * 17 + (long)r * 18 + s * 19 + t * 20 + u * 21 + v * 22 + w * 23 + x * 24 + y * 25 + z * 26 + aa * 27 +
         bb * 28 + cc * 29 + dd * 30 + ee.x * 31 + ee.w * 32 + (int)ff * 33 + gg * 34 + hh * 35;
}

NOINLINE int deep4(int x) { return x < 10 ? x * 7 : x - 3; }
NOINLINE int deep3(int x, int *seen) {
  int array[8];
  for (int k = 0; k < 8; k++) array[k] = deep4(x + k);
  *seen += array[x & 7];
  return array[(x >> 3) & 7];
}
NOINLINE int deep2(int x, int *seen) { return deep3(x, seen) + deep3(x ^ 5, seen) * 2; }
NOINLINE int deep1(int x) {
  int seen = 0;
  int value = 0;
  if (x % 3 == 0) value = deep2(x, &seen);
  else if (x % 3 == 1) value = deep3(x, &seen);
  else value = deep4(x);
  return value * 16 + seen;
}

kernel void branches(global ulong *out, global const int *a, uint n) {
  uint i = global_x();
  if (i >= n) return;
  int x = a[i];
  out += i * 14;
  int y = 0;
  if (x > 100) {
    y = x * 2;
    if (x & 1) y += 5;
    else if (x & 2) y -= 7;
    else y ^= 0x33;
  } else if (x < -100) {
    y = -x;
  } else {
    for (int k = 0; k < x; k++) {
      if (k % 7 == 3) continue;
      if (y > 1000) break;
      y += k * (int)i;
    }
  }
  PUT(y);
  int steps = 0;
  for (uint k = (uint)x % 1000 + 1; k != 1 && steps < 300; steps++) k = k & 1 ? 3 * k + 1 : k / 2;
  PUT(steps);
  switch (x & 15) {
    case 0: y += 1; break;
    case 1: y *= 3; break;
    case 2: y ^= x;
    case 3: y -= 9; break;
    case 4: y = y << 3; break;
    case 5: y = step(y, 1); break;
    case 7: y = x; break;
    case 8: y |= 0x100;
    case 9: y &= ~2; break;
    case 11: y = -y; break;
    case 14: y = step(x, y); break;
    default: y = 17;
  }
  PUT(y);
  switch ((long)x * 3) {
    case -3: y = 5; break;
    case 0: y = 6; break;
    case 300: y = 7; break;
    case 3000000000: y = 8; break;
    default: y++;
  }
  PUT(y);
  /* The same way for the whole wave. */
  switch (n % 5) {
    case 0: y += 10; break;
    case 1: y += 20; break;
    case 2: y *= 2; break;
    case 3: y -= 4; break;
    default: y ^= 1;
  }
  PUT(y);
  for (uint k = 0; k < n % 9; k++) y += k & 1 ? x : -y;
  PUT(y);
  int inner = 0;
  for (int row = 0; row < (x & 7); row++)
    for (int column = row; column < (int)(i & 7); column++) {
      if (((row * column) & 3) == 2) goto next;
      inner += row * 10 + column;
      if (inner > 90) goto found;
    next:;
    }
found:
  PUT(inner);
  do {
    y = step(y, (int)i);
    inner++;
  } while ((y & 7) != 3 && inner < 120);
  PUT(y);
  PUT(inner);
  PUT(i % 5 == 0 ? step(x, 3) : i % 5 == 1 ? deep4(x) : x);
  PUT(x > 3 && y > 3 && inner > 3 && step(x, y) > step(y, x));
  PUT(x > 3 || y > 30 || step(inner, y) < 0);
  PUT(deep1(x & 0xFFF));
  if ((i & 3) == 3) return;
  PUT(n);
}

kernel void calls(global long *out, global const int *a, global const long *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  out += i * 3;
  int x = a[i] & 0xFFFF;
  long y = b[i] & 0xFFFFFF;
  int4 vector = {x, 2, 3, (int)y};
  *out++ = many_arguments(x, y, (char)x, (short)x, 1.5f * x, 2.5 * y, x + 1, x + 2, y + 3, y + 4, x + 5, x + 6, x + 7, x + 8, x + 9,
                          x + 10, (ulong)y + 11, (ulong)y * x, x + 12, x + 13, x + 14, x + 15, x + 16, x + 17, x + 18, x + 19, x + 20,
                          x + 21, y + 22, y ^ x, vector, (half)(x & 63), (uchar)x, y * 3);
  long sum = 0;
  for (int k = 0; k < (x & 7); k++) {
    if (k == (int)(i & 3)) sum += many_arguments(k, k, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                                                 26, 27, 28, 29, 30, vector, (half)1, 2, x);
    else sum += step(x, k);
  }
  *out++ = sum;
  *out++ = i & 1 ? deep1(x & 0xFF) : deep1((int)y & 0x3F) * 2;
}

/* More values at once than there are registers. */
#define PRESSURE(NAME, ATTRIBUTES)                                                                         \
  kernel ATTRIBUTES void NAME(global ulong *out, global const ulong *a, uint n) {                          \
    uint i = global_x();                                                                                   \
    if (i >= n) return;                                                                                    \
    ulong v[72];                                                                                           \
    for (int k = 0; k < 72; k++) v[k] = a[(i + k) % n] + k;                                                \
    for (int round = 0; round < 3; round++)                                                                \
      for (int k = 0; k < 72; k++) v[k] = v[k] * 0x9E3779B97F4A7C15 + (v[(k * 5 + 7) % 72] >> (k & 31));   \
    ulong sum = 0;                                                                                         \
    if (step((int)i, 3) & 1)                                                                               \
      for (int k = 0; k < 72; k++) sum = sum * 3 ^ v[k];                                                   \
    else                                                                                                   \
      for (int k = 71; k >= 0; k--) sum = sum * 5 + v[k];                                                  \
    out[i] = sum;                                                                                          \
  }
PRESSURE(pressure, )
PRESSURE(few_registers, REGISTERS(24))

/* So many uniform values that the scalar registers do not hold them. */
kernel void uniform_pressure(global uint *out, constant uint *a, uint n) {
  uint i = global_x();
  uint sum = i;
  uint v[120];
  for (int k = 0; k < 120; k++) v[k] = a[k] * n;
  for (int k = 0; k < 120; k++) sum = (sum ^ v[k]) * (v[119 - k] | 1);
  if (i & 1)
    for (int k = 0; k < 120; k++) sum += v[k] >> (v[(k * 7) % 120] & 31);
  sum += step((int)sum, (int)n);
  for (int k = 0; k < 120; k++) sum = sum * 31 + v[(k * 11) % 120];
  if (i < n) out[i] = sum;
}

/* Work in three dimensions; the edges of the grid cut the groups. */
kernel void three_dimensions(global uint *out, uint width, uint height, uint depth) {
  uint x = global_x(), y = global_y(), z = global_z();
  if (x >= width || y >= height || z >= depth) return;
  uint place = (z * height + y) * width + x;
  uint sizes = group_size_x() + group_size_y() * 100 + group_size_z() * 10000;
  uint grid = grid_size_x() + grid_size_y() * 3 + grid_size_z() * 7;
  out[place * 4] = x + y * 1000 + z * 1000000;
  out[place * 4 + 1] = sizes;
  out[place * 4 + 2] = grid + full_size_x() + full_size_y() + full_size_z();
  out[place * 4 + 3] = local_x() + local_y() * 100 + local_z() * 10000 + (group_x() ^ group_y() * 3 ^ group_z() * 5) * 1000000;
}
