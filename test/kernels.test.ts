/** The benchmark kernels, compiled OpenCL C, give what plain JavaScript computes, on every executor. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { differenceFrom } from '../src/bench/kernel-benchmark.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';

for (const processor of ['gfx90a', 'gfx1100']) {
  const images = KERNELS.map((kernel) => ({ kernel, file: `examples/kernels/${kernel.name}.${processor}.co` }));
  const built = images.filter(({ file }) => existsSync(file));
  assert.ok(built.length >= 8, `kernels are built for ${processor}`);
  for (const executor of ['handlers', 'reference', 'jit'] as const) {
    const runner = new KernelRunner({ processor, executor, compileThreshold: 0 });
    for (const { kernel, file } of built) {
      test(`${processor}, ${executor}: ${kernel.name}`, () => {
        const launch = kernel.launch('small');
        const { output } = runner.prepare({ name: file, bytes: readFileSync(file) }, kernel.name, launch)();
        assert.equal(differenceFrom(kernel.model(launch), output, kernel.tolerance), undefined);
      });
    }
  }
}
