/** Of `sabotages.ts`: what loops depend on that store behind iterations, or load at places of the wave. */
import type { Sabotage } from './sabotages.ts';

type Row = readonly [name: string, file: string, from: string, to: string];

const FINAL_STORES: readonly Row[] = [
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
  ['an index that wraps', 'loops/final-store.ts', "note(operation('i32x4.lt_u', lows, argument(floor)));", '{}'],
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
    'push(f, mayBeIn(sum(low, least, group.min), storedAllocation));',
    'f.i32(0);',
  ],
];

const UNIFORM_LOADS: readonly Row[] = [
  ['end of LDS', 'regions/uniform-loads.ts', 'gtU(sum(address, max - min), size)', '0'],
  ['begin of LDS', 'regions/uniform-loads.ts', 'or(geU(address, size), gtU', 'or(0, gtU'],
  ['permission', 'regions/uniform-loads.ts', 'checks.refuseUnlessPermitted(group, address, 0, slow);', ''],
  ['window', 'regions/uniform-loads.ts', 'push(f, ne(scalarOf(high), spaces.windowHi));', 'f.i32(0);'],
  ['constants of sums', 'regions/uniform-loads.ts', 'origin: min };', 'origin: 0 };'],
];

const sabotages = (what: string, test: string, rows: readonly Row[]): readonly Sabotage[] =>
  rows.map(([name, file, from, to]) => ({
    name: `${what}: ${name}`,
    file: `src/emulator/jit/${file}`,
    ...{ from, to },
    noticedBy: ['--test', '--test-isolation=none', `test/lockstep/${test}.test.ts`],
  }));

export const LOOP_SABOTAGES: readonly Sabotage[] = [
  ...sabotages('final stores', 'final-stores', FINAL_STORES),
  ...sabotages('uniform loads', 'uniform-loads', UNIFORM_LOADS),
];
