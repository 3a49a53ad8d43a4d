/* The few cross-lane operations that the runtime needs. All of them concern the lanes that are active at the call. */
#ifndef WAVE_H
#define WAVE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __NVPTX__

#define WAVE_SIZE 32

static inline uint32_t wave_active(void) { return __nvvm_activemask(); }

/* One bit per active lane for which the condition holds. */
static inline uint64_t wave_ballot(bool condition) { return __nvvm_vote_ballot_sync(wave_active(), condition); }

static inline uint32_t wave_lane(void) { return __nvvm_read_ptx_sreg_laneid(); }

/* The first active lane's value, in every active lane. */
static inline uint32_t wave_first(uint32_t value) {
  uint32_t active = wave_active();
  return __nvvm_shfl_sync_idx_i32(active, value, __builtin_ctz(active), 31);
}

/* The end of the program for the active lanes. */
static inline _Noreturn void wave_end(void) {
  __nvvm_exit();
  __builtin_unreachable();
}

/* LLVM 19 has no fences of C for NVPTX. */
#define wave_fence(order, scope) __nvvm_membar_sys()

#else

#define WAVE_SIZE __AMDGCN_WAVEFRONT_SIZE__

/* One bit per active lane for which the condition holds. */
static inline uint64_t wave_ballot(bool condition) {
#if WAVE_SIZE == 64
  return __builtin_amdgcn_ballot_w64(condition);
#else
  return __builtin_amdgcn_ballot_w32(condition);
#endif
}

static inline uint32_t wave_lane(void) {
#if WAVE_SIZE == 64
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
#else
  return __builtin_amdgcn_mbcnt_lo(~0u, 0);
#endif
}

/* The first active lane's value, in every active lane. */
static inline uint32_t wave_first(uint32_t value) { return __builtin_amdgcn_readfirstlane(value); }

/* The end of the program for the wave. */
static inline _Noreturn void wave_end(void) { __builtin_amdgcn_endpgm(); }

#define wave_fence(order, scope) __builtin_amdgcn_fence(order, scope)

#endif

static inline bool wave_any(bool condition) { return wave_ballot(condition) != 0; }

static inline bool wave_is_first(void) { return wave_lane() == wave_first(wave_lane()); }

#endif
