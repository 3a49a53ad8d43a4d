/** Loops of real kernels run chunk by chunk where that pays, with the results of the models and as many instructions as otherwise. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { differenceFrom } from '../src/bench/kernel-benchmark.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';

function run(name: string, processor: string, vertical: 'never' | 'auto' | 'always') {
  const kernel = KERNELS.find((candidate) => candidate.name === name)!;
  const file = `examples/kernels/${name}.${processor}.co`;
  const launch = kernel.launch('small');
  using runner = new KernelRunner({ processor, vertical, compileThreshold: 0 });
  const { output } = runner.prepare({ bytes: readFileSync(file), name: file }, name, launch)();
  const difference = differenceFrom(kernel.model(launch), output, kernel.tolerance);
  assert.equal(difference, undefined, `${name}, ${vertical}: ${difference}`);
  return runner.statistics;
}

for (const processor of ['gfx90a', 'gfx1100']) {
  for (const name of ['fma8', 'mandelbrot', 'collatz', 'nbody']) {
    test(`${processor} ${name}: most instructions run in loops chunk by chunk`, () => {
      const statistics = run(name, processor, 'auto');
      assert.ok(statistics.tiers.loops > statistics.instructions / 2, JSON.stringify(statistics.tiers));
      assert.equal(statistics.instructions, run(name, processor, 'never').instructions);
    });
  }

  test(`${processor} ihash: one chain of operations stays in T1, and is the same in T2`, () => {
    const statistics = run('ihash', processor, 'auto');
    assert.equal(statistics.tiers.loops, 0);
    assert.equal(run('ihash', processor, 'always').instructions, statistics.instructions);
  });
}
