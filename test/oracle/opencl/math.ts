/** Launches of `math.cl`. */
import { DEVICE_LIBRARY_BUILDS } from './device-libraries.ts';
import { floats, positiveFloats } from './inputs.ts';
import { elementwise, type Numbers } from './launch.ts';
import type { Subject } from './subject.ts';

/** How many results each kernel has, and how far from the exact ones they may be: OpenCL C 3.0, "Relative error as ULPs". */
const KERNELS: readonly [name: string, results: number, ulps: number][] = [
  ['exact', 28, 0],
  ['within_2', 3, 2],
  ['within_3', 7, 3],
  ['within_4', 11, 4],
  ['within_5', 7, 5],
  ['within_6', 3, 6],
  ['within_16', 7, 16],
  ['more_exact', 5, 0],
  ['more_within_2', 2, 2],
  ['more_within_4', 2, 4],
  ['gamma', 2, 16],
];

export const MATH: Subject = {
  source: 'math.cl',
  builds: DEVICE_LIBRARY_BUILDS,
  languages: ['OpenCL C'],
  levels: ['O2'],
  launches: (items) =>
    (['f32', 'f64'] as const).flatMap((type) => {
      const half = items >> 1;
      // Half of the numbers from all over the format, half from 1/4 to 4.
      const numbers = (seed: number): Numbers => {
        const all = floats(type, items, seed);
        all.set(positiveFloats(type, half, seed), items - half);
        return all;
      };
      return KERNELS.map(([name, results, ulps]) =>
        elementwise(`${name}_${type === 'f32' ? 'float' : 'double'}`, items, {
          inputs: [numbers(1), numbers(2)],
          results,
          ulps,
        }),
      );
    }),
};
