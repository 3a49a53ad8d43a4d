// The hooks of C in OpenCL C.
#include "wavewright/hook.h"

global ulong counters[64];

WW_HOOK void count_lanes(uint index) {
  if (ww_is_first_lane()) ww_atomic_add(&counters[index], (ulong)ww_active_lanes());
}
