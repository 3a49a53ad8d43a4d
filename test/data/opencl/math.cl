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
#define LENGTH(T, x, y, z) length((T##3)(x, y, z))
/* How many elements of a vector's result are not those of the elements. */
#define DIFFERING(T, name) differing(name((T##4)(x, y, z, 0.7f)), (T##4)(name(x), name(y), name(z), name((T)0.7f)))
#define DIFFERING_OF(T)                                                                  \
  static int __attribute__((overloadable)) differing(T##4 a, T##4 b) {                   \
    int count = 0;                                                                       \
    for (int k = 0; k < 4; k++) count += a[k] != b[k] && (a[k] == a[k] || b[k] == b[k]); \
    return count;                                                                        \
  }
DIFFERING_OF(float)
DIFFERING_OF(double)
#define A(PREFIX, name) PREFIX##_##name
/* The libraries' native_tan divides its argument by 2 pi twice. */
#define UNIT_half 1
#define UNIT_native 6.2831853f

#else
#include "host-math.h"
#endif

#define PUT(value) *out++ = (value)

#define FUNCTIONS(T)                                                                                            \
  KERNEL(exact, T, 28,                                                                                          \
         PUT(M(ceil)(x)); PUT(M(floor)(x)); PUT(M(trunc)(x)); PUT(M(rint)(x)); PUT(M(round)(x));                \
         PUT(M(fabs)(x)); PUT(M(logb)(x)); PUT(M(sqrt)(x)); PUT(M(fmod)(x, y)); PUT(M(remainder)(x, y));        \
         PUT(M(fmax)(x, y) + 0); PUT(M(fmin)(x, y) + 0); PUT(M(fdim)(x, y)); PUT(M(copysign)(x, y));            \
         PUT(M(fma)(x, y, z)); PUT(M(nextafter)(x, y) + 0); PUT(M(maxmag)(x, y) + 0); PUT(M(minmag)(x, y) + 0); \
         T whole; PUT(M(modf)(x, &whole)); PUT(whole); PUT(M(fract)(x, &whole) + 0); PUT(whole);                \
         PUT(M(ldexp)(x, (int)(i % 300) - 150)); PUT(x == x ? M(sign)(x) : 0);                                  \
         PUT(x != 0 && x - x == 0 ? M(ilogb)(x) : 0);                                                           \
         int exponent = 0; PUT(M(frexp)(x, &exponent)); PUT(x - x == 0 ? exponent : 0);                         \
         PUT(M(step)(y, x)))                                                                                    \
  KERNEL(within_2, T, 3, PUT(M(cbrt)(x)); PUT(M(log1p)(x)); PUT(M(rsqrt)(x)))                                   \
  KERNEL(within_3, T, 7,                                                                                        \
         PUT(M(exp)(x)); PUT(M(exp2)(x)); PUT(M(exp10)(x)); PUT(M(expm1)(x)); PUT(M(log)(x));                   \
         PUT(M(log2)(x)); PUT(M(log10)(x)))                                                                     \
  KERNEL(within_4, T, 11,                                                                                       \
         PUT(M(acos)(x)); PUT(M(acosh)(x)); PUT(M(asin)(x)); PUT(M(asinh)(x)); PUT(M(cos)(x));                  \
         PUT(M(cosh)(x)); PUT(M(cospi)(x)); PUT(M(sin)(x)); PUT(M(sinh)(x)); PUT(M(sinpi)(x));                  \
         PUT(M(hypot)(x, y)))                                                                                   \
  KERNEL(within_5, T, 7,                                                                                        \
         PUT(M(acospi)(x)); PUT(M(asinpi)(x)); PUT(M(atan)(x)); PUT(M(atanh)(x)); PUT(M(atanpi)(x));            \
         PUT(M(tan)(x)); PUT(M(tanh)(x)))                                                                       \
  KERNEL(within_6, T, 3, PUT(M(atan2)(x, y)); PUT(M(atan2pi)(x, y)); PUT(M(tanpi)(x)))                          \
  KERNEL(within_16, T, 7,                                                                                       \
         PUT(M(erf)(x)); PUT(M(erfc)(x)); PUT(x > 0 ? M(tgamma)(x) : 0); PUT(M(pow)(x, y));                     \
         PUT(x > 0 && x - x == 0 && y - y == 0 ? M(powr)(x, y) : 0);                                            \
         PUT(M(pown)(x, (int)(i % 41) - 20)); PUT(M(rootn)(x, (int)(i % 13) - 6)))

/* Relations, results that are stored through a pointer, and functions of a mantissa and a sign. */
#define MORE_FUNCTIONS(T, BITS)                                                                                         \
  KERNEL(more_exact, T, 6,                                                                                              \
         PUT(M(isequal)(x, y) | M(isnotequal)(x, y) << 1 | M(isgreater)(x, y) << 2 | M(isgreaterequal)(x, y) << 3 |     \
             M(isless)(x, y) << 4 | M(islessequal)(x, y) << 5 | M(islessgreater)(x, y) << 6 | M(isordered)(x, y) << 7 | \
             M(isunordered)(x, y) << 8 | M(isfinite)(x) << 9 | M(isinf)(x) << 10 | M(isnan)(x) << 11 |                  \
             M(isnormal)(x) << 12 | (x == x ? M(signbit)(x) << 13 : 0));                                                \
         int quotient = 0; PUT(M(remquo)(x, y, &quotient)); /* At least 3 bits and the sign. */                         \
         PUT(x - x == 0 && y == y && y != 0 ? quotient % 8 : 0); PUT(M(nan)((BITS)i));                                  \
         PUT(x == x ? M(clamp)(x, (T)-1, (T)2) : 0);                                                                    \
         int sign = 0; T gamma = M(lgamma_r)(x, &sign); PUT(x - x == 0 && (x > 0 || x != M(floor)(x)) ? sign : 0))      \
  KERNEL(more_within_2, T, 2, PUT(M(degrees)(x)); PUT(M(radians)(x)))                                                   \
  KERNEL(more_within_4, T, 2, T cosine = 0; PUT(M(sincos)(x, &cosine)); PUT(cosine))                                    \
  KERNEL(gamma, T, 2, PUT(M(lgamma)(x > 0 ? x : 1)); int sign = 0; PUT(M(lgamma_r)(x > 0 ? x : 1, &sign)))              \
  KERNEL(negative_gamma, T, 1, PUT(M(tgamma)(x < 0 ? x : -0.5f)))                                                       \
  KERNEL(length, T, 1, PUT(LENGTH(T, x, y, z)))                                                                         \
  KERNEL(either, T, 1, T sum = M(mad)(x, y, z); PUT(sum == x * y + z || sum == M(fma)(x, y, z) || sum != sum))          \
  KERNEL(elements, T, 1,                                                                                                \
         PUT(DIFFERING(T, floor) + DIFFERING(T, rint) + DIFFERING(T, exp) + DIFFERING(T, log2) +                        \
             DIFFERING(T, cbrt) + DIFFERING(T, atan) + DIFFERING(T, rsqrt)))

/* Of numbers from 1/4 to 4, near no zero of sines. */
#define APPROXIMATIONS(PREFIX)                                                                                    \
  KERNEL(PREFIX##_approximations, float, 13,                                                                      \
         float some = M(fabs)(x) > 0.25f && M(fabs)(x) < 4 ? x : 1.5f, plus = M(fabs)(some), turn = some * 0.35f; \
         PUT(A(PREFIX, cos)(turn)); PUT(A(PREFIX, sin)(turn)); PUT(A(PREFIX, tan)(turn * UNIT_##PREFIX));         \
         PUT(A(PREFIX, exp)(some)); PUT(A(PREFIX, exp2)(some)); PUT(A(PREFIX, exp10)(some));                      \
         PUT(A(PREFIX, log)(plus)); PUT(A(PREFIX, log2)(plus)); PUT(A(PREFIX, log10)(plus));                      \
         PUT(A(PREFIX, powr)(plus, some)); PUT(A(PREFIX, recip)(some)); PUT(A(PREFIX, rsqrt)(plus));              \
         PUT(A(PREFIX, divide)(some, plus + 1)))

#define KERNEL(NAME, T, COUNT, ...)                                                     \
  kernel void NAME##_##T(global T *out, global const T *a, global const T *b, uint n) { \
    uint i = global_x();                                                                \
    if (i >= n) return;                                                                 \
    T x = a[i], y = b[i], z = a[n - 1 - i];                                             \
    out += i * COUNT;                                                                   \
    __VA_ARGS__;                                                                        \
  }
FUNCTIONS(float)
FUNCTIONS(double)
MORE_FUNCTIONS(float, uint)
MORE_FUNCTIONS(double, ulong)
APPROXIMATIONS(half)
APPROXIMATIONS(native)
