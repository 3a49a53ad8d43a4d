/* Atomic operations of many lanes on the same memory; what is compared does not depend on their order. */
#include "kernel.h"

#define DEVICE __MEMORY_SCOPE_DEVICE
#define GROUP __MEMORY_SCOPE_WRKGRP
#define SYSTEM __MEMORY_SCOPE_SYSTEM
#define ADD(scope, pointer, value) __scoped_atomic_fetch_add(pointer, value, __ATOMIC_RELAXED, scope)

#define CELLS 14

/* What the operations with one cell give is the same in any order; the sum of a cell and of all that was exchanged for it, too. */
#define OPERATIONS(T, SCOPE, ORDER, to, x, i)                                                                  \
  __scoped_atomic_fetch_add(&to[0], x, ORDER, SCOPE);                                                          \
  __scoped_atomic_fetch_sub(&to[1], x, ORDER, SCOPE);                                                          \
  __scoped_atomic_fetch_and(&to[2], (T)-1 << (x & 7), ORDER, SCOPE);                                           \
  __scoped_atomic_fetch_or(&to[3], x & 0x1248, ORDER, SCOPE);                                                  \
  __scoped_atomic_fetch_xor(&to[4], x, ORDER, SCOPE);                                                          \
  __scoped_atomic_fetch_min(&to[5], x, ORDER, SCOPE);                                                          \
  __scoped_atomic_fetch_max(&to[6], x, ORDER, SCOPE);                                                          \
  __scoped_atomic_fetch_add(&to[7], __scoped_atomic_exchange_n(&to[8], x, ORDER, SCOPE), ORDER, SCOPE);        \
  __scoped_atomic_fetch_add(&to[9], __scoped_atomic_fetch_add(&to[10], (T)1, ORDER, SCOPE), ORDER, SCOPE);     \
  __scoped_atomic_fetch_xor(&to[11], __scoped_atomic_fetch_sub(&to[12], (T)1, ORDER, SCOPE), ORDER, SCOPE);    \
  {                                                                                                            \
    T seen = __scoped_atomic_load_n(&to[13], __ATOMIC_RELAXED, SCOPE);                                         \
    while (!__scoped_atomic_compare_exchange_n(&to[13], &seen, seen + (x ^ 3), false, ORDER, __ATOMIC_RELAXED, SCOPE)) {} \
  }

/* On eight cells of its own every lane can look at the old values. */
#define OLD_VALUES(T, SCOPE, ORDER, out, to, x)                             \
  *out++ = __scoped_atomic_fetch_add(&to[0], x, ORDER, SCOPE);              \
  *out++ = __scoped_atomic_fetch_sub(&to[1], x, ORDER, SCOPE);              \
  *out++ = __scoped_atomic_fetch_and(&to[2], x, ORDER, SCOPE);              \
  *out++ = __scoped_atomic_fetch_or(&to[2], x + 1, ORDER, SCOPE);           \
  *out++ = __scoped_atomic_fetch_xor(&to[3], x, ORDER, SCOPE);              \
  *out++ = __scoped_atomic_fetch_min(&to[4], x, ORDER, SCOPE);              \
  *out++ = __scoped_atomic_fetch_max(&to[5], x, ORDER, SCOPE);              \
  *out++ = __scoped_atomic_fetch_nand(&to[6], x, ORDER, SCOPE);             \
  *out++ = __scoped_atomic_exchange_n(&to[7], x, ORDER, SCOPE);             \
  {                                                                         \
    T expected = x & 1 ? x : x + 1;                                         \
    T same = __scoped_atomic_compare_exchange_n(&to[7], &expected, x * 3, false, ORDER, __ATOMIC_RELAXED, SCOPE); \
    *out++ = expected + same;                                               \
  }                                                                         \
  for (int k = 0; k < 8; k++) *out++ = __scoped_atomic_load_n(&to[k], __ATOMIC_RELAXED, SCOPE);

#define INTEGERS(NAME, T)                                                                                           \
  /* The last one adds what can only be compared as a sum. */                                                       \
  kernel void global_##NAME(global T *cells, global uint *done, global const T *a, uint n) {                        \
    uint i = global_x();                                                                                            \
    if (i >= n) return;                                                                                             \
    T x = a[i];                                                                                                     \
    OPERATIONS(T, DEVICE, __ATOMIC_RELAXED, cells, x, i)                                                            \
    if (__scoped_atomic_fetch_add(done, 1u, __ATOMIC_ACQ_REL, DEVICE) != n - 1) return;                             \
    cells[7] += cells[8];                                                                                           \
    cells[8] = 0;                                                                                                   \
  }                                                                                                                 \
  kernel void ordered_##NAME(global T *cells, global uint *done, global const T *a, uint n) {                       \
    uint i = global_x();                                                                                            \
    if (i >= n) return;                                                                                             \
    T x = a[i];                                                                                                     \
    OPERATIONS(T, SYSTEM, __ATOMIC_SEQ_CST, cells, x, i)                                                            \
    if (__scoped_atomic_fetch_add(done, 1u, __ATOMIC_SEQ_CST, SYSTEM) != n - 1) return;                             \
    cells[7] += cells[8];                                                                                           \
    cells[8] = 0;                                                                                                   \
  }                                                                                                                 \
  /* Cells in LDS, and with generic pointers in LDS or in global memory, another for every lane. */                 \
  kernel void group_##NAME(global T *out, local T *cells, global const T *a, uint n) {                              \
    uint i = global_x(), self = local_x();                                                                          \
    out += group_x() * 3 * CELLS;                                                                                   \
    if (self < CELLS) {                                                                                             \
      cells[self] = (T)(self * 0x9E3779B97F4A7C15);                                                                 \
      cells[self + CELLS] = (T)~(self * 0x9E3779B97F4A7C15);                                                        \
    }                                                                                                               \
    workgroup_barrier();                                                                                            \
    if (i < n) {                                                                                                    \
      T x = a[i];                                                                                                   \
      OPERATIONS(T, GROUP, __ATOMIC_RELAXED, cells, x, i)                                                           \
      T *other = i & 1 ? (T *)cells + CELLS : (T *)out + 2 * CELLS;                                                 \
      OPERATIONS(T, DEVICE, __ATOMIC_ACQ_REL, other, x, i)                                                          \
    }                                                                                                               \
    workgroup_barrier();                                                                                            \
    if (self < 2 * CELLS) out[self] = cells[self];                                                                  \
    workgroup_barrier();                                                                                            \
    if (self > 2) return;                                                                                           \
    out += self * CELLS;                                                                                            \
    out[7] += out[8];                                                                                               \
    out[8] = 0;                                                                                                     \
  }                                                                                                                 \
  kernel void old_##NAME(global T *out, local T *cells, global T *to, global const T *a, uint n) {                  \
    uint i = global_x(), self = local_x();                                                                          \
    if (i >= n) return;                                                                                             \
    T x = a[i];                                                                                                     \
    local T *mine = cells + self * 8;                                                                               \
    for (int k = 0; k < 8; k++) mine[k] = x * k + 5;                                                                \
    T *any = i % 3 == 0 ? (T *)mine : (T *)to + i * 8;                                                              \
    out += i * 54;                                                                                                  \
    to += i * 8;                                                                                                    \
    OLD_VALUES(T, DEVICE, __ATOMIC_RELAXED, out, to, x)                                                             \
    OLD_VALUES(T, GROUP, __ATOMIC_ACQ_REL, out, mine, x)                                                            \
    OLD_VALUES(T, DEVICE, __ATOMIC_RELAXED, out, any, x)                                                            \
  }
INTEGERS(i32, int)
INTEGERS(u32, uint)
INTEGERS(i64, long)
INTEGERS(u64, ulong)

/* Sums of small whole numbers are exact, whatever their order. */
#define FLOATS(NAME, T)                                                                              \
  kernel void float_##NAME(global T *cells, local T *sums, global const T *a, uint n) {              \
    uint i = global_x(), self = local_x();                                                           \
    if (self < 6) sums[self] = 20 + self;                                                             \
    workgroup_barrier();                                                                             \
    if (i < n) {                                                                                     \
      T x = a[i];                                                                                    \
      ADD(DEVICE, &cells[0], x);                                                                     \
      ADD(DEVICE, &cells[1 + (i & 1)], (T)(x * 2));                                                  \
      __scoped_atomic_fetch_sub(&cells[3], x, __ATOMIC_RELAXED, DEVICE);                             \
      __scoped_atomic_fetch_min(&cells[4], x, __ATOMIC_RELAXED, DEVICE);                             \
      __scoped_atomic_fetch_max(&cells[5], x, __ATOMIC_RELAXED, DEVICE);                             \
      ADD(GROUP, &sums[0], x);                                                                       \
      __scoped_atomic_fetch_sub(&sums[1], x, __ATOMIC_RELAXED, GROUP);                               \
      __scoped_atomic_fetch_min(&sums[2], x, __ATOMIC_RELAXED, GROUP);                               \
      __scoped_atomic_fetch_max(&sums[3], x, __ATOMIC_RELAXED, GROUP);                               \
      /* Every old value counts once. */                                                             \
      T old = ADD(DEVICE, &cells[6], (T)1);                                                          \
      ADD(DEVICE, &cells[7], old);                                                                   \
      old = ADD(GROUP, &sums[4 + (i & 1)], (T)1);                                                    \
      ADD(DEVICE, &cells[8], old);                                                                   \
      T *any = i & 1 ? (T *)&sums[0] : (T *)&cells[9];                                               \
      ADD(DEVICE, any, x);                                                                           \
    }                                                                                                \
    workgroup_barrier();                                                                             \
    if (self < 6) cells[10 + group_x() * 6 + self] = sums[self];                                     \
  }
FLOATS(f32, float)
FLOATS(f64, double)

#ifdef __AMDGCN__

#ifdef __OPENCL_C_VERSION__
#define IN_GLOBAL(T, pointer) (global T *)(pointer)
#else
#define IN_GLOBAL(T, pointer) (__attribute__((address_space(1))) T *)(pointer)
#endif
#define FENCE() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "")
#define INC(BITS, pointer, limit) __builtin_amdgcn_atomic_inc##BITS(pointer, limit, __ATOMIC_RELAXED, "agent")
#define DEC(BITS, pointer, limit) __builtin_amdgcn_atomic_dec##BITS(pointer, limit, __ATOMIC_RELAXED, "workgroup")
#define GLOBAL_ADD(NAME, T, pointer, value) __builtin_amdgcn_global_atomic_fadd_##NAME(IN_GLOBAL(T, pointer), (T)(value))
#define GLOBAL_MIN(pointer, value) __builtin_amdgcn_global_atomic_fmin_f64(IN_GLOBAL(double, pointer), (double)(value))
#define GLOBAL_MAX(pointer, value) __builtin_amdgcn_global_atomic_fmax_f64(IN_GLOBAL(double, pointer), (double)(value))
#define FLAT_ADD(pointer, value) __builtin_amdgcn_flat_atomic_fadd_f64(pointer, (double)(value))
#define FLAT_MIN(pointer, value) __builtin_amdgcn_flat_atomic_fmin_f64(pointer, (double)(value))
#define FLAT_MAX(pointer, value) __builtin_amdgcn_flat_atomic_fmax_f64(pointer, (double)(value))
#define LOCAL_ADD_F64(pointer, value) __builtin_amdgcn_ds_atomic_fadd_f64(pointer, (double)(value))
#define LOCAL_ADD_F32(pointer, value) __builtin_amdgcn_ds_faddf(pointer, value, 0, 0, false)
#define LOCAL_MIN_F32(pointer, value) __builtin_amdgcn_ds_fminf(pointer, value, 0, 0, false)
#define LOCAL_MAX_F32(pointer, value) __builtin_amdgcn_ds_fmaxf(pointer, value, 0, 0, false)

#else

#define FENCE()
#define INC(BITS, pointer, limit) host_inc##BITS(pointer, limit)
#define DEC(BITS, pointer, limit) host_dec##BITS(pointer, limit)
#define WRAP(BITS, T)                                \
  static T host_inc##BITS(T *at, T limit) {           \
    T old = *at;                                     \
    *at = old >= limit ? 0 : old + 1;                \
    return old;                                      \
  }                                                  \
  static T host_dec##BITS(T *at, T limit) {           \
    T old = *at;                                     \
    *at = old == 0 || old > limit ? limit : old - 1; \
    return old;                                      \
  }
WRAP(32, uint)
WRAP(64, ulong)
#define CHANGE(NAME, T, EXPRESSION)            \
  static T host_##NAME(T *at, T value) {        \
    T old = *at;                               \
    *at = EXPRESSION;                          \
    return old;                                \
  }
CHANGE(add_f32, float, old + value)
CHANGE(min_f32, float, old < value ? old : value)
CHANGE(max_f32, float, old > value ? old : value)
CHANGE(add_f64, double, old + value)
CHANGE(min_f64, double, old < value ? old : value)
CHANGE(max_f64, double, old > value ? old : value)
CHANGE(add_v2f16, half2, old + value)
#define GLOBAL_ADD(NAME, T, pointer, value) host_add_##NAME(pointer, value)
#define GLOBAL_MIN host_min_f64
#define GLOBAL_MAX host_max_f64
#define FLAT_ADD host_add_f64
#define FLAT_MIN host_min_f64
#define FLAT_MAX host_max_f64
#define LOCAL_ADD_F64 host_add_f64
#define LOCAL_ADD_F32 host_add_f32
#define LOCAL_MIN_F32 host_min_f32
#define LOCAL_MAX_F32 host_max_f32

#endif

/* The instructions for floats, with and without the old value. */
kernel void float_instructions(global double *f64, global float *f32, global half2 *f16, global const float *a, uint n) {
  WORKGROUP_ARRAY(double, doubles, 2);
  WORKGROUP_ARRAY(float, floats, 6);
  uint i = global_x(), self = local_x();
  if (self < 2) doubles[self] = 0;
  if (self < 6) floats[self] = 20;
  workgroup_barrier();
  if (i < n) {
    float x = a[i];
    GLOBAL_ADD(f32, float, &f32[0], x);
    LOCAL_ADD_F32(&floats[0], x);
    LOCAL_MIN_F32(&floats[1], x);
    LOCAL_MAX_F32(&floats[2], x);
    float old_float = LOCAL_ADD_F32(&floats[3], 1);
    LOCAL_ADD_F32(&floats[4], old_float);
#ifndef GFX11 /* which has no instructions for doubles and pairs */
    GLOBAL_ADD(f64, double, &f64[0], x);
    GLOBAL_MIN(&f64[1], x);
    GLOBAL_MAX(&f64[2], x);
    FLAT_ADD((double *)&f64[3], x);
    FLAT_MIN((double *)&f64[4], x);
    FLAT_MAX((double *)&f64[5], x);
    double old = FLAT_ADD(i & 1 ? (double *)&doubles[0] : (double *)&f64[6], 1);
    if (i & 1) LOCAL_ADD_F64(&doubles[1], old);
    else GLOBAL_ADD(f64, double, &f64[7], old);
    half2 pair = {1, 2};
    GLOBAL_ADD(v2f16, half2, &f16[self & 7], pair);
    /* Cells of its own. */
    double small = GLOBAL_MIN(&f64[100 + i], x), large = GLOBAL_MAX(&f64[100 + i], -x);
    f64[100 + i] += small * 3 + large * 5 + GLOBAL_ADD(f64, double, &f64[100 + i], 1);
#endif
  }
  workgroup_barrier();
  if (self < 2) f64[10 + group_x() * 2 + self] = doubles[self];
  if (self < 5) f32[10 + group_x() * 5 + self] = floats[self];
}

/* Counters that wrap. */
kernel void wrapping(global uint *words, global ulong *longs, uint n) {
  WORKGROUP_ARRAY(uint, counters, 4);
  WORKGROUP_ARRAY(ulong, long_counters, 4);
  uint i = global_x(), self = local_x();
  if (self < 4) {
    counters[self] = self * 9;
    long_counters[self] = self * 7;
  }
  workgroup_barrier();
  if (i < n) {
    INC(32, &words[0], 12);
    DEC(32, &words[1], 9);
    ADD(DEVICE, &words[2], INC(32, &words[3], 10));
    ADD(DEVICE, &words[4], DEC(32, &words[5], 11));
    INC(64, &longs[0], 13ul);
    DEC(64, &longs[1], 14ul);
    ADD(DEVICE, &longs[2], INC(64, &longs[3], 15ul));
    ADD(DEVICE, &longs[4], DEC(64, &longs[5], 16ul));
    INC(32, &counters[0], 7);
    DEC(32, &counters[1], 6);
    ADD(DEVICE, &words[6], INC(32, &counters[2], 5));
    ADD(DEVICE, &words[6], DEC(32, &counters[3], 4));
    INC(64, &long_counters[0], 7ul);
    DEC(64, &long_counters[1], 6ul);
    ADD(DEVICE, &longs[6], INC(64, &long_counters[2], 5ul));
    ADD(DEVICE, &longs[6], DEC(64, &long_counters[3], 4ul));
  }
  workgroup_barrier();
  if (self < 4) {
    words[8 + group_x() * 4 + self] = counters[self];
    longs[8 + group_x() * 4 + self] = long_counters[self];
  }
}

/* A ticket for everyone, loops that wait for an exchange, bytes and halves, fences. */
kernel void tickets(global uint *next, global uint *owner, global uint *sum, uint n) {
  uint i = global_x();
  if (i >= n) return;
  uint ticket = ADD(DEVICE, next, 1u);
  ADD(DEVICE, &owner[ticket], 1u);
  uint seen = __scoped_atomic_load_n(sum, __ATOMIC_ACQUIRE, DEVICE);
  while (!__scoped_atomic_compare_exchange_n(sum, &seen, seen + i, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, DEVICE)) {}
  __scoped_atomic_store_n(&owner[n + i], i, __ATOMIC_RELEASE, SYSTEM);
  FENCE();
  __scoped_atomic_store_n((global uchar *)&owner[2 * n + i], (uchar)i, __ATOMIC_SEQ_CST, DEVICE);
  __scoped_atomic_store_n((global ushort *)&owner[2 * n + i] + 1, (ushort)(i * 3), __ATOMIC_RELAXED, DEVICE);
  owner[3 * n + i] = __scoped_atomic_load_n((global uchar *)&owner[2 * n + i], __ATOMIC_SEQ_CST, DEVICE);
  ADD(DEVICE, (global uchar *)&owner[4 * n + i / 4] + i % 4, (uchar)i);
  ADD(DEVICE, (global ushort *)&owner[5 * n + i / 8], (ushort)i);
}
