/** How scalar instructions set SCC. CDNA2 ISA 5.3, "Scalar Condition Code". */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from './instruction-builder.ts';

/** SCC = result is not zero. Returns the result. */
export function sccNonZero(b: InstructionBuilder, result: Value): Value {
  b.setScc(b.not(b.isZero(result)));
  return result;
}

/** SCC = carry or borrow out of 32 bits, for arithmetic done in 64. Returns the low half. */
export function sccCarry(b: InstructionBuilder, wide: Value): Value {
  b.setScc(b.not(b.isZero(b.high(wide))));
  return b.low(wide);
}

/** Signed sum; SCC = overflow: both signs differ from the result's. */
export function addSigned(b: InstructionBuilder, x: Value, y: Value): Value {
  const sum = b.add(x, y);
  b.setScc(b.ltS(b.and(b.xor(x, sum), b.xor(y, sum)), b.i32(0)));
  return sum;
}

/** Signed difference; SCC = overflow: the signs differ and the result's is not that of `x`. */
export function subSigned(b: InstructionBuilder, x: Value, y: Value): Value {
  const difference = b.sub(x, y);
  b.setScc(b.ltS(b.and(b.xor(x, y), b.xor(x, difference)), b.i32(0)));
  return difference;
}
