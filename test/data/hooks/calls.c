// Hooks that call functions, each in another way: they run as they are, with a stack.
#include "wavewright/hook.h"

typedef ww_u32 u32;
typedef ww_u64 u64;

#define NOINLINE __attribute__((noinline))

u64 counters[64];
u64 sums[8];

NOINLINE static void add(u64 *place, u64 amount) { ww_atomic_add(place, amount); }

WW_HOOK void count_by_call(u32 index) {
  u32 lanes = ww_active_lanes();
  if (ww_is_first_lane()) {
    add(&counters[index], (u64)lanes);
    add(&sums[0], 1ul);
  }
}

// Each call waits for two others: 3 for 4.
NOINLINE u64 fibonacci(u32 n) { return n < 2 ? (u64)n : fibonacci(n - 1) + fibonacci(n - 2); }

WW_HOOK void count_by_recursion(u32 index) {
  u64 three = fibonacci(4 + (index >> 16));
  u32 lanes = ww_active_lanes();
  if (ww_is_first_lane()) ww_atomic_add(&counters[index], (u64)lanes * three);
}

NOINLINE static u64 once(u64 x) { return x; }
NOINLINE static u64 twice(u64 x) { return 2 * x; }
typedef u64 function(u64);
static function *const by_parity[2] = {once, twice};

// Through a table of pointers: twice for odd numbers.
WW_HOOK void count_by_pointer(u32 index) {
  u64 amount = by_parity[ww_uniform_u32(index) & 1](1);
  u32 lanes = ww_active_lanes();
  if (ww_is_first_lane()) ww_atomic_add(&counters[index], (u64)lanes * amount);
}

// An array of its own that an index goes into.
WW_HOOK void count_on_stack(u32 index) {
  volatile u32 shares[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  u32 lanes = ww_active_lanes();
  if (ww_is_first_lane()) ww_atomic_add(&counters[index], (u64)lanes * shares[index & 7]);
}

NOINLINE static void note_state(u32 index) {
  u64 vcc = ww_read_reg(u64, WW_VCC);
  u32 scc = ww_read_reg(u32, WW_SCC), m0 = ww_read_reg(u32, WW_M0);
  if (ww_is_first_lane()) {
    add(&sums[0], vcc);
    add(&sums[1], (u64)scc);
    add(&sums[2], (u64)m0);
    add(&sums[3], ww_pc() * index);
  }
}

WW_HOOK void state_by_call(u32 index) { note_state(index); }

NOINLINE static void change(u32 amount) {
  if (amount & 1) ww_write_reg(WW_VGPR(1), ww_read_reg(u32, WW_VGPR(1)) + amount);
}

WW_HOOK void change_by_call(u32 amount) { change(amount); }

NOINLINE static float curve(float x) { return __builtin_sqrtf(x) / (x + 1.5f); }

// Floating point with a division, and every lane for itself.
WW_HOOK void sum_of_curve(u32 value) { ww_atomic_add(&sums[7], (u64)(u32)(1000.0f * curve((float)(value & 63)))); }

NOINLINE static u64 sum_of(u32 a, u32 b, u32 c, u64 d) {
  volatile u64 kept[4] = {a, b, c, d};
  return kept[0] + kept[1] * kept[2] + kept[a & 3];
}

WW_HOOK void four_arguments(u32 a, u32 b, u32 c, u64 d) {
  u64 sum = sum_of(a, b, c, d);
  if (ww_is_first_lane()) ww_atomic_add(&sums[6], sum);
}

WW_HOOK void waves_by_call(void) {
  if (ww_is_first_lane()) add(&sums[5], 1ul);
}
