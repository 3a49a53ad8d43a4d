/**
 * `npm run bench`: rates of the emulator's executors and of plain JavaScript on the same kernels, as ratios within this run, and where the
 * wall time of hello goes. Thread CPU time, medians. `--samples N` (default 5), `--format=json`.
 */
import { parseArgs } from 'node:util';
import { decodeReport, measureDecode, measureListing } from './decode.ts';
import { measureHello } from './hello.ts';
import { KernelRunner } from './kernel-runner.ts';
import { KERNELS, type KernelBenchmark } from './kernels.ts';

const { values } = parseArgs({
  options: { samples: { type: 'string', default: '5' }, format: { type: 'string', default: 'text' } },
});
const samples = Math.max(1, Number(values.samples));

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;

/** Operations per second of thread CPU time; the first call, which compiles, does not count. */
function rate(operations: number, run: () => void): number {
  run();
  const times: number[] = [];
  for (let i = 0; i < samples; i++) {
    const start = process.threadCpuUsage();
    run();
    const used = process.threadCpuUsage(start);
    times.push((used.user + used.system) / 1e6);
  }
  return operations / median(times);
}

const jit = new KernelRunner('gfx90a', 'jit');
const handlers = new KernelRunner('gfx90a', 'handlers');
const reference = new KernelRunner('gfx90a', 'reference');

function measure(kernel: KernelBenchmark) {
  const file = `examples/kernels/${kernel.name}.gfx90a.co`;
  const small = kernel.launch('small');
  const expected = kernel.baseline(small);
  for (const [name, runner] of Object.entries({ jit, handlers, reference })) {
    const { output } = runner.prepare(file, kernel.name, kernel.launch('small'))();
    const wrong = output.findIndex((value, i) => value !== expected[i]);
    if (wrong >= 0)
      throw new Error(`${kernel.name} on ${name}: element ${wrong} is ${output[wrong]}, expected ${expected[wrong]}`);
  }
  const full = kernel.launch('full');
  const onJit = rate(kernel.operations('full'), jit.prepare(file, kernel.name, full));
  const onHandlers = rate(kernel.operations('full'), handlers.prepare(file, kernel.name, full));
  const onReference = rate(kernel.operations('small'), reference.prepare(file, kernel.name, small));
  const onJs = rate(kernel.operations('full'), () => kernel.baseline(full));
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
  process.stdout.write('kernel      unit              T1 jit  T0 handlers     reference      plain JS    T1/T0    T1/JS\n');
  const mega = (value: number): string => `${(value / 1e6).toFixed(2)} M/s`.padStart(13);
  for (const row of kernels) {
    const ratios = `${(row.handlers / row.reference).toFixed(0).padStart(13)}${(row.handlers / row.js).toFixed(2).padStart(9)}`;
    process.stdout.write(
      `${row.kernel.padEnd(12)}${row.unit.padEnd(9)}${mega(row.handlers)}${mega(row.reference)}${mega(row.js)}${ratios}\n`,
    );
  }
  process.stdout.write(
    `\nhello, wall ms: ${Object.entries(hello)
      .map(([name, ms]) => `${name} ${ms.toFixed(0)}`)
      .join(', ')}\n\n${decodeReport(decode, listing)}`,
  );
}
