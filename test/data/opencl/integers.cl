/* Integer arithmetic in every width and sign; narrow ones through byte and short loads and stores. */
#include "kernel.h"

#define PUT(value) *out++ = (T)(value)

#define ARITHMETIC(NAME, NUMBER, UNSIGNED, WIDE, BITS)                                              \
  kernel void arithmetic_##NAME(global NUMBER *out, global const NUMBER *a, global const NUMBER *b, uint n) { \
    typedef NUMBER T;                                                                             \
    typedef UNSIGNED U;                                                                           \
    uint i = global_x();                                                                          \
    if (i >= n) return;                                                                           \
    T x = a[i], y = b[i], z = a[n - 1 - i];                                                       \
    T divisor = y == 0 || y == (T)-1 ? (T)3 : y;                                                  \
    out += i * 32;                                                                                \
    PUT(x + y);                                                                                   \
    PUT(x - y);                                                                                   \
    PUT(x * y);                                                                                   \
    PUT(x / divisor);                                                                             \
    PUT(x % divisor);                                                                             \
    PUT(-x);                                                                                      \
    PUT(x * y + z);                                                                               \
    PUT((x + y) * z - x);                                                                         \
    PUT(((WIDE)x * (WIDE)y) >> BITS);                                                             \
    PUT(((WIDE)x * (WIDE)y + (WIDE)z) >> (BITS / 2));                                             \
    PUT(x / 3 + x % 7);                                                                           \
    PUT(x / 10 - x % 16);                                                                         \
    PUT(x * 5 + y * (T)-3);                                                                       \
    PUT(x < y ? x : y);                                                                           \
    PUT(x > y ? x : y);                                                                           \
    PUT(x < 0 ? -x : x);                                                                          \
    PUT(__builtin_elementwise_max(__builtin_elementwise_min(x, y), z));                           \
    PUT(__builtin_elementwise_min(__builtin_elementwise_max(x, (T)5), (T)50));                    \
    PUT(__builtin_elementwise_max(__builtin_elementwise_min(x, y),                                \
                                  __builtin_elementwise_min(__builtin_elementwise_max(x, y), z))); \
    PUT(x > y ? x - y : y - x);                                                                   \
    PUT(__builtin_elementwise_add_sat(x, y));                                                     \
    PUT(__builtin_elementwise_sub_sat(x, y));                                                     \
    T over;                                                                                       \
    PUT(__builtin_add_overflow(x, y, &over) + over * 2);                                          \
    PUT(__builtin_sub_overflow(x, y, &over) + over * 2);                                          \
    PUT(__builtin_mul_overflow(x, y, &over) + over * 2);                                          \
    PUT((x & y) + ((x ^ y) >> 1));                                                                \
    PUT((x < y) | (x <= y) << 1 | (x == y) << 2 | (x != z) << 3 | (x > 17) << 4 | ((U)x >= (U)y) << 5); \
    PUT(x == y || (x > z && y < z) ? x : z);                                                      \
    PUT((T)(U)(x + (T)1) - (T)(uchar)y);                                                          \
    PUT((T)(char)x + (T)(short)y);                                                                \
    PUT(-(x & 1) ^ (y - 1));                                                                      \
    PUT(x - y - (x < y));                                                                         \
  }

ARITHMETIC(i8, char, uchar, int, 8)
ARITHMETIC(u8, uchar, uchar, uint, 8)
ARITHMETIC(i16, short, ushort, int, 16)
ARITHMETIC(u16, ushort, ushort, uint, 16)
ARITHMETIC(i32, int, uint, long, 32)
ARITHMETIC(u32, uint, uint, ulong, 32)
ARITHMETIC(i64, long, ulong, __int128, 64)
ARITHMETIC(u64, ulong, ulong, unsigned __int128, 64)

#define BIT_OPERATIONS(NAME, NUMBER, UNSIGNED, BITS)                                                        \
  kernel void bits_##NAME(global NUMBER *out, global const NUMBER *a, global const NUMBER *b, uint n) { \
    typedef NUMBER T;                                                                                   \
    typedef UNSIGNED U;                                                                                 \
    uint i = global_x();                                                                                \
    if (i >= n) return;                                                                                 \
    T x = a[i], y = b[i], z = a[n - 1 - i];                                                             \
    uint by = (uint)y & (BITS - 1);                                                                     \
    out += i * 28;                                                                                      \
    PUT(x & y);                                                                                         \
    PUT(x | y);                                                                                         \
    PUT(x ^ y);                                                                                         \
    PUT(~x);                                                                                            \
    PUT(x & ~y);                                                                                        \
    PUT(x | ~y);                                                                                        \
    PUT(~(x ^ y));                                                                                      \
    PUT((x & y) | z);                                                                                   \
    PUT(x | y | z);                                                                                     \
    PUT((x & z) | (y & ~z));                                                                            \
    PUT(x ^ y ^ z);                                                                                     \
    PUT(x << by);                                                                                       \
    PUT(x >> by);                                                                                       \
    PUT((U)x >> by);                                                                                    \
    PUT((x << 3) + y);                                                                                  \
    PUT((x + y) << 2);                                                                                  \
    PUT((x << by) | y);                                                                                 \
    PUT((U)x << by | (U)x >> (-by & (BITS - 1)));                                                       \
    PUT((U)x >> 3 | (U)x << (BITS - 3));                                                                \
    PUT(((U)x >> by) & (((U)1 << (z & 7)) - 1));                                                        \
    PUT((U)(x << 2) >> 5);                                                                              \
    PUT((T)(x << 1) >> 4);                                                                              \
    PUT(__builtin_popcountg((U)x));                                                                     \
    PUT(__builtin_clzg((U)x, BITS));                                                                    \
    PUT(__builtin_ctzg((U)x, BITS));                                                                    \
    PUT(__builtin_elementwise_bitreverse(x));                                                           \
    PUT(((U)1 << by) - 1);                                                                              \
    PUT(x & ((U)1 << by) ? x | ((U)1 << (z & 7)) : x & ~((U)1 << (z & 7)));                             \
  }

BIT_OPERATIONS(i8, char, uchar, 8)
BIT_OPERATIONS(u8, uchar, uchar, 8)
BIT_OPERATIONS(i16, short, ushort, 16)
BIT_OPERATIONS(u16, ushort, ushort, 16)
BIT_OPERATIONS(i32, int, uint, 32)
BIT_OPERATIONS(u32, uint, uint, 32)
BIT_OPERATIONS(i64, long, ulong, 64)
BIT_OPERATIONS(u64, ulong, ulong, 64)

/* Products of numbers that fit in 24 or 16 bits; sums of products; byte order. */
kernel void products(global long *out, global const int *a, global const int *b, uint n) {
  typedef long T;
  uint i = global_x();
  if (i >= n) return;
  int x = a[i], y = b[i], z = a[n - 1 - i];
  out += i * 16;
  PUT((x & 0xFFFFFF) * (y & 0xFFFFFF));
  PUT((uint)(x & 0xFFFFFF) * (uint)(y & 0xFFFFFF) + (uint)z);
  PUT((x << 8 >> 8) * (y << 8 >> 8));
  PUT((x << 8 >> 8) * (y << 8 >> 8) + z);
  PUT((ulong)(x & 0xFFFFFF) * (ulong)(y & 0xFFFFFF));
  PUT((long)(x << 8 >> 8) * (long)(y << 8 >> 8));
  PUT((ulong)(uint)x * (uint)y + (ulong)z);
  PUT((long)x * y + z);
  PUT((short)x * (short)y + z);
  PUT((uint)(ushort)x * (ushort)y + (uint)z);
  PUT((uchar)x * (uchar)y + (uchar)(x >> 8) * (uchar)(y >> 8) + (uchar)(x >> 16) * (uchar)(y >> 16) + z);
  PUT((char)x * (char)y + (char)(x >> 8) * (char)(y >> 8) + (char)(x >> 16) * (char)(y >> 16) + z);
  PUT(__builtin_bswap32((uint)x) + __builtin_bswap16((ushort)y));
  PUT(__builtin_bswap64((ulong)(uint)x << 32 | (uint)y));
  PUT((uint)x >> 8 | (uint)y << 24);
  PUT(((uint)x & 0xFF00FF00) | ((uint)y & 0x00FF00FF));
}

/* The same numbers for every work-item, so the wave computes them once. */
kernel void scalars(global ulong *out, char c, uchar uc, short s, ushort us, int i, uint ui, long l, ulong ul, uint n) {
  typedef ulong T;
  if (global_x() >= n) return;
  out += global_x() * 44;
  PUT(c + s);
  PUT(uc * us);
  PUT(i + s);
  PUT(ui - c);
  PUT(l + i);
  PUT(ul - ui);
  PUT(i * s);
  PUT(l * i);
  PUT(ul * l);
  PUT(i / s);
  PUT(ui % us);
  PUT(l / i);
  PUT(ul % ui);
  PUT((long)i * (long)ui);
  PUT(((long)i * s) >> 32);
  PUT(((ulong)ui * (uint)i) >> 32);
  PUT(i << (s & 31));
  PUT(i >> (s & 31));
  PUT(ui >> (s & 31));
  PUT(l << (s & 63));
  PUT(l >> (s & 63));
  PUT(ul >> (s & 63));
  PUT(i & ~s);
  PUT(l & ~ul);
  PUT(~(l | ul));
  PUT(~(i & (int)ui));
  PUT(~(l ^ ul));
  PUT((l | ~ul) ^ (i | ~ui));
  PUT(__builtin_popcountg(ui) + __builtin_popcountg(ul));
  PUT(__builtin_clzg(ui, 32) + __builtin_clzg(ul, 64) * 100);
  PUT(__builtin_ctzg(ui, 32) + __builtin_ctzg(ul, 64) * 100);
  PUT(__builtin_elementwise_bitreverse(ui) + __builtin_elementwise_bitreverse(ul));
  PUT(__builtin_clrsb(i) + __builtin_clrsbl(l));
  PUT((ui >> 5) & 0x1FF);
  PUT(i << 10 >> 20);
  PUT((ul >> 11) & 0x1FFFFF);
  PUT(l << 13 >> 40);
  PUT(i < 0 ? -i : i);
  PUT(__builtin_elementwise_min(i, (int)s) + __builtin_elementwise_max(ui, (uint)us));
  PUT(l < i ? l : (long)ul);
  PUT((i == s) + (ui > us) * 2 + (l != i) * 4 + (ul >= ui) * 8 + ((ui & 4) != 0) * 16 + ((ul & 8) == 0) * 32);
  PUT((i << 1) + s + (i << 2) + (i << 3) + (i << 4));
  PUT((ui & 0xFFFF) | ui << 16 | (ui >> 16) << 8);
  PUT(((1u << (s & 31)) - 1) ^ (1u << (us & 31)) ^ (ui & ~(1u << (c & 31))));
}
