/*
 * What a program may ask of the GPU it runs on: identifiers, the workgroup's barrier, workgroup memory, atomics.
 *
 * The same names exist in a build for the host, where host.c runs every work-item of a grid, so that a program's source is the
 * same on both sides and its outputs can be compared.
 */
#ifndef GPU_H
#define GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __AMDGCN__

static inline uint32_t thread_id_x(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline uint32_t thread_id_y(void) { return __builtin_amdgcn_workitem_id_y(); }
static inline uint32_t thread_id_z(void) { return __builtin_amdgcn_workitem_id_z(); }
static inline uint32_t block_id_x(void) { return __builtin_amdgcn_workgroup_id_x(); }
static inline uint32_t block_id_y(void) { return __builtin_amdgcn_workgroup_id_y(); }
static inline uint32_t block_id_z(void) { return __builtin_amdgcn_workgroup_id_z(); }

/* Start of the hidden kernel arguments of code object versions 5 and 6. */
typedef const __attribute__((address_space(4))) struct {
  uint32_t block_count[3];
  uint16_t group_size[3];
} HiddenArguments;
static inline HiddenArguments *hidden_arguments(void) {
  return (HiddenArguments *)__builtin_amdgcn_implicitarg_ptr();
}

static inline uint32_t num_threads_x(void) { return hidden_arguments()->group_size[0]; }
static inline uint32_t num_threads_y(void) { return hidden_arguments()->group_size[1]; }
static inline uint32_t num_threads_z(void) { return hidden_arguments()->group_size[2]; }
static inline uint32_t num_blocks_x(void) { return hidden_arguments()->block_count[0]; }
static inline uint32_t num_blocks_y(void) { return hidden_arguments()->block_count[1]; }
static inline uint32_t num_blocks_z(void) { return hidden_arguments()->block_count[2]; }

/* All work-items of the block wait for each other and see each other's writes. */
static inline void workgroup_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* For loops that wait for another wave. */
static inline void wave_pause(void) { __builtin_amdgcn_s_sleep(2); }

/* Storage class of a variable of which every block has its own (LDS), without an initial value. */
#define WORKGROUP_SHARED static __attribute__((address_space(3), loader_uninitialized))

/* Atomic operations between all work-items of the device. */
#define atomic_add(pointer, value) __scoped_atomic_fetch_add(pointer, value, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE)
#define atomic_load(pointer) __scoped_atomic_load_n(pointer, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE)
#define atomic_store(pointer, value) __scoped_atomic_store_n(pointer, value, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE)
#define atomic_compare_exchange(pointer, expected, value)                                              \
  __scoped_atomic_compare_exchange_n(pointer, expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, \
                                     __MEMORY_SCOPE_DEVICE)

#elif defined(__NVPTX__)

static inline uint32_t thread_id_x(void) { return __nvvm_read_ptx_sreg_tid_x(); }
static inline uint32_t thread_id_y(void) { return __nvvm_read_ptx_sreg_tid_y(); }
static inline uint32_t thread_id_z(void) { return __nvvm_read_ptx_sreg_tid_z(); }
static inline uint32_t block_id_x(void) { return __nvvm_read_ptx_sreg_ctaid_x(); }
static inline uint32_t block_id_y(void) { return __nvvm_read_ptx_sreg_ctaid_y(); }
static inline uint32_t block_id_z(void) { return __nvvm_read_ptx_sreg_ctaid_z(); }
static inline uint32_t num_threads_x(void) { return __nvvm_read_ptx_sreg_ntid_x(); }
static inline uint32_t num_threads_y(void) { return __nvvm_read_ptx_sreg_ntid_y(); }
static inline uint32_t num_threads_z(void) { return __nvvm_read_ptx_sreg_ntid_z(); }
static inline uint32_t num_blocks_x(void) { return __nvvm_read_ptx_sreg_nctaid_x(); }
static inline uint32_t num_blocks_y(void) { return __nvvm_read_ptx_sreg_nctaid_y(); }
static inline uint32_t num_blocks_z(void) { return __nvvm_read_ptx_sreg_nctaid_z(); }

/* All work-items of the block wait for each other and see each other's writes. */
static inline void workgroup_barrier(void) { __syncthreads(); }

/* For loops that wait for another wave. */
static inline void wave_pause(void) { __nvvm_nanosleep(64); }

/* Storage class of a variable of which every block has its own (shared memory), without an initial value. */
#define WORKGROUP_SHARED static __attribute__((address_space(3), loader_uninitialized))

/* Atomic operations between all work-items of the device; LLVM 19 has no ordered loads and stores for NVPTX. */
#define atomic_add(pointer, value) __atomic_fetch_add(pointer, value, __ATOMIC_ACQ_REL)
#define atomic_load(pointer)                                                      \
  ({                                                                              \
    __typeof__(*(pointer)) loaded = __atomic_load_n(pointer, __ATOMIC_RELAXED);   \
    __nvvm_membar_gl();                                                           \
    loaded;                                                                       \
  })
#define atomic_store(pointer, value) (__nvvm_membar_gl(), __atomic_store_n(pointer, value, __ATOMIC_RELAXED))
#define atomic_compare_exchange(pointer, expected, value) \
  __atomic_compare_exchange_n(pointer, expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#else

typedef struct {
  uint32_t x, y, z;
} HostDimensions;
extern HostDimensions host_thread_id, host_num_threads, host_block_id, host_num_blocks;

static inline uint32_t thread_id_x(void) { return host_thread_id.x; }
static inline uint32_t thread_id_y(void) { return host_thread_id.y; }
static inline uint32_t thread_id_z(void) { return host_thread_id.z; }
static inline uint32_t block_id_x(void) { return host_block_id.x; }
static inline uint32_t block_id_y(void) { return host_block_id.y; }
static inline uint32_t block_id_z(void) { return host_block_id.z; }
static inline uint32_t num_threads_x(void) { return host_num_threads.x; }
static inline uint32_t num_threads_y(void) { return host_num_threads.y; }
static inline uint32_t num_threads_z(void) { return host_num_threads.z; }
static inline uint32_t num_blocks_x(void) { return host_num_blocks.x; }
static inline uint32_t num_blocks_y(void) { return host_num_blocks.y; }
static inline uint32_t num_blocks_z(void) { return host_num_blocks.z; }

void workgroup_barrier(void);
static inline void wave_pause(void) {}

#define WORKGROUP_SHARED static
#define atomic_add(pointer, value) __atomic_fetch_add(pointer, value, __ATOMIC_ACQ_REL)
#define atomic_load(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define atomic_store(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)
#define atomic_compare_exchange(pointer, expected, value) \
  __atomic_compare_exchange_n(pointer, expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* host.c has the real main and calls the program's for every work-item. */
#define main gpu_main

#endif

/* Numbers of the calling work-item in its block, of its block in the grid, and of the work-item in the grid. */
static inline uint32_t thread_id(void) {
  return (thread_id_z() * num_threads_y() + thread_id_y()) * num_threads_x() + thread_id_x();
}
static inline uint32_t block_id(void) {
  return (block_id_z() * num_blocks_y() + block_id_y()) * num_blocks_x() + block_id_x();
}
static inline uint32_t num_threads(void) { return num_threads_x() * num_threads_y() * num_threads_z(); }
static inline uint32_t num_blocks(void) { return num_blocks_x() * num_blocks_y() * num_blocks_z(); }
static inline uint32_t global_id(void) { return block_id() * num_threads() + thread_id(); }
static inline uint32_t global_size(void) { return num_blocks() * num_threads(); }

#endif
