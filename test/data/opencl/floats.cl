/* Floating-point arithmetic of three formats, with every kind of operand: denormals, infinities, NaN, zeros of both signs. */
#include "kernel.h"

#ifdef __AMDGCN__
PURE half fused_half(half a, half b, half c) { return __builtin_fmaf16(a, b, c); }
#else
/* Exact product and sum in f64, with what does not fit in its last bit: then rounding to f16 is right. */
PURE half fused_half(half a, half b, half c) {
  double product = (double)a * b, sum = product + c;
  double other = sum - product, error = (product - (sum - other)) + (c - other);
  union { double number; long bits; } both = {sum};
  if (__builtin_isfinite(error) && error != 0 && !(both.bits & 1)) both.bits += (error > 0) == (sum > 0) ? 1 : -1;
  return (half)both.number;
}
#endif
#define fused_float __builtin_fmaf
#define fused_double __builtin_fma

#define PUT(value) *out++ = bits_T(value)

#define ARITHMETIC(NAME, F, SUFFIX, U)                                                                              \
  kernel void arithmetic_##NAME(global U *out, global const F *a, global const F *b, uint n) {                            \
    uint i = global_x();                                                                                          \
    if (i >= n) return;                                                                                           \
    F x = a[i], y = b[i], z = a[n - 1 - i];                                                                       \
    out += i * 32;                                                                                                \
    PUT(x + y);                                                                                                   \
    PUT(x - y);                                                                                                   \
    PUT(x * y);                                                                                                   \
    PUT(x / y);                                                                                                   \
    PUT(1 / x);                                                                                                   \
    PUT(x / 3);                                                                                                   \
    PUT(__builtin_sqrt##SUFFIX(x));                                                                               \
    PUT(fused_##F(x, y, z));                                                                                      \
    PUT(fused_##F(-x, y, z));                                                                                     \
    PUT(fused_##F(x, __builtin_fabs##SUFFIX(y), -z));                                                             \
    PUT(fused_##F(x, 2, (F)1.5));                                                                                 \
    PUT(x * y + z);                                                                                               \
    PUT(x * y - z * z);                                                                                           \
    PUT(-x);                                                                                                      \
    PUT(__builtin_fabs##SUFFIX(x) - __builtin_fabs##SUFFIX(y));                                                   \
    PUT(-__builtin_fabs##SUFFIX(x));                                                                              \
    PUT(__builtin_copysign##SUFFIX(x, y == y ? y : 1));                                                           \
    /* Which zero is the smaller one is open: the sum makes it positive. */                                       \
    PUT(__builtin_fmin##SUFFIX(x, y) + 0);                                                                        \
    PUT(__builtin_fmax##SUFFIX(x, y) + 0);                                                                        \
    PUT(__builtin_fmax##SUFFIX(__builtin_fmin##SUFFIX(x, y), z) + 0);                                             \
    PUT(__builtin_fmin##SUFFIX(__builtin_fmax##SUFFIX(x, 0), 1) + 0);                                             \
    PUT(__builtin_fmax##SUFFIX(x, __builtin_fmax##SUFFIX(y, z)) + 0);                                             \
    PUT(x < y ? x : y);                                                                                           \
    PUT(x > y ? x : y);                                                                                           \
    PUT(x < 0 ? 0 : x);                                                                                           \
    PUT(__builtin_floor##SUFFIX(x));                                                                              \
    PUT(__builtin_ceil##SUFFIX(x));                                                                               \
    PUT(__builtin_trunc##SUFFIX(x));                                                                              \
    PUT(__builtin_rint##SUFFIX(x));                                                                               \
    PUT(__builtin_roundeven##SUFFIX(x * (F)0.25));                                                                \
    PUT(__builtin_round##SUFFIX(x));                                                                              \
    PUT(x * (F)0.5 + y * 4);                                                                                      \
  }

/* Comparisons, ordered or not, and classes of numbers. */
#define COMPARISONS(NAME, F, SUFFIX)                                                                            \
  kernel void comparisons_##NAME(global uint *out, global const F *a, global const F *b, uint n) {                    \
    uint i = global_x();                                                                                          \
    if (i >= n) return;                                                                                           \
    F x = a[i], y = b[i];                                                                                         \
    out += i * 6;                                                                                                 \
    *out++ = (x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5;              \
    *out++ = !(x < y) | !(x <= y) << 1 | !(x > y) << 2 | !(x >= y) << 3 | !(x == y) << 4 | !(x != y) << 5;        \
    *out++ = __builtin_isunordered(x, y) | !__builtin_isunordered(x, y) << 1 | __builtin_islessgreater(x, y) << 2 | \
             !__builtin_islessgreater(x, y) << 3 | (x < y || x != x) << 4 | (y == y && x >= y) << 5;              \
    *out++ = __builtin_isnan(x) | __builtin_isinf(x) << 1 | __builtin_isfinite(x) << 2 | __builtin_isnormal(x) << 3 | \
             __builtin_issubnormal(x) << 4 | __builtin_iszero(x) << 5 | (__builtin_signbit##SUFFIX(x) && x == x) << 6; \
    *out++ = __builtin_isfpclass(x, 0x003) | __builtin_isfpclass(x, 0x00C) << 1 | __builtin_isfpclass(x, 0x0F0) << 2 | \
             __builtin_isfpclass(x, 0x204) << 3 | __builtin_isfpclass(x, 0x108) << 4;                             \
    uint count = 0;                                                                                               \
    for (F at = __builtin_fabs##SUFFIX(x); at > 1 && count < 20; at *= (F)0.25) count++;                          \
    *out++ = x == 0 ? 1000 : count;                                                                               \
  }

/* Mantissa and exponent. */
#define SCALING(NAME, F, SUFFIX, U)                                                                               \
  kernel void scaling_##NAME(global U *out, global const F *a, global const F *b, uint n) {                             \
    uint i = global_x();                                                                                          \
    if (i >= n) return;                                                                                           \
    F x = a[i], y = b[i];                                                                                         \
    out += i * 6;                                                                                                 \
    int exponent = (int)(plain_bits_##F(y) & 63) - 32;                                                            \
    PUT(__builtin_ldexp##SUFFIX(x, exponent));                                                                    \
    PUT(__builtin_ldexp##SUFFIX(x, exponent / 4));                                                                \
    PUT(__builtin_ldexp##SUFFIX(x, 3));                                                                           \
    int found = 0;                                                                                                \
    F mantissa = __builtin_frexp##SUFFIX(x, &found);                                                              \
    PUT(mantissa);                                                                                                \
    *out++ = __builtin_isfinite(x) ? found : 0;                                                                   \
    PUT(x - __builtin_floor##SUFFIX(x));                                                                          \
  }

#define bits_T bits_float
ARITHMETIC(f32, float, f, uint)
COMPARISONS(f32, float, f)
SCALING(f32, float, f, uint)
#undef bits_T
#define bits_T bits_double
ARITHMETIC(f64, double, , ulong)
COMPARISONS(f64, double, )
SCALING(f64, double, , ulong)
#undef bits_T
#define bits_T bits_half
ARITHMETIC(f16, half, f16, ushort)
COMPARISONS(f16, half, f)
#ifndef __AMDGCN__
#define __builtin_ldexpf16(x, e) (half) __builtin_ldexpf(x, e)
#define __builtin_frexpf16(x, e) (half) __builtin_frexpf(x, e)
#endif
SCALING(f16, half, f16, ushort)

/* f16 factors of f32 sums, and f16 results of f32 arithmetic. */
kernel void mixed(global uint *out, global const half *a, global const half *b, global const float *c, uint n) {
  uint i = global_x();
  if (i >= n) return;
  half x = a[i], y = b[i];
  float z = c[i];
  out += i * 6;
  *out++ = bits_float(__builtin_fmaf(x, y, z));
  *out++ = bits_float(__builtin_fmaf(-(float)x, y, x));
  *out++ = bits_float(__builtin_fmaf(x, __builtin_fabsf(z), y));
  half2 both;
  both.x = (half)__builtin_fmaf(x, y, 1.5f);
  both.y = (half)__builtin_fmaf(y, 0.5f, (float)x);
  *out++ = bits_half(both.x) | (uint)bits_half(both.y) << 16;
  /* clang rounds an f32 product to f16 by an FMA that adds +0, so a product of -0 is lost. */
  *out++ = bits_half((half)((float)x * y) + 0) | (uint)bits_half((half)((float)x + y)) << 16;
  *out++ = bits_float((float)x * z + (float)y);
}

/* All lanes and the scalar unit with the same numbers. */
kernel void uniform_floats(global ulong *out, float a, float b, double c, double d, half e, half f, uint n) {
  if (global_x() >= n) return;
  out += global_x() * 10;
  *out++ = bits_float(a * b + a);
  *out++ = bits_float(a / b);
  *out++ = bits_double(c * d - c);
  *out++ = bits_double(c / d);
  *out++ = bits_half(e * f + e);
  *out++ = bits_half((half)(e / f));
  *out++ = bits_float(__builtin_fmaf(a, b, (float)e));
  *out++ = bits_double(__builtin_fma(c, d, a));
  *out++ = (a < b) | (c < d) << 1 | (e < f) << 2 | (a == a) << 3;
  *out++ = bits_float(a > b ? a : b) + bits_double(c > 0 ? c : -d);
}
