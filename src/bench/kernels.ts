import { ARITHMETIC } from './kernels/arithmetic.ts';
import { DIVERGENCE } from './kernels/divergence.ts';
import type { KernelBenchmark } from './kernels/kernel-benchmark.ts';
import { MATRICES } from './kernels/matrices.ts';
import { SHA256 } from './kernels/sha256.ts';
import { STREAMS } from './kernels/streams.ts';
import { WORKGROUPS } from './kernels/workgroups.ts';

/** All benchmark kernels. */
export const KERNELS: readonly KernelBenchmark[] = [
  ...ARITHMETIC,
  SHA256,
  ...STREAMS,
  ...MATRICES,
  ...DIVERGENCE,
  ...WORKGROUPS,
];
