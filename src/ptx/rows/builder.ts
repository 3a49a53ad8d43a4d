/** Builds the meaning of one instruction: its operands as values of PTX's types, and its floats. */
import { assert } from '../../base/errors.ts';
import { Builder } from '../../ir/builder.ts';
import { NEAREST_EVEN, type Rounding, TOWARD_NEGATIVE, TOWARD_POSITIVE, TOWARD_ZERO } from '../../ir/float-bits.ts';
import type { F16Builder, F32Builder, FloatBuilder, FloatMode } from '../../ir/float-builder.ts';
import type { StepOperand } from '../../ir/step.ts';
import type { Value } from '../../ir/types.ts';
import { PLACES } from '../machine/places.ts';
import { bitsOf, elementTypeOf, isSigned, type PtxType } from '../machine/types.ts';
import { countOf, machineOperands, type OperandRule, typeOf } from './operand-spec.ts';
import type { Modifiers } from './pattern.ts';

/** Rounding modifiers of floating-point results: PTX ISA 6.5.2. */
export const ROUNDINGS: Readonly<Record<string, Rounding>> = {
  rn: NEAREST_EVEN,
  rz: TOWARD_ZERO,
  rm: TOWARD_NEGATIVE,
  rp: TOWARD_POSITIVE,
};

const KEPT = { inputs: false, results: false };
const FLUSHED = { inputs: true, results: true };

/** `.ftz` flushes denormals of f32 and f16; arithmetic of f64 and bf16 does not have it (PTX ISA 9.7.3). */
function floatMode({ round = 'rn', ftz }: Modifiers): FloatMode {
  const rounding = ROUNDINGS[round] ?? NEAREST_EVEN;
  const flush = ftz === undefined ? KEPT : FLUSHED;
  return { round32: rounding, round64: rounding, ieee: false, dx10Clamp: true, flush32: flush, flush64: flush };
}

/** The NaN that every f32 operation gives, and that of f16 and bf16 (PTX ISA 9.7.3 and 9.7.4). */
export const NAN32 = 0x7fffffff;
export const NAN16 = 0x7fff;

/** What of a form its meaning depends on. */
export interface InstructionShape {
  readonly opcode: string;
  readonly modifiers: Modifiers;
  readonly specs: readonly OperandRule[];
}

/** A spec with the machine's operands from `first` on. */
interface Placed {
  readonly spec: OperandRule;
  readonly first: number;
}

export class PtxBuilder extends Builder {
  readonly shape: InstructionShape;
  readonly operands: readonly StepOperand[];
  /** Of type i1: lanes where it is off do nothing. */
  readonly guard: Value | undefined;
  readonly #placed: readonly Placed[];

  /** `guard`: the last operand is a predicate, and whether its opposite counts. */
  constructor(shape: InstructionShape, operands: readonly StepOperand[], guard: 'none' | 'true' | 'false') {
    super(32, floatMode(shape.modifiers));
    this.shape = shape;
    this.operands = operands;
    let first = 0;
    this.#placed = shape.specs.map((spec) => {
      const placed = { spec, first };
      first += machineOperands(spec, shape.modifiers);
      return placed;
    });
    if (guard !== 'none') {
      const value = this.#predicate(operands.length - 1);
      this.guard = guard === 'true' ? value : this.not(value);
    }
  }

  get modifiers(): Modifiers {
    return this.shape.modifiers;
  }

  has(flag: string): boolean {
    return this.shape.modifiers[flag] !== undefined;
  }

  /** The type that a modifier names. */
  type(name = 'type'): PtxType {
    return typeOf({ type: name }, this.shape.modifiers);
  }

  /** Where the instruction does not have the operand, and may lack it. */
  isAbsent(index: number): boolean {
    const { spec, first } = this.#placed[index]!;
    const operand = this.operands[first];
    return spec.isOptional && (operand === undefined || this.#isNothing(first));
  }

  /** The place in the row of the last operand that is written. */
  get lastWritten(): number {
    return this.#placed.findLastIndex(({ spec }) => spec.kind === 'write');
  }

  /** Values of the operands that are read, in their order; those that are absent are left out. */
  get sources(): Value[] {
    return this.#placed.flatMap(({ spec }, index) =>
      spec.kind === 'read' && !this.isAbsent(index) ? this.read(index) : [],
    );
  }

  /** The value of an operand, by its place in the row. Narrow integers fill 32 bits as their type says. */
  read(index: number, element = 0): Value {
    const { spec, first } = this.#placed[index]!;
    return this.#readAs(first + element, typeOf(spec, this.modifiers));
  }

  /** All elements of an operand that may be a vector. */
  readAll(index: number): Value[] {
    const { spec } = this.#placed[index]!;
    return Array.from({ length: countOf(spec, this.modifiers) }, (_, i) => this.read(index, i));
  }

  /** Writes where the guard is on. A register that is wider than its type is extended as the type says. */
  write(index: number, value: Value, element = 0): void {
    const { spec, first } = this.#placed[index]!;
    const operand = first + element;
    const at = this.operands[operand];
    if (at?.kind !== 'register') return;
    const type = typeOf(spec, this.modifiers);
    const bits = value.type === 'i1' ? this.boolToI32(value) : value;
    const low = bits.type === 'i64' ? this.low(bits) : bits;
    const isOfLane = at.file !== 'scalar';
    this.setOperand({ operand, dword: 0 }, low, isOfLane, this.guard);
    if (at.dwords < 2) return;
    const high = bits.type === 'i64' ? this.high(bits) : isSigned(type) ? this.shrS(bits, 31) : this.i32(0);
    this.setOperand({ operand, dword: 1 }, high, isOfLane, this.guard);
  }

  /** Base and number of an address operand; `isParameter`: it is one of the kernel's parameters. */
  address(index: number): { readonly base: Value; readonly offset: Value; readonly isParameter: boolean } {
    const { first } = this.#placed[index]!;
    const at = this.operands[first]!;
    const offset = this.#readAs(first + 1, 'u64');
    const isWide = at.kind === 'constant' || (at.kind === 'register' && at.dwords === 2);
    const base = this.#readAs(first, isWide ? 'u64' : 'u32');
    const { file, first: place } = PLACES.parameters;
    return { base, offset, isParameter: at.kind === 'register' && at.file === file && at.first === place };
  }

  /** A scalar of the wave, which is an operand. */
  scalar(index: number): Value {
    return this.operand({ operand: this.#placed[index]!.first, dword: 0 }, false);
  }

  setScalar(index: number, value: Value): void {
    this.setOperand({ operand: this.#placed[index]!.first, dword: 0 }, value, false);
  }

  /** The row of an operand in one lane of the wave. */
  inLane(index: number, lane: Value): Value {
    return this.readLane({ operand: this.#placed[index]!.first, dword: 0 }, lane);
  }

  /** The row of an operand in the lane that each lane names. */
  fromLane(index: number, lane: Value, { element = 0, dword = 0 } = {}): Value {
    return this.gather({ operand: this.#placed[index]!.first + element, dword }, lane);
  }

  /** Whether an operand, or an element of one, is none that is the same for all lanes. */
  isRegister(index: number, element = 0): boolean {
    const at = this.operands[this.#placed[index]!.first + element];
    return at?.kind === 'register' && at.file !== 'scalar';
  }

  /** The address that an operand has in the lane that each lane names. */
  addressInLane(index: number, lane: Value): Value {
    const { base, offset } = this.address(index);
    if (!this.isRegister(index)) return this.add(base.type === 'i64' ? base : this.zext64(base), offset);
    const low = this.fromLane(index, lane);
    if (base.type !== 'i64') return this.add(low, this.low(offset));
    return this.add(this.pack(low, this.fromLane(index, lane, { dword: 1 })), offset);
  }

  float(type: PtxType): FloatBuilder | F32Builder | F16Builder {
    assert(
      type === 'f16' || type === 'bf16' || type === 'f32' || type === 'f64',
      () => `'${this.shape.opcode}' works on ${type}`,
    );
    return this[type];
  }

  /** With the NaN that the type has; payloads of f64 are kept. */
  canonical(type: PtxType, value: Value): Value {
    if (type === 'f64') return value;
    if (type === 'f32') return this.op('f32.canonical', value);
    return this.select(this.float(type).isNan(value), this.i32(NAN16), value);
  }

  /** What comes of the elements of sources that may be packed, packed again. */
  perElement(type: PtxType, sources: readonly Value[], compute: (element: PtxType, ...parts: Value[]) => Value): Value {
    const element = elementTypeOf(type);
    if (element === type) return compute(element, ...sources);
    const half = (value: Value, low: 0 | 16): Value => {
      const bits = this.bits(value, low, 16);
      return isSigned(element) ? this.sext16(bits) : bits;
    };
    const [low, high] = ([0, 16] as const).map((at) => compute(element, ...sources.map((value) => half(value, at))));
    return this.packHalves(low!, high!);
  }

  /** Two values of 16 bits; what is above them in the first is ignored. */
  packHalves(low: Value, high: Value): Value {
    return this.or(this.bits(low, 0, 16), this.shl(high, 16));
  }

  #isNothing(operand: number): boolean {
    const at = this.operands[operand];
    return at?.kind === 'register' && at.dwords === 0;
  }

  #predicate(operand: number): Value {
    return this.ne(this.#dword(operand, 0), this.i32(0));
  }

  #dword(operand: number, dword: number): Value {
    const at = this.operands[operand]!;
    return this.operand({ operand, dword }, at.kind === 'register' && at.file !== 'scalar');
  }

  #readAs(operand: number, type: PtxType): Value {
    if (type === 'pred') return this.#predicate(operand);
    const low = this.#dword(operand, 0);
    switch (bitsOf(type)) {
      case 64: {
        const at = this.operands[operand]!;
        const isWide = at.kind === 'constant' || (at.kind === 'register' && at.dwords === 2);
        return isWide ? this.pack(low, this.#dword(operand, 1)) : this.zext64(low);
      }
      case 16:
        return isSigned(type) ? this.sext16(low) : this.bits(low, 0, 16);
      case 8:
        return isSigned(type) ? this.sext8(low) : this.bits(low, 0, 8);
      default:
        return low;
    }
  }
}
