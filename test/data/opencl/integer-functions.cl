/*
 * OpenCL's built-in functions of integers and of vectors of them, which AMD's device libraries implement. The GPU calls them on
 * vectors x, y and z; this machine computes each result from elements p, q and s in a type with room for it. In the libraries,
 * signed differences that do not fit are undefined, so abs_diff has halves.
 */
#include "kernel.h"

#ifdef __AMDGCN__

/* What the device libraries ask: the version that their folder of processors has no file for. */
constant int __oclc_ISA_version = DEVICE_VERSION;
#define NUMBERS(T, V, UV) union { T e[16]; V v; UV u; }
#define PUT_IN(field, call, host)                     \
  do {                                                \
    r.field = call;                                   \
    for (uint k = 0; k < count; k++) *out++ = r.e[k]; \
  } while (0)
#define PUT_HALVES(V, call, host)                              \
  do {                                                         \
    union { ELEMENT e[32]; V v; } halves;                      \
    halves.v = call;                                           \
    for (uint k = 0; k < 2 * count; k++) *out++ = halves.e[k]; \
  } while (0)

#else

/* Exact for each function. */
typedef _BitInt(192) Wide;
#define NUMBERS(T, V, UV) struct { T e[16]; }
#define EACH(...)                                     \
  for (uint k = 0; k < count; k++) {                  \
    const ELEMENT p = x.e[k], q = y.e[k], s = z.e[k]; \
    __VA_ARGS__;                                      \
  }
#define PUT_IN(field, call, host) EACH(*out++ = (host))
#define PUT_HALVES(V, call, host) EACH(*out++ = (host); *out++ = (host) >> BITS)
#define BITS (int)(sizeof(ELEMENT) * 8)
#define LEAST ((ELEMENT)-1 < 0 ? (Wide)-1 << BITS - 1 : 0)
#define GREATEST ((ELEMENT)~LEAST)
#define LESSER(p, q) ((p) < (q) ? (p) : (q))
#define GREATER(p, q) ((p) > (q) ? (p) : (q))
#define DISTANCE(p, q) ((p) > (q) ? (Wide)(p) - (q) : (Wide)(q) - (p))
#define LIMITED(number) LESSER(GREATER(number, LEAST), (Wide)GREATEST)

#endif

#define PUT(call, host) PUT_IN(v, call, host)
#define PUT_UNSIGNED(call, host) PUT_IN(u, call, host)

#define FUNCTIONS(T, UT, V, UV, COUNT)                                                              \
  kernel void functions_##V(global T *out, global const T *a, global const T *b, uint n) {          \
    typedef T ELEMENT;                                                                              \
    const uint i = global_x(), count = COUNT;                                                       \
    if (i >= n) return;                                                                             \
    NUMBERS(T, V, UV) x, y, z, r;                                                                   \
    for (uint k = 0; k < count; k++) {                                                              \
      x.e[k] = a[i * count + k];                                                                    \
      y.e[k] = b[i * count + k];                                                                    \
      z.e[k] = a[(n - i) * count - k - 1];                                                          \
    }                                                                                               \
    out += i * count * 18;                                                                          \
    PUT_UNSIGNED(abs(x.v), p < 0 ? -p : p);                                                         \
    PUT_UNSIGNED(abs_diff(x.v >> 1, y.v >> 1), DISTANCE(p >> 1, q >> 1));                           \
    PUT(add_sat(x.v, y.v), LIMITED((Wide)p + q));                                                   \
    PUT(sub_sat(x.v, y.v), LIMITED((Wide)p - q));                                                   \
    PUT(hadd(x.v, y.v), ((Wide)p + q) >> 1);                                                        \
    PUT(rhadd(x.v, y.v), ((Wide)p + q + 1) >> 1);                                                   \
    PUT(clamp(x.v, min(y.v, z.v), max(y.v, z.v)), LESSER(GREATER(p, LESSER(q, s)), GREATER(q, s))); \
    PUT(min(x.v, y.v), LESSER(p, q));                                                               \
    PUT(max(x.v, y.v), GREATER(p, q));                                                              \
    PUT(clz(x.v), __builtin_clzg((UT)p, BITS));                                                     \
    PUT(ctz(x.v), __builtin_ctzg((UT)p, BITS));                                                     \
    PUT(popcount(x.v), __builtin_popcountg((UT)p));                                                 \
    PUT(mul_hi(x.v, y.v), ((Wide)p * q) >> BITS);                                                   \
    PUT(mad_hi(x.v, y.v, z.v), (((Wide)p * q) >> BITS) + s);                                        \
    PUT(mad_sat(x.v, y.v, z.v), LIMITED((Wide)p * q + s));                                          \
    PUT(rotate(x.v, y.v), (UT)p << (q & BITS - 1) | (UT)p >> (-q & BITS - 1));                      \
    PUT(bitselect(x.v, y.v, z.v), (p & ~s) | (q & s));                                              \
    PUT(select(x.v, y.v, z.v), (COUNT == 1 ? s != 0 : s >> BITS - 1 & 1) ? q : p);                  \
  }

#define UPSAMPLE(T, UT, V, UV, WIDER, COUNT)                                              \
  kernel void upsample_##V(global T *out, global const T *a, global const T *b, uint n) { \
    typedef T ELEMENT;                                                                    \
    const uint i = global_x(), count = COUNT;                                             \
    if (i >= n) return;                                                                   \
    NUMBERS(T, V, UV) x, y, z = {0};                                                      \
    for (uint k = 0; k < count; k++) {                                                    \
      x.e[k] = a[i * count + k];                                                          \
      y.e[k] = b[i * count + k];                                                          \
    }                                                                                     \
    out += i * count * 2;                                                                 \
    PUT_HALVES(WIDER, upsample(x.v, y.u), (Wide)p << BITS | (UT)q);                       \
  }

/* Of numbers that fit in 24 bits. */
#define PRODUCTS(T, V, COUNT, NARROWED)                                                   \
  kernel void products_##V(global T *out, global const T *a, global const T *b, uint n) { \
    typedef T ELEMENT;                                                                    \
    const uint i = global_x(), count = COUNT;                                             \
    if (i >= n) return;                                                                   \
    NUMBERS(T, V, V) x, y, z, r;                                                          \
    for (uint k = 0; k < count; k++) {                                                    \
      x.e[k] = NARROWED(a[i * count + k]);                                                \
      y.e[k] = NARROWED(b[i * count + k]);                                                \
      z.e[k] = a[(n - i) * count - k - 1];                                                \
    }                                                                                     \
    out += i * count * 2;                                                                 \
    PUT(mul24(x.v, y.v), p * q);                                                          \
    PUT(mad24(x.v, y.v, z.v), p * q + s);                                                 \
  }

#define SIZES_OF(T, UT)            \
  FUNCTIONS(T, UT, T, UT, 1)       \
  FUNCTIONS(T, UT, T##2, UT##2, 2) \
  FUNCTIONS(T, UT, T##3, UT##3, 3) \
  FUNCTIONS(T, UT, T##4, UT##4, 4) \
  FUNCTIONS(T, UT, T##8, UT##8, 8) \
  FUNCTIONS(T, UT, T##16, UT##16, 16)
SIZES_OF(char, uchar)
SIZES_OF(uchar, uchar)
SIZES_OF(short, ushort)
SIZES_OF(ushort, ushort)
SIZES_OF(int, uint)
SIZES_OF(uint, uint)
SIZES_OF(long, ulong)
SIZES_OF(ulong, ulong)

#define UPSAMPLES_OF(T, UT, WIDER)          \
  UPSAMPLE(T, UT, T, UT, WIDER, 1)          \
  UPSAMPLE(T, UT, T##3, UT##3, WIDER##3, 3) \
  UPSAMPLE(T, UT, T##16, UT##16, WIDER##16, 16)
UPSAMPLES_OF(char, uchar, short)
UPSAMPLES_OF(uchar, uchar, ushort)
UPSAMPLES_OF(short, ushort, int)
UPSAMPLES_OF(ushort, ushort, uint)
UPSAMPLES_OF(int, uint, long)
UPSAMPLES_OF(uint, uint, ulong)

#define SIGNED_24(x) ((int)((uint)(x) << 8) >> 8)
#define UNSIGNED_24(x) ((x) & 0xFFFFFF)
PRODUCTS(int, int, 1, SIGNED_24)
PRODUCTS(int, int4, 4, SIGNED_24)
PRODUCTS(uint, uint, 1, UNSIGNED_24)
PRODUCTS(uint, uint8, 8, UNSIGNED_24)
