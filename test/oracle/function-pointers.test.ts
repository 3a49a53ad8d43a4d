/**
 * Functions that clang's code calls through pointers in private memory, in a table with an index of run time
 * and as arguments: each is counted as it runs, and calls to places that are not known are said.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { chooseTool } from '../../src/tools/chosen-tool.ts';
import { ToolSession } from '../../src/tools/tool-session.ts';
import { KernelRig } from '../kernel-rig.test-support.ts';
import { isVector } from '../tool-runs.test-support.ts';
import { hasClang } from './device-code.ts';

const OUTPUT_BYTES = 4096;
const SOURCE = `
typedef int (*operation)(int);
#define LOCAL static __attribute__((noinline)) int
LOCAL twice(int x) { return 2 * x; }
LOCAL more(int x) { return x + 1; }
LOCAL three(int x) { return more(x) + 2; }
LOCAL apply(operation f, int x) { return f(twice(x)); }
static operation const table[2] = {twice, more};
__attribute__((amdgpu_kernel, visibility("protected"))) void call(__attribute__((address_space(1))) int *out, int n) {
  int group = __builtin_amdgcn_workgroup_id_x(), item = __builtin_amdgcn_workitem_id_x();
  operation own[4] = {twice, more, three, twice};
  int sum = 0;
  for (int k = 0; k < 4; k++) sum += own[(group + k) & 3](k + n);
  sum += apply(group & 1 ? twice : more, sum);
  out[group * 64 + item] = table[group & 1](sum) + item;
}`;

function compiled(processor: string, level: string): Uint8Array {
  const options = [
    '--target=amdgcn-amd-amdhsa',
    `-mcpu=${processor}`,
    '-nogpulib',
    `-${level}`,
    '-x',
    'c',
    '-',
    '-o',
    '-',
  ];
  const { stdout, stderr, status } = spawnSync('clang-19', options, { input: SOURCE, maxBuffer: 2 ** 24 });
  assert.equal(status, 0, `${stderr}`);
  return new Uint8Array(stdout);
}

function run(bytes: Uint8Array, processor: string, session?: ToolSession) {
  using rig = new KernelRig({ processor, executor: 'handlers', countsPcs: true }, bytes);
  session?.onLoaded(rig.runtime, rig.agent, rig.executable);
  const out = rig.allocate(OUTPUT_BYTES);
  rig.run('call', out, 5n);
  session?.onFinished();
  const delta = rig.executable.loadedCodeObjects[0]!.loadDelta;
  const { pcCounts = new Map() } = rig.queue.statistics;
  return {
    output: Buffer.from(rig.runtime.view(out, OUTPUT_BYTES)),
    counts: new Map(Array.from(pcCounts, ([pc, count]) => [Number(pc - delta), count] as const)),
  };
}

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  for (const level of ['O0', 'O2']) {
    test(`${processor} -${level}: what pointers lead to is counted`, { skip: !hasClang }, async () => {
      const bytes = compiled(processor, level);
      const native = run(bytes, processor);
      const session = new ToolSession([await chooseTool('instruction-count')]);
      const { output } = run(session.instrument({ bytes, name: 'call.co' }).bytes, processor, session);
      assert.deepEqual(output, native.output);
      const [{ coverage, result } = assert.fail('no report')] = session.reports;
      assert.deepEqual(coverage.refused, {});
      assert.ok(level === 'O2' || coverage.unresolvedSites.length > 0);
      const rows = result.tables.find(({ name }) => name === 'instructions')!.rows;
      for (const [address, , , text, found] of rows) {
        const { waves, lanes } = native.counts.get(Number(address)) ?? { waves: 0, lanes: 0 };
        assert.equal(found, BigInt(isVector(text!) ? lanes : waves), `${address} ${text}`);
      }
      const listed = new Set(rows.map(([address]) => Number(address)));
      assert.deepEqual(
        [...native.counts.keys()].filter((address) => !listed.has(address)),
        [],
      );
    });
  }
}
