/** Launches of `math.cl`. */
import { DEVICE_LIBRARY_BUILDS } from './device-libraries.ts';
import { floats, positiveFloats } from './inputs.ts';
import { elementwise, type Launch, type Numbers } from './launch.ts';
import type { Subject } from './subject.ts';

/**
 * How many results each kernel has, and how far from the exact ones they may be: OpenCL C 3.0, "Relative
 * error as ULPs".
 */
const KERNELS: readonly [name: string, results: number, ulps: number][] = [
  ['exact', 28, 0],
  ['within_2', 3, 2],
  ['within_3', 7, 3],
  ['within_4', 11, 4],
  ['within_5', 7, 5],
  ['within_6', 3, 6],
  ['within_16', 7, 16],
  ['more_exact', 6, 0],
  ['more_within_2', 2, 2],
  ['more_within_4', 2, 4],
  ['gamma', 2, 16],
  ['negative_gamma', 1, 32],
  ['length', 1, 5],
  ['either', 1, 0],
  ['elements', 1, 0],
];

export const MATH: Subject = {
  source: 'math.cl',
  builds: DEVICE_LIBRARY_BUILDS,
  languages: ['OpenCL C'],
  levels: ['O2'],
  launches: (items) => {
    const half = items >> 1;
    // Half of the numbers from all over the format, half from 1/4 to 4.
    const numbers = (type: 'f32' | 'f64', seed: number): Numbers => {
      const all = floats(type, items, seed);
      all.set(positiveFloats(type, half, seed), items - half);
      return all;
    };
    const kernel = (name: string, type: 'f32' | 'f64', results: number, ulps: number): Launch =>
      elementwise(name, items, { inputs: [numbers(type, 1), numbers(type, 2)], results, ulps });
    return [
      ...KERNELS.flatMap(([name, results, ulps]) => [
        kernel(`${name}_float`, 'f32', results, ulps),
        kernel(`${name}_double`, 'f64', results, ulps),
      ]),
      kernel('half_approximations_float', 'f32', 13, 8192),
      kernel('native_approximations_float', 'f32', 13, 8192),
    ];
  },
};
