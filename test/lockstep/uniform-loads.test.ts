/**
 * Loops in which all lanes load from one place that the wave counts on: in LDS, where a constant may make an
 * address of what is below 0, and in global memory.
 */
import { compareLoops, DATA, type Dialect, laneNumber } from './loop-cases.test-support.ts';
import { WINDOW_SGPR } from './random-kernel.test-support.ts';

interface Parts {
  /** Where s22, which grows by `step`, begins. */
  readonly from?: number;
  readonly step?: number;
  readonly before?: string;
  /** Loads to v3, from v4 that has what s22 is, and what it does with it. */
  readonly body: string;
}

const loop = (d: Dialect, { from = 0, step = 4, before = '', body }: Parts): string => `
  ${laneNumber(d)}
  v_lshlrev_b32 v1, 2, v0
  ds_write_b32 v1, v1
  v_mul_u32_u24 v5, 0x10307, v0
  v_cvt_f32_u32 v8, v5
  ds_write_b32 v1, v8 offset:256
  s_waitcnt lgkmcnt(0)
  s_movk_i32 s24, 11
  s_movk_i32 s22, ${from}
  ${before}
1:
  v_mov_b32 v4, s22
  ${body}
  v_xor_b32 v5, v3, v5
  v_lshlrev_b32 v6, 3, v5
  v_add_u32 v5, v6, v5
  s_add_i32 s22, s22, ${step}
  s_sub_u32 s24, s24, 1
  s_cmp_lg_u32 s24, 0
  s_cbranch_scc1 1b
  v_cmp_eq_u32 ${d.vcc}, 0, v0
  s_nop 0`;

const WAIT = 's_waitcnt lgkmcnt(0) vmcnt(0)';

/** Beside LDS, where lanes are not looked at together. */
const BESIDE = `ds_read_b32 v9, v1 offset:8\n${WAIT}\nv_xor_b32 v5, v5, v9`;

const CASES: Readonly<Record<string, (d: Dialect) => string>> = {
  'dwords of LDS': (d) => loop(d, { body: `ds_read_b32 v3, v4 offset:16\n${WAIT}` }),
  'sums that begin below 0': (d) =>
    loop(d, { from: -40, body: `s_add_i32 s23, s22, 48\nv_mov_b32 v4, s23\nds_read_b32 v3, v4 offset:4\n${WAIT}` }),
  'sums of different constants': (d) =>
    loop(d, {
      from: -60,
      body: `
    s_add_i32 s23, s22, 64
    v_mov_b32 v4, s23
    s_add_i32 s23, s22, 200
    v_mov_b32 v7, s23
    ds_read_b64 v[2:3], v4
    ds_read_b32 v9, v7 offset:60
    ${WAIT}
    v_xor_b32 v3, v3, v2
    v_add_f32 v8, v8, v9`,
      step: 8,
    }),
  'four dwords': (d) =>
    loop(d, { step: 16, body: `ds_read_b128 v[12:15], v4 offset:32\n${WAIT}\nv_add3_u32 v3, v12, v13, v15` }),
  'bytes and halves': (d) =>
    loop(d, {
      step: 3,
      body: `ds_read_u8 v3, v4 offset:5\nds_read_u16 v2, v4 offset:258\n${WAIT}\nv_add_u32 v3, v2, v3`,
    }),
  'misaligned dwords of LDS': (d) => loop(d, { step: 5, body: `ds_read_b32 v3, v4\n${WAIT}` }),
  'up to the end of LDS and beyond': (d) => loop(d, { from: 0x3d8, body: `ds_read_b32 v3, v4 offset:4\n${WAIT}` }),
  'a dword across the end of LDS': (d) => loop(d, { from: 0x3d6, body: `ds_read_b32 v3, v4\n${WAIT}` }),
  'before the begin of LDS': (d) => loop(d, { from: 16, step: -4, body: `ds_read_b32 v3, v4 offset:4\n${WAIT}` }),
  'dwords of global memory': (d) =>
    loop(d, { body: `global_load_dword v3, v4, ${DATA} offset:40\n${WAIT}\n${BESIDE}` }),
  'an address of the wave': (d) =>
    loop(d, {
      before: `s_mov_b32 s20, s${WINDOW_SGPR}\ns_mov_b32 s21, s${WINDOW_SGPR + 1}`,
      body: `
    v_mov_b32 v10, s20
    v_mov_b32 v11, s21
    global_load_dwordx2 v[2:3], v[10:11], off offset:8
    ${WAIT}
    v_xor_b32 v3, v3, v2
    ${BESIDE}
    s_add_u32 s20, s20, 12
    s_addc_u32 s21, s21, 0`,
    }),
  'beyond the end of global memory': (d) =>
    loop(d, { from: 0x1fe8, body: `global_load_dword v3, v4, ${DATA}\n${WAIT}\n${BESIDE}` }),
  'misaligned, across the end of global memory': (d) =>
    loop(d, { from: 0x1fd6, body: `global_load_dword v3, v4, ${DATA}\n${WAIT}\n${BESIDE}` }),
  'out of the window': (d) =>
    loop(d, {
      before: `s_mov_b32 s20, s${WINDOW_SGPR}\ns_mov_b32 s21, s${WINDOW_SGPR + 1}`,
      body: `
    v_mov_b32 v10, s20
    v_mov_b32 v11, s21
    global_load_dword v3, v[10:11], off
    ${WAIT}
    ${BESIDE}
    s_cmp_eq_u32 s24, 5
    s_cselect_b32 s23, 1, 0
    s_add_u32 s21, s21, s23`,
    }),
  'an index that leads beyond the window, and back to data': (d) =>
    loop(d, {
      before: `s_getpc_b64 s[20:21]\ns_sub_u32 s22, s${WINDOW_SGPR}, s20`,
      body: `global_load_dword v3, v4, s[20:21]\n${WAIT}\n${BESIDE}`,
    }),
  'lanes of one place and of their own': (d) =>
    loop(d, { body: `ds_read_b32 v3, v4\nds_read_b32 v2, v1 offset:8\n${WAIT}\nv_add_u32 v3, v2, v3` }),
};

compareLoops(CASES);
