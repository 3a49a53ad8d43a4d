/**
 * Moves between lanes or a lane and a scalar register, and lane positions. CDNA2 ISA 12.8 and 12.11, RDNA3
 * ISA 16.8 and 16.12.
 */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder, Semantics } from './instruction-builder.ts';

/** Source 0 in lane `index`; the same for every lane when it is no VGPR. EXEC is not looked at. */
export function readLane(b: InstructionBuilder, source: Value, index: Value): Value {
  const operand = b.index('src0');
  return b.isVector(operand) ? b.readLane({ operand, dword: 0 }, index) : source;
}

/** The lowest lane that EXEC has on, 0 when there is none. */
export function firstLane(b: InstructionBuilder): Value {
  return b.select(b.isZero(b.exec), b.i32(0), b.op('i64.ctz', b.exec));
}

/**
 * Each lane gets source 0 of the lane in the other half of a wave of 64, whether EXEC has it on or not; no
 * operation in wave32.
 */
export const swapWaveHalves: Semantics = (b) =>
  b.waveSize === 32 ? undefined : b.readFrom(b.index('src0'), b.xor(b.laneId(), b.i32(32)));

/**
 * Source 0 of a lane of the same row of 16, or of the row beside it. Sources 1 and 2 have four bits for each
 * lane of a row. op_sel has the bits fetch inactive and bound_ctrl of DPP (RDNA3 ISA, V_PERMLANE16_B32 and
 * 7.7.1).
 */
export const permuteRow =
  (other: boolean): Semantics =>
  (b, old, _source, low, high) => {
    const [fetchesInactive, boundControl] = [b.field('op_sel') & 1, b.field('op_sel') & 2];
    const position = b.and(b.laneId(), b.i32(15));
    const selects = b.select(b.ltU(position, b.i32(8)), low!, high!);
    const selected = b.and(b.shrU(selects, b.shl(b.and(position, b.i32(7)), 2)), b.i32(15));
    const row = b.and(b.laneId(), b.i32(48));
    const lane = b.or(other ? b.xor(row, b.i32(16)) : row, selected);
    const value = b.readFrom(b.index('src0'), lane);
    if (fetchesInactive) return value;
    return b.select(b.laneBit(b.exec, lane), value, boundControl ? b.i32(0) : old!);
  };

/** Number of ones of `mask` (half of a 64-bit mask) at lanes below the own one, plus `base`. */
export function countBelow(b: InstructionBuilder, half: 'low' | 'high', mask: Value, base: Value): Value {
  const lane = half === 'low' ? b.laneId() : b.maxS(b.sub(b.laneId(), b.i32(32)), b.i32(0));
  const below = b.sub(b.shl(b.i32(1), lane), b.i32(1));
  const all = half === 'low' ? b.ltU(b.i32(31), lane) : b.i1(false);
  return b.add(b.op('i32.popcnt', b.select(all, mask, b.and(mask, below))), base);
}
