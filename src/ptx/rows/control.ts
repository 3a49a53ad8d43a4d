/**
 * How waves go on. Lanes of a wave that part at a branch run one group after the other: those of the side
 * that comes first in the code go on, the others wait at a *join*, a place that the compiler of PTX put so
 * that all that leads there stands before it. `join` of a lane is the low half of the address at which it
 * waits. A call makes a new *activation*: lanes of different ones never meet at a join.
 */
import type { Value } from '../../ir/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

const exec = (b: PtxBuilder): Value => b.state('exec');
const mask = (b: PtxBuilder, index: number): Value => b.zext64(b.scalar(index));
/** Number of the first lane that is active; there is one. */
const firstActive = (b: PtxBuilder): Value => b.op('i32.ctz', b.low(exec(b)));

/**
 * Operands: condition, address of the join, row of joins. Lanes where the condition holds wait at the join;
 * where that is all, the wave goes on at the target.
 */
function split(b: PtxBuilder): void {
  const condition = b.has('not') ? b.not(b.read(0)) : b.read(0);
  b.branch(b.isZero(part(b, condition)));
}

/** Lanes where the condition holds wait at the join; the others, if there are any, stay active. */
function part(b: PtxBuilder, condition: Value): Value {
  b.setOperand({ operand: 2, dword: 0 }, b.operand({ operand: 1, dword: 0 }, false), true, condition);
  const rest = b.ballot(b.not(condition));
  b.setState('exec', rest);
  return rest;
}

/** As `split`, but the wave goes on at the target unless all lanes wait: for branches back. */
function loop(b: PtxBuilder): void {
  const condition = b.has('not') ? b.not(b.read(0)) : b.read(0);
  b.setOperand({ operand: 2, dword: 0 }, b.operand({ operand: 1, dword: 0 }, false), true, b.not(condition));
  const rest = b.ballot(condition);
  b.setState('exec', rest);
  b.branch(b.not(b.isZero(rest)));
}

/** All active lanes go to the target. Operand: condition, the same for all of them. */
const when = (b: PtxBuilder): void => b.branch(b.has('not') ? b.not(b.read(0)) : b.read(0));

/**
 * All lanes that have not ended are active and have the condition: nobody waits at any join, so that they may
 * go past those that stand before the target. Operands: condition, lanes that have not ended.
 */
function far(b: PtxBuilder): void {
  const condition = b.has('not') ? b.not(b.read(0)) : b.read(0);
  b.branch(b.eq(b.low(b.ballot(condition)), b.scalar(1)));
}

/** As `far`, without a condition. */
const whole = (b: PtxBuilder): void => b.branch(b.eq(b.low(exec(b)), b.scalar(0)));

/** All active lanes wait at a join. Operands: its address, row of joins. */
const wait = (b: PtxBuilder): void =>
  b.setOperand({ operand: 1, dword: 0 }, b.operand({ operand: 0, dword: 0 }, false), true);

/** Before a join: all lanes that have not ended become active. */
const gather = (b: PtxBuilder): void => b.setState('exec', mask(b, 0));

/**
 * Operands: address of the join, row of joins. Those that wait here go on; without any, the wave goes on.
 * `own`: those of this activation alone; operands: rows of activations, the one that runs.
 */
function join(b: PtxBuilder): void {
  const isHere = b.eq(b.read(1), b.operand({ operand: 0, dword: 0 }, false));
  const isOwn = b.has('own') ? b.op('i1.and', isHere, b.eq(b.read(2), b.scalar(3))) : isHere;
  const here = b.ballot(isOwn);
  b.setState('exec', here);
  b.branch(b.isZero(b.low(here)));
}

/** Active lanes end. Operand: lanes that have not ended. */
function leave(b: PtxBuilder): void {
  b.setScalar(0, b.low(b.and(mask(b, 0), b.not(exec(b)))));
  b.setState('exec', b.i64(0n));
}

/** Back as long as a row is less far from another one than a number says: in all active lanes, or in none. */
const again = (b: PtxBuilder): void => {
  const first = firstActive(b);
  b.branch(b.ltU(b.sub(b.inLane(0, first), b.inLane(1, first)), b.scalar(2)));
};

/** A kernel begins: the lanes that the emulator made active are all there are. */
const begin = (b: PtxBuilder): void => b.setScalar(0, b.low(exec(b)));

/**
 * The active lanes begin an activation. Operands: address to return to, row of these, row of activations, the
 * one that runs, how many there were.
 */
function enter(b: PtxBuilder): void {
  const number = b.add(b.scalar(4), b.i32(1));
  b.setOperand({ operand: 1, dword: 0 }, b.operand({ operand: 0, dword: 0 }, false), true);
  b.setOperand({ operand: 2, dword: 0 }, number, true);
  b.setScalar(3, number);
  b.setScalar(4, number);
}

/** The active lanes are back. Operands: row of activations, the one that runs. */
const resume = (b: PtxBuilder): void => b.setScalar(1, b.inLane(0, firstActive(b)));

/** To where the first lane points go all that point there; the others wait where they are. */
function choose(b: PtxBuilder): void {
  const [low, high] = inFirstLane(b);
  const isLow = b.eq(b.operand({ operand: 0, dword: 0 }, true), low);
  const isHigh = b.eq(b.operand({ operand: 0, dword: 1 }, true), high);
  b.setState('exec', b.ballot(b.op('i1.and', isLow, isHigh)));
}

/** A register of 64 bits in the first active lane. */
function inFirstLane(b: PtxBuilder): readonly [low: Value, high: Value] {
  const first = firstActive(b);
  return [b.readLane({ operand: 0, dword: 0 }, first), b.readLane({ operand: 0, dword: 1 }, first)];
}

/** To an address, which is the same in all active lanes. */
function jump(b: PtxBuilder): void {
  if (b.isRegister(0)) b.jump(b.pack(...inFirstLane(b)));
  else b.jump(b.pack(b.scalar(0), b.operand({ operand: 0, dword: 1 }, false)));
}

/**
 * The active lanes cannot go on. Operands: lanes that they wait for, row of these, where they go on and what
 * they wait for, row of joins.
 */
function park(b: PtxBuilder): void {
  b.setOperand({ operand: 1, dword: 0 }, b.read(0), true);
  b.setOperand({ operand: 3, dword: 0 }, b.operand({ operand: 2, dword: 0 }, false), true);
  b.exit('turn');
}

/** All active lanes are of one activation, so that they return to one place. Operand: row of addresses. */
const giveBack = (b: PtxBuilder): void => b.jump(b.pack(b.inLane(0, firstActive(b)), b.high(b.pc())));

/**
 * The wave comes to a barrier that counts: operands are its number and the count of threads, 0 for all. What
 * is written is as the emulator's named barriers read it.
 */
function meetByNumber(b: PtxBuilder): void {
  const first = firstActive(b);
  const uniform = (index: number): Value => (b.isRegister(index) ? b.inLane(index, first) : b.scalar(index));
  const [number, count] = [b.minU(uniform(0), b.i32(0xff)), b.minU(uniform(1), b.i32(0xffff))];
  const arrives = b.i32(b.has('arrive') ? 0x1_0000 : 0);
  b.setState('request', b.or(b.shl(number, 24), b.or(arrives, count)));
  b.exit('named-barrier');
}

/** Some lanes that have not ended are not here. Operand: those. */
const parted = (b: PtxBuilder): void => b.branch(b.not(b.eq(b.low(mask(b, 0)), b.low(exec(b)))));

/** The compiler makes others of it. */
const nothing = (): void => {};

const CONTROL = { className: 'control', isInternal: true } as const;
const CONDITIONAL = { ...CONTROL, control: 'conditional' } as const;

/** PTX ISA, "bar, barrier": without `.aligned` threads of a warp may come to different instructions. */
const ALIGNED_BARRIER = { className: 'control', expansion: 'barrier', meeting: { members: 'all' } } as const;
const FREE_BARRIER = { ...ALIGNED_BARRIER, meeting: { members: 'all', isAnywhere: true } } as const;
const VOTING_BARRIER = { className: 'control', expansion: 'votingBarrier' } as const;

// biome-ignore format: one row per line
export const CONTROL_ROWS: readonly PtxRow[] = [
  ptxRow('wave_begin', '', '=b32', begin, CONTROL),
  ptxRow('wave_goto', '', '->', (b) => b.branch(b.i1(true)), { ...CONTROL, control: 'branch' }),
  ptxRow('wave_split', '.not?', 'pred b32 =b32 ->', split, CONDITIONAL),
  ptxRow('wave_part', '.not?', 'pred b32 =b32', (b) => void part(b, b.has('not') ? b.not(b.read(0)) : b.read(0)), CONTROL),
  ptxRow('wave_loop', '.not?', 'pred b32 =b32 ->', loop, CONDITIONAL),
  ptxRow('wave_when', '.not?', 'pred ->', when, { ...CONDITIONAL, isOfWave: true }),
  ptxRow('wave_again', '', 'b32 b32 b32 ->', again, CONDITIONAL),
  ptxRow('wave_far', '.not?', 'pred b32 ->', far, CONDITIONAL),
  ptxRow('wave_whole', '', 'b32 ->', whole, CONDITIONAL),
  ptxRow('wave_wait', '', 'b32 =b32', wait, CONTROL),
  ptxRow('wave_gather', '', 'b32', gather, CONTROL),
  ptxRow('wave_join', '', 'b32 b32 ->', join, CONDITIONAL),
  ptxRow('wave_join', '.own', 'b32 b32 b32 b32 ->', join, CONDITIONAL),
  ptxRow('wave_more', '', 'b32 ->', (b) => b.branch(b.not(b.isZero(b.scalar(0)))), CONDITIONAL),
  ptxRow('wave_turn', '', '', (b) => b.exit('turn'), { ...CONTROL, control: 'jump' }),
  ptxRow('wave_park', '', 'b32 =b32 b32 =b32', park, { ...CONTROL, control: 'jump' }),
  ptxRow('wave_enter', '', 'b32 =b32 =b32 =b32 =b32', enter, CONTROL),
  ptxRow('wave_resume', '', 'b32 =b32', resume, CONTROL),
  ptxRow('wave_choose', '', 'b64', choose, CONTROL),
  ptxRow('wave_jump', '', 'b64', jump, { ...CONTROL, control: 'jump' }),
  ptxRow('wave_return', '', 'b32', giveBack, { ...CONTROL, control: 'return' }),
  ptxRow('wave_leave', '', '=b32', leave, CONTROL),
  ptxRow('wave_end', '', '', (b) => b.exit('end'), { ...CONTROL, control: 'end' }),
  ptxRow('wave_bar', '', '', (b) => b.exit('barrier'), CONTROL),
  ptxRow('wave_numbered', '.arrive?', 'u32 u32', meetByNumber, CONTROL),
  ptxRow('wave_nap', '', '', (b) => b.exit('sleep'), CONTROL),
  ptxRow('wave_parted', '', 'b32 ->', parted, CONDITIONAL),
  ptxRow('trap', '', '', (b) => b.exit('trap'), { className: 'control', control: 'end' }),
  ptxRow('brkpt', '', '', (b) => b.exit('trap'), { className: 'control', control: 'end' }),
  ptxRow('bra', '.uni?', '->', nothing, { className: 'control', flow: 'branch' }),
  ptxRow('brx', '.idx.uni?', 'u32 ->', nothing, { className: 'control', flow: 'indexed' }),
  ptxRow('ret', '.uni?', '', nothing, { className: 'control', flow: 'return' }),
  ptxRow('exit', '', '', nothing, { className: 'control', flow: 'exit' }),
  ptxRow('call', '.uni?', '', nothing, { className: 'control', flow: 'call' }),
  ptxRow('alloca', '.type=u32|u64', '=type type u32?', nothing, { className: 'control', expansion: 'alloca' }),
  ptxRow('stacksave', '.type=u32|u64', '=type', nothing, { className: 'control', expansion: 'stacksave' }),
  ptxRow('stackrestore', '.type=u32|u64', 'type', nothing, { className: 'control', expansion: 'stackrestore' }),
  ptxRow('pmevent', '.mask?', 'u32', nothing, { className: 'control' }),
  ptxRow('griddepcontrol', '.action=launch_dependents|wait', '', nothing, { className: 'control' }),
  ptxRow('setmaxnreg', '.action=inc|dec.sync.aligned.u32', 'u32', nothing, { className: 'control' }),
  ptxRow('nanosleep', '.u32', 'u32', nothing, { className: 'control', expansion: 'nap', looks: 'always' }),
  ptxRow('bar', '.cta?.sync', 'u32 u32?', nothing, ALIGNED_BARRIER),
  ptxRow('barrier', '.cta?.sync.aligned', 'u32 u32?', nothing, ALIGNED_BARRIER),
  ptxRow('barrier', '.cta?.sync', 'u32 u32?', nothing, FREE_BARRIER),
  ptxRow('bar', '.cta?.arrive', 'u32 u32', nothing, ALIGNED_BARRIER),
  ptxRow('barrier', '.cta?.arrive.aligned', 'u32 u32', nothing, ALIGNED_BARRIER),
  ptxRow('barrier', '.cta?.arrive', 'u32 u32', nothing, FREE_BARRIER),
  ptxRow('bar', '.cta?.red.op=popc.type=u32', '=type u32 u32? pred', nothing, VOTING_BARRIER),
  ptxRow('bar', '.cta?.red.op=and|or.type=pred', '=type u32 u32? pred', nothing, VOTING_BARRIER),
  ptxRow('barrier', '.cta?.red.op=popc.aligned?.type=u32', '=type u32 u32? pred', nothing, VOTING_BARRIER),
  ptxRow('barrier', '.cta?.red.op=and|or.aligned?.type=pred', '=type u32 u32? pred', nothing, VOTING_BARRIER),
];
