/** Loops that lanes leave at different times, and branches that they take differently. */
import type { KernelBenchmark } from './kernel-benchmark.ts';

const ITEMS = { full: 1 << 14, small: 1 << 8, long: 1 << 20 };
const IMAGE = { full: [512, 384], small: [24, 20], long: [2048, 1536] } as const;
const TILE = 16;

const sumOf = (counts: Iterable<number>): number => Iterator.from(counts).reduce((sum, count) => sum + count, 0);

const mandelbrot: KernelBenchmark = {
  name: 'mandelbrot',
  unit: 'iteration',
  launch: (size) => {
    const [width, height] = IMAGE[size];
    return {
      // Whole workgroups: PTX has no others.
      grid: [width, height].map((size) => Math.ceil(size / TILE) * TILE),
      workgroup: [TILE, TILE],
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
};

export const DIVERGENCE: readonly KernelBenchmark[] = [
  mandelbrot,
  { ...mandelbrot, name: 'mandelbrot-o0', kernel: 'mandelbrot' },
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
