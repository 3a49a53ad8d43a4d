/* Instructions that C has no operator for, by clang's built-in functions; on the host what AMD's manual says about them. */
#include "kernel.h"

#ifdef __AMDGCN__

#define BFE_U __builtin_amdgcn_ubfe
#define BFE_S __builtin_amdgcn_sbfe
#define ALIGN_BIT __builtin_amdgcn_alignbit
#define ALIGN_BYTE __builtin_amdgcn_alignbyte
#define PERM __builtin_amdgcn_perm
#define LERP __builtin_amdgcn_lerp
#define SAD_U8 __builtin_amdgcn_sad_u8
#define MSAD_U8 __builtin_amdgcn_msad_u8
#define SAD_HI_U8 __builtin_amdgcn_sad_hi_u8
#define SAD_U16 __builtin_amdgcn_sad_u16
#define QSAD __builtin_amdgcn_qsad_pk_u16_u8
#define MQSAD __builtin_amdgcn_mqsad_pk_u16_u8
#define MQSAD_U32 __builtin_amdgcn_mqsad_u32_u8
#ifdef GFX11 /* which has no dot products of signed numbers or of pairs, but of numbers whose signs can be chosen */
#define SDOT2(a, b, c, clamp) (c)
#define UDOT2(a, b, c, clamp) (c)
#define SDOT4(a, b, c, clamp) __builtin_amdgcn_sudot4(true, a, true, b, c, clamp)
#define SDOT8(a, b, c, clamp) __builtin_amdgcn_sudot8(true, a, true, b, c, clamp)
#else
#define SDOT2(a, b, c, clamp) __builtin_amdgcn_sdot2(a, b, c, clamp)
#define UDOT2(a, b, c, clamp) __builtin_amdgcn_udot2(a, b, c, clamp)
#define SDOT4(a, b, c, clamp) __builtin_amdgcn_sdot4(a, b, c, clamp)
#define SDOT8(a, b, c, clamp) __builtin_amdgcn_sdot8(a, b, c, clamp)
#endif
#define UDOT4(a, b, c, clamp) __builtin_amdgcn_udot4(a, b, c, clamp)
#define UDOT8(a, b, c, clamp) __builtin_amdgcn_udot8(a, b, c, clamp)
#define WORD_OF(pair) ((union { __typeof__(pair) both; uint bits; }){pair}).bits
#define PACK_I16(a, b) WORD_OF(__builtin_amdgcn_cvt_pk_i16((int)(a), (int)(b)))
#define PACK_U16(a, b) WORD_OF(__builtin_amdgcn_cvt_pk_u16(a, b))
#define MED3 __builtin_amdgcn_fmed3f
#define FRACT_F64 __builtin_amdgcn_fract
#define FRACT __builtin_amdgcn_fractf
#define MANTISSA __builtin_amdgcn_frexp_mantf
#define EXPONENT __builtin_amdgcn_frexp_expf
#define CVT_PK_U8 __builtin_amdgcn_cvt_pk_u8_f32
#define GROUP_STATIC_SIZE() __builtin_amdgcn_groupstaticsize()
#ifdef __OPENCL_C_VERSION__
#define GENERIC void *
#else
#define GENERIC const __attribute__((address_space(0))) void *
#endif
#define IS_LOCAL(pointer) __builtin_amdgcn_is_shared((GENERIC)(pointer))
#define IS_PRIVATE(pointer) __builtin_amdgcn_is_private((GENERIC)(pointer))
#ifdef GFX11
#define WRITE_BACK() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#else
#define WRITE_BACK() __builtin_amdgcn_buffer_wbinvl1(), __builtin_amdgcn_s_dcache_wb()
#endif
#define QUIET()                           \
  do {                                    \
    __builtin_amdgcn_s_sleep(1);          \
    __builtin_amdgcn_s_setprio(2);        \
    __builtin_amdgcn_wave_barrier();      \
    __builtin_amdgcn_sched_barrier(0);    \
    WRITE_BACK();                         \
    __builtin_amdgcn_s_dcache_inv();      \
    __builtin_amdgcn_s_waitcnt(0);        \
    __builtin_amdgcn_s_setprio(0);        \
  } while (0)
#ifdef GFX11
#define CYCLES() 1 /* a counter of 20 bits */
#define TIME() __builtin_amdgcn_s_sendmsg_rtnl(0x83)
#else
#define CYCLES() __builtin_readcyclecounter()
#define TIME() __builtin_amdgcn_s_memrealtime()
#endif
#define IN_PAIRS(type, word) ((union { uint bits; type pair; }){word}).pair

#else

static uint host_field(uint x, uint at, uint size) { return x >> at & ((1u << size) - 1); }
#define BFE_U host_field
static int host_signed_field(uint x, uint at, uint size) {
  return size == 0 ? 0 : (int)(host_field(x, at, size) << (32 - size)) >> (32 - size);
}
#define BFE_S host_signed_field
#define ALIGN_BIT(high, low, by) (uint)(((ulong)(high) << 32 | (low)) >> ((by) & 31))
#define ALIGN_BYTE(high, low, by) ALIGN_BIT(high, low, ((by) & 3) * 8)
static uint host_perm(uint high, uint low, uint select) {
  ulong bytes = (ulong)high << 32 | low;
  uint result = 0;
  for (int k = 0; k < 4; k++) {
    uint at = select >> k * 8 & 255, byte;
    if (at < 8) byte = bytes >> at * 8 & 255;
    else if (at < 12) byte = bytes >> ((at - 8) * 16 + 15) & 1 ? 255 : 0;
    else byte = at == 12 ? 0 : 255;
    result |= byte << k * 8;
  }
  return result;
}
#define PERM host_perm
#define BYTE(word, k) ((uint)((word) >> (k) * 8) & 255)
static uint host_lerp(uint a, uint b, uint c) {
  uint result = 0;
  for (int k = 0; k < 4; k++) result |= (BYTE(a, k) + BYTE(b, k) + (BYTE(c, k) & 1)) / 2 << k * 8;
  return result;
}
#define LERP host_lerp
static uint host_difference(uint a, uint b) { return a > b ? a - b : b - a; }
static uint host_sad(uint a, uint b, bool masked) {
  uint sum = 0;
  for (int k = 0; k < 4; k++)
    if (!masked || BYTE(b, k) != 0) sum += host_difference(BYTE(a, k), BYTE(b, k));
  return sum;
}
#define SAD_U8(a, b, c) (host_sad(a, b, false) + (c))
#define MSAD_U8(a, b, c) (host_sad(a, b, true) + (c))
#define SAD_HI_U8(a, b, c) ((host_sad(a, b, false) << 16) + (c))
#define SAD_U16(a, b, c) (host_difference((a) & 0xFFFF, (b) & 0xFFFF) + host_difference((a) >> 16, (b) >> 16) + (c))
static ulong host_quad_sad(ulong a, uint b, ulong c, bool masked) {
  ulong result = 0;
  for (int k = 0; k < 4; k++) {
    ulong sum = host_sad((uint)(a >> k * 8), b, masked) + (c >> k * 16 & 0xFFFF);
    result |= (sum & 0xFFFF) << k * 16;
  }
  return result;
}
#define QSAD(a, b, c) host_quad_sad(a, b, c, false)
#define MQSAD(a, b, c) host_quad_sad(a, b, c, true)
static uint4 host_quad_sad_words(ulong a, uint b, uint4 c) {
  for (int k = 0; k < 4; k++) c[k] += host_sad((uint)(a >> k * 8), b, true);
  return c;
}
#define MQSAD_U32 host_quad_sad_words
static int host_dot_signed(uint a, uint b, int c, int bits, bool clamp) {
  long sum = c;
  for (int at = 0; at < 32; at += bits)
    sum += (long)((int)(a << (32 - bits - at)) >> (32 - bits)) * ((int)(b << (32 - bits - at)) >> (32 - bits));
  if (clamp) sum = sum < -0x80000000l ? -0x80000000l : sum > 0x7FFFFFFF ? 0x7FFFFFFF : sum;
  return (int)sum;
}
static uint host_dot(uint a, uint b, uint c, int bits, bool clamp) {
  ulong sum = c, mask = (1ul << bits) - 1;
  for (int at = 0; at < 32; at += bits) sum += (a >> at & mask) * (b >> at & mask);
  return clamp && sum > 0xFFFFFFFF ? 0xFFFFFFFF : (uint)sum;
}
#define IN_PAIRS(type, word) (word)
#ifdef GFX11
#define SDOT2(a, b, c, clamp) (c)
#define UDOT2(a, b, c, clamp) (c)
#else
#define SDOT2(a, b, c, clamp) host_dot_signed(a, b, c, 16, clamp)
#define UDOT2(a, b, c, clamp) host_dot(a, b, c, 16, clamp)
#endif
#define SDOT4(a, b, c, clamp) host_dot_signed(a, b, c, 8, clamp)
#define UDOT4(a, b, c, clamp) host_dot(a, b, c, 8, clamp)
#define SDOT8(a, b, c, clamp) host_dot_signed(a, b, c, 4, clamp)
#define UDOT8(a, b, c, clamp) host_dot(a, b, c, 4, clamp)
static uint host_saturated(long number, long low, long high) {
  return (number < low ? low : number > high ? high : number) & 0xFFFF;
}
#define PACK_I16(a, b) (host_saturated((int)(a), -32768, 32767) | host_saturated((int)(b), -32768, 32767) << 16)
#define PACK_U16(a, b) (host_saturated(a, 0, 65535) | host_saturated(b, 0, 65535) << 16)
static float host_median(float a, float b, float c) {
  if (a != a || b != b || c != c) return __builtin_fminf(__builtin_fminf(a, b), c);
  return __builtin_fmaxf(__builtin_fminf(a, b), __builtin_fminf(__builtin_fmaxf(a, b), c));
}
#define MED3 host_median
#define FRACT(x) __builtin_fminf((x) - __builtin_floorf(x), 0x1.FFFFFEp-1f)
#define FRACT_F64(x) __builtin_fmin((x) - __builtin_floor(x), 0x1.FFFFFFFFFFFFFp-1)
static int host_exponent(float x) {
  int exponent;
  __builtin_frexpf(x, &exponent);
  return exponent;
}
#define MANTISSA(x) __builtin_frexpf(x, &(int){0})
#define EXPONENT host_exponent
static uint host_pack_byte(float x, uint at, uint old) {
  uint byte = x != x || x <= 0 ? 0 : x >= 255 ? 255 : (uint)x;
  return (old & ~(255u << at % 4 * 8)) | byte << at % 4 * 8;
}
#define CVT_PK_U8 host_pack_byte
#define GROUP_STATIC_SIZE() 64
#define IS_LOCAL(pointer) ((void *)(pointer) == (void *)bytes)
#define IS_PRIVATE(pointer) ((void *)(pointer) == (void *)&own)
#define QUIET()
#define CYCLES() 1
#define TIME() 1

#endif

#define PUT(value) *out++ = (uint)(value)

kernel void integers(global uint *out, global const uint *a, global const uint *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  uint x = a[i], y = b[i], z = a[n - 1 - i];
  ulong wide = (ulong)x << 32 | y;
  out += i * 33;
  PUT(BFE_U(x, y & 15, z & 15));
  PUT(BFE_S(x, y & 15, z & 15));
  PUT(BFE_U(x, 4, 9) + BFE_S(y, 7, 13));
  PUT(ALIGN_BIT(x, y, z));
  PUT(ALIGN_BYTE(x, y, z));
  PUT(PERM(x, y, z));
  PUT(PERM(x, y, z & 0x0F0F0F0F));
  PUT(PERM(x, y, 0x07000C08));
  PUT(LERP(x, y, z));
  PUT(SAD_U8(x, y, z));
  PUT(MSAD_U8(x, y & 0xFFFF00FF, z));
  PUT(SAD_HI_U8(x, y, z));
  PUT(SAD_U16(x, y, z));
  ulong quad = QSAD(wide, z, wide);
  PUT(quad);
  PUT(quad >> 32);
  quad = MQSAD(wide, z & 0xFF00FFFF, wide);
  PUT(quad);
  PUT(quad >> 32);
  uint4 words = MQSAD_U32(wide, z, (uint4){x, y, z, 5});
  PUT(words.x ^ words.y);
  PUT(words.z ^ words.w);
  PUT(SDOT2(IN_PAIRS(short2, x), IN_PAIRS(short2, y), (int)z, false));
  PUT(SDOT2(IN_PAIRS(short2, x), IN_PAIRS(short2, y), (int)z, true));
  PUT(UDOT2(IN_PAIRS(ushort2, x), IN_PAIRS(ushort2, y), z, false));
  PUT(UDOT2(IN_PAIRS(ushort2, x), IN_PAIRS(ushort2, y), z, true));
  PUT(SDOT4((int)x, (int)y, (int)z, false));
  PUT(SDOT4((int)x, (int)y, (int)z, true));
  PUT(UDOT4(x, y, z, false));
  PUT(UDOT4(x, y, z, true));
  PUT(SDOT8((int)x, (int)y, (int)z, false));
  PUT(SDOT8((int)x, (int)y, (int)z, true));
  PUT(UDOT8(x, y, z, false));
  PUT(UDOT8(x, y, z, true));
  PUT(PACK_I16(x, y));
  PUT(PACK_U16(x >> (z & 31), y >> (z & 15)));
}

kernel void floats(global uint *out, global const float *a, global const float *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  float x = a[i], y = b[i], z = a[n - 1 - i];
  out += i * 8;
  PUT(bits_float(MED3(x, y, z) + 0));
  PUT(bits_float(MED3(x, 0, 1) + 0));
  PUT(CVT_PK_U8(__builtin_rintf(x), 0, 0x11223344));
  PUT(CVT_PK_U8(__builtin_rintf(y), i & 3, plain_bits_float(z)));
  if (!__builtin_isfinite(x)) return;
  PUT(bits_float(FRACT(x)));
  PUT(bits_double(FRACT_F64((double)x * 1.7)) >> 13);
  PUT(bits_float(MANTISSA(x)));
  PUT(EXPONENT(x));
}

/* Where a generic pointer goes, the size of LDS, clocks, and what only hardware notices. */
kernel void surroundings(global uint *out, local uint *launched, uint n) {
  WORKGROUP_ARRAY(uint, bytes, 16);
  uint i = global_x();
  uint own = i;
  bytes[local_x() & 15] = 1;
  launched[local_x()] = i;
  QUIET();
  ulong before = CYCLES(), time = TIME();
  workgroup_barrier();
  QUIET();
  void *pointer = i % 3 == 0 ? (void *)bytes : i % 3 == 1 ? (void *)&own : (void *)out;
  bool is_local = IS_LOCAL(pointer), is_private = IS_PRIVATE(pointer);
  *(uint *)pointer += 0;
  ulong after = CYCLES(), later = TIME();
  if (i >= n) return;
  out += i * 4;
  out[0] = is_local + is_private * 2;
  out[1] = GROUP_STATIC_SIZE() + bytes[i & 15];
  out[2] = (after >= before && later >= time) + own;
  out[3] = launched[local_x()];
}

#ifdef __AMDGCN__
#ifdef GFX11 /* checked as a raw buffer */
#define RESOURCE_FLAGS 0x31004000
#else
#define RESOURCE_FLAGS 0x00027000
#endif
#define RESOURCE(pointer, size) __builtin_amdgcn_make_buffer_rsrc((void *)(pointer), 0, (int)(size), RESOURCE_FLAGS)
#define BUFFER __amdgpu_buffer_rsrc_t
#define LOAD(bits, T, resource, offset, base) __builtin_amdgcn_raw_buffer_load_b##bits(resource, offset, base, 0)
#define STORE(bits, T, value, resource, offset, base) __builtin_amdgcn_raw_buffer_store_b##bits(value, resource, offset, base, 0)
#else
typedef struct {
  uchar *bytes;
  uint size;
} BUFFER;
#define RESOURCE(pointer, size) ((BUFFER){(uchar *)(pointer), size})
#ifdef GFX11
#define IS_INSIDE(resource, offset, base, k) (((offset) + k) / 4 * 4 + 4 + (base) <= resource.size)
#else
#define IS_INSIDE(resource, offset, base, k) (((offset) + k) / 4 * 4 + 4 <= resource.size)
#endif
#define LOAD(bits, T, resource, offset, base)                                                                \
  ({                                                                                                         \
    T loaded = 0;                                                                                            \
    for (uint k = 0; k < bits / 8; k++)                                                                      \
      if (IS_INSIDE(resource, offset, base, k)) ((uchar *)&loaded)[k] = resource.bytes[(offset) + (base) + k]; \
    loaded;                                                                                                  \
  })
#define STORE(bits, T, value, resource, offset, base)                                                        \
  ({                                                                                                         \
    T stored = value;                                                                                        \
    for (uint k = 0; k < bits / 8; k++)                                                                      \
      if (IS_INSIDE(resource, offset, base, k)) resource.bytes[(offset) + (base) + k] = ((uchar *)&stored)[k]; \
  })
#endif

/* Buffer resources: what is outside reads 0 and is not written. The check leaves out the scalar part of the offset (CDNA2 ISA 9.1.5); on
 * gfx11 it does not (RDNA3 ISA 9.4.1). */
kernel void buffers(global uint *out, global const uint *a, uint n) {
  uint i = global_x();
  BUFFER from = RESOURCE(a, (n - 5) * 4), to = RESOURCE(out, n * 64);
  if (i >= n + 3) return;
  int at = (int)i * 64;
  STORE(32, uint, LOAD(32, uint, from, (int)i * 4, 0), to, at, 0);
  STORE(8, uchar, LOAD(8, uchar, from, (int)i * 4 + 1, 0), to, at, 4);
  STORE(16, ushort, LOAD(16, ushort, from, (int)i * 4 + 2, 0), to, at, 6);
  STORE(64, uint2, LOAD(64, uint2, from, (int)(i & ~1u) * 4, 8), to, at, 8);
  STORE(96, uint3, LOAD(96, uint3, from, (int)i * 4, 4), to, at + 16, 0);
  STORE(128, uint4, LOAD(128, uint4, from, (int)i * 4, 0), to, at + 32, 0);
  STORE(32, uint, LOAD(32, uint, from, (int)(n % 7) * 4, (int)(n & 4)), to, at, 48);
}
