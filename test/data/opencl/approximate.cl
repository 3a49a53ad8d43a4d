/*
 * Functions that hardware approximates. The results may differ from the host's in the last places; what is near zero is shifted
 * away from it.
 */
#include "kernel.h"

#ifdef __AMDGCN__
#define NATIVE_RCP __builtin_amdgcn_rcpf
#define NATIVE_RSQ __builtin_amdgcn_rsqf
#define NATIVE_SQRT __builtin_amdgcn_sqrtf
#define NATIVE_EXP2 __builtin_amdgcn_exp2f
#define NATIVE_LOG2 __builtin_amdgcn_logf
/* Of turns. */
#define NATIVE_SIN __builtin_amdgcn_sinf
#define NATIVE_COS __builtin_amdgcn_cosf
#else
#define NATIVE_RCP(x) (float)(1 / (double)(x))
#define NATIVE_RSQ(x) (float)(1 / __builtin_sqrt(x))
#define NATIVE_SQRT __builtin_sqrtf
#define NATIVE_EXP2 __builtin_exp2f
#define NATIVE_LOG2 __builtin_log2f
#define NATIVE_SIN(x) (float)__builtin_sin((x) * 6.283185307179586)
#define NATIVE_COS(x) (float)__builtin_cos((x) * 6.283185307179586)
#define __builtin_sinf16(x) (half) __builtin_sinf(x)
#define __builtin_cosf16(x) (half) __builtin_cosf(x)
#define __builtin_exp2f16(x) (half) __builtin_exp2f(x)
#define __builtin_log2f16(x) (half) __builtin_log2f(x)
#define __builtin_expf16(x) (half) __builtin_expf(x)
#define __builtin_logf16(x) (half) __builtin_logf(x)
#define __builtin_log10f16(x) (half) __builtin_log10f(x)
#endif

#define PUT(value) *out++ = value

kernel void approximate_f32(global float *out, global const float *a, global const float *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  float x = a[i], y = b[i];
  out += i * 20;
  PUT(x / y);
  PUT(1 / x);
  PUT(-1 / y);
  PUT(__builtin_sqrtf(x));
  PUT(1 / __builtin_sqrtf(y));
  PUT(x / 7);
  PUT(__builtin_exp2f(x));
  PUT(__builtin_exp2f(-y));
  PUT(__builtin_expf(x));
  PUT(__builtin_log2f(x * 0x1p20f));
  PUT(__builtin_logf(x + 2));
  PUT(__builtin_log10f(y + 2));
  PUT(__builtin_sinf(x) + 4);
  PUT(__builtin_cosf(y) + 4);
  PUT(NATIVE_RCP(x));
  PUT(NATIVE_RSQ(y));
  PUT(NATIVE_SQRT(x));
  PUT(NATIVE_EXP2(y));
  PUT(NATIVE_LOG2(x + 2));
  PUT(NATIVE_SIN(x) + 4 + NATIVE_COS(y));
}

kernel void approximate_f16(global half *out, global const half *a, global const half *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  half x = a[i], y = b[i];
  out += i * 12;
  PUT(x / y);
  PUT(1 / x);
  PUT(__builtin_sqrtf16(x));
  PUT((half)(1 / __builtin_sqrtf16(y)));
  PUT(__builtin_exp2f16(x * (half)0.5));
  PUT(__builtin_expf16(y * (half)0.25));
  PUT(__builtin_log2f16(x + 3));
  PUT(__builtin_logf16(x + 3));
  PUT(__builtin_log10f16(y + 3));
  PUT(__builtin_sinf16(x) + 4);
  PUT(__builtin_cosf16(y) + 4);
  PUT(x);
}

kernel void approximate_f64(global double *out, global const double *a, global const double *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  double x = a[i], y = b[i];
  out += i * 5;
  PUT(x / y);
  PUT(1 / x);
  PUT(__builtin_sqrt(y));
  PUT(1 / __builtin_sqrt(x));
  PUT(x * y + x);
}
