/**
 * Several workers against one: wall time, CPU time of the main thread and of the process, on kernels that run for some 200 ms on one thread; and
 * what a small dispatch costs with and without workers. Medians of interleaved samples. `node bench/workers.ts [SAMPLES] [WORKERS]`.
 */
import { readFileSync } from 'node:fs';
import type { Launch } from '../src/bench/kernel-benchmark.ts';
import { KernelRunner, type Measured } from '../src/bench/kernel-runner.ts';
import { nodeThreads } from '../src/devices/emulated/node-threads.ts';

const [samples, workers] = [Number(process.argv[2] ?? 5), Number(process.argv[3] ?? 2)];
const PROCESSOR = 'gfx90a';
const SMALL_DISPATCHES = 2000;

const items = 1 << 17;
const elements = 1 << 25;
const rows = 768;
const ramp = (count: number): Float32Array => new Float32Array(count).map((_, i) => i % 13);
const LAUNCHES: Readonly<Record<string, () => Launch>> = {
  fma8: () => ({ grid: [items], workgroup: [256], args: [{ sizeBytes: items * 4 }, 2000] }),
  ihash: () => ({ grid: [items], workgroup: [256], args: [{ sizeBytes: items * 4 }, 2000] }),
  saxpy: () => ({ grid: [elements], workgroup: [256], args: [ramp(elements), ramp(elements), 3, elements] }),
  matmul16: () => ({
    grid: [rows, rows],
    workgroup: [16, 16],
    args: [{ sizeBytes: rows * rows * 4 }, ramp(rows * rows), ramp(rows * rows), rows],
  }),
};

interface Sample {
  readonly wallMs: number;
  readonly mainMs: number;
  readonly processMs: number;
}

function sample(run: () => Measured): Sample {
  const before = process.cpuUsage();
  const { wallMs, cpuMs } = run();
  const { user, system } = process.cpuUsage(before);
  return { wallMs, mainMs: cpuMs, processMs: (user + system) / 1000 };
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;
const describe = (taken: readonly Sample[]): string =>
  (['wallMs', 'mainMs', 'processMs'] as const)
    .map((field) =>
      median(taken.map((one) => one[field]))
        .toFixed(1)
        .padStart(9),
    )
    .join(' ');

const counts = [1, workers];
const runnerOf = (count: number): KernelRunner =>
  new KernelRunner({ processor: PROCESSOR, threads: nodeThreads, workers: count });

console.log(`kernel    workers  wall ms   main ms process ms  (CPU)`);
for (const [name, launch] of Object.entries(LAUNCHES)) {
  const file = `examples/kernels/${name}.${PROCESSOR}.co`;
  const image = { name: file, bytes: readFileSync(file) };
  using resources = new DisposableStack();
  const runs = counts.map((count) => resources.use(runnerOf(count)).prepare(image, name, launch()));
  // The first runs compile, and start threads.
  for (const run of runs) for (let i = 0; i < 4; i++) run();
  const taken = counts.map((): Sample[] => []);
  for (let i = 0; i < samples; i++) {
    for (const [n, run] of runs.entries()) taken[n]!.push(sample(run));
  }
  for (const [n, count] of counts.entries()) console.log(`${name.padEnd(10)} ${count}     ${describe(taken[n]!)}`);
  const [one, many] = taken.map((list) => median(list.map(({ wallMs }) => wallMs)));
  console.log(`${name.padEnd(10)} ${(one! / many!).toFixed(2)} times as fast by wall clock`);
}

const file = `examples/kernels/vadd.${PROCESSOR}.co`;
const small: Launch = { grid: [64], workgroup: [64], args: [{ sizeBytes: 256 }, ramp(64), ramp(64), 64] };
for (const count of counts) {
  using runner = runnerOf(count);
  const run = runner.prepare({ name: file, bytes: readFileSync(file) }, 'vadd', small);
  for (let i = 0; i < SMALL_DISPATCHES; i++) run();
  const times = Array.from({ length: samples }, () => {
    const before = process.threadCpuUsage();
    for (let i = 0; i < SMALL_DISPATCHES * 4; i++) run();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / (SMALL_DISPATCHES * 4);
  });
  console.log(`a dispatch of one wave, ${count} workers: ${median(times).toFixed(2)} us CPU`);
}
