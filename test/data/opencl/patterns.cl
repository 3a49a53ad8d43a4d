/* What clang turns into one instruction: three operands, halves of registers, pairs of 16-bit numbers; for a lane and for a wave. */
#include "kernel.h"

#define PUT(value) *out++ = (uint)(value)
#define MIN __builtin_elementwise_min
#define MAX __builtin_elementwise_max

#define WORDS(x, y, z, w, l, m)                                               \
  PUT((x << 1) + y);                                                          \
  PUT((y << 2) + z);                                                          \
  PUT((z << 3) + x);                                                          \
  PUT((w << 4) + x);                                                          \
  PUT((x & 0xFFFF) | y << 16);                                                \
  PUT((x & 0xFFFF) | (y & 0xFFFF0000));                                       \
  PUT(x >> 16 | (y & 0xFFFF0000));                                            \
  PUT(x >> 16 | y << 16);                                                     \
  PUT(~(x | y));                                                              \
  PUT(~(x & z));                                                              \
  PUT(~(l & m) ^ ~(l & m) >> 32);                                             \
  PUT(~(l | m) + (~(l ^ m) >> 32));                                           \
  PUT((l & ~m) >> 9);                                                         \
  PUT((l | ~m) >> 31);                                                        \
  PUT(((1u << (x & 31)) - 1) << (y & 15));                                    \
  PUT((((ulong)1 << (x & 63)) - 1) >> 17);                                    \
  PUT((l >> (x & 63)) & 1 ? y : z);                                           \
  PUT((x >> (y & 31)) & 1 ? l : m);                                           \
  PUT(x & 0x400 ? y : ~z);                                                    \
  PUT(l & 0x100000000000 ? 3 : w);                                            \
  PUT(x | 1u << (y & 31));                                                    \
  PUT(x & ~(1u << (z & 31)));                                                 \
  PUT((l | (ulong)1 << (y & 63)) >> 20);                                      \
  PUT(__builtin_abs((int)(x - y)));                                           \
  PUT((x > y ? x - y : y - x) + z);                                           \
  PUT(MIN(MIN(x, y), z));                                                     \
  PUT(MAX(MAX(x, y), z));                                                     \
  PUT(MIN(MIN((int)x, (int)y), (int)z));                                      \
  PUT(MAX(MAX((int)x, (int)y), (int)z));                                      \
  PUT(MAX(MIN((int)x, 1000), -1000));                                         \
  PUT(MIN(MAX((short)x, (short)-20), (short)300) + MAX(MAX((short)x, (short)y), (short)z)); \
  PUT(MIN(MAX((ushort)x, (ushort)20), (ushort)300) + MIN(MIN((ushort)x, (ushort)y), (ushort)z)); \
  PUT(MIN(MIN((short)x, (short)y), (short)z) + MAX(MAX((ushort)x, (ushort)y), (ushort)z)); \
  PUT((x ^ y) + z);                                                           \
  PUT((x + y) << (z & 31));                                                   \
  PUT(x + y + z);                                                             \
  PUT((x & y) | (~x & z));                                                    \
  PUT(((x ^ y) & z) ^ y);                                                     \
  PUT((x & y) | (y & z) | (x & z));                                           \
  PUT((ushort)((ushort)x * (ushort)y + (ushort)z));                           \
  PUT((short)x * (short)y + (int)z);                                          \
  PUT((ushort)x * (ushort)y + z);                                             \
  PUT(((short)x > (short)y) + ((short)x >= (short)z) * 2 + ((short)y == (short)z) * 4 + ((ushort)x < (ushort)z) * 8); \
  PUT((x >= y) + ((int)x <= (int)y) * 2 + (l <= m) * 4 + ((long)l >= (long)m) * 8 + (x <= 7) * 16 + ((int)y > -9) * 32); \
  PUT((float)(x >> 24) + (float)(y >> 8 & 255));                              \
  PUT((uint)((ulong)x * y >> 32) + (int)((long)(int)x * (int)y >> 32));       \
  PUT((l + m) >> 32);                                                         \
  PUT((l - m) >> 32);

#define WORD_COUNT 48

kernel void words(global uint *out, global const uint *a, global const uint *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  uint x = a[i], y = b[i], z = a[n - 1 - i], w = b[n - 1 - i];
  ulong l = (ulong)y << 32 | z, m = (ulong)x << 32 | w;
  out += i * WORD_COUNT;
  WORDS(x, y, z, w, l, m)
}

kernel void uniform_words(global uint *out, uint x, uint y, uint z, uint w, ulong l, ulong m, uint n) {
  uint i = global_x();
  if (i >= n) return;
  out += i * WORD_COUNT;
  WORDS(x, y, z, w, l, m)
}

/* Two numbers in a register. */
#define PAIRS(NAME, V, T)                                                                     \
  kernel void NAME(global V *out, global const V *a, global const V *b, V uniform, uint n) {  \
    uint i = global_x();                                                                      \
    if (i >= n) return;                                                                       \
    V x = a[i], y = b[i], z = a[n - 1 - i];                                                   \
    out += i * 18;                                                                            \
    *out++ = x << (y & (T)15);                                                                \
    *out++ = x >> (y & (T)15);                                                                \
    *out++ = x >> (T)3;                                                                       \
    *out++ = x << (T)5;                                                                       \
    *out++ = x * y + z;                                                                       \
    *out++ = x - y;                                                                           \
    *out++ = x + (T)7;                                                                        \
    *out++ = x.yx + y;                                                                        \
    *out++ = x * y.yy;                                                                        \
    *out++ = x.xx - y.yx;                                                                     \
    *out++ = MIN(x, y);                                                                       \
    *out++ = MAX(MIN(x, z), y);                                                               \
    *out++ = x & ~y;                                                                          \
    *out++ = (V){x.y, z.y};                                                                   \
    *out++ = (V){x.x, z.y};                                                                   \
    *out++ = uniform * x + uniform.yx;                                                        \
    *out++ = __builtin_elementwise_add_sat(x, y);                                             \
    *out++ = __builtin_elementwise_sub_sat(x, y);                                             \
  }
PAIRS(signed_pairs, short2, short)
PAIRS(unsigned_pairs, ushort2, ushort)

PURE uint half_pair(half2 value) { return bits_half(value.x) | (uint)bits_half(value.y) << 16; }

#ifdef __AMDGCN__
PURE half2 fused(half2 x, half2 y, half2 z) { return __builtin_elementwise_fma(x, y, z); }
PURE uint truncated(float x, float y) {
  union { __typeof__(__builtin_amdgcn_cvt_pkrtz(x, y)) pair; uint bits; } both = {__builtin_amdgcn_cvt_pkrtz(x, y)};
  return both.bits;
}
#define DOT(x, y, z) __builtin_amdgcn_fdot2(x, y, z, false)
#define GET_ROUNDING() (__builtin_amdgcn_s_getreg(0x1801) & 15)
#else
/* Exact for small numbers. */
PURE half2 fused(half2 x, half2 y, half2 z) { return x * y + z; }
PURE uint truncated(float x, float y) { return half_pair((half2){(half)x, (half)y}); }
#define DOT(x, y, z) ((float)(x).x * (y).x + (float)(x).y * (y).y + (z))
#define GET_ROUNDING() 0
#endif

kernel void half_pairs(global uint *out, global const half2 *a, global const half2 *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  half2 x = a[i], y = b[i], z = a[n - 1 - i];
  out += i * 14;
  PUT(half_pair(x + y));
  PUT(half_pair(x - y.yx));
  PUT(half_pair(x * -y));
  PUT(half_pair(fused(x, y, z)));
  PUT(half_pair(fused(x, y.xx, -z)));
  PUT(half_pair(MIN(x, y) + (half)0));
  PUT(half_pair(MAX(x, z) + (half)0));
  half2 mixed;
  mixed.x = (half)__builtin_fmaf(x.x, y.y, (float)z.x);
  mixed.y = (half)__builtin_fmaf(x.y, y.x, 1.5f);
  *(global half2 *)out++ = mixed + (half)0;
  PUT(bits_half(__builtin_fmaxf16(__builtin_fmaxf16(x.x, y.x), z.x) + 0));
  PUT(bits_half(__builtin_fminf16(__builtin_fminf16(x.x, y.x), z.x) + 0));
  PUT(bits_half(__builtin_fminf16(__builtin_fmaxf16(x.x, (half)-2), (half)3) + 0));
  PUT(bits_float(__builtin_fminf(__builtin_fminf(x.x, y.x), z.x) + 0));
  PUT(truncated((float)x.x, (float)y.y));
  PUT(bits_float(DOT(x, y, (float)z.x)) + GET_ROUNDING());
}

/* Loops that exchange values, LDS accesses of three dwords, of halves, at distances of 64. */
kernel void exchanges(global uint *out, global const uint *a, global const short *b, global const float3 *c, uint n) {
  WORKGROUP_ARRAY(float3, vectors, 128);
  WORKGROUP_ARRAY(double, doubles, 512);
  WORKGROUP_ARRAY(ushort, shorts, 256);
  WORKGROUP_ARRAY(uchar, bytes, 256);
  WORKGROUP_ARRAY(uint, cell, 2);
  uint i = global_x(), self = local_x(), at = i < n ? i : 0, x = a[at];
  float3 vector = c[at];
  vectors[self] = vector * 2.0f;
  doubles[self] = x;
  doubles[self + 128] = x + 1;
  doubles[self + 256] = x + 2;
  shorts[self] = x >> 16;
  bytes[self] = x >> 16;
  if (self == 0) cell[0] = 1;
  workgroup_barrier();
  uint expected = 1;
  if (self == 5) __scoped_atomic_compare_exchange_n(&cell[0], &expected, 7, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  workgroup_barrier();
  if (i >= n) return;
  out += i * 8;
  uint p = x & 0xFFFF, q = i | 1;
  while (p) {
    uint rest = q % p;
    q = p;
    p = rest;
  }
  PUT(q);
  uint other = self ^ 1;
  if (other >= group_size_x() || i - self + other >= n) other = self;
  vector = vectors[other];
  PUT(bits_float(vector.x + vector.y * vector.z));
  PUT((ulong)(doubles[other] + doubles[other + 128] + doubles[other + 256]));
  PUT((short)shorts[other] * 3);
  PUT(bytes[other]);
  PUT(cell[0]);
  float3 own = c[n - 1 - i];
  PUT(bits_float(own.x * own.y - own.z));
  PUT(b[i] * 5);
}
