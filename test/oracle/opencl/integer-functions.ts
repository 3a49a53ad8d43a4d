/** Launches of `integer-functions.cl`. */
import { DEVICE_LIBRARY_BUILDS } from './device-libraries.ts';
import { integers } from './inputs.ts';
import { elementwise, type Launch, two } from './launch.ts';
import type { Subject } from './subject.ts';

const TYPES = [
  ['i8', 'char'],
  ['u8', 'uchar'],
  ['i16', 'short'],
  ['u16', 'ushort'],
  ['i32', 'int'],
  ['u32', 'uint'],
  ['i64', 'long'],
  ['u64', 'ulong'],
] as const;

/** A launch for each number of elements, with about `items` of them. */
function launchesOf(kernel: string, type: string, counts: readonly number[], results: number, items: number): Launch[] {
  return counts.map((count) => {
    const vectors = Math.ceil(items / count) + 3;
    return elementwise(`${kernel}${count === 1 ? '' : count}`, vectors, {
      inputs: two((seed) => integers(type, vectors * count, seed)),
      results: results * count,
    });
  });
}

export const INTEGER_FUNCTIONS: Subject = {
  source: 'integer-functions.cl',
  builds: DEVICE_LIBRARY_BUILDS,
  languages: ['OpenCL C'],
  levels: ['O2'],
  launches: (items) => [
    ...TYPES.flatMap(([type, name]) => launchesOf(`functions_${name}`, type, [1, 2, 3, 4, 8, 16], 18, items)),
    ...TYPES.slice(0, 6).flatMap(([type, name]) => launchesOf(`upsample_${name}`, type, [1, 3, 16], 2, items)),
    ...launchesOf('products_int', 'i32', [1, 4], 2, items),
    ...launchesOf('products_uint', 'u32', [1, 8], 2, items),
  ],
};
