/**
 * What a benchmark application is: kernels of one source, launched one after the other over the same buffers.
 */
import type { Argument, BenchmarkLaunch, CheckedSize, Result } from '../kernels/kernel-benchmark.ts';

/** What a buffer begins with; `{ sizeBytes }` is a zero-filled one. */
export type Contents = Uint8Array | Exclude<Argument, number>;

/** The name of a buffer, or a 32-bit integer, or a float or double. */
export type PlanArgument = string | number | { readonly f32: number } | { readonly f64: number };

export interface PlanLaunch {
  readonly kernel: string;
  /** Work-items in each dimension. */
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
  readonly args: readonly PlanArgument[];
}

/** Launches in order, each after the one before. */
export interface Plan {
  readonly buffers: Readonly<Record<string, Contents>>;
  /** Buffers that begin each run with their contents, because a run changes them. */
  readonly restored: readonly string[];
  readonly launches: readonly PlanLaunch[];
}

export interface ApplicationBenchmark {
  /** Of its source, `examples/applications/SOURCE.cl`, where that is another. */
  readonly source?: string;
  readonly name: string;
  plan(size: CheckedSize): Plan;
  /** What buffers must hold after one run, by name, computed by plain JavaScript. */
  model(plan: Plan): Readonly<Record<string, Result>>;
  /** As that of a kernel; without it, results are the same bits. */
  readonly tolerance?: number;
}

export const contentsSizeBytes = (contents: Contents): number =>
  'sizeBytes' in contents ? contents.sizeBytes : contents.byteLength;

/** What is not zero at the begin of a buffer. */
export const contentsBytes = (contents: Contents): Uint8Array =>
  'sizeBytes' in contents
    ? new Uint8Array()
    : new Uint8Array(contents.buffer, contents.byteOffset, contents.byteLength);

/** A number as a kernel gets it. */
export function plainArgumentBytes(argument: Exclude<PlanArgument, string>): Uint8Array {
  if (typeof argument === 'number') return new Uint8Array(Int32Array.of(argument).buffer);
  return new Uint8Array(('f32' in argument ? Float32Array.of(argument.f32) : Float64Array.of(argument.f64)).buffer);
}

/** The launch of a kernel as a plan: buffers are named by the numbers of their arguments. */
export function planOf(kernel: string, { grid, workgroup, args }: BenchmarkLaunch): Plan {
  const buffers: Record<string, Contents> = {};
  const named = args.map((argument, i) => {
    if (typeof argument === 'number') return argument;
    buffers[`${i}`] = argument;
    return `${i}`;
  });
  return { buffers, restored: [], launches: [{ kernel, grid, workgroup, args: named }] };
}

/** Of a plan, what a buffer begins with. */
export function bufferOf<T extends Contents>({ buffers }: Plan, name: string): T {
  return buffers[name] as T; // reason: the plan's own application asks
}
