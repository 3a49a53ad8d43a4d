/**
 * Elements of packed operands. CDNA2 ISA 6.7 and 13.3.6: op_sel chooses the half that the low result reads,
 * op_sel_hi the one for the high result; neg and neg_hi negate them. Outside VOP3P the halves stand in order.
 */
import { WavewrightError } from '../../../base/errors.ts';
import type { FloatBuilder } from '../../../ir/float-builder.ts';
import type { Value } from '../../../ir/types.ts';
import { SRC_LITERAL } from '../encoding/formats.ts';
import type { InstructionBuilder } from './instruction-builder.ts';

/** For the low and for the high result. */
export type Pair = readonly [Value, Value];

const sourceNumber = (field: string): number => ['src0', 'src1', 'src2'].indexOf(field);

/** Whether source `field` gives its high element to the low result, to the high result. */
function selects(b: InstructionBuilder, field: string): readonly [boolean, boolean] {
  const source = sourceNumber(field);
  if (source < 0 || !b.instruction.has('op_sel_hi')) return [false, true];
  const forHigh = b.field('op_sel_hi') | (b.field('op_sel_hi_2') << 2);
  return [((b.field('op_sel') >> source) & 1) === 1, ((forHigh >> source) & 1) === 1];
}

function negated(b: InstructionBuilder, f: FloatBuilder, field: string, [low, high]: Pair): Pair {
  const source = sourceNumber(field);
  if (source < 0) return [low, high];
  if (!b.instruction.has('neg_hi')) {
    const modifiers =
      ((b.field('abs') | b.field('neg')) >> source) & 1 || b.field(`${field}_abs`) || b.field(`${field}_neg`);
    if (!modifiers) return [low, high];
    throw new WavewrightError(
      'UNSUPPORTED',
      `unsupported instruction '${b.instruction.row.name}' with a source modifier`,
    );
  }
  const isNegated = (name: string): boolean => ((b.field(name) >> source) & 1) === 1;
  return [isNegated('neg') ? f.neg(low) : low, isNegated('neg_hi') ? f.neg(high) : high];
}

/**
 * Whether a source is an inline constant that gfx11 takes for both halves where op_sel does not choose (RDNA3
 * ISA 7.2.1 and 7.5.1, LLVM's isPKFMACF16InlineConstant).
 */
function isReplicated(b: InstructionBuilder, { leaf }: Value): boolean {
  if (leaf.kind !== 'operand' || b.instruction.has('op_sel_hi') || !b.instruction.target.repeatsPackedConstants)
    return false;
  const { operand } = leaf.at;
  return b.instruction.operand(operand).kind === 'constant' && b.instruction.encoded(operand) !== SRC_LITERAL;
}

/** The halves of a dword that is operand `field`, as zero-extended bits. */
export function packedBits(b: InstructionBuilder, field: string, dword: Value): Pair {
  if (isReplicated(b, dword)) return [b.bits(dword, 0, 16), b.bits(dword, 0, 16)];
  const [low, high] = selects(b, field).map((isHigh) => b.bits(dword, isHigh ? 16 : 0, 16));
  return [low!, high!];
}

export function packedF16(b: InstructionBuilder, field: string, dword: Value): Pair {
  return negated(b, b.f16, field, packedBits(b, field, dword));
}

/** As `packedF16`. Both elements of a constant are the high half of an f32 (RDNA3 ISA 7.5.1). */
export function packedBf16(b: InstructionBuilder, field: string, dword: Value): Pair {
  const isConstant = b.instruction.operand(b.index(field)).kind === 'constant';
  const high = b.bits(dword, 16, 16);
  return negated(b, b.f16, field, isConstant ? [high, high] : packedBits(b, field, dword));
}

/** The dwords of a 64-bit operand. */
export function packedDwords(b: InstructionBuilder, field: string, pair: Value): Pair {
  const [low, high] = selects(b, field).map((isHigh) => (isHigh ? b.high(pair) : b.low(pair)));
  return [low!, high!];
}

export function packedF32(b: InstructionBuilder, field: string, pair: Value): Pair {
  return negated(b, b.f32, field, packedDwords(b, field, pair));
}
