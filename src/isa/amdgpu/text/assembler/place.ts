/** Puts operands of the text into the fields of a draft. */
import type { Draft } from '../../encoding/encode.ts';
import { generationOf, SRC_LITERAL } from '../../encoding/formats.ts';
import { LITERAL_SOURCES } from '../../encoding/instruction.ts';
import { is16Bit, isImmediate, type OperandSpec } from '../../encoding/row.ts';
import { setSourceModifiers } from '../operand-text.ts';
import type { Expression } from '../reader/expression.ts';
import { encodeConstant, floatBits } from './constant.ts';
import type { OperandValue, ParsedOperand } from './operand.ts';

/** What an expression that is not known yet stands for. */
export interface Fixup {
  /** The literal behind the encoding, or the 16-bit distance of a branch, in dwords. */
  readonly kind: 'literal' | 'branch';
  readonly expression: Expression;
}

/** What the operands add to the encoding. */
export interface Placement {
  literal: number | undefined;
  fixup: Fixup | undefined;
}

const WRONG = 'invalid operand for instruction';

/** Places operand `index`. Returns why it cannot be. */
export function placeOperand(
  draft: Draft,
  index: number,
  parsed: ParsedOperand,
  placement: Placement,
): string | undefined {
  const spec = draft.row.operands[index]!;
  const error = isImmediate(spec.type)
    ? placeImmediate(draft, spec, parsed.value, placement)
    : placeSource(draft, index, parsed.value, placement);
  if (error !== undefined) return error;
  if (!parsed.abs && !parsed.neg && !parsed.sext) return undefined;
  return setSourceModifiers(draft, spec, parsed) ? undefined : 'this operand cannot have modifiers';
}

const IMMEDIATE_LOW = -(2 ** 15);
const IMMEDIATE_HIGH = 2 ** 16 - 1;

function immediateLimits(draft: Draft, spec: OperandSpec): readonly [low: number, high: number] {
  const { type, field } = spec;
  if (type === 'simm21') return draft.immediateRange(spec);
  return type === 'label' || field === 'simm16'
    ? [IMMEDIATE_LOW, IMMEDIATE_HIGH]
    : [0, 2 ** Number(type.replace(/\D+/, '')) - 1];
}

function placeImmediate(
  draft: Draft,
  spec: OperandSpec,
  value: OperandValue,
  placement: Placement,
): string | undefined {
  if (spec.type === 'literal32') return placeMandatoryLiteral(draft, value, placement);
  if (value.kind === 'expression' && spec.type === 'label') {
    placement.fixup = { kind: 'branch', expression: value.expression };
    return undefined;
  }
  if (value.kind === 'expression') return 'expected an absolute expression';
  if (value.kind !== 'integer') return WRONG;
  const [low, high] = immediateLimits(draft, spec);
  if (value.value < low || value.value > high) return `expected a number from ${low} to ${high}`;
  draft.set(spec.field, Number(value.value));
  return undefined;
}

/** A literal that is not the value of a source field: of the width of the operation, and never inline. */
function placeMandatoryLiteral(draft: Draft, value: OperandValue, placement: Placement): string | undefined {
  if (value.kind === 'expression') return placeLiteral(placement, { expression: value.expression });
  const bits = draft.row.operands.some(({ type }) => type === 'f16') ? 16 : 32;
  if (value.kind === 'float') {
    const number = floatBits(value.value, bits);
    return number === undefined ? WRONG : placeLiteral(placement, { number: Number(number) });
  }
  const isNumber =
    value.kind === 'integer' && value.value >= -(2n ** BigInt(bits - 1)) && value.value < 2n ** BigInt(bits);
  return isNumber ? placeLiteral(placement, { number: Number(BigInt.asUintN(32, value.value)) }) : WRONG;
}

function placeLiteral(
  placement: Placement,
  literal: { readonly number: number } | { readonly expression: Expression },
): string | undefined {
  const isFirst = placement.literal === undefined;
  if ('expression' in literal) {
    if (!isFirst) return 'only one unique literal operand is allowed';
    placement.literal = 0;
    placement.fixup = { kind: 'literal', expression: literal.expression };
    return undefined;
  }
  if (!isFirst && (placement.fixup || placement.literal !== literal.number)) {
    return 'only one unique literal operand is allowed';
  }
  placement.literal = literal.number;
  return undefined;
}

function placeSource(draft: Draft, index: number, value: OperandValue, placement: Placement): string | undefined {
  const spec = draft.row.operands[index]!;
  switch (value.kind) {
    case 'vector':
      return placeVector(draft, index, value);
    case 'scalar':
      return placeScalar(draft, index, value);
    case 'off':
      return placeOff(draft, index);
    case 'spelled':
      return WRONG;
    default: {
      if (!takesConstants(draft, spec)) return WRONG;
      // Beside the constant of the other half, a pair of halves that is no small integer is that constant.
      const sharesLiteral = spec.type === 'v2f16' && draft.row.operands.some(({ type }) => type === 'literal32');
      const type = sharesLiteral ? 'b32' : spec.type;
      const constant = value.kind === 'expression' ? undefined : encodeConstant(value, type);
      if (value.kind !== 'expression' && !constant) return WRONG;
      if (constant?.kind === 'inline') return setSource(draft, index, constant.encoding);
      if (!takesLiterals(draft, spec)) return 'literal operands are not supported';
      if (value.kind === 'expression' && draft.dwords(index) > 1) return 'expected an absolute expression';
      return (
        setSource(draft, index, SRC_LITERAL) ??
        placeLiteral(
          placement,
          constant ? { number: constant.value } : { expression: (value as { expression: Expression }).expression },
        )
      );
    }
  }
}

/**
 * Constants stand where the encoding has a register number of 8 or 9 bits that is not that of a VGPR alone.
 */
function takesConstants(draft: Draft, { field, access, file }: OperandSpec): boolean {
  if (access !== 'read' || file === 'vector' || file === 'accumulator') return false;
  const width = draft.located(field)?.width;
  if (draft.format.name === 'VOP3P_MAI') return field === 'src2';
  return width !== undefined && width !== 7 && width !== 5 && width !== 6;
}

function takesLiterals(draft: Draft, { field }: OperandSpec): boolean {
  const { format, families } = draft;
  const hasRoom =
    format.sizeBytes === 4 || (generationOf(families).wideLiterals && /^VOP(3|3B|3P|D)$/.test(format.name));
  const located = draft.located(field);
  return hasRoom && LITERAL_SOURCES.has(field) && located !== undefined && draft.isSource(located);
}

/** A scalar register or a constant as a source; a source of 8 bits of SDWA says so in a bit of its own. */
function setSource(draft: Draft, index: number, encoding: number): string | undefined {
  const { field } = draft.row.operands[index]!;
  if (draft.format.name.startsWith('V') && draft.located(field)?.width === 8 && /^src\d$/.test(field)) {
    if (!draft.has(`${field}_sgpr`)) return WRONG;
    draft.set(`${field}_sgpr`, 1);
  }
  return draft.setEncoded(index, encoding) ? undefined : WRONG;
}

function placeScalar(
  draft: Draft,
  index: number,
  { encoding, count }: Extract<OperandValue, { kind: 'scalar' }>,
): string | undefined {
  const { field, file } = draft.row.operands[index]!;
  if (file === 'vector' || file === 'accumulator') return WRONG;
  // Another destination than VCC.
  if (field === 'sdst' && draft.has('sdst_en') && encoding !== 106) draft.set('sdst_en', 1);
  if (encoding >= 128 && !takesConstants(draft, draft.row.operands[index]!)) return WRONG;
  const error = setSource(draft, index, encoding);
  if (error !== undefined) return error;
  return count !== undefined && count !== draft.dwords(index) ? WRONG : undefined;
}

function placeVector(
  draft: Draft,
  index: number,
  { accumulator, first, high }: Extract<OperandValue, { kind: 'vector' }>,
): string | undefined {
  const spec = draft.row.operands[index]!;
  if (spec.file === 'scalar' || (high !== undefined && !is16Bit(spec.type))) return WRONG;
  const located = draft.located(spec.field);
  if (!located) return WRONG;
  if (draft.has('sve') && spec.field === 'addr') draft.set('sve', 1);
  if (draft.has('en')) draft.set('en', draft.field('en') | (1 << Number(spec.field.at(-1))));
  if (accumulator) setAccumulator(draft, spec);
  const number = first + (located.width === 9 ? 256 : 0);
  if (!draft.setEncoded(index, number)) return WRONG;
  // The half is a bit of the register's number or of op_sel.
  if (high && !draft.setHighHalf(index)) return WRONG;
  return undefined;
}

/**
 * Where the encoding says that a register is an accumulator; the register file of the others is checked at
 * the end.
 */
function setAccumulator(draft: Draft, { field, file }: OperandSpec): void {
  if (file === 'accumulator') return;
  if (draft.has('acc_cd')) {
    const source = ['src0', 'src1'].indexOf(field);
    if (source < 0) draft.set('acc_cd', 1);
    else draft.set('acc_ab', draft.field('acc_ab') | (1 << source));
  } else if (draft.has('acc')) draft.set('acc', 1);
}

function placeOff(draft: Draft, index: number): string | undefined {
  const { type, field } = draft.row.operands[index]!;
  if (type !== 'address') return WRONG;
  const { none, nothing } = draft.scalars;
  if (field === 'addr' && nothing !== undefined) draft.set('saddr', nothing);
  if (field === 'saddr' && draft.field('saddr') !== nothing) draft.set('saddr', none);
  return undefined;
}

/** Whether operand `index` reads back as what was placed. */
export function isPlaced(draft: Draft, index: number, { value }: ParsedOperand): boolean {
  const operand = draft.operand(index);
  const dwords = draft.dwords(index);
  switch (value.kind) {
    case 'vector':
      return (
        operand.kind === 'vector' &&
        operand.register === value.first &&
        operand.accumulator === value.accumulator &&
        dwords === value.count &&
        (value.high === undefined || draft.isHighHalf(index) === value.high)
      );
    case 'scalar':
      return (
        draft.encoded(index) === value.encoding &&
        operand.kind !== 'vector' &&
        // NULL in place of an address.
        (operand.kind !== 'off' || value.encoding === draft.scalars.none) &&
        (value.count === undefined || dwords === value.count)
      );
    case 'off':
      return operand.kind === 'off';
    default:
      return operand.kind !== 'vector' && operand.kind !== 'off';
  }
}
