/*
 * What generated programs are made of: names of types, and operations that are defined for every operand. Compiled with -fwrapv and
 * -fno-strict-aliasing, so that signed arithmetic wraps and memory may be read as another type.
 */
#ifndef PRELUDE_H
#define PRELUDE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gpu.h"

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;

#define NOINLINE __attribute__((noinline))
#define PURE static inline __attribute__((unused))

/* One value after the other into a checksum. */
PURE u64 mix(u64 sum, u64 value) {
  sum = (sum ^ value) * 0x9E3779B97F4A7C15u;
  return sum ^ (sum >> 29);
}

/*
 * The same value, of which the compiler knows nothing: clang 19 takes an unsigned division for a short one when its operands are
 * sign-extended short numbers, and then loses the bits of negative ones.
 */
#if defined(__AMDGCN__)
#define REGISTER_32 "+v"
#define REGISTER_64 "+v"
#elif defined(__NVPTX__)
#define REGISTER_32 "+r"
#define REGISTER_64 "+l"
#else
#define REGISTER_32 "+r"
#define REGISTER_64 "+r"
#endif
PURE u32 opaque_u32(u32 a) { __asm__("" : REGISTER_32(a)); return a; }
PURE u64 opaque_u64(u64 a) { __asm__("" : REGISTER_64(a)); return a; }
#define VISIBLE(a) (a)

#define DIVISIONS(T, SEEN)                                                                                    \
  PURE T divide_##T(T a, T b) { return b == 0 ? a : b == (T)-1 && (T)-1 < 0 ? (T)-a : SEEN(a) / SEEN(b); }      \
  PURE T modulo_##T(T a, T b) { return b == 0 || (b == (T)-1 && (T)-1 < 0) ? a ^ b : SEEN(a) % SEEN(b); }
DIVISIONS(i8, VISIBLE)
DIVISIONS(u8, VISIBLE)
DIVISIONS(i16, VISIBLE)
DIVISIONS(u16, VISIBLE)
DIVISIONS(i32, VISIBLE)
DIVISIONS(u32, opaque_u32)
DIVISIONS(i64, VISIBLE)
DIVISIONS(u64, opaque_u64)

/* The wrapped result; the overflow in its lowest bit. */
#define OVERFLOWS(T)                                                                  \
  PURE T add_overflow_##T(T a, T b) { T r; return __builtin_add_overflow(a, b, &r) ^ r; } \
  PURE T sub_overflow_##T(T a, T b) { T r; return __builtin_sub_overflow(a, b, &r) ^ r; } \
  PURE T mul_overflow_##T(T a, T b) { T r; return __builtin_mul_overflow(a, b, &r) ^ r; } \
  PURE T add_saturated_##T(T a, T b) { return __builtin_elementwise_add_sat(a, b); }      \
  PURE T sub_saturated_##T(T a, T b) { return __builtin_elementwise_sub_sat(a, b); }      \
  PURE T minimum_##T(T a, T b) { return __builtin_elementwise_min(a, b); }                \
  PURE T maximum_##T(T a, T b) { return __builtin_elementwise_max(a, b); }
OVERFLOWS(i8)
OVERFLOWS(u8)
OVERFLOWS(i16)
OVERFLOWS(u16)
OVERFLOWS(i32)
OVERFLOWS(u32)
OVERFLOWS(i64)
OVERFLOWS(u64)

PURE u32 leading_zeros32(u32 a) { return a == 0 ? 32 : __builtin_clz(a); }
PURE u64 leading_zeros64(u64 a) { return a == 0 ? 64 : __builtin_clzll(a); }
PURE u32 trailing_zeros32(u32 a) { return a == 0 ? 32 : __builtin_ctz(a); }
PURE u64 trailing_zeros64(u64 a) { return a == 0 ? 64 : __builtin_ctzll(a); }
PURE u32 rotate32(u32 a, u32 by) { return __builtin_rotateleft32(a, by & 31); }
PURE u64 rotate64(u64 a, u64 by) { return __builtin_rotateleft64(a, by & 63); }
PURE u32 field32(u32 a, u32 at, u32 size) { return (a >> (at & 31)) & ((1u << (size & 31)) - 1); }
PURE u64 mul_high_u64(u64 a, u64 b) { return (u64)(((unsigned __int128)a * b) >> 64); }
PURE u64 mul_high_i64(u64 a, u64 b) { return (u64)(((__int128)(i64)a * (i64)b) >> 64); }
PURE u64 shift128(u64 a, u64 b, u64 by) { return (u64)((((unsigned __int128)a << 64) | b) >> (by & 127)); }
PURE u64 divide128(u64 a, u64 b, u64 c) { return (u64)((((unsigned __int128)opaque_u64(a) << 64) | opaque_u64(b)) / (opaque_u64(c) | 1)); }

/* All NaNs are one: their sign and payload depend on the machine. */
PURE u32 bits_f32(f32 a) {
  u32 bits;
  memcpy(&bits, &a, 4);
  return a != a ? 0x7FC00000u : bits;
}
PURE u64 bits_f64(f64 a) {
  u64 bits;
  memcpy(&bits, &a, 8);
  return a != a ? 0x7FF8000000000000u : bits;
}
PURE u16 bits_f16(f16 a) {
  u16 bits;
  memcpy(&bits, &a, 2);
  return a != a ? 0x7E00u : bits;
}

/* From any bits, but never infinite or NaN: one bit of the exponent is off. */
PURE f32 from_bits_f32(u32 bits) {
  f32 a;
  bits &= 0xDFFFFFFFu;
  memcpy(&a, &bits, 4);
  return a;
}
PURE f64 from_bits_f64(u64 bits) {
  f64 a;
  bits &= 0xDFFFFFFFFFFFFFFFu;
  memcpy(&a, &bits, 8);
  return a;
}
PURE f16 from_bits_f16(u16 bits) {
  f16 a;
  bits &= 0xDFFFu;
  memcpy(&a, &bits, 2);
  return a;
}

/* Conversions to integers where they are defined; every f16 fits into i32. */
#define TRUNCATIONS(F)                                                              \
  PURE i32 i32_from_##F(F a) { return a > -0x1p31 && a < 0x1p31 ? (i32)a : 0; }        \
  PURE u32 u32_from_##F(F a) { return a > -1 && a < 0x1p32 ? (u32)a : 0; }             \
  PURE i64 i64_from_##F(F a) { return a > -0x1p63 && a < 0x1p63 ? (i64)a : 0; }        \
  PURE u64 u64_from_##F(F a) { return a > -1 && a < 0x1p64 ? (u64)a : 0; }
TRUNCATIONS(f32)
TRUNCATIONS(f64)
PURE i32 i32_from_f16(f16 a) { return a > -0x1p15f16 && a < 0x1p15f16 ? (i32)a : 0; }

#define FLOATS(F, SUFFIX)                                                                                   \
  PURE F root_##F(F a) { return __builtin_sqrt##SUFFIX(a < 0 ? -a : a); }                                     \
  PURE F fused_##F(F a, F b, F c) { return __builtin_fma##SUFFIX(a, b, c); }                                  \
  PURE F magnitude_##F(F a) { return __builtin_fabs##SUFFIX(a); }                                             \
  PURE F sign_from_##F(F a, F b) { return __builtin_copysign##SUFFIX(a, b != b ? 1 : b); }                    \
  PURE F floor_##F(F a) { return __builtin_floor##SUFFIX(a); }                                                \
  PURE F ceil_##F(F a) { return __builtin_ceil##SUFFIX(a); }                                                  \
  PURE F trunc_##F(F a) { return __builtin_trunc##SUFFIX(a); }                                                \
  PURE F rint_##F(F a) { return __builtin_rint##SUFFIX(a); }                                                  \
  PURE F round_##F(F a) { return __builtin_round##SUFFIX(a); }                                                \
  PURE F smaller_##F(F a, F b) { return a < b ? a : b; }                                                      \
  PURE F larger_##F(F a, F b) { return a > b ? a : b; }                                                       \
  /* Which zero is the smaller one is open: the sum makes it positive. */                                    \
  PURE F minimum_##F(F a, F b) { return __builtin_fmin##SUFFIX(a, b) + 0; }                                   \
  PURE F maximum_##F(F a, F b) { return __builtin_fmax##SUFFIX(a, b) + 0; }
FLOATS(f32, f)
FLOATS(f64, )
PURE f16 smaller_f16(f16 a, f16 b) { return a < b ? a : b; }
PURE f16 larger_f16(f16 a, f16 b) { return a > b ? a : b; }

/* A format takes no NaN. */
PURE f64 printable(f64 a) { return a != a ? -1 : a; }

/* At most 128 bytes, between places that may overlap. */
PURE void copy_bytes(void *to, const void *from, u32 size) {
  u8 bytes[128];
  memcpy(bytes, from, size);
  memcpy(to, bytes, size);
}

#endif
