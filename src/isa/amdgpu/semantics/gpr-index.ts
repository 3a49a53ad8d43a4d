/**
 * VGPR indexing: while MODE.gpr_idx_en is set, vector instructions add M0[7:0] to the VGPR numbers of the
 * operands that M0[15:12] selects: bit 0 src0, 1 src1, 2 src2, 3 vdst. CDNA2 ISA 6.6, "VGPR Indexing". The
 * executors look at MODE and M0; these are the scalar side.
 */
import type { Value } from '../../../ir/types.ts';
import type { Instruction } from '../encoding/instruction.ts';
import type { InstructionBuilder } from './instruction-builder.ts';

export const MODE_GPR_INDEX = 1 << 27;
/** Bit 12 + i of M0 makes the VGPR number of this operand relative. */
export const GPR_INDEX_FIELDS = ['src0', 'src1', 'src2', 'vdst'] as const;

/**
 * Which of the bits of M0 counts for operand `index` where that is a VGPR: none of scalar and memory
 * instructions. Later generations use the bit of MODE for something else.
 */
export function gprIndexField(
  { row, format, target }: Instruction,
  index: number,
): (typeof GPR_INDEX_FIELDS)[number] | undefined {
  if (!format.name.startsWith('V') || !target.gprIndexMode) return undefined;
  const { field } = row.operands[index]!;
  // CDNA3 ISA 6.6.2: v_madmk multiplies with its constant, which is source 1 then.
  const isBehindConstant = row.operands.slice(0, index).some(({ type }) => type === 'literal32');
  return GPR_INDEX_FIELDS.find((name) => name === (isBehindConstant && field === 'src1' ? 'src2' : field));
}

const INDEX_BITS = 0xff;
const SELECT_BITS = 0xf000;

const replaceM0 = (b: InstructionBuilder, bits: number, value: Value): void =>
  b.setState('m0', b.or(b.and(b.state('m0'), b.i32(~bits)), b.and(value, b.i32(bits))));

export function indexOn(b: InstructionBuilder, index: Value, operands: Value): void {
  const value = b.or(b.and(index, b.i32(INDEX_BITS)), b.shl(operands, 12));
  replaceM0(b, INDEX_BITS | SELECT_BITS, value);
  b.setState('mode', b.or(b.state('mode'), b.i32(MODE_GPR_INDEX)));
}

export function indexOff(b: InstructionBuilder): void {
  b.setState('mode', b.and(b.state('mode'), b.i32(~MODE_GPR_INDEX)));
}

export const setIndex = (b: InstructionBuilder, index: Value): void => replaceM0(b, INDEX_BITS, index);

export const selectOperands = (b: InstructionBuilder, operands: Value): void =>
  replaceM0(b, SELECT_BITS, b.shl(operands, 12));
