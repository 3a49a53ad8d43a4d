// What tools that ship count and trace, as hooks: bench/instrument/compiled-tools.ts makes tools of them.
#include "wavewright/hook.h"

typedef ww_u32 u32;
typedef ww_u64 u64;

#define GLOBAL __attribute__((address_space(1)))
// Arguments are in vector registers, although all lanes have the same.
#define COUNTER(counters, index) (&((GLOBAL u64 *)ww_uniform_u64(counters))[ww_uniform_u32(index)])

// Waves that come by, with lanes or without. Where it is lifted, lane 0 adds, on or off.
WW_HOOK void add_wave(GLOBAL u64 *counters, u32 index) {
  ww_write_exec(1);
  ww_atomic_add(COUNTER(counters, index), 1ul);
}

// The same for who calls it with all lanes on.
WW_HOOK void add_wave_with_all_lanes(GLOBAL u64 *counters, u32 index) {
  if (ww_lane_rank(~0ul) == 0) ww_atomic_add(COUNTER(counters, index), 1ul);
}

WW_HOOK void add_active_wave(GLOBAL u64 *counters, u32 index) {
  if (ww_is_first_lane()) ww_atomic_add(COUNTER(counters, index), 1ul);
}

WW_HOOK void add_lanes(GLOBAL u64 *counters, u32 index) {
  u32 lanes = ww_active_lanes();
  if (ww_is_first_lane()) ww_atomic_add(COUNTER(counters, index), (u64)lanes);
}

// A trace as memory-trace has it: the number of records, then 16 bytes for each.
typedef struct {
  u64 address;
  u32 point_and_lane, group;
} record;

WW_HOOK void trace(GLOBAL record *records, u32 capacity, u32 point) {
  u64 mask = ww_exec(), address = ww_address();
  u32 rank = ww_lane_rank(mask), first = 0;
  if (rank == 0) first = (u32)ww_atomic_add(&records[0].address, (u64)__builtin_popcountll(mask));
  first = ww_uniform_u32(first);
  if (first + rank >= capacity) return;
  GLOBAL record *own = &records[1 + first + rank];
  own->address = address;
  own->point_and_lane = ww_lane_rank(~0ul) << 24 | point;
  own->group = first;
}
