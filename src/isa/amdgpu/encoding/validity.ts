/**
 * Whether an encoding of a known opcode is an instruction: the bits that are fixed have their value, and what
 * the other fields name exists. What can be said of a field by itself is looked up in a table of its values.
 */

import type { Encoding } from './encodings.ts';
import { type FixedBits, fixedBits } from './fixed-bits.ts';
import { type Field, type Format, generationOf, SRC_LITERAL } from './formats.ts';
import { type CodeContext, type Instruction, LITERAL_SOURCES, scaleOf } from './instruction.ts';
import { isLaneControl } from './lane-control.ts';
import { isInlineConstant, SRC_LDS_DIRECT, scalarGroup, scalarText, VECTOR_REGISTER_COUNT } from './registers.ts';
import { dwordsOf, isImmediate, type OperandSpec } from './row.ts';

const FIRST_VGPR = 256;

/** A field and which of its values there are. */
interface FieldCheck {
  readonly word: number;
  readonly shift: number;
  readonly mask: number;
  readonly exists: Uint8Array;
}

const isVector = (register: number, dwords: number): boolean => register + dwords <= VECTOR_REGISTER_COUNT;

/** Whether `encoded`, below 256, names as many scalar registers or a constant. */
function isScalar(encoded: number, dwords: number, { target }: CodeContext): boolean {
  const { scalars } = target;
  if (encoded === scalars.null || isInlineConstant(encoded)) return true;
  if (scalarText(encoded, dwords, scalars) === undefined) return false;
  if (dwords === 1) return true;
  if (encoded === scalars.m0 || encoded === SRC_LDS_DIRECT) return false;
  const { first, count } = scalarGroup(encoded, scalars);
  return count === 0 || first - (first % (dwords === 2 ? 2 : 4)) + dwords <= count;
}

/** Whether a literal constant can stand for an operand. */
function takesLiteral({ row, format }: Encoding, { field }: OperandSpec, { target }: CodeContext): boolean {
  const { wideLiterals } = generationOf(target.families);
  const hasRoom = wideLiterals || format.sizeBytes === 4;
  return LITERAL_SOURCES.has(field) && hasRoom && row.flags.registerSource === undefined;
}

/** The field of an operand that is always there and takes always as many registers. */
function fixedField(format: Format, { field, type, writtenIf }: OperandSpec): Field | undefined {
  if (type === 'address' || writtenIf !== undefined || field === 'vdata' || field === 'vdsty') return undefined;
  const names = new Map(format.fields.map((each) => [each.name, each]));
  if (names.has(`${field}_sgpr`) || names.has(`${field}_en`)) return undefined;
  return names.get(field === 'sdst' && !names.has('sdst') && format.name.startsWith('VOP3') ? 'vdst' : field);
}

const tables = new Map<string, Uint8Array>();

/** Tables are shared: most operands are alike. */
function table(key: string, width: number, exists: (value: number) => boolean): Uint8Array {
  let found = tables.get(key);
  if (!found) {
    found = Uint8Array.from({ length: 2 ** width }, (_, value) => (exists(value) ? 1 : 0));
    tables.set(key, found);
  }
  return found;
}

const check = ({ low, width }: Field, exists: Uint8Array): FieldCheck => ({
  ...{ word: low >> 5, shift: low & 31, mask: 2 ** width - 1 },
  exists,
});

function operandCheck(encoding: Encoding, spec: OperandSpec, field: Field, context: CodeContext): FieldCheck {
  const { type, file } = spec;
  const { width } = field;
  const dwords = dwordsOf(type, context.waveSize);
  const isVgpr = file === 'vector' || (file !== 'scalar' && width === 8);
  if (isVgpr)
    return check(
      field,
      table(`v${width} ${dwords}`, width, (value) => isVector(value & 255, dwords)),
    );
  const literal = takesLiteral(encoding, spec, context);
  const scale = scaleOf(field);
  const key = `s${width} ${scale} ${dwords} ${literal} ${file} ${context.target.processor}`;
  const exists = (value: number): boolean => {
    if (value >= FIRST_VGPR) return file !== 'scalar' && isVector(value - FIRST_VGPR, dwords);
    return value === SRC_LITERAL ? literal : isScalar(value * scale, dwords, context);
  };
  return check(field, table(key, width, exists));
}

/**
 * Source fields whose value can announce a literal constant; fields of 8 bits in vector instructions hold
 * VGPRs.
 */
const literalFields = ({ row, format }: Encoding): Field[] =>
  row.operands.flatMap(({ field, file }) => {
    const found =
      file === 'immediate' || !LITERAL_SOURCES.has(field)
        ? undefined
        : format.fields.find(({ name }) => name === field);
    const isSource = found && (found.width === 9 || (found.width === 8 && format.name.startsWith('S')));
    return isSource ? [found] : [];
  });

export class Validity {
  readonly #fixed: FixedBits;
  readonly #hasLiteral: boolean;
  readonly #literalFields: readonly Field[];
  readonly #checks: readonly FieldCheck[];
  /** Operands that depend on more than their field. */
  readonly #others: readonly number[];
  readonly #context: CodeContext;

  constructor(encoding: Encoding, context: CodeContext) {
    const { row, format } = encoding;
    const { families, processor } = context.target;
    const checks: FieldCheck[] = [];
    const others: number[] = [];
    for (const [index, spec] of row.operands.entries()) {
      if (isImmediate(spec.type)) continue;
      const field = fixedField(format, spec);
      if (field) checks.push(operandCheck(encoding, spec, field, context));
      else others.push(index);
    }
    const control = format.fields.find(({ name }) => name === 'dpp_ctrl');
    const isControl = (value: number): boolean => isLaneControl(value, families);
    if (control) checks.push(check(control, table(`dpp ${processor}`, control.width, isControl)));
    this.#fixed = fixedBits(encoding, context.target);
    this.#hasLiteral = row.operands.some(({ type }) => type === 'literal32');
    this.#literalFields = literalFields(encoding);
    this.#checks = checks;
    this.#others = others;
    this.#context = context;
  }

  /** What the dwords alone, without a literal, say. */
  admits(words: readonly number[]): boolean {
    const { masks, values } = this.#fixed;
    for (let i = 0; i < masks.length; i++) if (((words[i]! ^ values[i]!) & masks[i]!) !== 0) return false;
    for (const { word, shift, mask, exists } of this.#checks) {
      if (exists[(words[word]! >>> shift) & mask] === 0) return false;
    }
    return true;
  }

  /** Whether a literal constant follows the dwords. */
  namesLiteral(words: readonly number[]): boolean {
    if (this.#hasLiteral) return true;
    for (const { low, width } of this.#literalFields) {
      if (((words[low >> 5]! >>> (low & 31)) & ((1 << width) - 1)) === SRC_LITERAL) return true;
    }
    return false;
  }

  /** Whether what the operands name exists, where their fields alone do not tell. */
  accepts(instruction: Instruction): boolean {
    if (this.#others.length === 0) return true;
    // A load to the LDS has no register that could be an accumulator or be followed by a status.
    if (instruction.field('lds') === 1 && (instruction.field('acc') | instruction.field('tfe')) === 1) return false;
    return this.#others.every((index) => this.#exists(instruction, index));
  }

  #exists(instruction: Instruction, index: number): boolean {
    if (instruction.access(index) === undefined) return true;
    const operand = instruction.operand(index);
    const dwords = instruction.dwords(index);
    if (operand.kind === 'vector') return isVector(operand.register, dwords);
    if (operand.kind !== 'scalar' && operand.kind !== 'special') return true;
    const encoded = instruction.encoded(index);
    return encoded !== SRC_LITERAL && isScalar(encoded, dwords, this.#context);
  }
}
