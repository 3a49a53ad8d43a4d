/**
 * Scalar stores and atomics on every executor: they are of the wave, whatever EXEC is, add up over all waves
 * and threads, and go where they may alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HsaError } from '../src/hsa/index.ts';
import { EXECUTORS, imageOf, KernelRig, kernelText } from './kernel-rig.test-support.ts';

const GROUPS = 12;
const ITERATIONS = 50;

/** Waves without lanes count up two counters, take numbers and put them down. */
const COUNT = `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_mov_b64 exec, 0
  s_movk_i32 s5, ${ITERATIONS}
  s_mov_b32 s14, 1
  s_mov_b32 s15, 0
  s_waitcnt lgkmcnt(0)
1:
  s_atomic_add_x2 s[14:15], s[8:9], 0x8
  s_mov_b32 s16, 1
  s_atomic_add s16, s[8:9], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s17, s16, 2
  s_store_dword s4, s[10:11], s17
  s_sub_u32 s5, s5, 1
  s_cmp_lg_u32 s5, 0
  s_cbranch_scc1 1b
  s_dcache_wb
  s_endpgm`;

/** A lane stores between what the wave does: the order is that of the program. */
const ORDER = `
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_mov_b32 s12, 3
  v_mov_b32 v1, 0
  v_mov_b32 v2, 40
  s_lshl_b32 s4, s4, 2
  s_waitcnt lgkmcnt(0)
  s_add_u32 s8, s8, s4
  s_addc_u32 s9, s9, 0
  global_store_dword v1, v2, s[8:9]
  s_atomic_add s12, s[8:9], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_add_u32 s12, s12, 100
  v_mov_b32 v3, s12
  global_atomic_umax v1, v3, s[8:9]
  s_endpgm`;

const add = (base: string) => `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_mov_b64 exec, 0
  s_mov_b32 s12, 1
  s_movk_i32 s13, 0x10
  s_waitcnt lgkmcnt(0)
  ${base}
  s_waitcnt lgkmcnt(0)
  s_endpgm`;

const IMAGE = imageOf(
  kernelText('count', COUNT),
  kernelText('order', ORDER),
  kernelText('atomic', add('s_atomic_add s12, s[8:9], 0x0 glc')),
  kernelText('wide', add('s_atomic_add_x2 s[12:13], s[8:9], 0x0')),
  kernelText('moved', add('s_atomic_umax s12, s[8:9], s10')),
  kernelText('store', add('s_store_dwordx4 s[12:15], s[8:9], 0x0')),
  kernelText('buffer', add('s_mov_b32 s10, -1\n s_mov_b32 s11, 0\n s_buffer_atomic_add s12, s[8:11], s13 glc')),
);

for (const [name, options] of Object.entries(EXECUTORS)) {
  test(`${name}: waves add in scalar memory, each its part once`, () => {
    using rig = new KernelRig(options, IMAGE);
    const counters = rig.allocate(16);
    const slots = rig.allocate(GROUPS * ITERATIONS * 4);
    rig.view(counters, 16).setBigUint64(8, 0xffff_ffffn, true);
    rig.run('count', counters, slots);
    const total = GROUPS * ITERATIONS;
    assert.equal(rig.view(counters, 16).getUint32(0, true), total);
    assert.equal(rig.view(counters, 16).getBigUint64(8, true), 0xffff_ffffn + BigInt(total));
    const writers = Array.from({ length: total }, (_, i) => rig.view(slots, total * 4).getUint32(i * 4, true));
    for (let group = 0; group < GROUPS; group++)
      assert.equal(writers.filter((each) => each === group).length, ITERATIONS, `workgroup ${group}`);
  });

  test(`${name}: what lanes and the wave do to memory keeps its order`, () => {
    using rig = new KernelRig(options, IMAGE);
    const words = rig.allocate(GROUPS * 4);
    rig.run('order', words);
    for (let group = 0; group < GROUPS; group++) assert.equal(rig.view(words, 48).getUint32(group * 4, true), 140);
  });

  test(`${name}: scalar stores and atomics are checked as every access`, () => {
    const fails = (kernel: string, message: RegExp, of: (rig: KernelRig) => readonly bigint[]): void => {
      using rig = new KernelRig(options, IMAGE);
      const args = of(rig);
      assert.throws(
        () => rig.run(kernel, ...args),
        (error) => {
          assert.ok(error instanceof HsaError, String(error));
          assert.match(error.message, message, kernel);
          return true;
        },
      );
    };
    fails('atomic', /atomic/, () => [0x10n, 0n]);
    // Threads take long to begin, and run the code that the main thread does.
    if (options.threads) return;
    for (const kernel of ['atomic', 'wide', 'moved', 'store']) {
      const access = kernel === 'store' ? /write/ : /atomic/;
      fails(kernel, access, () => [0n, 0n]);
      fails(kernel, access, () => [0x10n, 0n]);
      fails(kernel, access, () => [0xffff_ffff_ffff_fffcn, 0n]);
      fails(kernel, access, (rig) => [rig.allocate(64) + (1n << 32n), 0n]);
      fails(kernel, access, (rig) => [rig.allocate(4096) + 4096n, 0n]);
    }
    fails('wide', /atomic/, (rig) => [rig.allocate(4096) + 4092n, 0n]);
    fails('store', /write/, (rig) => [rig.allocate(4096) + 4084n, 0n]);
    fails('moved', /atomic/, (rig) => [rig.allocate(64), 0xffff_fffcn]);
    fails('buffer', /atomic/, () => [0x1000n, 0n]);
  });
}
