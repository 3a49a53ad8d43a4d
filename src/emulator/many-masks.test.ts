/**
 * Regions that make many masks, which they keep in the wave state while chunks run, and that write registers
 * before a chunk ends.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

/** Lanes that are on: bits 0 to 31, and 32 to 63. */
const LANES: Readonly<Record<string, readonly [low: number, high: number]>> = {
  'all lanes': [0xffffffff, 0xffffffff],
  'every third': [0x49249249, 0x92492492],
  'few lanes': [0x80004001, 0x00100200],
  // Four at once are done, wherever they are: of the fifth chunk one with the first eight, one behind them.
  'lanes here and there': [0x14551559, 0x11111111],
  'all but three': [0xfffefbff, 0x7fffffff],
  'half of them': [0xffff0000, 0x0000ffff],
};
const FIRST = 12;

interface Wave {
  readonly waveSize: 32 | 64;
  /** SGPRs of a mask. */
  readonly mask: (number: number) => string;
}

const times = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n');

/** What is to be compared; v4 and v5 are shown, too. */
const PROGRAMS: Readonly<Record<string, (count: number, wave: Wave) => string>> = {
  'integers, compared': (count, { mask }) => `
    v_mul_u32_u24 v4, 52, v0
    v_and_b32 v4, 0x1fc, v4
    v_xor_b32 v5, v4, v0
    ${times(count, (i) => `v_cmp_gt_u32 ${mask(i)}, ${3 * i + 1}, v${4 + (i % 2)}`)}`,
  'numbers that may be NaNs, compared': (count, { mask }) => `
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_max_f32 v5, 1.0, v4
    v_mul_f32 v4, 2.0, v4
    ${times(count, (i) => `v_cmp_${['lt', 'gt', 'u'][i % 3]}_f32 ${mask(i)}, v${4 + (i % 2)}, ${i}`)}`,
  'one place of LDS, compared': (count, { mask }) => `
    v_and_b32 v5, 15, v0
    ds_write_b32 v1, v5
    v_mov_b32 v3, 0
    s_waitcnt lgkmcnt(0)
    s_barrier
    ${times(
      Math.ceil(count / 4),
      (i) => `
      ds_read_b128 v[${20 + 4 * i}:${23 + 4 * i}], v3 offset:${16 * i}`,
    )}
    s_waitcnt lgkmcnt(0)
    ${times(count, (i) => `v_cmp_eq_u32 ${mask(i)}, v${20 + i}, v5`)}
    v_mov_b32 v4, v20`,
  'sums that carry': (count, { mask }) => `
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_mov_b32 v5, v4
    ${times(count, (i) => `v_add_co_u32 v${4 + (i % 2)}, ${mask(i)}, v4, v5`)}`,
  'masks that are known': (count, { mask }) => `
    v_mov_b32 v4, 7
    ${times(count, (i) => `v_cmp_${i % 2 === 0 ? 'f_u32' : 'lt_u32'} ${mask(i)}, ${i % 4}, v${i % 3 === 0 ? 4 : 0}`)}`,
  'registers that are read before they are written': (count, { mask }) => `
    global_load_dword v4, v1, s[0:1]
    v_xor_b32 v5, 21, v0
    v_mul_u32_u24 v8, 3, v0
    s_waitcnt vmcnt(0)
    s_barrier
    v_add_u32 v6, v4, v0
    v_mov_b32 v7, v5
    v_mov_b32_dpp v9, v8 row_shr:1 row_mask:0xf bank_mask:0xf
    v_mov_b32 v5, v6
    v_mov_b32 v8, v6
    v_add3_u32 v4, v7, v9, v8
    ${times(count, (i) => `v_cmp_gt_u32 ${mask(i)}, v${4 + (i % 4)}, v0`)}`,
  'numbers of registers that are written': (count, { mask }) => `
    global_load_dword v4, v1, s[0:1]
    s_waitcnt vmcnt(0)
    s_barrier
    v_max_f32 v6, 1.0, v4
    v_mul_f32 v7, v6, v4
    v_mov_b32 v4, v6
    v_mov_b32 v5, v7
    ${times(count, (i) => `v_cmp_gt_u32 ${mask(i)}, v${4 + (i % 4)}, v0`)}`,
  'dwords that the next lane has, too': (count, { mask }) => `
    global_load_dwordx3 v[20:22], v1, s[0:1]
    global_load_dwordx2 v[4:5], v1, s[0:1] offset:16
    s_waitcnt vmcnt(0)
    v_xor_b32 v4, v4, v20
    ${times(count, (i) => `v_cmp_gt_u32 ${mask(i)}, v${20 + (i % 3)}, v${4 + (i % 2)}`)}`,
  'pairs that are the same, or follow each other': (count, { mask }) => `
    v_mov_b32 v3, 8
    v_lshlrev_b32 v6, 3, v0
    s_barrier
    global_load_dwordx2 v[20:21], v3, s[0:1]
    global_load_dwordx2 v[4:5], v6, s[0:1] offset:16
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v4, v20
    ${times(count, (i) => `v_cmp_gt_u32 ${mask(i)}, v${20 + (i % 2)}, v${4 + (i % 2)}`)}`,
};

/** All lanes first, then those that are on: masks have nothing of the first ones then. */
function programOf(name: string, count: number, wave: Wave, [low, high]: readonly [number, number]): string {
  const dwords = count * (wave.waveSize / 32);
  const code = PROGRAMS[name]!(count, wave);
  const addMasks = times(dwords, (i) => `v_mul_lo_u32 v2, v2, v10\n v_xor_b32 v2, s${FIRST + i}, v2`);
  return `
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v2, 0
    v_mov_b32 v4, 1
    v_mov_b32 v5, 2
    v_mov_b32 v10, 0x01000193
    ${times(dwords, (i) => `s_mov_b32 s${FIRST + i}, ${i}`)}
    ${code}
    s_barrier
    ${addMasks}
    s_mov_b32 exec_lo, ${low}
    s_mov_b32 exec_hi, ${high}
    ${code}
    s_barrier
    s_mov_b32 exec_lo, -1
    s_mov_b32 exec_hi, -1
    ${addMasks}
    v_lshlrev_b32 v11, 2, v0
    global_store_dword v11, v2, s[0:1] offset:1792
    global_store_dword v11, v4, s[0:1] offset:2048
    global_store_dword v11, v5, s[0:1] offset:2304`;
}

for (const [processor, waveSize] of [
  ['gfx90a', 64],
  ['gfx1100', 32],
] as const) {
  const isWide = waveSize === 64;
  const mask = (i: number): string => (isWide ? `s[${FIRST + 2 * i}:${FIRST + 2 * i + 1}]` : `s${FIRST + i}`);
  for (const name of Object.keys(PROGRAMS)) {
    for (const count of [5, 18]) {
      test(`${name}: ${count} masks (${processor})`, () => {
        for (const lanes of Object.values(LANES)) {
          const program = programOf(name, count, { waveSize, mask }, lanes);
          compareOutcomes(isWide ? program : ofWave32(program), false, { processor }, waveSize);
        }
      });
    }
  }
}
