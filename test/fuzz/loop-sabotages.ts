/** Of `sabotages.ts`: what loops depend on that store behind all iterations. */
import type { Sabotage } from './sabotages.ts';

const ROWS: readonly (readonly [name: string, file: string, from: string, to: string])[] = [
  ['rows of groups that ran before one that gives up', 'loops/loop-lowering.ts', '          final.undo();', ''],
  [
    'lanes that are off',
    'loops/final-store.ts',
    'sizeBytes: node.leaf.sizeBytes }, nibble);',
    'sizeBytes: node.leaf.sizeBytes });',
  ],
  ['permission', 'loops/final-store.ts', 'eqz(found.permits({ writes: true }))', '0'],
  [
    'window',
    'loops/final-store.ts',
    "note(operation('v128.xor', argument(high!), operation('i32x4.splat', spaces.windowHi)));",
    '',
  ],
  ['end of an allocation', 'loops/final-store.ts', 'or(or(ltU(address, storedAllocation!), isOutside),', 'or(0,'],
  [
    'loads of what is stored, in the first iteration',
    'regions/permitted-ranges.ts',
    'except ? select(all, 0, ne(start, except)) : all',
    'all',
  ],
  [
    'loads of what is stored, later',
    'loops/side-by-side-accesses.ts',
    'push(f, mayBeIn(f, sum(low, least, group.min), storedAllocation));',
    'f.i32(0);',
  ],
];

export const LOOP_SABOTAGES: readonly Sabotage[] = ROWS.map(([name, file, from, to]) => ({
  name: `final stores: ${name}`,
  file: `src/emulator/jit/${file}`,
  ...{ from, to },
  noticedBy: ['--test', '--test-isolation=none', 'test/lockstep/final-stores.test.ts'],
}));
