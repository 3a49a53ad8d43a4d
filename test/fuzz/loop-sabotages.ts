/** Of `sabotages.ts`: what loops depend on that store behind iterations, or load at places of the wave. */
import type { Sabotage } from './sabotages.ts';

type Row = readonly [name: string, file: string, from: string, to: string];

const EXTENTS = 'loops/lane-extents.ts';
const SIDES = 'loops/side-by-side-accesses.ts';
const RANGES = 'regions/permitted-ranges.ts';
const CHECKS = 'loops/guide-checks.ts';

const FINAL_STORES: readonly Row[] = [
  ['rows of groups that ran before one that gives up', 'loops/loop-lowering.ts', '          store.undo();', ''],
  [
    'lanes that are off',
    'loops/final-store.ts',
    'sizeBytes: node.leaf.sizeBytes }, nibble);',
    'sizeBytes: node.leaf.sizeBytes });',
  ],
  ['permission', EXTENTS, 'eqz(found.permits({ writes: true }))', '0'],
  ['window', EXTENTS, "refuse(operation('v128.xor', high, operation('i32x4.splat', windowHi)));", ''],
  ['an index that wraps', EXTENTS, "refuse(operation('i32x4.lt_u', low, floor));", '{}'],
  ['end of an allocation', EXTENTS, 'or(or(ltU(address, allocation), isOutside),', 'or(0,'],
  [
    'loads of what is stored, in the first iteration',
    'regions/permitted-ranges.ts',
    'except ? select(all, 0, ne(start, except)) : all',
    'all',
  ],
  [
    'loads of what is stored, later',
    CHECKS,
    'push(f, mayBeIn(sum(low, least, group.min), storedAllocation));',
    'f.i32(0);',
  ],
];

const STREAMED_STORES: readonly Row[] = [
  ['iterations that overlap', CHECKS, 'push(f, gtU(sub(sub(low, last), span), MAX_STEP_BYTES));', 'f.i32(0);'],
  ['the last place', CHECKS, '    assign(f, last, low);', ''],
  ['places of lanes', CHECKS, '=> sum(sub(most, least), max - min);', '=> sum(0, max - min);'],
  ['the size of what is stored', CHECKS, '=> sum(sub(most, least), max - min);', '=> sub(most, least);'],
  ['other groups of chunks', SIDES, '    this.#reachWave(group, guideLow, least, most);', ''],
  ['lanes at one place', SIDES, 'eqz(writes ? following! : or(following!, same!))', 'eqz(or(following!, same!))'],
  ['lanes that are off', SIDES, 'push(f, eq(nibble, 15));', 'f.i32(1);'],
  [
    'the end of what may be written',
    CHECKS,
    '      f.brIfRare(slow);\n      return;',
    "      f.op('drop');\n      return;",
  ],
  ['what is loaded', SIDES, 'const except = group.writes ? undefined :', 'const except = group ? undefined :'],
  ['rows that groups left', 'loops/streamed-store.ts', "    copyRows(this.#environment, 'keep');", ''],
  ['lanes that may not store', 'loops/streamed-store.ts', 'if (group.writes) findStored', 'if (!group) findStored'],
  ['NaNs that are stored', 'loops/nan-checks.ts', 'if (!through.includes(arg)) exact.add(arg);', '{}'],
];

const KNOWN_INDICES: readonly Row[] = [
  ['whether the guide is known', CHECKS, 'push(f, geU(sub(index, known.first), known.count));', 'f.i32(0);'],
  ['a base that stays the same', 'loops/side-by-side.ts', 'const fixed = isFixed ?', 'const fixed = isOne ?'],
  ['the first one', RANGES, "operation('i64.sub', now, zext64(shrU(behindFirst, shift)))", '-0x40000000n'],
  ['the last one', RANGES, 'add64(now, zext64(shrU(beforeEnd, shift)))', '0x40000000n'],
  ['negative ones', RANGES, 'assign(f, from, select(from, least, ', 'assign(f, from, select(from, from, '],
  ['what is not permitted', RANGES, 'select(found, 0, this.permitsGuide(group, low))', 'found'],
];
const LEAVING_LANES: readonly Row[] = [
  ['lanes that are on', 'loops/loop-lowering.ts', 'this.#askDisjoint(otherwise);', ''],
  [
    'lanes that were on',
    'loops/loop-lowering.ts',
    "operation('i64.or', this.state.mask(base), ",
    "operation('i64.or', 0n, ",
  ],
  [
    'lanes that had left',
    'loops/loop-lowering.ts',
    'this.state.mask(base), this.state.mask(STATE_OFFSETS.exec));\n      f.get',
    '0n, this.state.mask(STATE_OFFSETS.exec));\n      f.get',
  ],
  ['lanes that are left', 'loops/loop-lowering.ts', "operation('i64.xor', exec, -1n)", '-1n'],
  ['when the wave leaves', 'loops/loop-body.ts', 'if (until) f.brIf(end);', "if (until) f.op('drop');"],
  [
    'what the wave asks',
    'loops/loop-lowering.ts',
    'const { nodes, variant } = this.#usual;',
    'const { nodes, variant } = this.plan;',
  ],
  ['who is left then', 'loops/loop-body.ts', 'if (until) clearExec(f, chunks, goesOn);', ''],
  [
    'which way the wave leaves',
    'loops/wave-exit.ts',
    "isOp(mask, isTrue ? 'i1.and' : 'i1.or')",
    "isOp(mask, 'i1.and')",
  ],
  ['masks that others come into', 'loops/loop-plan.ts', 'return this.#logic.equal(before, after);', 'return true;'],
  [
    'masks that EXEC comes into',
    'loops/loop-builder.ts',
    'isOff(mask) && isOff(this.#before(base));',
    'isOff(this.#before(base));',
  ],
  [
    'masks that are read',
    'loops/loop-plan.ts',
    'if (read.has(mask) && all.masks.has(base)) masks',
    'if (!graph && all.masks.has(base)) masks',
  ],
  ['chunks that were off: masks', 'loops/loop-plan.ts', '[...masks.values(), ...skips', '[...skips'],
  ['chunks that were off: notes', 'loops/loop-plan.ts', '...skips.map(({ mask }) => mask), ...counted]', ']'],
  ['chunks that were off: rows', 'loops/loop-plan.ts', '!offStays || this', 'this'],
  ['lanes that are done', 'loops/loop-plan.ts', "graph.again.kind === 'lanes' && !offStays", '!graph'],
  ['masks that are numbers', 'loops/lane-program.ts', '(entry) => entry === node', '(entry) => !!entry'],
  [
    'notes of what is given up',
    'loops/nan-watch.ts',
    'this.#checks.rows.size + this.#environment.plan.rare.size > 0',
    'this.#checks.rows.size < 0',
  ],
];
const SKIP_NOTES: readonly Row[] = [
  ['what is cleared', 'loops/skip-notes.ts', 'note < this.#count * BLOCK;', 'note < this.#count;'],
  ['which iterations are counted', 'loops/skip-notes.ts', 'pair(0), pair(2)', 'pair(0), pair(1)'],
  ['iterations of the last block', 'loops/skip-notes.ts', 'push(f, ltU(at, end));', 'push(f, ltU(sum(at, 16), end));'],
];
const FAR_STORES: readonly Row[] = [
  ['a way back of 2 GiB', CHECKS, 'const MAX_STEP_BYTES = 2 ** 30;', 'const MAX_STEP_BYTES = 2 ** 31 - 1;'],
];
const MISALIGNED: readonly Row[] = [
  ['alignment', CHECKS, 'indexed !== undefined && 2 ** indexed.shift >= group.alignmentBytes', 'indexed !== undefined'],
];

const BEFORE_FAULTS: readonly Row[] = [
  ['indices in front', SIDES, 'and(eqz(this.#environment.begun), ltS(least, 0))', '0'],
  ['lanes in front', SIDES, 'assign(state.f, least, sub(wave.least, guideLow));', ''],
  ['lanes behind', SIDES, 'assign(state.f, most, sub(wave.most, guideLow));', ''],
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
    noticedBy: ['--test', '--test-isolation=none', test],
  }));

export const LOOP_SABOTAGES: readonly Sabotage[] = [
  ...sabotages('final stores', 'test/lockstep/loop-stores.test.ts', FINAL_STORES),
  ...sabotages('streamed stores', 'test/lockstep/loop-stores.test.ts', STREAMED_STORES),
  ...sabotages('streamed stores', 'src/emulator/streamed-stores.test.ts', BEFORE_FAULTS),
  ...sabotages('streamed stores', 'src/emulator/far-stores.test.ts', FAR_STORES),
  ...sabotages('known indices', 'src/emulator/known-indices.test.ts', KNOWN_INDICES),
  ...sabotages('known indices', 'src/ptx-host/misaligned.test.ts', MISALIGNED),
  ...sabotages('leaving lanes', 'test/lockstep/leaving-lanes.test.ts', LEAVING_LANES),
  ...sabotages('skip notes', 'test/lockstep/leaving-lanes.test.ts', SKIP_NOTES),
  ...sabotages('uniform loads', 'test/lockstep/uniform-loads.test.ts', UNIFORM_LOADS),
];
