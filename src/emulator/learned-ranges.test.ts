/**
 * What compiled code learns of permitted ranges is known until its function is left, in places that ranges of
 * other accesses take, too: what is beyond a range faults nevertheless, however many there are.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig } from './emulator-rig.test-support.ts';
import { RANGES_EPOCH } from './machine/layout.ts';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

const ACCESSES = 10;

/** Loads of lanes in no order, each with addresses of its own; branches that are never taken end regions. */
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
      s_cmp_eq_u32 s20, 77
      s_cbranch_scc1 2f`;
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
    s_cbranch_scc1 1b
  2:
    global_store_dword v9, v4, s[0:1]`;
}

/** A loop and a function that it calls have a place for ranges each, which is the same. */
const CALLS = `
    v_and_b32 v0, 0x3ff, v0
    v_mul_u32_u24 v1, 52, v0
    v_and_b32 v2, 0x1fc, v1
    v_add_u32 v1, 0x1c00, v2
    s_mov_b32 s20, 0
    s_getpc_b64 s[28:29]
  5:
    s_add_u32 s28, s28, 7f-5b
    s_addc_u32 s29, s29, 0
  1:
    global_load_dword v3, v1, s[0:1]
    s_waitcnt vmcnt(0)
    s_cmp_eq_u32 s20, 2
    s_cselect_b32 s21, 0x1000, 0
    v_add_u32 v2, s21, v2
    s_swappc_b64 s[30:31], s[28:29]
    s_add_u32 s20, s20, 1
    s_cmp_lg_u32 s20, 3
    s_cbranch_scc1 1b
    s_endpgm
  7:
    global_load_dword v4, v2, s[0:1] offset:4092
    s_waitcnt vmcnt(0)
    v_add_u32 v3, v3, v4
    s_setpc_b64 s[30:31]`;

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

/**
 * Lanes go over an array, some of them off where `isPartial`, and end at its end or behind it; where
 * `isMoving`, what their indices are added to grows.
 */
const overArray = ({ isPartial, isMoving, last, stride = 1, store }: OverArray): string => `
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v9, 2, v0
    v_mov_b32 v4, 0
    s_mov_b32 s20, 0
    ${isPartial ? 's_mov_b32 exec_lo, 0xffffdffd\n s_mov_b32 exec_hi, 0xfffe7fff' : ''}
    s_mov_b32 s23, -64
  1:
    s_lshl_b32 s21, s20, ${isMoving ? 3 : 31}
    s_add_u32 s6, s0, s21
    s_addc_u32 s7, s1, 0
    s_cmp_eq_u32 s20, 96
    s_cselect_b32 s22, ${last - 160}, s23
    s_cselect_b32 s24, ${stride}, 1
    v_mul_lo_u32 v2, s24, v0
    v_add_u32 v2, s20, v2
    v_add_u32 v2, s22, v2
    v_ashrrev_i32 v3, 31, v2
    v_lshlrev_b64 v[2:3], 2, v[2:3]
    v_mov_b32 v6, s7
    v_add_co_u32 v2, vcc, s6, v2
    v_addc_co_u32 v3, vcc, v6, v3, vcc
    global_load_dword v5, v[2:3], off offset:256
    ${store ? 's_waitcnt vmcnt(0)\n v_add_u32 v5, 1, v5\n global_store_dword v[2:3], v5, off offset:256' : ''}
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v4, v5
    s_add_u32 s20, s20, 32
    s_cmp_lg_u32 s20, 128
    s_cbranch_scc1 1b
    ${store ? '' : 'global_store_dword v9, v4, s[0:1]'}`;

interface OverArray {
  readonly isPartial: boolean;
  readonly isMoving: boolean;
  /** Index of the first lane in the last iteration. */
  readonly last: number;
  /** Of its lanes. */
  readonly stride?: number;
  readonly store: boolean;
}

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
  for (const regions of [1, 2, 5, 8]) {
    for (const isBeyond of [false, true]) {
      test(`${regions * ACCESSES} ranges${isBeyond ? ', beyond the last' : ''} (${processor})`, () =>
        compare(programOf(regions, isBeyond), isBeyond, 'never'));
    }
  }
  for (const isPartial of [false, true]) {
    for (const store of [false, true]) {
      for (const isMoving of [false, true]) {
        const count = 2 ** 11 - (isMoving ? 192 : 0);
        for (const beyond of [0, 1, 40]) {
          const what = `${isPartial ? 'some' : 'all'} lanes ${store ? 'store' : 'load'}${isMoving ? ', with a base that moves' : ''}`;
          test(`${what}, ${beyond} lanes beyond the end (${processor})`, () => {
            const program = overArray({ isPartial, isMoving, store, last: count - waveSize + beyond });
            compare(program, beyond > 0, 'never');
          });
        }
      }
    }
  }
  for (const store of [false, true]) {
    const what = store ? 'stores' : 'loads';
    test(`${what} before the begin of an array (${processor})`, () =>
      compare(overArray({ isPartial: false, isMoving: false, store, last: -1 }), true, 'never'));
    for (const stride of [0, 3, 64])
      test(`${what} of lanes that are ${stride} apart at last (${processor})`, () =>
        compare(overArray({ isPartial: false, isMoving: false, stride, store, last: 200 }), stride === 64, 'never'));
  }
  test(`functions that call each other, of which one goes beyond an array (${processor})`, () =>
    compare(CALLS, true, 'never'));
  test(`a loop that lanes leave, within another (${processor})`, () => compare(AROUND_LOOP, false, 'always'));
}

test('where a function is new, others forget: its literals may be where theirs were', () => {
  using rig = new EmulatorRig({ executor: 'jit', compileThreshold: 0 });
  const epoch = (): number => rig.emulator.state.words[RANGES_EPOCH / 4]!;
  const before = epoch();
  rig.run('v_mov_b32 v1, 0\n s_endpgm');
  assert.notEqual(epoch(), before);
});
