/** Checks of what chunks load and leave that `sabotage.ts` takes out, and the tests that are to notice. */
import type { Sabotage } from './sabotages.ts';

const manyMasks = ['--test', '--test-isolation=none', 'src/emulator/many-masks.test.ts'];
const learnedRanges = ['--test', '--test-isolation=none', 'src/emulator/learned-ranges.test.ts'];
const regions = 'src/emulator/jit/regions';

export const RESULT_SABOTAGES: readonly Sabotage[] = [
  {
    name: 'many masks: lanes that are there',
    file: `${regions}/ballots.ts`,
    from: "push(f, active ? or(bits, loadFrom('i32.load8_u', at, offset)) : bits);",
    to: 'push(f, bits);',
    noticedBy: manyMasks,
  },
  {
    name: 'many masks: lanes that are off',
    file: `${regions}/ballots.ts`,
    from: "active ? operation('v128.and', condition, active) : condition",
    to: 'condition',
    noticedBy: manyMasks,
  },
  {
    name: 'many masks: lanes here and there',
    file: `${regions}/ballots.ts`,
    from: 'shl(bit, and(lane, 3))',
    to: 'bit',
    noticedBy: manyMasks,
  },
  {
    name: 'many masks: where chunks are',
    file: `${regions}/ballots.ts`,
    from: 'assign(f, at, sum(wave, and(lane, -4)));',
    to: 'assign(f, at, sum(wave, lane));',
    noticedBy: manyMasks,
  },
  {
    name: 'many masks: every other chunk',
    file: `${regions}/ballots.ts`,
    from: "operation('i64x2.shr_u', bytes, 28)",
    to: "operation('i64x2.shr_u', bytes, 32)",
    noticedBy: manyMasks,
  },
  {
    name: 'many masks: lanes 32 and up',
    file: `${regions}/ballots.ts`,
    from: 'dwordsOfMasks(f, wave, offset + DWORD_LANES)',
    to: 'dwordsOfMasks(f, wave, offset)',
    noticedBy: manyMasks,
  },
  {
    name: 'many masks: what was there',
    file: `${regions}/ballots.ts`,
    from: "f.store('v128.store', WAVE_BALLOTS + vector * 16);",
    to: "f.store('v128.store', WAVE_BALLOTS);",
    noticedBy: manyMasks,
  },
  {
    name: 'early results: masks of chunks that give up',
    file: `${regions}/node-results.ts`,
    from: 'of(node, isSure).ballots',
    to: 'of(node, fast !== undefined).ballots',
    noticedBy: manyMasks,
  },
  {
    name: 'early results: registers of chunks that give up',
    file: `${regions}/node-results.ts`,
    from: '(isSure && (lastReads',
    to: '((lastReads',
    noticedBy: manyMasks,
  },
  {
    name: 'early results: registers that are read later',
    file: `${regions}/node-results.ts`,
    from: '(lastReads.get(offset) ?? 0) <= places.get(node)!',
    to: 'true',
    noticedBy: manyMasks,
  },
  {
    name: 'early results: values that are not computed yet',
    file: `${regions}/node-results.ts`,
    from: 'isEarly && node.lane && COMPUTED.has(node.leaf.kind)',
    to: 'isEarly && node.lane',
    noticedBy: manyMasks,
  },
  {
    name: 'loads of dwords: lanes that overlap',
    file: `${regions}/linear-accesses.ts`,
    from: "const overlapping = (): void => all('v128.load');",
    to: "const overlapping = (): void => all('v128.load32_splat');",
    noticedBy: manyMasks,
  },
  {
    name: 'loads of dwords: lanes that are the same',
    file: `${regions}/linear-accesses.ts`,
    from: "ways?.same ?? (() => all('v128.load32_splat'))",
    to: "ways?.same ?? (() => all('v128.load'))",
    noticedBy: manyMasks,
  },
  {
    name: 'loads of dwords: pairs of the same',
    file: `${regions}/linear-accesses.ts`,
    from: 'same: () => loadPair(f, [access.address], at, pair),',
    to: 'same: () => loadFollowingPair(f, access.address, at, undefined, pair),',
    noticedBy: manyMasks,
  },
  {
    name: 'learned ranges: places that others take',
    file: 'src/emulator/jit/function/range-places.ts',
    from: "operation('i64.and', known, others)",
    to: 'known',
    noticedBy: learnedRanges,
  },
  {
    name: 'learned ranges: more than are told apart',
    file: 'src/emulator/jit/function/range-places.ts',
    from: 'numbers.some((number) => number >= BIT_COUNT)',
    to: 'false',
    noticedBy: learnedRanges,
  },
  {
    name: 'barriers: waves that go on behind one that leaves',
    file: 'src/emulator/schedule/workgroup.ts',
    from: 'words[first + i] = READY;\n  }\n\n  get',
    to: '{}\n  }\n\n  get',
    noticedBy: ['--test', '--test-isolation=none', 'src/emulator/emulator.test.ts'],
  },
];
