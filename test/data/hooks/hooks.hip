// The hooks of C in HIP, which C++ takes as well.
#include "wavewright/hook.h"

#ifndef __HIP__
#define __device__
#else
#define __device__ __attribute__((device))
#endif

__device__ ww_u64 counters[64];

WW_HOOK void count_lanes(unsigned index) {
  if (wavewright::is_first_lane()) wavewright::atomic_add(&counters[index], (ww_u64)wavewright::active_lanes());
}

WW_HOOK void add_to_v1(unsigned amount) {
  if (amount & 1) wavewright::write_reg(wavewright::vgpr(1), wavewright::read_reg<unsigned>(wavewright::vgpr(1)) + amount);
}
