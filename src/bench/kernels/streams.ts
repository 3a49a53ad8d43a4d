/** One element for each work-item, memory in order or scattered. */

import { ramp } from './inputs.ts';
import type { KernelBenchmark } from './kernel-benchmark.ts';

const GRID = { full: [1024, 512], small: [64, 20], long: [4096, 4096] } as const;
const ELEMENTS = { full: 1 << 20, small: 1 << 10, long: 1 << 25 };

export const STREAMS: readonly KernelBenchmark[] = [
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
      return out;
    },
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
      return a.map((value, i) => value + b[i]!);
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
      return Float32Array.from(index, (at) => a[at]!);
    },
  },
  {
    name: 'stencil',
    unit: 'element',
    launch: (size) => {
      const [width, height] = GRID[size];
      const values = Float64Array.from({ length: width * height }, (_, i) => ((i * 7919) % 1009) / 3);
      return {
        grid: [width, height],
        workgroup: [64, 4],
        args: [{ sizeBytes: width * height * 8 }, values, width, height],
      };
    },
    operations: (size) => GRID[size][0] * GRID[size][1],
    model({ args }) {
      const [, values, width, height] = args as [unknown, Float64Array, number, number];
      const out = Float64Array.from(values);
      for (let row = 1; row < height - 1; row++) {
        for (let column = 1; column < width - 1; column++) {
          const at = row * width + column;
          const [value, left, right] = [values[at]!, values[at - 1]!, values[at + 1]!];
          out[at] = value + 0.2 * (left + right + (values[at - width]! + values[at + width]!) - 4 * value);
        }
      }
      return out;
    },
  },
];
