/** Waves of all workgroups meet at the barriers of global wave sync, on every executor. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXECUTORS, imageOf, KernelRig, kernelText } from './kernel-rig.test-support.ts';

const LANES = 64;
const ROUNDS = 5;

/**
 * The first wave of each workgroup (others would, too) counts up a word of each round, meets the others and
 * adds what it finds there to its result: all of them when nobody passes early. s5: how many workgroups there
 * are besides.
 */
const MEETS = `
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_load_dword s5, s[0:1], 0x8
  s_mov_b32 m0, 0
  s_mov_b32 s6, 0
  v_mov_b32 v6, 0
  s_mov_b64 exec, 8
  s_waitcnt lgkmcnt(0)
next:
  s_lshl_b32 s7, s6, 2
  v_mov_b32 v1, s7
  v_mov_b32 v2, 1
  global_atomic_add v1, v2, s[8:9]
  s_waitcnt vmcnt(0)
  v_mov_b32 v4, s5
  ds_gws_barrier v4 offset:3 gds
  s_waitcnt lgkmcnt(0)
  global_load_dword v3, v1, s[8:9] glc
  s_waitcnt vmcnt(0)
  v_add_u32 v6, v6, v3
  s_add_u32 s6, s6, 1
  s_cmp_lt_u32 s6, ${ROUNDS}
  s_cbranch_scc1 next
  s_lshl_b32 s7, s4, 2
  s_add_u32 s7, s7, 256
  v_mov_b32 v1, s7
  global_store_dword v1, v6, s[8:9]
  s_mov_b64 exec, 0
  ds_gws_barrier v4 offset:3 gds
  s_endpgm`;

/** One wave waits for another one that never comes. */
const ALONE = `
  v_mov_b32 v4, 1
  s_mov_b32 m0, 0x20000
  ds_gws_barrier v4 offset:1 gds
  s_endpgm`;

const INITIALISES = `
  v_mov_b32 v4, 1
  s_mov_b32 m0, 0
  ds_gws_init v4 offset:3 gds
  s_endpgm`;

for (const [name, options] of Object.entries(EXECUTORS)) {
  test(`workgroups wait for each other, several times: ${name}`, () => {
    using rig = new KernelRig(
      options,
      imageOf(kernelText('meets', MEETS), kernelText('alone', ALONE), kernelText('init', INITIALISES)),
    );
    const run = (kernel: string, groups: number, ...args: [bigint, number]) => {
      const kernarg = rig.allocate(64);
      rig.view(kernarg, 16).setBigUint64(0, args[0], true);
      rig.view(kernarg, 16).setUint32(8, args[1], true);
      using done = rig.runtime.createSignal(1n);
      const grid = [groups * LANES];
      const queue = rig.runtime.createQueue(rig.agent);
      queue.dispatch({
        kernel: rig.address(`${kernel}.kd`),
        kernarg,
        grid,
        workgroup: [LANES],
        completionSignal: done,
      });
      // One workgroup alone never ends: it is over when it waits at the barrier, however long that takes.
      const isEndless = kernel === 'alone' && groups === 1;
      const isAsleep = () => /asleep .*: ds_gws_barrier v4 offset:1 gds;/.test(queue.describeWaves().join());
      let left = done.waitSync('lt', 1n, { timeoutMs: isEndless ? 100 : 60_000 });
      for (let tries = 0; isEndless && !isAsleep() && tries < 600; tries++) {
        left = done.waitSync('lt', 1n, { timeoutMs: 100 });
      }
      if (isEndless) assert.ok(isAsleep(), queue.describeWaves().join());
      queue[Symbol.dispose]();
      return left;
    };
    for (const groups of [1, 2, 37]) {
      const out = rig.allocate(256 + 4 * groups);
      assert.equal(run('meets', groups, out, groups - 1), 0n);
      const view = rig.view(out, 256 + 4 * groups);
      for (let group = 0; group < groups; group++) {
        assert.equal(view.getUint32(256 + 4 * group, true), ROUNDS * groups, `workgroup ${group} of ${groups}`);
      }
    }
    // One that was cancelled is not waited with: the next barrier of two still needs two.
    assert.equal(run('alone', 1, 0n, 0), 1n);
    assert.equal(run('alone', 1, 0n, 0), 1n);
    assert.equal(run('alone', 2, 0n, 0), 0n);
    assert.equal(run('init', 1, 0n, 0), 0n);
  });
}
