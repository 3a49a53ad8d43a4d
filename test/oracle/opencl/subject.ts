/** A source of `test/data/opencl`: how it is built, and what its kernels are launched with. */
import type { Language, Level, Target } from './compilers.ts';
import type { Launch } from './launch.ts';

export interface Build {
  /** For the GPU's compiler. */
  readonly flags: readonly string[];
  /** Default: all. */
  readonly processors?: readonly string[];
  /** Default: all. */
  readonly waveSize?: 32 | 64;
}

export interface Subject {
  readonly source: string;
  /** Default: one build with `EXACT`. */
  readonly builds?: readonly Build[];
  /** Default: OpenCL C and C, for a source in C only that. */
  readonly languages?: readonly Language[];
  /** Those of the target's that it is built at in a sample. Default: all of them. */
  readonly levels?: readonly Level[];
  /** About `items` work-items for each kernel. */
  readonly launches: (items: number, target: Target) => readonly Launch[];
}

/** Division and square root of f32 as C defines them; OpenCL C is less strict. */
export const EXACT = ['-cl-fp32-correctly-rounded-divide-sqrt'];
