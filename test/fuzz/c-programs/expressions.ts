/** C expressions without side effects, defined for every value of what they read. */
import type { Random } from '../random.ts';
import type { Scope } from './scope.ts';
import {
  BOOL,
  F16,
  F32,
  F64,
  FLOATS,
  type Float,
  INTEGERS,
  type Integer,
  type Scalar,
  U16,
  U32,
  U64,
} from './types.ts';

const EDGES = [0n, 1n, 2n, 7n, 31n, 32n, 63n, 100n, 255n, 256n, 0x7fffn, 0x8000n, 0xffffn, 0x10000n, 0x7fffffffn];
const WIDE_EDGES = [
  0x80000000n,
  0xffffffffn,
  0x100000000n,
  0x123456789abcdefn,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];
const FLOAT_LITERALS = ['0.0', '-0.0', '1.0', '0.5', '-1.5', '3.0', '0.1', '10.0', '-123.456', '0x1p-14', '65504.0'];
const WIDE_FLOAT_LITERALS = [
  '1e30',
  '-1e-30',
  '1e-40',
  '0x1p-149',
  '0x1.fffffep127',
  '4294967295.0',
  '1e10',
  '__builtin_inf()',
];
const COMPARISONS = ['<', '<=', '>', '>=', '==', '!='];
const BINARY_FUNCTIONS = [
  'divide',
  'modulo',
  'add_overflow',
  'sub_overflow',
  'mul_overflow',
  'add_saturated',
  'sub_saturated',
  'minimum',
  'maximum',
];

type Form<T> = (type: T, depth: number) => string;

export class Expressions {
  readonly #random: Random;
  readonly #scope: Scope;
  readonly #integerForms: readonly (readonly [number, Form<Integer>])[];
  readonly #floatForms: readonly (readonly [number, Form<Float>])[];

  constructor(random: Random, scope: Scope) {
    this.#random = random;
    this.#scope = scope;
    this.#integerForms = [
      [3, (type) => this.integerLiteral(type)],
      [8, (type) => this.#read(type)],
      [8, (_, depth) => this.#arithmetic(depth)],
      [4, (_, depth) => this.#shift(depth)],
      [3, (_, depth) => this.#divisionByConstant(depth)],
      [4, (_, depth) => this.#integerFunction(depth)],
      [3, (_, depth) => this.#bitFunction(depth)],
      [2, (_, depth) => `(${this.condition(depth)})`],
      [3, (type, depth) => `(${this.condition(depth)} ? ${this.integer(type, depth)} : ${this.integer(type, depth)})`],
      [2, (type, depth) => this.#unary(type, depth)],
      [3, (_, depth) => this.#fromFloat(depth)],
    ];
    this.#floatForms = [
      [3, (type) => this.floatLiteral(type)],
      [7, (type) => this.#read(type)],
      [8, (type, depth) => this.#floatArithmetic(type, depth)],
      [3, (type, depth) => this.#floatFunction(type, depth)],
      [2, (type, depth) => `(${this.condition(depth)} ? ${this.float(type, depth)} : ${this.float(type, depth)})`],
      [2, (type, depth) => this.#convert(random.pick(FLOATS), type, depth)],
      [3, (type, depth) => this.#fromInteger(type, depth)],
      [1, (type, depth) => `(-${this.float(type, depth)})`],
    ];
  }

  /** A value of exactly this type. */
  of(type: Scalar, depth: number): string {
    if (type === BOOL) return `(${this.condition(depth)})`;
    return type.kind === 'integer' ? this.integer(type, depth) : this.float(type, depth);
  }

  integer(type: Integer, depth: number): string {
    const forms = depth > 0 ? this.#integerForms : this.#integerForms.slice(0, 2);
    return `(${type.name})${this.#random.weighted(forms)(type, depth - 1)}`;
  }

  float(type: Float, depth: number): string {
    const forms = depth > 0 ? this.#floatForms : this.#floatForms.slice(0, 2);
    return `(${type.name})${this.#random.weighted(forms)(type, depth - 1)}`;
  }

  condition(depth: number): string {
    const random = this.#random;
    const inner = depth - 1;
    const type = random.chance(25) ? random.pick(FLOATS) : random.pick(INTEGERS);
    const comparison = `${this.of(type, inner)} ${random.pick(COMPARISONS)} ${this.of(type, inner)}`;
    if (depth <= 0 || random.chance(60)) return comparison;
    return random.weighted([
      [2, `(${comparison}) && (${this.condition(inner)})`],
      [2, `(${comparison}) || (${this.condition(inner)})`],
      [1, `!(${comparison})`],
      [2, `(${this.integer(U32, inner)} & ${1 << random.below(8)}u) != 0`],
    ]);
  }

  /** An index below `length`, which is a power of two. */
  index(length: number): string {
    const random = this.#random;
    if (length === 1) return '0';
    if (random.chance(50)) return String(random.below(length));
    const place = this.#scope.place(random, (inner) => String(random.below(inner)), isPlainInteger);
    return place === undefined ? String(random.below(length)) : `(u32)${place.text} & ${length - 1}`;
  }

  integerLiteral({ name, bits }: Integer): string {
    const random = this.#random;
    const edges = bits === 64 ? [...EDGES, ...WIDE_EDGES] : EDGES;
    const value = random.chance(70) ? random.pick(edges) : BigInt(random.next());
    const sign = random.chance(20) ? '-' : '';
    return `(${name})${sign}0x${(value & ((1n << BigInt(bits)) - 1n)).toString(16)}${bits === 64 ? 'u' : ''}`;
  }

  floatLiteral(type: Float): string {
    const literals = type === F16 ? FLOAT_LITERALS : [...FLOAT_LITERALS, ...WIDE_FLOAT_LITERALS];
    return `(${type.name})(${this.#random.pick(literals)})`;
  }

  /** Some scalar in reach, converted; a literal where there is none. */
  #read(type: Scalar): string {
    const random = this.#random;
    const wanted = random.chance(70) ? type.kind : undefined;
    const place = this.#scope.place(
      random,
      (length) => this.index(length),
      (variable) => wanted === undefined || variable.type.kind === wanted || variable.type.kind === 'struct',
    );
    if (place === undefined) return type.kind === 'integer' ? this.integerLiteral(type) : this.floatLiteral(type);
    return this.#convertText(place.text, place.type, type);
  }

  #operandType(): Integer {
    return this.#random.pick(INTEGERS);
  }

  #arithmetic(depth: number): string {
    const type = this.#operandType();
    const operator = this.#random.pick(['+', '-', '*', '&', '|', '^']);
    return `(${this.integer(type, depth)} ${operator} ${this.integer(type, depth)})`;
  }

  #unary(type: Integer, depth: number): string {
    const operator = this.#random.pick(['-', '~', '!']);
    const operand = this.integer(type, depth);
    // Clang 19 loses the high dword of `a | ~b` when it knows that b's is zero.
    const opaque = operator === '~' && type.bits === 64;
    return `(${operator}${opaque ? `opaque_u64(${operand})` : operand})`;
  }

  #shift(depth: number): string {
    const random = this.#random;
    const type = this.#operandType();
    const amount = random.chance(50)
      ? String(random.below(type.bits))
      : `(${this.integer(U32, depth)} & ${type.bits - 1})`;
    return `(${this.integer(type, depth)} ${random.pick(['<<', '>>'])} ${amount})`;
  }

  #divisionByConstant(depth: number): string {
    const random = this.#random;
    const type = this.#operandType();
    const divisor = random.chance(60) ? random.pick([3, 5, 7, 10, 16, 60, 100, 127]) : random.between(2, 127);
    const dividend = this.integer(type, depth);
    // See `opaque_u32` in the prelude.
    const wide = type === U32 || type === U64;
    const seen = !wide ? dividend : random.chance(50) ? `opaque_${type.name}(${dividend})` : `(${dividend} & 0xffffff)`;
    return `(${seen} ${random.pick(['/', '%'])} ${divisor})`;
  }

  #integerFunction(depth: number): string {
    const type = this.#operandType();
    const name = this.#random.pick(BINARY_FUNCTIONS);
    return `${name}_${type.name}(${this.integer(type, depth)}, ${this.integer(type, depth)})`;
  }

  #bitFunction(depth: number): string {
    const a32 = () => this.integer(U32, depth);
    const a64 = () => this.integer(U64, depth);
    const form = this.#random.pick<() => string>([
      () => `leading_zeros32(${a32()})`,
      () => `leading_zeros64(${a64()})`,
      () => `trailing_zeros32(${a32()})`,
      () => `trailing_zeros64(${a64()})`,
      () => `rotate32(${a32()}, ${a32()})`,
      () => `rotate64(${a64()}, ${a32()})`,
      () => `field32(${a32()}, ${a32()}, ${this.#random.between(1, 31)})`,
      () => `mul_high_u64(${a64()}, ${a64()})`,
      () => `mul_high_i64(${a64()}, ${a64()})`,
      () => `shift128(${a64()}, ${a64()}, ${a64()})`,
      () => `(((u64)${a32()} * ${a32()}) >> 32)`,
      () => `(((i64)(i32)${a32()} * (i32)${a32()}) >> 32)`,
      () => `__builtin_popcount(${a32()})`,
      () => `__builtin_popcountll(${a64()})`,
      () => `__builtin_bswap32(${a32()})`,
      () => `__builtin_bswap64(${a64()})`,
      () => `__builtin_bitreverse32(${a32()})`,
      () => `__builtin_bitreverse64(${a64()})`,
    ]);
    return form();
  }

  #fromFloat(depth: number): string {
    const type = this.#random.pick(FLOATS);
    if (this.#random.chance(30)) return `bits_${type.name}(${this.float(type, depth)})`;
    const integers = type === F16 ? ['i32'] : ['i32', 'u32', 'i64', 'u64'];
    return `${this.#random.pick(integers)}_from_${type.name}(${this.float(type, depth)})`;
  }

  #floatArithmetic(type: Float, depth: number): string {
    const operator = this.#random.pick(['+', '+', '-', '-', '*', '*', '*', '/']);
    return `(${this.float(type, depth)} ${operator} ${this.float(type, depth)})`;
  }

  #floatFunction(type: Float, depth: number): string {
    const random = this.#random;
    const { name } = type;
    const a = () => this.float(type, depth);
    if (type === F16) return `${random.pick(['smaller', 'larger'])}_f16(${a()}, ${a()})`;
    return random.weighted([
      [3, () => `fused_${name}(${a()}, ${a()}, ${a()})`],
      [2, () => `${random.pick(['smaller', 'larger', 'minimum', 'maximum', 'sign_from'])}_${name}(${a()}, ${a()})`],
      [4, () => `${random.pick(['root', 'magnitude', 'floor', 'ceil', 'trunc', 'rint', 'round'])}_${name}(${a()})`],
    ])();
  }

  #fromInteger(type: Float, depth: number): string {
    if (type === F16) return `from_bits_f16(${this.integer(U16, depth)})`;
    if (this.#random.chance(30)) return `from_bits_${type.name}(${this.integer(type === F32 ? U32 : U64, depth)})`;
    return this.integer(this.#operandType(), depth);
  }

  #convert(from: Float, to: Float, depth: number): string {
    return this.#convertText(this.float(from, depth), from, to);
  }

  /**
   * Between the kinds only where the result is one on every machine: through a function, or through 16 bits
   * for f16.
   */
  #convertText(text: string, from: Scalar, to: Scalar): string {
    if (from.kind === to.kind || to === F64) return text;
    if (from.kind === 'float') return from === F16 ? `i32_from_f16(${text})` : `i64_from_${from.name}(${text})`;
    return to === F16 ? `(i16)${text}` : text;
  }
}

const isPlainInteger = ({ type, length }: { type: { kind: string }; length?: number }): boolean =>
  type.kind === 'integer' && length === undefined;
