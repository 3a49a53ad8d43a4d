/** Executions of each instruction: all executors count the same, workers too, and as many as in all. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { nodeThreads } from '../src/devices/emulated/node-threads.ts';

const EXECUTORS = [
  { executor: 'handlers' },
  { executor: 'reference' },
  { executor: 'jit', compileThreshold: 0, vertical: 'always' },
  { executor: 'jit', countsClasses: true, threads: nodeThreads, workers: 2, workersAtOnce: true },
] as const;

/** Kernels with loops, divergence, LDS with barriers, atomics, and several workgroups. */
const NAMES = ['gather', 'stencil', 'collatz', 'histogram', 'bitonic'];

for (const processor of ['gfx90a', 'gfx1100']) {
  for (const benchmark of KERNELS.filter(({ name }) => NAMES.includes(name))) {
    const { name, kernel = name } = benchmark;
    test(`${processor}: ${name}`, () => {
      const file = `examples/kernels/${name}.${processor}.co`;
      const image = { name: file, bytes: readFileSync(file) };
      const counts = EXECUTORS.map((options) => {
        using runner = new KernelRunner({ processor, countsPcs: true, ...options });
        const run = runner.prepare(image, kernel, benchmark.launch('small'));
        for (let i = 0; i < 2; i++) run();
        const { pcCounts, instructions } = runner.statistics;
        const waves = [...pcCounts!.values()].reduce((sum, count) => sum + count.waves, 0);
        assert.equal(waves, instructions);
        // The memory of workers moves what is allocated later, but not the code.
        return new Map([...pcCounts!].toSorted(([a], [b]) => (a < b ? -1 : 1)));
      });
      for (const each of counts) assert.deepEqual(each, counts[0]);
    });
  }
}
