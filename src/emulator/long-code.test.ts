/**
 * Code of more than one function: what the first one leaves in registers is there for the next, where that
 * reads it.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

/** More than a function takes. */
const LONG = Array.from({ length: 150 }, (_, i) => `v_add_u32 v9, v9, v9\n v_xor_b32 v10, ${i & 63}, v9`).join('\n');
const SHOW = `
  s_mov_b32 exec_lo, -1
  s_mov_b32 exec_hi, -1
  global_store_dword v1, v4, s[0:1]
  global_store_dword v1, v5, s[0:1] offset:256
  global_store_dword v1, v10, s[0:1] offset:512`;
const BEGIN = `
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v9, v0
  v_add_u32 v4, 7, v0
  v_sub_u32 v5, 9, v0`;

const PROGRAMS: Readonly<Record<string, string>> = {
  'registers are read behind the cut': `${BEGIN}\n${LONG}\n${SHOW}`,
  'one is written anew': `${BEGIN}\n${LONG}\n v_mov_b32 v4, v10\n${SHOW}`,
  'one is written anew where lanes are on': `
    ${BEGIN}
    s_mov_b32 exec_lo, 0x0ff0f0f1
    s_mov_b32 exec_hi, 3
    ${LONG}
    v_mov_b32 v4, 1
    ${SHOW}`,
  'the mask that it is written with grows behind the cut': `
    ${BEGIN}
    s_mov_b32 exec_lo, 0xffff
    v_mov_b32 v4, 1
    ${LONG}
    s_mov_b32 exec_lo, -1
    v_add_u32 v4, v4, v5
    ${SHOW}`,
  'one of two ways reads it': `
    ${BEGIN}
    s_mov_b32 s10, 5
    ${LONG}
    s_cmp_eq_u32 s10, 5
    s_cbranch_scc1 .Lread
    v_mov_b32 v4, 0
  .Lread:
    ${SHOW}`,
  'scalars and masks': `
    ${BEGIN}
    v_cmp_lt_u32 s[20:21], 17, v0
    s_movk_i32 s12, 99
    ${LONG}
    v_cndmask_b32 v4, v4, v5, s[20:21]
    v_add_u32 v5, s12, v5
    ${SHOW}`,
  'a loop around both': `
    ${BEGIN}
    s_mov_b32 s10, 3
  .Lagain:
    v_add_u32 v6, v4, v5
    ${LONG}
    v_add_u32 v4, v6, v10
    v_xor_b32 v5, v4, v5
    s_sub_u32 s10, s10, 1
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 .Lagain
    ${SHOW}`,
};

for (const [name, program] of Object.entries(PROGRAMS))
  test(`long code: ${name}`, () => {
    compareOutcomes(program, false, { processor: 'gfx90a' }, 64);
    const ofRdna = ofWave32(program)
      .replaceAll(/ s_mov_b32 exec_hi, .*\n/g, '\n')
      .replaceAll('s[20:21]', 's20');
    compareOutcomes(ofRdna, false, { processor: 'gfx1100' }, 32);
  });
