/** Versions of a kernel by presets, beside the one that was compiled: each launch chooses. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { chooseHook, chooseTool, readTraceFile } from '../src/instrument.ts';
import { createContext } from '../src/kernels/index.ts';
import { ToolPresets } from '../src/tools/tool-presets.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
import { imageOf, kernelCases, TARGETS } from './tool-runs.test-support.ts';

const presetsOf = async (table: Record<string, readonly string[]>): Promise<ToolPresets> =>
  new ToolPresets(
    Object.fromEntries(
      await Promise.all(
        Object.entries(table).map(async ([name, tools]) => [name, await Promise.all(tools.map(chooseTool))] as const),
      ),
    ),
  );

const KERNELS = ['vadd', 'stencil', 'matmul16'];

for (const processor of TARGETS) {
  for (const each of kernelCases(processor, KERNELS)) {
    test(`${each.file}: presets count what a session counts, and native launches execute what the original does`, async () => {
      const { name, kernel = name, launch } = each.benchmark;
      const session = new ToolSession([await chooseTool('instruction-count:level=wave')]);
      using rewritten = new KernelRunner({ processor }, session);
      const expected = rewritten
        .prepare(session.instrument(imageOf(each)), kernel, launch('small'))()
        .output.slice();
      session.onFinished();
      const [
        {
          result: { summary },
        } = assert.fail('a report'),
      ] = session.reports;

      using original = new KernelRunner({ processor });
      original.prepare(imageOf(each), kernel, launch('small'))();
      const executed = original.statistics.instructions;

      const presets = await presetsOf({
        counted: ['instruction-count:level=wave'],
        traced: ['memory-trace:records=1000', 'opcode-histogram:level=wave'],
      });
      using runner = new KernelRunner({ processor }, presets);
      const start = runner.prepare(imageOf(each), kernel, launch('small'));
      let before = 0;
      const run = (version: string): number => {
        presets.setVersion(kernel, version);
        assert.deepEqual(start().output, expected, version);
        const more = runner.statistics.instructions - before;
        before += more;
        return more;
      };
      assert.equal(run('native'), executed);
      const counted = run('counted');
      assert.ok(counted > executed);
      assert.ok(run('traced') > executed);
      assert.equal(run('native'), executed);
      assert.equal(run('counted'), counted);
      // The trace is full by now.
      assert.ok(run('traced') > executed);
      presets.onFinished();
      assert.deepEqual(
        presets.reports.map(({ preset, use, launches }) => [preset, use.tool.name, launches]),
        [
          ['counted', 'instruction-count', 2],
          ['traced', 'memory-trace', 2],
          ['traced', 'opcode-histogram', 2],
        ],
      );
      const total = BigInt(summary.total!);
      assert.equal(presets.reports[0]!.result.summary.total, 2n * total);
      assert.equal(presets.reports[2]!.result.summary.total, 2n * total);
    });
  }
}

/** A kernel that counts its waves in memory of the file, by calling a function through its distance. */
const SUMS = `
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.p2align 8
.type count,@function
count:
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, sums@rel32@lo+4
  s_addc_u32 s7, s7, sums@rel32@hi+12
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  global_atomic_add v1, v2, s[6:7]
  s_waitcnt vmcnt(0)
  s_setpc_b64 s[30:31]
.size count, .-count
.p2align 8
.globl kernel
.type kernel,@function
kernel:
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, count@rel32@lo+4
  s_addc_u32 s9, s9, count@rel32@hi+12
  s_swappc_b64 s[30:31], s[8:9]
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, pointer@rel32@lo+4
  s_addc_u32 s9, s9, pointer@rel32@hi+12
  s_load_dwordx2 s[8:9], s[8:9], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  global_atomic_add v1, v2, s[8:9] offset:4
  s_endpgm
.size kernel, .-kernel
.data
.p2align 3
.globl sums
.type sums,@object
sums:
  .long 5, 7
.size sums, 8
.type pointer,@object
pointer:
  .quad sums
.size pointer, 8
.rodata
.p2align 6
.amdhsa_kernel kernel
.amdhsa_next_free_vgpr 3
.amdhsa_next_free_sgpr 32
.amdhsa_accum_offset 4
.end_amdhsa_kernel
`;

test('calls and data: all versions of a kernel work on the data of the one that was compiled', async () => {
  using device = createEmulatedDevice({ processor: 'gfx90a' });
  using context = createContext(device);
  const presets = await presetsOf({ counted: ['instruction-count:level=wave'] });
  using module = context.load(SUMS, { presets });
  const kernel = module.kernel('kernel');
  const sums = (): number[] => [...new Uint32Array(module.variable('sums').slice().buffer)];
  const shape = { grid: 64, workgroup: 64 };
  await kernel.launch(shape);
  assert.deepEqual(sums(), [69, 71]);
  await kernel.launch({ ...shape, preset: 'counted' });
  assert.deepEqual(sums(), [133, 135]);
  await kernel.launch({ ...shape, preset: 'native' });
  assert.deepEqual(sums(), [197, 199]);
  const [{ result, launches, kernel: of, coverage } = assert.fail('a report')] = presets.results();
  assert.deepEqual([of, launches, result.summary.total], ['kernel', 1, 21n]);
  assert.deepEqual(coverage.refused, {});
});

for (const processor of ['gfx90a', 'gfx1100'] as const) {
  test(`${processor}: kernels call functions of other code objects, with the stack that these need`, async () => {
    using device = createEmulatedDevice({ processor });
    using context = createContext(device);
    const presets = await presetsOf({ counted: ['instruction-count:level=wave'] });
    const files = ['apply', 'filters'].map((name) => readFileSync(`examples/link/${name}.${processor}.co`));
    using module = context.load(files, { presets });
    const pixels = Uint32Array.from({ length: 64 }, (_, i) => i * 0x030405);
    for (const name of ['soften_all', 'apply_each']) {
      const run = async (preset: string): Promise<Uint32Array> => {
        const [out, input] = [context.buffer(new Uint32Array(64)), context.buffer(pixels)];
        await module.kernel(name).launch({ grid: 64, workgroup: 64, preset }, out, input, 64);
        return out.read();
      };
      assert.deepEqual(await run('counted'), await run('native'));
    }
    assert.deepEqual(
      presets.results().map(({ kernel, launches }) => [kernel, launches]),
      [
        ['soften_all', 1],
        ['apply_each', 1],
      ],
    );
    for (const { result } of presets.results()) assert.ok(BigInt(result.summary.total!) > 0n);
  });
}

test('hosts read and write variables of tools by name; versions go with their module', async () => {
  using device = createEmulatedDevice({ processor: 'gfx90a' });
  using context = createContext(device);
  const presets = await presetsOf({
    counted: ['instruction-count:level=wave'],
    both: ['instruction-count', 'opcode-histogram'],
  });
  const code = readFileSync('examples/kernels/vadd.gfx90a.co');
  const [a, b, sum] = [1, 2, 0].map((value) => context.buffer(new Float32Array(256).fill(value)));
  const launch = { grid: 256, workgroup: 64 };
  // A launch before there are presets has a queue of its own.
  using plain = context.load(code);
  await plain.kernel('vadd').launch(launch, sum!, a!, b!, 256);
  await assert.rejects(plain.kernel('vadd').launch({ ...launch, preset: 'counted' }, sum!, a!, b!, 256), {
    ...{ code: 'USAGE', message: /without presets/ },
  });
  const module = context.load(code, { presets });
  const vadd = module.kernel('vadd');
  const run = (preset: string) => vadd.launch({ ...launch, preset }, sum!, a!, b!, 256);
  await run('counted');
  assert.equal(sum!.read()[7], 3);
  const counts = presets.variable('vadd', 'counted', 'counts');
  const words = (): BigUint64Array => new BigUint64Array(counts.slice().buffer);
  const once = words();
  assert.ok(once.some((count) => count > 0n));
  counts.fill(0);
  await run('counted');
  assert.deepEqual(words(), once);
  await run('native');
  await plain.kernel('vadd').launch(launch, sum!, a!, b!, 256);
  assert.deepEqual(words(), once);
  assert.deepEqual(
    presets.variables('vadd', 'both').map(({ tool, name }) => [tool, name]),
    [
      ['instruction-count', 'counts'],
      ['opcode-histogram', 'counts'],
    ],
  );
  assert.throws(() => presets.variable('vadd', 'both', 'counts'), { code: 'USAGE', message: /several variables/ });
  assert.throws(() => presets.variable('vadd', 'counted', 'none'), { code: 'USAGE', message: /'none'/ });
  assert.equal(presets.variable('vadd', 'both', 'opcode-histogram.counts').length > 0, true);
  await assert.rejects(run('other'), { code: 'USAGE', message: /no preset 'other'/ });
  assert.throws(() => presets.setVersion('none', 'counted'), { code: 'USAGE', message: /no kernel 'none'/ });
  module[Symbol.dispose]();
  assert.deepEqual(presets.results(), []);
  assert.throws(() => presets.setVersion('vadd', 'counted'), { code: 'USAGE' });
  await plain.kernel('vadd').launch(launch, sum!, a!, b!, 256);
});

test('a fault in a version names its kernel, and the next launch works again', async () => {
  using device = createEmulatedDevice({ processor: 'gfx90a' });
  using context = createContext(device);
  const presets = await presetsOf({ counted: ['instruction-count'] });
  using module = context.load(readFileSync('examples/kernels/vadd.gfx90a.co'), { presets });
  const vadd = module.kernel('vadd');
  const short = context.buffer(new Float32Array(16));
  const shape = { grid: 1024 * 64, workgroup: 64 };
  for (const preset of ['counted', 'native']) {
    await assert.rejects(vadd.launch({ ...shape, preset }, short, short, short, 2 ** 20), {
      ...{ code: 'GPU_FAULT', message: /vadd/ },
    });
  }
  await vadd.launch({ grid: 16, workgroup: 16, preset: 'counted' }, short, short, short, 16);
});

test('presets that cannot be are refused by name', async () => {
  const tools = [await chooseTool('instruction-count:dispatches=1-2')];
  assert.throws(() => new ToolPresets({ some: tools }), { code: 'USAGE', message: /'dispatches'/ });
  assert.throws(() => new ToolPresets({ native: [] }), { code: 'USAGE', message: /'native'/ });
});

test('the example of the documentation prints what stands there', async (t) => {
  const text = readFileSync('docs/instrumentation.md', 'utf8');
  const [, source, output] = /```ts presets\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(text) ?? [];
  const lines: string[] = [];
  t.mock.method(console, 'log', (...cells: unknown[]) => {
    lines.push(
      cells
        .map((cell) => (typeof cell === 'bigint' ? `${cell}n` : `${cell}`))
        .join(' ')
        .trimEnd(),
    );
  });
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-presets-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const from = (name: string): string => `from '${pathToFileURL(path.resolve(`src/${name}.ts`)).href}'`;
  const program = source!
    .replace("from 'wavewright'", from('index'))
    .replace("from 'wavewright/instrument'", from('instrument'));
  writeFileSync(path.join(folder, 'presets.mts'), program);
  await import(pathToFileURL(path.join(folder, 'presets.mts')).href);
  assert.equal(`${lines.join('\n')}\n`, output);
});

test('a hook that was compiled is a preset, too; what a tool would write is in its result', async () => {
  using device = createEmulatedDevice({ processor: 'gfx90a' });
  using context = createContext(device);
  const file = 'test/data/hooks/hooks.gfx90a.O2.o:function=lane_statistics,at=entry,element=u32';
  const presets = new ToolPresets({
    hooked: [chooseHook(file, (name) => readFileSync(name))],
    traced: [await chooseTool('memory-trace:file=trace')],
  });
  const vadd = context.load(readFileSync('examples/kernels/vadd.gfx90a.co'), { presets }).kernel('vadd');
  const buffer = context.buffer(new Float32Array(256));
  for (const preset of ['hooked', 'traced']) {
    await vadd.launch({ grid: 256, workgroup: 64, preset }, buffer, buffer, buffer, 256);
  }
  const [hooked, traced] = presets.results().map(({ result }) => result);
  assert.deepEqual(hooked?.tables.find(({ name }) => name === 'lane_histogram')?.rows, [[64, 4]]);
  const [trace] = traced?.files ?? [];
  assert.equal(trace?.name, 'trace');
  assert.equal(readTraceFile(trace!.bytes, trace!.name).records.length, 3 * 256);
});
