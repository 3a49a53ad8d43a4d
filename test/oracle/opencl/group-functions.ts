/** Launches of `group-functions.cl`. */
import { DEVICE_LIBRARY_BUILDS } from './device-libraries.ts';
import { integers, smallFloats } from './inputs.ts';
import { buffer, launch, zeros } from './launch.ts';
import type { Subject } from './subject.ts';

const TYPES = [
  ['i32', 'int'],
  ['u32', 'uint'],
  ['i64', 'long'],
  ['u64', 'ulong'],
  ['f32', 'float'],
  ['f64', 'double'],
] as const;

export const GROUP_FUNCTIONS: Subject = {
  source: 'group-functions.cl',
  builds: DEVICE_LIBRARY_BUILDS,
  languages: ['OpenCL C'],
  levels: ['O2'],
  launches: (items) =>
    TYPES.map(([type, name], i) => {
      const numbers = (type.startsWith('f') ? smallFloats : integers)(type, items, i);
      return launch(`groups_${name}`, [buffer(zeros(numbers, items * 24)), buffer(numbers)], [items], [160]);
    }),
};
