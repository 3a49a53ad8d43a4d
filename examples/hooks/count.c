// Counts how often a wave comes by, and with how many lanes: docs/instrumentation.md runs it.
#include <wavewright/hook.h>

ww_u64 waves, lanes;
ww_u64 by_lanes[65];

WW_HOOK void count(void) {
  ww_u32 active = ww_active_lanes();
  if (!ww_is_first_lane()) return;
  ww_atomic_add(&waves, 1ul);
  ww_atomic_add(&lanes, (ww_u64)active);
  ww_atomic_add(&by_lanes[active], 1ul);
}
