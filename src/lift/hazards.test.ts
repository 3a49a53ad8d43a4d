import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOfText } from './blocks.test-support.ts';
import { HazardState, hazardsMetBy, type MissingWait, missingWaits, waitsOfStraightCode } from './hazards.ts';

const textOf = ({ hazard, missing, step }: MissingWait): string => `${hazard.name} ${missing}: ${step.text()}`;

function missing(source: string, processor = 'gfx942', waveSize?: 32 | 64): string[] {
  const blocks = blocksOfText(source, processor, waveSize);
  return missingWaits(blocks, [blocks[0]!]).map(textOf);
}

/** Two instructions, and what is missing between them; with so much more nothing is. */
const PAIRS: readonly (readonly [processor: string, first: string, second: string, hazard: string])[] = [
  ['gfx90a', 'v_readlane_b32 s0, v0, 1', 'global_load_dword v1, v2, s[0:1]', 'valu-sgpr-vmem 5'],
  ['gfx90a', 'v_readlane_b32 s0, v0, 1', 'v_readlane_b32 s1, v1, s0', 'valu-sgpr-lane-select 4'],
  ['gfx90a', 'v_cmp_eq_u32 vcc, v0, v1', 'v_div_fmas_f32 v0, v1, v2, v3', 'valu-vcc-div-fmas 4'],
  ['gfx90a', 'v_mov_b32 v0, 0', 'v_mov_b32_dpp v1, v0 row_shr:1', 'valu-vgpr-dpp 2'],
  ['gfx90a', 'v_cmpx_eq_u32 vcc, v0, v1', 'v_mov_b32_dpp v4, v5 row_shr:1', 'valu-exec-dpp 5'],
  ['gfx90a', 'v_cmp_eq_u32 vcc, v0, v1', 'v_mov_b32 v0, src_vccz', 'valu-vccz 5'],
  ['gfx90a', 'v_cmpx_eq_u32 s[0:1], v0, v1', 'v_mov_b32 v0, src_execz', 'valu-execz 5'],
  ['gfx90a', 's_setreg_b32 hwreg(1), s0', 's_getreg_b32 s1, hwreg(1)', 'setreg-hwreg 2'],
  ['gfx90a', 's_mov_b32 m0, s0', 'ds_read_addtid_b32 v0', 'salu-m0 1'],
  ['gfx90a', 's_mov_b32 m0, s0', 's_sendmsg sendmsg(MSG_INTERRUPT)', 'salu-m0 1'],
  ['gfx90a', 'global_store_dwordx4 v[8:9], v[0:3], off', 'v_mov_b32 v2, 0', 'wide-store-data 1'],
  ['gfx942', 'global_store_dwordx4 v[8:9], v[0:3], off', 'v_mov_b32 v2, 0', 'wide-store-data 2'],
  ['gfx942', 'v_exp_f32 v0, v1', 'v_add_f32 v2, v0, v0', 'trans-result 1'],
  ['gfx942', 'v_cvt_f16_f32_sdwa v0, v1 dst_sel:WORD_1', 'v_mov_b32 v2, v0', 'part-result 1'],
  ['gfx942', 'v_readlane_b32 s0, v0, 1', 'v_mov_b32 v1, s0', 'valu-sgpr-valu 2'],
  ['gfx942', 'v_cmpx_eq_u32 s[0:1], v0, v1', 'v_readlane_b32 s4, v5, 0', 'valu-exec-lane 4'],
  ['gfx942', 'v_mov_b32 v0, 0', 'v_readfirstlane_b32 s0, v0', 'valu-vgpr-read-lane 1'],
  ['gfx90a', 'v_dot4_i32_i8 v0, v1, v2, v3', 'v_mov_b32 v4, v0', 'dot-result 3'],
  ['gfx90a', 'v_mfma_f32_32x32x1f32 v[0:31], v40, v41, v[0:31]', 'v_mov_b32 v50, v3', 'matrix-result-read 19'],
  ['gfx942', 'v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[8:9], v[0:3]', 'v_mov_b32 v9, v3', 'matrix-result-read 7'],
  ['gfx942', 'v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[8:9], v[0:7]', 'ds_write_b32 v9, v3', 'matrix-result-read 18'],
  [
    ...(['gfx942', 'v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, 0'] as const),
    ...(['v_mfma_f32_4x4x1_16b_f32 v[8:11], v0, v5, 0', 'matrix-result-factor 4'] as const),
  ],
  [
    ...(['gfx90a', 'v_mfma_f32_16x16x4f32 v[0:3], v4, v5, 0'] as const),
    ...(['v_mfma_f32_16x16x4f32 v[8:11], v4, v5, v[2:5]', 'matrix-result-sum 8'] as const),
  ],
  ['gfx90a', 'v_mfma_f32_16x16x4f32 v[0:3], v4, v5, 0', 'v_mov_b32 v0, 0', 'matrix-result-overwritten 11'],
  ['gfx90a', 'v_mfma_f32_16x16x4f32 v[12:15], v4, v5, v[0:3]', 'v_mov_b32 v0, 0', 'matrix-sum-overwritten 7'],
  ['gfx90a', 'v_mov_b32 v4, 0', 'v_mfma_f32_16x16x4f32 a[0:3], v4, v5, 0', 'valu-vgpr-matrix 2'],
  ['gfx90a', 'v_cmpx_eq_u32 s[0:1], v0, v1', 'v_mfma_f32_16x16x4f32 a[0:3], v4, v5, 0', 'valu-exec-matrix 4'],
  [
    ...(['gfx90a', 'v_mfma_f64_4x4x4f64 v[0:1], v[2:3], v[2:3], v[0:1]'] as const),
    ...(['v_fma_f64 v[8:9], v[8:9], v[8:9], v[8:9]', 'matrix-double-fma 2'] as const),
  ],
];

test('each hazard of gfx9 is found, and is none with as many wait states more', () => {
  for (const [processor, first, second, expected] of PAIRS) {
    const [name, states] = expected.split(' ') as [string, string];
    const found = missing(`${first}\n ${second}`, processor).filter((text) => text.startsWith(`${name} `));
    assert.deepEqual(
      found.map((text) => text.split(':')[0]),
      [expected],
      `${first}; ${second}`,
    );
    const nops = [...Array(Math.floor(Number(states) / 16)).fill('s_nop 15'), `s_nop ${(Number(states) - 1) % 16}`];
    assert.deepEqual(missing([first, ...nops, second].join('\n'), processor), [], `${first}; ${second} with s_nop`);
  }
});

test('M0 is there in time for counters in the LDS, not for those in global data', () => {
  const code = (modifier: string): string => `s_mov_b32 m0, s0\n ds_append v1 ${modifier}`;
  assert.deepEqual(missing(code(''), 'gfx90a'), []);
  assert.match(missing(code('gds'), 'gfx900').join(), /^salu-m0 1/);
});

test('VCC as a source like another one is no mask of a division', () => {
  const source =
    'v_readlane_b32 vcc_lo, v32, 38\n v_readlane_b32 vcc_hi, v32, 39\n v_div_fixup_f64 v[4:5], v[0:1], v[2:3], vcc';
  assert.deepEqual(missing(source, 'gfx90a'), []);
});

test('registers numbered by M0 need no wait, sources in the LDS do', () => {
  const indexed = 's_set_gpr_idx_on s0, gpr_idx(SRC0)\n v_mov_b32 v0, v1\n s_set_gpr_idx_off';
  assert.deepEqual(missing(indexed, 'gfx90a'), []);
  assert.match(missing('s_mov_b32 m0, s0\n v_mov_b32 v0, src_lds_direct', 'gfx900').join(), /^salu-m0 1/);
});

test('what lies between counts, and so does each way to get there', () => {
  const code = (filler: string): string => `
    v_readlane_b32 s0, v0, 1
    s_cbranch_scc0 1f
    ${filler}
  1:
    global_load_dword v1, v2, s[0:1]`;
  assert.deepEqual(missing(code('s_nop 7'), 'gfx90a'), ['valu-sgpr-vmem 4: global_load_dword v1, v2, s[0:1]']);
  const loop = `
  1:
    global_load_dword v1, v2, s[0:1]
    v_readlane_b32 s0, v0, 1
    s_cbranch_scc0 1b`;
  assert.deepEqual(missing(loop, 'gfx90a'), ['valu-sgpr-vmem 4: global_load_dword v1, v2, s[0:1]']);
});

test('CDNA2: a product of f64 lies between a result and its store', () => {
  const product = 'v_mfma_f64_4x4x4f64 v[10:11], v[12:13], v[12:13], v[10:11]\n';
  const code = (between: string): string => `v_mov_b32 v0, 0\n ${between} global_store_dword v[8:9], v0, off`;
  assert.deepEqual(missing(code(product), 'gfx90a'), ['valu-vgpr-double-vmem 1: global_store_dword v[8:9], v0, off']);
  assert.deepEqual(missing(code(''), 'gfx90a'), []);
  assert.deepEqual(missing(code(product.replace('4f64', '4_4b_f64')), 'gfx942'), []);
});

test('gfx11: other instructions cure', () => {
  const trans = 'v_exp_f32 v0, v1\n';
  const use = 'v_add_f32 v2, v0, v0\n';
  const found = ['trans-use 6: v_add_f32_e32 v2, v0, v0'];
  assert.deepEqual(missing(trans + use, 'gfx1100'), found);
  assert.deepEqual(missing(`${trans} s_nop 15\n ${use}`, 'gfx1100'), found);
  assert.deepEqual(missing(`${trans} s_waitcnt_depctr depctr_va_vdst(0)\n ${use}`, 'gfx1100'), []);
  assert.deepEqual(missing(`${trans} v_exp_f32 v8, v9\n v_exp_f32 v8, v9\n ${use}`, 'gfx1100'), []);
  assert.deepEqual(missing(trans + use, 'gfx1150'), []);
  const permlane = 'v_permlane16_b32 v3, v4, s0, s1\n';
  const infinite = `cmpx-permlane Infinity: v_permlane16_b32 v3, v4, s0, s1`;
  assert.deepEqual(missing(`v_cmpx_eq_u32 v0, v1\n ${permlane}`, 'gfx1100'), [infinite]);
  assert.deepEqual(missing(`v_cmpx_eq_u32 v0, v1\n v_nop\n ${permlane}`, 'gfx1200'), [infinite]);
  assert.deepEqual(missing(`v_cmpx_eq_u32 v0, v1\n v_mov_b32 v9, v9\n ${permlane}`, 'gfx1100'), []);
  assert.deepEqual(missing(`v_cmpx_eq_u32 v0, v1\n ${permlane}`, 'gfx1030'), []);
  const wmma = (d: string, a: string): string => `v_wmma_f32_16x16x16_f16 ${d}, ${a}, v[40:47], ${d}\n`;
  const [first, second] = [wmma('v[0:7]', 'v[16:23]'), wmma('v[24:31]', 'v[0:7]')];
  assert.match(missing(first + second, 'gfx1100')[0]!, /^wmma-factor/);
  assert.deepEqual(missing(`${first} v_nop\n ${second}`, 'gfx1100'), []);
});

test('gfx11 in wave64: results from before and behind a change of EXEC are not used together', () => {
  const code = (between: string, behind: string, use = 'v_add_f32 v2, v0, v1'): string =>
    `v_mov_b32 v0, v10\n ${between}\n v_mov_b32 v1, v11\n ${behind}\n ${use}`;
  const other = (count: number, register = 20): string =>
    'v_mov_b32 v9, v9\n'.replaceAll('9', `${register}`).repeat(count);
  const found = (source: string, processor = 'gfx1150'): string[] =>
    missing(source, processor, 64).map((text) => text.replace(/ .*: .*/, ''));
  const exec = 's_mov_b64 exec, s[0:1]\n';
  assert.deepEqual(found(code(exec, '')), ['partial-forwarding']);
  assert.deepEqual(found(code(exec, ''), 'gfx1100'), ['partial-forwarding']);
  assert.deepEqual(found(code(exec, ''), 'gfx1200'), []);
  assert.deepEqual(missing(code(exec.replace('b64 exec, s[0:1]', 'b32 exec_lo, s0'), ''), 'gfx1100'), []);
  assert.deepEqual(found(code('s_mov_b64 s[2:3], s[0:1]', '')), [], 'without a change of EXEC');
  assert.deepEqual(found(code(exec, '', 'v_add_f32 v2, v0, v5')), [], 'without the second result');
  assert.deepEqual(found(code(`${other(1)} ${exec} ${other(1)}`, other(4))), ['partial-forwarding']);
  assert.deepEqual(found(code(`${other(1)} ${exec} ${other(2)}`, '')), [], '3 between');
  assert.deepEqual(found(code(exec, other(5))), [], '5 behind');
  assert.deepEqual(found(code(exec, 's_waitcnt_depctr depctr_va_vdst(0)')), []);
  assert.deepEqual(found(code(exec, 'v_mov_b32 v0, v12')), [], 'the first result is another one');
  assert.deepEqual(found(code(exec, 'v_mov_b32 v1, v12')), ['partial-forwarding']);
});

test('gfx11 in wave64: a mask that is written is not read before another instruction cures it', () => {
  const code = (between: string): string =>
    `v_cndmask_b32 v0, v1, v2, s[2:3]\n ${between}\n s_mov_b64 s[2:3], exec\n s_and_b64 s[0:1], s[2:3], s[0:1]`;
  const found = (between: string): string[] =>
    missing(code(between), 'gfx1100', 64).map((text) => text.replace(/ .*/, ''));
  assert.deepEqual(found(''), ['valu-mask-write']);
  assert.deepEqual(found('v_cndmask_b32 v3, v1, v2, s[2:3]'), ['valu-mask-write']);
  assert.deepEqual(found('v_mov_b32 v3, s2'), [], 'the mask is read as a number');
  assert.deepEqual(found('v_mov_b32 v3, s5'), []);
});

test('LDSDIR waits for vector instructions and accesses that use its register', () => {
  const code = (before: string, left: number): string =>
    `${before}\n v_mov_b32 v9, v8\n lds_direct_load v0 wait_vdst:${left}`;
  const found = (source: string, processor = 'gfx1100'): string[] =>
    missing(source, processor).map((text) => text.replace(/ .*: .*/, ''));
  assert.deepEqual(found(code('v_mov_b32 v1, v0', 2)), ['valu-lds-direct']);
  assert.deepEqual(found(code('v_mov_b32 v1, v0', 1)), []);
  assert.deepEqual(found(code('v_exp_f32 v1, v0', 1)), ['trans-lds-direct']);
  assert.deepEqual(found(code('v_exp_f32 v1, v0', 0)), []);
  assert.deepEqual(found(code('v_mov_b32 v1, v0\n v_exp_f32 v5, v6', 2)), ['valu-trans-lds-direct']);
  assert.deepEqual(found('global_load_b32 v0, v[2:3], off\n lds_direct_load v0 wait_vdst:0'), ['vmem-lds-direct']);
  const gfx12 = (left: number): string =>
    `global_store_b32 v[2:3], v0, off\n ds_direct_load v0 wait_va_vdst:0 wait_vm_vsrc:${left}`;
  assert.deepEqual(found(gfx12(1), 'gfx1200'), ['vmem-lds-direct']);
  assert.deepEqual(found(gfx12(0), 'gfx1200'), []);
});

test('gfx12: the indices of a sparse product count as factors', () => {
  const product = (d: string, a: string, index: string): string =>
    `v_swmmac_f32_16x16x32_f16 ${d}, ${a}, v[60:67], ${index}`;
  const code = `${product('v[0:7]', 'v[40:43]', 'v50')}\n ${product('v[10:17]', 'v[44:47]', 'v3')}`;
  assert.match(missing(code, 'gfx1200')[0]!, /^wmma-factor/);
  assert.deepEqual(missing(code.replace(', v3', ', v51'), 'gfx1200'), []);
});

test('straight code that is spliced in gets what is missing at both seams', () => {
  const steps = (source: string) => blocksOfText(source, 'gfx90a')[0]!.instructions.slice(0, -1);
  const before = steps('v_readlane_b32 s0, v0, 1').reduce((state, step) => state.after(step), HazardState.nothing());
  const spliced = steps('global_load_dword v1, v2, s[0:1]\n v_mov_b32 v0, 0\n v_mov_b32_dpp v5, v0 row_shr:1');
  const { states, others, behind } = waitsOfStraightCode(before, spliced);
  assert.deepEqual(
    [...states],
    [
      [0, 5],
      [2, 2],
    ],
  );
  assert.deepEqual(others, []);
  const [dpp] = steps('v_mov_b32_dpp v6, v5 row_shr:1');
  assert.deepEqual(behind.missing(dpp!).map(textOf), [`valu-vgpr-dpp 2: ${dpp!.text()}`]);
});

test('states of one walk that are equal are one object, and hold what is nearest on either way', () => {
  const [early, late, other] = blocksOfText('v_readlane_b32 s0, v0, 1\n s_nop 0\n s_nop 1', 'gfx90a')[0]!.instructions;
  const nothing = HazardState.nothing();
  const [near, far] = [nothing.after(early!), nothing.after(early!).after(late!)];
  assert.equal(nothing.after(early!), near);
  assert.notEqual(far, near);
  assert.equal(far.join(near), near);
  assert.equal(far.join(nothing), far);
  assert.equal(nothing.after(late!), nothing.after(other!));
});

test('a walk keeps nothing of hazards that no step of its code meets', () => {
  const text = 'v_mov_b32 v9, v8\n lds_direct_load v9 wait_vdst:15';
  const [move, load] = blocksOfText(text, 'gfx1100')[0]!.instructions;
  const moves = HazardState.nothing(new Set(hazardsMetBy(move!)));
  assert.equal(moves.after(move!), moves);
  const loads = HazardState.nothing(new Set(hazardsMetBy(load!)));
  assert.notEqual(loads.after(move!), loads);
  assert.deepEqual(loads.after(move!).missing(load!).map(textOf), [`valu-lds-direct 15: ${load!.text()}`]);
});
