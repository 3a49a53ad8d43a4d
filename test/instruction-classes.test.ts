/** Instructions by class, of some kernels: every executor counts the same, and as many as it has in all. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import type { DispatchStatistics } from '../src/device/statistics.ts';
import type { AmdgpuEmulatorOptions } from '../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../src/index.ts';
import { runImage } from './fuzz/run-image.ts';
import { sampled } from './scale.ts';

const EXECUTORS: Readonly<Record<string, Omit<AmdgpuEmulatorOptions, 'processor'>>> = {
  reference: { executor: 'reference' },
  handlers: { executor: 'handlers' },
  regions: { executor: 'jit', compileThreshold: 0, vertical: 'never' },
  loops: { executor: 'jit', compileThreshold: 0, vertical: 'always' },
  mixed: { executor: 'jit', compileThreshold: 3 },
};

/** Checks the sum; what can be compared. */
function counted({ instructions, tiers, classes }: DispatchStatistics) {
  const sum = (counts: object): number => Object.values(counts).reduce((total, count) => total + count, 0);
  assert.ok(classes && instructions > 0);
  assert.deepEqual([sum(classes), sum(tiers)], [instructions, instructions]);
  return classes;
}

for (const [turn, processor] of ['gfx90a', 'gfx1100'].entries()) {
  const kernels = KERNELS.filter(({ processors }) => processors?.includes(processor) ?? true);
  for (const benchmark of sampled(kernels, 3, turn)) {
    const { name, kernel = name } = benchmark;
    test(`${processor}: ${name}`, () => {
      const file = `examples/kernels/${name}.${processor}.co`;
      const image = { name: file, bytes: readFileSync(file) };
      const counts = Object.values(EXECUTORS).map((options) => {
        using runner = new KernelRunner({ processor, countsClasses: true, ...options });
        runner.prepare(image, kernel, benchmark.launch('small'))();
        return counted(runner.statistics);
      });
      for (const each of counts) assert.deepEqual(each, counts[0]);
    });
  }
}

/**
 * How often a wave looks whether the host has answered depends on when it has its turn, and so does whether
 * it comes to its end (on gfx11 behind a message) before the host hears that it exits: these classes do not.
 */
const WITHOUT_POLLING = ['matrix', 'smem', 'flat', 'scratch', 'lds', 'export'] as const;

for (const [image, executors] of [
  ['hello/hello.gfx90a.co', Object.keys(EXECUTORS)],
  ['hello/hello.gfx1100.co', Object.keys(EXECUTORS)],
  ['quicksort/quicksort.gfx90a.co', ['loops', 'mixed']],
  ['checks/divergence.gfx942.co', ['loops', 'mixed']],
  ['reduction/reduction.gfx1100.co', ['loops', 'mixed']],
] as const) {
  test(`program ${image}`, async () => {
    const counts = [];
    for (const executor of executors) {
      const processor = image.split('.').at(-2)!;
      const device = createEmulatedDevice({ processor, countsClasses: true, ...EXECUTORS[executor] });
      const { kernels } = await runImage(readFileSync(`examples/${image}`), { device, threads: [64, 1, 1] });
      device.close();
      const classes = kernels.map(({ statistics }) => counted(statistics));
      counts.push(classes.map((each) => WITHOUT_POLLING.map((name) => each[name])));
    }
    for (const each of counts) assert.deepEqual(each, counts[0]);
  });
}

/**
 * One wave, with a buffer that ends too early: what ran before the fault is counted, and nothing behind it.
 */
for (const processor of ['gfx90a', 'gfx1100']) {
  test(`${processor}: faults`, () => {
    for (const name of ['sha256', 'stencil', 'matmul4x4', 'nbody']) {
      const file = `examples/kernels/${name}.${processor}.co`;
      const launch = KERNELS.find((each) => each.name === name)!.launch('small');
      const args = launch.args.map((each) => (ArrayBuffer.isView(each) ? each.slice(0, 8) : each));
      const counts = Object.values(EXECUTORS).map((options) => {
        using runner = new KernelRunner({ processor, countsClasses: true, ...options });
        const run = runner.prepare({ name: file, bytes: readFileSync(file) }, name, {
          ...{ grid: launch.workgroup, workgroup: launch.workgroup, args },
        });
        assert.throws(run, { code: 'GPU_FAULT' });
        return counted(runner.statistics);
      });
      for (const each of counts) assert.deepEqual(each, counts[0], name);
    }
  });
}
