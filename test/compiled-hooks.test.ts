/**
 * Hooks that clang compiled, put into kernels and run: what they count equals what the emulator counts of the
 * kernels as they were, and the kernels compute what they did.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { type HookArgument, launchAtEntry } from '../src/instrument/index.ts';
import { chooseHook } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
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
  vgpr,
  withHooks,
} from './hook-runs.test-support.ts';

const CASES: readonly (readonly [kernel: string, level: string])[] = [
  ...(['vadd', 'stencil', 'histogram'] as const).map((kernel) => [kernel, 'O2'] as const),
  ...(['O1', 'O2', 'O3'] as const).map((level) => ['collatz', level] as const),
];

for (const processor of PROCESSORS) {
  for (const [kernel, level] of CASES) {
    for (const hook of ['count_lanes', 'count_in_lane_zero']) {
      if (hook === 'count_in_lane_zero' && kernel !== 'collatz') continue;
      test(`${processor}, -${level}: ${hook} before each instruction of ${kernel}`, () => {
        const native = nativeLanes(kernel, processor);
        const truth = new Array<bigint>(COUNTERS).fill(0n);
        const made = withHooks(example(kernel, processor), `hooks.${processor}.${level}.o`, (code, hooks) => {
          for (const [i, instruction] of code.instructions.entries()) {
            truth[i % COUNTERS]! += BigInt(native.lanes.get(instruction.address) ?? 0);
            code.before(instruction, hooks.hook(hook, [constant(i % COUNTERS)], instruction));
          }
        });
        const { output, variable, runner } = runExample(kernel, processor, made.image);
        using _ = runner;
        assert.deepEqual(made.coverage.refused, {});
        assert.deepEqual(dwords64(variable(made.places.get('counters')!)), truth);
        assert.deepEqual(Buffer.compare(output, native.output), 0, 'the kernel computes what it did');
      });
    }
  }

  test(`${processor}: addresses of all loads and stores of vadd`, () => {
    const made = withHooks(example('vadd', processor), `hooks.${processor}.O2.o`, (code, hooks) => {
      for (const instruction of code.instructions) {
        const { effects } = instruction.step;
        const isAccess = effects.memory.some(({ space }) => space === 'global') && effects.counters.has('vmcnt');
        const isStore = effects.memory.some(({ access, space }) => access === 'store' && space === 'global');
        if (isAccess || isStore) code.before(instruction, hooks.hook('collect_addresses', [], instruction));
      }
    });
    const { variable, runner } = runExample('vadd', processor, made.image);
    using _ = runner;
    assert.deepEqual(made.coverage.refused, {});
    const [count] = dwords64(variable(made.places.get('record_count')!));
    const addresses = dwords64(variable(made.places.get('records')!)).slice(0, Number(count));
    const sorted = addresses.toSorted((a, b) => (a < b ? -1 : 1));
    // Three arrays of 1019 dwords, each dword once.
    const runs = sorted.reduce<bigint[][]>((all, address) => {
      if (all.at(-1)?.at(-1) === address - 4n) all.at(-1)!.push(address);
      else all.push([address]);
      return all;
    }, []);
    assert.deepEqual(
      runs.map((each) => each.length),
      [1019, 1019, 1019],
    );
  });

  test(`${processor}: addresses of all scalar loads of vadd, the same in all lanes`, () => {
    const offsets: bigint[] = [];
    const made = withHooks(example('vadd', processor), `hooks.${processor}.O2.o`, (code, hooks) => {
      for (const instruction of code.instructions) {
        const { effects } = instruction.step;
        if (effects.memory.length === 0 || !effects.counters.has('lgkmcnt')) continue;
        offsets.push(BigInt(instruction.step.text().split(', ').at(-1)!.replace('null', '0')));
        code.before(instruction, hooks.hook('collect_addresses', [], instruction));
      }
    });
    const { variable, runner } = runExample('vadd', processor, made.image);
    using _ = runner;
    assert.deepEqual(made.coverage.refused, {});
    const [count] = dwords64(variable(made.places.get('record_count')!));
    const addresses = dwords64(variable(made.places.get('records')!)).slice(0, Number(count));
    const first = addresses.reduce((a, b) => (a < b ? a : b));
    const lowest = offsets.reduce((a, b) => (a < b ? a : b));
    const lanes = Map.groupBy(addresses, (address) => address - first + lowest);
    assert.deepEqual([...lanes.keys()].sort(), offsets.toSorted());
    // Before the kernel leaves lanes behind the array out, and then.
    const lengths = new Set(lanes.values().map(({ length }) => length));
    assert.deepEqual([...lengths].sort(), [1019, 1024]);
  });
}

for (const processor of PROCESSORS) {
  const isWave32 = processor === 'gfx1100';
  /** What lanes store: v1, their number in lanes 0 and 4 (of VCC), 60 for SCC and 5 of M0. */
  const expected = (v1: (lane: number) => number): number[] =>
    Array.from({ length: LANES }, (_, i) => v1(i) + ([0, 4].includes(isWave32 ? i % 32 : i) ? i : 0) + 65);
  const plain = expected(() => 7);

  for (const level of ['O1', 'O2', 'O3']) {
    test(`${processor}, -${level}: state of the application is read, and stays`, () => {
      const { stored, read, waves } = runWave(processor, `hooks.${processor}.${level}.o`, (hooks, at) =>
        hooks.hook('state', [constant(3)], at),
      );
      assert.deepEqual(stored, plain);
      const [vcc, scc, m0, pc] = read('sums');
      assert.deepEqual([vcc, scc, m0], [0x11n * BigInt(waves), BigInt(waves), 5n * BigInt(waves)]);
      assert.equal(pc! % BigInt(waves * 3), 0n);
    });

    test(`${processor}, -${level}: loops, ways apart, scalars of lanes`, () => {
      const ids = Array.from({ length: LANES }, (_, i) => i);
      const classified = runWave(processor, `hooks.${processor}.${level}.o`, (hooks, at) =>
        hooks.hook('classify', [vgpr(0)], at),
      );
      assert.deepEqual(classified.stored, plain);
      const sum = (of: (id: number) => number): bigint => BigInt(GROUPS * ids.reduce((all, id) => all + of(id), 0));
      assert.deepEqual(classified.read('sums').slice(0, 4), [
        sum((id) => (id % 4 === 3 ? 1 : 0)),
        sum((id) => (id % 4 === 1 ? id : 0)),
        sum((id) => (id % 2 === 0 && id > 1 ? Math.floor(Math.log2(id)) : 0)),
        sum(() => 1),
      ]);
      const summed = runWave(processor, `hooks.${processor}.${level}.o`, (hooks, at) =>
        hooks.hook('sum_over_lanes', [constant(6), vgpr(0)], at),
      );
      assert.deepEqual(summed.stored, plain);
      assert.equal(
        summed.read('sums')[6],
        sum((id) => id),
      );
      const lanes = runWave(processor, `hooks.${processor}.${level}.o`, (hooks, at) =>
        hooks.hook('lane_statistics', [], at),
      );
      const histogram = new Uint32Array(lanes.bytes('lane_histogram').buffer);
      assert.equal(histogram[isWave32 ? 32 : 64], lanes.waves);
    });

    test(`${processor}, -${level}: a hook changes the program, where it says so`, () => {
      const odd = runWave(processor, `hooks.${processor}.${level}.o`, (hooks, at) =>
        hooks.hook('add_to_v1', [vgpr(0)], at),
      );
      assert.deepEqual(
        odd.stored,
        expected((lane) => 7 + (lane % 2 === 1 ? lane : 0)),
      );
    });

    test(`${processor}, -${level}: additions in scalar memory are done once for a wave`, () => {
      const file = `hooks.${processor}.${level}.o`;
      const args = [constant(9), constant(1n << 33n, 2)];
      const counted = runWave(processor, file, (hooks, at) => hooks.hook('count_in_scalar_memory', args, at));
      assert.deepEqual(counted.coverage.refused, {});
      assert.deepEqual(counted.stored, plain);
      assert.equal(counted.read('counters')[9], BigInt(counted.waves) << 33n);
      const { stored, read, bytes, waves } = runWave(processor, file, (hooks, at) =>
        hooks.hook('number_waves', [], at),
      );
      assert.deepEqual(stored, plain);
      assert.equal(new Uint32Array(bytes('lane_histogram').buffer)[64], waves);
      const numbers = Array.from({ length: waves }, (_, i) => BigInt(100 + i));
      assert.deepEqual(read('records').slice(0, waves + 1), [...numbers, 0n]);
    });

    test(`${processor}, -${level}: a wave whose lanes are off adds nothing in scalar memory`, () => {
      const file = `hooks.${processor}.${level}.o`;
      const args = [constant(9), constant(1n << 33n, 2)];
      for (const [name, given] of [['count_in_scalar_memory', args] as const, ['number_waves', []] as const]) {
        const run = runWave(processor, file, (hooks, at) => hooks.hook(name, given, at), 'needed', 'lanes off');
        assert.deepEqual(run.stored, plain);
        assert.ok([...run.bytes('counters'), ...run.bytes('lane_histogram')].every((byte) => byte === 0));
      }
    });
  }
}

/** Hooks that change nothing, before all instructions of the kernel. */
const QUIET: Readonly<Record<string, readonly HookArgument[]>> = {
  ...{ count_waves: [constant(1)], count_lanes: [constant(1)], count_in_lane_zero: [constant(1)] },
  ...{ count_each_lane: [constant(1), constant(3, 2)], lane_statistics: [], state: [constant(3)] },
  ...{ sum_over_lanes: [constant(6), vgpr(0)], classify: [vgpr(0)], count_opcode: [] },
};

for (const processor of PROCESSORS) {
  const file = `hooks.${processor}.O2.o`;
  for (const [name, args] of Object.entries(QUIET)) {
    test(`${processor}: every live register is what it was around ${name}`, () => {
      assert.deepEqual(differenceAround(processor, file, [name, args]), undefined);
    });
  }

  test(`${processor}: a hook that changes a register is seen to do so`, () => {
    assert.match(differenceAround(processor, file, ['add_to_v1', [constant(3)]])!.registers[0]!, /^v1 lane 0: /);
  });
}

for (const processor of PROCESSORS) {
  test(`${processor}: at its entry a kernel has what it was launched with`, () => {
    const made = withHooks(example('vadd', processor), `hooks.${processor}.O2.o`, (code, hooks) => {
      const [kernel] = code.kernels;
      const first = kernel!.blocks[0]!.instructions[0]!;
      const launch = launchAtEntry(kernel!, processor);
      code.atEntry(kernel!, hooks.hook('workgroups', [], first, { launch }));
      // Elsewhere that is kept for who asks.
      for (const end of kernel!.blocks.flatMap(({ instructions }) => instructions)) {
        if (end.step.control === 'end') code.before(end, hooks.hook('workgroups', [], end));
      }
      // What a point is told of the launch stands beside what is kept, and takes nothing of it away.
      code.before(first, hooks.hook('workgroups', [], first, { launch: { launchValues: 'none' } }));
    });
    assert.deepEqual(made.coverage.refused, {});
    const { variable, runner } = runExample('vadd', processor, made.image);
    using _ = runner;
    const { grid, workgroup } = KERNELS.find(({ name }) => name === 'vadd')!.launch('small');
    const waves = Math.ceil(workgroup[0]! / (processor === 'gfx1100' ? 32 : 64));
    const groups = Math.ceil(grid[0]! / workgroup[0]!);
    const [sum] = dwords64(variable(made.places.get('sums')!));
    assert.equal(sum, BigInt((3 * waves * groups * (groups + 1)) / 2));
  });
}

test('--hook: a file, its options, and the variables as result', async () => {
  const image = example('vadd', 'gfx90a');
  const read = (name: string): Uint8Array => readFileSync(name);
  const file = 'test/data/hooks/hooks.gfx90a.O2.o';
  const session = new ToolSession([chooseHook(`${file}:function=lane_statistics,at=entry,element=u32`, read)]);
  using runner = new KernelRunner({ processor: 'gfx90a' }, session);
  const { launch } = KERNELS.find(({ name }) => name === 'vadd')!;
  runner.prepare(session.instrument(image), 'vadd', launch('small'))();
  session.onFinished();
  const [{ result, coverage } = assert.fail('a report')] = session.reports;
  assert.deepEqual(coverage.refused, {});
  const histogram = result.tables.find(({ name }) => name === 'lane_histogram');
  assert.deepEqual(histogram?.rows, [[64, 16]]);
  assert.equal(result.summary.record_count, 0n);
  const attach = (text: string) => () => new ToolSession([chooseHook(`${file}${text}`, read)]).instrument(image);
  assert.throws(attach(''), /has several hooks/);
  assert.throws(attach(':function=none'), /has no hook 'none'/);
  assert.throws(attach(':at=nowhere'), /at/);
});

test('--hook: a helper that only its file can name is no hook to choose from', () => {
  const empty = (name: string, visibility: string) =>
    `.type ${name},@function\n${visibility}\n${name}:\n  s_setpc_b64 s[30:31]\n.size ${name}, .-${name}\n`;
  const inserted = (...functions: string[]) => {
    const object = assembleFile(`.text\n${functions.join('')}`, { processor: 'gfx90a' });
    return new ToolSession([chooseHook('h.o:at=entry', () => object)]).instrument(example('vadd', 'gfx90a'));
  };
  const helper = empty('helper', '.local helper');
  const hook = (name: string) => empty(name, `.globl ${name}\n.hidden ${name}`);
  assert.ok(inserted(helper, hook('first')));
  assert.ok(inserted(helper));
  assert.throws(() => inserted(helper, hook('first'), hook('second')), /several hooks/);
});
