import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StreamWriter, streamItems, type WaveTrace } from '../base/wave-trace.ts';
import { DispatchTrace } from './code/wave-tracer.ts';
import type { EmulatorDispatch } from './dispatch.ts';
import { EmulatorRig } from './emulator-rig.test-support.ts';

/** Lanes go round as often as their number in four says. */
const DIVERGENT_LOOP = `
  v_and_b32 v1, 3, v0
  v_mov_b32 v2, 0
  s_mov_b64 s[4:5], exec
.Lloop:
  v_cmp_gt_u32 vcc, v1, v2
  s_and_b64 exec, exec, vcc
  s_cbranch_execz .Lend
  v_add_u32 v2, 1, v2
  s_branch .Lloop
.Lend:
  s_mov_b64 exec, s[4:5]
  s_endpgm`;

const FAULTING = `
  s_mov_b32 s4, 3
.Lloop:
  v_mov_b32 v3, 1
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 .Lloop
  v_mov_b32 v0, 0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  global_load_dword v4, v[0:1], off
  v_mov_b32 v2, 2
  s_endpgm`;

const bad = (what: string): never => assert.fail(what);
const traceOf = (dispatch: EmulatorDispatch): WaveTrace => dispatch.trace!.trace(BigInt);

/** Each instruction of a wave in order: its offset from the kernel's start, and its EXEC. */
function* executed({ runs, streams, waves }: WaveTrace, wave: number): Generator<readonly [number, bigint]> {
  const first = Math.min(...runs.map(({ pc }) => Number(pc)));
  for (const { run, exec, times } of streamItems(streams[waves[wave]!.stream]!, runs.length, bad)) {
    for (let time = 0; time < times; time++) {
      let at = Number(runs[run]!.pc) - first;
      for (const sizeBytes of runs[run]!.sizesBytes) {
        yield [at, exec];
        at += sizeBytes;
      }
    }
  }
}

/** Waves and lanes of each instruction, by its offset. */
function counted(trace: WaveTrace): Map<number, { waves: number; lanes: number }> {
  const counts = new Map<number, { waves: number; lanes: number }>();
  for (const { stream } of trace.waves) {
    for (const { run, exec, times } of streamItems(trace.streams[stream]!, trace.runs.length, bad)) {
      const lanes = exec.toString(2).replaceAll('0', '').length;
      let at = Number(trace.runs[run]!.pc);
      for (const sizeBytes of trace.runs[run]!.sizesBytes) {
        const { waves, lanes: known } = counts.get(at) ?? { waves: 0, lanes: 0 };
        counts.set(at, { waves: waves + times, lanes: known + times * lanes });
        at += sizeBytes;
      }
    }
  }
  return counts;
}

const EXECUTORS = ['handlers', 'reference', 'jit'] as const;

for (const executor of EXECUTORS) {
  for (const [name, text] of Object.entries({ DIVERGENT_LOOP, FAULTING })) {
    test(`${executor}: a trace of ${name} has what is counted by instruction`, () => {
      using rig = new EmulatorRig({ executor, compileThreshold: 0, tracesWaves: true });
      const dispatch = rig.run(text, { gridSize: [256, 2, 1], workgroupSize: [128, 1, 1] });
      const counts = [...dispatch.pcCounts!].map(([at, { waves, lanes }]) => [at, { waves, lanes }] as const);
      assert.deepEqual(
        [...counted(traceOf(dispatch))].toSorted(([a], [b]) => a - b),
        counts.filter(([, { waves }]) => waves > 0).toSorted(([a], [b]) => a - b),
      );
    });
  }

  test(`${executor}: instructions of a wave are in the order in which it executed them`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0, tracesWaves: true });
    const trace = traceOf(rig.run(DIVERGENT_LOOP, { gridSize: [256, 1, 1], workgroupSize: [128, 1, 1] }));
    assert.deepEqual(
      trace.waves.map(({ workgroup, index, lostCount }) => [...workgroup, index, lostCount]),
      [
        [0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [1, 0, 0, 0, 0],
        [1, 0, 0, 1, 0],
      ],
    );
    const all = 2n ** 64n - 1n;
    const masks = [0xeeee_eeee_eeee_eeeen, 0xcccc_cccc_cccc_ccccn, 0x8888_8888_8888_8888n, 0n];
    const expected: (readonly [number, bigint])[] = [0, 4, 8].map((at) => [at, all]);
    for (const [round, mask] of masks.entries()) {
      const before = masks[round - 1] ?? all;
      expected.push([12, before], [16, before], [20, mask]);
      if (mask !== 0n) expected.push([24, mask], [28, mask]);
    }
    expected.push([32, 0n], [36, all]);
    assert.deepEqual([...executed(trace, 2)], expected);
  });
}

test('streams of the same hash are told apart', () => {
  const trace = new DispatchTrace(64);
  const writers = [1, 2].map((run) => {
    const writer = new StreamWriter();
    writer.add(run, -1, 5, 1);
    writer.hash = 9;
    return writer;
  });
  for (const writer of [...writers, ...writers]) trace.end(trace.begin([0, 0, 0], 0), writer, 0);
  const { streams, waves } = trace.trace(BigInt);
  assert.deepEqual(
    waves.map(({ stream }) => [...streamItems(streams[stream]!, 3, bad)]),
    [1, 2, 1, 2].map((run) => [{ run, exec: 0x5_ffff_ffffn, times: 1 }]),
  );
  assert.equal(streams.length, 2);
});

test('waves that did the same share their stream', () => {
  using rig = new EmulatorRig({ compileThreshold: 0, tracesWaves: true });
  const { waves, streams } = traceOf(rig.run(DIVERGENT_LOOP, { gridSize: [64 * 512, 1, 1] }));
  assert.equal(waves.length, 512);
  assert.ok(streams.length <= 3, 'besides those of code that was not compiled yet there is one');
});
