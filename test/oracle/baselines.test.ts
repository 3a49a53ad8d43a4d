/**
 * The baselines in C compute what the models compute, and answer with times. PoCL is measured where it is
 * installed, and not needed here.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { planOf } from '../../src/bench/applications/application.ts';
import { differenceFrom } from '../../src/bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../../src/bench/kernels.ts';
import { Baseline } from '../../src/bench/node-baseline.ts';

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const skip = !isRequired && spawnSync('gcc', ['--version']).status !== 0;
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-baselines-'));
after(() => rmSync(folder, { recursive: true }));
const build = spawnSync('bench/baselines/build.sh', [folder], { encoding: 'utf8' });
const NOT_IN_C = ['wmma16', 'mandelbrot-o0'];
const REORDERED = ['fma8', 'ihash', 'matmul16', 'matmul4x4', 'mfma16'];

test('they build without a warning', { skip }, () => {
  assert.equal(build.status, 0, build.stderr);
  assert.doesNotMatch(build.stderr, /warning/);
});

for (const name of ['gcc', 'gcc-native', 'gcc-vectorised']) {
  test(name, { skip }, async () => {
    await using baseline = new Baseline(path.join(folder, name));
    const able: string[] = [];
    for (const benchmark of KERNELS.filter((each) => !NOT_IN_C.includes(each.name))) {
      const launch = benchmark.launch('small');
      const plan = planOf(benchmark.name, launch);
      if (!(await baseline.prepare(`examples/kernels/${benchmark.name}.cl`, plan))) continue;
      able.push(benchmark.name);
      await baseline.run();
      const output = await baseline.read(Object.keys(plan.buffers)[0]!);
      assert.equal(differenceFrom(benchmark.model(launch), output, 1e-5), undefined, benchmark.name);
      const { cpuSeconds, wallSeconds } = await baseline.sample(1);
      assert.ok(cpuSeconds > 0 && wallSeconds > 0);
    }
    const all = KERNELS.map((each) => each.name).filter((each) => !NOT_IN_C.includes(each));
    assert.deepEqual(able, name === 'gcc-vectorised' ? REORDERED : all);
  });
}

test('a program that is none is an error', async () => {
  const baseline = new Baseline('/bin/false');
  await assert.rejects(baseline.prepare('fma8.cl', planOf('fma8', KERNELS[0]!.launch('small'))), { code: 'IO' });
});
