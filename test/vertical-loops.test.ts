/**
 * Loops of real kernels run chunk by chunk where that pays, with the results of the models and as many
 * instructions as otherwise.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { differenceFrom } from '../src/bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { EXECUTORS, imageOf, KernelRig, kernelText } from './kernel-rig.test-support.ts';

function run(name: string, processor: string, vertical: 'never' | 'auto' | 'always') {
  const kernel = KERNELS.find((candidate) => candidate.name === name)!;
  const file = `examples/kernels/${name}.${processor}.co`;
  const launch = kernel.launch('small');
  using runner = new KernelRunner({ processor, vertical, compileThreshold: 0 });
  const { output } = runner.prepare({ bytes: readFileSync(file), name: file }, name, launch)();
  const difference = differenceFrom(kernel.model(launch), output, kernel.tolerance);
  assert.equal(difference, undefined, `${name}, ${vertical}: ${difference}`);
  return runner.statistics;
}

for (const processor of ['gfx90a', 'gfx1100']) {
  for (const name of ['fma8', 'mandelbrot', 'collatz', 'nbody']) {
    test(`${processor} ${name}: most instructions run in loops chunk by chunk`, () => {
      const statistics = run(name, processor, 'auto');
      assert.ok(statistics.tiers.loops > statistics.instructions / 2, JSON.stringify(statistics.tiers));
      assert.equal(statistics.instructions, run(name, processor, 'never').instructions);
    });
  }

  test(`${processor} ihash: one chain of operations stays in T1, and is the same in T2`, () => {
    const statistics = run('ihash', processor, 'auto');
    assert.equal(statistics.tiers.loops, 0);
    assert.equal(run('ihash', processor, 'always').instructions, statistics.instructions);
  });
}

/**
 * Sums what lanes load from a buffer that ends before the last ones; unaligned words and what is out of range
 * are seldom met.
 */
const BUFFER_LOADS = `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_mov_b32 v5, 0
  s_movk_i32 s20, 20
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s12, s8
  s_and_b32 s13, s9, 0xffff
  s_movk_i32 s14, 0x180
  s_mov_b32 s15, 0x27000
1:
  buffer_load_sbyte v2, v1, s[12:15], 0 offen offset:38
  buffer_load_dword v3, v1, s[12:15], 0 offen
  buffer_load_short_d16_hi v4, v1, s[12:15], 0 offen offset:2
  s_waitcnt vmcnt(0)
  v_add3_u32 v5, v2, v3, v5
  v_add_u32 v5, v4, v5
  v_add_u32 v1, 4, v1
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v5, s[10:11]
  s_endpgm`;

/** Words of scratch that lie in two rows. */
const UNALIGNED_LOADS = `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_mov_b64 s[16:17], src_private_base
  v_mov_b32 v7, s17
  v_mov_b32 v6, 0
  v_mul_u32_u24 v2, 0x10305, v0
  s_movk_i32 s20, 64
1:
  flat_store_dword v[6:7], v2
  v_add_u32 v2, 0x7654321, v2
  v_add_u32 v6, 4, v6
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32 v5, 0
  s_movk_i32 s20, 20
  s_movk_i32 s21, 3
2:
  scratch_load_dwordx2 v[2:3], off, s21 offset:60
  s_waitcnt vmcnt(0)
  v_add3_u32 v5, v2, v3, v5
  s_add_u32 s21, s21, 4
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 2b
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v5, s[10:11]
  s_endpgm`;

/**
 * Reciprocals of numbers that become denormal, which counts as zero, in one lane after the other, and of some
 * that are in three lanes all the time, with quotients of both; then the same where lanes leave the loop.
 */
const RARE_OPERANDS = `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32 v1, 21, v0
  v_sub_u32 v6, 64, v0
  v_lshlrev_b32 v6, 21, v6
  v_mov_b32 v5, 0
  s_movk_i32 s20, 30
1:
  v_rcp_f32 v2, v1
  v_rcp_f32 v3, v6
  v_subrev_u32 v1, 0x200000, v1
  v_xor_b32 v5, v2, v5
  v_add_u32 v5, v3, v5
  v_div_scale_f32 v7, s[4:5], v6, v6, v1
  v_div_scale_f32 v8, vcc, v1, v6, v1
  v_rcp_f32 v9, v7
  v_fma_f32 v10, -v7, v9, 1.0
  v_fma_f32 v9, v10, v9, v9
  v_mul_f32 v10, v8, v9
  v_fma_f32 v11, -v7, v10, v8
  v_fma_f32 v10, v11, v9, v10
  v_fma_f32 v7, -v7, v10, v8
  v_div_fmas_f32 v7, v7, v9, v10
  v_div_fixup_f32 v7, v7, v6, v1
  v_xor_b32 v5, v7, v5
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  v_lshlrev_b32 v1, 21, v0
2:
  v_rcp_f32 v2, v1
  v_subrev_u32 v1, 0x200000, v1
  v_add_u32 v5, v2, v5
  v_cmp_lt_i32 vcc, -1, v1
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 2b
  s_mov_b64 exec, -1
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v5, s[10:11]
  s_endpgm`;

/**
 * The last step of a division that was scaled is rare: here the first iteration says so of lanes that are off
 * in VCC before the loop.
 */
const RARE_MASK = `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_cvt_f32_u32 v1, v0
  v_mov_b32 v5, 1.0
  s_mov_b32 vcc_lo, 0
  s_mov_b32 vcc_hi, 0
  s_movk_i32 s20, 3
1:
  v_div_fmas_f32 v5, v1, v5, v1
  v_cmp_tru_f32 vcc, v1, v1
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v5, s[10:11]
  s_endpgm`;

/** Reciprocals that are denormal, which counts as zero, in lanes that are off when the loop is entered. */
const withRareLanes = (iteration: string): string => `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_mov_b32 v2, 2.0
  v_mov_b32 v3, 1.0
  v_mov_b32 v5, 0
  v_mov_b32 v6, 0
  s_mov_b32 exec_lo, 0xffff0000
  v_mov_b32 v2, 0x7f000001
  s_mov_b32 exec_lo, 0xffff
  s_mov_b32 exec_hi, 0
  s_movk_i32 s20, 2
1:
  ${iteration}
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  s_mov_b64 exec, -1
  v_add_u32 v5, v6, v5
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v5, s[10:11]
  s_endpgm`;
const RECIPROCALS = 'v_rcp_f32 v5, v2\n v_rcp_f32 v6, v3';
const RARE_LATER = withRareLanes(`${RECIPROCALS}\n s_not_b64 exec, exec`);
const RARE_BETWEEN = withRareLanes(`s_not_b64 exec, exec\n ${RECIPROCALS}\n s_not_b64 exec, exec`);

/**
 * Each lane goes through the end of a list, in which some words point to others, and leaves before it would
 * go beyond the allocation; the upper half of the lanes are at odd addresses. Lanes without a pointer have an
 * address that nothing is at.
 */
const LOADS_WITH_EXIT = `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_mov_b32 v5, 0
  v_lshlrev_b32 v1, 4, v0
  v_lshrrev_b32 v8, 5, v0
  v_add_u32 v1, v1, v8
  v_bfrev_b32 v9, 2
  v_mov_b32 v10, 0
  s_mov_b64 s[16:17], 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v6, s8
  v_mov_b32 v7, s9
  v_add_co_u32 v6, vcc, v6, v1
  v_addc_co_u32 v7, vcc, 0, v7, vcc
1:
  global_load_dwordx2 v[2:3], v[6:7], off
  s_waitcnt vmcnt(0)
  v_and_b32 v4, 4, v2
  v_cmp_eq_u32 vcc, 4, v4
  v_and_b32 v4, 0x3fb, v2
  v_cndmask_b32 v11, v9, v10, vcc
  v_or_b32 v4, v4, v11
  s_and_saveexec_b64 s[18:19], vcc
  s_cbranch_execz 2f
  global_load_dword v4, v4, s[8:9]
  s_waitcnt vmcnt(0)
  v_add_u32 v3, v3, v4
2:
  s_or_b64 exec, exec, s[18:19]
  v_mul_lo_u32 v5, 5, v5
  v_add_u32 v5, v5, v3
  v_add_co_u32 v6, vcc, 8, v6
  v_addc_co_u32 v7, vcc, 0, v7, vcc
  v_add_u32 v1, 8, v1
  v_cmp_lt_u32 vcc, 0x3f8, v1
  s_or_b64 s[16:17], vcc, s[16:17]
  s_andn2_b64 exec, exec, s[16:17]
  s_cbranch_execnz 1b
  s_mov_b64 exec, -1
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v5, s[10:11]
  s_endpgm`;

/**
 * Lanes go through a loop as often as their number says and load 8 bytes each time: where `address` puts
 * them, of v8, which counts down, and of a buffer's address in s[8:9]. `place`: the operands of the address.
 */
const pairs = (address: string, place = 'v[6:7], off') => `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_mov_b32 v5, 0
  v_and_b32 v8, 15, v0
  s_mov_b64 s[16:17], 0
  s_waitcnt lgkmcnt(0)
1:
  v_lshlrev_b32 v2, 3, v8
  v_sub_u32 v2, 0x3f8, v2
  v_mov_b32 v6, s8
  v_mov_b32 v7, s9
  ${address}
  v_add_co_u32 v6, vcc, v6, v2
  v_addc_co_u32 v7, vcc, 0, v7, vcc
  global_load_dwordx2 v[2:3], ${place}
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v5, 31, v5
  v_add_u32 v5, v5, v2
  v_add_u32 v5, v5, v3
  v_subrev_u32 v8, 1, v8
  v_cmp_gt_i32 vcc, 0, v8
  s_or_b64 s[16:17], vcc, s[16:17]
  s_andn2_b64 exec, exec, s[16:17]
  s_cbranch_execnz 1b
  s_mov_b64 exec, -1
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v5, s[10:11]
  s_endpgm`;

/** Up to the last bytes of two allocations, of which one is the block of arguments, by turns. */
const LOADS_OF_TWO = pairs(`
  v_add_u32 v1, v0, v8
  v_and_b32 v1, 1, v1
  v_cmp_eq_u32 vcc, 1, v1
  v_mov_b32 v3, s0
  v_mov_b32 v4, s1
  v_cndmask_b32 v6, v6, v3, vcc
  v_cndmask_b32 v7, v7, v4, vcc
  v_mov_b32 v3, 56
  v_cndmask_b32 v2, v2, v3, vcc`);

for (const [what, body] of Object.entries({
  'loads of two allocations': LOADS_OF_TWO,
  'loads of lanes that leave': LOADS_WITH_EXIT,
  'rare operands': RARE_OPERANDS,
  'a mask that makes something rare': RARE_MASK,
  'rare operands of lanes that are on in the second iteration': RARE_LATER,
  'rare operands of lanes that are on in the middle of iterations': RARE_BETWEEN,
  'buffer loads': BUFFER_LOADS,
  'unaligned loads of scratch': UNALIGNED_LOADS,
})) {
  test(`${what} in a loop chunk by chunk give what they give one after the other`, () => checkSums(body));
}

function checkSums(body: string): void {
  const image = imageOf(kernelText('sums', body, ['.amdhsa_private_segment_fixed_size 256']));
  const [expected, ...others] = Object.entries(EXECUTORS).map(([name, options]) => {
    using rig = new KernelRig(options, image);
    const [data, out] = [rig.allocate(1024), rig.allocate(256)];
    for (let at = 0; at < 1024; at += 4) rig.view(data, 1024).setUint32(at, Math.imul(at, 0x9e3779b1), true);
    for (let i = 0; i < 3; i++) rig.run('sums', data, out);
    if (options.vertical === 'always') assert.ok(rig.queue.statistics.tiers.loops > 0, name);
    return { name, sums: Buffer.from(rig.runtime.view(out, 256)).toString('hex') };
  });
  for (const { name, sums } of others) assert.equal(sums, expected!.sums, name);
}

test('a load of lanes that leave may not end behind the allocation that it begins in', () => {
  const address = `
    v_and_b32 v3, 15, v0
    v_min_u32 v3, 4, v3
    v_and_b32 v3, 4, v3
    v_add_u32 v2, v2, v3`;
  const image = imageOf(kernelText('edge', pairs(address)));
  for (const options of Object.values(EXECUTORS)) {
    using rig = new KernelRig(options, image);
    const [data, out] = [rig.allocate(1024), rig.allocate(256)];
    assert.throws(() => rig.run('edge', data, out), /invalid read of address 0x[0-9a-f]+3fc by .*, lane 4;/);
  }
});

test('nor may a lane leave the window where the others load as before', () => {
  const address = `
    v_mov_b32 v4, 1
    v_cmp_eq_u32 vcc, 2, v8
    v_cndmask_b32 v3, 0, v4, vcc
    v_cmp_eq_u32 vcc, 5, v0
    v_cndmask_b32 v3, 0, v3, vcc
    v_add_u32 v7, v7, v3`;
  const image = imageOf(kernelText('window', pairs(address)));
  for (const options of Object.values(EXECUTORS)) {
    using rig = new KernelRig(options, image);
    const [data, out] = [rig.allocate(1024), rig.allocate(256)];
    assert.throws(() => rig.run('window', data, out), /invalid read of address 0x[0-9a-f]+3e8 by .*, lane 5;/);
  }
});

test('nor may its index lead beyond the window and back to what the others load', () => {
  const address = `
    s_add_u32 s20, s8, 0x200
    s_addc_u32 s21, s9, 0
    v_and_b32 v2, 0x1f8, v2
    v_mov_b32 v3, -16
    v_cmp_eq_u32 s[18:19], 2, v8
    v_cmp_eq_u32 vcc, 5, v0
    s_and_b64 vcc, vcc, s[18:19]
    v_cndmask_b32 v2, v2, v3, vcc`;
  const image = imageOf(kernelText('index', pairs(address, 'v2, s[20:21]')));
  for (const options of Object.values(EXECUTORS)) {
    using rig = new KernelRig(options, image);
    const [data, out] = [rig.allocate(1024), rig.allocate(256)];
    assert.throws(() => rig.run('index', data, out), /invalid read of address 0x[0-9a-f]+1f0 by .*, lane 5;/);
  }
});
