/**
 * The benchmark kernels, compiled OpenCL C, give what plain JavaScript computes, on every target and
 * executor.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { differenceFrom } from '../src/bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../src/bench/kernels.ts';

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  const kernels = KERNELS.filter(({ processors }) => processors?.includes(processor) ?? true);
  for (const executor of ['handlers', 'reference', 'jit'] as const) {
    const runner = new KernelRunner({ processor, executor, compileThreshold: 0 });
    for (const benchmark of kernels) {
      test(`${processor}, ${executor}: ${benchmark.name}`, () => {
        const { name, kernel = name, tolerance } = benchmark;
        const file = `examples/kernels/${name}.${processor}.co`;
        const launch = benchmark.launch('small');
        const { output } = runner.prepare({ name: file, bytes: readFileSync(file) }, kernel, launch)();
        assert.equal(differenceFrom(benchmark.model(launch), output, tolerance), undefined);
      });
    }
  }
}
