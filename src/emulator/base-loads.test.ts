/**
 * Loads of the wave from one base are looked at together: what they load, and which of them faults, is what
 * it is where each is looked at alone.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

const SIZE_BYTES = 0x2000;
/** Loads from `s[4:5]`, each an offset and how many dwords. */
const loads = (places: readonly (readonly [offset: number, dwords: 1 | 2 | 4])[]): string =>
  places
    .map(([offset, dwords], i) => {
      const first = 8 + 4 * i;
      const registers = dwords === 1 ? `s${first}` : `s[${first}:${first + dwords - 1}]`;
      return `s_load_dword${dwords === 1 ? '' : `x${dwords}`} ${registers}, s[4:5], ${offset}`;
    })
    .join('\n');
const SHOWN = `
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, s8
  v_add_u32 v2, s12, v2
  v_xor_b32 v2, s16, v2
  global_store_dword v1, v2, s[0:1]`;
const BASE = 's_mov_b32 s16, 0\n s_mov_b64 s[4:5], s[0:1]';
const at = (offset: number): string => `s_mov_b32 s16, 0
  s_add_u32 s4, s0, ${offset}
  s_addc_u32 s5, s1, ${offset < 0 ? -1 : 0}`;

const PROGRAMS: Readonly<Record<string, string>> = {
  'near each other': `${BASE}\n${loads([
    [0, 1],
    [60, 2],
    [88, 4],
  ])}`,
  'first and last dword of a page': `${BASE}\n${loads([
    [0, 1],
    [0xffc, 1],
  ])}`,
  'far from each other': `${BASE}\n${loads([
    [0, 4],
    [SIZE_BYTES - 4, 1],
    [0x800, 2],
  ])}`,
  'the end of memory': `${at(SIZE_BYTES - 64)}\n${loads([
    [0, 1],
    [32, 4],
    [60, 1],
  ])}`,
  'a base before memory': `${at(-64)}\n${loads([
    [64, 1],
    [72, 2],
  ])}`,
  'one that few waves make': `${at(SIZE_BYTES - 16)}
    s_load_dword s8, s[4:5], 0
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s8, 12345
    s_cbranch_scc0 .Lnot
    s_load_dword s12, s[4:5], 64
    .Lnot:`,
};
const FAULTS: Readonly<Record<string, string>> = {
  'the last ends behind memory': `${at(SIZE_BYTES - 64)}\n${loads([
    [0, 1],
    [56, 4],
  ])}`,
  'the first begins before memory': `${at(-64)}\n${loads([
    [0, 2],
    [64, 1],
  ])}`,
  'the second of three': `${at(SIZE_BYTES - 8)}\n${loads([
    [0, 2],
    [64, 1],
    [4, 1],
  ])}`,
  'behind memory, all': `${at(SIZE_BYTES)}\n${loads([
    [0, 1],
    [8, 1],
  ])}`,
  'another window': `${BASE}\n s_add_u32 s5, s5, 1\n${loads([
    [0, 1],
    [8, 1],
  ])}`,
  'a sum that carries into the window': `${BASE}
    s_mov_b32 s4, 0xffffff80
    s_sub_u32 s5, s5, 1\n${loads([
      [0x80, 1],
      [0x100, 1],
    ])}`,
  'a sum that carries out of the window': `${BASE}
    s_mov_b32 s4, 0xffffff80\n${loads([
      [0, 1],
      [0x80, 1],
    ])}`,
};

for (const [programs, mayFault] of [
  [PROGRAMS, false],
  [FAULTS, true],
] as const) {
  for (const [name, program] of Object.entries(programs)) {
    const text = `${program}\n${SHOWN}`;
    test(name, () => compareOutcomes(text, mayFault, {}, 64));
    test(`${name}, wave32`, () => {
      const own = ofWave32(
        text.replaceAll(/s_load_dword(x\d)?/g, (_, count = '') => `s_load_b${32 * Number(count.slice(1) || 1)}`),
      );
      compareOutcomes(own, mayFault, { processor: 'gfx1100' }, 32);
    });
  }
}
