/**
 * Rows of 16 lanes of which some are off, but whose addresses are at equal distances, are looked at together:
 * what the lanes that are on load, store and leave in registers, and which of them faults, is the same.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

/** Lanes that are on: bits 0 to 31, and 32 to 63. */
const MASKS: Readonly<Record<string, readonly [low: number, high: number]>> = {
  'all but the first of each row': [0xfffefffe, 0xfffefffe],
  'all but the last of each row': [0x7fff7fff, 0x7fff7fff],
  'the first half of each row': [0x00ff00ff, 0x00ff00ff],
  'the second half of each row': [0xff00ff00, 0xff00ff00],
  'every second': [0x55555555, 0xaaaaaaaa],
  'full rows and others': [0xffff0fff, 0x0000fffe],
  'all but one': [0xffffffff, 0xfffffbff],
  'one, and the end of a row': [0xeff00001, 0xeff00000],
  'one, and as many as a row has': [0xfff00001, 0x0000000f],
};
/** v1 is the place of each lane. */
const each = (stride: number): string => `v_mul_u32_u24 v1, ${stride}, v0`;
/** What lanes that are off have in v1 is something else. */
const elsewhere = (place: string): string => `
  s_not_b64 exec, exec
  v_mov_b32 v1, ${place}
  s_not_b64 exec, exec`;
const ADD = `
  global_load_dword v4, v1, s[0:1]
  s_waitcnt vmcnt(0)
  v_add_u32 v5, v4, v0
  global_store_dword v1, v5, s[0:1] offset:1024`;
/** Lanes that are no lanes of v1 have what is in v2. */
const NOWHERE = 'v_mov_b32 v1, 0\n v_mov_b32 v2, 0';
/** Lanes that are off see what they had. */
const SHOWN = `
  s_mov_b64 exec, -1
  v_lshlrev_b32 v9, 2, v0
  global_store_dword v9, v4, s[0:1] offset:3072
  global_store_dword v9, v5, s[0:1] offset:3584`;

/** So much that what stores is another region, and rows go first. */
const LONG = Array.from({ length: 95 }, (_, i) => `v_${['xor_b32', 'add_u32'][i % 2]} v6, ${i % 60}, v6`).join('\n');

/** So much that chunks go two at a time. */
const MEDIUM = Array.from({ length: 25 }, (_, i) => `v_${['xor_b32', 'add_u32'][i % 2]} v5, ${i}, v5`).join('\n');

const PROGRAMS: Readonly<Record<string, string>> = {
  'code of which two chunks go at a time': `${each(4)}
    v_mov_b32 v5, v0
    global_load_dword v4, v1, s[0:1]
    ${MEDIUM}
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v4, v5`,
  'long code that changes what it reads': `${each(4)}
    v_mov_b32 v5, v0
    s_setprio 0
    s_sleep 0
    global_load_dword v4, v1, s[0:1]
    ${LONG}
    v_add_u32 v5, v5, v6
    s_waitcnt vmcnt(0)
    v_add_f32 v4, v4, v4`,
  'long code, lanes elsewhere': `${each(4)}\n${elsewhere('0x7fffff00')}
    v_mov_b32 v5, v0
    global_load_dword v4, v1, s[0:1]
    ${LONG}
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v4, v6`,
  ...Object.fromEntries([0, 4, 8, 12].map((stride) => [`lanes ${stride} bytes apart`, `${each(stride)}\n${ADD}`])),
  'rows of 16': `
    v_and_b32 v1, 15, v0
    v_lshrrev_b32 v2, 4, v0
    v_mul_u32_u24 v2, 160, v2
    v_lshl_add_u32 v1, v1, 2, v2\n${ADD}`,
  backwards: `v_sub_u32 v2, 63, v0\n v_lshlrev_b32 v1, 2, v2\n${ADD}`,
  'lanes that are off are elsewhere': `${each(4)}\n${elsewhere('0x7fffff00')}\n${ADD}`,
  'lanes that are off are at one place': `${each(4)}\n${elsewhere('0')}\n${ADD}`,
  'all lanes at one place, and what follows their row': `
    ${NOWHERE}
    s_not_b64 exec, exec
    ${NOWHERE}
    s_not_b64 exec, exec
    global_load_dword v4, v1, s[0:1] offset:32
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v4, v0`,
  'bytes and halves': `${each(1)}
    global_load_ubyte v4, v1, s[0:1] offset:3
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v4, v0
    global_store_byte v1, v5, s[0:1] offset:1024
    v_lshlrev_b32 v2, 1, v0
    global_store_short v2, v5, s[0:1] offset:2048`,
  'pairs and quads': `${each(8)}
    global_load_dwordx2 v[4:5], v1, s[0:1]
    v_lshlrev_b32 v2, 4, v0
    s_waitcnt vmcnt(0)
    v_mov_b32 v6, v4
    v_mov_b32 v7, v0
    global_store_dwordx4 v2, v[4:7], s[0:1] offset:1024
    global_store_dwordx2 v1, v[6:7], s[0:1] offset:2048`,
  'sums that are NaNs': `${each(4)}
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_f32 v5, v4, v4
    global_store_dword v1, v5, s[0:1] offset:1024`,
  'addresses in registers': `${each(4)}
    v_add_co_u32 v2, vcc, s0, v1
    v_mov_b32 v3, s1
    v_addc_co_u32 v3, vcc, 0, v3, vcc
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    v_xor_b32 v5, v4, v0
    global_store_dword v[2:3], v5, off offset:1024`,
  'LDS beside memory': `${each(4)}
    ds_write_b32 v1, v0 offset:16
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    ds_read_b32 v5, v1 offset:16
    s_waitcnt lgkmcnt(0)
    v_add_u32 v5, v4, v5
    global_store_dword v1, v5, s[0:1] offset:1024`,
  'masks of lanes that are on': `${each(4)}
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_cmp_lt_i32 vcc, v4, v0
    v_cndmask_b32 v5, 7, v0, vcc
    global_store_dword v1, v5, s[0:1] offset:1024`,
  'lanes that are off beyond the end': `${each(4)}\n v_add_u32 v1, 0x1f84, v1\n v_cmp_gt_u32 vcc, 0x2000, v1
    s_and_b64 exec, exec, vcc
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v4, v0
    v_subrev_u32 v2, 0x1000, v1
    global_store_dword v2, v5, s[0:1]`,
};
const FAULTS: Readonly<Record<string, string>> = {
  'a load beyond the end': `${each(4)}\n v_add_u32 v1, 0x1f84, v1\n${ADD}`,
  'a store to code': `${each(4)}
    s_getpc_b64 s[4:5]
    global_store_dword v1, v0, s[4:5]`,
};

/** The same in masks of 32 lanes. */
const withShortMasks = (program: string): string =>
  program.replaceAll(/\b(s_not|s_mov|s_and)_b64\b/g, '$1_b32').replaceAll(/\bexec\b/g, 'exec_lo');

for (const [programs, mayFault] of [
  [PROGRAMS, false],
  [FAULTS, true],
] as const) {
  for (const [name, program] of Object.entries(programs)) {
    for (const [maskName, [low, high]] of Object.entries(MASKS)) {
      const shown = mayFault ? '' : SHOWN;
      test(`${name}, ${maskName}`, () =>
        compareOutcomes(
          `s_mov_b32 exec_lo, ${low}\n s_mov_b32 exec_hi, ${high}\n${program}\n${shown}`,
          mayFault,
          {},
          64,
        ));
      test(`${name}, ${maskName}, wave32`, () => {
        const text = withShortMasks(ofWave32(`${program}\n${shown}`));
        compareOutcomes(`s_mov_b32 exec_lo, ${low}\n${text}`, mayFault, { processor: 'gfx1100' }, 32);
      });
    }
  }
}
