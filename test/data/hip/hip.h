/*
 * The part of HIP's language that the kernels of this folder use, in one source for a GPU and for this machine, where host.h of
 * OpenCL's kernels plays the grid. Blocks are whole; ballots are of WAVE lanes, shuffles reach SHUFFLE_WIDTH of them.
 */
#ifndef HIP_H
#define HIP_H

typedef unsigned char uchar;
typedef unsigned int uint;
typedef unsigned long ulong;

#ifdef __HIP__

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(size) __attribute__((launch_bounds(size)))
#define __noinline__ __attribute__((noinline))

#define ITEM(axis)                                                                                \
  __device__ inline uint local_##axis() { return __builtin_amdgcn_workitem_id_##axis(); }         \
  __device__ inline uint group_##axis() { return __builtin_amdgcn_workgroup_id_##axis(); }        \
  __device__ inline uint group_size_##axis() { return __builtin_amdgcn_workgroup_size_##axis(); } \
  __device__ inline uint grid_size_##axis() { return __builtin_amdgcn_grid_size_##axis(); }
ITEM(x)
ITEM(y)
ITEM(z)

__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline uint lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
__device__ inline ulong exchanged(ulong value, uint from) {
  uint low = __builtin_amdgcn_ds_bpermute(from << 2, (uint)value);
  return (ulong)(uint)__builtin_amdgcn_ds_bpermute(from << 2, (uint)(value >> 32)) << 32 | low;
}
#define EXCHANGED(value, from) exchanged(value, from)
#define __ballot(condition) __builtin_amdgcn_ballot_w64(condition)

extern __shared__ __attribute__((aligned(16))) uchar dynamic_shared[];

#else

#define __global__
#define __device__
#define __constant__
#define __shared__ static
#define __launch_bounds__(size)
#define __noinline__ __attribute__((noinline))
#include "host.h"

#define __syncthreads workgroup_barrier
#define EXCHANGED(value, from) host_exchange(__LINE__, value)->values[from]
#define __ballot(condition) host_ballot(__LINE__, condition)

static ulong host_ballot(int site, bool condition) {
  const Exchange *all = host_exchange(site, condition);
  ulong ballot = 0;
  for (uint i = 0; i < WAVE; i++) ballot |= all->values[i] << i;
  return ballot;
}

alignas(16) static uchar dynamic_shared[65536];

#endif

struct Index {
  uint x, y, z;
};
#define threadIdx (Index{local_x(), local_y(), local_z()})
#define blockIdx (Index{group_x(), group_y(), group_z()})
#define blockDim (Index{group_size_x(), group_size_y(), group_size_z()})
#define gridDim \
  (Index{grid_size_x() / group_size_x(), grid_size_y() / group_size_y(), grid_size_z() / group_size_z()})

/* RDNA3 ISA 12.5.2: in waves of 64 lanes, each half is on its own. */
#ifdef GFX11
#define SHUFFLE_WIDTH 32
#else
#define SHUFFLE_WIDTH WAVE
#endif

template <typename T> __device__ ulong bits_of(T value) {
  ulong bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <typename T> __device__ T of_bits(ulong bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
/* A value of up to 64 bits from another lane; macros, so that each use is a line of its own on this machine. */
#define __shfl(T, value, from) of_bits<T>(EXCHANGED(bits_of<T>(value), from))
#define __shfl_xor(T, value, mask) __shfl(T, value, lane() ^ (mask))
#define __shfl_up(T, value, by) __shfl(T, value, lane() % SHUFFLE_WIDTH < (by) ? lane() : lane() - (by))

template <typename T> __device__ T atomicAdd(T *to, T value) {
  return __scoped_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <typename T> __device__ T atomicMax(T *to, T value) {
  return __scoped_atomic_fetch_max(to, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
/* Returns what was there. */
template <typename T> __device__ T atomicCAS(T *to, T expected, T value) {
  __scoped_atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
  return expected;
}

#endif
