/**
 * Loops in which each lane stores at one place again and again, where chunk by chunk only the last store is
 * made, or at new places; loads may come from anywhere but there.
 */
import { compareLoops, DATA, type Dialect, laneNumber } from './loop-cases.test-support.ts';
import { WINDOW_SGPR } from './random-kernel.test-support.ts';

/** Words to load in the code, which is an allocation of its own; some are NaNs. */
const WORDS = Array.from({ length: 80 }, (_, i) => (i % 37 === 36 ? 0x7fa00001 : 0x3f800000 + i * 0x1234));

interface Parts {
  /** Comes before the loop. v[6:7]: where lanes load, in the code; v[10:11]: where they store. */
  readonly before?: string;
  /** What v8 and v5 get of v3, which was loaded. */
  readonly body?: string;
  readonly store?: string;
  /** Behind them, and behind an iteration. */
  readonly after?: string;
  readonly iterations?: number;
}

const loop = (
  d: Dialect,
  { before = '', body = '', store = 'global_store_dword v[10:11], v5, off', after = '', iterations = 9 }: Parts,
): string => `
  ${laneNumber(d)}
  s_getpc_b64 s[20:21]
  s_branch 2f
  ${WORDS.map((word) => `.long ${word}`).join('\n')}
2:
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v7, s21
  v_add_co_u32 v6, ${d.vcc}, s20, v1
  v_addc_co_u32 v7, ${d.vcc}, 0, v7, ${d.vcc}
  v_lshlrev_b32 v1, 3, v0
  v_mov_b32 v11, s${WINDOW_SGPR + 1}
  v_add_co_u32 v10, ${d.vcc}, s${WINDOW_SGPR}, v1
  v_addc_co_u32 v11, ${d.vcc}, 0, v11, ${d.vcc}
  v_mov_b32 v5, 0
  v_mov_b32 v8, 1.0
  s_movk_i32 s24, ${iterations}
  s_mov_b32 s22, 4
  s_mov_b32 s23, 0
  ${before}
1:
  global_load_dword v3, v[6:7], off offset:4
  s_waitcnt vmcnt(0)
  v_xor_b32 v5, v3, v5
  ${body}
  ${store}
  ${after}
  v_mov_b32 v12, s23
  v_add_co_u32 v6, ${d.vcc}, s22, v6
  v_addc_co_u32 v7, ${d.vcc}, v7, v12, ${d.vcc}
  s_sub_u32 s24, s24, 1
  s_cmp_lg_u32 s24, 0
  s_cbranch_scc1 1b
  v_cmp_eq_u32 ${d.vcc}, 0, v0
  s_nop 0`;

/** The same, to places that begin a dword apart and go on by s[26:27]: `step`. */
const streamed = (
  d: Dialect,
  { before = '', after = '', step = 256, ...parts }: Parts & { readonly step?: number },
): string =>
  loop(d, {
    ...parts,
    before: `
  v_lshlrev_b32 v1, 2, v0
  v_sub_u32 v10, v10, v1
  s_mov_b32 s26, ${step}
  s_mov_b32 s27, ${step < 0 ? -1 : 0}
  ${before}`,
    after: `
  v_mov_b32 v13, s27
  v_add_co_u32 v10, ${d.vcc}, s26, v10
  v_addc_co_u32 v11, ${d.vcc}, v11, v13, ${d.vcc}
  ${after}`,
  });

const lane = (d: Dialect, number: number, then: string): string => `
  v_cmp_eq_u32 ${d.vcc}, ${number}, v0
  v_mov_b32 v4, ${then}
  v_cndmask_b32 v4, 0, v4, ${d.vcc}`;

/** Words of the data are loaded; they begin where the code's words do but for s[22:23]. */
const toData = `
  s_sub_u32 s22, s${WINDOW_SGPR}, s20
  s_subb_u32 s23, s${WINDOW_SGPR + 1}, s21`;

const CASES: Readonly<Record<string, (d: Dialect) => string>> = {
  'a sum is stored again and again': (d) => loop(d, {}),
  'numbers that may be NaNs': (d) =>
    loop(d, { body: 'v_mul_f32 v8, v3, v8\nv_add_f32 v8, 1.0, v8', store: 'global_store_dword v[10:11], v8, off' }),
  'pairs of dwords': (d) =>
    loop(d, { body: 'v_sub_u32 v4, v3, v5', store: 'global_store_dwordx2 v[10:11], v[4:5], off offset:16' }),
  'bytes, and places before the address': (d) =>
    loop(d, { before: 'v_add_u32 v10, 64, v10', store: 'global_store_byte v[10:11], v5, off offset:-61' }),
  'an offset of the base': (d) => loop(d, { store: `global_store_dword v1, v5, ${DATA} offset:40` }),
  'all lanes at one place': (d) => loop(d, { before: `v_mov_b32 v10, s${WINDOW_SGPR}` }),
  'places that overlap': (d) => loop(d, { before: `v_lshlrev_b32 v1, 1, v0\nv_add_u32 v10, s${WINDOW_SGPR}, v1` }),
  'lanes store backwards': (d) => loop(d, { before: `v_sub_u32 v10, s${WINDOW_SGPR}, v1\nv_add_u32 v10, 0x400, v10` }),
  'loads of what is stored': (d) =>
    loop(d, { before: `v_add_u32 v6, s${WINDOW_SGPR}, v1\nv_mov_b32 v7, s${WINDOW_SGPR + 1}` }),
  'the second iteration loads what the first one stored': (d) => loop(d, { before: toData, iterations: 2 }),
  'one lane stores where nothing is': (d) => loop(d, { before: `${lane(d, 21, '0x100000')}\nv_add_u32 v10, v10, v4` }),
  'an index that leads beyond the window, and back to data': (d) =>
    loop(d, {
      before: `s_sub_u32 s25, s${WINDOW_SGPR}, s20\nv_add_u32 v9, s25, v1`,
      store: 'global_store_dword v9, v5, s[20:21]',
    }),
  'one lane stores across the end': (d) => loop(d, { before: `${lane(d, 2, '0x1fee')}\nv_add_u32 v10, v10, v4` }),
  'one lane stores outside of the window': (d) => loop(d, { before: `${lane(d, 11, '1')}\nv_add_u32 v11, v11, v4` }),
  'stores where nothing may be written': (d) =>
    loop(d, {
      before: `v_mov_b32 v10, s20
    v_mov_b32 v11, s21
    v_add_u32 v6, s${WINDOW_SGPR}, v1
    v_mov_b32 v7, s${WINDOW_SGPR + 1}`,
    }),
  'lanes leave what may be loaded': (d) => loop(d, { before: 's_mov_b32 s22, 0x1000', iterations: 4 }),
  'lanes are not side by side': (d) =>
    loop(d, { before: 'v_mul_u32_u24 v4, 28, v0\nv_and_b32 v4, 0xfc, v4\nv_add_u32 v6, s20, v4' }),
};

const ONE_LANE = [0, 1, 21, 31] as const;

const STREAMED_CASES: Readonly<Record<string, (d: Dialect) => string>> = {
  'each iteration stores behind the last one': (d) => streamed(d, {}),
  'numbers that may be NaNs': (d) =>
    streamed(d, { body: 'v_mul_f32 v8, v3, v8\nv_add_f32 v8, 1.0, v8', store: 'global_store_dword v[10:11], v8, off' }),
  'pairs of dwords': (d) =>
    streamed(d, {
      before: 'v_add_u32 v10, v10, v1',
      step: 512,
      body: 'v_sub_u32 v4, v3, v5',
      store: 'global_store_dwordx2 v[10:11], v[4:5], off offset:16',
    }),
  'bytes, and places before the address': (d) =>
    streamed(d, {
      before: `v_add_u32 v10, s${WINDOW_SGPR}, v0\nv_add_u32 v10, 64, v10`,
      step: 64,
      store: 'global_store_byte v[10:11], v5, off offset:-61',
    }),
  'NaNs that no iteration reads': (d) =>
    streamed(d, {
      before: 'v_mov_b32 v16, 0x7f800000',
      body: 'v_and_b32 v17, 4, v3\nv_mul_f32 v9, v16, v17',
      store: 'global_store_dword v[10:11], v9, off\nv_mov_b32 v9, v3',
    }),
  'far apart': (d) => streamed(d, { step: 0x300 }),
  'places at no multiple of four': (d) => streamed(d, { before: 'v_add_u32 v10, 6, v10' }),
  'an offset of the base': (d) =>
    streamed(d, { store: `global_store_dword v1, v5, ${DATA} offset:40`, after: 'v_add_u32 v1, s26, v1' }),
  'an offset that the wave adds to': (d) =>
    streamed(d, {
      before: 's_mov_b32 s28, 0',
      store: `v_add_u32 v9, s28, v1\nglobal_store_dword v9, v5, ${DATA}`,
      after: 's_add_u32 s28, s28, s26',
    }),
  'what the wave has': (d) => streamed(d, { body: 'v_mov_b32 v9, s24', store: 'global_store_dword v[10:11], v9, off' }),
  'what does not change': (d) => streamed(d, { store: 'global_store_dword v[10:11], v1, off' }),
  'what was loaded before': (d) =>
    streamed(d, { store: 'global_store_dword v[10:11], v9, off\nv_mov_b32 v9, v3', before: 'v_mov_b32 v9, v1' }),
  'two stores': (d) =>
    streamed(d, { store: 'global_store_dword v[10:11], v5, off\nglobal_store_dword v[10:11], v3, off' }),
  'iterations that overlap': (d) => streamed(d, { step: 124 }),
  'iterations that overlap by a dword': (d) => streamed(d, { step: d.isWide ? 252 : 124 }),
  'iterations a dword apart': (d) => streamed(d, { step: 4 }),
  'all iterations at one place': (d) => streamed(d, { step: 0 }),
  'each iteration stores before the last one': (d) => streamed(d, { before: 'v_add_u32 v10, 0x1000, v10', step: -256 }),
  'back and forth': (d) => streamed(d, { after: 's_sub_u32 s26, 0, s26\ns_xor_b32 s27, s27, -1' }),
  'steps that grow': (d) => streamed(d, { after: 's_add_u32 s26, s26, 4' }),
  'steps that become short': (d) => streamed(d, { step: 0x200, after: 's_sub_u32 s26, s26, 64' }),
  'all lanes at one place': (d) => streamed(d, { before: `v_mov_b32 v10, s${WINDOW_SGPR}` }),
  'lanes store backwards': (d) =>
    streamed(d, { before: `v_sub_u32 v10, s${WINDOW_SGPR}, v1\nv_add_u32 v10, 0x400, v10` }),
  'lanes store apart': (d) => streamed(d, { before: 'v_add_u32 v10, v10, v1', step: 512 }),
  'loads of what is stored': (d) =>
    streamed(d, { before: `v_add_u32 v6, s${WINDOW_SGPR}, v1\nv_mov_b32 v7, s${WINDOW_SGPR + 1}` }),
  'loads of what the last iteration stored': (d) =>
    streamed(d, {
      before: `v_add_u32 v6, s${WINDOW_SGPR}, v1
    v_add_u32 v6, 0xfc, v6
    v_mov_b32 v7, s${WINDOW_SGPR + 1}
    v_add_u32 v10, 0x200, v10
    s_movk_i32 s22, 0x100`,
    }),
  'the second iteration loads what the first one stored': (d) => streamed(d, { before: toData, iterations: 2 }),
  'an index that leads beyond the window, and back to data': (d) =>
    streamed(d, {
      before: `s_sub_u32 s25, s${WINDOW_SGPR}, s20\nv_add_u32 v9, s25, v1`,
      store: 'global_store_dword v9, v5, s[20:21]\nv_add_u32 v9, s26, v9',
    }),
  'an index that is negative': (d) =>
    streamed(d, {
      before: `s_add_u32 s28, s${WINDOW_SGPR}, 0x1000
    s_addc_u32 s29, s${WINDOW_SGPR + 1}, 0
    v_add_u32 v9, 0xffffff80, v0`,
      store: `v_lshlrev_b32 v14, 2, v9
    v_ashrrev_i32 v15, 30, v9
    v_mov_b32 v16, s29
    v_add_co_u32 v14, ${d.vcc}, s28, v14
    v_addc_co_u32 v15, ${d.vcc}, v16, v15, ${d.vcc}
    global_store_dword v[14:15], v5, off`,
      after: 'v_add_u32 v9, 64, v9',
    }),
  'the last lanes come to the end': (d) => streamed(d, { before: 'v_add_u32 v10, 0x1b84, v10' }),
  'all lanes come to the end': (d) => streamed(d, { before: 'v_add_u32 v10, 0x1c00, v10' }),
  'the last lanes load behind the end': (d) => streamed(d, { before: 's_mov_b32 s22, 0x34' }),
  'lanes leave what may be loaded': (d) => streamed(d, { before: 's_mov_b32 s22, 0x1000', iterations: 4 }),
  'stores where nothing may be written': (d) => streamed(d, { before: 'v_add_u32 v10, s20, v1\nv_mov_b32 v11, s21' }),
  'lanes that load are not side by side': (d) =>
    streamed(d, { before: 'v_mul_u32_u24 v4, 28, v0\nv_and_b32 v4, 0xfc, v4\nv_add_u32 v6, s20, v4' }),
  ...Object.fromEntries(
    ONE_LANE.flatMap((number) => [
      [
        `lane ${number} stores elsewhere`,
        (d: Dialect) => streamed(d, { before: `${lane(d, number, '0x100')}\nv_add_u32 v10, v10, v4` }),
      ],
      [
        `lane ${number} stores where nothing is`,
        (d: Dialect) => streamed(d, { before: `${lane(d, number, '0x100000')}\nv_add_u32 v10, v10, v4` }),
      ],
      [
        `lane ${number} stores outside of the window`,
        (d: Dialect) => streamed(d, { before: `${lane(d, number, '1')}\nv_add_u32 v11, v11, v4` }),
      ],
      [
        `lane ${number} loads where nothing is`,
        (d: Dialect) => streamed(d, { before: `${lane(d, number, '0x100000')}\nv_add_u32 v6, v6, v4` }),
      ],
    ]),
  ),
};

const named = (what: string, cases: typeof CASES): typeof CASES =>
  Object.fromEntries(Object.entries(cases).map(([name, program]) => [`${what}: ${name}`, program]));
compareLoops({ ...named('one place', CASES), ...named('new places', STREAMED_CASES) });
