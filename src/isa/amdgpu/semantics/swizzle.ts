/** The lane patterns of ds_swizzle_b32: CDNA2 ISA 12.12.1. */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from './instruction-builder.ts';

/** Lanes of a group that patterns cannot leave. */
const GROUP_MASK = 31;
const ROTATE = 0xc000;
const FFT = 0xe000;
const QUAD = 0x8000;

/** j = ((i & and) | or) ^ xor. */
function bitMasks(b: InstructionBuilder, lane: Value, pattern: Value): Value {
  const [and, or, xor] = [b.bits(pattern, 0, 5), b.bits(pattern, 5, 5), b.bits(pattern, 10, 5)];
  return b.xor(b.or(b.and(lane, and), or), xor);
}

/** Two bits of the pattern for each lane of four. */
function quad(b: InstructionBuilder, lane: Value, pattern: Value): Value {
  const position = b.and(lane, b.i32(3));
  const chosen = b.and(b.shrU(pattern, b.shl(position, 1)), b.i32(3));
  return b.or(b.and(lane, b.i32(GROUP_MASK & ~3)), chosen);
}

/** Rotation by bits 5..9, to the right with bit 10, of the lane bits that the mask in bits 0..4 leaves. */
function rotate(b: InstructionBuilder, lane: Value, pattern: Value): Value {
  const mask = b.bits(pattern, 0, 5);
  const amount = b.bits(pattern, 5, 5);
  const signed = b.select(b.isZero(b.bits(pattern, 10, 1)), amount, b.neg(amount));
  return b.or(b.and(lane, mask), b.and(b.add(lane, signed), b.xor(mask, b.i32(GROUP_MASK))));
}

/** Bit reversal of the lane bits that the mask leaves. */
function butterfly(b: InstructionBuilder, lane: Value, pattern: Value): Value {
  const mask = b.bits(pattern, 0, 5);
  const reversed = [0, 1, 2, 3, 4]
    .map((bit) => b.shl(b.bits(lane, bit, 1), 4 - bit))
    .reduce((all, bit) => b.or(all, bit));
  return b.or(b.shrU(reversed, b.op('i32.popcnt', mask)), b.and(lane, mask));
}

/** Lane that each lane reads, for the 16-bit pattern of the instruction's offset fields. */
export function ldsSwizzleSource(b: InstructionBuilder, pattern: Value): Value {
  const lane = b.laneId();
  const below = (limit: number): Value => b.ltU(pattern, b.i32(limit));
  const inGroup = b.select(
    below(QUAD),
    bitMasks(b, lane, pattern),
    b.select(
      below(ROTATE),
      quad(b, lane, pattern),
      b.select(below(FFT), rotate(b, lane, pattern), butterfly(b, lane, pattern)),
    ),
  );
  return b.or(b.and(inGroup, b.i32(GROUP_MASK)), b.and(lane, b.i32(~GROUP_MASK)));
}
