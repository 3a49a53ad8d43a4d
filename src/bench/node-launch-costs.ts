/**
 * What it costs to start: a program from the command line, one wave on a warm device, code that was never
 * compiled.
 */
import { spawnSync } from 'node:child_process';
import { WavewrightError } from '../base/errors.ts';
import { assembledImage, kernelSource } from './assembled-kernel.ts';
import { KernelRunner } from './kernel-runner.ts';
import { packageFile } from './node-images.ts';
import { median, repeated, sampleInTurn, timed } from './sampling.ts';

/** Milliseconds of wall time, medians of processes started in turn. */
export interface HelloTimes {
  /** `node -e 0`. */
  readonly nodeMs: number;
  /** `wavewright run` of examples/hello. */
  readonly helloMs: number;
  readonly overNodeMs: number;
}

/** Throws IO where the program does not end well. */
export function measureHello(samples: number): HelloTimes {
  const commands = [
    ['-e', '0'],
    [packageFile('bin/wavewright.js'), 'run', packageFile('examples/hello/hello.gfx90a.co'), 'world'],
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
  const [nodeMs, helloMs] = times.map(median) as [number, number];
  return { nodeMs, helloMs, overNodeMs: helloMs - nodeMs };
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
 * CPU time, of all threads, that the first launch of a kernel of so many instructions takes beyond a warm
 * one.
 */
export interface CompileTimes {
  readonly gpuInstructions: number;
  readonly cpuMs: number;
  readonly perInstructionUs: number;
  /** Largest resident size of the process so far, bytes. */
  readonly peakMemoryBytes: number;
}

/** Kernels with a threshold that compiles at once, from small to large. */
export function measureCompile(sizes: readonly number[]): CompileTimes[] {
  return sizes.map((gpuInstructions, seed) => {
    using runner = new KernelRunner({ processor: 'gfx90a', compileThreshold: 0 });
    const image = assembledImage(
      kernelSource('mixed', mixedBody(gpuInstructions, seed)),
      `${gpuInstructions} instructions`,
    );
    const run = runner.prepare(image, 'mixed', NO_ARGUMENTS);
    const before = process.cpuUsage();
    run();
    const first = process.cpuUsage(before);
    const cpuMs = Math.max(
      0,
      (first.user + first.system) / 1000 - median(Array.from({ length: 5 }, () => run().cpuMs)),
    );
    const peakMemoryBytes = process.resourceUsage().maxRSS * 1024;
    return { gpuInstructions, cpuMs, perInstructionUs: (cpuMs / gpuInstructions) * 1000, peakMemoryBytes };
  });
}

/** As compilers mix them, with a branch for every 16 instructions. */
const MIXTURE = [
  'v_fma_f32 vD, vA, vB, vC',
  'v_add_u32_e32 vD, vA, vB',
  'v_mul_f32_e32 vD, vA, vB',
  's_add_u32 sD, sA, sB',
  'v_xor_b32_e32 vD, vA, vB',
  'v_lshlrev_b32_e32 vD, 3, vA',
  'v_cmp_lt_u32_e32 vcc, vA, vB',
  'v_cndmask_b32_e32 vD, vA, vB, vcc',
  'v_add_f32_e32 vD, sA, vB',
  's_and_b32 sD, sA, sB',
  'v_mul_lo_u32 vD, vA, vB',
  'v_max_f32_e32 vD, vA, vB',
  'v_bfe_u32 vD, vA, 4, 8',
  'v_mad_u32_u24 vD, vA, vB, vC',
];

/**
 * About so many instructions of straight-line code with forward branches; another seed has no function in
 * common.
 */
function mixedBody(instructions: number, seed: number): string {
  const lines: string[] = [];
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 27;
  };
  for (let i = 0; lines.length < instructions - 1; i++) {
    if (i % MIXTURE.length === 0) lines.push(`s_cmp_lg_u32 s${next()}, s${next()}`, `s_cbranch_scc1 l${i}\nl${i}:`);
    lines.push(MIXTURE[i % MIXTURE.length]!.replaceAll(/[A-D]\b/g, () => `${next()}`));
  }
  return lines.join('\n');
}
