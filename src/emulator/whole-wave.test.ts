/**
 * Code that loads and then stores runs chunk by chunk, loads and stores together, where no lane touches what
 * another one stores; elsewhere all lanes load before one stores. What memory holds, and which lane faults,
 * is the same everywhere.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

/** From the middle of the buffer on, so that indices may be negative. */
const MIDDLE = 's_add_u32 s0, s0, 0x1000\n s_addc_u32 s1, s1, 0';
/** v1 is the place of each lane, with rows of 16 or 32 lanes so many bytes apart. */
const rows = (lanes: 16 | 32, pitch: number): string => `
  v_and_b32 v1, ${lanes - 1}, v0
  v_lshrrev_b32 v2, ${Math.log2(lanes)}, v0
  v_mul_u32_u24 v2, ${pitch}, v2
  v_lshl_add_u32 v1, v1, 2, v2`;
/** The same for rows of 16 lanes, the second `second` bytes behind the first one, the third `third`. */
const pitches = (second: number, third: number): string => `
  v_and_b32 v1, 15, v0
  v_bfe_u32 v2, v0, 4, 1
  v_lshrrev_b32 v3, 5, v0
  v_mul_u32_u24 v2, ${second}, v2
  v_mul_u32_u24 v3, ${third}, v3
  v_lshl_add_u32 v1, v1, 2, v2
  v_add_u32 v1, v1, v3`;
const each = (stride: number): string => `v_mul_u32_u24 v1, ${stride}, v0`;
/** Cuts the region before, so that v1 is a register when the accesses begin. */
const CUT = 's_nop 0\n s_setprio 0\n s_sleep 0';
const load = (to: string, offset = 0): string => `global_load_dword ${to}, v1, s[0:1] offset:${offset}`;
const store = (from: string, offset = 0): string => `global_store_dword v1, ${from}, s[0:1] offset:${offset}`;
const add = (from: number, to: number): string => `
  ${load('v4', from)}
  s_waitcnt vmcnt(0)
  v_add_u32 v4, 0x12345, v4
  ${store('v4', to)}`;
/** v[2:3] is the address of dword v1, which may be negative. */
const INDEXED = `
  v_mov_b32 v2, v1
  v_ashrrev_i32 v3, 31, v1
  v_lshlrev_b64 v[2:3], 2, v[2:3]
  v_mov_b32 v4, s1
  v_add_co_u32 v2, vcc, s0, v2
  v_addc_co_u32 v3, vcc, v4, v3, vcc`;

/** v[2:3] is the address of byte v1 + v5 times 2^shift, each of which may be negative. */
const summed = (shift: number): string => `
  v_ashrrev_i32 v3, 31, v1
  v_ashrrev_i32 v6, 31, v5
  v_add_co_u32 v2, vcc, v1, v5
  v_addc_co_u32 v3, vcc, v3, v6, vcc
  v_lshlrev_b64 v[2:3], ${shift}, v[2:3]
  v_mov_b32 v4, s1
  v_add_co_u32 v2, vcc, s0, v2
  v_addc_co_u32 v3, vcc, v4, v3, vcc`;
/** Neighbours on both sides are added, and stored at the lane's own place. */
const NEIGHBOURS = `
  global_load_dword v7, v[2:3], off offset:-4
  global_load_dword v8, v[2:3], off
  global_load_dword v9, v[2:3], off offset:4
  v_lshlrev_b32 v10, 2, v0
  s_waitcnt vmcnt(0)
  v_add_u32 v7, v7, v8
  v_add_u32 v7, v7, v9
  global_store_dword v10, v7, s[0:1] offset:2048`;

/** Each dword of a wide load is stored at its own place. */
const wide = (dwords: 2 | 3 | 4, stride: number, before = ''): string => `
  ${each(stride)}
  v_lshlrev_b32 v3, 2, v0
  ${before}
  ${CUT}
  global_load_dwordx${dwords} v[4:${3 + dwords}], v1, s[0:1] offset:20
  s_waitcnt vmcnt(0)
  ${[4, 5, 6, 7]
    .slice(0, dwords)
    .map((register, i) => `global_store_dword v3, v${register}, s[0:1] offset:${2048 + i * 256}`)
    .join('\n')}`;
/** Loads of different sizes at one address. */
const mixed = (stride: number, others = ''): string => `
  ${each(stride)}
  v_lshlrev_b32 v3, 2, v0
  ${CUT}
  global_load_dwordx4 v[4:7], v1, s[0:1]
  global_load_dword v8, v1, s[0:1] offset:52
  ${others}
  global_load_dwordx2 v[10:11], v1, s[0:1] offset:20
  s_waitcnt vmcnt(0)
  v_lshl_add_u32 v4, v4, 1, v5
  v_lshl_add_u32 v4, v4, 1, v6
  v_lshl_add_u32 v4, v4, 1, v7
  v_lshl_add_u32 v4, v4, 1, v8
  v_lshl_add_u32 v4, v4, 1, v10
  v_lshl_add_u32 v4, v4, 1, v11
  global_store_dword v3, v4, s[0:1] offset:2048`;
/** In LDS, of numbers that lanes stored there; without the offset that reading makes unaligned. */
const wideLds = (dwords: 2 | 4, stride: number): string => `
  v_lshlrev_b32 v3, 2, v0
  v_mul_u32_u24 v4, 0x10305, v0
  ds_write_b32 v3, v4
  ds_write_b32 v3, v4 offset:256
  ${each(stride)}
  s_waitcnt lgkmcnt(0)
  ${CUT}
  ds_read_b${dwords * 32} v[4:${3 + dwords}], v1
  s_waitcnt lgkmcnt(0)
  v_add_u32 v4, v4, v5
  v_lshl_add_u32 v4, v${3 + dwords}, 1, v4
  global_store_dword v3, v4, s[0:1]`;

const PROGRAMS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ([2, 3, 4] as const).flatMap((dwords) =>
      [0, 4, 8, 4 * dwords].flatMap((stride) => [
        [`${dwords} dwords, lanes ${stride} bytes apart`, wide(dwords, stride)],
        [
          `${dwords} dwords, lanes ${stride} bytes apart, some off`,
          wide(dwords, stride, 's_mov_b32 exec_lo, 0x7ffffff0'),
        ],
      ]),
    ),
  ),
  ...Object.fromEntries(
    ([2, 4] as const).flatMap((dwords) =>
      [0, 4, 8].map((stride) => [`${dwords} dwords of LDS, lanes ${stride} bytes apart`, wideLds(dwords, stride)]),
    ),
  ),
  ...Object.fromEntries([0, 4, 8, 16].map((stride) => [`several sizes, lanes ${stride} bytes apart`, mixed(stride)])),
  'an index of two summands': `${MIDDLE}\n${each(1)}\n v_mov_b32 v5, -20\n ${CUT}\n${summed(2)}\n${NEIGHBOURS}`,
  'an index of two summands of lanes': `${MIDDLE}\n v_and_b32 v1, 15, v0\n v_lshrrev_b32 v5, 4, v0\n v_mul_u32_u24 v5, 40, v5
    ${CUT}\n${summed(2)}\n${NEIGHBOURS}`,
  'one summand falls, the other one grows': `${MIDDLE}\n v_sub_u32 v1, 0, v0\n v_lshlrev_b32 v5, 1, v0\n ${CUT}\n${summed(2)}\n${NEIGHBOURS}`,
  'a negative offset': `${MIDDLE}\n${each(1)}\n v_add_u32 v1, -8, v1\n ${CUT}\n${INDEXED}\n${NEIGHBOURS}`,
  'several sizes, of which some are bytes': mixed(4, 'global_load_ubyte v8, v1, s[0:1] offset:53'),
  'pairs of dwords at indices that overlap': `${MIDDLE}\n${each(1)}\n v_add_u32 v1, -8, v1\n v_lshlrev_b32 v5, 2, v0\n ${CUT}\n${INDEXED}
    global_load_dwordx2 v[6:7], v[2:3], off offset:4
    s_waitcnt vmcnt(0)
    global_store_dword v5, v6, s[0:1] offset:1024
    global_store_dword v5, v7, s[0:1] offset:2048`,
  'each its own': `${each(4)}\n${CUT}\n${add(0, 0)}`,
  apart: `${each(4)}\n${CUT}\n${add(0, 2048)}`,
  'the lane before stores what is loaded': `${each(4)}\n${CUT}\n${add(0, 4)}`,
  'the lane behind stores what is loaded': `${each(4)}\n${CUT}\n${add(4, 0)}`,
  'the next row stores what is loaded': `${each(4)}\n${CUT}\n${add(64, 0)}`,
  'the row before stores what is loaded': `${each(4)}\n${CUT}\n${add(0, 64)}`,
  'the last row stores what the first loads': `${each(4)}\n${CUT}\n${add(192, 0)}`,
  'the first row stores what the last loads': `${each(4)}\n${CUT}\n${add(0, 192)}`,
  'rows of 16': `${rows(16, 256)}\n${CUT}\n${add(0, 64)}`,
  'rows of 16, each its own': `${rows(16, 256)}\n${CUT}\n${add(0, 0)}`,
  'rows of 16 that overlap': `${rows(16, 32)}\n${CUT}\n v_mov_b32 v5, v0\n${add(0, 2048)}\n${store('v5', 1024)}`,
  'rows of 16, one store, that overlap': `${rows(16, 32)}\n${CUT}\n${load('v4', 2048)}\n v_add_u32 v4, v4, v0\n${store('v4')}`,
  'rows of 16 that overlap, each its own': `${rows(16, 32)}\n${CUT}\n${add(0, 0)}`,
  'lanes of a row store twice': `${rows(16, 256)}\n${CUT}\n${load('v4', 2048)}
    v_add_u32 v5, 7, v0
    s_waitcnt vmcnt(0)\n${store('v4')}\n${store('v5', 4)}`,
  'rows of 16 at one place': `${rows(16, 0)}\n${CUT}\n${load('v4', 2048)}\n v_add_u32 v4, v4, v0\n${store('v4')}`,
  'rows of 32': `${rows(32, 512)}\n${CUT}\n${add(0, 128)}`,
  'rows of 32 that overlap': `${rows(32, 64)}\n${CUT}\n${load('v4', 2048)}\n v_add_u32 v4, v4, v0\n${store('v4')}`,
  'the third row between the first two': `${pitches(512, 64)}\n${CUT}\n${add(0, 1024)}`,
  'the third row on the second': `${pitches(64, 96)}\n${CUT}\n${load('v4', 2048)}\n v_add_u32 v4, v4, v0\n${store('v4')}`,
  'the fourth row elsewhere': `${pitches(64, 128)}
    v_cmp_lt_u32 vcc, 47, v0
    v_cndmask_b32 v2, 0, v0, vcc
    v_lshl_add_u32 v1, v2, 3, v1\n${CUT}\n${add(0, 2048)}`,
  'one lane elsewhere': `${each(4)}
    v_cmp_eq_u32 vcc, 41, v0
    v_cndmask_b32 v2, 0, 64, vcc
    v_add_u32 v1, v1, v2\n${CUT}\n${add(0, 2048)}`,
  backwards: `v_sub_u32 v2, 63, v0\n v_lshlrev_b32 v1, 2, v2\n${CUT}\n${add(0, 2048)}`,
  'all load one place': `v_lshlrev_b32 v2, 2, v0\n v_mov_b32 v1, 8\n${CUT}\n${load('v4')}
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v4, v0
    global_store_dword v2, v4, s[0:1] offset:1024`,
  'all store to one place': `v_lshlrev_b32 v2, 2, v0\n v_mov_b32 v1, 8\n${CUT}
    global_load_dword v4, v2, s[0:1] offset:1024\n${store('v4')}`,
  'two stores of a lane': `${each(8)}\n${CUT}\n${load('v4')}\n${load('v5', 4)}
    s_waitcnt vmcnt(0)\n${store('v5')}\n${store('v4', 4)}`,
  'the second store is that of the lane behind': `${each(4)}\n${CUT}\n${load('v4', 1024)}
    v_add_u32 v5, 7, v0
    s_waitcnt vmcnt(0)\n${store('v4')}\n${store('v5', 4)}`,
  'the second store is that of the lane before': `${each(4)}\n${CUT}\n${load('v4', 1024)}
    v_add_u32 v5, 7, v0
    s_waitcnt vmcnt(0)\n${store('v4', 4)}\n${store('v5')}`,
  'loaded again behind the store': `${each(4)}\n${CUT}\n${add(0, 0)}\n${load('v5', 4)}
    s_waitcnt vmcnt(0)\n${store('v5', 1024)}`,
  'four dwords': `${each(16)}\n${CUT}
    global_load_dwordx4 v[4:7], v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v5, v4
    v_xor_b32 v7, v6, v7
    global_store_dwordx4 v1, v[4:7], s[0:1] offset:2048`,
  'four dwords, one lane on': `${each(16)}\n${CUT}
    global_load_dwordx4 v[4:7], v1, s[0:1]
    s_waitcnt vmcnt(0)
    global_store_dwordx4 v1, v[4:7], s[0:1] offset:16`,
  pairs: `${each(8)}\n${CUT}
    global_load_dwordx2 v[4:5], v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v5, v4
    global_store_dwordx2 v1, v[4:5], s[0:1]`,
  bytes: `v_mov_b32 v1, v0\n${CUT}
    global_load_ubyte v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v4, 3, v4
    global_store_byte v1, v4, s[0:1] offset:128`,
  'halves, one lane on': `${each(2)}\n${CUT}
    global_load_ushort v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    global_store_short v1, v4, s[0:1] offset:2`,
  'an index below 0': `v_subrev_u32 v1, 32, v0\n${MIDDLE}\n${CUT}\n${INDEXED}
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    v_add_u32 v4, 5, v4
    global_store_dword v[2:3], v4, off offset:1024`,
  'an index, one lane on': `v_subrev_u32 v1, 32, v0\n${MIDDLE}\n${CUT}\n${INDEXED}
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    global_store_dword v[2:3], v4, off offset:4`,
  'addresses in registers': `v_subrev_u32 v1, 32, v0\n${MIDDLE}\n${INDEXED}\n${CUT}
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    v_add_u32 v4, 5, v4
    global_store_dword v[2:3], v4, off offset:1024`,
  'addresses in registers, one lane on': `v_subrev_u32 v1, 32, v0\n${MIDDLE}\n${INDEXED}\n${CUT}
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    global_store_dword v[2:3], v4, off offset:4`,
  'a NaN in its own place': `${each(4)}\n${CUT}\n${load('v4')}
    s_waitcnt vmcnt(0)
    v_add_f32 v4, 1.0, v4\n${store('v4')}`,
  'a NaN, and which lanes are below 0': `${each(4)}\n${CUT}\n${load('v4')}
    s_waitcnt vmcnt(0)
    v_cmp_gt_f32 vcc, 0, v4
    v_add_f32 v4, 1.0, v4\n${store('v4')}
    v_cndmask_b32 v5, 1, 2, vcc
    s_nop 0
    v_mov_b32 v6, vcc_lo
    v_mov_b32 v7, vcc_hi
    global_store_dword v1, v5, s[0:1] offset:1024
    global_store_dword v1, v6, s[0:1] offset:1280
    global_store_dword v1, v7, s[0:1] offset:1536`,
  'a NaN behind the first store': `${each(4)}\n s_add_u32 s4, s0, 0x400\n s_addc_u32 s5, s1, 0\n${CUT}
    ${load('v4')}
    global_load_dword v5, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_add_u32 v4, 1, v4\n${store('v4')}
    v_add_f32 v5, 1.0, v5
    global_store_dword v1, v5, s[4:5]`,
  'some lanes are off': `${each(4)}\n s_mov_b32 exec_lo, 0xfffff7ff\n${CUT}\n${add(0, 2048)}`,
  LDS: `${each(4)}\n${load('v4')}\n s_waitcnt vmcnt(0)\n ds_write_b32 v1, v4\n${CUT}
    ds_read_b32 v5, v1 offset:4
    s_waitcnt lgkmcnt(0)
    ds_write_b32 v1, v5
    s_waitcnt lgkmcnt(0)
    ds_read_b32 v6, v1
    s_waitcnt lgkmcnt(0)\n${store('v6', 1024)}`,
  'LDS from global memory': `${each(4)}\n${CUT}\n${load('v4')}\n s_waitcnt vmcnt(0)
    ds_write_b32 v1, v4 offset:64
    s_waitcnt lgkmcnt(0)
    ds_read_b32 v6, v1 offset:32
    s_waitcnt lgkmcnt(0)\n${store('v6', 1024)}`,
};

/** Not all addresses are permitted: whatever else is loaded, nothing is stored before the fault. */
const FAULTS: Readonly<Record<string, string>> = {
  // With an index that wrapped, these would load from the buffer.
  'two summands beyond 32 bits': `s_add_u32 s0, s0, 0x80000000\n s_addc_u32 s1, s1, 0
    v_mov_b32 v1, 0x7ffffff0\n v_add_u32 v5, 0x20, v0\n ${CUT}\n${summed(0)}\n${NEIGHBOURS}`,
  'two summands without their carry': `${MIDDLE}\n${each(1)}\n v_mov_b32 v5, -20\n v_add_u32 v1, 40, v1\n ${CUT}
    ${summed(2).replace('v_add_co_u32 v2, vcc, v1, v5', 'v_add_u32 v2, v1, v5').replace('v_addc_co_u32 v3, vcc, v3, v6, vcc', 'v_add_u32 v3, v3, v6')}
    ${NEIGHBOURS}`,
  'two summands below -2^31': `s_sub_u32 s0, s0, 0x80000000\n s_subb_u32 s1, s1, 0
    v_mov_b32 v1, 0x80000010\n v_sub_u32 v5, v0, 64\n v_add_u32 v5, -8, v5\n ${CUT}\n${summed(0)}\n${NEIGHBOURS}`,
  'the last lane loads behind the buffer': `${each(4)}
    s_add_u32 s0, s0, 0x1f04
    s_addc_u32 s1, s1, 0
    s_mov_b32 s4, 0x1000\n${CUT}
    ${load('v4')}
    s_waitcnt vmcnt(0)
    s_sub_u32 s0, s0, s4
    s_subb_u32 s1, s1, 0\n${store('v4')}`,
  'the last lane stores behind the buffer': `${each(4)}\n s_add_u32 s0, s0, 0x1f04\n s_addc_u32 s1, s1, 0\n${CUT}
    v_mov_b32 v4, v0\n${load('v5', -256)}\n s_waitcnt vmcnt(0)\n${store('v5')}`,
  'LDS begins behind the second row': `
    v_and_b32 v1, 15, v0
    v_and_b32 v2, 16, v0
    v_lshrrev_b32 v3, 5, v0
    v_lshlrev_b32 v1, 2, v1
    v_lshlrev_b32 v2, 2, v2
    v_lshl_add_u32 v1, v3, 8, v1
    v_sub_u32 v1, v1, v2\n${CUT}
    ds_read_b32 v4, v1
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32 v2, 2, v0
    global_store_dword v2, v4, s[0:1]`,
  'another window': `${each(4)}\n s_add_u32 s1, s1, 1\n${CUT}\n${add(0, 0)}`,
  'another window, addresses in registers': `v_mov_b32 v1, v0\n s_add_u32 s1, s1, 1\n${INDEXED}\n${CUT}
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    global_store_dword v[2:3], v4, off`,
  'another window, low words in registers': `v_lshlrev_b32 v2, 2, v0\n v_add_u32 v2, s0, v2\n s_add_u32 s1, s1, 1\n${CUT}
    v_mov_b32 v3, s1
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    global_store_dword v[2:3], v4, off`,
  'an index that wraps': `v_add_u32 v1, 0x7ffffff8, v0
    s_sub_u32 s0, s0, 0xffffffe0
    s_subb_u32 s1, s1, 1\n${CUT}\n${INDEXED}
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    global_store_dword v[2:3], v4, off`,
  'memory that may be read alone': `${each(4)}\n s_getpc_b64 s[0:1]\n${CUT}\n${add(0, 0)}\n s_endpgm
    ${'s_nop 0\n'.repeat(100)}`,
  'LDS ends before the last lane': `${each(4)}\n${CUT}\n${load('v4')}\n s_waitcnt vmcnt(0)
    ds_write_b32 v1, v4 offset:772`,
};

for (const [name, program] of Object.entries({ ...PROGRAMS, ...FAULTS })) {
  const mayFault = name in FAULTS;
  test(`loads and stores of a whole wave: ${name}`, () => compareOutcomes(program, mayFault, {}, 64));
  test(`loads and stores of a whole wave of 32: ${name}`, () =>
    compareOutcomes(ofWave32(program), mayFault, { processor: 'gfx1100' }, 32));
}
