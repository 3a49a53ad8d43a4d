/**
 * Launches of the kernels of `test/data/hip`. Blocks are whole, as HIP has them; the last one has threads
 * without work.
 */
import { integers, positiveFloats, smallFloats } from './inputs.ts';
import { type Argument, buffer, int, type Launch, launch, type Numbers, value, zeros } from './launch.ts';
import type { Subject } from './subject.ts';

const BLOCK = 192;
const whole = (items: number, block: number): number => Math.ceil(items / block) * block;

/** A kernel that a template made: its name in C++, and how the C++ ABI mangles it. */
const made = (name: string, symbol: string, args: readonly Argument[], grid: number[], block: number[]): Launch => ({
  ...launch(name, args, grid, block),
  symbol,
});

interface Product {
  readonly type: string;
  readonly size: readonly [m: number, n: number, k: number];
  /** Rows and columns of the result that a block computes, and rows of them that a thread does. */
  readonly tile: number;
  readonly rows: number;
}

function product(name: string, symbol: string, { type, size, tile, rows }: Product): Launch {
  const [m, n, k] = size;
  const [a, b] = [smallFloats(type, m * k, 1), smallFloats(type, k * n, 2)];
  const sizes = [m, n, k].map(int);
  const grid = [whole(n, tile), whole(m, tile) / rows];
  return made(name, symbol, [buffer(zeros(a, m * n)), buffer(a), buffer(b), ...sizes], grid, [tile, tile / rows]);
}

const TEMPLATES: Subject = {
  source: 'templates.hip',
  builds: [{ flags: [] }],
  languages: ['HIP'],
  levels: ['O0', 'O2'],
  launches: (items) => {
    const n = int(items - 3);
    const small = items < 100;
    const grid = whole(items, BLOCK);
    const words = integers('u32', items, 1);
    const reduce = (name: string, symbol: string, numbers: Numbers, neutral: Argument): Launch => {
      const results = buffer(zeros(numbers, (grid / BLOCK) * 2));
      return made(name, symbol, [results, buffer(numbers), neutral, n], [grid], [BLOCK]);
    };
    const elements = (
      name: string,
      symbol: string,
      numbers: Numbers,
      block: number,
      extra: Argument[] = [],
    ): Launch => {
      const args = [buffer(zeros(numbers, items)), buffer(numbers), n, ...extra];
      return made(name, symbol, args, [whole(items, block)], [block]);
    };
    return [
      reduce('reduce<int, Sum>', '_Z6reduceIi3SumEvPT_PKS1_S1_j', integers('i32', items, 1), int(0)),
      reduce(
        'reduce<ulong, Sum>',
        '_Z6reduceIm3SumEvPT_PKS1_S1_j',
        integers('u64', items, 2),
        value('ulong', BigUint64Array.of(0n)),
      ),
      reduce(
        'reduce<double, Largest>',
        '_Z6reduceId7LargestEvPT_PKS1_S1_j',
        smallFloats('f64', items, 3),
        value('double', Float64Array.of(-1e300)),
      ),
      elements('scan<float>', '_Z4scanIfEvPT_PKS0_j', positiveFloats('f32', items, 4), BLOCK),
      elements('scan<long>', '_Z4scanIlEvPT_PKS0_j', integers('i64', items, 5), BLOCK),
      product('matmul<float, float, 16, 2>', '_Z6matmulIffLj16ELj2EEvPT_PKS0_S3_jjj', {
        type: 'f32',
        size: small ? [5, 7, 9] : [19, 33, 21],
        tile: 16,
        rows: 2,
      }),
      product('matmul<_Float16, float, 8, 4>', '_Z6matmulIDF16_fLj8ELj4EEvPT_PKS0_S3_jjj', {
        type: 'f16',
        size: small ? [7, 5, 6] : [17, 9, 11],
        tile: 8,
        rows: 4,
      }),
      elements('radix_sort<uint>', '_Z10radix_sortIjEvPT_PKS0_jj', words, 128, [
        int(small ? 8 : 32),
        { kind: 'dynamic', sizeBytes: 128 * 4 + 4 * 64 },
      ]),
      elements('radix_sort<ulong>', '_Z10radix_sortImEvPT_PKS0_jj', integers('u64', items, 6), 64, [
        int(small ? 8 : 64),
        { kind: 'dynamic', sizeBytes: 64 * 8 + 2 * 64 },
      ]),
      made(
        'histogram<100>',
        '_Z9histogramILj100EEvPjPKhj',
        [buffer(new Uint32Array(100)), buffer(integers('u8', items * 5, 7)), int(items * 5 - 1)],
        [grid],
        [BLOCK],
      ),
      made('add_to_table<300>', '_Z12add_to_tableILj300EEvPKjj', [buffer(words), n], [grid], [BLOCK]),
      made(
        'read_table<300>',
        '_Z10read_tableILj300EEvPmPj',
        [buffer(new BigUint64Array(300)), buffer(new Uint32Array(1))],
        [384],
        [64],
      ),
    ];
  },
};

const CLASSES: Subject = {
  source: 'classes.hip',
  builds: [{ flags: [] }],
  languages: ['HIP'],
  levels: ['O0', 'O2'],
  launches: (items) => {
    const n = int(items - 3);
    const [width, height] = [Math.ceil(Math.sqrt(items)) + 2, Math.ceil(Math.sqrt(items))];
    const view = new Uint8Array(32);
    view.set(new Uint8Array(Float64Array.of(-2, 1.25, 2.5 / height).buffer));
    view.set(new Uint8Array(Uint32Array.of(width, height).buffer), 24);
    const words = integers('u32', items, 1);
    const grid = whole(items, BLOCK);
    const points = Float32Array.from(positiveFloats('f32', items * 2, 2), (x, i) => (i % 3 === 0 ? -x : x));
    return [
      launch(
        'mandelbrot',
        [buffer(new Uint32Array(width * height)), value('View', view), int(items < 100 ? 15 : 100)],
        [whole(width, 16), whole(height, 8)],
        [16, 8],
      ),
      launch('newton', [buffer(zeros(points, items * 2)), buffer(points), n], [grid], [BLOCK]),
      launch(
        'shapes',
        [buffer(new Float32Array(items)), buffer(words), buffer(smallFloats('f32', items, 3)), n],
        [grid],
        [BLOCK],
      ),
      launch('mixed', [buffer(new BigUint64Array(items * 6)), buffer(words), n], [grid], [BLOCK]),
    ];
  },
};

export const HIP: readonly Subject[] = [TEMPLATES, CLASSES];
