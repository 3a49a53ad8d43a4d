/**
 * What lanes of a warp do together, and what they ask of themselves. PTX ISA 9.7.13 "Parallel
 * Synchronization", chapter 10 "Special Registers". The lanes that a member mask names are all active where
 * these run: `wave_apart` in front of them sees to that.
 */
import type { Value } from '../../ir/types.ts';
import { isSigned } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

const LANES = 32;

const activeLanes = (b: PtxBuilder): Value => b.low(b.state('exec'));
const bitOf = (b: PtxBuilder, mask: Value, lane: Value): Value => b.ne(b.and(b.shrU(mask, lane), b.i32(1)), b.i32(0));

/** The source lane of a shuffle, and whether it is within the segment (PTX ISA, "shfl.sync"). */
function shuffle(b: PtxBuilder): void {
  const [distance, bounds] = [b.bits(b.read(3), 0, 5), b.read(4)];
  const lane = b.laneId();
  const segments = b.bits(bounds, 8, 5);
  const clamp = b.bits(bounds, 0, 5);
  const outside = b.and(b.not(segments), b.i32(31));
  const least = b.and(lane, segments);
  const most = b.or(least, b.and(clamp, outside));
  const sources: Readonly<Record<string, () => Value>> = {
    up: () => b.sub(lane, distance),
    down: () => b.add(lane, distance),
    bfly: () => b.xor(lane, distance),
    idx: () => b.or(least, b.and(distance, outside)),
  };
  const { mode = 'idx' } = b.modifiers;
  const source = sources[mode]!();
  const isWithin = mode === 'up' ? b.not(b.ltS(source, most)) : b.not(b.ltS(most, source));
  const from = b.select(isWithin, source, lane);
  b.write(0, b.operands[2]?.kind === 'register' ? b.fromLane(2, from) : b.read(2));
  if (!b.isAbsent(1)) b.write(1, isWithin);
}

/** Lanes that vote for it, into a scalar: each lane reads that with the next instruction. */
const vote = (b: PtxBuilder): void => b.setScalar(0, b.low(b.ballot(b.op('i1.and', b.read(1), b.guard ?? b.i1(true)))));

/** What a vote comes to for the members that a lane names: others may have voted at the same time. */
function voted(b: PtxBuilder): void {
  const members = b.and(b.read(2), activeLanes(b));
  const yes = b.and(b.read(1), members);
  const outcomes: Readonly<Record<string, () => Value>> = {
    ballot: () => yes,
    any: () => b.not(b.isZero(yes)),
    all: () => b.eq(yes, members),
    uni: () => b.op('i1.or', b.isZero(yes), b.eq(yes, members)),
  };
  b.write(0, outcomes[b.modifiers['mode']!]!());
}

/** Lanes of the mask that have the same value. */
function equalLanes(b: PtxBuilder, source: number, members: Value): Value {
  const value = b.read(source);
  const isWide = value.type === 'i64';
  const mask = b.and(members, activeLanes(b));
  let same = b.i32(0);
  for (let lane = 0; lane < LANES; lane++) {
    const low = b.eq(laneValue(b, source, lane), isWide ? b.low(value) : value);
    const isSame = isWide ? b.op('i1.and', low, b.eq(laneValue(b, source, lane, 1), b.high(value))) : low;
    same = b.select(isSame, b.or(same, b.i32(1 << lane)), same);
  }
  return b.and(same, mask);
}

/** A dword of a source in one lane. */
function laneValue(b: PtxBuilder, index: number, lane: number, dword: 0 | 1 = 0): Value {
  if (b.operands[index]?.kind === 'register') {
    return b.fromLane(index, b.add(b.and(b.laneId(), b.i32(0)), b.i32(lane)), { dword });
  }
  const value = b.read(index);
  if (value.type !== 'i64') return value;
  return dword === 0 ? b.low(value) : b.high(value);
}

function matchAny(b: PtxBuilder): void {
  b.write(0, equalLanes(b, 1, b.read(2)));
}

function matchAll(b: PtxBuilder): void {
  const members = b.and(b.read(3), activeLanes(b));
  const isAll = b.eq(equalLanes(b, 2, members), members);
  b.write(0, b.select(isAll, members, b.i32(0)));
  if (!b.isAbsent(1)) b.write(1, isAll);
}

/** What the lanes of the mask have together. */
function reduceLanes(b: PtxBuilder): void {
  const type = b.type();
  const { op = 'add' } = b.modifiers;
  const mask = b.and(b.read(2), activeLanes(b));
  const operations: Readonly<Record<string, (x: Value, y: Value) => Value>> = {
    add: (x, y) => b.add(x, y),
    and: (x, y) => b.and(x, y),
    or: (x, y) => b.or(x, y),
    xor: (x, y) => b.xor(x, y),
    min: (x, y) => (isSigned(type) ? b.minS(x, y) : b.minU(x, y)),
    max: (x, y) => (isSigned(type) ? b.maxS(x, y) : b.maxU(x, y)),
  };
  const neutral: Readonly<Record<string, number>> = {
    and: -1,
    min: isSigned(type) ? 0x7fffffff : -1,
    max: isSigned(type) ? -0x80000000 : 0,
  };
  let total = b.i32(neutral[op] ?? 0);
  for (let lane = 0; lane < LANES; lane++) {
    const isMember = bitOf(b, mask, b.i32(lane));
    total = b.select(isMember, operations[op]!(total, laneValue(b, 1, lane)), total);
  }
  b.write(0, total);
}

function elect(b: PtxBuilder): void {
  const leader = b.op('i32.ctz', b.and(b.read(2), activeLanes(b)));
  b.write(0, leader);
  b.write(1, b.eq(b.laneId(), leader));
}

/** Ticks of 10 ns: as many as the device's clock says. */
const clock = (b: PtxBuilder): Value => b.clock();
const NS_PER_TICK = 10n;

function special(b: PtxBuilder): void {
  const lane = b.laneId();
  const bit = b.shl(b.i32(1), lane);
  const below = b.sub(bit, b.i32(1));
  const values: Readonly<Record<string, () => Value>> = {
    laneid: () => lane,
    lanemask_eq: () => bit,
    lanemask_lt: () => below,
    lanemask_le: () => b.or(below, bit),
    lanemask_gt: () => b.not(b.or(below, bit)),
    lanemask_ge: () => b.not(below),
    clock: () => b.low(clock(b)),
    clock_hi: () => b.high(clock(b)),
    clock64: () => clock(b),
    globaltimer: () => b.mul(clock(b), b.i64(NS_PER_TICK)),
    globaltimer_lo: () => b.low(b.mul(clock(b), b.i64(NS_PER_TICK))),
    globaltimer_hi: () => b.high(b.mul(clock(b), b.i64(NS_PER_TICK))),
  };
  b.write(0, values[b.modifiers['name']!]!());
}

/** Lanes that a mask names are not here though they have not ended. Operands: mask, lanes that have not. */
function apart(b: PtxBuilder): void {
  const missing = b.and(b.and(b.read(0), b.operand({ operand: 1, dword: 0 }, false)), b.not(activeLanes(b)));
  b.branch(b.not(b.isZero(b.low(b.ballot(b.not(b.isZero(missing)))))));
}

const NARROW =
  'laneid|lanemask_eq|lanemask_lt|lanemask_le|lanemask_gt|lanemask_ge|clock|clock_hi|globaltimer_lo|globaltimer_hi';

// biome-ignore format: one row per line, as the tables of the manual
const ROWS: readonly PtxRow[] = [
  ptxRow('activemask', '.b32', '=b32', (b) => b.write(0, activeLanes(b))),
  ptxRow('shfl', '.sync.mode=up|down|bfly|idx.b32', '=b32 |=pred? b32 u32 u32 b32', shuffle, { meeting: { members: 5 } }),
  ptxRow('match', '.any.sync.type=b32|b64', '=b32 type b32', matchAny, { meeting: { members: 2 } }),
  ptxRow('match', '.all.sync.type=b32|b64', '=b32 |=pred? type b32', matchAll, { meeting: { members: 3 } }),
  ptxRow('redux', '.sync.op=add|min|max.type=u32|s32', '=type type b32', reduceLanes, { meeting: { members: 2 } }),
  ptxRow('redux', '.sync.op=and|or|xor.type=b32', '=type type b32', reduceLanes, { meeting: { members: 2 } }),
  ptxRow('elect', '.sync', '=b32 |=pred b32', elect, { meeting: { members: 2 } }),
  ptxRow('bar', '.warp.sync', 'b32', () => {}, { expansion: 'meet', meeting: { members: 0, isAnywhere: true } }),
  ptxRow('shfl', '.mode=up|down|bfly|idx.b32', '=b32 |=pred? b32 u32 u32', shuffle),
  ptxRow('vote', '.sync.mode=ballot.type=b32', '=type pred b32', () => {}, { expansion: 'vote', meeting: { members: 2 } }),
  ptxRow('vote', '.sync.mode=any|all|uni.type=pred', '=type pred b32', () => {}, { expansion: 'vote', meeting: { members: 2 } }),
  ptxRow('vote', '.mode=ballot.type=b32', '=type pred', () => {}, { expansion: 'vote' }),
  ptxRow('vote', '.mode=any|all|uni.type=pred', '=type pred', () => {}, { expansion: 'vote' }),
  ptxRow('wave_meet', '', '', (b) => b.fence(), { isInternal: true }),
  ptxRow('wave_vote', '', '=b32 pred', vote, { isInternal: true }),
  ptxRow('wave_voted', '.mode=ballot|any|all|uni.type=b32|pred', '=type b32 b32', voted, { isInternal: true }),
  ptxRow('wave_apart', '', 'b32 b32 ->', apart, { isInternal: true, control: 'conditional' }),
  ptxRow('special', `.name=${NARROW}`, '=b32', special, { isInternal: true }),
  ptxRow('special', '.name=clock64|globaltimer', '=b64', special, { isInternal: true }),
];

export const WARP_ROWS: readonly PtxRow[] = ROWS.map((each) => ({ ...each, className: 'warp' }));
