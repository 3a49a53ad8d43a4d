/** Moves between a lane and a scalar register, and lane positions. CDNA2 ISA 12.8 and 12.11. */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';

/** Source 0 in lane `index`; the same for every lane when it is no VGPR. EXEC is not looked at. */
export function readLane(b: InstructionBuilder, source: Value, index: Value): Value {
  const operand = b.index('src0');
  return b.isVector(operand) ? b.readLane({ operand, dword: 0 }, index) : source;
}

/** The lowest lane that EXEC has on, 0 when there is none. */
export function firstLane(b: InstructionBuilder): Value {
  return b.select(b.isZero(b.exec), b.i32(0), b.op('i64.ctz', b.exec));
}

/** Number of ones of `mask` (half of a 64-bit mask) at lanes below the own one, plus `base`. */
export function countBelow(b: InstructionBuilder, half: 'low' | 'high', mask: Value, base: Value): Value {
  const lane = half === 'low' ? b.laneId() : b.maxS(b.sub(b.laneId(), b.i32(32)), b.i32(0));
  const below = b.sub(b.shl(b.i32(1), lane), b.i32(1));
  const all = half === 'low' ? b.ltU(b.i32(31), lane) : b.i1(false);
  return b.add(b.op('i32.popcnt', b.select(all, mask, b.and(mask, below))), base);
}
