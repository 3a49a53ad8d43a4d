/**
 * Turns a decoded instruction into ir: reads the row's source operands with the modifiers of the encoding
 * (abs, neg, op_sel, SDWA selects, DPP lanes), runs the row's semantics and writes the results back (omod,
 * clamp, op_sel, SDWA destination).
 */
import { assert, WavewrightError } from '../../../base/errors.ts';
import { Builder } from '../../../ir/builder.ts';
import type { FloatBuilder, FloatMode } from '../../../ir/float-builder.ts';
import type { Program, Value } from '../../../ir/types.ts';
import { generationOf } from '../encoding/formats.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { isAperture, SRC_EXECZ, SRC_SCC, SRC_VCCZ } from '../encoding/registers.ts';
import {
  is16Bit,
  isFloat,
  isImmediate,
  type OperandSpec,
  type OperandType,
  type Results,
  type Row,
} from '../encoding/row.ts';

/**
 * Number of the operand slot that holds the lane table of a DPP instruction: one after the row's own
 * operands.
 */
export const dppTableSlot = (instruction: Instruction): number => instruction.row.operands.length;

/** Bytes of a DPP lane table: source lane, or one of these. */
export const DPP_INVALID = 254;
export const DPP_DISABLED = 255;

/** Computes the results from the sources, both in operand order. Effects are calls on the builder. */
export type Semantics = (b: InstructionBuilder, ...sources: Value[]) => Results;

export const semanticsOf = ({ semantics }: Row): Semantics | undefined => semantics as Semantics | undefined; // reason: rows are written with `Semantics`; their type stands below the builder's.

export class InstructionBuilder extends Builder {
  readonly instruction: Instruction;
  /** Lanes that DPP leaves alone; undefined without DPP. */
  #writeMask: Value | undefined;

  constructor(instruction: Instruction, mode: FloatMode) {
    super(instruction.waveSize, mode);
    this.instruction = instruction;
  }

  /** Builds the whole instruction. Throws UNSUPPORTED when the row has no semantics. */
  build(): Program {
    const { row } = this.instruction;
    const semantics = semanticsOf(row);
    if (!semantics) throw new WavewrightError('UNSUPPORTED', `unsupported instruction '${this.instruction.name}'`);
    const sources: Value[] = [];
    row.operands.forEach((spec, index) => {
      const access = this.instruction.access(index);
      if (access !== undefined && access !== 'write' && isSource(spec.type)) sources.push(this.read(index));
    });
    const produced = semantics(this, ...sources);
    const results = produced === undefined ? [] : Array.isArray(produced) ? (produced as Value[]) : [produced as Value];
    const written = row.operands.flatMap((_, index) =>
      this.instruction.access(index)?.includes('write') ? [index] : [],
    );
    if (results.length > 0) {
      assert(
        results.length === written.length,
        () => `${row.name}: ${results.length} results for ${written.length} operands`,
      );
      for (const [i, result] of results.entries()) this.write(written[i]!, result);
    }
    return this.finish();
  }

  // State by name

  get scc(): Value {
    return this.state('scc');
  }

  setScc(condition: Value): void {
    this.setState('scc', condition);
  }

  get exec(): Value {
    return this.state('exec');
  }

  get vcc(): Value {
    return this.state('vcc');
  }

  /** Modifier bits of the encoding (glc, clamp, op_sel, ...); part of what distinguishes two handlers. */
  field(name: string): number {
    return this.instruction.field(name);
  }

  /** Index of the operand that the row calls `field`. */
  index(field: string): number {
    const index = this.instruction.row.operands.findIndex((spec) => spec.field === field);
    assert(index >= 0, () => `${this.instruction.row.name} has no operand ${field}`);
    return index;
  }

  isVector(index: number): boolean {
    return this.instruction.operand(index).kind === 'vector';
  }

  isOff(index: number): boolean {
    return this.instruction.operand(index).kind === 'off';
  }

  /** Dword `dword` of operand `index` as it stands, without modifiers. */
  dword(index: number, dword: number): Value {
    const operand = this.instruction.operand(index);
    if (operand.kind === 'null') return this.i32(0);
    if (operand.kind === 'special' && !isAperture(operand.encoding)) return this.#special(operand.encoding, dword);
    // Constants have 64 bits; behind these is their sign.
    const isConstant = operand.kind === 'constant' || operand.kind === 'special';
    if (isConstant && dword > 1) return this.shrS(this.operand({ operand: index, dword: 1 }, false), 31);
    return this.operand({ operand: index, dword }, operand.kind === 'vector');
  }

  /** `count` dwords of an operand, default all of them. */
  dwords(index: number, count = this.instruction.dwords(index)): Value[] {
    return Array.from({ length: count }, (_, i) => this.dword(index, i));
  }

  setDword(index: number, dword: number, value: Value): void {
    if (this.instruction.operand(index).kind === 'null') return;
    const isVector = this.isVector(index);
    this.setOperand({ operand: index, dword }, value, isVector, isVector ? this.#writeMask : undefined);
  }

  setDwords(index: number, values: readonly Value[]): void {
    for (const [dword, value] of values.entries()) this.setDword(index, dword, value);
  }

  /** Source operand `index` with its modifiers. */
  read(index: number): Value {
    const spec = this.instruction.row.operands[index]!;
    if (spec.type === 'mask') return this.laneMask(this.maskBits(index));
    const low = this.sourceDword(index, 0);
    if (isImmediate(spec.type)) return low;
    if (this.instruction.dwords(index) === 2) {
      return this.#floatModifiers(spec, this.pack(low, this.sourceDword(index, 1)));
    }
    return this.#floatModifiers(spec, this.#select(index, spec, low));
  }

  /**
   * Source operand `index` of one dword as it stands in another lane, whether EXEC has it on or not; with its
   * modifiers.
   */
  readFrom(index: number, lane: Value): Value {
    if (!this.isVector(index)) return this.read(index);
    const spec = this.instruction.row.operands[index]!;
    return this.#floatModifiers(spec, this.#select(index, spec, this.gather({ operand: index, dword: 0 }, lane)));
  }

  /** Uniform i64 of a condition, 0 in lanes that EXEC or DPP turns off (RDNA3 ISA 7.7). */
  writtenLanes(condition: Value): Value {
    return this.ballot(this.#writeMask ? this.op('i1.and', condition, this.#writeMask) : condition);
  }

  /** A lane mask operand as uniform i64. */
  maskBits(index: number): Value {
    return this.waveSize === 64
      ? this.pack(this.dword(index, 0), this.dword(index, 1))
      : this.zext64(this.dword(index, 0));
  }

  /** Writes result `value` to operand `index` with output modifiers. */
  write(index: number, value: Value): void {
    const spec = this.instruction.row.operands[index]!;
    if (spec.type === 'mask') {
      const bits = this.writtenLanes(value);
      this.setDwords(index, this.waveSize === 64 ? [this.low(bits), this.high(bits)] : [this.low(bits)]);
      return;
    }
    const result = this.#outputModifiers(spec.type, value);
    if (result.type === 'i64') this.setDwords(index, [this.low(result), this.high(result)]);
    else this.setDword(index, 0, this.#destination(index, spec, result));
  }

  /** The arithmetic of an operand type. */
  float(type: OperandType): FloatBuilder {
    return type === 'f64' ? this.f64 : type.endsWith('f16') ? this.f16 : this.f32;
  }

  #special(encoding: number, dword: number): Value {
    if (dword > 0) return this.i32(0);
    switch (encoding) {
      case SRC_SCC:
        return this.boolToI32(this.scc);
      case SRC_VCCZ:
        return this.boolToI32(this.isZero(this.vcc));
      case SRC_EXECZ:
        return this.boolToI32(this.isZero(this.exec));
      default:
        throw new WavewrightError(
          'UNSUPPORTED',
          `unsupported source operand ${encoding} of instruction '${this.instruction.name}'`,
        );
    }
  }

  /** Dword of a source as `dword` has it, but of the lane that DPP names. */
  sourceDword(index: number, dword: number): Value {
    const { field } = this.instruction.row.operands[index]!;
    if (field !== 'src0' || !this.instruction.hasDpp) return this.dword(index, dword);
    // A lane whose source is invalid or, without fetch inactive, switched off by EXEC gets 0 with bound_ctrl
    // and DPP8; otherwise it is not written.
    const source = this.laneTable(dppTableSlot(this.instruction));
    const inRange = this.ltU(source, this.i32(DPP_INVALID));
    const sourceLane = this.and(source, this.i32(this.waveSize - 1));
    const sourceOn = this.field('fi') ? this.i1(true) : this.laneBit(this.exec, sourceLane);
    const valid = this.op('i1.and', inRange, sourceOn);
    const enabled = this.ne(source, this.i32(DPP_DISABLED));
    const readsZero = this.field('bound_ctrl') || this.instruction.has('dpp8');
    this.#writeMask = readsZero ? enabled : this.op('i1.and', enabled, valid);
    return this.select(valid, this.gather({ operand: index, dword }, sourceLane), this.i32(0));
  }

  /** Bit `lane` of a uniform i64, for a lane number that differs from lane to lane. */
  laneBit(mask: Value, lane: Value): Value {
    const half = this.select(this.ltU(lane, this.i32(32)), this.low(mask), this.high(mask));
    return this.ne(this.and(this.shrU(half, lane), this.i32(1)), this.i32(0));
  }

  /** SDWA and op_sel: the part of the dword that a source reads. */
  #select(index: number, spec: OperandSpec, value: Value): Value {
    const { instruction } = this;
    if (instruction.has(`${spec.field}_sel`)) {
      const select = instruction.field(`${spec.field}_sel`);
      const signed = instruction.field(`${spec.field}_sext`) === 1;
      return is16Bit(spec.type) && select === 6 ? this.bits(value, 0, 16) : this.#subDword(value, select, signed);
    }
    if (!is16Bit(spec.type)) return value;
    return this.bits(value, instruction.isHighHalf(index) ? 16 : 0, 16);
  }

  /** SDWA select: bytes 0..3, words 4 and 5, dword 6. */
  #subDword(value: Value, select: number, signed: boolean): Value {
    if (select === 6) return value;
    const [low, width] = select < 4 ? [select * 8, 8] : [(select - 4) * 16, 16];
    const part = this.bits(value, low, width);
    if (!signed) return part;
    return width === 8 ? this.sext8(part) : this.sext16(part);
  }

  /** Bit of a source in the modifier fields; an accumulator (`vdst`) has none. */
  #sourceNumber(spec: OperandSpec): number | undefined {
    const source = ['src0', 'src1', 'src2'].indexOf(spec.field);
    return source < 0 ? undefined : source;
  }

  #floatModifiers(spec: OperandSpec, value: Value): Value {
    if (!isFloat(spec.type) || spec.type.startsWith('v2')) return value;
    const { instruction } = this;
    const source = this.#sourceNumber(spec);
    if (source === undefined) return value;
    const abs = (instruction.field('abs') >> source) & 1 || instruction.field(`${spec.field}_abs`);
    const neg = (instruction.field('neg') >> source) & 1 || instruction.field(`${spec.field}_neg`);
    const f = this.float(spec.type);
    const magnitude = abs ? f.abs(value) : value;
    return neg ? f.neg(magnitude) : magnitude;
  }

  #outputModifiers(type: OperandType, value: Value): Value {
    const { instruction } = this;
    const omod = instruction.field('omod');
    const clamp = instruction.field('clamp');
    if (!isFloat(type) || type.startsWith('v2')) {
      if (clamp && !instruction.row.flags.integerClamp) {
        throw new WavewrightError('UNSUPPORTED', `unsupported instruction '${instruction.name}' with clamp`);
      }
      return value;
    }
    const f = this.float(type);
    const scaled = omod && this.#scalesOutput(type) ? this.#scaled(f, value, [1, 2, 4, 0.5][omod]!) : value;
    return clamp ? f.clamp(scaled) : scaled;
  }

  /** The product with -0 turned into +0. */
  #scaled(f: FloatBuilder, value: Value, factor: number): Value {
    const product = f.mul(value, f.constant(factor));
    return this.select(f.isZero(product), f.constant(0), product);
  }

  /** Output modifiers are ignored in IEEE mode and where denormal results are allowed (CDNA2 ISA 6.2.2). */
  #scalesOutput(type: OperandType): boolean {
    const { ieee, flush32, flush64 } = this.mode;
    return !ieee && (type === 'f32' ? flush32 : flush64).results;
  }

  /** Where a result goes in the destination register: SDWA destination select, op_sel, 16-bit results. */
  #destination(index: number, spec: OperandSpec, result: Value): Value {
    const { instruction } = this;
    const low = is16Bit(spec.type) ? this.bits(result, 0, 16) : result;
    if (instruction.has('dst_sel') && !instruction.row.flags.noSdwaDestination)
      return this.#sdwaDestination(index, low);
    if (!is16Bit(spec.type) || !this.isVector(index)) return low;
    if (instruction.isHighHalf(index) || instruction.row.flags.writesHighHalf) {
      return this.or(this.bits(this.dword(index, 0), 0, 16), this.shl(low, 16));
    }
    if (instruction.row.flags.keepsHighHalf || generationOf(instruction.families).keepsHalves)
      return this.or(this.and(this.dword(index, 0), this.i32(0xffff0000)), low);
    return low;
  }

  #sdwaDestination(index: number, result: Value): Value {
    const select = this.field('dst_sel');
    if (select === 6) return result;
    const [low, width] = select < 4 ? [select * 8, 8] : [(select - 4) * 16, 16];
    const fieldMask = (2 ** width - 1) * 2 ** low;
    const part = this.shl(this.bits(result, 0, width), low);
    const unused = this.field('dst_unused');
    if (unused === 2) return this.or(this.and(this.dword(index, 0), this.i32(~fieldMask)), part);
    if (unused === 0) return part;
    const signed = width === 8 ? this.sext8(result) : this.sext16(result);
    return this.shl(signed, low);
  }
}

/** Wider operands and addresses are not passed to the semantics as values. */
const isSource = (type: OperandType): boolean => !/^b(96|128|256|512|1024)$|^wave|^address$/.test(type);
