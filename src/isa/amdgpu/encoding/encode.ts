/** Field values to machine code, the inverse of decode.ts. */
import { assert } from '../../../base/errors.ts';
import type { Encoding } from './encodings.ts';
import type { Field, Format } from './formats.ts';
import { type CodeContext, Instruction, scaleOf } from './instruction.ts';
import { SGPR_M0, SGPR_VCC_LO } from './registers.ts';

/** Field values by name, not negative. */
export type FieldValues = Readonly<Record<string, number>>;

function put(words: number[], { low, width }: Field, value: number): void {
  const mask = 2 ** width - 1;
  const shift = low & 31;
  words[low >> 5] = ((words[low >> 5]! & ~(mask << shift)) | ((value & mask) << shift)) >>> 0;
}

/** The dwords of an encoding whose fields are all 0. */
function emptyWords(format: Format, opcode: number): number[] {
  const words = new Array<number>(format.sizeBytes / 4).fill(0);
  words[0] = format.value;
  put(words, format.opcode, opcode);
  if (format.opcodeHigh) put(words, format.opcodeHigh, opcode >> format.opcode.width);
  if (format.marker) put(words, { name: 'marker', low: format.marker.low, width: 9 }, format.marker.value);
  return words;
}

/** The inverse of `emptyWords`. */
function opcodeOf({ opcode, opcodeHigh }: Format, words: readonly number[]): number {
  const bits = ({ low, width }: Field): number => (words[low >> 5]! >>> (low & 31)) & (2 ** width - 1);
  return bits(opcode) | (opcodeHigh ? bits(opcodeHigh) << opcode.width : 0);
}

function setField(words: number[], format: Format, name: string, value: number): void {
  const field = format.fields.find((candidate) => candidate.name === name);
  assert(field, () => `${format.name} has field ${name}`);
  put(words, field, value);
  // 233 or 234: the two low bits of the marker.
  if (name === 'fi' && format.name.endsWith('_DPP8')) {
    put(words, { name: 'marker', low: field.low - 1, width: 1 }, value ^ 1);
  }
}

/**
 * The dwords of an encoding; fields that are not given are 0, a value is cut to its field. A literal is not
 * part of it.
 */
export function encodeFields(format: Format, opcode: number, values: FieldValues): number[] {
  const words = emptyWords(format, opcode);
  for (const [name, value] of Object.entries(values)) setField(words, format, name, value);
  return words;
}

export function bytesOf(words: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(words.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [index, word] of words.entries()) view.setUint32(index * 4, word, true);
  return bytes;
}

/** An instruction that is being put together: what is set shows at once. */
export class Draft extends Instruction {
  readonly words: number[];
  readonly encoding: Encoding;

  constructor(
    encoding: Encoding,
    context: CodeContext,
    words = emptyWords(encoding.format, encoding.opcode),
    literal?: number,
  ) {
    super(encoding, words, literal, context);
    this.words = words;
    this.encoding = encoding;
  }

  /** What shows of an instruction, to be changed. */
  static of(instruction: Instruction): Draft {
    const { row, name, format, code, literal } = instruction;
    const words = [...code];
    return new Draft({ row, name, format, opcode: opcodeOf(format, words) }, instruction, words, literal);
  }

  /** The highest value of a field of the encoding. */
  limit(name: string): number {
    const field = this.format.fields.find((candidate) => candidate.name === name);
    assert(field, () => `${this.format.name} has field ${name}`);
    return 2 ** field.width - 1;
  }

  /**
   * The inverse of `encoded`. False when the encoding has no field for operand `index`, or `number` does not
   * fit.
   */
  setEncoded(index: number, number: number): boolean {
    const { field } = this.row.operands[index]!;
    const located = this.located(field);
    if (!located) return number === SGPR_VCC_LO;
    const scale = scaleOf(located);
    const value = located.name === 'vdsty' ? number >> 1 : number / scale;
    if (!Number.isInteger(value) || value >= 2 ** located.width) return false;
    put(this.words, located, value);
    return true;
  }

  /** Makes operand `index` the high half of its register. False when the encoding has no place for that. */
  setHighHalf(index: number): boolean {
    const bit = ['src0', 'src1', 'src2', 'vdst'].indexOf(this.row.operands[index]!.field);
    if (this.has('op_sel')) this.set('op_sel', this.field('op_sel') | (1 << bit));
    else if (!this.setEncoded(index, this.encoded(index) | 0x80)) return false;
    return this.isHighHalf(index);
  }

  /** Sets a field of the encoding; `value` is cut to it. */
  set(name: string, value: number): void {
    setField(this.words, this.format, name, value);
  }
}

/**
 * The instruction with other registers: `registers` has the number of the first one by operand of the row.
 * Files, halves, modifiers and all else stay. Undefined where the encoding has no such number: a place in a
 * half of VOPD depends on the other one's, groups of SGPRs begin where the format lets them.
 */
export function reencode(instruction: Instruction, registers: ReadonlyMap<number, number>): Instruction | undefined {
  const draft = Draft.of(instruction);
  for (const [index, register] of registers) {
    const operand = instruction.operand(index);
    if (operand.kind !== 'vector' && operand.kind !== 'scalar') return undefined;
    const isFit = operand.kind === 'scalar' ? setScalar(draft, index, register) : setVector(draft, index, register);
    if (!isFit) return undefined;
  }
  const isPlaced = [...registers].every(([index, register]) => {
    const operand = draft.operand(index);
    return operand.kind === instruction.operand(index).kind && 'register' in operand && operand.register === register;
  });
  return isPlaced ? draft : undefined;
}

const setScalar = (draft: Draft, index: number, register: number): boolean =>
  draft.setEncoded(index, register === SGPR_M0 ? draft.scalars.m0 : register);

/** The bits above the number say that it is a VGPR, and which half of it. */
function setVector(draft: Draft, index: number, register: number): boolean {
  const limit = draft.namesHalf(index) ? 128 : 256;
  return register < limit && draft.setEncoded(index, (draft.encoded(index) & -limit) | register);
}
