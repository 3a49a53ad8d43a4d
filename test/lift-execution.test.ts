/** Lifted code against execution: whatever a kernel executes is in the functions that it is said to reach. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';

/** Kernels with loops, divergence, barriers, matrix products, and calls (without optimisation). */
const NAMES = ['stencil', 'collatz', 'bitonic', 'reduction', 'sha256', 'mandelbrot-o0', 'mfma16', 'wmma16'];

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  for (const benchmark of KERNELS.filter(({ name }) => NAMES.includes(name))) {
    const { name, kernel = name } = benchmark;
    const file = `examples/kernels/${name}.${processor}.co`;
    if (!existsSync(file)) continue;
    test(`${processor}: ${name}`, () => {
      const bytes = readFileSync(file);
      using runner = new KernelRunner({ processor, countsPcs: true, executor: 'handlers' });
      runner.prepare({ name: file, bytes }, kernel, benchmark.launch('small'))();
      const executed = [...runner.statistics.pcCounts!].filter(([, { waves }]) => waves > 0).map(([pc]) => pc);
      const code = liftCodeObject(parseCodeObject(bytes, file));
      const entry = code.functions.find(({ kernels }) => kernels.some((each) => each.name === kernel))!;
      const reached = entry.reaches();
      assert.equal(reached.isComplete, true);
      const addresses = new Set(
        [...reached.functions].flatMap(({ blocks }) =>
          blocks.flatMap((block) => block.instructions.map((step) => step.offset)),
        ),
      );
      // Where the code was loaded: one of the executed instructions is the kernel's first.
      const isAllThere = (loaded: bigint): boolean =>
        executed.every((pc) => addresses.has(Number(BigInt(pc) - loaded) + entry.entry));
      assert.ok(
        executed.some((pc) => isAllThere(BigInt(pc))),
        `${executed.length} instructions`,
      );
    });
  }
}
