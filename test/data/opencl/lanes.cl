/* Operations between the lanes of a wave. */
#include "kernel.h"

#ifdef __AMDGCN__

#define BALLOT(condition) __builtin_amdgcn_ballot_w64(condition)
#define FIRST(value) __builtin_amdgcn_readfirstlane(value)
#define READ(value, at) __builtin_amdgcn_readlane(value, at)
#define FROM(value, at) __builtin_amdgcn_ds_bpermute((at) << 2, value)
#define TO(value, at) __builtin_amdgcn_ds_permute((at) << 2, value)
#define SWIZZLE(value, pattern) __builtin_amdgcn_ds_swizzle(value, pattern)
#define DPP(old, value, control, rows, banks, bound) __builtin_amdgcn_update_dpp(old, value, control, rows, banks, bound)
#define COMPARE(a, b, sign) __builtin_amdgcn_##sign##icmp(a, b, SLT_##sign)
#define COMPARE_FLOAT(a, b) __builtin_amdgcn_fcmpf(a, b, 4)
#define APPEND(counter) __builtin_amdgcn_ds_append(counter)
#define CONSUME(counter) __builtin_amdgcn_ds_consume(counter)
#define SLT_u 36
#define SLT_s 40

#else

#define BALLOT(condition) host_ballot(__LINE__, condition)
#define FIRST(value) host_first(__LINE__, value)
#define READ(value, at) host_lane(__LINE__, value, at)
#define FROM(value, at) host_from(__LINE__, value, at)
#define TO(value, at) host_to(__LINE__, value, at)
#define SWIZZLE(value, pattern) host_swizzle(__LINE__, value, pattern)
#define DPP(old, value, control, rows, banks, bound) host_dpp(__LINE__, old, value, control, rows, banks, bound)
#define COMPARE(a, b, sign) BALLOT(COMPARE_##sign(a, b))
#define COMPARE_u(a, b) (uint)(a) < (uint)(b)
#define COMPARE_s(a, b) (int)(a) < (int)(b)
#define COMPARE_FLOAT(a, b) BALLOT((a) < (b))

static ulong host_ballot(int site, bool condition) {
  const Exchange *all = host_exchange(site, condition);
  ulong ballot = 0;
  for (uint i = 0; i < WAVE; i++) ballot |= all->values[i] << i;
  return ballot;
}
static uint host_first(int site, uint value) {
  const Exchange *all = host_exchange(site, value);
  return (uint)all->values[__builtin_ctzl(all->mask)];
}
/* 0 from a lane that is not there. */
static uint host_lane(int site, uint value, uint at) { return (uint)host_exchange(site, value)->values[at % WAVE]; }
/* RDNA3 ISA 12.5.2: each half of a wave of 64 lanes is on its own. */
#ifdef GFX11
#define REACHED(at) ((lane() & ~31u) | ((at) & 31))
#else
#define REACHED(at) ((at) % WAVE)
#endif
static uint host_from(int site, uint value, uint at) { return host_lane(site, value, REACHED(at)); }
static uint host_to(int site, uint value, uint at) {
  const Exchange *all = host_exchange(site, (ulong)(REACHED(at) + 1) << 32 | value);
  for (uint i = 0; i < WAVE; i++)
    if (all->values[i] >> 32 == lane() + 1) return (uint)all->values[i];
  return 0;
}
/* Adds the number of lanes that are here, or subtracts it; all get the old number. */
static int host_count(int site, int *counter, int sign) {
  ulong mask = host_exchange(site, 0)->mask;
  int first = __builtin_ctzl(mask), old = *counter;
  if (lane() == first) *counter += sign * __builtin_popcountl(mask);
  return (int)host_exchange(site, old)->values[first];
}
#define APPEND(counter) host_count(__LINE__, counter, 1)
#define CONSUME(counter) host_count(__LINE__, counter, -1)
static uint host_swizzle(int site, uint value, uint pattern) {
  uint self = lane(), at;
  if (pattern & 0x8000) at = (self & ~3u) | ((pattern >> self % 4 * 2) & 3);
  else at = (self & ~31u) | ((((self & 31) & (pattern & 31)) | ((pattern >> 5) & 31)) ^ ((pattern >> 10) & 31));
  return host_from(site, value, at);
}
/* The lane that DPP reads; negative where there is none. */
static int host_dpp_source(int self, uint control) {
  int row = self & ~15, at = self & 15, by = control & 15;
  if (control < 0x100) return (self & ~3) | ((control >> self % 4 * 2) & 3);
  switch (control >> 4) {
    case 0x10: return at + by < 16 ? self + by : -1;
    case 0x11: return at - by >= 0 ? self - by : -1;
    case 0x12: return row | ((at - by) & 15);
    case 0x15: return row | by;
    case 0x16: return self ^ by;
  }
  switch (control) {
    case 0x130: return self < 63 ? self + 1 : -1;
    case 0x134: return (self + 1) & 63;
    case 0x138: return self - 1;
    case 0x13C: return (self - 1) & 63;
    case 0x140: return row | (15 - at);
    case 0x141: return self ^ 7;
    case 0x142: return row - 1;
    case 0x143: return self < 32 ? -1 : 31;
  }
  abort();
}
static uint host_dpp(int site, uint old, uint value, uint control, uint rows, uint banks, bool bound) {
  const Exchange *all = host_exchange(site, value);
  int self = lane(), at = host_dpp_source(self, control);
  if (!(rows >> (self / 16) & 1) || !(banks >> (self / 4 % 4) & 1)) return old;
  if (at >= 0 && (all->mask >> at & 1)) return (uint)all->values[at];
  return bound ? 0 : old;
}

#endif

/* Of a whole wave or of what the edge of the grid left of it. */
kernel void exchanges(global uint *out, global const uint *a, uint pick) {
  uint i = global_x(), x = a[i], self = lane();
  out += i * 16;
  ulong ballot = BALLOT(x & 1);
  *out++ = (uint)ballot;
  *out++ = (uint)(ballot >> 32);
  *out++ = FIRST(x);
  *out++ = READ(x, pick & 31);
  *out++ = self == (pick & 15) ? pick : x;
  *out++ = FROM(x, self ^ 9);
  *out++ = FROM(x, x);
  *out++ = TO(x, self ^ 21);
  *out++ = (uint)COMPARE(x, 0x40000000, u);
  *out++ = (uint)(COMPARE(x, 77, s) >> 32);
  *out++ = (uint)COMPARE_FLOAT((float)x, 1e9f);
  *out++ = __builtin_popcountl(ballot & (((ulong)1 << self) - 1));
  ulong all = BALLOT(true);
  *out++ = (uint)all ^ (uint)(all >> 32);
  uint uniform = FIRST(x) + READ(x, 3);
  *out++ = uniform * pick + self;
  *out++ = FIRST((uint)__builtin_popcountl(BALLOT(x > uniform))) + self;
  *out++ = self;
}

/* In branches and loops: only the lanes that are there take part. */
kernel void divergent(global uint *out, global const uint *a) {
  uint i = global_x(), x = a[i], self = lane();
  out += i * 8;
  uint r0 = 0, r1 = 0, r2 = 0, r3 = 0;
  if (x & 1) {
    r0 = (uint)__builtin_popcountl(BALLOT(x & 2));
    r1 = FIRST(x);
    if (x & 4) r2 = FROM(x, self ^ 1);
  } else {
    r3 = FIRST(self * 3);
    r2 = (uint)__builtin_popcountl(BALLOT(x & 8));
  }
  out[0] = r0;
  out[1] = r1;
  out[2] = r2;
  out[3] = r3;
  uint rounds = 0, sum = 0;
  /* Each round serves the lanes that have the value of the first one that is left. */
  for (;;) {
    uint first = FIRST(x & 7);
    uint count = (uint)__builtin_popcountl(BALLOT(first == (x & 7)));
    rounds++;
    sum = sum * 3 + count * 100 + first;
    if (first == (x & 7)) break;
  }
  out[4] = rounds;
  out[5] = sum;
  uint left = x % 11, seen = 0;
  while (left > 0) {
    seen = seen * 7 + (uint)__builtin_popcountl(BALLOT(left & 1));
    left--;
  }
  out[6] = seen;
  out[7] = (uint)(BALLOT(seen & 1) >> 3);
}

#define SWIZZLES(F) F(0x041F) F(0x081F) F(0x7C1F) F(0x0018) F(0x03E0) F(0x8000 | 0xE4) F(0x8000 | 0x1B) F(0x8000 | 0x4E) F(0x5A2D)
#define ONE_SWIZZLE(pattern) *out++ = SWIZZLE(x, pattern);

/* Row broadcasts and whole-wave shifts, which gfx11 lacks, and what it has in their place. */
#ifdef GFX11
#define WAVE_LEFT 0x161
#define WAVE_ROTATE 0x16F
#define WAVE_RIGHT 0x168
#define BROADCAST_15 0x15F
#define BROADCAST_31 0x15C
#else
#define WAVE_LEFT 0x130
#define WAVE_ROTATE 0x13C
#define WAVE_RIGHT 0x138
#define BROADCAST_15 0x142
#define BROADCAST_31 0x143
#endif

#define CONTROLS(F)                                                                                                   \
  F(0x1B, 15, 15, false) F(0xE4, 15, 15, true) F(0x4E, 5, 15, false) F(0xB1, 15, 10, true) F(0x101, 15, 15, false)    \
  F(0x101, 15, 15, true) F(0x107, 15, 15, false) F(0x10F, 10, 15, true) F(0x111, 15, 15, false) F(0x112, 15, 15, true) \
  F(0x114, 15, 14, false) F(0x118, 15, 12, false) F(0x121, 15, 15, false) F(0x128, 15, 15, true) F(0x12F, 15, 15, false) \
  F(WAVE_LEFT, 15, 15, false) F(WAVE_LEFT, 15, 15, true) F(WAVE_ROTATE ^ 8, 15, 15, true) F(WAVE_RIGHT, 15, 15, false) \
  F(WAVE_RIGHT, 15, 15, true) F(WAVE_ROTATE, 15, 15, true) F(0x140, 15, 15, false) F(0x141, 15, 15, true) F(BROADCAST_15, 10, 15, false) \
  F(BROADCAST_31, 12, 15, false) \
  F(BROADCAST_15, 15, 15, false) F(BROADCAST_31, 15, 15, true) F(0x150, 15, 15, true) F(0x157, 15, 15, false) F(0x15F, 3, 5, true)
#define ONE_CONTROL(control, rows, banks, bound) *out++ = DPP(i, x, control, rows, banks, bound);

kernel void swizzles(global uint *out, global const uint *a) {
  uint i = global_x(), x = a[i];
  out += i * 9;
  SWIZZLES(ONE_SWIZZLE)
}

kernel void dpp(global uint *out, global const uint *a) {
  uint i = global_x(), x = a[i];
  out += i * 30;
  CONTROLS(ONE_CONTROL)
}

/* The lane operation and arithmetic become one instruction. */
kernel void dpp_arithmetic(global uint *out, global const uint *a) {
  uint i = global_x(), x = a[i];
  out += i * 10;
  uint sum = x;
  sum += DPP(0, sum, 0x111, 15, 15, true);
  sum += DPP(0, sum, 0x112, 15, 15, true);
  sum += DPP(0, sum, 0x114, 15, 15, true);
  sum += DPP(0, sum, 0x118, 15, 15, true);
  sum += DPP(0, sum, BROADCAST_15, 10, 15, true);
  sum += DPP(0, sum, BROADCAST_31, 12, 15, true);
  *out++ = sum;
  uint most = x;
  most = __builtin_elementwise_max(most, (uint)DPP(0, most, 0xB1, 15, 15, true));
  most = __builtin_elementwise_max(most, (uint)DPP(0, most, 0x4E, 15, 15, true));
  most = __builtin_elementwise_max(most, (uint)DPP(0, most, 0x141, 15, 15, true));
  *out++ = most;
  *out++ = x & DPP(x, x, 0x140, 15, 15, false);
  *out++ = x ^ DPP(0, x, WAVE_ROTATE, 15, 15, true);
  *out++ = x - DPP(0, x, 0x101, 15, 15, true);
  *out++ = (uint)DPP(0, x, 0x101, 15, 15, true) - x;
  *out++ = (uint)DPP(0, x, 0x111, 15, 15, true) << (x & 31);
  union { uint bits; float value; } from = {DPP(0, 0x3F800000 + (x & 0xFFFF), 0x128, 15, 15, true)};
  *out++ = bits_float(from.value * 3);
  *out++ = bits_float(from.value + (float)(x & 255));
  *out++ = (x < (uint)DPP(0, x, 0x121, 15, 15, true)) ? i : x;
}

/* Waves of a group that share only what is in LDS: sums of waves, then of the group. */
kernel void wave_sums(global uint *out, global const uint *a, uint n) {
  WORKGROUP_ARRAY(uint, sums, 16);
  uint i = global_x(), x = i < n ? a[i] & 0xFFFFF : 0, sum = x;
  for (uint distance = 1; distance < WAVE; distance *= 2) {
    uint from = FROM(sum, lane() - distance);
    if (lane() >= distance) sum += from;
  }
  uint wave = local_x() / WAVE;
  if (lane() == WAVE - 1 || local_x() == group_size_x() - 1) sums[wave] = sum;
  workgroup_barrier();
  for (uint k = 0; k < wave; k++) sum += sums[k];
  if (i < n) out[i] = sum;
}

/* Places in a list, for all lanes of a wave at once. */
kernel void lists(global uint *out, global const uint *a) {
  WORKGROUP_ARRAY(int, counters, 2);
  WORKGROUP_ARRAY(uint, entries, 256);
  uint i = global_x(), self = local_x();
  if (self < 2) counters[self] = self * 100;
  entries[self] = 0;
  workgroup_barrier();
  ulong below = ((ulong)1 << lane()) - 1;
  if (a[i] & 1) {
    uint place = APPEND(&counters[0]) + __builtin_popcountl(BALLOT(true) & below);
    entries[place] += 1;
  } else {
    uint place = CONSUME(&counters[1]) - __builtin_popcountl(BALLOT(true) & below);
    entries[place] += 256;
  }
  workgroup_barrier();
  out[i] = entries[self] + counters[0] * 0x10000 + counters[1] * 0x1000000;
}

#ifdef GFX11

#ifdef __AMDGCN__
#define DPP8(value, selectors) __builtin_amdgcn_mov_dpp8(value, selectors)
#define PERM_ROW(old, value, low, high, fetch, bound) __builtin_amdgcn_permlane16(old, value, low, high, fetch, bound)
#define PERM_OTHER_ROW(old, value, low, high, fetch, bound) __builtin_amdgcn_permlanex16(old, value, low, high, fetch, bound)
#else
#define DPP8(value, selectors) host_dpp8(__LINE__, value, selectors)
static uint host_dpp8(int site, uint value, uint selectors) {
  return host_lane(site, value, (lane() & ~7u) | (selectors >> lane() % 8 * 3 & 7));
}
/* `flip`: 16 to read the other row of the half. */
static uint host_perm_row(int site, uint old, uint value, ulong selectors, bool fetch, bool bound, uint flip) {
  const Exchange *all = host_exchange(site, value);
  uint at = ((lane() & ~15u) | (selectors >> lane() % 16 * 4 & 15)) ^ flip;
  if (all->mask >> at & 1) return (uint)all->values[at];
  return bound ? 0 : old;
}
#define PERM_ROW(old, value, low, high, fetch, bound) \
  host_perm_row(__LINE__, old, value, (ulong)(high) << 32 | (low), fetch, bound, 0)
#define PERM_OTHER_ROW(old, value, low, high, fetch, bound) \
  host_perm_row(__LINE__, old, value, (ulong)(high) << 32 | (low), fetch, bound, 16)
#endif

/* What gfx11 has besides. */
kernel void permutes(global uint *out, global const uint *a, uint low, uint high) {
  uint i = global_x(), x = a[i];
  out += i * 8;
  *out++ = DPP8(x, 0x053977);
  *out++ = DPP8(x, 0xFAC688) + x;
  *out++ = PERM_ROW(i, x, low, high, false, true);
  *out++ = PERM_ROW(i, x, high, low, false, false);
  *out++ = PERM_OTHER_ROW(i, x, low, high, false, true);
  *out++ = PERM_OTHER_ROW(x, i, high, low, false, false);
  uint mine = x & 3, sum = 0;
  if (mine) sum = PERM_ROW(7, x, 0x76543210, 0xFEDCBA98, false, false) + PERM_OTHER_ROW(9, x, low, high, false, false);
  *out++ = sum;
  *out++ = DPP8(x, 0x688FAC) & x;
}

#endif
