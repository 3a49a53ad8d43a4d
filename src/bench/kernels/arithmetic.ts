/**
 * Registers only, no divergence: independent fused multiply-adds, and one dependent chain of integer
 * operations.
 */
import type { KernelBenchmark } from './kernel-benchmark.ts';

const ITEMS = { full: 1 << 14, small: 1 << 8, long: 1 << 17 };
const ROUNDS = { full: 2000, small: 20, long: 2000 };

export const ARITHMETIC: readonly KernelBenchmark[] = [
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
      return out;
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
];
