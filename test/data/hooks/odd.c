// Hooks that are not lifted, each for another reason.
#include "wavewright/hook.h"

typedef ww_u32 u32;
typedef ww_u64 u64;

u64 counter;

__attribute__((noinline)) static void helper(u32 x) { ww_atomic_add(&counter, (u64)x); }

WW_HOOK void calls(u32 x) {
  helper(x);
  helper(x + 1);
}

WW_HOOK void recursive(u32 x) {
  if (x > 1) {
    recursive(x - 1);
    recursive(x - 2);
  }
  ww_atomic_add(&counter, (u64)x);
}

WW_HOOK void stack(u32 x) {
  volatile u32 kept[4] = {x, x, x, x};
  ww_atomic_add(&counter, (u64)kept[x & 3]);
}

WW_HOOK void barrier(void) { __builtin_amdgcn_s_barrier(); }

WW_HOOK void lds(u32 x) {
  volatile __attribute__((address_space(3))) u32 *shared = (volatile __attribute__((address_space(3))) u32 *)16;
  shared[x & 63] = x;
}

WW_HOOK void mode(void) { __builtin_amdgcn_s_setreg(0x801, 3); }

WW_HOOK void end(void) { __builtin_amdgcn_endpgm(); }

WW_HOOK void message(void) { __builtin_amdgcn_s_sendmsg(1, 0); }

WW_HOOK void indirect(u64 function) { ((void (*)(void))function)(); }

// The value is there only in lanes that were on.
WW_HOOK void other_lanes(u32 x) {
  u32 loaded = *(volatile u32 *)&counter + x;
  ww_write_exec(-1);
  ww_atomic_add(&counter, (u64)loaded);
}
