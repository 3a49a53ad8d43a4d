/**
 * `npm run bench`: rates of the emulator's executors and of plain JavaScript on the same kernels, as ratios within this run, and where the
 * wall time of hello goes. Thread CPU time, medians. `--samples N` (default 5), `--format=json`.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { differenceFrom, type KernelBenchmark } from '../src/bench/kernel-benchmark.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { decodeReport, measureDecode, measureListing } from './decode.ts';
import { measureHello } from './hello.ts';

const { values } = parseArgs({
  options: { samples: { type: 'string', default: '5' }, format: { type: 'string', default: 'text' } },
});
const samples = Math.max(1, Number(values.samples));

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;

/** Thread CPU time counts in ticks of some milliseconds: a sample takes many of them. */
const SAMPLE_MS = 80;

/** Operations per second of thread CPU time, a median; the first calls, which compile, do not count. `run` returns milliseconds. */
function rate(operations: number, run: () => number): number {
  const sample = (): number => {
    let [used, runs] = [0, 0];
    do {
      used += run();
      runs++;
    } while (used < SAMPLE_MS);
    return used / runs / 1000;
  };
  sample();
  return operations / median(Array.from({ length: samples }, sample));
}

const timed = (run: () => void): number => {
  const start = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
};

const jit = new KernelRunner({ processor: 'gfx90a' });
const handlers = new KernelRunner({ processor: 'gfx90a', executor: 'handlers' });
const reference = new KernelRunner({ processor: 'gfx90a', executor: 'reference' });

function measure(kernel: KernelBenchmark) {
  const name = `examples/kernels/${kernel.name}.gfx90a.co`;
  const image = { name, bytes: readFileSync(name) };
  const small = kernel.launch('small');
  const expected = kernel.model(small);
  for (const [executor, runner] of Object.entries({ jit, handlers, reference })) {
    const { output } = runner.prepare(image, kernel.name, kernel.launch('small'))();
    const difference = differenceFrom(expected, output, kernel.tolerance);
    if (difference) throw new Error(`${kernel.name} on ${executor}: ${difference}`);
  }
  const full = kernel.launch('full');
  const on = (runner: KernelRunner, size: 'full' | 'small'): number => {
    const run = runner.prepare(image, kernel.name, size === 'full' ? full : small);
    return rate(kernel.operations(size), () => run().cpuMs);
  };
  const [onJit, onHandlers, onReference] = [on(jit, 'full'), on(handlers, 'full'), on(reference, 'small')];
  const onJs = rate(kernel.operations('full'), () => timed(() => kernel.model(full)));
  return { kernel: kernel.name, unit: kernel.unit, jit: onJit, handlers: onHandlers, reference: onReference, js: onJs };
}

const kernels = KERNELS.map(measure);
const hello = measureHello(samples);
const decode = measureDecode(samples);
const listing = measureListing();
if (values.format === 'json') {
  process.stdout.write(
    `${JSON.stringify({ schema: 'wavewright.bench', version: 1, samples, kernels, hello, decode, listing }, undefined, 2)}\n`,
  );
} else {
  process.stdout.write('kernel      unit            T1 jit  T0 handlers    reference     plain JS    T1/T0    T1/JS\n');
  const mega = (value: number): string => `${(value / 1e6).toFixed(2)} M/s`.padStart(13);
  for (const row of kernels) {
    const ratios = [row.jit / row.handlers, row.jit / row.js].map((ratio) => ratio.toFixed(2).padStart(9)).join('');
    process.stdout.write(
      `${row.kernel.padEnd(12)}${row.unit.padEnd(9)}${mega(row.jit)}${mega(row.handlers)}${mega(row.reference)}${mega(row.js)}${ratios}\n`,
    );
  }
  process.stdout.write(
    `\nhello, wall ms: ${Object.entries(hello)
      .map(([name, ms]) => `${name} ${ms.toFixed(0)}`)
      .join(', ')}\n\n${decodeReport(decode, listing)}`,
  );
}
