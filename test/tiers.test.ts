/**
 * What runs the instructions: with a threshold of 0, compiled code runs all of them, in every example kernel
 * and program.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import expected from '../examples/expected.json' with { type: 'json' };
import { assembledImage, kernelSource } from '../src/bench/assembled-kernel.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import type { KernelBenchmark } from '../src/bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import type { DispatchStatistics } from '../src/device/statistics.ts';
import type { ExecutorName } from '../src/emulator/emulator.ts';
import { createEmulatedDevice, MemoryFileSystem, WavewrightError } from '../src/index.ts';
import { runImage } from './fuzz/run-image.ts';

function isAllCompiled({ instructions, tiers }: DispatchStatistics, what: string): void {
  assert.ok(instructions > 0, what);
  assert.deepEqual([tiers.reference, tiers.handlers, tiers.regions + tiers.loops], [0, 0, instructions], what);
}

function statisticsOf(benchmark: KernelBenchmark, processor: string, executor: ExecutorName): DispatchStatistics {
  const { name, kernel = name } = benchmark;
  const file = `examples/kernels/${name}.${processor}.co`;
  using runner = new KernelRunner({ processor, executor, compileThreshold: 0 });
  runner.prepare({ name: file, bytes: readFileSync(file) }, kernel, benchmark.launch('small'))();
  return runner.statistics;
}

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  test(`${processor}: kernels`, () => {
    const built = KERNELS.filter(({ processors }) => processors?.includes(processor) ?? true);
    for (const benchmark of built) isAllCompiled(statisticsOf(benchmark, processor, 'jit'), benchmark.name);
  });
}

const saxpy = KERNELS.find(({ name }) => name === 'saxpy')!;
for (const [executor, tier] of [
  ['handlers', 'handlers'],
  ['reference', 'reference'],
  ['jit', 'regions'],
] satisfies [ExecutorName, string][]) {
  test(`${executor}: what runs is counted as ${tier}`, () => {
    const { instructions, tiers } = statisticsOf(saxpy, 'gfx90a', executor);
    assert.deepEqual(tiers, { reference: 0, handlers: 0, regions: 0, loops: 0, [tier]: instructions });
  });
}

test('code that follows compiled code is compiled soon', () => {
  const body = Array.from({ length: 1500 }, (_, i) => `v_add3_u32 v${1 + (i % 9)}, v0, v${1 + (i % 7)}, v0`);
  using runner = new KernelRunner({ processor: 'gfx90a', compileThreshold: 100 });
  const image = assembledImage(kernelSource('straight', body.join('\n')), 'straight');
  const run = runner.prepare(image, 'straight', { grid: [200 * 64, 1, 1], workgroup: [64, 1, 1], args: [] });
  run();
  const { handlers } = runner.statistics.tiers;
  run();
  assert.equal(runner.statistics.tiers.handlers, handlers);
});

/** It runs until it is stopped. */
const ENDLESS = 'infinite-loop';

test('programs', async () => {
  const byImage = new Map(expected.filter(({ name }) => name !== ENDLESS).map((run) => [run.image, run]));
  assert.ok(byImage.size > 10);
  for (const [image, { args }] of byImage) {
    const device = createEmulatedDevice({ processor: image.split('.').at(-2)!, executor: 'jit', compileThreshold: 0 });
    const filesystem = new MemoryFileSystem();
    for (const name of args) if (name.startsWith('examples/')) filesystem.set(name, readFileSync(name));
    try {
      const { kernels } = await runImage(readFileSync(image), { device, args, filesystem });
      for (const { kernel, statistics } of kernels) isAllCompiled(statistics, `${image} ${kernel}`);
    } catch (error) {
      // Some of the programs are there to fail.
      if (!(error instanceof WavewrightError)) throw error;
    } finally {
      device.close();
    }
  }
});
