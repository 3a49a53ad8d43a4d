/**
 * Loops that lanes leave one by one, or all at once by a condition of the wave: what left them is kept in a
 * mask, which chunk by chunk only EXEC decides.
 */
import { compareLoops, type Dialect, laneNumber } from './loop-cases.test-support.ts';

interface Parts {
  /** Comes before the loop: v6 is in how many iterations a lane leaves, v5 what it computes. */
  readonly before?: string;
  readonly body?: string;
  /** The wave leaves after so many iterations. */
  readonly limit?: number;
  /** s[8:9]: lanes that leave now; s[16:17]: those that have left. */
  readonly leave?: (d: Dialect) => string;
  /** Behind an iteration, and behind the loop. */
  readonly end?: string;
  readonly after?: string;
}

const counted = ({ s, b, vcc }: Dialect): string => `
  v_cmp_ge_i32 ${vcc}, 0, v6
  s_cselect_${b} ${s(8)}, -1, 0
  s_or_${b} ${s(8)}, ${vcc}, ${s(8)}`;

const loop = (
  d: Dialect,
  { before = '', body = '', limit = 40, leave = counted, end = '', after = '' }: Parts,
): string => `
  ${laneNumber(d)}
  v_mul_u32_u24 v6, 7, v0
  v_and_b32 v6, 15, v6
  v_mov_b32 v5, v0
  v_mov_b32 v7, 0
  v_mov_b32 v8, 1.0
  s_mov_b32 s24, 0
  s_mov_${d.b} ${d.s(16)}, 0
  ${before}
1:
  v_mul_lo_u32 v5, v5, 37
  v_add_u32 v5, 11, v5
  ${body}
  v_sub_u32 v6, v6, 1
  s_add_i32 s24, s24, 1
  v_mov_b32 v7, s24
  s_cmp_ge_i32 s24, ${limit}
  ${leave(d)}
  s_and_${d.b} ${d.s(8)}, ${d.exec}, ${d.s(8)}
  s_or_${d.b} ${d.s(16)}, ${d.s(8)}, ${d.s(16)}
  s_andn2_${d.b} ${d.exec}, ${d.exec}, ${d.s(16)}
  ${end}
  s_cbranch_execnz 1b
  ${after}
  s_nop 0`;

/** Odd lanes do one thing and even ones another, and the wave skips what nobody does. */
const eitherWay = ({ s, b, vcc, exec }: Dialect): string => `
  v_and_b32 v9, 1, v5
  v_cmp_eq_u32 ${vcc}, 1, v9
  s_and_saveexec_${b} ${s(8)}, ${vcc}
  s_cbranch_execz 2f
  v_add_u32 v5, 5, v5
2:
  s_andn2_${b} ${exec}, ${s(8)}, ${exec}
  s_cbranch_execz 3f
  v_lshrrev_b32 v5, 1, v5
3:
  s_or_${b} ${exec}, ${exec}, ${s(8)}`;

/** No lane goes on unless a comparison is true. */
const goesOn = ({ s, b, exec }: Dialect, compare: string): string => `
  ${compare}
  s_cselect_${b} ${s(26)}, -1, 0
  s_and_${b} ${exec}, ${exec}, ${s(26)}`;

/** Half of the lanes, which are off, do something in five iterations, then the wave leaves. */
const offWork = (d: Dialect, body: string): string => `
  ${laneNumber(d)}
  v_mov_b32 v5, v0
  ${d.isWide ? 's_mov_b32 exec_lo, -1\ns_mov_b32 exec_hi, 0' : 's_mov_b32 exec_lo, 0xffff'}
  s_movk_i32 s24, 5
1:
  v_mul_lo_u32 v5, v5, 37
  v_add_u32 v5, 11, v5
  s_not_${d.b} ${d.exec}, ${d.exec}
  ${body}
  s_not_${d.b} ${d.exec}, ${d.exec}
  s_sub_u32 s24, s24, 1
  s_cmp_lg_u32 s24, 0
  s_cbranch_scc1 1b
  s_mov_${d.b} ${d.exec}, -1
  s_mov_${d.b} ${d.vcc}, 0
  s_nop 0`;

const CASES: Readonly<Record<string, (d: Dialect) => string>> = {
  'lanes leave one by one': (d) => loop(d, {}),
  'the wave leaves before most lanes do': (d) => loop(d, { limit: 4 }),
  'the wave leaves with the last lanes': (d) => loop(d, { limit: 15 }),
  'after one iteration': (d) => loop(d, { limit: 1 }),
  'only the wave decides': (d) => loop(d, { leave: ({ s, b }) => `s_cselect_${b} ${s(8)}, -1, 0` }),
  'only lanes decide': (d) =>
    loop(d, { leave: ({ s, b, vcc }) => `v_cmp_ge_i32 ${vcc}, 0, v6\ns_mov_${b} ${s(8)}, ${vcc}` }),
  'the wave decides when lanes may leave': (d) =>
    loop(d, {
      leave: ({ s, b, vcc }) => `
    s_cselect_${b} ${s(8)}, -1, 0
    v_cmp_ge_i32 ${vcc}, 0, v6
    s_and_${b} ${s(8)}, ${vcc}, ${s(8)}`,
      limit: 6,
    }),
  'the wave goes on by a condition': (d) =>
    loop(d, {
      leave: ({ s, b, vcc }) => `
    s_cselect_${b} ${s(8)}, 0, -1
    v_cmp_lt_i32 ${vcc}, 0, v6
    s_and_${b} ${s(8)}, ${vcc}, ${s(8)}
    s_not_${b} ${s(8)}, ${s(8)}`,
      limit: 6,
    }),
  'the wave goes on by a condition that does not change': (d) =>
    loop(d, {
      before: 's_mov_b32 s31, s30',
      leave: ({ vcc, s, b }) => `v_cmp_ge_i32 ${vcc}, 0, v6\ns_mov_${b} ${s(8)}, ${vcc}`,
      end: goesOn(d, 's_cmp_eq_u32 s30, s31'),
    }),
  'the wave leaves by two conditions that do not change': (d) =>
    loop(d, {
      before: 's_mov_b32 s31, s30',
      leave: ({ vcc, s, b }) => `v_cmp_ge_i32 ${vcc}, 0, v6\ns_mov_${b} ${s(8)}, ${vcc}`,
      end: `${goesOn(d, 's_cmp_eq_u32 s30, s31')}\n${goesOn(d, 's_cmp_ge_u32 s31, s30')}`,
    }),
  'the wave leaves by conditions of which one changes': (d) =>
    loop(d, {
      before: 's_mov_b32 s31, s30',
      end: `${goesOn(d, 's_cmp_eq_u32 s30, s31')}\n${goesOn(d, 's_cmp_lt_i32 s24, 7')}`,
    }),
  'who leaves is a number that the wave computes': (d) => `
  ${laneNumber(d)}
  v_mov_b32 v5, v0
  s_mov_b32 s24, 0
  s_mov_${d.b} ${d.s(16)}, 0
  s_mov_${d.b} ${d.s(26)}, 0x0f0f3333
1:
  v_mul_lo_u32 v5, v5, 37
  v_add_u32 v5, 11, v5
  s_add_i32 s24, s24, 1
  s_cmp_ge_i32 s24, 9
  s_cselect_${d.b} ${d.s(8)}, -1, 0
  s_or_${d.b} ${d.s(8)}, ${d.s(8)}, ${d.s(26)}
  s_or_${d.b} ${d.s(16)}, ${d.s(8)}, ${d.s(16)}
  s_andn2_${d.b} ${d.exec}, ${d.exec}, ${d.s(16)}
  s_cbranch_execnz 1b
  s_nop 0`,
  'code that the wave skips': (d) => loop(d, { body: eitherWay(d), limit: 12 }),
  'code that the wave skips, and numbers that may be NaNs': (d) =>
    loop(d, {
      before: 'v_cvt_f32_u32 v10, v0\nv_mul_f32 v10, 0x7e000000, v10',
      body: `${eitherWay(d)}\nv_mul_f32 v8, v8, v10\nv_sub_f32 v8, v8, v10`,
      limit: 12,
    }),
  'code that the wave skips unless a NaN is negative': (d) =>
    loop(d, {
      before: 'v_mov_b32 v8, 0x7f000000',
      body: `
    v_mul_f32 v8, 4.0, v8
    v_sub_f32 v8, v8, v8
    v_cmp_gt_i32 ${d.vcc}, 0, v8
    s_and_saveexec_${d.b} ${d.s(8)}, ${d.vcc}
    s_cbranch_execz 2f
    v_add_u32 v5, 5, v5
  2:
    s_or_${d.b} ${d.exec}, ${d.exec}, ${d.s(8)}`,
    }),
  'lanes have left that are on': (d) =>
    loop(d, { before: `s_mov_${d.b} ${d.s(16)}, ${d.exec}\ns_lshl_${d.b} ${d.s(16)}, ${d.s(16)}, 9` }),
  'all lanes have left that are on': (d) => loop(d, { before: `s_mov_${d.b} ${d.s(16)}, ${d.exec}` }),
  'lanes have left that are off': (d) => loop(d, { before: `s_not_${d.b} ${d.s(16)}, ${d.exec}` }),
  'half of the lanes are off': (d) =>
    loop(d, { before: `s_lshr_${d.b} ${d.exec}, ${d.exec}, ${d.isWide ? 37 : 19}\ns_cbranch_execz 4f`, after: '4:' }),
  'EXEC comes back': (d) => loop(d, { after: `s_or_${d.b} ${d.exec}, ${d.exec}, ${d.s(16)}\nv_add_u32 v5, v5, v7` }),
  'EXEC becomes who has left': (d) => loop(d, { after: `s_mov_${d.b} ${d.exec}, ${d.s(16)}\nv_add_u32 v5, v5, v7` }),
  'lanes read who has left': (d) => loop(d, { body: `v_cndmask_b32 v9, 3, v5, ${d.s(16)}\nv_add_u32 v5, v9, v5` }),
  'the wave reads who has left': (d) => loop(d, { body: `s_bcnt1_i32_${d.b} s26, ${d.s(16)}\nv_add_u32 v5, s26, v5` }),
  'nobody asks who has left': (d) => loop(d, { after: `s_mov_${d.b} ${d.s(16)}, 5` }),
  'lanes that never were there leave': (d) => loop(d, { body: `s_or_${d.b} ${d.s(16)}, ${d.s(16)}, 1` }),
  'who has left comes back': (d) =>
    loop(d, {
      body: `s_andn2_${d.b} ${d.s(16)}, ${d.s(16)}, 2\ns_or_${d.b} ${d.exec}, ${d.exec}, 2\nv_add_u32 v6, 1, v6`,
      limit: 9,
    }),
  'another mask is who has left': (d) => loop(d, { end: `s_mov_${d.b} ${d.s(18)}, ${d.s(16)}` }),
  'some code is for lanes of a mask of the last iteration': (d) =>
    loop(d, {
      before: `s_mov_${d.b} ${d.s(18)}, 0`,
      body: `
    s_mov_${d.b} ${d.s(10)}, ${d.exec}
    s_and_${d.b} ${d.exec}, ${d.s(10)}, ${d.s(18)}
    v_add_u32 v5, 3, v5
    s_mov_${d.b} ${d.exec}, ${d.s(10)}
    v_cmp_gt_u32 ${d.s(18)}, v5, v0`,
    }),
  'lanes leave one iteration after the one that says so': (d) =>
    loop(d, {
      before: `s_mov_${d.b} ${d.s(18)}, 0`,
      leave: ({ s, b, vcc }) => `
    s_cselect_${b} ${s(8)}, -1, 0
    v_cmp_gt_i32 ${s(26)}, v6, v0
    v_cmp_ge_i32 ${vcc}, 0, v6
    s_or_${b} ${s(26)}, ${s(26)}, ${s(18)}
    s_or_${b} ${s(8)}, ${s(8)}, ${s(26)}
    s_or_${b} ${s(18)}, ${s(18)}, ${vcc}`,
      after: `s_mov_${d.b} ${d.s(26)}, 0`,
    }),
  'lanes that are off do something': (d) =>
    loop(d, { body: `s_not_${d.b} ${d.exec}, ${d.exec}\nv_add_u32 v5, v5, v0\ns_not_${d.b} ${d.exec}, ${d.exec}` }),
  'lanes that are off do something until the wave leaves': (d) =>
    offWork(d, `v_mul_lo_u32 v5, v5, 37\nv_add_u32 v5, v5, v0`),
  'code that the wave skips unless lanes are off': (d) =>
    offWork(d, `s_cbranch_execz 2f\nv_cmp_eq_u32 ${d.vcc}, v0, v5\nv_cmp_gt_u32 ${d.vcc}, v0, v5\n2:`),
  'lanes come into a loop': (d) => `
  ${laneNumber(d)}
  v_mov_b32 v5, v0
  s_mov_${d.b} ${d.s(18)}, ${d.exec}
  s_lshr_${d.b} ${d.exec}, ${d.exec}, ${d.isWide ? 37 : 19}
  s_movk_i32 s24, 5
1:
  v_mul_lo_u32 v5, v5, 37
  v_add_u32 v5, 11, v5
  s_mov_${d.b} ${d.exec}, ${d.s(18)}
  s_sub_u32 s24, s24, 1
  s_cmp_lg_u32 s24, 0
  s_cbranch_scc1 1b
  s_nop 0`,
  'lanes leave a loop of two ways out': (d) =>
    loop(d, {
      before: `s_mov_${d.b} ${d.s(18)}, 0`,
      body: `
    v_cmp_eq_u32 ${d.vcc}, 5, v6
    s_and_${d.b} ${d.s(10)}, ${d.vcc}, ${d.exec}
    s_or_${d.b} ${d.s(18)}, ${d.s(10)}, ${d.s(18)}
    s_andn2_${d.b} ${d.exec}, ${d.exec}, ${d.s(18)}`,
    }),
};

compareLoops(CASES);
