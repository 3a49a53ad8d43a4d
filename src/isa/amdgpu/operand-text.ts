/** How LLVM spells operands: registers, constants, source modifiers. */
import { SRC_LITERAL } from './formats.ts';
import type { Instruction } from './instruction.ts';
import { inlineConstant, scalarText, vgprText } from './registers.ts';
import { isFloat, type OperandSpec, type OperandType } from './row.ts';

const FLOAT_TEXT: Readonly<Record<number, string>> = {
  240: '0.5',
  241: '-0.5',
  242: '1.0',
  243: '-1.0',
  244: '2.0',
  245: '-2.0',
  246: '4.0',
  247: '-4.0',
  248: '0.15915494',
};
const INV_2PI_F64_TEXT = '0.15915494309189532';

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

/** Signed, as offsets of scalar accesses are written. */
export const hexOffset = (value: number): string => (value < 0 ? `-${hex(-value)}` : hex(value));

type Width = 16 | 32 | 64;
const INTEGER_16 = /^[bui]16$/;

const widthOf = (type: OperandType): Width =>
  INTEGER_16.test(type) || type === 'f16' ? 16 : /64$|^mask$/.test(type) ? 64 : 32;

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

/** Literals have 32 bits, which an integer type does not interpret; only what hexadecimal shows is cut to 16 bits. */
export function literalText(literal: number, type: OperandType): string {
  if (type === 'f64') return constantText(BigInt(literal) << 32n, type);
  if (!INTEGER_16.test(type)) return constantText(BigInt(literal), type);
  const text = constantText(BigInt(literal), 'b32');
  return text.startsWith('0x') ? hex(literal & 0xffff) : text;
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

interface SourceModifiers {
  readonly abs: boolean;
  readonly neg: boolean;
  readonly sext: boolean;
}

const NO_MODIFIERS: SourceModifiers = { abs: false, neg: false, sext: false };

/** Wherever the encoding keeps them. Mixed-precision operations have abs in neg_hi; other packed ones have none on the source. */
function sourceModifiers(instruction: Instruction, { field, type }: OperandSpec): SourceModifiers {
  const source = ['src0', 'src1', 'src2'].indexOf(field);
  const isPacked = instruction.format.name === 'VOP3P';
  if (source < 0 || (isPacked && !isMixed(instruction))) return NO_MODIFIERS;
  const bit = (name: string): boolean => ((instruction.field(name) >> source) & 1) === 1;
  const own = (name: string): boolean => instruction.field(`${field}_${name}`) === 1;
  const neg = bit('neg') || own('neg');
  if (isPacked) return { abs: bit('neg_hi'), neg, sext: false };
  if (isFloat(type)) return { abs: bit('abs') || own('abs'), neg, sext: own('sext') };
  // The integer among floats, an exponent say, is sign-extended by the same bit.
  const amongFloats = instruction.row.operands.some((spec) => spec.field.startsWith('src') && isFloat(spec.type));
  return { abs: false, neg: false, sext: own('sext') || (neg && amongFloats) };
}

export const isMixed = ({ row }: Instruction): boolean => /^v_(fma|mad)_mix/.test(row.name);

export function operandText(instruction: Instruction, index: number): string {
  const { abs, neg, sext } = sourceModifiers(instruction, instruction.row.operands[index]!);
  const text = plainText(instruction, index);
  if (sext) return `sext(${text})`;
  if (neg && !abs && instruction.operand(index).kind === 'constant') return `neg(${text})`;
  return `${neg ? '-' : ''}${abs ? `|${text}|` : text}`;
}
