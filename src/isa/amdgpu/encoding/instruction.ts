import type { Encoding } from './encodings.ts';
import type { Family, Field, Format } from './formats.ts';
import { generationOf, SRC_LITERAL } from './formats.ts';
import { inlineConstant, literalConstant, type ScalarFile, SGPR_M0, SGPR_VCC_LO } from './registers.ts';
import {
  dwordsOf,
  immediateBits,
  is16Bit,
  isImmediate,
  type OperandAccess,
  type OperandSpec,
  type OperandType,
  type Row,
} from './row.ts';
import type { Target } from './targets.ts';

/** What an operand field of a decoded instruction names. */
export type Operand =
  | { readonly kind: 'vector'; readonly register: number; readonly accumulator: boolean }
  /**
   * SGPR number, or the number of VCC, M0, EXEC, ... in the scalar register file (0..127), for all targets as
   * on gfx9.
   */
  | { readonly kind: 'scalar'; readonly register: number }
  | { readonly kind: 'constant'; readonly value: bigint }
  /** 235..239 and 251..254: apertures, vccz, execz, scc, LDS direct. */
  | { readonly kind: 'special'; readonly encoding: number }
  /** The operand reads as 0 and swallows what is written to it. */
  | { readonly kind: 'null' }
  | { readonly kind: 'off' };

export const LITERAL_SOURCES = new Set(['ssrc0', 'ssrc1', 'src0', 'src1', 'src2', 'srcx0', 'srcy0']);
/** Fields of operands, in the order in which op_sel has a bit for each. */
const OP_SEL_FIELDS = ['src0', 'src1', 'src2', 'vdst'];
const SHORT_VECTOR = /^VOP[12C](_|$)/;
/** Bits of all offsets in memory on gfx12 but those of the LDS. */
const WIDE_OFFSET = 24;
/** SMEM: the register in place of an immediate offset. */
const OFFSET_REGISTER: Field = { name: 'offset', low: 32, width: 7 };
/** The scalar operand fields that count in groups of registers are narrow. */
export const scaleOf = ({ name, width }: Field): number =>
  name === 'sbase' && width === 6 ? 2 : name === 'srsrc' && width === 5 ? 4 : 1;

const fieldMaps = new WeakMap<Format, Map<string, Field>>();

function fieldMap(format: Format): Map<string, Field> {
  let map = fieldMaps.get(format);
  if (!map) {
    map = new Map(format.fields.map((field) => [field.name, field]));
    fieldMaps.set(format, map);
  }
  return map;
}

/** Whose code an instruction is part of. */
export interface CodeContext {
  readonly target: Target;
  readonly waveSize: 32 | 64;
}

/** One decoded instruction. Fields are read from the words when asked for. */
export class Instruction {
  readonly row: Row;
  /** The name that the target calls the instruction by. */
  readonly name: string;
  readonly format: Format;
  readonly waveSize: 32 | 64;
  readonly target: Target;
  /** The families of the target, its own first. */
  readonly families: readonly Family[];
  readonly #words: readonly number[];
  /** The fields of the format, by name. */
  readonly #fields: ReadonlyMap<string, Field>;
  /** How the target numbers scalar operands. */
  readonly scalars: ScalarFile;
  /** The literal constant after the encoding, if there is one, as a uint32. */
  readonly literal: number | undefined;

  constructor(
    encoding: Encoding,
    words: readonly number[],
    literal: number | undefined,
    { target, waveSize }: CodeContext,
  ) {
    this.row = encoding.row;
    this.name = encoding.name;
    this.format = encoding.format;
    this.#words = words;
    this.#fields = fieldMap(encoding.format);
    this.literal = literal;
    this.waveSize = waveSize;
    this.target = target;
    this.families = target.families;
    this.scalars = target.scalars;
  }

  /** The encoding without its literal. */
  get code(): readonly number[] {
    return this.#words;
  }

  get sizeBytes(): number {
    return this.format.sizeBytes + (this.literal === undefined ? 0 : 4);
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  /** Whether source 0 comes from another lane (DPP, DPP8). */
  get hasDpp(): boolean {
    return this.has('dpp_ctrl') || this.has('dpp8');
  }

  /** Fields of 8 bits in vector instructions hold VGPRs. */
  isSource({ width }: Field): boolean {
    return width === 9 || (width === 8 && this.format.name.startsWith('S'));
  }

  /** Value of a field, 0 when the encoding lacks it. */
  field(name: string): number {
    const field = this.#fields.get(name);
    return field ? this.#bits(field) : 0;
  }

  /** How LLVM spells a field. */
  fieldText(name: string): string {
    return this.#fields.get(name)?.text ?? name;
  }

  #bits(field: Field): number {
    return (this.#words[field.low >> 5]! >>> (field.low & 31)) & (-1 >>> (32 - field.width));
  }

  /** Immediate operand, extended as its type says; a label is in bytes from the next instruction. */
  immediate(spec: OperandSpec): number {
    if (spec.type === 'literal32') return (this.literal ?? 0) | 0;
    if (spec.type === 'simm21' && this.has('imm') && this.field('imm') === 0) return 0;
    const value = this.field(spec.field);
    if (spec.type === 'label') return ((value << 16) >> 16) * 4;
    const [width, signed] = this.#immediateForm(spec);
    const unused = 32 - width;
    return signed ? (value << unused) >> unused : (value << unused) >>> unused;
  }

  /** Where the label that it names stands, for an instruction at `offset`; undefined when it names none. */
  labelTarget(offset: number): number | undefined {
    const { operands } = this.row;
    for (let i = 0; i < operands.length; i++) {
      if (operands[i]!.type === 'label') return offset + this.sizeBytes + this.immediate(operands[i]!);
    }
    return undefined;
  }

  /** Offsets in memory have as many bits as the generation gives them, and on gfx12 a sign. */
  #immediateForm({ field, type }: OperandSpec): readonly [width: number, signed: boolean] {
    const { width } = this.#fields.get(field)!;
    if (field === 'offset' && width === WIDE_OFFSET) return [width, true];
    return [Math.min(immediateBits(type), width), type.startsWith('s')];
  }

  /** The values that an immediate can have. */
  immediateRange(spec: OperandSpec): readonly [low: number, high: number] {
    const [width, signed] = this.#immediateForm(spec);
    return signed ? [-(2 ** (width - 1)), 2 ** (width - 1) - 1] : [0, 2 ** width - 1];
  }

  /** What this encoding does with operand `index` of the row; undefined when it has no such operand. */
  access(index: number): OperandAccess | undefined {
    const { access, writtenIf } = this.row.operands[index]!;
    if (writtenIf === undefined || (writtenIf === 'glc' ? this.field('glc') === 1 : this.field('lds') === 0))
      return access;
    return access === 'readwrite' ? 'read' : undefined;
  }

  /** The number in the field of operand `index`: of a register, or of a constant (registers.ts). */
  encoded(index: number): number {
    const { field } = this.row.operands[index]!;
    const located = this.located(field);
    return located ? this.#number(located) * scaleOf(located) : SGPR_VCC_LO;
  }

  /** Resolves operand `index` of the row. */
  operand(index: number): Operand {
    const spec = this.row.operands[index]!;
    const { field, type, file } = spec;
    if (isImmediate(type)) return { kind: 'constant', value: BigInt.asUintN(64, BigInt(this.immediate(spec))) };
    if (type === 'address' && this.#addressDwords(field) === 0) return { kind: 'off' };
    const located = this.located(field);
    if (!located) return { kind: 'scalar', register: SGPR_VCC_LO };
    const value = this.#number(located);
    if (file === 'accumulator' && this.#isVector(located, value))
      return { kind: 'vector', register: value & 0xff, accumulator: true };
    if (file === 'vector' || (file === 'any' && this.#isVector(located, value))) {
      const register = value & (this.#namesHalf(type) ? 0x7f : 0xff);
      return { kind: 'vector', register, accumulator: this.#accumulator(spec) };
    }
    return this.#scalar(value * scaleOf(located), spec);
  }

  /** The high half of a register is what operand `index`, of 16 bits, reads or writes. */
  isHighHalf(index: number): boolean {
    const { field, type } = this.row.operands[index]!;
    if (!is16Bit(type)) return false;
    if (this.#namesHalf(type)) {
      const located = this.located(field);
      return located !== undefined && (this.encoded(index) & 0x80) !== 0 && this.operand(index).kind === 'vector';
    }
    const bit = OP_SEL_FIELDS.indexOf(field);
    return bit >= 0 && !this.format.name.startsWith('VOP3P') && ((this.field('op_sel') >> bit) & 1) === 1;
  }

  /** Whether the number of the VGPR of operand `index` includes the half. */
  namesHalf(index: number): boolean {
    return this.#namesHalf(this.row.operands[index]!.type);
  }

  #namesHalf(type: OperandType): boolean {
    return is16Bit(type) && SHORT_VECTOR.test(this.format.name) && generationOf(this.families).namesHalves;
  }

  /** Registers that operand `index` takes. */
  dwords(index: number): number {
    const { field, type } = this.row.operands[index]!;
    if (type === 'address') return this.#addressDwords(field);
    // A status of the access follows the data.
    return dwordsOf(type, this.waveSize) + (field === 'vdata' ? this.field('tfe') : 0);
  }

  /**
   * Of SMEM: gfx9 says in bits of their own whether there is a register, later generations name NULL (RDNA3
   * ISA 8.1).
   */
  get #hasScalarOffset(): boolean {
    if (this.has('imm')) return this.field('imm') === 0 || this.field('soffset_en') === 1;
    return this.field('soffset') !== this.scalars.none;
  }

  /**
   * Addressing modes: CDNA2 ISA 8.2.1.1 (scalar), 9.1.3 (buffers), 10.4 (global), 10.5 (scratch; on CDNA3 and
   * gfx11 sve says whether addr is used, RDNA2 ISA 9.1 a value of saddr).
   */
  #addressDwords(field: string): number {
    if (field === 'soffset') return this.#hasScalarOffset ? 1 : 0;
    if (field === 'vaddr') return this.field('idxen') + this.field('offen');
    if (field.startsWith('vsrc')) return (this.field('en') >> Number(field.at(-1))) & 1;
    const saddr = this.field('saddr');
    const wide = this.format.name !== 'SCRATCH';
    const hasNothing = !wide && saddr === this.scalars.nothing;
    const hasScalar = this.has('saddr') && this.format.name !== 'FLAT' && saddr !== this.scalars.none && !hasNothing;
    if (field === 'saddr') return hasScalar ? (wide ? 2 : 1) : 0;
    if (this.has('sve')) return this.field('sve');
    if (!wide) return hasScalar || hasNothing ? 0 : 1;
    return hasScalar ? 1 : 2;
  }

  /**
   * The encoding's field for an operand: VOPC keeps `sdst` in `vdst` in its VOP3 form, in VOPC_SDWA only when
   * sdst_en is set; SMEM has its SGPR offset in `offset` unless soffset_en is set.
   */
  located(field: string): Field | undefined {
    const map = this.#fields;
    // Compressed exports have two components in a register.
    if (this.field('compr') === 1 && /^vsrc\d$/.test(field)) return map.get(`vsrc${Number(field.at(-1)) >> 1}`);
    if (field === 'sdst' && this.format.name.startsWith('VOP3') && !map.has('sdst')) return map.get('vdst');
    if (field === 'soffset' && map.has('soffset_en') && this.field('soffset_en') === 0) return OFFSET_REGISTER;
    if (field === 'sdst' && map.has('sdst_en') && this.field('sdst_en') === 0) return undefined;
    return map.get(field);
  }

  /** The destinations of VOPD differ in bit 0, which the field of the second one lacks (RDNA3 ISA 7.6). */
  #number(located: Field): number {
    const value = this.#bits(located);
    return located.name === 'vdsty' ? (value << 1) | (~this.field('vdstx') & 1) : value;
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
    if (value === this.scalars.null) return { kind: 'null' };
    if (value === this.scalars.m0) return { kind: 'scalar', register: SGPR_M0 };
    if (value < 128) return { kind: 'scalar', register: value };
    if (value === SRC_LITERAL && this.literal !== undefined) {
      return { kind: 'constant', value: literalConstant(this.literal, spec.type) };
    }
    const constant = inlineConstant(value, spec.type);
    return constant === undefined ? { kind: 'special', encoding: value } : { kind: 'constant', value: constant };
  }
}

/** All dwords of an instruction, its literal the last of them. */
export const wordsOf = ({ code, literal }: Pick<Instruction, 'code' | 'literal'>): readonly number[] =>
  literal === undefined ? code : code.concat(literal);
