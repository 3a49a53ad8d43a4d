/** How LLVM spells operands: registers, constants, source modifiers. */

import { hex } from '../../../base/text.ts';
import type { Draft } from '../encoding/encode.ts';
import { generationOf, SRC_LITERAL } from '../encoding/formats.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { inlineConstant, scalarText, vgprText } from '../encoding/registers.ts';
import { byType, is16Bit, isFloat, type OperandSpec, type OperandType } from '../encoding/row.ts';

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
const SRC_INV_2PI = 248;
const INV_2PI_F64_TEXT = '0.15915494309189532';

/** Signed, as offsets of scalar accesses are written. */
export const hexOffset = (value: number): string => (value < 0 ? `-${hex(-value)}` : hex(value));

type Width = 16 | 32 | 64;
const INTEGER_16 = /^[bui]16$/;

/** b256: the accumulator of v_mfma_f64_16x16x4_f64. */
const widthOf = byType(
  (type): Width =>
    INTEGER_16.test(type) || type === 'f16' || type === 'bf16'
      ? 16
      : /^(?!wave).*64$|^mask$|^b256$/.test(type)
        ? 64
        : 32,
);

/**
 * A constant as a number where the hardware has it inline, as a hexadecimal literal otherwise. `value` is
 * what the source reads; a literal that has the value of an inline constant looks like that constant.
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

/** A literal for two bf16: the name of the float of which it is the high half. */
function brainFloatText(literal: number): string {
  const signed = literal | 0;
  if (signed >= -16 && signed <= 64) return String(signed);
  const float = Object.keys(FLOAT_TEXT).find(
    (encoding) => Number(inlineConstant(Number(encoding), 'f32')! >> 16n) === literal,
  );
  return float === undefined ? hex(literal) : FLOAT_TEXT[Number(float)]!;
}

/**
 * Literals have 32 bits, which an integer type does not interpret; only what hexadecimal shows is cut to 16
 * bits.
 */
export function literalText(literal: number, type: OperandType): string {
  if (type === 'f64') return constantText(BigInt(literal) << 32n, type);
  if (type === 'v2bf16') return brainFloatText(literal);
  if (!INTEGER_16.test(type)) return constantText(BigInt(literal), type);
  const text = constantText(BigInt(literal), 'b32');
  return text.startsWith('0x') ? hex(literal & 0xffff) : text;
}

/** The half of a register, where the encoding's number of the register includes it. */
function halfText(instruction: Instruction, index: number): string {
  if (!instruction.namesHalf(index)) return '';
  if (instruction.isHighHalf(index)) return '.h';
  return instruction.row.flags.spellsHalves ? '.l' : '';
}

/** Operand `index` without modifiers. */
function plainText(instruction: Instruction, index: number): string {
  const operand = instruction.operand(index);
  const spec = instruction.row.operands[index]!;
  const dwords = instruction.dwords(index);
  switch (operand.kind) {
    case 'off':
      return spec.field === 'soffset' ? 'null' : 'off';
    case 'vector':
      return vgprText(operand.register, dwords, operand.accumulator) + halfText(instruction, index);
    case 'scalar':
    case 'null':
    case 'special':
      return scalarText(instruction.encoded(index), dwords, instruction.scalars) ?? `<${instruction.encoded(index)}>`;
    case 'constant': {
      const isLiteral = instruction.encoded(index) === SRC_LITERAL;
      if (isLiteral) {
        const literal = instruction.literal!;
        return isWideMatrix(instruction) ? hex(literal) : literalText(literal, literalType(instruction, spec.type));
      }
      if (isWideConstant(instruction, index)) return INV_2PI_F64_TEXT;
      return constantText(operand.value, constantType(instruction, spec.type));
    }
  }
}

export interface SourceModifiers {
  readonly abs: boolean;
  readonly neg: boolean;
  readonly sext: boolean;
}

const NO_MODIFIERS: SourceModifiers = { abs: false, neg: false, sext: false };

/**
 * Wherever the encoding keeps them. Mixed-precision operations have abs in neg_hi; other packed ones have
 * none on the source.
 */
export function sourceModifiers(instruction: Instruction, { field, type }: OperandSpec): SourceModifiers {
  const hasOwn = instruction.format.name.includes('_');
  if (!hasOwn && (instruction.field('neg') | instruction.field('abs') | instruction.field('neg_hi')) === 0) {
    return NO_MODIFIERS;
  }
  const source = ['src0', 'src1', 'src2'].indexOf(field);
  const isPacked = instruction.format.name.startsWith('VOP3P');
  if (source < 0 || (isPacked && !instruction.row.flags.mixed)) return NO_MODIFIERS;
  const bit = (name: string): boolean => ((instruction.field(name) >> source) & 1) === 1;
  const own = (name: string): boolean => instruction.field(`${field}_${name}`) === 1;
  const neg = bit('neg') || own('neg');
  if (isPacked) return { abs: bit('neg_hi'), neg, sext: false };
  if (isFloat(type)) return { abs: bit('abs') || own('abs'), neg, sext: own('sext') };
  // Where halves have names, LLVM writes a 16-bit exponent in VOP3 as a float.
  const { format, families } = instruction;
  if (isExponent16(instruction, type) && generationOf(families).namesHalves && format.name.startsWith('VOP3')) {
    return { abs: bit('abs') || own('abs'), neg, sext: false };
  }
  return { abs: false, neg: false, sext: own('sext') || (neg && signExtends(instruction)) };
}

/**
 * Integers that `neg` sign-extends: one among floats, an exponent say, and those whose halves op_sel chooses
 * behind DPP.
 */
function signExtends(instruction: Instruction): boolean {
  const { format, flags, operands } = instruction.row;
  if (isAmongFloats(instruction)) return flags.opSelText !== 'four';
  const choosesHalves = (format === 'VOP3' && flags.opSelText !== 'none') || flags.spellsHalves === true;
  return instruction.hasDpp && choosesHalves && operands.some(({ field, type }) => field === 'src0' && is16Bit(type));
}

/** The inverse of `sourceModifiers`. False when the encoding has no place for them. */
export function setSourceModifiers(draft: Draft, spec: OperandSpec, wanted: SourceModifiers): boolean {
  const source = ['src0', 'src1', 'src2'].indexOf(spec.field);
  const set = (name: string): void => {
    const shared = name === 'abs' && draft.format.name.startsWith('VOP3P') ? 'neg_hi' : name;
    if (draft.has(`${spec.field}_${name}`)) draft.set(`${spec.field}_${name}`, 1);
    else if (source >= 0 && draft.has(shared)) draft.set(shared, draft.field(shared) | (1 << source));
  };
  if (wanted.abs) set('abs');
  if (wanted.neg) set('neg');
  // The integer among floats has it in the sign of the source where there is no bit of its own.
  if (wanted.sext) set(draft.has(`${spec.field}_sext`) ? 'sext' : 'neg');
  const { abs, neg, sext } = sourceModifiers(draft, spec);
  return abs === wanted.abs && neg === wanted.neg && sext === wanted.sext;
}

const isAmongFloats = ({ row }: Instruction): boolean =>
  row.operands.some(({ field, type }) => field.startsWith('src') && isFloat(type));

/** Its constants are those of the floats beside it. */
const isExponent16 = (instruction: Instruction, type: OperandType): boolean =>
  type === 'i16' && isAmongFloats(instruction);

/** LLVM takes constants in place of gfx11's matrices in wave32 for 64-bit ones. */
const isWideMatrix = ({ row, waveSize }: Instruction): boolean =>
  waveSize === 32 && row.flags.wideConstants !== undefined;
const isWideConstant = (instruction: Instruction, index: number): boolean =>
  instruction.encoded(index) === SRC_INV_2PI &&
  isWideMatrix(instruction) &&
  instruction.row.flags.wideConstants === 'all';

/** The type as which LLVM prints inline constants of a source, where that is another. */
function constantType(instruction: Instruction, type: OperandType): OperandType {
  if (isExponent16(instruction, type)) return 'f16';
  if (type !== 'f16') return type;
  return instruction.format.name === 'SOPC' ? 'b16' : (instruction.row.flags.constantTypes?.inline ?? type);
}

/** The type as which LLVM prints literals of a source, where that is another. */
function literalType(instruction: Instruction, type: OperandType): OperandType {
  const { name: format } = instruction.format;
  if (type === 'f16' && (format === 'SOP1' || format === 'SOPC')) return format === 'SOP1' ? 'b32' : 'b16';
  const { flags, operands } = instruction.row;
  if (flags.mixed || isExponent16(instruction, type)) return 'f16';
  if (type.startsWith('wave')) return 'f32';
  if (type === 'f16' && flags.constantTypes) return flags.constantTypes.literal;
  if (type === 'bf16') return 'v2bf16';
  // VOPD with a constant of its own in the other half.
  return type === 'v2f16' && operands.some((spec) => spec.type === 'literal32') ? 'f32' : type;
}

export function operandText(instruction: Instruction, index: number): string {
  const { abs, neg, sext } = sourceModifiers(instruction, instruction.row.operands[index]!);
  const text = plainText(instruction, index);
  if (sext) return `sext(${text})`;
  if (neg && !abs && instruction.operand(index).kind === 'constant') return `neg(${text})`;
  return `${neg ? '-' : ''}${abs ? `|${text}|` : text}`;
}
