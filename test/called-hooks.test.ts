/**
 * Hooks that are called as the compiler wrote them: what they count equals the truth of the native run, every
 * live register is what it was, and a hook that is lifted counts the same when it is called.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallPolicy, HookArgument, PointKnowledge } from '../src/instrument/index.ts';
import { FlatScratchWatch } from './flat-scratch.test-support.ts';
import {
  COUNTERS,
  constant,
  differenceAround,
  dwords64,
  example,
  GROUPS,
  LANES,
  nativeLanes,
  PROCESSORS,
  runExample,
  runWave,
  storedBy,
  vgpr,
  wave,
  withHooks,
} from './hook-runs.test-support.ts';

/** By hook, how often it adds the active lanes for a counter. */
const COUNTING: Readonly<Record<string, (index: number) => number>> = {
  count_by_call: () => 1,
  count_by_recursion: () => 3,
  count_by_pointer: (index) => 1 + (index % 2),
  count_on_stack: (index) => 1 + (index % 8),
};

/** Counters of a kernel with a hook before each instruction, and what they are to be. */
function counted(
  processor: string,
  kernel: string,
  [file, hook]: readonly [file: string, hook: string],
  calls: CallPolicy,
) {
  const native = nativeLanes(kernel, processor);
  const truth = new Array<bigint>(COUNTERS).fill(0n);
  const times = COUNTING[hook] ?? (() => 1);
  const made = withHooks(
    example(kernel, processor),
    file,
    (code, hooks) => {
      for (const [i, instruction] of code.instructions.entries()) {
        const index = i % COUNTERS;
        truth[index]! += BigInt((native.lanes.get(instruction.address) ?? 0) * times(index));
        code.before(instruction, hooks.hook(hook, [constant(index)], instruction));
      }
    },
    calls,
  );
  const { output, variable, runner } = runExample(kernel, processor, made.image);
  using _ = runner;
  assert.deepEqual(made.coverage.refused, {});
  assert.equal(made.coverage.served.envelope, made.coverage.requested);
  assert.equal(Buffer.compare(output, native.output), 0, 'the kernel computes what it did');
  return { counters: dwords64(variable(made.places.get('counters')!)), truth };
}

for (const processor of PROCESSORS) {
  for (const hook of Object.keys(COUNTING)) {
    for (const kernel of ['vadd', 'collatz', ...(hook === 'count_by_call' ? ['histogram', 'matmul16'] : [])]) {
      test(`${processor}: ${hook} before each instruction of ${kernel}`, () => {
        const { counters, truth } = counted(processor, kernel, [`calls.${processor}.o`, hook], 'needed');
        assert.deepEqual(counters, truth);
      });
    }
  }

  test(`${processor}: calls need no free vector register`, () => {
    // Of sha256 all 256 are live nearly everywhere.
    const native = nativeLanes('sha256', processor);
    let truth = 0n;
    const made = withHooks(example('sha256', processor), `calls.${processor}.o`, (code, hooks) => {
      for (const instruction of code.instructions.slice(300, 316)) {
        truth += BigInt(native.lanes.get(instruction.address) ?? 0);
        code.before(instruction, hooks.hook('count_by_call', [constant(5)], instruction));
      }
    });
    const { output, variable, runner } = runExample('sha256', processor, made.image);
    using _ = runner;
    assert.deepEqual([made.coverage.refused, made.coverage.served.envelope], [{}, 16]);
    assert.equal(dwords64(variable(made.places.get('counters')!))[5], truth);
    assert.equal(Buffer.compare(output, native.output), 0, 'the kernel computes what it did');
  });

  test(`${processor}: a hook that could be lifted counts the same when it is called`, () => {
    const { counters, truth } = counted(processor, 'collatz', [`hooks.${processor}.O2.o`, 'count_lanes'], 'always');
    assert.deepEqual(counters, truth);
  });
}

// On gfx10 FLAT_SCRATCH is two hardware registers, and called code has private memory through a resource.
for (const processor of [...PROCESSORS, 'gfx1030']) {
  const isWave32 = !processor.startsWith('gfx9');
  const file = `calls.${processor}.o`;
  /** What lanes store: v1, their number in lanes 0 and 4 (of VCC), 60 for SCC and 5 of M0. */
  const expected = (v1: (lane: number) => number): number[] =>
    Array.from({ length: LANES }, (_, i) => v1(i) + ([0, 4].includes(isWave32 ? i % 32 : i) ? i : 0) + 65);

  test(`${processor}: called code reads the state of the application`, () => {
    const { stored, read, waves } = runWave(processor, file, (hooks, at) =>
      hooks.hook('state_by_call', [constant(3)], at),
    );
    assert.deepEqual(
      stored,
      expected(() => 7),
    );
    const [vcc, scc, m0, pc] = read('sums');
    assert.deepEqual([vcc, scc, m0], [0x11n * BigInt(waves), BigInt(waves), 5n * BigInt(waves)]);
    assert.equal(pc! % BigInt(waves * 3), 0n);
    assert.notEqual(pc, 0n);
  });

  test(`${processor}: called code changes a register, where it says so`, () => {
    const { stored } = runWave(processor, file, (hooks, at) => hooks.hook('change_by_call', [vgpr(0)], at));
    assert.deepEqual(
      stored,
      expected((lane) => 7 + (lane % 2 === 1 ? lane : 0)),
    );
  });

  test(`${processor}: with all lanes a hook is called where the application has none, too`, () => {
    const run = runWave(
      processor,
      file,
      (hooks, at) => hooks.hook('count_by_call', [constant(2)], at, { lanes: 'all' }),
      'needed',
      'lanes off',
    );
    assert.deepEqual(
      run.stored,
      expected(() => 7),
    );
    // All of them are the first lane of none, and add that none is active.
    assert.deepEqual([run.read('sums')[0], run.read('counters')[2]], [BigInt(run.waves * (isWave32 ? 32 : 64)), 0n]);
    const lifted = runWave(processor, `hooks.${processor}.O2.o`, (hooks, at) =>
      hooks.hook('count_lanes', [constant(2)], at, { lanes: 'all' }),
    );
    assert.match(Object.keys(lifted.coverage.refused).join(), /is not called/);
  });

  test(`${processor}: arguments of all kinds reach what is called`, () => {
    const args = [constant(2), constant(30), constant(400), constant(5n << 33n, 2)];
    const { read, waves } = runWave(processor, file, (hooks, at) => hooks.hook('four_arguments', args, at));
    assert.equal(read('sums')[6], BigInt(waves) * (2n + 30n * 400n + 400n));
    const curves = runWave(processor, file, (hooks, at) => hooks.hook('sum_of_curve', [vgpr(0)], at));
    const ids = Array.from({ length: LANES }, (_, id) => Math.floor((1000 * Math.sqrt(id)) / (id + 1.5)));
    const sum = BigInt(GROUPS * ids.reduce((all, each) => all + each, 0));
    const difference = curves.read('sums')[7]! - sum;
    assert.ok(difference >= -GROUPS * LANES && difference <= GROUPS * LANES, `${difference} of ${sum}`);
  });

  /** Hooks that change nothing. */
  const quiet: readonly (readonly [name: string, args: readonly HookArgument[], knowledge?: PointKnowledge])[] = [
    ...['count_by_call', 'count_by_pointer', 'count_on_stack'].map((name) => [name, [constant(1)]] as const),
    ['state_by_call', [constant(3)]],
    ['count_on_stack', [constant(1)], { lanes: 'all' }],
  ];
  for (const hook of quiet) {
    test(`${processor}: every live register is what it was around the call of ${hook[0]}, ${hook[2]?.lanes ?? 'active'} lanes`, () => {
      assert.deepEqual(differenceAround(processor, file, hook), undefined);
    });
  }

  test(`${processor}: every live register is what it was around a hook that could be lifted`, () => {
    const difference = differenceAround(processor, `hooks.${processor}.O2.o`, ['classify', [vgpr(0)]], {
      calls: 'always',
    });
    assert.deepEqual(difference, undefined);
  });

  test(`${processor}: a called hook that changes a register is seen to do so`, () => {
    const difference = differenceAround(processor, file, ['change_by_call', [constant(3)]]);
    assert.match(difference!.registers[0]!, /^v1 lane 0: /);
  });
}

for (const processor of ['gfx90a', 'gfx1030']) {
  test(`${processor}: FLAT_SCRATCH is what it was around a call`, () => {
    const hook = ['count_on_stack', [constant(1)]] as const;
    for (const usesAllScalars of [false, true]) {
      const code = { usesFlatScratch: true, usesAllScalars };
      assert.equal(differenceAround(processor, `calls.${processor}.o`, hook, code), undefined);
    }
  });

  test(`${processor}: FLAT_SCRATCH leads to memory where no scalar register keeps what it is to be`, () => {
    for (const how of ['usesFlatScratch', 'setsFlatScratchUp'] as const) {
      const code = { [how]: true, usesAllScalars: true };
      const waveSize = processor === 'gfx90a' ? 64 : 32;
      const waves = (GROUPS * LANES) / waveSize;
      const native = wave(processor, waveSize, code);
      const made = withHooks(native, `calls.${processor}.o`, (all, hooks) => {
        const behindSetup = all.instructions.slice(8);
        for (const each of behindSetup) all.before(each, hooks.hook('count_on_stack', [constant(1)], each));
      });
      assert.deepEqual(made.coverage.refused, {});
      const watch = new FlatScratchWatch(processor, made.image.bytes);
      assert.deepEqual(storedBy(processor, made.image.bytes, watch), storedBy(processor, native.bytes));
      assert.ok(watch.accessCount > 0);
      assert.deepEqual(watch.strays, [], how);
      // Each wave sets both halves up, and the preamble does; more is needed where it may be something else.
      assert.equal(watch.writeCount > 4 * waves, how === 'usesFlatScratch');
    }
  });
}
