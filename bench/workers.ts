/**
 * Several workers against one: wall time, CPU time of the main thread and of the process, on kernels that run for some 200 ms on one thread; and
 * what a small dispatch costs with and without workers. Medians of interleaved samples. `node bench/workers.ts [SAMPLES] [WORKERS]`.
 */
import type { Launch } from '../src/bench/kernel-benchmark.ts';
import { KernelRunner, type Measured } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { readKernelImage } from '../src/bench/node-images.ts';
import { median } from '../src/bench/sampling.ts';
import { nodeThreads } from '../src/devices/emulated/node-threads.ts';

const [samples, workers] = [Number(process.argv[2] ?? 5), Number(process.argv[3] ?? 2)];
const PROCESSOR = 'gfx90a';
const SMALL_DISPATCHES = 2000;

const NAMES = ['fma8', 'ihash', 'saxpy', 'matmul16'];

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
for (const benchmark of KERNELS.filter(({ name }) => NAMES.includes(name))) {
  const { name } = benchmark;
  const image = readKernelImage(name, PROCESSOR);
  using resources = new DisposableStack();
  const runs = counts.map((count) => resources.use(runnerOf(count)).prepare(image, name, benchmark.launch('long')));
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

const values = new Float32Array(64);
const small: Launch = { grid: [64], workgroup: [64], args: [{ sizeBytes: 256 }, values, values, 64] };
for (const count of counts) {
  using runner = runnerOf(count);
  const run = runner.prepare(readKernelImage('vadd', PROCESSOR), 'vadd', small);
  for (let i = 0; i < SMALL_DISPATCHES; i++) run();
  const times = Array.from({ length: samples }, () => {
    const before = process.threadCpuUsage();
    for (let i = 0; i < SMALL_DISPATCHES * 4; i++) run();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / (SMALL_DISPATCHES * 4);
  });
  console.log(`a dispatch of one wave, ${count} workers: ${median(times).toFixed(2)} us CPU`);
}
