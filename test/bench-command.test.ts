/** `wavewright bench`, on one short kernel: what it prints, not how fast it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from '../src/cli/commands/bench.ts';

async function printed(options: Partial<Parameters<typeof bench.run>[1]>): Promise<string> {
  let text = '';
  const stdout = (data: Uint8Array | string): void => {
    text += data;
  };
  const context = { stdout, stderr: () => {}, env: {} };
  const defaults = { suite: 'kernels', kernel: 'histogram', target: 'gfx90a', samples: 1, format: 'json' } as const;
  assert.equal(await bench.run(context, { baseline: undefined, workers: undefined, ...defaults, ...options }, []), 0);
  return text;
}

test('JSON has rates, times, tiers and ratios', async () => {
  const { schema, version, kernels } = JSON.parse(await printed({ baseline: ['js', 'reference'] }));
  assert.deepEqual({ schema, version, count: kernels.length }, { schema: 'wavewright.bench', version: 2, count: 1 });
  const [{ target, kernel, unit, operations, perSecond, cpuMs, wallMs, instructions, waves, tiers, comparisons }] =
    kernels;
  assert.deepEqual(
    { target, kernel, unit, operations, waves },
    {
      ...{ target: 'gfx90a', kernel: 'histogram', unit: 'element', operations: 1 << 20, waves: 256 },
    },
  );
  assert.ok(cpuMs > 0 && wallMs > 0 && instructions > waves);
  assert.ok(Math.abs(perSecond / (operations / (cpuMs / 1000)) - 1) < 1e-9);
  assert.ok(tiers.regions + tiers.loops > 0 && tiers.reference === 0);
  assert.deepEqual(
    comparisons.map(({ name }: { name: string }) => name),
    ['reference', 'js'],
  );
  for (const { perSecond: other, ratio } of comparisons) assert.ok(Math.abs(perSecond / other / ratio - 1) < 1e-9);
});

test('text has a line for each kernel', async () => {
  const [heading, line, end] = (await printed({ format: 'text' })).split('\n');
  assert.match(heading!, /^target +kernel +rate/);
  assert.match(line!, /^gfx90a +histogram +\S+ M element\/s .* regions/);
  assert.equal(end, '');
});

test('names that do not exist are refused', async () => {
  await assert.rejects(printed({ kernel: 'nothing*' }), /\bno kernel is called 'nothing\*'/);
  await assert.rejects(printed({ target: 'gfx90a,gfx803' }), /no benchmark kernels for 'gfx803'/);
  await assert.rejects(printed({ baseline: ['no/such/program'] }), /no such baseline/);
  await assert.rejects(printed({ suite: 'kernels,nothing' }), /no suite is called 'nothing'/);
  await assert.rejects(printed({ suite: 'first-run', kernel: 'nothing' }), /no application is called 'nothing'/);
  await assert.rejects(
    printed({ suite: 'applications', kernel: 'scan', target: 'sm_70' }),
    /no benchmark kernels for 'sm_70'/,
  );
  await assert.rejects(printed({ suite: 'first-run', kernel: 'spmv*' }), /one target and one application/);
});

test('the first run of an application has its CPU time', async () => {
  const { firstRun } = JSON.parse(await printed({ suite: 'first-run', kernel: 'scan' }));
  assert.deepEqual([firstRun.target, firstRun.application], ['gfx90a', 'scan']);
  assert.ok(firstRun.cpuMs > 0);
});
