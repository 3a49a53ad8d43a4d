/*
 * OpenCL's built-in functions of work-groups and sub-groups, which AMD's device libraries implement. Groups may be cut, so that
 * their last wave is not full.
 */
#include "kernel.h"

#ifdef __AMDGCN__

#pragma OPENCL EXTENSION cl_khr_subgroups : enable
/* What the device libraries ask: the version that their folder of processors has no file for. */
constant int __oclc_ISA_version = DEVICE_VERSION;
#define F(T, name, ...) name(__VA_ARGS__)

#else

#define F(T, name, ...) host_##name##_##T(__VA_ARGS__)

enum { ADD, MIN, MAX };
#define FOLDS(T, LEAST, GREATEST)                                                                           \
  static T values_##T[MAX_ITEMS];                                                                           \
  /* Of the numbers that the work-items `from` to `to` of the group have. */                                \
  static T fold_##T(int operation, T x, uint from, uint to) {                                               \
    T result = operation == ADD ? 0 : operation == MIN ? GREATEST : LEAST;                                  \
    values_##T[local_x()] = x;                                                                              \
    workgroup_barrier();                                                                                    \
    for (uint k = from; k < to; k++) {                                                                      \
      T other = values_##T[k];                                                                              \
      result = operation == ADD ? result + other : (operation == MIN) == (other < result) ? other : result; \
    }                                                                                                       \
    workgroup_barrier();                                                                                    \
    return result;                                                                                          \
  }                                                                                                         \
  FOLDS_OF(T, work_group, 0, group_size_x())                                                                \
  FOLDS_OF(T, sub_group, FIRST_OF_WAVE, group_size_x() < FIRST_OF_WAVE + WAVE ? group_size_x() : FIRST_OF_WAVE + WAVE)
#define FIRST_OF_WAVE (local_x() / WAVE * WAVE)
#define FOLDS_OF(T, group, from, to) \
  FOLD(T, group, add, ADD, from, to) \
  FOLD(T, group, min, MIN, from, to) \
  FOLD(T, group, max, MAX, from, to) \
  static T host_##group##_broadcast_##T(T x, uint at) { return fold_##T(ADD, x, from + at, from + at + 1); }
#define FOLD(T, group, name, operation, from, to)                                                                  \
  static T host_##group##_reduce_##name##_##T(T x) { return fold_##T(operation, x, from, to); }                    \
  static T host_##group##_scan_inclusive_##name##_##T(T x) { return fold_##T(operation, x, from, local_x() + 1); } \
  static T host_##group##_scan_exclusive_##name##_##T(T x) { return fold_##T(operation, x, from, local_x()); }
FOLDS(int, -0x7FFFFFFF - 1, 0x7FFFFFFF)
FOLDS(uint, 0, ~0u)
FOLDS(long, -0x7FFFFFFFFFFFFFFF - 1, 0x7FFFFFFFFFFFFFFF)
FOLDS(ulong, 0, ~0ul)
FOLDS(float, -__builtin_inff(), __builtin_inff())
FOLDS(double, -__builtin_inf(), __builtin_inf())
static int host_work_group_all_int(int x) { return host_work_group_reduce_min_int(x != 0); }
static int host_work_group_any_int(int x) { return host_work_group_reduce_max_int(x != 0); }
static int host_sub_group_all_int(int x) { return host_sub_group_reduce_min_int(x != 0); }
static int host_sub_group_any_int(int x) { return host_sub_group_reduce_max_int(x != 0); }

#endif

#define PUT(value) *out++ = (value)
#define FUNCTIONS(T, group)                 \
  PUT(F(T, group##_reduce_add, x));         \
  PUT(F(T, group##_reduce_min, x));         \
  PUT(F(T, group##_reduce_max, x));         \
  PUT(F(T, group##_scan_inclusive_add, x)); \
  PUT(F(T, group##_scan_inclusive_min, x)); \
  PUT(F(T, group##_scan_inclusive_max, x)); \
  PUT(F(T, group##_scan_exclusive_add, x)); \
  PUT(F(T, group##_scan_exclusive_min, x)); \
  PUT(F(T, group##_scan_exclusive_max, x)); \
  PUT(F(T, group##_broadcast, x, 3));       \
  PUT(F(int, group##_all, x > 0) != 0);     \
  PUT(F(int, group##_any, x > 0) != 0);

#define KERNEL(T)                                            \
  kernel void groups_##T(global T *out, global const T *a) { \
    T x = a[global_x()];                                     \
    out += global_x() * 24;                                  \
    FUNCTIONS(T, work_group)                                 \
    FUNCTIONS(T, sub_group)                                  \
  }
KERNEL(int)
KERNEL(uint)
KERNEL(long)
KERNEL(ulong)
KERNEL(float)
KERNEL(double)
