/*
 * What the kernels of this folder are written with. One source is OpenCL C for a GPU, C for a GPU, and C for this machine, where
 * host.h plays the grid. WAVE is the number of lanes of a wave; GFX11 is defined for GPUs of that generation and their hosts.
 */
#ifndef KERNEL_H
#define KERNEL_H

#ifdef __OPENCL_C_VERSION__

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define TABLE constant
#define WORKGROUP_ARRAY(T, name, size) local T name[size] __attribute__((aligned(16)))

#else

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef _Bool bool;
#define half _Float16
#define true 1
#define false 0

#define VECTORS(T)                                        \
  typedef T T##2 __attribute__((ext_vector_type(2)));     \
  typedef T T##3 __attribute__((ext_vector_type(3)));     \
  typedef T T##4 __attribute__((ext_vector_type(4)));     \
  typedef T T##8 __attribute__((ext_vector_type(8)));     \
  typedef T T##16 __attribute__((ext_vector_type(16)));
VECTORS(char)
VECTORS(uchar)
VECTORS(short)
VECTORS(ushort)
VECTORS(int)
VECTORS(uint)
VECTORS(long)
VECTORS(ulong)
VECTORS(half)
VECTORS(float)
VECTORS(double)

#define global
#define constant __attribute__((address_space(4)))
#define TABLE static const

#endif

#ifdef __AMDGCN__

#ifndef __OPENCL_C_VERSION__
#define kernel __attribute__((amdgpu_kernel, visibility("protected")))
#define local __attribute__((address_space(3)))
#define WORKGROUP_ARRAY(T, name, size) static __attribute__((address_space(3), loader_uninitialized, aligned(16))) T name[size]
#endif

typedef const constant struct {
  uint group_count[3];
  ushort full_size[3], cut_size[3];
} HiddenArguments;
static inline HiddenArguments *hidden_arguments(void) {
  return (HiddenArguments *)__builtin_amdgcn_implicitarg_ptr();
}

/* `group_size` counts the work-items that the group has, `full_size` those of a group that is not cut at the edge of the grid. */
#define ITEM(axis, at)                                                                         \
  static inline uint local_##axis(void) { return __builtin_amdgcn_workitem_id_##axis(); }        \
  static inline uint group_##axis(void) { return __builtin_amdgcn_workgroup_id_##axis(); }       \
  static inline uint full_size_##axis(void) { return __builtin_amdgcn_workgroup_size_##axis(); } \
  static inline uint grid_size_##axis(void) { return __builtin_amdgcn_grid_size_##axis(); }      \
  static inline uint group_size_##axis(void) {                                                 \
    HiddenArguments *hidden = hidden_arguments();                                              \
    return group_##axis() < hidden->group_count[at] ? hidden->full_size[at] : hidden->cut_size[at]; \
  }
ITEM(x, 0)
ITEM(y, 1)
ITEM(z, 2)

/* In C too, calls must not move into branches. */
static inline __attribute__((convergent)) void workgroup_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static inline uint lane(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

#else
#undef constant
#define constant
#include "host.h"
#endif

static inline uint global_x(void) { return group_x() * full_size_x() + local_x(); }
static inline uint global_y(void) { return group_y() * full_size_y() + local_y(); }
static inline uint global_z(void) { return group_z() * full_size_z() + local_z(); }

#define NOINLINE static __attribute__((noinline))
#define PURE static inline __attribute__((unused))

/* The same bits as another type. All NaNs are one: their sign and payload depend on the machine. */
#define BITS(F, U, NAN_BITS)                  \
  PURE U plain_bits_##F(F value) {              \
    union { F value; U bits; } both = {value};  \
    return both.bits;                           \
  }                                             \
  PURE U bits_##F(F value) { return value != value ? NAN_BITS : plain_bits_##F(value); }
BITS(half, ushort, 0x7E00)
BITS(float, uint, 0x7FC00000)
BITS(double, ulong, 0x7FF8000000000000)

/* Attributes that clang knows in OpenCL C only. */
#ifdef __OPENCL_C_VERSION__
#define FIXED_GROUP(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#define GROUP_UP_TO(size) __attribute__((amdgpu_flat_work_group_size(1, size)))
#define REGISTERS(count) __attribute__((amdgpu_num_vgpr(count)))
#else
#define FIXED_GROUP(x, y, z)
#define GROUP_UP_TO(size)
#define REGISTERS(count)
#endif

#endif
