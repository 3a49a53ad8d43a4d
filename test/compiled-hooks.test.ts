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
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { parseTargetId } from '../src/codeobject/target-id.ts';
import {
  CompiledHooks,
  type HookArgument,
  instrumentImage,
  launchAtEntry,
  openHookFile,
  type PointHook,
  type ToolCode,
  type ToolInstruction,
} from '../src/instrument/index.ts';
import { readPcMap } from '../src/instrument/instrument.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { chooseHook } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
import { KernelRig } from './kernel-rig.test-support.ts';
import { compareSides, type Side } from './side-by-side.ts';

const PROCESSORS = ['gfx90a', 'gfx942', 'gfx1100'] as const;
const COUNTERS = 64;

type Attach = (code: ToolCode, hooks: CompiledHooks) => void;
interface Place {
  readonly symbol: string;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** The image with hooks of a file, and where a variable of the file is. */
function withHooks(image: { readonly name: string; readonly bytes: Uint8Array }, file: string, attach: Attach) {
  const processor = /gfx\w+/.exec(file)![0];
  const hookFile = openHookFile(readFileSync(`test/data/hooks/${file}`), file, parseTargetId(processor));
  const places = new Map<string, Place>();
  const tool = {
    ...{ name: 'hooks', summary: '', options: {} },
    attach: (code: ToolCode) => {
      const hooks = new CompiledHooks(hookFile, code);
      attach(code, hooks);
      for (const { name } of hookFile.variables) {
        const { variable, offset, sizeBytes } = hooks.variable(name)!;
        places.set(name, { symbol: variable.symbol, offset, sizeBytes });
      }
      return () => ({ summary: {}, tables: [] });
    },
  };
  const instructions = { begin: 0, end: Number.POSITIVE_INFINITY };
  const { bytes, coverage } = instrumentImage(image, [{ tool, values: {}, kernels: /./, instructions }]);
  return { image: { ...image, bytes }, coverage, places };
}

const constant = (value: number | bigint, dwords: 1 | 2 = 1): HookArgument => ({
  ...{ kind: 'constant', value: BigInt(value), dwords },
});
const vgpr = (number: number): HookArgument => ({
  ...{ kind: 'intrinsic', name: 'read_reg', numbers: [256 + number], dwords: 1 },
});

interface Run {
  readonly output: Uint8Array;
  /** A variable of the hooks' file. */
  readonly variable: (place: Place) => Uint8Array;
}

/** Runs a kernel of the examples once. */
function runExample(name: string, processor: string, image: { name: string; bytes: Uint8Array }) {
  const benchmark = KERNELS.find((each) => each.name === name)!;
  const { kernel = name } = benchmark;
  let variable: Run['variable'] | undefined;
  const observer = {
    onLoaded(
      runtime: KernelRig['runtime'],
      agent: KernelRig['agent'],
      executable: ReturnType<KernelRig['runtime']['createExecutable']>,
    ) {
      variable = ({ symbol, offset, sizeBytes }) =>
        runtime.view(executable.getSymbol(symbol, agent).address + BigInt(offset), sizeBytes).slice();
    },
    onLaunch() {},
    onFinished() {},
  };
  const runner = new KernelRunner({ processor, countsPcs: true }, observer);
  const { output } = runner.prepare(image, kernel, benchmark.launch('small'))();
  return { output: output.slice(), variable: variable!, runner, kernel };
}

const dwords64 = (bytes: Uint8Array): bigint[] => [...new BigUint64Array(bytes.slice().buffer)];
const example = (name: string, processor: string) => {
  const file = `examples/kernels/${name}.${processor}.co`;
  return { name: file, bytes: new Uint8Array(readFileSync(file)) };
};

/** By the address in the file, how many lanes execute each instruction of a kernel as it is. */
function nativeLanes(name: string, processor: string): { lanes: Map<number, number>; output: Uint8Array } {
  const image = example(name, processor);
  const { output, runner } = runExample(name, processor, image);
  using _ = runner;
  const lowest = [...runner.statistics.pcCounts!.keys()].reduce((a, b) => (a < b ? a : b));
  const [kernel] = parseCodeObject(image.bytes, name).kernels;
  const lanes = [...runner.statistics.pcCounts!].map(
    ([pc, count]) => [Number(pc - lowest + kernel!.entryAddress!), count.lanes] as const,
  );
  return { lanes: new Map(lanes), output };
}

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
}

/** A kernel of one wave or more: v0 is the work-item, v1 and the state are known at the point. */
function wave(processor: string, waveSize: 32 | 64) {
  const isGfx11 = processor === 'gfx1100';
  const mask = waveSize === 32 ? 's_mov_b32 vcc_lo, 0x11' : 's_mov_b64 vcc, 0x11';
  const text = `.text
.globl k
.p2align 8
.type k,@function
k:
  ${isGfx11 ? 's_load_b64' : 's_load_dwordx2'} s[2:3], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v1, 7
  s_mov_b32 m0, 5
  ${mask}
  s_cmp_eq_u32 s0, s0
  v_mov_b32 v3, 0
  s_cselect_b32 s5, 60, 61
  v_cndmask_b32 v3, 0, v0, vcc${waveSize === 32 ? '_lo' : ''}
  v_add_u32 v1, v1, v3
  s_add_u32 s5, s5, m0
  v_add_u32 v1, s5, v1
  s_waitcnt lgkmcnt(0)
  ${isGfx11 ? 'global_store_b32' : 'global_store_dword'} v2, v1, s[2:3]
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_user_sgpr_count 4
 .amdhsa_next_free_vgpr 24
 .amdhsa_next_free_sgpr 40
 ${isGfx11 ? `.amdhsa_wavefront_size32 ${waveSize === 32 ? 1 : 0}` : '.amdhsa_accum_offset 24'}
.end_amdhsa_kernel
`.replaceAll(isGfx11 ? 'v_add_u32' : '\0', 'v_add_nc_u32');
  const bytes = linkCodeObject([{ bytes: assembleFile(text, { processor }), name: 'k.o' }]);
  return { name: 'k.co', bytes };
}

const LANES = 64;
const GROUPS = 12;

/** Runs the kernel with hooks before `v_mov_b32 v3, 0`; what it stored, and the variables. */
function runWave(processor: string, level: string, hookOf: (hooks: CompiledHooks, at: ToolInstruction) => PointHook) {
  const waveSize = processor === 'gfx1100' ? 32 : 64;
  const made = withHooks(wave(processor, waveSize), `hooks.${processor}.${level}.o`, (code, hooks) => {
    const at = code.instructions[7]!;
    code.before(at, hookOf(hooks, at));
  });
  using rig = new KernelRig({ processor }, made.image.bytes);
  const out = rig.allocate(LANES * 4);
  rig.run('k', out);
  const stored = new Uint32Array(rig.runtime.view(out, LANES * 4).slice().buffer);
  const variables = new Map(
    [...made.places].map(([name, { symbol, offset, sizeBytes }]) => [
      name,
      rig.runtime.view(rig.address(symbol) + BigInt(offset), sizeBytes).slice(),
    ]),
  );
  const bytes = (name: string): Uint8Array => variables.get(name)!;
  const read = (name: string): bigint[] => dwords64(bytes(name));
  return { stored: [...stored], read, bytes, coverage: made.coverage, waves: (GROUPS * LANES) / waveSize };
}

for (const processor of PROCESSORS) {
  const isWave32 = processor === 'gfx1100';
  /** What lanes store: v1, their number in lanes 0 and 4 (of VCC), 60 for SCC and 5 of M0. */
  const expected = (v1: (lane: number) => number): number[] =>
    Array.from({ length: LANES }, (_, i) => v1(i) + ([0, 4].includes(isWave32 ? i % 32 : i) ? i : 0) + 65);
  const plain = expected(() => 7);

  for (const level of ['O1', 'O2', 'O3']) {
    test(`${processor}, -${level}: state of the application is read, and stays`, () => {
      const { stored, read, waves } = runWave(processor, level, (hooks, at) => hooks.hook('state', [constant(3)], at));
      assert.deepEqual(stored, plain);
      const [vcc, scc, m0, pc] = read('sums');
      assert.deepEqual([vcc, scc, m0], [0x11n * BigInt(waves), BigInt(waves), 5n * BigInt(waves)]);
      assert.equal(pc! % BigInt(waves * 3), 0n);
    });

    test(`${processor}, -${level}: loops, ways apart, scalars of lanes`, () => {
      const ids = Array.from({ length: LANES }, (_, i) => i);
      const classified = runWave(processor, level, (hooks, at) => hooks.hook('classify', [vgpr(0)], at));
      assert.deepEqual(classified.stored, plain);
      const sum = (of: (id: number) => number): bigint => BigInt(GROUPS * ids.reduce((all, id) => all + of(id), 0));
      assert.deepEqual(classified.read('sums').slice(0, 4), [
        sum((id) => (id % 4 === 3 ? 1 : 0)),
        sum((id) => (id % 4 === 1 ? id : 0)),
        sum((id) => (id % 2 === 0 && id > 1 ? Math.floor(Math.log2(id)) : 0)),
        sum(() => 1),
      ]);
      const summed = runWave(processor, level, (hooks, at) => hooks.hook('sum_over_lanes', [constant(6), vgpr(0)], at));
      assert.deepEqual(summed.stored, plain);
      assert.equal(
        summed.read('sums')[6],
        sum((id) => id),
      );
      const lanes = runWave(processor, level, (hooks, at) => hooks.hook('lane_statistics', [], at));
      const histogram = new Uint32Array(lanes.bytes('lane_histogram').buffer);
      assert.equal(histogram[isWave32 ? 32 : 64], lanes.waves);
    });

    test(`${processor}, -${level}: a hook changes the program, where it says so`, () => {
      const odd = runWave(processor, level, (hooks, at) => hooks.hook('add_to_v1', [vgpr(0)], at));
      assert.deepEqual(
        odd.stored,
        expected((lane) => 7 + (lane % 2 === 1 ? lane : 0)),
      );
    });

    test(`${processor}, -${level}: additions in scalar memory are done, or refused by name`, () => {
      const args = [constant(9), constant(1n << 33n, 2)];
      const run = () => runWave(processor, level, (hooks, at) => hooks.hook('count_in_scalar_memory', args, at));
      // The emulator knows the instruction by name alone.
      if (!isWave32) return assert.throws(run, /unsupported instruction 's_atomic_add_x2'/);
      const { stored, coverage } = run();
      assert.deepEqual(stored, plain);
      assert.deepEqual(coverage.refused, { 'the hook adds in scalar memory, which gfx1100 cannot': 1 });
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
  const waveSize = processor === 'gfx1100' ? 32 : 64;
  const original = wave(processor, waveSize);
  const codeObject = parseCodeObject(original.bytes, 'k.co');
  const [kernel] = codeObject.kernels;
  const [lifted] = liftCodeObject(codeObject).functions;
  const steps = new Map(lifted!.blocks.flatMap(({ instructions }) => instructions.map((step) => [step.offset, step])));
  const side = (bytes: Uint8Array, oldOf: (address: number) => number | undefined): Side => {
    let delta = 0;
    let buffers = 0;
    return {
      originalAddress: (offset) => oldOf(offset - delta),
      // The buffers stand where code leaves room for them.
      meaning: (dword) => (dword >= buffers && dword < buffers + 0x10000 ? dword - buffers : dword),
      run: (observer) => {
        using rig = new KernelRig({ processor, executor: 'reference', observer }, bytes);
        delta = Number((rig.address('k.kd') - kernel!.symbol.value) & 0xffffffffn);
        const out = rig.allocate(LANES * 4);
        buffers = Number(out & 0xffffffffn);
        rig.run('k', out);
      },
    };
  };
  const differenceAround = (name: string, args: readonly HookArgument[]) => {
    const made = withHooks(original, `hooks.${processor}.O2.o`, (code, hooks) => {
      for (const instruction of code.instructions) code.before(instruction, hooks.hook(name, args, instruction));
    });
    assert.deepEqual(made.coverage.refused, {});
    const map = readPcMap(parseCodeObject(made.image.bytes, 'k.co').elf)!;
    return compareSides(
      side(original.bytes, (address) => (steps.has(address) ? address : undefined)),
      side(made.image.bytes, (address) => {
        const row = map.rowAt(address);
        return row?.kind === 'original' ? row.origin : undefined;
      }),
      (address) => lifted!.liveBefore(steps.get(address)!),
    );
  };
  for (const [name, args] of Object.entries(QUIET)) {
    test(`${processor}: every live register is what it was around ${name}`, () => {
      assert.deepEqual(differenceAround(name, args), undefined);
    });
  }

  test(`${processor}: a hook that changes a register is seen to do so`, () => {
    assert.match(differenceAround('add_to_v1', [constant(3)])!.registers[0]!, /^v1 lane 0: /);
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
