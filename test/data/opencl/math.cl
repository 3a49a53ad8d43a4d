/*
 * OpenCL's built-in functions, which AMD's device libraries implement. Results may be as far from the exact ones as OpenCL permits
 * (OpenCL C 3.0, table "ULP values"); the host's are of long double, rounded once. The float tgamma of the libraries misses its 16
 * ulps below 0, where it multiplies three results: 24 ulps at -14.5932.
 */
#include "kernel.h"

#ifdef __AMDGCN__

#define M(name) name
/* What the device libraries ask: the version that their folder of processors has no file for. */
constant int __oclc_ISA_version = DEVICE_VERSION;

#else

#include <math.h>

#define M(name) host_##name
#define REAL long double
#define ONE(name) static REAL host_##name(REAL x) { return __builtin_##name##l(x); }
#define TWO(name) static REAL host_##name(REAL x, REAL y) { return __builtin_##name##l(x, y); }
ONE(ceil) ONE(floor) ONE(trunc) ONE(rint) ONE(round) ONE(fabs) ONE(logb)
ONE(cbrt) ONE(log1p) ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(exp10)
ONE(acos) ONE(acosh) ONE(asin) ONE(asinh) ONE(cos) ONE(cosh) ONE(sin) ONE(sinh)
ONE(atan) ONE(atanh) ONE(tan) ONE(tanh) ONE(erf) ONE(erfc) ONE(tgamma)
TWO(fmod) TWO(remainder) TWO(fmax) TWO(fmin) TWO(fdim) TWO(copysign) TWO(hypot) TWO(atan2) TWO(pow)

#define PI 3.14159265358979323846264338327950288L
static REAL host_rsqrt(REAL x) { return 1 / sqrtl(x); }
/* Exact up to the last step. */
static REAL host_sinpi(REAL x) {
  REAL rest = remainderl(x, 2);
  if (rest > 0.5L) rest = 1 - rest;
  if (rest < -0.5L) rest = -1 - rest;
  return sinl(PI * rest);
}
static REAL host_cospi(REAL x) { return sinl(PI * (0.5L - fabsl(remainderl(x, 2)))); }
static REAL host_tanpi(REAL x) { return host_sinpi(x) / host_cospi(x); }
static REAL host_acospi(REAL x) { return acosl(x) / PI; }
static REAL host_asinpi(REAL x) { return asinl(x) / PI; }
static REAL host_atanpi(REAL x) { return atanl(x) / PI; }
static REAL host_atan2pi(REAL y, REAL x) { return atan2l(y, x) / PI; }
#define host_powr host_pow
static REAL host_pown(REAL x, int n) { return powl(x, n); }
static REAL host_rootn(REAL x, int n) {
  if (n == 0 || (x < 0 && n % 2 == 0)) return NAN;
  return n % 2 == 0 ? powl(fabsl(x), 1.0L / n) : copysignl(powl(fabsl(x), 1.0L / n), x);
}
static REAL host_maxmag(REAL x, REAL y) { return fabsl(x) > fabsl(y) ? x : fabsl(y) > fabsl(x) ? y : fmaxl(x, y); }
static REAL host_minmag(REAL x, REAL y) { return fabsl(x) < fabsl(y) ? x : fabsl(y) < fabsl(x) ? y : fminl(x, y); }
static REAL host_ldexp(REAL x, int n) { return ldexpl(x, n); }
static int host_ilogb(REAL x) { return ilogbl(x); }
static REAL host_frexp(REAL x, int *exponent) { return frexpl(x, exponent); }
static REAL host_sign(REAL x) { return x != x ? 0 : x > 0 ? 1 : x < 0 ? -1 : x; }
static REAL host_clamp(REAL x, REAL low, REAL high) { return fminl(fmaxl(x, low), high); }
static REAL host_step(REAL edge, REAL x) { return x < edge ? 0 : 1; }
#define TYPED(x, f, d) _Generic(x, float: f, double: d)
#define host_fma(x, y, z) TYPED(x, fmaf, fma)(x, y, z)
#define host_sqrt(x) TYPED(x, sqrtf, sqrt)(x)
#define host_nextafter(x, y) TYPED(x, nextafterf, nextafter)(x, y)
#define host_modf(x, whole) TYPED(x, modff, modf)(x, whole)
static float host_fract_float(float x, float *whole) {
  *whole = floorf(x);
  return isinf(x) ? copysignf(0, x) : x != x || x == 0 ? x : fminf(x - *whole, 0x1.FFFFFEp-1f);
}
static double host_fract_double(double x, double *whole) {
  *whole = floor(x);
  return isinf(x) ? copysign(0, x) : x != x || x == 0 ? x : fmin(x - *whole, 0x1.FFFFFFFFFFFFFp-1);
}
#define host_fract(x, whole) TYPED(x, host_fract_float, host_fract_double)(x, whole)
#define host_sincos(x, cosine) (*(cosine) = cosl(x), sinl(x))
#define host_remquo(x, y, quotient) remquol(x, y, quotient)
#define host_lgamma(x) lgammal(x)
#define host_lgamma_r(x, sign) lgammal_r(x, sign)
#define host_degrees(x) ((x) * (180 / PI))
#define host_radians(x) ((x) * (PI / 180))
#define host_nan(payload) NAN
#define host_isequal(x, y) ((x) == (y))
#define host_isnotequal(x, y) ((x) != (y))
#define host_isordered(x, y) (!isunordered(x, y))
#define host_isgreater(x, y) isgreater(x, y)
#define host_isgreaterequal(x, y) isgreaterequal(x, y)
#define host_isless(x, y) isless(x, y)
#define host_islessequal(x, y) islessequal(x, y)
#define host_islessgreater(x, y) islessgreater(x, y)
#define host_isunordered(x, y) isunordered(x, y)
#define host_isfinite(x) isfinite(x)
#define host_isinf(x) (isinf(x) != 0)
#define host_isnan(x) isnan(x)
#define host_isnormal(x) isnormal(x)
#define host_signbit(x) (signbit(x) != 0)

#endif

#define PUT(value) *out++ = (value)

#define FUNCTIONS(T)                                                                               \
  KERNEL(exact, T, 28,                                                                             \
         PUT(M(ceil)(x)); PUT(M(floor)(x)); PUT(M(trunc)(x)); PUT(M(rint)(x)); PUT(M(round)(x));    \
         PUT(M(fabs)(x)); PUT(M(logb)(x)); PUT(M(sqrt)(x)); PUT(M(fmod)(x, y)); PUT(M(remainder)(x, y)); \
         PUT(M(fmax)(x, y) + 0); PUT(M(fmin)(x, y) + 0); PUT(M(fdim)(x, y)); PUT(M(copysign)(x, y));  \
         PUT(M(fma)(x, y, z)); PUT(M(nextafter)(x, y) + 0); PUT(M(maxmag)(x, y) + 0); PUT(M(minmag)(x, y) + 0); \
         T whole; PUT(M(modf)(x, &whole)); PUT(whole); PUT(M(fract)(x, &whole) + 0); PUT(whole);     \
         PUT(M(ldexp)(x, (int)(i % 300) - 150)); PUT(x == x ? M(sign)(x) : 0);                                 \
         PUT(x != 0 && x - x == 0 ? M(ilogb)(x) : 0);                                              \
         int exponent = 0; PUT(M(frexp)(x, &exponent)); PUT(x - x == 0 ? exponent : 0);             \
         PUT(M(step)(y, x)))                                                                       \
  KERNEL(within_2, T, 3, PUT(M(cbrt)(x)); PUT(M(log1p)(x)); PUT(M(rsqrt)(x)))                       \
  KERNEL(within_3, T, 7,                                                                           \
         PUT(M(exp)(x)); PUT(M(exp2)(x)); PUT(M(exp10)(x)); PUT(M(expm1)(x)); PUT(M(log)(x));        \
         PUT(M(log2)(x)); PUT(M(log10)(x)))                                                        \
  KERNEL(within_4, T, 11,                                                                          \
         PUT(M(acos)(x)); PUT(M(acosh)(x)); PUT(M(asin)(x)); PUT(M(asinh)(x)); PUT(M(cos)(x));       \
         PUT(M(cosh)(x)); PUT(M(cospi)(x)); PUT(M(sin)(x)); PUT(M(sinh)(x)); PUT(M(sinpi)(x));       \
         PUT(M(hypot)(x, y)))                                                                      \
  KERNEL(within_5, T, 7,                                                                           \
         PUT(M(acospi)(x)); PUT(M(asinpi)(x)); PUT(M(atan)(x)); PUT(M(atanh)(x)); PUT(M(atanpi)(x)); \
         PUT(M(tan)(x)); PUT(M(tanh)(x)))                                                          \
  KERNEL(within_6, T, 3, PUT(M(atan2)(x, y)); PUT(M(atan2pi)(x, y)); PUT(M(tanpi)(x)))              \
  KERNEL(within_16, T, 7,                                                                          \
         PUT(M(erf)(x)); PUT(M(erfc)(x)); PUT(x > 0 ? M(tgamma)(x) : 0); PUT(M(pow)(x, y));                     \
         PUT(x > 0 && x - x == 0 && y - y == 0 ? M(powr)(x, y) : 0);                               \
         PUT(M(pown)(x, (int)(i % 41) - 20)); PUT(M(rootn)(x, (int)(i % 13) - 6)))

/* Relations, results that are stored through a pointer, and functions of a mantissa and a sign. */
#define MORE_FUNCTIONS(T, BITS)                                                                    \
  KERNEL(more_exact, T, 5,                                                                         \
         PUT(M(isequal)(x, y) | M(isnotequal)(x, y) << 1 | M(isgreater)(x, y) << 2 | M(isgreaterequal)(x, y) << 3 | \
             M(isless)(x, y) << 4 | M(islessequal)(x, y) << 5 | M(islessgreater)(x, y) << 6 | M(isordered)(x, y) << 7 | \
             M(isunordered)(x, y) << 8 | M(isfinite)(x) << 9 | M(isinf)(x) << 10 | M(isnan)(x) << 11 | \
             M(isnormal)(x) << 12 | (x == x ? M(signbit)(x) << 13 : 0));                           \
         int quotient = 0; PUT(M(remquo)(x, y, &quotient)); /* At least 3 bits and the sign. */       \
         PUT(x - x == 0 && y == y && y != 0 ? quotient % 8 : 0); PUT(M(nan)((BITS)i));               \
         int sign = 0; T gamma = M(lgamma_r)(x, &sign); PUT(x - x == 0 && (x > 0 || x != M(floor)(x)) ? sign : 0)) \
  KERNEL(more_within_2, T, 2, PUT(M(degrees)(x)); PUT(M(radians)(x)))                              \
  KERNEL(more_within_4, T, 2, T cosine = 0; PUT(M(sincos)(x, &cosine)); PUT(cosine))               \
  KERNEL(gamma, T, 2, PUT(M(lgamma)(x > 0 ? x : 1)); int sign = 0; PUT(M(lgamma_r)(x > 0 ? x : 1, &sign)))

#define KERNEL(NAME, T, COUNT, ...)                                                            \
  kernel void NAME##_##T(global T *out, global const T *a, global const T *b, uint n) {         \
    uint i = global_x();                                                                       \
    if (i >= n) return;                                                                        \
    T x = a[i], y = b[i], z = a[n - 1 - i];                                                    \
    out += i * COUNT;                                                                          \
    __VA_ARGS__;                                                                               \
  }
FUNCTIONS(float)
FUNCTIONS(double)
MORE_FUNCTIONS(float, uint)
MORE_FUNCTIONS(double, ulong)
