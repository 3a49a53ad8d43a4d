/**
 * What compiled code learns of permitted ranges is known until its function is left, in places that ranges of
 * other accesses take, too: what is beyond a range faults nevertheless, however many there are.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

const ACCESSES = 10;

/** Loads of lanes in no order, each with addresses of its own; stores end their regions. */
const loads = (region: number, lanes: string, offset: number): string =>
  Array.from(
    { length: ACCESSES },
    (_, i) => `
      v_xor_b32 v${10 + i}, ${4 * (region * ACCESSES + i + 1)}, ${lanes}
      global_load_dword v${30 + i}, v${10 + i}, s[0:1] offset:${offset}`,
  ).join('\n');

/**
 * The last of some regions goes on by 4 KiB in the last of three iterations: its addresses, less the offset,
 * are then such as the other regions have.
 */
function programOf(regions: number, isBeyond: boolean): string {
  const all = Array.from({ length: regions }, (_, region) => {
    const isLast = region === regions - 1;
    return `${loads(region, isLast ? 'v2' : 'v1', isLast ? 4092 : 0)}
      s_waitcnt vmcnt(0)
      v_add_u32 v4, v4, v${30 + (region % ACCESSES)}
      global_store_dword v9, v4, s[0:1] offset:2048`;
  });
  return `
    v_and_b32 v0, 0x3ff, v0
    v_mul_u32_u24 v1, 52, v0
    v_and_b32 v2, 0x1fc, v1
    v_add_u32 v1, 0x1c00, v2
    v_mov_b32 v4, 0
    v_lshlrev_b32 v9, 2, v0
    s_mov_b32 s20, 0
  1:
    s_cmp_eq_u32 s20, 2
    s_cselect_b32 s21, ${isBeyond ? 0x1000 : 4}, 0
    v_add_u32 v2, s21, v2
    ${all.join('\n')}
    s_add_u32 s20, s20, 1
    s_cmp_lg_u32 s20, 3
    s_cbranch_scc1 1b`;
}

/** Lanes leave an inner loop one by one, which learns ranges of its own. */
const AROUND_LOOP = `
    v_and_b32 v0, 0x3ff, v0
    v_mul_u32_u24 v1, 52, v0
    v_and_b32 v1, 0x1fc, v1
    v_mov_b32 v4, 0
    s_mov_b32 s20, 3
  1:
    global_load_dword v3, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v4, v3
    v_and_b32 v6, 7, v3
    v_mov_b32 v7, v1
    s_mov_b64 s[22:23], exec
  2:
    global_load_dword v8, v7, s[0:1] offset:512
    s_waitcnt vmcnt(0)
    v_xor_b32 v4, v4, v8
    v_and_b32 v7, 0x3fc, v8
    v_sub_u32 v6, v6, 1
    v_cmp_lt_i32 vcc, 0, v6
    s_and_b64 exec, exec, vcc
    s_cbranch_execnz 2b
    s_mov_b64 exec, s[22:23]
    s_sub_u32 s20, s20, 1
    s_cmp_lg_u32 s20, 0
    s_cbranch_scc1 1b
    v_lshlrev_b32 v9, 2, v0
    global_store_dword v9, v4, s[0:1]`;

for (const [processor, waveSize] of [
  ['gfx90a', 64],
  ['gfx1100', 32],
] as const) {
  const compare = (program: string, mayFault: boolean, vertical: 'never' | 'always'): void => {
    const text = waveSize === 64 ? program : ofWave32(program).replaceAll(/s_(mov|and)_b64/g, 's_$1_b32');
    const narrow = (text: string): string => text.replaceAll(/\bexec\b/g, 'exec_lo').replaceAll('s[22:23]', 's22');
    // Of one wave: another would be further or less far when this one faults.
    const shape = { gridSize: [waveSize, 1, 1], workgroupSize: [waveSize, 1, 1] } as const;
    compareOutcomes(waveSize === 64 ? text : narrow(text), mayFault, { processor, vertical }, waveSize, shape);
  };
  // Ranges that share no place; that do; that are more than are told apart.
  for (const regions of [1, 2, 4, 8]) {
    for (const isBeyond of [false, true]) {
      test(`${regions * ACCESSES} ranges${isBeyond ? ', beyond the last' : ''} (${processor})`, () =>
        compare(programOf(regions, isBeyond), isBeyond, 'never'));
    }
  }
  test(`a loop that lanes leave, within another (${processor})`, () => compare(AROUND_LOOP, false, 'always'));
}
