/**
 * The benchmark kernels, OpenCL C compiled to machine code or PTX, give what plain JavaScript computes, on
 * every target and executor; on the reference executor a sample.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceFrom } from '../src/bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { openRunner, readKernelImage } from '../src/bench/node-images.ts';
import { sampled } from './scale.ts';

for (const [turn, processor] of ['gfx90a', 'gfx942', 'gfx1100', 'sm_70'].entries()) {
  const kernels = KERNELS.filter(({ processors }) => processors?.includes(processor) ?? true);
  for (const executor of ['handlers', 'reference', 'jit'] as const) {
    const runner = await openRunner({ processor, executor, compileThreshold: 0 });
    // The reference executor takes longer than the other two together.
    for (const benchmark of executor === 'reference' ? sampled(kernels, 3, turn) : kernels) {
      test(`${processor}, ${executor}: ${benchmark.name}`, () => {
        const { name, kernel = name, tolerance } = benchmark;
        const launch = benchmark.launch('small');
        const { output } = runner.prepare(readKernelImage(name, processor), kernel, launch)();
        assert.equal(differenceFrom(benchmark.model(launch), output, tolerance), undefined);
      });
    }
  }
}
