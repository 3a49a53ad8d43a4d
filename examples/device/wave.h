/* The few cross-lane operations that the runtime needs. All of them concern the lanes that are active at the call. */
#ifndef WAVE_H
#define WAVE_H

#include <stdbool.h>
#include <stdint.h>

#define WAVE_SIZE __AMDGCN_WAVEFRONT_SIZE__

/* One bit per active lane for which the condition holds. */
static inline uint64_t wave_ballot(bool condition) {
#if WAVE_SIZE == 64
  return __builtin_amdgcn_ballot_w64(condition);
#else
  return __builtin_amdgcn_ballot_w32(condition);
#endif
}

static inline bool wave_any(bool condition) { return wave_ballot(condition) != 0; }

static inline uint32_t wave_lane(void) {
#if WAVE_SIZE == 64
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
#else
  return __builtin_amdgcn_mbcnt_lo(~0u, 0);
#endif
}

/* The first active lane's value, in every active lane. */
static inline uint32_t wave_first(uint32_t value) { return __builtin_amdgcn_readfirstlane(value); }

static inline bool wave_is_first(void) { return wave_lane() == wave_first(wave_lane()); }

#endif
