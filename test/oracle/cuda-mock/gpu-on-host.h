/*
 * Lets the device library and a program be compiled for this machine, as what the kernels of their PTX do: force-included, with
 * __NVPTX__ defined. Each thread of a grid is one of this machine, and a warp's lane that is alone in it.
 */
#ifndef GPU_ON_HOST_H
#define GPU_ON_HOST_H

#include <stdarg.h>
#include <stdint.h>

/* tid, ctaid, ntid, nctaid in x, y and z. */
extern __thread uint32_t gpu_on_host_ids[12];
void gpu_on_host_pause(void);
void gpu_on_host_barrier(void);
_Noreturn void gpu_on_host_exit(void);
uint32_t gpu_on_host_lane(void);
const char *gpu_on_host_pack(const char *format, __builtin_va_list arguments);

#define ID(name, at) static inline uint32_t __nvvm_read_ptx_sreg_##name(void) { return gpu_on_host_ids[at]; }
ID(tid_x, 0) ID(tid_y, 1) ID(tid_z, 2) ID(ctaid_x, 3) ID(ctaid_y, 4) ID(ctaid_z, 5)
ID(ntid_x, 6) ID(ntid_y, 7) ID(ntid_z, 8) ID(nctaid_x, 9) ID(nctaid_y, 10) ID(nctaid_z, 11)
#undef ID

#define __nvvm_read_ptx_sreg_laneid() gpu_on_host_lane()
#define __nvvm_activemask() (1u << gpu_on_host_lane())
#define __nvvm_vote_ballot_sync(mask, condition) ((condition) ? (mask) : 0u)
#define __nvvm_shfl_sync_idx_i32(mask, value, lane, clamp) (value)
#define __nvvm_exit() gpu_on_host_exit()
#define __nvvm_nanosleep(nanoseconds) gpu_on_host_pause()
#define __nvvm_membar_sys() __sync_synchronize()
#define __nvvm_membar_gl() __sync_synchronize()
#define __syncthreads() gpu_on_host_barrier()

#define __scoped_atomic_load_n(pointer, order, scope) __atomic_load_n(pointer, order)
#define __scoped_atomic_store_n(pointer, value, order, scope) __atomic_store_n(pointer, value, order)
#define __scoped_atomic_fetch_or(pointer, value, order, scope) __atomic_fetch_or(pointer, value, order)
#define __scoped_atomic_fetch_and(pointer, value, order, scope) __atomic_fetch_and(pointer, value, order)
#define __scoped_atomic_exchange_n(pointer, value, order, scope) __atomic_exchange_n(pointer, value, order)

/* A va_list of GPUs is a pointer to the arguments, each at its natural alignment. */
typedef const char *gpu_va_list;
#define va_list gpu_va_list
#undef va_start
#undef va_end
#define va_start(list, format)                 \
  do {                                         \
    __builtin_va_list real;                    \
    __builtin_va_start(real, format);          \
    (list) = gpu_on_host_pack(format, real);   \
    __builtin_va_end(real);                    \
  } while (0)
#define va_end(list) ((void)(list))

#endif
