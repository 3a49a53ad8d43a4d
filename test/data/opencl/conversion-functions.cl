/* OpenCL's conversions with a direction of rounding and to the nearest number that fits, which AMD's device libraries implement. */
#include "kernel.h"

#ifdef __AMDGCN__

/* What the device libraries ask: the version that their folder of processors has no file for. */
constant int __oclc_ISA_version = DEVICE_VERSION;
#define TO_INTEGER(T, way, x) convert_##T##_sat_##way(x)
#define TO_FLOAT(T, way, x) convert_##T##_##way(x)
#define STORED_HALF(way, x) (vstore_half_##way(x, 0, &stored), as_ushort(stored))
#define LOADED_HALF(bits) (stored = as_half(bits), vload_half(0, &stored))

#else

#include <fenv.h>
#include <math.h>

#define LIMITS(T, LEAST, GREATEST)                                                                 \
  static T limited_##T(long double x) {                                                            \
    return x <= (long double)(LEAST) ? (LEAST) : x >= (long double)(GREATEST) ? (GREATEST) : (T)x; \
  }
LIMITS(char, -128, 127)
LIMITS(uchar, 0, 255)
LIMITS(short, -32768, 32767)
LIMITS(ushort, 0, 65535)
LIMITS(int, -2147483647 - 1, 2147483647)
LIMITS(uint, 0, 4294967295)
LIMITS(long, -9223372036854775807 - 1, 9223372036854775807)
LIMITS(ulong, 0, 18446744073709551615ul)
#define WAY_rte rintl
#define WAY_rtz truncl
#define WAY_rtp ceill
#define WAY_rtn floorl
#define TO_INTEGER(T, way, x) limited_##T(WAY_##way(x))

#define DIRECTION_rte FE_TONEAREST
#define DIRECTION_rtz FE_TOWARDZERO
#define DIRECTION_rtp FE_UPWARD
#define DIRECTION_rtn FE_DOWNWARD
/* The processor's 0 is -0 when it rounds down. */
#define TO_FLOAT(T, way, x)            \
  ({                                   \
    fesetround(DIRECTION_##way);       \
    volatile __typeof__(x) before = x; \
    volatile T after = (T)before;      \
    fesetround(FE_TONEAREST);          \
    before == 0 ? (T)before : after;   \
  })

static double half_value(ushort bits) {
  union { ushort bits; half value; } both = {bits};
  /* As if the exponents went on, for what is between the largest number and infinity. */
  return (bits & 0x7FFF) == 0x7C00 ? bits & 0x8000 ? -65536.0 : 65536.0 : (double)both.value;
}
static ushort half_towards(int way, double x) {
  if (x != x) return 0x7E00;
  ushort sign = signbit(x) ? 0x8000 : 0, low = 0;
  int away = sign ? FE_DOWNWARD : FE_UPWARD;
  double size = fabs(x);
  for (ushort step = 0x4000; step > 0; step /= 2)
    if ((low | step) <= 0x7C00 && half_value(low | step) <= size) low |= step;
  if (low == 0x7C00) return sign | (isinf(x) || way == FE_TONEAREST || way == away ? 0x7C00 : 0x7BFF);
  double below = size - half_value(low), above = half_value(low + 1) - size;
  if (way == FE_TONEAREST) return sign | (low + (below > above || (below == above && (low & 1))));
  return sign | (low + (way == away && below > 0));
}
#define STORED_HALF(way, x) half_towards(DIRECTION_##way, x)
#define LOADED_HALF(bits) half_value(bits)

#endif

#define PUT(value) *out++ = (value)
#define EACH_WAY(PUT_ONE, T) PUT_ONE(T, rte) PUT_ONE(T, rtz) PUT_ONE(T, rtp) PUT_ONE(T, rtn)
/* NaN is 0 if OpenCL's recommendation is followed, which the libraries do not for all types. */
#define PUT_INTEGER(T, way) PUT(x == x ? (ulong)TO_INTEGER(T, way, x) : 0);
#define PUT_FLOAT(T, way) PUT(bits_##T(TO_FLOAT(T, way, x)));
#define PUT_HALF(T, way) half_bits = STORED_HALF(way, x); PUT((half_bits & 0x7FFF) > 0x7C00 ? 0x7E00 : half_bits);

#define KERNEL(F, COUNT, ...)                                          \
  kernel void from_##F(global ulong *out, global const F *a, uint n) { \
    if (global_x() >= n) return;                                       \
    F x = a[global_x()];                                               \
    out += global_x() * COUNT;                                         \
    __VA_ARGS__                                                        \
  }
#define INTEGERS                                                                                                      \
  EACH_WAY(PUT_INTEGER, char) EACH_WAY(PUT_INTEGER, uchar) EACH_WAY(PUT_INTEGER, short) EACH_WAY(PUT_INTEGER, ushort) \
  EACH_WAY(PUT_INTEGER, int) EACH_WAY(PUT_INTEGER, uint) EACH_WAY(PUT_INTEGER, long) EACH_WAY(PUT_INTEGER, ulong)
KERNEL(float, 36, half stored; ushort half_bits; INTEGERS EACH_WAY(PUT_HALF, half))
KERNEL(double, 40, half stored; ushort half_bits; INTEGERS EACH_WAY(PUT_HALF, half) EACH_WAY(PUT_FLOAT, float))
KERNEL(int, 4, EACH_WAY(PUT_FLOAT, float))
KERNEL(uint, 4, EACH_WAY(PUT_FLOAT, float))
KERNEL(long, 8, EACH_WAY(PUT_FLOAT, float) EACH_WAY(PUT_FLOAT, double))
KERNEL(ulong, 8, EACH_WAY(PUT_FLOAT, float) EACH_WAY(PUT_FLOAT, double))
KERNEL(ushort, 1, half stored; float loaded = LOADED_HALF(x); PUT((x & 0x7FFF) < 0x7C00 ? bits_float(loaded) : 0);)
