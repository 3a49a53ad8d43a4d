/* A flag of the compiler says that f32 denormals count as zero; f64 and f16 keep theirs. */
#include "kernel.h"

#ifdef __AMDGCN__
#define FLUSH()
#else
/* Flush to zero and denormals are zero, in MXCSR. */
#define FLUSH() __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040)
#endif

#define PUT(value) *out++ = bits_float(value)

kernel void flush(global uint *out, global const float *a, global const float *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  FLUSH();
  float x = a[i], y = b[i], z = a[n - 1 - i];
  out += i * 12;
  PUT(x + y);
  PUT(x - y);
  PUT(x * y);
  PUT(x * y + z);
  PUT(x / y);
  PUT(1 / x);
  PUT(__builtin_sqrtf(x));
  PUT(x * 0.5f);
  PUT(x * 2 - y);
  PUT((float)(half)y);
  *out++ = (x < y) | (x == 0) << 1 | (y > 0) << 2;
  *out++ = bits_double((double)x + y) >> 32;
}
