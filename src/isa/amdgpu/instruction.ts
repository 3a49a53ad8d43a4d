import type { Family, Field, Format } from './formats.ts';
import { SRC_LITERAL } from './formats.ts';
import { inlineConstant, literalConstant, SGPR_VCC_LO } from './registers.ts';
import { type Access, dwordsOf, isImmediate, type OperandSpec, type Row } from './row.ts';

/** What an operand field of a decoded instruction names. */
export type Operand =
  | { readonly kind: 'vector'; readonly register: number; readonly accumulator: boolean }
  /** SGPR number, or the number of VCC, M0, EXEC, ... in the scalar register file (0..127). */
  | { readonly kind: 'scalar'; readonly register: number }
  | { readonly kind: 'constant'; readonly value: bigint }
  /** 235..239 and 251..254: apertures, vccz, execz, scc, LDS direct. */
  | { readonly kind: 'special'; readonly encoding: number }
  | { readonly kind: 'off' };

const SADDR_OFF = 0x7f;
/** SMEM: the register in place of an immediate offset. */
const OFFSET_REGISTER: Field = { name: 'offset', low: 32, width: 7 };
/** Scalar operand fields that count in groups of registers. */
const FIELD_SCALE: Readonly<Record<string, number>> = { sbase: 2, srsrc: 4 };

const fieldMaps = new WeakMap<Format, Map<string, Field>>();

function fieldMap(format: Format): Map<string, Field> {
  let map = fieldMaps.get(format);
  if (!map) {
    map = new Map(format.fields.map((field) => [field.name, field]));
    fieldMaps.set(format, map);
  }
  return map;
}

/** One decoded instruction. Fields are read from the words when asked for. */
export class Instruction {
  readonly row: Row;
  readonly format: Format;
  readonly waveSize: 32 | 64;
  /** Of the target, own first. */
  readonly families: readonly Family[];
  readonly #words: readonly [number, number];
  /** The literal constant after the encoding, if there is one, as a uint32. */
  readonly literal: number | undefined;

  constructor(
    row: Row,
    format: Format,
    words: readonly [number, number],
    literal: number | undefined,
    waveSize: 32 | 64,
    families: readonly Family[],
  ) {
    this.row = row;
    this.format = format;
    this.#words = words;
    this.literal = literal;
    this.waveSize = waveSize;
    this.families = families;
  }

  get sizeBytes(): number {
    return this.format.sizeBytes + (this.literal === undefined ? 0 : 4);
  }

  has(name: string): boolean {
    return fieldMap(this.format).has(name);
  }

  /** Value of a field, 0 when the encoding lacks it. */
  field(name: string): number {
    const field = fieldMap(this.format).get(name);
    return field ? this.#bits(field) : 0;
  }

  /** How LLVM spells a field. */
  fieldText(name: string): string {
    return fieldMap(this.format).get(name)?.text ?? name;
  }

  #bits(field: Field): number {
    const word = this.#words[field.low >= 32 ? 1 : 0];
    return (word >>> (field.low & 31)) & (2 ** field.width - 1);
  }

  /** Immediate operand, extended as its type says; a label is in bytes from the next instruction. */
  immediate(spec: OperandSpec): number {
    if (spec.type === 'literal32') return (this.literal ?? 0) | 0;
    if (spec.type === 'simm21' && this.field('imm') === 0) return 0;
    const value = this.field(spec.field);
    if (spec.type === 'label') return ((value << 16) >> 16) * 4;
    const unused = 32 - Number(spec.type.replace(/\D+/, ''));
    return spec.type.startsWith('s') ? (value << unused) >> unused : (value << unused) >>> unused;
  }

  /** What this encoding does with operand `index` of the row; undefined when it has no such operand. */
  access(index: number): Access | undefined {
    const { access, writtenIf } = this.row.operands[index]!;
    if (writtenIf === undefined || (writtenIf === 'glc' ? this.field('glc') === 1 : this.field('lds') === 0))
      return access;
    return access === 'readwrite' ? 'read' : undefined;
  }

  /** The number in the field of operand `index`: of a register, or of a constant (registers.ts). */
  encoded(index: number): number {
    const { field } = this.row.operands[index]!;
    const located = this.#located(field);
    return located ? this.#bits(located) * (FIELD_SCALE[field] ?? 1) : SGPR_VCC_LO;
  }

  /** Resolves operand `index` of the row. */
  operand(index: number): Operand {
    const spec = this.row.operands[index]!;
    const { field, type, file } = spec;
    if (isImmediate(type)) return { kind: 'constant', value: BigInt.asUintN(64, BigInt(this.immediate(spec))) };
    if (type === 'address' && this.#addressDwords(field) === 0) return { kind: 'off' };
    const located = this.#located(field);
    if (!located) return { kind: 'scalar', register: SGPR_VCC_LO };
    const value = this.#bits(located);
    if (file === 'accumulator' && this.#isVector(located, value))
      return { kind: 'vector', register: value & 0xff, accumulator: true };
    if (file === 'vector' || (file === 'any' && this.#isVector(located, value))) {
      return { kind: 'vector', register: value & 0xff, accumulator: this.#accumulator(spec) };
    }
    return this.#scalar(value * (FIELD_SCALE[field] ?? 1), spec);
  }

  /** Registers that operand `index` takes. */
  dwords(index: number): number {
    const { field, type } = this.row.operands[index]!;
    return type === 'address' ? this.#addressDwords(field) : dwordsOf(type, this.waveSize);
  }

  /** Addressing modes: CDNA2 ISA 8.2.1.1 (scalar), 9.1.3 (buffers), 10.4 (global), 10.5 (scratch; on CDNA3 sve says whether addr is used). */
  #addressDwords(field: string): number {
    if (field === 'soffset') return this.field('imm') === 0 || this.field('soffset_en') === 1 ? 1 : 0;
    if (field === 'vaddr') return this.field('idxen') + this.field('offen');
    const hasScalar = this.has('saddr') && this.format.name !== 'FLAT' && this.field('saddr') !== SADDR_OFF;
    const wide = this.format.name !== 'SCRATCH';
    if (field === 'saddr') return hasScalar ? (wide ? 2 : 1) : 0;
    if (this.has('sve')) return this.field('sve');
    return hasScalar ? (wide ? 1 : 0) : wide ? 2 : 1;
  }

  /**
   * The encoding's field for an operand: VOPC keeps `sdst` in `vdst` in its VOP3 form, in VOPC_SDWA only when sdst_en is set; SMEM has
   * its SGPR offset in `offset` unless soffset_en is set.
   */
  #located(field: string): Field | undefined {
    const map = fieldMap(this.format);
    if (field === 'sdst' && this.format.name === 'VOP3') return map.get('vdst');
    if (field === 'soffset' && map.has('soffset_en') && this.field('soffset_en') === 0) return OFFSET_REGISTER;
    if (field === 'sdst' && map.has('sdst_en') && this.field('sdst_en') === 0) return undefined;
    return map.get(field);
  }

  #isVector(field: Field, value: number): boolean {
    if (field.width === 9) return value >= 256;
    return this.field(`${field.name}_sgpr`) === 0;
  }

  #accumulator({ field, type }: OperandSpec): boolean {
    if (this.has('acc_cd')) {
      const source = ['src0', 'src1'].indexOf(field);
      // The index of a sparse product, unlike accumulators, is a single VGPR.
      if (field === 'src2' && type === 'b32') return false;
      return source < 0 ? this.field('acc_cd') === 1 : ((this.field('acc_ab') >> source) & 1) === 1;
    }
    return this.field('acc') === 1 && field !== 'addr' && field !== 'vaddr';
  }

  #scalar(value: number, spec: OperandSpec): Operand {
    if (value < 128) return { kind: 'scalar', register: value };
    if (value === SRC_LITERAL && this.literal !== undefined) {
      return { kind: 'constant', value: literalConstant(this.literal, spec.type) };
    }
    const constant = inlineConstant(value, spec.type);
    return constant === undefined ? { kind: 'special', encoding: value } : { kind: 'constant', value: constant };
  }
}
