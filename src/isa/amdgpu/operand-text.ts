/** How LLVM spells operands: registers, constants, source modifiers. */
import { SRC_LITERAL } from './formats.ts';
import type { Instruction } from './instruction.ts';
import { inlineConstant, scalarText, vgprText } from './registers.ts';
import { isFloat, type OperandSpec, type OperandType } from './row.ts';

const FLOAT_TEXT: Readonly<Record<number, string>> = {
  240: '0.5', 241: '-0.5', 242: '1.0', 243: '-1.0', 244: '2.0', 245: '-2.0', 246: '4.0', 247: '-4.0', 248: '0.15915494',
};
const INV_2PI_F64_TEXT = '0.15915494309189532';

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

/** Signed, as offsets of scalar accesses are written. */
export const hexOffset = (value: number): string => (value < 0 ? `-${hex(-value)}` : hex(value));

type Width = 16 | 32 | 64;
const INTEGER_16 = /^[bui]16$/;

const widthOf = (type: OperandType): Width => (INTEGER_16.test(type) || type === 'f16' ? 16 : /64$|^mask$/.test(type) ? 64 : 32);

/**
 * A constant as a number where the hardware has it inline, as a hexadecimal literal otherwise. `value` is what the source reads; a
 * literal that has the value of an inline constant looks like that constant.
 */
export function constantText(value: bigint, type: OperandType): string {
  const width = widthOf(type);
  const signed = BigInt.asIntN(width, value);
  if (signed >= -16n && signed <= 64n) return String(signed);
  const bits = BigInt.asUintN(width, value);
  if (INTEGER_16.test(type)) return hex(bits);
  const float = Object.keys(FLOAT_TEXT).find((encoding) => inlineConstant(Number(encoding), type) === bits);
  if (float !== undefined) return width === 64 && float === '248' ? INV_2PI_F64_TEXT : FLOAT_TEXT[Number(float)]!;
  return hex(type === 'f64' ? bits >> 32n : bits);
}

/** A literal of an integer shows all its 32 bits, however many the instruction takes and with whatever sign. */
export function literalText(literal: number, type: OperandType): string {
  if (type === 'f64') return constantText(BigInt(literal) << 32n, type);
  return constantText(BigInt(literal), INTEGER_16.test(type) ? 'b32' : type);
}

/** Operand `index` without modifiers. */
function plainText(instruction: Instruction, index: number): string {
  const operand = instruction.operand(index);
  const spec = instruction.row.operands[index]!;
  const dwords = instruction.dwords(index);
  switch (operand.kind) {
    case 'off':
      return 'off';
    case 'vector':
      return vgprText(operand.register, dwords, operand.accumulator);
    case 'scalar':
    case 'special':
      return scalarText(instruction.encoded(index), dwords) ?? `<${instruction.encoded(index)}>`;
    case 'constant': {
      const isLiteral = instruction.encoded(index) === SRC_LITERAL;
      return isLiteral ? literalText(instruction.literal!, spec.type) : constantText(operand.value, spec.type);
    }
  }
}

/** abs, neg and sext around a source, wherever the encoding keeps them. */
function modified(instruction: Instruction, spec: OperandSpec, text: string): string {
  const source = ['src0', 'src1', 'src2'].indexOf(spec.field);
  if (source < 0) return text;
  if (instruction.field(`${spec.field}_sext`)) return `sext(${text})`;
  const packed = instruction.format.name === 'VOP3P';
  if (packed || !(isFloat(spec.type) || instruction.has('dpp_ctrl') || instruction.has('src0_sel'))) return text;
  const abs = (instruction.field('abs') >> source) & 1 || instruction.field(`${spec.field}_abs`);
  const neg = (instruction.field('neg') >> source) & 1 || instruction.field(`${spec.field}_neg`);
  const magnitude = abs ? `|${text}|` : text;
  return neg ? `-${magnitude}` : magnitude;
}

export function operandText(instruction: Instruction, index: number): string {
  return modified(instruction, instruction.row.operands[index]!, plainText(instruction, index));
}
