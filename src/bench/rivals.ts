/**
 * What a kernel on the emulator is compared with: the emulator in other ways, the model, programs for the
 * host.
 */

import { WavewrightError } from '../base/errors.ts';
import type { EmulatorOptions } from '../emulator/emulator.ts';
import { planOf } from './applications/application.ts';
import type { KernelImage, Measured } from './kernel-runner.ts';
import { type CheckedSize, differenceFrom, type KernelBenchmark, type Result } from './kernels/kernel-benchmark.ts';
import type { Baseline } from './node-baseline.ts';
import { openRunner, readKernelImage } from './node-images.ts';
import { repeated, type Subject, timed } from './sampling.ts';

/** A kernel on one target, with what it must compute. */
export interface Task {
  readonly benchmark: KernelBenchmark;
  readonly image: KernelImage;
  readonly expected: Readonly<Record<CheckedSize, () => Result>>;
}

export interface Rival {
  readonly name: string;
  /** Of the launches that it runs. */
  readonly size: CheckedSize;
  /** Undefined where it cannot run the kernel. Throws where its result is wrong. */
  prepare(task: Task): Subject | undefined | Promise<Subject | undefined>;
}

/** Runs once and compares with the model. Throws INTERNAL: a wrong result is a defect. */
export function runChecked(name: string, task: Task, size: CheckedSize, run: () => Measured): Measured {
  const measured = run();
  const difference = differenceFrom(task.expected[size](), measured.output, task.benchmark.tolerance);
  if (difference) throw new WavewrightError('INTERNAL', `${task.image.name}: wrong result on ${name}: ${difference}`);
  return measured;
}

/** Ways to run the emulator that are not the default, by name. */
const VARIANTS: Readonly<Record<string, EmulatorOptions>> = {
  handlers: { executor: 'handlers' },
  reference: { executor: 'reference' },
  unchecked: { checksAccesses: false },
};

/** Names that `variantRival` knows. */
export const VARIANT_NAMES: readonly string[] = Object.keys(VARIANTS);

/** The emulator in another way. The reference executor is too slow for large launches. */
export async function variantRival(name: string, processor: string): Promise<Rival> {
  const size = name === 'reference' ? 'small' : 'full';
  const runner = await openRunner({ processor, ...VARIANTS[name] });
  return {
    ...{ name, size },
    prepare(task) {
      const { benchmark } = task;
      const run = runner.prepare(task.image, benchmark.kernel ?? benchmark.name, benchmark.launch(size));
      runChecked(name, task, size, run);
      return repeated(name, run);
    },
  };
}

/** The same kernel in the code of another processor. */
export async function targetRival(processor: string): Promise<Rival> {
  const runner = await openRunner({ processor });
  return {
    ...{ name: processor, size: 'full' },
    prepare({ benchmark, expected }) {
      const { name, kernel = name, processors } = benchmark;
      if (processors?.includes(processor) === false) return undefined;
      const task = { benchmark, expected, image: readKernelImage(name, processor) };
      const run = runner.prepare(task.image, kernel, benchmark.launch('full'));
      runChecked(processor, task, 'full', run);
      return repeated(processor, run);
    },
  };
}

/** The model itself: plain loops over typed arrays. */
export const JS_RIVAL: Rival = {
  name: 'js',
  size: 'full',
  prepare({ benchmark }) {
    const launch = benchmark.launch('full');
    return repeated('js', () => timed(() => benchmark.model(launch)));
  },
};

/** Programs may round products before they add. */
const PROGRAM_TOLERANCE = 1e-5;

/** A program for the host, in the same launches. */
export function programRival(baseline: Baseline): Rival {
  return {
    ...{ name: baseline.name, size: 'full' },
    async prepare({ benchmark, expected }) {
      const { name, kernel = name, tolerance = 0 } = benchmark;
      const plan = planOf(kernel, benchmark.launch('full'));
      if (!(await baseline.prepare(`examples/kernels/${kernel}.cl`, plan))) return undefined;
      const limit = Math.max(tolerance, PROGRAM_TOLERANCE);
      await baseline.run();
      const output = await baseline.read(Object.keys(plan.buffers)[0]!);
      const difference = differenceFrom(expected.full(), output, limit);
      if (difference)
        throw new WavewrightError('BAD_INPUT', `${baseline.name}: wrong result of ${name}: ${difference}`);
      return baseline;
    },
  };
}
