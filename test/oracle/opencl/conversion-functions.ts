/** Launches of `conversion-functions.cl`. */
import { DEVICE_LIBRARY_BUILDS } from './device-libraries.ts';
import { type FloatType, floats, integers } from './inputs.ts';
import { elementwise } from './launch.ts';
import type { Subject } from './subject.ts';

const TYPES: readonly [type: string, name: string, results: number][] = [
  ['f32', 'float', 36],
  ['f64', 'double', 40],
  ['i32', 'int', 4],
  ['u32', 'uint', 4],
  ['i64', 'long', 8],
  ['u64', 'ulong', 8],
  ['u16', 'ushort', 1],
];

export const CONVERSION_FUNCTIONS: Subject = {
  source: 'conversion-functions.cl',
  builds: DEVICE_LIBRARY_BUILDS,
  languages: ['OpenCL C'],
  levels: ['O2'],
  launches: (items) =>
    TYPES.map(([type, name, results], i) => {
      const numbers = type.startsWith('f') ? floats(type as FloatType, items, i) : integers(type, items, i);
      return elementwise(`from_${name}`, items, { inputs: [numbers], like: new BigUint64Array(), results });
    }),
};
