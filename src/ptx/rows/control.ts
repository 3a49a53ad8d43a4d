/**
 * How waves go on. Lanes of a wave that part at a branch run one group after the other: those of the side
 * that comes first in the code go on, the others wait at a *join*, a place that the compiler of PTX numbered
 * and put so that all that leads there stands before it. `join` of a lane says at which one it waits.
 */
import type { Value } from '../../ir/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

const exec = (b: PtxBuilder): Value => b.state('exec');
const mask = (b: PtxBuilder, index: number): Value => b.zext64(b.scalar(index));

/**
 * Operands: condition, whether its opposite counts, number of the join, row of joins. Lanes where the
 * condition holds wait at the join; where that is all, the wave goes on at the target.
 */
function split(b: PtxBuilder): void {
  const condition = b.has('not') ? b.not(b.read(0)) : b.read(0);
  b.setOperand({ operand: 2, dword: 0 }, b.operand({ operand: 1, dword: 0 }, false), true, condition);
  const rest = b.and(exec(b), b.not(b.ballot(condition)));
  b.setState('exec', b.and(rest, b.i64(0xffffffffn)));
  b.branch(b.isZero(b.low(rest)));
}

/** As `split`, but the wave goes on at the target unless all lanes wait: for branches back. */
function loop(b: PtxBuilder): void {
  const condition = b.has('not') ? b.not(b.read(0)) : b.read(0);
  b.setOperand({ operand: 2, dword: 0 }, b.operand({ operand: 1, dword: 0 }, false), true, b.not(condition));
  const rest = b.ballot(condition);
  b.setState('exec', rest);
  b.branch(b.not(b.isZero(b.low(rest))));
}

/** All active lanes wait at a join. Operands: its number, row of joins. */
const wait = (b: PtxBuilder): void =>
  b.setOperand({ operand: 1, dword: 0 }, b.operand({ operand: 0, dword: 0 }, false), true);

/** Before a join: all lanes of the activation that have not ended become active. */
const gather = (b: PtxBuilder): void => b.setState('exec', b.and(mask(b, 0), mask(b, 1)));

/** Operands: number of the join, row of joins. Those that wait here go on; without any, the wave goes on. */
function join(b: PtxBuilder): void {
  const here = b.ballot(b.eq(b.read(1), b.operand({ operand: 0, dword: 0 }, false)));
  b.setState('exec', here);
  b.branch(b.isZero(b.low(here)));
}

/** Active lanes end. Operand: lanes that have not ended. */
function leave(b: PtxBuilder): void {
  b.setScalar(0, b.low(b.and(mask(b, 0), b.not(exec(b)))));
  b.setState('exec', b.i64(0n));
}

/** A kernel begins: the lanes that the emulator made active are all there are. */
function begin(b: PtxBuilder): void {
  const low = b.low(exec(b));
  b.setScalar(0, low);
  b.setScalar(1, low);
}

/** Some lanes that have not ended are not here. Operand: those. */
const parted = (b: PtxBuilder): void => b.branch(b.not(b.eq(b.low(mask(b, 0)), b.low(exec(b)))));

/** The compiler makes others of it. */
const nothing = (): void => {};

const CONTROL = { className: 'control', isInternal: true } as const;
const CONDITIONAL = { ...CONTROL, control: 'conditional' } as const;

// biome-ignore format: one row per line
export const CONTROL_ROWS: readonly PtxRow[] = [
  ptxRow('wave_begin', '', '=b32 =b32', begin, CONTROL),
  ptxRow('wave_goto', '', '->', (b) => b.branch(b.i1(true)), { ...CONTROL, control: 'branch' }),
  ptxRow('wave_split', '.not?', 'pred b32 =b32 ->', split, CONDITIONAL),
  ptxRow('wave_loop', '.not?', 'pred b32 =b32 ->', loop, CONDITIONAL),
  ptxRow('wave_wait', '', 'b32 =b32', wait, CONTROL),
  ptxRow('wave_gather', '', 'b32 b32', gather, CONTROL),
  ptxRow('wave_join', '', 'b32 b32 ->', join, CONDITIONAL),
  ptxRow('wave_leave', '', '=b32', leave, CONTROL),
  ptxRow('wave_end', '', '', (b) => b.exit('end'), { ...CONTROL, control: 'end' }),
  ptxRow('wave_bar', '', '', (b) => b.exit('barrier'), CONTROL),
  ptxRow('wave_nap', '', '', (b) => b.exit('sleep'), CONTROL),
  ptxRow('wave_parted', '', 'b32 ->', parted, CONDITIONAL),
  ptxRow('trap', '.parted?', '', (b) => b.exit('trap'), { className: 'control', control: 'end' }),
  ptxRow('brkpt', '', '', (b) => b.exit('trap'), { className: 'control', control: 'end' }),
  ptxRow('bra', '.uni?', '->', nothing, { className: 'control', flow: 'branch' }),
  ptxRow('brx', '.idx.uni?', 'u32 ->', nothing, { className: 'control', flow: 'indexed' }),
  ptxRow('ret', '.uni?', '', nothing, { className: 'control', flow: 'return' }),
  ptxRow('exit', '', '', nothing, { className: 'control', flow: 'exit' }),
  ptxRow('call', '.uni?', '', nothing, { className: 'control', flow: 'call' }),
  ptxRow('nanosleep', '.u32', 'u32', nothing, { className: 'control', expansion: 'nap' }),
  ptxRow('bar', '.sync', 'u32', nothing, { className: 'control', expansion: 'barrier', meeting: 'all' }),
  ptxRow('barrier', '.sync.aligned?', 'u32', nothing, { className: 'control', expansion: 'barrier', meeting: 'all' }),
  ptxRow('bar', '.cta.sync', 'u32', nothing, { className: 'control', expansion: 'barrier', meeting: 'all' }),
  ptxRow('barrier', '.cta.sync.aligned?', 'u32', nothing, { className: 'control', expansion: 'barrier', meeting: 'all' }),
];
