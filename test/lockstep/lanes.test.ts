/**
 * Loops that lanes leave one by one, in which they load from anywhere: four lanes at a time and one after the
 * other, what they leave in registers and masks, and how they fault, is what instructions one by one do.
 */
import { advance, compareLoops, DATA, type Dialect, laneNumber, pointer } from './loop-cases.test-support.ts';
import { WINDOW_SGPR } from './random-kernel.test-support.ts';

/** Lanes go round up to 15 times, by v9; the mask of those that are done is in s[4:5]. */
const loop = (d: Dialect, before: string, body: string): string => `
  ${laneNumber(d)}
  v_mul_u32_u24 v9, 7, v0
  v_and_b32 v9, 15, v9
  v_lshlrev_b32 v1, 4, v0
  v_mov_b32 v5, 0
  v_mov_b32 v8, 0
  ${pointer(d)}
  s_mov_${d.b} ${d.s(4)}, 0
  ${before}
1:
  ${body}
  v_add_f32 v8, v8, v3
  ${advance(d, 4)}
  v_sub_u32 v9, v9, 1
  v_cmp_gt_i32 ${d.vcc}, 0, v9
  s_or_${d.b} ${d.s(4)}, ${d.vcc}, ${d.s(4)}
  s_andn2_${d.b} ${d.exec}, ${d.exec}, ${d.s(4)}
  s_cbranch_execnz 1b
  s_nop 0`;

/** v3: what is at an index that v2 is loaded for, by an address in two registers and by an index. */
const gather = ({ vcc }: Dialect): string => `
  global_load_dword v2, v[6:7], off
  s_waitcnt vmcnt(0)
  v_and_b32 v2, 0xff, v2
  v_lshlrev_b32 v10, 2, v2
  global_load_dword v4, v10, ${DATA} offset:8
  v_ashrrev_i32 v11, 31, v10
  v_mov_b32 v12, s${WINDOW_SGPR + 1}
  v_add_co_u32 v10, ${vcc}, s${WINDOW_SGPR}, v10
  v_addc_co_u32 v11, ${vcc}, v11, v12, ${vcc}
  global_load_dword v3, v[10:11], off offset:4
  s_waitcnt vmcnt(0)
  v_xor_b32 v5, v5, v4
  v_mul_f32 v3, 2.0, v3`;

/** Some lanes load once more, under a mask that others skip: their addresses lead nowhere. */
const withSkip = (d: Dialect): string => `
  ${gather(d)}
  v_and_b32 v4, 3, v2
  v_cmp_eq_u32 ${d.vcc}, 1, v4
  v_bfrev_b32 v16, 2
  v_cndmask_b32 v16, v16, 0, ${d.vcc}
  s_and_saveexec_${d.b} ${d.s(6)}, ${d.vcc}
  s_cbranch_execz 2f
  v_lshlrev_b32 v4, 3, v2
  v_or_b32 v4, v4, v16
  global_load_dwordx2 v[14:15], v4, ${DATA}
  s_waitcnt vmcnt(0)
  v_xor_b32 v5, v5, v14
  v_add_u32 v5, v5, v15
2:
  s_or_${d.b} ${d.exec}, ${d.exec}, ${d.s(6)}`;

/** A lane loads, when v9 says so, from that many bytes behind the beginning of the data. */
const moved = (d: Dialect, lane: number, at: number, bytes: string): string => `
  ${gather(d)}
  v_cmp_eq_u32 ${d.vcc}, ${lane}, v0
  v_cmp_eq_u32 ${d.s(6)}, ${at}, v9
  s_and_${d.b} ${d.vcc}, ${d.vcc}, ${d.s(6)}
  v_mov_b32 v13, ${bytes}
  v_add_u32 v13, s${WINDOW_SGPR}, v13
  v_cndmask_b32 v10, v10, v13, ${d.vcc}
  global_load_dword v3, v[10:11], off
  s_waitcnt vmcnt(0)`;

/** Every second iteration loads from the code. */
const ofTwo = (d: Dialect): string => `
  v_and_b32 v4, 1, v9
  v_cmp_eq_u32 ${d.vcc}, 1, v4
  v_mov_b32 v13, s20
  v_cndmask_b32 v10, v6, v13, ${d.vcc}
  v_mov_b32 v13, s21
  v_cndmask_b32 v11, v7, v13, ${d.vcc}
  global_load_dword v3, v[10:11], off
  s_waitcnt vmcnt(0)
  v_lshrrev_b32 v3, 9, v3`;

const CASES: Readonly<Record<string, (d: Dialect) => string>> = {
  'loads at pointers and indices': (d) => loop(d, '', gather(d)),
  'a mask that some lanes skip': (d) => loop(d, '', withSkip(d)),
  'lanes that are done before the loop': (d) => loop(d, `s_mov_${d.b} ${d.s(4)}, 0x0f0`, gather(d)),
  'misaligned addresses': (d) => loop(d, `v_and_b32 v4, 3, v0\nv_add_u32 v6, v6, v4`, gather(d)),
  'one lane leaves the allocation': (d) => loop(d, '', moved(d, 5, 2, '0x100000')),
  'one lane loads across the end': (d) => loop(d, '', moved(d, 3, 1, '0x1ffe')),
  'a pointer that goes beyond the end': (d) =>
    loop(
      d,
      `v_cmp_eq_u32 ${d.vcc}, 14, v0
    v_mov_b32 v4, 0x1f15
    v_cndmask_b32 v4, 0, v4, ${d.vcc}
    v_add_u32 v6, v6, v4`,
      gather(d),
    ),
  'bytes that become floats': (d) =>
    loop(
      d,
      '',
      `${gather(d)}
    global_load_ubyte v4, v2, ${DATA}
    global_load_ushort v14, v2, ${DATA} offset:1
    s_waitcnt vmcnt(0)
    v_cvt_f32_u32 v3, v4
    v_cvt_f32_u32 v15, v14
    v_add_f32 v3, v3, v15`,
    ),
  'two allocations by turns': (d) => loop(d, 's_getpc_b64 s[20:21]', ofTwo(d)),
  'numbers of a lane': (d) =>
    loop(
      d,
      '',
      `${gather(d)}
    v_sub_f32 v4, v3, v3
    v_xor_b32 v5, v5, v4
    v_cvt_i32_f32 v4, v3
    v_lshlrev_b32 v4, v9, v4
    v_xor_b32 v5, v5, v4
    v_cvt_f64_f32 v[14:15], v3
    v_add_f64 v[16:17], v[16:17], v[14:15]
    v_cmp_lt_f64 ${d.s(6)}, v[14:15], v[16:17]
    v_cndmask_b32 v4, v14, v16, ${d.s(6)}
    v_xor_b32 v5, v5, v4
    v_cmp_class_f32 ${d.s(6)}, v3, 3
    v_cndmask_b32 v3, v3, 1.0, ${d.s(6)}`,
    ),
};

compareLoops(CASES);
