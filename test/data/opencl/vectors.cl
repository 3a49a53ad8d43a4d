/* Vectors: arithmetic, comparisons, elements by constant and by computed index, shuffles, conversions, loads and stores of every size. */
#include "kernel.h"

#define WIDTHS(NAME, NUMBER, COUNT, DIVISOR)                                                                           \
  kernel void vectors_##NAME##COUNT(global NUMBER##COUNT *out, global const NUMBER##COUNT *a, global const NUMBER##COUNT *b, \
                                    uint n) {                                                                    \
    typedef NUMBER##COUNT V;                                                                                     \
    uint i = global_x();                                                                                         \
    if (i >= n) return;                                                                                          \
    V x = a[i], y = b[i], z = a[n - 1 - i];                                                                      \
    out += i * 16;                                                                                               \
    *out++ = x + y;                                                                                              \
    *out++ = x - y;                                                                                              \
    *out++ = x * y;                                                                                              \
    *out++ = x * y + z;                                                                                          \
    *out++ = x / (NUMBER)DIVISOR;                                                                                \
    *out++ = -x;                                                                                                 \
    *out++ = __builtin_elementwise_min(x, y);                                                                    \
    *out++ = __builtin_elementwise_max(x, __builtin_elementwise_min(y, z));                                      \
    *out++ = x < y ? x : z;                                                                                      \
    V changed = x;                                                                                               \
    changed[i % COUNT] = y[(i / 3) % COUNT];                                                                     \
    *out++ = changed;                                                                                            \
    changed[n % COUNT] = z[(n / 3) % COUNT];                                                                     \
    *out++ = changed;                                                                                            \
    *out++ = x.yx##COUNT;                                                                                        \
    *out++ = (V)(x.x) + y.y;                                                                                     \
    V sum = 0;                                                                                                   \
    for (uint k = 0; k <= i % 5; k++) sum += k & 1 ? x : y * (NUMBER)k;                                          \
    *out++ = sum;                                                                                                \
    V stored[3] = {x, y, z};                                                                                     \
    *out++ = stored[i % 3];                                                                                      \
    *out++ = stored[n % 3] + x.x;                                                                                \
  }
#define yx2 yx
#define yx4 yxwz
#define yx8 s10325476
#define yx16 sfedcba9876543210

WIDTHS(i8, char, 2, 3)
WIDTHS(u8, uchar, 4, 7)
WIDTHS(i8, char, 4, 5)
WIDTHS(i16, short, 2, 10)
WIDTHS(u16, ushort, 2, 3)
WIDTHS(u16, ushort, 4, 9)
WIDTHS(i32, int, 2, 3)
WIDTHS(u32, uint, 4, 100)
WIDTHS(i64, long, 2, 3)
WIDTHS(u64, ulong, 4, 10)
WIDTHS(f16, half, 2, 4)
WIDTHS(f16, half, 4, 8)
WIDTHS(f32, float, 2, 4)
WIDTHS(f32, float, 4, 2)
WIDTHS(f64, double, 2, 4)
WIDTHS(u8, uchar, 16, 11)
WIDTHS(i16, short, 8, 7)
WIDTHS(i32, int, 8, 6)
WIDTHS(f32, float, 16, 8)
