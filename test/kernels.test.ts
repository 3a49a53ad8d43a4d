/** The benchmark kernels, compiled OpenCL C, give what plain JavaScript computes, on every executor. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KernelRunner } from '../bench/kernel-runner.ts';
import { KERNELS } from '../bench/kernels.ts';

for (const executor of ['handlers', 'reference', 'jit'] as const) {
  const runner = new KernelRunner('gfx90a', executor, 0);
  for (const kernel of KERNELS) {
    test(`${executor}: ${kernel.name}`, () => {
      const launch = kernel.launch('small');
      const file = `examples/kernels/${kernel.name}.gfx90a.co`;
      const { output } = runner.prepare(file, kernel.name, launch)();
      assert.deepEqual(output, kernel.baseline(launch));
    });
  }
}
