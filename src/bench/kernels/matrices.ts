/** Matrix products: through LDS, and with the matrix instructions. */

import { ramp } from './inputs.ts';
import type { BenchmarkLaunch, KernelBenchmark } from './kernel-benchmark.ts';

const MATRIX = { full: 256, small: 32, long: 768 };

export const MATRICES: readonly KernelBenchmark[] = [
  {
    name: 'matmul16',
    unit: 'FMA',
    launch: (size) => {
      const n = MATRIX[size];
      const matrix = ramp(n * n, (i) => (i % 13) - 6);
      return { grid: [n, n], workgroup: [16, 16], args: [{ sizeBytes: n * n * 4 }, matrix, matrix, n] };
    },
    operations: (size) => MATRIX[size] ** 3,
    model: multiplyMatrices,
  },
  {
    name: 'matmul4x4',
    unit: 'FMA',
    launch: (size) => {
      const n = MATRIX[size] * 2;
      const matrix = ramp(n * n, (i) => (i % 13) - 6);
      return { grid: [n / 4, n / 4], workgroup: [16, 16], args: [{ sizeBytes: n * n * 4 }, matrix, matrix, n] };
    },
    operations: (size) => (MATRIX[size] * 2) ** 3,
    model: multiplyMatrices,
  },
  {
    name: 'mfma16',
    unit: 'FMA',
    processors: ['gfx90a', 'gfx942'],
    launch: (size) => {
      const n = MATRIX[size] * 2;
      const matrix = ramp(n * n, (i) => (i % 13) - 6);
      return { grid: [n, n / 32], workgroup: [64, 1], args: [{ sizeBytes: n * n * 4 }, matrix, matrix, n] };
    },
    operations: (size) => (MATRIX[size] * 2) ** 3,
    model: multiplyMatrices,
  },
  {
    name: 'wmma16',
    unit: 'FMA',
    processors: ['gfx1100'],
    launch: (size) => {
      const n = MATRIX[size] * 2;
      const matrix = Float16Array.from({ length: n * n }, (_, i) => (i % 13) - 6);
      return { grid: [n, n / 32], workgroup: [32, 1], args: [{ sizeBytes: n * n * 4 }, matrix, matrix, n] };
    },
    operations: (size) => (MATRIX[size] * 2) ** 3,
    model(launch) {
      const [c, a, b, n] = launch.args as [{ sizeBytes: number }, Float16Array, Float16Array, number];
      const transposed = ramp(n * n, (i) => b[(i % n) * n + Math.floor(i / n)]!);
      return multiplyMatrices({ ...launch, args: [c, Float32Array.from(a), transposed, n] });
    },
  },
];

function multiplyMatrices({ args }: BenchmarkLaunch): Float32Array {
  const n = args[3] as number;
  const [a, b] = [args[1] as Float32Array, args[2] as Float32Array];
  const out = new Float32Array(n * n);
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      // Small integers: every order of summation is exact.
      let sum = 0;
      for (let k = 0; k < n; k++) sum += a[row * n + k]! * b[k * n + column]!;
      out[row * n + column] = sum;
    }
  }
  return out;
}
