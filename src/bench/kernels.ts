/** The benchmark kernels. */
import type { KernelBenchmark, Launch } from './kernel-benchmark.ts';

const bits = (values: Float32Array): Uint32Array => new Uint32Array(values.buffer);
const ramp = (count: number, of: (i: number) => number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => of(i));

const sumOf = (counts: Iterable<number>): number => Iterator.from(counts).reduce((sum, count) => sum + count, 0);

const ITEMS = { full: 1 << 14, small: 1 << 8 };
const ROUNDS = { full: 2000, small: 20 };
const ELEMENTS = { full: 1 << 20, small: 1 << 10 };
const MATRIX = { full: 256, small: 32 };
const IMAGE = { full: [512, 384], small: [48, 40] } as const;

export const KERNELS: readonly KernelBenchmark[] = [
  {
    name: 'fma8',
    unit: 'FMA',
    launch: (size) => ({ grid: [ITEMS[size]], workgroup: [256], args: [{ sizeBytes: ITEMS[size] * 4 }, ROUNDS[size]] }),
    operations: (size) => ITEMS[size] * ROUNDS[size] * 8,
    model({ grid, args }) {
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
    model({ grid, args }) {
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
    model({ args }) {
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
    model: multiplyMatrices,
  },
  {
    name: 'vadd',
    unit: 'element',
    launch: (size) => {
      const n = ELEMENTS[size] - 5;
      const args = [{ sizeBytes: n * 4 }, ramp(n, (i) => i * 0.25), ramp(n, (i) => 1000 - i), n];
      return { grid: [ELEMENTS[size]], workgroup: [256], args };
    },
    operations: (size) => ELEMENTS[size] - 5,
    model({ args }) {
      const [a, b] = [args[1] as Float32Array, args[2] as Float32Array];
      return bits(a.map((value, i) => value + b[i]!));
    },
  },
  {
    name: 'gather',
    unit: 'element',
    launch: (size) => {
      const n = ELEMENTS[size];
      const index = Int32Array.from({ length: n }, (_, i) => Math.imul(i, 0x9e3779b1) & (n - 1));
      return { grid: [n], workgroup: [256], args: [{ sizeBytes: n * 4 }, ramp(n, (i) => i * 0.5), index, n] };
    },
    operations: (size) => ELEMENTS[size],
    model({ args }) {
      const [a, index] = [args[1] as Float32Array, args[2] as Int32Array];
      return bits(Float32Array.from(index, (at) => a[at]!));
    },
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
    launch: (size) => {
      const n = MATRIX[size] * 2;
      const matrix = ramp(n * n, (i) => (i % 13) - 6);
      return { grid: [n * 4, n / 16], workgroup: [64, 1], args: [{ sizeBytes: n * n * 4 }, matrix, matrix, n] };
    },
    operations: (size) => (MATRIX[size] * 2) ** 3,
    model: multiplyMatrices,
  },
  {
    name: 'mandelbrot',
    unit: 'iteration',
    launch: (size) => {
      const [width, height] = IMAGE[size];
      return {
        grid: [width, height],
        workgroup: [16, 16],
        args: [{ sizeBytes: width * height * 4 }, width, height, 200],
      };
    },
    // The model's count of iterations, the same for both.
    operations(size) {
      return sumOf(this.model(this.launch(size)));
    },
    model({ args }) {
      const [width, height, iterations] = args.slice(1) as [number, number, number];
      const { fround } = Math;
      const out = new Uint32Array(width * height);
      const [dx, dy] = [fround(3 / width), fround(2.25 / height)];
      for (let row = 0; row < height; row++) {
        for (let column = 0; column < width; column++) {
          const cx = fround(fround(column * dx) - 2.25);
          const cy = fround(fround(row * dy) - 1.125);
          let [x, y, count] = [0, 0, 0];
          for (; count < iterations && fround(fround(x * x) + fround(y * y)) <= 4; count++) {
            const next = fround(fround(fround(x * x) - fround(y * y)) + cx);
            y = fround(fround(fround(2 * x) * y) + cy);
            x = next;
          }
          out[row * width + column] = count;
        }
      }
      return out;
    },
  },
  {
    name: 'collatz',
    unit: 'iteration',
    launch: (size) => ({ grid: [ITEMS[size]], workgroup: [256], args: [{ sizeBytes: ITEMS[size] * 4 }, 1, 1000] }),
    operations(size) {
      return sumOf(this.model(this.launch(size)));
    },
    model({ grid, args }) {
      const [first, limit] = args.slice(1) as [number, number];
      return Uint32Array.from({ length: grid[0]! }, (_, i) => {
        let x = first + i;
        let steps = 0;
        for (; x !== 1 && steps < limit; steps++) x = x % 2 === 0 ? x / 2 : (3 * x + 1) >>> 0;
        return steps;
      });
    },
  },
];

function multiplyMatrices({ args }: Launch): Uint32Array {
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
  return bits(out);
}
