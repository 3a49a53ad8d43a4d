import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeThreads } from '../devices/emulated/node-threads.ts';
import type { EmulatorDispatch } from './dispatch.ts';
import { EmulatorRig } from './emulator-rig.test-support.ts';

/** Lanes go round as often as their number in four says, and store how often that was. */
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
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v2, s[0:1]
  s_endpgm`;
/** Waves and lanes of a wave of 64: a line for each instruction above. */
const OF_WAVE_64 = [
  ...[
    [1, 64],
    [1, 64],
    [1, 64],
  ],
  ...[
    [4, 64 + 48 + 32 + 16],
    [4, 64 + 48 + 32 + 16],
    [4, 48 + 32 + 16],
    [3, 48 + 32 + 16],
    [3, 48 + 32 + 16],
  ],
  ...[
    [1, 0],
    [1, 64],
    [1, 64],
    [1, 64],
  ],
] as const;

const counted = ({ pcCounts }: EmulatorDispatch): (readonly [number, number])[] =>
  [...pcCounts!].toSorted(([a], [b]) => a - b).map(([, { waves, lanes }]) => [waves, lanes]);
const takenOf = ({ pcCounts }: EmulatorDispatch): number[] =>
  [...pcCounts!].toSorted(([a], [b]) => a - b).map(([, { taken }]) => taken);
const times = (factor: number): (readonly [number, number])[] =>
  OF_WAVE_64.map(([waves, lanes]) => [waves * factor, lanes * factor]);

/** EXEC is written again before an instruction reads it. */
const UNREAD_EXEC = `
  s_mov_b64 s[4:5], exec
  s_mov_b64 exec, 7
  s_add_u32 s6, s6, 1
  s_mov_b64 exec, s[4:5]
  s_endpgm`;

for (const executor of ['handlers', 'reference', 'jit'] as const) {
  test(`${executor}: active lanes are those of an EXEC that nothing reads, too`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0, countsPcs: true });
    const lanes = counted(rig.run(UNREAD_EXEC)).map(([, each]) => each);
    assert.deepEqual(lanes, [64, 64, 3, 3, 64]);
  });

  test(`${executor}: executions and active lanes of each instruction`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0, countsPcs: true });
    const dispatch = rig.run(DIVERGENT_LOOP);
    assert.deepEqual(counted(dispatch), times(1));
    assert.deepEqual(takenOf(dispatch), [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert.equal(
      [...dispatch.pcCounts!.values()].reduce((sum, { waves }) => sum + waves, 0),
      dispatch.instructions,
    );
    assert.equal(Math.min(...dispatch.pcCounts!.keys()), rig.entry);
  });

  test(`${executor}: dispatches that run in turns have counts of their own`, () => {
    using rig = new EmulatorRig({ executor, countsPcs: true, countsClasses: true });
    const [first, second] = [rig.start(DIVERGENT_LOOP), rig.launch({ gridSize: [640, 1, 1] })];
    while (rig.emulator.advance(1) !== 'idle');
    assert.deepEqual([counted(first), counted(second)], [times(1), times(10)]);
  });

  test(`${executor}: the instruction that faulted did not run`, () => {
    using rig = new EmulatorRig({ executor, countsPcs: true });
    const dispatch = rig.run(`
      v_mov_b32 v0, 0
      v_mov_b32 v1, 0
      s_mov_b64 exec, 0xf0
      global_load_dword v2, v[0:1], off
      s_endpgm`);
    assert.equal(dispatch.state, 'faulted');
    assert.deepEqual(
      counted(dispatch).filter(([waves]) => waves > 0),
      [
        [1, 64],
        [1, 64],
        [1, 64],
      ],
    );
  });

  test(`${executor}: counts survive a change of MODE and code that is forgotten`, () => {
    using rig = new EmulatorRig({ executor, countsPcs: true });
    const dispatch = rig.start(`
      s_mov_b32 s4, 20
    .Lloop:
      s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
      s_sleep 1
      s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
      s_sub_u32 s4, s4, 1
      s_cmp_lg_u32 s4, 0
      s_cbranch_scc1 .Lloop
      s_endpgm`);
    while (rig.emulator.advance(0.01) !== 'idle') rig.emulator.clearCode();
    assert.deepEqual(
      counted(dispatch).map(([waves]) => waves),
      [1, 20, 20, 20, 20, 20, 20, 1],
    );
  });
}

test('a cancelled dispatch keeps what it counted; without the option there are no counts', () => {
  using rig = new EmulatorRig({ countsPcs: true });
  const dispatch = rig.start('.L: s_branch .L');
  rig.emulator.advance(1);
  dispatch.cancel();
  assert.ok(counted(dispatch)[0]![0] >= 1);
  using other = new EmulatorRig();
  assert.equal(other.run('s_endpgm').pcCounts, undefined);
});

test('wave32: the lanes of the low half of EXEC count', () => {
  using rig = new EmulatorRig({ processor: 'gfx1100', countsPcs: true });
  const dispatch = rig.run('s_mov_b32 exec_hi, -1\n s_mov_b32 exec_lo, 0xff\n s_nop 0\n s_endpgm', { waveSize: 32 });
  assert.deepEqual(counted(dispatch), [
    [2, 64],
    [2, 64],
    [2, 16],
    [2, 16],
  ]);
});

test('a wave that waits at a barrier of the grid executes it once', () => {
  using rig = new EmulatorRig({ countsPcs: true });
  const dispatch = rig.run('v_mov_b32 v1, 3\n s_mov_b32 m0, 0\n ds_gws_barrier v1 gds\n s_endpgm', {
    gridSize: [256, 1, 1],
  });
  assert.equal(dispatch.state, 'complete');
  assert.deepEqual(
    counted(dispatch).map(([waves]) => waves),
    [4, 4, 4, 4],
  );
});

test('workers count as well, and once each in every dispatch', () => {
  using rig = new EmulatorRig({ countsPcs: true, workers: 3, workersAtOnce: true, threads: nodeThreads });
  rig.place(DIVERGENT_LOOP);
  for (const groups of [400, 40]) {
    const dispatch = rig.launch({ gridSize: [64 * groups, 1, 1], workgroupIdSgprs: [2, undefined, undefined] });
    while (rig.emulator.advance(5) !== 'idle');
    assert.deepEqual(counted(dispatch), times(groups));
  }
});

/** The highest lane comes to the end of the buffer of 64 KiB first. */
const FAULTING = (rest: string): string => `
  v_lshlrev_b32 v0, 10, v0
  s_mov_b32 s4, 0
.Lloop:
  global_load_dword v2, v0, s[0:1]
  v_add_u32 v0, 0x40, v0
  s_add_u32 s4, s4, 1
  ${rest}
  s_cmp_lt_u32 s4, 100
  s_cbranch_scc1 .Lloop
  s_endpgm`;

for (const [name, rest] of [
  ['a loop', ''],
  ['a loop with a further access', 'global_load_dword v3, v0, s[0:1]\n v_add_u32 v3, v3, v2'],
  ['a loop that changes EXEC', 's_lshl_b64 exec, exec, 1'],
  ['a loop with a skip', 's_cbranch_vccz .Lnext\n v_mov_b32 v5, v2\n.Lnext:'],
] as const) {
  test(`all executors count the same up to a fault in ${name}`, () => {
    const found = (
      [
        { executor: 'reference' },
        { executor: 'handlers' },
        { executor: 'jit', compileThreshold: 0, vertical: 'never' },
        { executor: 'jit', compileThreshold: 0, vertical: 'always' },
      ] as const
    ).map((options) => {
      using rig = new EmulatorRig({ ...options, countsPcs: true });
      const dispatch = rig.run(FAULTING(rest));
      assert.equal(dispatch.state, 'faulted');
      return [counted(dispatch).filter(([waves]) => waves > 0), takenOf(dispatch).filter((taken) => taken > 0)];
    });
    for (const each of found) assert.deepEqual(each, found[0]);
  });
}

test('a loop that is compiled as a whole counts its branches in both directions', () => {
  for (const [condition, taken] of [
    ['s_cbranch_scc1 .Lloop', 99],
    ['s_cbranch_scc0 .Lend\n s_branch .Lloop', 1],
  ] as const) {
    using rig = new EmulatorRig({ compileThreshold: 0, vertical: 'always', countsPcs: true });
    const dispatch = rig.run(`
      s_mov_b32 s4, 0
    .Lloop:
      v_add_f32 v1, v1, v1
      s_add_u32 s4, s4, 1
      s_cmp_lt_u32 s4, 100
      ${condition}
    .Lend:
      s_endpgm`);
    assert.equal(dispatch.tiers.loops > 0, condition.startsWith('s_cbranch_scc1'));
    assert.equal(takenOf(dispatch)[4], taken);
    assert.equal(counted(dispatch)[1]![0], 100);
  }
});

/** Lanes leave one by one, and some of them have more to do in some of the iterations. */
const LEAVING = `
  v_and_b32 v1, 15, v0
  v_mov_b32 v2, 0
  v_mov_b32 v4, 0
  v_mov_b32 v6, 0
  s_mov_b64 s[4:5], exec
  s_mov_b64 s[6:7], 0
.Lloop:
  v_and_b32 v3, 1, v2
  v_cmp_eq_u32 vcc, 1, v3
  s_and_saveexec_b64 s[8:9], vcc
  s_cbranch_execz .Leven
  v_add_u32 v4, v4, v2
  v_and_b32 v5, 2, v1
  v_cmp_eq_u32 vcc, 2, v5
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz .Lrest
  v_add_u32 v6, 1, v6
.Lrest:
  s_or_b64 exec, exec, s[10:11]
.Leven:
  s_or_b64 exec, exec, s[8:9]
  v_add_u32 v2, 1, v2
  v_cmp_ge_u32 vcc, v2, v1
  s_or_b64 s[6:7], vcc, s[6:7]
  s_andn2_b64 exec, exec, s[6:7]
  s_cbranch_execnz .Lloop
  s_mov_b64 exec, s[4:5]
  v_add_u32 v4, v4, v6
  s_endpgm`;
/** All lanes go round 300 times, more than is noted at once; in the first 200 the wave has more to do. */
const SKIPPING = `
  s_mov_b32 s4, 0
  v_mov_b32 v2, 0
.Lloop:
  v_mov_b32 v1, s4
  v_cmp_gt_u32 vcc, 200, v1
  s_and_saveexec_b64 s[8:9], vcc
  s_cbranch_execz .Lnext
  v_add_u32 v2, 1, v2
.Lnext:
  s_or_b64 exec, exec, s[8:9]
  s_add_u32 s4, s4, 1
  s_cmp_lt_u32 s4, 300
  s_cbranch_scc1 .Lloop
  v_add_u32 v4, v2, v2
  s_endpgm`;

for (const [name, text] of [
  ['a loop that lanes leave', LEAVING],
  ['a loop whose code the wave skips', SKIPPING],
] as const) {
  test(`all executors count the same in ${name}, as a whole, too`, () => {
    const found = (
      [
        { executor: 'reference' },
        { executor: 'jit', compileThreshold: 0, vertical: 'never' },
        { executor: 'jit', compileThreshold: 0, vertical: 'always' },
      ] as const
    ).map((options) => {
      using rig = new EmulatorRig({ ...options, countsPcs: true });
      const dispatch = rig.run(text, { gridSize: [100, 1, 1] });
      assert.equal(dispatch.tiers.loops > 0, 'vertical' in options && options.vertical === 'always');
      return [counted(dispatch), takenOf(dispatch)];
    });
    assert.deepEqual(found[1], found[0]);
    assert.deepEqual(found[2], found[0]);
  });
}
