/** The kernels of spec/jit.md: how each is launched, what counts as one operation, and the same work in plain JavaScript. */
import type { Launch } from './kernel-runner.ts';

export interface KernelBenchmark {
  readonly name: string;
  readonly unit: string;
  /** Sizes: `full` for measuring, `small` for checking results and for the reference executor. */
  launch(size: 'full' | 'small'): Launch;
  /** Operations of one launch. */
  operations(size: 'full' | 'small'): number;
  /** The kernel's result computed by a plain loop over typed arrays; the named baseline `js`. */
  baseline(launch: Launch): Uint32Array;
}

const bits = (values: Float32Array): Uint32Array => new Uint32Array(values.buffer);
const ramp = (count: number, of: (i: number) => number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => of(i));

const ITEMS = { full: 1 << 14, small: 1 << 8 };
const ROUNDS = { full: 2000, small: 20 };
const ELEMENTS = { full: 1 << 20, small: 1 << 10 };
const MATRIX = { full: 256, small: 32 };

export const KERNELS: readonly KernelBenchmark[] = [
  {
    name: 'fma8',
    unit: 'FMA',
    launch: (size) => ({ grid: [ITEMS[size]], workgroup: [256], args: [{ sizeBytes: ITEMS[size] * 4 }, ROUNDS[size]] }),
    operations: (size) => ITEMS[size] * ROUNDS[size] * 8,
    baseline({ grid, args }) {
      const out = new Float32Array(grid[0]!);
      const rounds = args[1] as number;
      const { fround } = Math;
      for (let i = 0; i < out.length; i++) {
        const start = fround(i * fround(0.001));
        const x = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => fround(start + k));
        let [a, b, c, d, e, f, g, h] = x as [number, number, number, number, number, number, number, number];
        for (let round = 0; round < rounds; round++) {
          // Exact: the product has 26 bits and the sum is rounded once.
          a = fround(a * 0.75 + 1);
          b = fround(b * 0.75 + 2);
          c = fround(c * 0.75 + 3);
          d = fround(d * 0.75 + 4);
          e = fround(e * 0.75 + 5);
          f = fround(f * 0.75 + 6);
          g = fround(g * 0.75 + 7);
          h = fround(h * 0.75 + 8);
        }
        const low = fround(fround(a + b) + fround(c + d));
        out[i] = fround(low + fround(fround(e + f) + fround(g + h)));
      }
      return bits(out);
    },
  },
  {
    name: 'ihash',
    unit: 'op',
    launch: (size) => ({ grid: [ITEMS[size]], workgroup: [256], args: [{ sizeBytes: ITEMS[size] * 4 }, ROUNDS[size]] }),
    operations: (size) => ITEMS[size] * ROUNDS[size] * 10,
    baseline({ grid, args }) {
      const out = new Uint32Array(grid[0]!);
      const rounds = args[1] as number;
      for (let i = 0; i < out.length; i++) {
        let h = i;
        for (let round = 0; round < rounds; round++) {
          h = (h + round) | 0;
          h ^= h >>> 16;
          h = Math.imul(h, 0x85ebca6b);
          h ^= h >>> 13;
          h = (h + (h << 5)) | 0;
          h ^= i;
          h = (h << 7) | (h >>> 25);
        }
        out[i] = h;
      }
      return out;
    },
  },
  {
    name: 'saxpy',
    unit: 'element',
    launch: (size) => {
      const n = ELEMENTS[size];
      return { grid: [n], workgroup: [256], args: [ramp(n, (i) => i % 1000), ramp(n, (i) => (i % 777) * 0.5), 3, n] };
    },
    operations: (size) => ELEMENTS[size],
    baseline({ args }) {
      const out = Float32Array.from(args[0] as Float32Array);
      const x = args[1] as Float32Array;
      for (let i = 0; i < out.length; i++) out[i] = 3 * x[i]! + out[i]!;
      return bits(out);
    },
  },
  {
    name: 'matmul16',
    unit: 'FMA',
    launch: (size) => {
      const n = MATRIX[size];
      const matrix = ramp(n * n, (i) => (i % 13) - 6);
      return { grid: [n, n], workgroup: [16, 16], args: [{ sizeBytes: n * n * 4 }, matrix, matrix, n] };
    },
    operations: (size) => MATRIX[size] ** 3,
    baseline({ args }) {
      const n = args[3] as number;
      const [a, b] = [args[1] as Float32Array, args[2] as Float32Array];
      const out = new Float32Array(n * n);
      for (let row = 0; row < n; row++) {
        for (let column = 0; column < n; column++) {
          let sum = 0;
          for (let k = 0; k < n; k++) sum += a[row * n + k]! * b[k * n + column]!;
          out[row * n + column] = sum;
        }
      }
      return bits(out);
    },
  },
];
