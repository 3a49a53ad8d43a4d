/* OpenCL's mathematical functions in long double, for what math.cl is compared with; those that are exact in their own type. */
#ifndef HOST_MATH_H
#define HOST_MATH_H

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
#define host_mad(x, y, z) ((x) * (y) + (z))
#define A(PREFIX, name) host_##name
#define UNIT_half 1
#define UNIT_native 1
#define host_recip(x) (1.0L / (x))
#define host_divide(x, y) ((REAL)(x) / (y))
#define LENGTH(T, x, y, z) sqrtl((REAL)(x) * (x) + (REAL)(y) * (y) + (REAL)(z) * (z))
#define DIFFERING(T, name) 0
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
