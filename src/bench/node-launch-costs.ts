/**
 * What it costs to start: a program from the command line, one wave on a warm device, code that was never
 * compiled.
 */
import { spawnSync } from 'node:child_process';
import { WavewrightError } from '../base/errors.ts';
import { packageFile } from '../base/node-package-file.ts';
import { assembledImage, kernelSource } from './assembled-kernel.ts';
import { KernelRunner } from './kernel-runner.ts';
import { type CompiledTarget, MIXED_KERNELS } from './mixed-kernels.ts';
import { openRunner } from './node-images.ts';
import { median, repeated, sampleInTurn, timed } from './sampling.ts';

/** Milliseconds of wall time, medians of processes started in turn. */
export interface HelloTimes {
  /** `node -e 0`. */
  readonly nodeMs: number;
  /** `wavewright run` of examples/hello, for gfx90a. */
  readonly helloMs: number;
  readonly overNodeMs: number;
  /** The same program as PTX. */
  readonly ptxMs: number;
}

/** Throws IO where the program does not end well. */
export function measureHello(samples: number): HelloTimes {
  const commands = [
    ['-e', '0'],
    ...['hello.gfx90a.co', 'hello.sm_70.ptx'].map((file) => [
      ...[packageFile('bin/wavewright.js'), 'run', packageFile(`examples/hello/${file}`), 'world'],
    ]),
  ];
  const times = commands.map((): number[] => []);
  for (let sample = 0; sample <= samples; sample++) {
    for (const [i, args] of commands.entries()) {
      const start = performance.now();
      const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
      if (status !== 0) throw new WavewrightError('IO', `node ${args.join(' ')} ended with status ${status}`);
      // The first start reads files that are not in memory yet.
      if (sample > 0) times[i]!.push(performance.now() - start);
    }
  }
  const [nodeMs, helloMs, ptxMs] = times.map(median) as [number, number, number];
  return { nodeMs, helloMs, overNodeMs: helloMs - nodeMs, ptxMs };
}

/** Microseconds of a dispatch of one wave that ends at once, warm: packet, signal and wait included. */
export interface EmptyDispatchTimes {
  readonly cpuUs: number;
  readonly wallUs: number;
}

const DISPATCHES = 1000;
const NO_ARGUMENTS = { grid: [64], workgroup: [64], args: [] };

export async function measureEmptyDispatch(samples: number): Promise<EmptyDispatchTimes> {
  using runner = new KernelRunner({ processor: 'gfx90a' });
  const run = runner.prepare(assembledImage(kernelSource('empty', ''), 'empty'), 'empty', NO_ARGUMENTS);
  const many = repeated('empty', () =>
    timed(() => {
      for (let i = 0; i < DISPATCHES; i++) run();
    }),
  );
  const [{ cpuSeconds, wallSeconds }] = (await sampleInTurn([many], samples)) as [
    { cpuSeconds: number; wallSeconds: number },
  ];
  return { cpuUs: (cpuSeconds / DISPATCHES) * 1e6, wallUs: (wallSeconds / DISPATCHES) * 1e6 };
}

/**
 * CPU time, of all threads, from the code of a kernel of so many instructions to the end of its first launch,
 * beyond a warm one: all is read, decoded and compiled, PTX from its text on.
 */
export interface CompileTimes {
  readonly target: string;
  /** Of machine code, or of the text of PTX. */
  readonly gpuInstructions: number;
  /** Nothing was compiled for that target before. */
  readonly isFirst: boolean;
  readonly cpuMs: number;
  readonly perInstructionUs: number;
  /** Largest resident size of the process so far, bytes. */
  readonly peakMemoryBytes: number;
}

const SIZES = [1000, 1000, 10_000, 50_000];

/** Kernels with a threshold that compiles at once, from small to large. */
export async function measureCompile(target: CompiledTarget): Promise<CompileTimes[]> {
  const { image, launch } = MIXED_KERNELS[target];
  const times: CompileTimes[] = [];
  for (const [seed, gpuInstructions] of SIZES.entries()) {
    using runner = await openRunner({ processor: target, compileThreshold: 0 });
    const code = image(gpuInstructions, seed);
    const before = process.cpuUsage();
    const run = runner.prepare(code, 'mixed', launch);
    run();
    const first = process.cpuUsage(before);
    const cpuMs = Math.max(
      0,
      (first.user + first.system) / 1000 - median(Array.from({ length: 5 }, () => run().cpuMs)),
    );
    const peakMemoryBytes = process.resourceUsage().maxRSS * 1024;
    const perInstructionUs = (cpuMs / gpuInstructions) * 1000;
    times.push({ target, gpuInstructions, isFirst: seed === 0, cpuMs, perInstructionUs, peakMemoryBytes });
  }
  return times;
}
