/* Between all numbers: widening, narrowing, rounding, saturating. C says nothing about numbers that do not fit, so none of these. */
#include "kernel.h"

/* Zero for what does not fit. LOW < number < HIGH fits. */
#define INTO(T, LOW, HIGH) number > LOW && number < HIGH ? (long)(T)number : 0

#define FROM_FLOAT(NAME, F, BOUND64, BOUND32, BOUND16)                                                          \
  kernel void from_##NAME(global long *out, global const F *a, uint n) {                                             \
    uint i = global_x();                                                                                       \
    if (i >= n) return;                                                                                        \
    F number = a[i];                                                                                           \
    out += i * 16;                                                                                             \
    *out++ = INTO(char, -129, 128);                                                                            \
    *out++ = INTO(uchar, -1, 256);                                                                             \
    *out++ = INTO(short, -(F)BOUND16, (F)BOUND16);                                                             \
    *out++ = INTO(ushort, -1, (F)BOUND16);                                                                     \
    *out++ = INTO(int, -(F)BOUND32, (F)BOUND32);                                                               \
    *out++ = INTO(uint, -1, (F)BOUND32);                                                                       \
    *out++ = INTO(long, -(F)BOUND64, (F)BOUND64);                                                              \
    *out++ = INTO(ulong, -1, (F)BOUND64);                                                                      \
    *out++ = bits_half((half)number);                                                                          \
    *out++ = bits_float((float)number);                                                                        \
    *out++ = bits_double((double)number);                                                                      \
    *out++ = bits_half((half)(float)number);                                                                   \
    *out++ = bits_half((half)((float)number * 3) + 0);                                                         \
    *out++ = (number != 0) | (number > 3) << 1;                                                                \
    /* Saturating: C with a comparison for each bound. */                                                      \
    *out++ = number != number ? 0 : number <= -128 ? -128 : number >= 127 ? 127 : (char)number;                \
    *out++ = number != number ? 0 : number <= 0 ? 0 : number >= 255 ? 255 : (uchar)number;                     \
  }
FROM_FLOAT(f16, half, 65504, 65504, 32768)
FROM_FLOAT(f32, float, 0x1p63, 0x1p31, 32768)
FROM_FLOAT(f64, double, 0x1p63, 0x1p31, 32768)

#define FROM_INTEGER(NAME, T)                                                                    \
  kernel void from_##NAME(global ulong *out, global const T *a, uint n) {                              \
    uint i = global_x();                                                                         \
    if (i >= n) return;                                                                          \
    T number = a[i];                                                                             \
    out += i * 14;                                                                               \
    *out++ = (char)number;                                                                       \
    *out++ = (uchar)number;                                                                      \
    *out++ = (short)number;                                                                      \
    *out++ = (ushort)number;                                                                     \
    *out++ = (int)number;                                                                        \
    *out++ = (uint)number;                                                                       \
    *out++ = (long)number;                                                                       \
    *out++ = bits_half((half)number);                                                            \
    *out++ = bits_float((float)number);                                                          \
    *out++ = bits_double((double)number);                                                        \
    *out++ = bits_float((float)(uchar)(number >> (sizeof(T) * 8 - 8)) + (float)(uchar)number);   \
    *out++ = bits_float((float)(char)number * (float)(short)number);                             \
    *out++ = number < -100 ? -100 : number > 100 ? 100 : (char)number;                           \
    *out++ = (bool)number + !number * 2;                                                         \
  }
FROM_INTEGER(i8, char)
FROM_INTEGER(u8, uchar)
FROM_INTEGER(i16, short)
FROM_INTEGER(u16, ushort)
FROM_INTEGER(i32, int)
FROM_INTEGER(u32, uint)
FROM_INTEGER(i64, long)
FROM_INTEGER(u64, ulong)

/* Vectors, and the bytes of a word as floats. */
kernel void vector_conversions(global uint *out, global const uint *a, global const half *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  uint word = a[i];
  union { uint word; uchar4 bytes; char4 signs; short2 shorts; } parts = {word};
  out += i * 16;
  float4 unpacked = __builtin_convertvector(parts.bytes, float4);
  for (int k = 0; k < 4; k++) *out++ = bits_float(unpacked[k]);
  int4 wide = __builtin_convertvector(parts.signs, int4);
  for (int k = 0; k < 4; k++) *out++ = wide[k];
  half2 halves = __builtin_convertvector(parts.shorts, half2);
  *out++ = bits_half(halves.x) | (uint)bits_half(halves.y) << 16;
  parts.bytes = __builtin_convertvector(wide + (int4)(3), uchar4);
  *out++ = parts.word;
  float2 two;
  two.x = b[i];
  two.y = b[n - 1 - i];
  *out++ = bits_float(two.x);
  *out++ = bits_float(two.y);
  half2 back = __builtin_convertvector(two * 2.0f, half2);
  *out++ = bits_half(back.x) | (uint)bits_half(back.y) << 16;
  double2 large = __builtin_convertvector(two, double2);
  *out++ = bits_float((float)(large.x / 3));
  parts.shorts = __builtin_convertvector(wide.xz, short2);
  *out++ = parts.word;
  *out++ = (uchar)word | (uint)(uchar)(word >> 8) << 24 | (word & 0xFF0000) >> 8;
}
