/** Instrumented and native kernels side by side: each dispatch runs one or the other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { instrumentImage, type ToolVariable } from '../src/instrument/index.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
import { imageOf, kernelCases, TARGETS } from './tool-runs.test-support.ts';

for (const processor of TARGETS) {
  for (const each of kernelCases(processor, ['vadd', 'stencil', 'matmul16', 'mandelbrot-o0'])) {
    test(`${each.file}: a native dispatch executes what the original does`, async () => {
      const { name, kernel = name, launch } = each.benchmark;
      using original = new KernelRunner({ processor });
      const expected = original.prepare(imageOf(each), kernel, launch('small'))().output.slice();
      const executed = original.statistics.instructions;

      const session = new ToolSession([await chooseTool('instruction-count')]);
      const image = session.instrument(imageOf(each));
      using runner = new KernelRunner({ processor }, session);
      const start = runner.prepare(image, kernel, launch('small'));
      let before = 0;
      const run = (): number => {
        assert.deepEqual(start().output, expected);
        const more = runner.statistics.instructions - before;
        before += more;
        return more;
      };
      const instrumented = run();
      assert.ok(instrumented > executed);
      session.setVersion(kernel, 'native');
      assert.equal(run(), executed);
      assert.equal(run(), executed);
      session.setVersion(kernel, 'instrumented');
      assert.equal(run(), instrumented);
      session.onFinished();
      assert.equal(session.reports[0]!.launches, 2);
    });
  }
}

test('hosts write variables of tools between dispatches', async () => {
  const each = kernelCases('gfx90a', ['vadd'])[0]!;
  const chosen = await chooseTool('instruction-count');
  const variables: ToolVariable[] = [];
  const tool: typeof chosen.tool = {
    ...chosen.tool,
    attach: (code, values) => {
      const report = chosen.tool.attach(code, values);
      variables.push(...code.variables);
      return report;
    },
  };
  const session = new ToolSession([{ ...chosen, tool }]);
  assert.throws(() => session.memory, { code: 'USAGE' });
  const image = session.instrument(imageOf(each));
  using runner = new KernelRunner({ processor: 'gfx90a' }, session);
  const start = runner.prepare(image, 'vadd', each.benchmark.launch('small'));
  const counts = (): Uint8Array[] => variables.map(({ symbol, sizeBytes }) => session.memory.read(symbol, sizeBytes));
  start();
  const once = counts();
  assert.ok(once.some((bytes) => bytes.some((byte) => byte !== 0)));
  start();
  assert.notDeepEqual(counts(), once);
  for (const { symbol, sizeBytes } of variables) session.memory.write(symbol, new Uint8Array(sizeBytes));
  start();
  assert.deepEqual(counts(), once);
});

test('tools that run together see the same dispatches, and kernels are known', async () => {
  const tools = ['instruction-count:dispatches=1-2', 'opcode-histogram:dispatches=1-3'];
  const chosen = await Promise.all(tools.map(chooseTool));
  assert.throws(() => new ToolSession(chosen), { code: 'USAGE', message: /one 'dispatches'/ });
  const session = new ToolSession([chosen[0]!]);
  assert.throws(() => session.setVersion('vadd', 'native'), { code: 'USAGE', message: /'vadd'/ });
});

/** Kernels that call functions: one by its distance, one by a pointer in memory. */
const CALLS = `
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.p2align 8
.type f,@function
f:
  s_setpc_b64 s[30:31]
.size f, .-f
.p2align 8
.type g,@function
g:
  s_setpc_b64 s[30:31]
.size g, .-g
.p2align 8
.globl direct
.type direct,@function
direct:
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, g@rel32@lo+4
  s_addc_u32 s7, s7, g@rel32@hi+12
  s_swappc_b64 s[30:31], s[6:7]
  s_endpgm
.size direct, .-direct
.p2align 8
.globl pointer
.type pointer,@function
pointer:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dwordx2 s[6:7], s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[6:7]
  s_endpgm
.size pointer, .-pointer
.data
.p2align 3
.type table,@object
table:
  .quad f
.size table, 8
.rodata
${['direct', 'pointer']
  .map(
    (name) => `
.p2align 6
.amdhsa_kernel ${name}
.amdhsa_next_free_vgpr 1
.amdhsa_next_free_sgpr 32
.amdhsa_accum_offset 4
.end_amdhsa_kernel
`,
  )
  .join('')}`;

test('kernels that call through pointers, which lead to new code, have no native version', async () => {
  const image = { name: 'calls.o', bytes: assembleFile(CALLS, { processor: 'gfx90a', file: 'calls.s' }) };
  const chosen = await chooseTool('instruction-count');
  const { kernelNames, natives } = instrumentImage(image, [chosen], { keepsNatives: true });
  assert.deepEqual([...kernelNames].sort(), ['direct', 'pointer']);
  assert.deepEqual([...natives], [['direct', 'direct.native']]);
  const session = new ToolSession([chosen]);
  using runner = new KernelRunner({ processor: 'gfx90a' }, session);
  const instrumented = session.instrument(image);
  const [direct, pointer] = ['direct', 'pointer'].map((name) =>
    runner.prepare(instrumented, name, { grid: [64], workgroup: [64], args: [] }),
  );
  pointer!();
  for (const kernel of kernelNames) session.setVersion(kernel, 'native');
  direct!();
  assert.throws(() => pointer!(), { code: 'UNSUPPORTED', message: /'pointer'.*pointers/ });
});

test('what is instrumented twice has a native version of each', async () => {
  const each = kernelCases('gfx90a', ['vadd'])[0]!;
  const chosen = await chooseTool('block-count');
  const first = instrumentImage(imageOf(each), [chosen], { keepsNatives: true });
  const second = instrumentImage(first, [chosen], { keepsNatives: true });
  assert.deepEqual(
    [...first.natives, ...second.natives],
    [
      ['vadd', 'vadd.native'],
      ['vadd', 'vadd.native.2'],
    ],
  );
});

const FAULTING = (kernel: string): string => `
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.p2align 8
.globl ${kernel}
.type ${kernel},@function
${kernel}:
  v_mov_b32 v0, 0
  v_mov_b32 v1, 0
  global_load_dword v2, v[0:1], off
  s_waitcnt vmcnt(0)
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel ${kernel}
.amdhsa_next_free_vgpr 3
.amdhsa_next_free_sgpr 32
.amdhsa_accum_offset 4
.end_amdhsa_kernel
`;
const faultingImage = (kernel: string) => ({
  name: `${kernel}.o`,
  bytes: assembleFile(FAULTING(kernel), { processor: 'gfx90a', file: `${kernel}.s` }),
});

for (const version of ['instrumented', 'native'] as const) {
  test(`a fault of a dispatch that runs ${version} names its kernel`, async () => {
    const session = new ToolSession([await chooseTool('instruction-count')]);
    using runner = new KernelRunner({ processor: 'gfx90a' }, session);
    const run = runner.prepare(session.instrument(faultingImage('stray')), 'stray', {
      ...{ grid: [64], workgroup: [64], args: [] },
    });
    session.setVersion('stray', version);
    assert.throws(run, { code: 'GPU_FAULT', message: /kernel stray;/ });
  });
}

test('results are made of all code that is loaded', async () => {
  const [vadd, stencil] = kernelCases('gfx90a', ['vadd', 'stencil']);
  const session = new ToolSession([await chooseTool('instruction-count')]);
  using runner = new KernelRunner({ processor: 'gfx90a' }, session);
  for (const each of [vadd!, stencil!])
    runner.prepare(session.instrument(imageOf(each)), each.benchmark.name, each.benchmark.launch('small'))();
  session.onFinished();
  assert.deepEqual(
    session.reports.map(({ image }) => image),
    [vadd!.file, stencil!.file],
  );
  const totals = session.reports.map(({ result }) => result.summary.total);
  assert.ok(totals.every((total) => typeof total === 'bigint' && total > 0n));
});
