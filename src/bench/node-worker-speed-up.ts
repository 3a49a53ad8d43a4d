/** Several threads against one, by wall clock, on launches that take long enough to be shared. */
import { WavewrightError } from '../base/errors.ts';
import { nodeThreads } from '../devices/emulated/node-threads.ts';
import { KERNELS } from './kernels.ts';
import { openRunner, readKernelImage } from './node-images.ts';
import { repeated, sampleInTurn } from './sampling.ts';

/** Medians of the wall time of one launch. */
export interface WorkerSpeedUp {
  readonly kernel: string;
  readonly workers: number;
  readonly oneMs: number;
  readonly manyMs: number;
}

const NAMES = ['fma8', 'ihash', 'saxpy', 'matmul16', 'mandelbrot'];

/** Throws INTERNAL where the results differ. */
export async function measureWorkers(processor: string, workers: number, samples: number): Promise<WorkerSpeedUp[]> {
  const results: WorkerSpeedUp[] = [];
  for (const benchmark of KERNELS.filter(({ name }) => NAMES.includes(name))) {
    using resources = new DisposableStack();
    const { name, kernel = name } = benchmark;
    const launch = benchmark.launch('long');
    const image = readKernelImage(name, processor);
    const runners = await Promise.all(
      [1, workers].map((count) => openRunner({ processor, workers: count, threads: nodeThreads })),
    );
    const runs = runners.map((runner) => resources.use(runner).prepare(image, kernel, launch));
    const [one, many] = runs.map((run) => run().output) as [Uint8Array, Uint8Array];
    if (Buffer.compare(one, many) !== 0) {
      throw new WavewrightError('INTERNAL', `${image.name}: ${workers} workers have another result than one`);
    }
    const medians = await sampleInTurn(
      runs.map((run, i) => repeated(`${i}`, run)),
      samples,
    );
    const [oneMs, manyMs] = medians.map(({ wallSeconds }) => wallSeconds * 1000) as [number, number];
    results.push({ kernel: name, workers, oneMs, manyMs });
  }
  return results;
}
