/** The checks of full waves that `sabotage.ts` takes out, and the tests that are to notice. */
import type { Sabotage } from './sabotages.ts';

const fullWaves = ['--test', '--test-isolation=none', 'src/emulator/full-waves.test.ts'];
const partialRows = ['--test', '--test-isolation=none', 'src/emulator/partial-rows.test.ts'];
const baseLoads = ['--test', '--test-isolation=none', 'src/emulator/base-loads.test.ts'];
const wholeWave = ['--test', '--test-isolation=none', 'src/emulator/whole-wave.test.ts'];
const regions = 'src/emulator/jit/regions';

export const WAVE_SABOTAGES: readonly Sabotage[] = [
  {
    name: 'full waves: the last lane',
    file: `${regions}/guards.ts`,
    from: "return expected ? operation('i32.ge_s', a.high, b.low)",
    to: "return expected ? operation('i32.ge_s', a.low, b.low)",
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: the first lane',
    file: `${regions}/guards.ts`,
    from: ": operation('i32.lt_s', a.low, b.high);",
    to: ": operation('i32.lt_s', a.high, b.high);",
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: lanes that are equal to something',
    file: `${regions}/guards.ts`,
    from: "return and(operation('i32.ge_s', a.high, b.low), operation('i32.ge_s', b.high, a.low));",
    to: "return and(operation('i32.gt_s', a.high, b.low), operation('i32.gt_s', b.high, a.low));",
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: numbers that wrap',
    file: `${regions}/guards.ts`,
    from: 'push(f, gtS64(wide, 0x7fffffffn));\n    f.brIf(this.#no);',
    to: '',
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: steps that are large or negative',
    file: `${regions}/guards.ts`,
    from: 'push(f, gtU(pitches.reduce<Term>(or, step), MAX_STEP));\n    f.brIf(this.#no);',
    to: '',
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: masks of which one is enough',
    file: `${regions}/full-waves.ts`,
    from: "const NARROWING = new Set<OpName>(['i32.and',",
    to: "const NARROWING = new Set<OpName>(['i64.or', 'i32.or', 'i32.and',",
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: instructions of no lane',
    file: `${regions}/full-waves.ts`,
    from: 'if (!this.#isOff) super.setRow',
    to: 'super.setRow',
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: loads of the wave',
    file: 'src/emulator/lowering/uniform-memory.ts',
    from: 'if (refused) f.brIf(refused);',
    to: 'if (refused) f.drop();',
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: waves that begin again',
    file: `${regions}/first-look.ts`,
    from: 'return and(eq(loadFrom(',
    to: 'return or(hasNotRun, eq(loadFrom(',
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: registers that changed',
    file: 'src/emulator/handlers/group-runner.ts',
    from: "f.i32(1);\n        f.op('i32.shr_u');",
    to: "f.i32(3);\n        f.op('i32.and');",
    noticedBy: fullWaves,
  },
  {
    name: 'full waves: the block that they go on at',
    file: 'src/emulator/jit/full-wave-entries.ts',
    from: 'f.i32(successor.index);',
    to: 'f.i32(successor.index + 1);',
    noticedBy: fullWaves,
  },
  {
    name: 'rows with lanes off: what is not looked at',
    file: `${regions}/row-part.ts`,
    from: 'linear.emit(ROW_CHUNKS, at.chunk,',
    to: 'linear.emit(1, at.chunk,',
    noticedBy: partialRows,
  },
  {
    name: 'rows with lanes off: stores',
    file: `${regions}/linear-accesses.ts`,
    from: 'if (nibble) apart();\n    else if',
    to: 'if',
    noticedBy: partialRows,
  },
  {
    name: 'rows with lanes off: registers',
    file: `${regions}/row-part.ts`,
    from: 'this.#body.emitFast(place, giveUp, mask, nibble);',
    to: 'this.#body.emitFast(place, giveUp, undefined, nibble);',
    noticedBy: partialRows,
  },
  {
    name: 'rows with lanes off: chunks without any',
    file: `${regions}/row-part.ts`,
    from: 'linear.advance();',
    to: '',
    noticedBy: partialRows,
  },
  {
    name: 'rows with lanes off: chunks that are done',
    file: `${regions}/row-part.ts`,
    from: "const rest = operation('i64.shl', -1n, zext64(row.chunk));",
    to: "const rest = operation('i64.shl', -1n, zext64(first));",
    noticedBy: partialRows,
  },
  {
    name: 'whole waves: summands that are far',
    file: `${regions}/linear-terms.ts`,
    from: 'const isFar = gtU(sum(first, SUMMAND_REACH), 2 * SUMMAND_REACH);',
    to: 'const isFar = and(first, 0);',
    noticedBy: wholeWave,
  },
  {
    name: 'whole waves: carry of summands',
    file: `${regions}/address-parts.ts`,
    from: "const sum = isOp(low, 'i32.add') ? withoutCarry(graph, low, high) : undefined;",
    to: "const sum = isOp(low, 'i32.add') ? (withoutCarry(graph, low, high) ?? high) : undefined;",
    noticedBy: wholeWave,
  },
  {
    name: 'full waves: what leaves a wave without lanes',
    file: `${regions}/full-waves.ts`,
    from: 'narrowing.length === 1 && narrowing[0] === builder.idling',
    to: 'narrowing.length === 1 && builder.idling !== undefined',
    noticedBy: fullWaves,
  },
  {
    name: 'loads from one base: the last byte',
    file: `${regions}/base-loads.ts`,
    from: 'validityOf(sum(first, max - min - 1))',
    to: 'validityOf(first)',
    noticedBy: baseLoads,
  },
  {
    name: 'loads from one base: the first byte',
    file: `${regions}/base-loads.ts`,
    from: 'and(validityOf(first), ',
    to: 'and(MAY_READ, ',
    noticedBy: baseLoads,
  },
  {
    name: 'loads from one base: the window',
    file: `${regions}/base-loads.ts`,
    from: 'and(isInWindow, and(permissions, MAY_READ))',
    to: 'and(permissions, MAY_READ)',
    noticedBy: baseLoads,
  },
  {
    name: 'rows with some lanes off: one that begins in its middle',
    file: `${regions}/chunk-loop.ts`,
    from: 'sum(or(this.#at.chunk, AHEAD_LANES - 1), 1)',
    to: 'sum(this.#at.chunk, AHEAD_LANES)',
    noticedBy: partialRows,
  },
];
