/**
 * Where few lanes are on, here and there, compiled code takes four of them at once, wherever they are: what
 * they do, and in which order, is the same.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

/** Lanes that are on: bits 0 to 31, and 32 to 63. */
const MASKS: Readonly<Record<string, readonly [low: number, high: number]>> = {
  'one of each chunk': [0x11111111, 0x88888888],
  'five lanes': [0x80004001, 0x00100200],
  'one lane': [0x00000100, 0],
  'a chunk and others': [0x0f010100, 0x10000001],
  'every second': [0x55555555, 0xaaaaaaaa],
  'all but three': [0xfffefbff, 0x7fffffff],
};
/** So much that chunks with some lanes off have no second body in its place. */
const LONG = Array.from({ length: 95 }, (_, i) => `v_${['xor_b32', 'add_u32'][i % 2]} v6, ${i % 60}, v6`).join('\n');
/** v1 is the place of each lane, in no order. */
const PLACES = 'v_mul_u32_u24 v1, 52, v0\n v_and_b32 v1, 0x7fc, v1';
/** Lanes that are off see what they had. */
const SHOWN = `
  s_mov_b32 exec_lo, -1
  s_mov_b32 exec_hi, -1
  v_lshlrev_b32 v9, 2, v0
  global_store_dword v9, v4, s[0:1] offset:2048
  global_store_dword v9, v5, s[0:1] offset:2304`;

const PROGRAMS: Readonly<Record<string, string>> = {
  'loads and stores': `
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v4, v0
    global_store_dword v1, v5, s[0:1] offset:4`,
  'all to one place': `
    v_mov_b32 v2, 16
    v_add_u32 v4, 0x100, v0
    global_store_dword v2, v4, s[0:1]
    global_store_byte v2, v0, s[0:1] offset:5`,
  'pairs and quads': `
    v_lshlrev_b32 v2, 4, v0
    global_load_dwordx2 v[4:5], v2, s[0:1]
    s_waitcnt vmcnt(0)
    v_mov_b32 v6, v4
    v_mov_b32 v7, v0
    global_store_dwordx4 v2, v[4:7], s[0:1] offset:1024`,
  'addresses in registers': `
    v_add_co_u32 v2, vcc, s0, v1
    v_mov_b32 v3, s1
    v_addc_co_u32 v3, vcc, 0, v3, vcc
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    v_xor_b32 v5, v4, v0
    global_store_dword v[2:3], v5, off`,
  LDS: `
    v_and_b32 v2, 0x3fc, v1
    ds_write_b32 v2, v0
    s_waitcnt lgkmcnt(0)
    ds_read_b32 v4, v2
    s_waitcnt lgkmcnt(0)
    v_add_u32 v5, 1, v4`,
  'numbers that may be NaNs': `
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_mul_f32 v5, 2.0, v4
    v_add_f32 v5, v5, v4`,
  'a long region': `
    global_load_dword v6, v1, s[0:1]
    s_waitcnt vmcnt(0)
    ${LONG}
    v_mov_b32 v4, v6
    global_store_dword v1, v6, s[0:1] offset:4`,
  'a long region of numbers that may be NaNs': `
    global_load_dword v6, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_mul_f32 v5, 2.0, v6
    v_cmp_lt_f32 vcc, v5, v6
    ${LONG}
    v_cndmask_b32 v4, v5, v6, vcc`,
  'a store of a long region, all to one place': `
    v_mov_b32 v2, 16
    v_mov_b32 v6, v0
    ${LONG}
    global_store_dword v2, v6, s[0:1]`,
  'an atomic in a long region': `
    v_mov_b32 v2, 8
    v_mov_b32 v6, v0
    ${LONG}
    global_atomic_add v4, v2, v6, s[0:1] glc
    s_waitcnt vmcnt(0)
    v_mov_b32 v5, v4`,
  'masks of the wave': `
    s_mov_b32 s6, 0x12345678
    s_mov_b32 s7, 0x9abcdef0
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_cndmask_b32 v5, v0, v4, s[6:7]
    v_cmp_lt_u32 vcc, 0x70000000, v4
    v_cndmask_b32 v4, v5, v0, vcc
    s_nop 0
    v_mov_b32 v6, vcc_lo
    global_store_dword v1, v6, s[0:1] offset:1024`,
  'other lanes': `
    v_lshlrev_b32 v2, 2, v0
    v_xor_b32 v2, 0x1c, v2
    ds_bpermute_b32 v4, v2, v0
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v4, s[0:1]
    v_mov_b32_dpp v5, v0 row_shr:1 row_mask:0xf bank_mask:0xf`,
  atomics: `
    v_mov_b32 v2, 8
    v_mov_b32 v3, 3
    global_atomic_add v4, v2, v3, s[0:1] glc
    s_waitcnt vmcnt(0)
    v_mov_b32 v5, v4`,
};

const FAULTS: Readonly<Record<string, string>> = {
  'the last lane loads beyond the buffer': `
    v_mov_b32 v3, 0x4000
    v_cmp_le_u32 vcc, 28, v0
    v_cndmask_b32 v2, 0, v3, vcc
    v_add_u32 v1, v1, v2
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    global_store_dword v1, v4, s[0:1]`,
  'the last lane loads beyond the buffer in a long region': `
    v_mov_b32 v3, 0x4000
    v_cmp_le_u32 vcc, 28, v0
    v_cndmask_b32 v2, 0, v3, vcc
    v_add_u32 v1, v1, v2
    s_nop 0
    s_sleep 0
    global_load_dword v6, v1, s[0:1]
    s_waitcnt vmcnt(0)
    ${LONG}
    global_store_dword v1, v6, s[0:1]`,
  'a lane in the middle stores beyond the buffer': `
    v_mov_b32 v3, 0x4000
    v_cmp_le_u32 vcc, 14, v0
    v_cndmask_b32 v2, 0, v3, vcc
    v_add_u32 v1, v1, v2
    global_store_dword v1, v0, s[0:1]`,
};

const ofMask = (program: string, [low, high]: readonly [number, number]): string => `
  ${PLACES}
  v_mov_b32 v4, 7
  v_mov_b32 v5, 9
  s_mov_b32 exec_lo, ${low}
  s_mov_b32 exec_hi, ${high}
  s_nop 0
  s_sleep 0
  ${program}`;
/** Of waves of 32 that has no other half, and atomics return by another name. */
const half = (program: string): string =>
  ofWave32(program.replaceAll(/^ *s_mov_b32 exec_hi.*$/gm, '').replaceAll('s[6:7]', 's6'))
    .replaceAll('global_atomic_add ', 'global_atomic_add_u32 ')
    .replaceAll(/vcc_lo_lo/g, 'vcc_lo');

for (const [masks, mask] of Object.entries(MASKS)) {
  test(`lanes here and there, ${masks}`, () => {
    for (const program of Object.values(PROGRAMS)) {
      const text = `${ofMask(program, mask)}${SHOWN}`;
      compareOutcomes(text, false, {}, 64);
      compareOutcomes(half(text), false, { processor: 'gfx1100' }, 32);
    }
  });
}
test('lanes here and there: which faults', () => {
  for (const mask of [MASKS['one of each chunk']!, MASKS['every second']!, MASKS['all but three']!])
    for (const program of Object.values(FAULTS)) {
      compareOutcomes(ofMask(program, mask), true, {}, 64);
      compareOutcomes(half(ofMask(program, mask)), true, { processor: 'gfx1100' }, 32);
    }
});
