// Hooks of every kind that is lifted. `index` and `amount` are arguments that differ from point to point.
#include "wavewright/hook.h"

typedef ww_u32 u32;
typedef ww_u64 u64;

#define RECORDS 4096

u64 counters[64];
u64 record_count;
u64 records[RECORDS];
u32 lane_histogram[65];
u64 sums[8];

WW_HOOK void count_waves(u32 index) {
  if (ww_is_first_lane()) ww_atomic_add(&counters[index], 1ul);
}

WW_HOOK void count_lanes(u32 index) {
  if (ww_is_first_lane()) ww_atomic_add(&counters[index], (u64)ww_active_lanes());
}

// Each lane for itself: the additions meet in memory.
WW_HOOK void count_each_lane(u32 index, u64 amount) { ww_atomic_add(&counters[index], amount); }

// Chooses its lane, on or off where the hook is called.
WW_HOOK void count_in_lane_zero(u32 index) {
  u32 lanes = ww_active_lanes();
  ww_write_exec(1);
  ww_atomic_add(&counters[index], (u64)lanes);
}

WW_HOOK void count_in_scalar_memory(u32 index, u64 amount) { ww_s_atomic_add(&counters[ww_uniform_u32(index)], amount); }

// Waves take numbers, and each leaves its own under it.
WW_HOOK void number_waves(void) {
  u32 number = ww_s_atomic_add(&lane_histogram[64], 1u);
  if (number < RECORDS) records[number] = number + 100;
}

WW_HOOK void count_opcode(void) {
  if (ww_is_first_lane()) ww_atomic_add(&counters[ww_opcode() & 63], 1ul);
}

WW_HOOK void collect_addresses(void) {
  u64 at = ww_atomic_add(&record_count, 1ul);
  if (at < RECORDS) records[at] = ww_address();
}

WW_HOOK void lane_statistics(void) {
  u32 lanes = ww_active_lanes();
  if (ww_is_first_lane()) ww_atomic_add(&lane_histogram[lanes], 1u);
}

// A loop that the wave goes through for each of its lanes, with data of the lane.
WW_HOOK void sum_over_lanes(u32 index, u32 value) {
  u64 sum = 0;
  for (u64 lanes = ww_exec(); lanes != 0; lanes &= lanes - 1)
    sum += (u32)__builtin_amdgcn_readlane((int)value, __builtin_ctzll(lanes));
  if (ww_is_first_lane()) ww_atomic_add(&sums[index], sum);
}

// Ways that lanes go apart, one within the other, and a loop that lanes leave one by one.
WW_HOOK void classify(u32 value) {
  u32 steps = 0;
  if (value & 1) {
    if (value & 2) ww_atomic_add(&sums[0], 1ul);
    else ww_atomic_add(&sums[1], (u64)value);
  } else {
    for (u32 rest = value; rest > 1; rest >>= 1) steps++;
    ww_atomic_add(&sums[2], (u64)steps);
  }
  ww_atomic_add(&sums[3], 1ul);
}

// Changes the program: the register gets the sum of itself and of an argument, where the argument is odd.
WW_HOOK void add_to_v1(u32 amount) {
  if (amount & 1) ww_write_reg(WW_VGPR(1), ww_read_reg(u32, WW_VGPR(1)) + amount);
}

WW_HOOK void state(u32 index) {
  u64 vcc = ww_read_reg(u64, WW_VCC);
  u32 scc = ww_read_reg(u32, WW_SCC), m0 = ww_read_reg(u32, WW_M0);
  if (ww_is_first_lane()) {
    ww_atomic_add(&sums[0], vcc);
    ww_atomic_add(&sums[1], (u64)scc);
    ww_atomic_add(&sums[2], (u64)m0);
    ww_atomic_add(&sums[3], ww_pc() * index);
  }
}

WW_HOOK void workgroups(void) {
  if (ww_is_first_lane()) ww_atomic_add(&sums[0], (u64)ww_workgroup_id_x() + 1);
}

WW_HOOK void grid(void) {
  const WW_CONSTANT u32 *packet = (const WW_CONSTANT u32 *)ww_dispatch_packet();
  if (ww_is_first_lane()) {
    ww_atomic_add(&sums[0], (u64)packet[3]);
    ww_atomic_add(&sums[1], (u64)ww_workgroup_id_x() + 1);
    ww_atomic_add(&sums[2], (u64)*(const WW_CONSTANT u32 *)ww_implicit_arg_ptr());
    ww_atomic_add(&sums[3], ww_launch_value(1));
  }
}
