/*
 * Products of square matrices of any size by the matrix instructions of RDNA3 (ISA 7.9): a wave has a tile of 16 by 16. Numbers are
 * so small that all sums are exact, and this machine has plain sums.
 */
#include "kernel.h"

#ifdef __AMDGCN__

#if WAVE == 32
#define BUILTIN(name) __builtin_amdgcn_wmma_##name##_w32
#define RESULTS(T) T##8
#define HALF_RESULTS(T) T##16
#else
#define BUILTIN(name) __builtin_amdgcn_wmma_##name##_w64
#define RESULTS(T) T##4
#define HALF_RESULTS(T) T##8
#endif

#define NO_PACKING(elements) elements.v
/* 4 bits of each byte. */
static int2 packed(const char *elements) {
  int2 words = 0;
  for (uint k = 0; k < 16; k++) words[k / 8] |= (elements[k] & 15) << k % 8 * 4;
  return words;
}
#define PACKING(elements) packed(elements.e)

/* Each lane has a row of A and a column of B, and every WAVE/16-th row of a column of the result. */
#define PRODUCT(NAME, LEFT, FRAGMENT, RIGHT, PACKED, T, SUMS, STEP, VALUE, CALL)       \
  kernel void NAME(global T *d, global const LEFT *a, global const RIGHT *b, uint n) { \
    uint tiles = (n + 15) / 16, tile = global_x() / WAVE, self = lane() % 16;          \
    uint top = tile / tiles * 16, column = tile % tiles * 16 + self, row = top + self; \
    if (tile >= tiles * tiles) return;                                                 \
    SUMS c = 0;                                                                        \
    for (uint k = 0; k < n; k += 16) {                                                 \
      union { LEFT e[16]; FRAGMENT v; } left;                                          \
      union { RIGHT e[16]; FRAGMENT v; } right;                                        \
      for (uint j = 0; j < 16; j++) {                                                  \
        left.e[j] = row < n && k + j < n ? a[row * n + k + j] : (LEFT)0;               \
        right.e[j] = column < n && k + j < n ? b[(k + j) * n + column] : (RIGHT)0;     \
      }                                                                                \
      c = CALL(PACKED(left), PACKED(right), c);                                        \
    }                                                                                  \
    for (uint r = 0; r < 256 / WAVE; r++) {                                            \
      uint at = top + r * (WAVE / 16) + lane() / 16;                                   \
      if (at < n && column < n) d[at * n + column] = c[r * STEP + STEP - 1];           \
    }                                                                                  \
  }

#define F32_F16(a, b, c) BUILTIN(f32_16x16x16_f16)(a, b, c)
#define F32_BF16(a, b, c) BUILTIN(f32_16x16x16_bf16)(a, b, c)
/* Results in the high halves of registers. */
#define F16(a, b, c) BUILTIN(f16_16x16x16_f16)(a, b, c, true)
#define BF16(a, b, c) BUILTIN(bf16_16x16x16_bf16)(a, b, c, true)
#define SIGNED_8(a, b, c) BUILTIN(i32_16x16x16_iu8)(true, a, true, b, c, false)
#define MIXED_8(a, b, c) BUILTIN(i32_16x16x16_iu8)(true, a, false, b, c, false)
#define SIGNED_4(a, b, c) BUILTIN(i32_16x16x16_iu4)(true, a, true, b, c, false)

#else

#define PRODUCT(NAME, LEFT, FRAGMENT, RIGHT, PACKED, T, SUMS, STEP, VALUE, CALL)             \
  kernel void NAME(T *d, const LEFT *a, const RIGHT *b, uint n) {                            \
    for (uint i = global_x(); i < n * n; i += grid_size_x()) {                               \
      float sum = 0;                                                                         \
      for (uint k = 0; k < n; k++) sum += VALUE(a[i / n * n + k]) * VALUE(b[k * n + i % n]); \
      d[i] = RESULT_##T(sum);                                                                \
    }                                                                                        \
  }

#define PLAIN(x) (float)(x)
#define RESULT_float(x) (x)
#define RESULT_half(x) (half)(x)
#define RESULT_int(x) (int)(x)
/* bf16: the high half of f32. */
#define RESULT_short(x) (short)(plain_bits_float(x) >> 16)
static float widened(short bits) {
  union { uint bits; float value; } both = {(uint)bits << 16};
  return both.value;
}

#endif

PRODUCT(f32_f16, half, half16, half, NO_PACKING, float, RESULTS(float), 1, PLAIN, F32_F16)
PRODUCT(f32_bf16, short, short16, short, NO_PACKING, float, RESULTS(float), 1, widened, F32_BF16)
PRODUCT(f16, half, half16, half, NO_PACKING, half, HALF_RESULTS(half), 2, PLAIN, F16)
PRODUCT(bf16, short, short16, short, NO_PACKING, short, HALF_RESULTS(short), 2, widened, BF16)
PRODUCT(signed_8, char, int4, char, NO_PACKING, int, RESULTS(int), 1, PLAIN, SIGNED_8)
PRODUCT(mixed_8, char, int4, uchar, NO_PACKING, int, RESULTS(int), 1, PLAIN, MIXED_8)
PRODUCT(signed_4, char, int2, char, PACKING, int, RESULTS(int), 1, PLAIN, SIGNED_4)
