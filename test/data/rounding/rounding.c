/*
 * Results of this machine's floating point in each rounding mode. Reads records of three 64-bit operands; writes, for each record, an
 * 8-byte result of every operation in the modes nearest, up, down, toward zero, in the order of the list at the end.
 */
#include <fenv.h>
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static double double_of(uint64_t x) { double r; memcpy(&r, &x, 8); return r; }
static float float_of(uint64_t x) { float r; memcpy(&r, &x, 4); return r; }
static uint64_t double_bits(double x) { uint64_t r; memcpy(&r, &x, 8); return r; }
static uint64_t float_bits(float x) { uint32_t r; memcpy(&r, &x, 4); return r; }

#define BINARY(name, operator) \
  static uint64_t name##_f32(const uint64_t *x) { return float_bits(float_of(x[0]) operator float_of(x[1])); } \
  static uint64_t name##_f64(const uint64_t *x) { return double_bits(double_of(x[0]) operator double_of(x[1])); }
BINARY(add, +)
BINARY(sub, -)
BINARY(mul, *)
BINARY(div, /)

static uint64_t sqrt_f32(const uint64_t *x) { return float_bits(sqrtf(float_of(x[0]))); }
static uint64_t sqrt_f64(const uint64_t *x) { return double_bits(sqrt(double_of(x[0]))); }
static uint64_t fma_f32(const uint64_t *x) { return float_bits(fmaf(float_of(x[0]), float_of(x[1]), float_of(x[2]))); }
static uint64_t fma_f64(const uint64_t *x) { return double_bits(fma(double_of(x[0]), double_of(x[1]), double_of(x[2]))); }
static uint64_t f32_from_f64(const uint64_t *x) { return float_bits((float)double_of(x[0])); }
static uint64_t f32_from_i32(const uint64_t *x) { return float_bits((float)(int32_t)x[0]); }
static uint64_t f32_from_u32(const uint64_t *x) { return float_bits((float)(uint32_t)x[0]); }
static uint64_t f16_from_f32(const uint64_t *x) { return _cvtss_sh(float_of(x[0]), _MM_FROUND_CUR_DIRECTION); }

typedef uint64_t operation(const uint64_t *x);
static operation *const operations[] = {
    add_f32, sub_f32, mul_f32, div_f32, sqrt_f32, fma_f32, add_f64,      sub_f64,      mul_f64,
    div_f64, sqrt_f64, fma_f64, f32_from_f64, f32_from_i32, f32_from_u32, f16_from_f32,
};

int main(void) {
  uint64_t x[3];
  while (fread(x, sizeof x, 1, stdin) == 1) {
    for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++) {
      for (int mode = 0; mode < 4; mode++) {
        fesetround(modes[mode]);
        uint64_t result = operations[i](x);
        fwrite(&result, sizeof result, 1, stdout);
      }
    }
  }
  return 0;
}
