/**
 * `node bench/safety.ts [--samples N] [--processor NAME] [KERNEL...]`: thread CPU time of the kernels with
 * accesses checked and, for this measurement only, not checked, as a ratio: medians of samples that
 * alternate. Each has two devices, because where the host's kernel places memory may count for more than the
 * checks.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';

const { values, positionals } = parseArgs({
  options: { samples: { type: 'string', default: '9' }, processor: { type: 'string', default: 'gfx90a' } },
  allowPositionals: true,
});
const samples = Math.max(1, Number(values.samples));
/** Thread CPU time counts in ticks of some milliseconds: a sample takes many of them. */
const SAMPLE_MS = 100;

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;

const runner = (checksAccesses: boolean) => ({
  checksAccesses,
  kernels: new KernelRunner({ processor: values.processor, checksAccesses }),
});
const runners = [runner(true), runner(false), runner(false), runner(true)];

process.stdout.write('kernel        checked    unchecked   ratio\n');
for (const kernel of KERNELS) {
  if (positionals.length > 0 && !positionals.includes(kernel.name)) continue;
  if (kernel.processors && !kernel.processors.includes(values.processor)) continue;
  const name = `examples/kernels/${kernel.name}.${values.processor}.co`;
  const image = { name, bytes: readFileSync(name) };
  const launch = kernel.launch('full');
  const runs = runners.map(({ checksAccesses, kernels }) => {
    return { checksAccesses, run: kernels.prepare(image, kernel.kernel ?? kernel.name, launch), times: [] as number[] };
  });
  const sample = (run: (typeof runs)[number]['run']): number => {
    let [used, count] = [0, 0];
    do {
      used += run().cpuMs;
      count++;
    } while (used < SAMPLE_MS);
    return used / count;
  };
  const outputs = runs.map(({ run }) => run().output.slice());
  const isEqual = outputs.every((output) => output.every((value, i) => value === outputs[0]![i]));
  if (!isEqual) throw new Error(`${kernel.name} without checks has another result`);
  for (const { run } of runs) sample(run);
  for (let i = 0; i < samples; i++)
    for (const { run, times } of i & 1 ? runs.toReversed() : runs) times.push(sample(run));
  const mean = (checks: boolean): number => {
    const own = runs.filter(({ checksAccesses }) => checksAccesses === checks);
    return own.reduce((sum, { times }) => sum + median(times) / own.length, 0);
  };
  const [on, off] = [mean(true), mean(false)];
  const ms = (value: number): string => `${value.toFixed(2)} ms`.padStart(11);
  process.stdout.write(`${kernel.name.padEnd(10)}${ms(on)}${ms(off)}${(on / off).toFixed(2).padStart(8)}\n`);
}
