/** What lanes access, by instruction: against closed formulas, and the same on all executors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeThreads } from '../devices/emulated/node-threads.ts';
import type { EmulatorDispatch } from './dispatch.ts';
import { EmulatorRig } from './emulator-rig.test-support.ts';
import type { AccessCounts } from './machine/access-counter.ts';

const EXECUTORS = [
  { executor: 'reference' },
  { executor: 'handlers' },
  { executor: 'jit', compileThreshold: 0 },
  { executor: 'jit', compileThreshold: 0, vertical: 'always' },
] as const;

const accessesOf = ({ pcCounts }: EmulatorDispatch): AccessCounts[] =>
  [...pcCounts!].toSorted(([a], [b]) => a - b).flatMap(([, { memory }]) => (memory ? [memory] : []));

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

for (const options of EXECUTORS) {
  const name = Object.values(options).join(' ');
  test(`${name}: global accesses at a stride touch the cache lines that they span`, () => {
    for (const [instruction, sizeBytes] of [
      ['global_load_dword v2', 4],
      ['global_load_dwordx2 v[2:3]', 8],
      ['global_load_dwordx4 v[4:7]', 16],
      ['global_load_ubyte v2', 1],
    ] as const) {
      for (const stride of [1, 2, 3, 8, 33, 64]) {
        using rig = new EmulatorRig({ ...options, countsAccesses: true });
        const step = stride * sizeBytes;
        const dispatch = rig.run(`
          v_mul_u32_u24 v1, ${step}, v0
          ${instruction}, v1, s[0:1]
          s_waitcnt vmcnt(0)
          s_endpgm`);
        const lines = new Set<number>();
        for (let lane = 0; lane < 64; lane++) {
          lines.add(Math.floor((lane * step) / 128)).add(Math.floor((lane * step + sizeBytes - 1) / 128));
        }
        const none = { cycles: 0, conflicts: 0 };
        assert.deepEqual(accessesOf(dispatch), [{ accesses: 1, bytes: 64 * sizeBytes, segments: lines.size, ...none }]);
      }
    }
  });

  test(`${name}: accesses to the LDS at a stride wait for their common divisor with the banks`, () => {
    for (const stride of [1, 2, 3, 8, 32]) {
      using rig = new EmulatorRig({ ...options, countsAccesses: true });
      const dispatch = rig.run(
        `
        v_mul_u32_u24 v1, ${4 * stride}, v0
        ds_write_b32 v1, v0
        ds_read2_b32 v[2:3], v1 offset0:0 offset1:1
        s_endpgm`,
        { ldsSizeBytes: 16_384 },
      );
      const cycles = 2 * gcd(stride, 32);
      const one = { accesses: 1, bytes: 256, segments: 0, cycles, conflicts: cycles - 2 };
      const both = { accesses: 2, bytes: 512, segments: 0, cycles: 2 * cycles, conflicts: 2 * (cycles - 2) };
      assert.deepEqual(accessesOf(dispatch), [one, both]);
    }
  });

  test(`${name}: lanes that are off do not count, nor an access that faulted; flat ones count where they lead`, () => {
    using rig = new EmulatorRig({ ...options, countsAccesses: true });
    const dispatch = rig.run(`
      v_mov_b32 v1, 0
      v_mov_b32 v2, s0
      v_mov_b32 v3, s1
      s_mov_b64 exec, 0xf0f
      flat_load_dword v4, v[2:3]
      s_waitcnt vmcnt(0) lgkmcnt(0)
      s_mov_b64 exec, 0
      global_load_dword v4, v1, s[0:1]
      s_mov_b64 exec, 1
      global_atomic_add v1, v0, s[0:1]
      v_mov_b32 v6, 0
      v_mov_b32 v7, 0
      global_load_dword v4, v[6:7], off
      s_endpgm`);
    assert.equal(dispatch.state, 'faulted');
    const none = { segments: 1, cycles: 0, conflicts: 0 };
    assert.deepEqual(accessesOf(dispatch), [
      { accesses: 1, bytes: 32, ...none },
      { accesses: 1, bytes: 4, ...none },
    ]);
  });
}

test('workers count the same', () => {
  const counts = [{}, { workers: 3, workersAtOnce: true, threads: nodeThreads }].map((options) => {
    using rig = new EmulatorRig({ ...options, countsAccesses: true });
    rig.place('v_lshlrev_b32 v1, 4, v0\n global_load_dword v2, v1, s[0:1]\n s_endpgm');
    const dispatch = rig.launch({ gridSize: [64 * 300, 1, 1] });
    while (rig.emulator.advance(5) !== 'idle');
    return accessesOf(dispatch);
  });
  assert.deepEqual(counts[0], [{ accesses: 300, bytes: 300 * 256, segments: 300 * 8, cycles: 0, conflicts: 0 }]);
  assert.deepEqual(counts[1], counts[0]);
});
