/**
 * Floating-point operations as instructions mean them: the MODE register's rounding and denormal settings
 * applied to the pure operations, minimum and maximum, and everything that is composed of integer operations
 * on the bits.
 */
import { type Arithmetic, directedF64, directedNarrow, type NarrowArithmetic, settle } from './directed-rounding.ts';
import { NEAREST_EVEN, type Rounding } from './float-bits.ts';
import { BF16, narrowed, oddFma } from './narrow-float.ts';
import type { OpName } from './ops.ts';
import type { PureBuilder } from './pure-builder.ts';
import type { Value } from './types.ts';

/** The part of MODE that changes results. */
export interface FloatMode {
  /** FP_ROUND bits 0 and 1: f32 results. */
  readonly round32: Rounding;
  /** FP_ROUND bits 2 and 3: f64 and f16 results. */
  readonly round64: Rounding;
  /** FP_DENORM bits 4 and 5: f32 denormals of inputs, of results are flushed to a zero of the same sign. */
  readonly flush32: { readonly inputs: boolean; readonly results: boolean };
  /** FP_DENORM bits 6 and 7, for f64 and the formats of 16 bits. */
  readonly flush64: { readonly inputs: boolean; readonly results: boolean };
  readonly ieee: boolean;
  readonly dx10Clamp: boolean;
}

/** The arithmetic flushes denormals of operands and results as the mode says. */
export interface FloatBuilder extends Arithmetic {
  readonly bits: 16 | 32 | 64;
  /** The arithmetic with all denormals kept. */
  readonly unflushed: Arithmetic;
  constant(value: number): Value;
  floor(a: Value): Value;
  ceil(a: Value): Value;
  trunc(a: Value): Value;
  nearest(a: Value): Value;
  eq(a: Value, b: Value): Value;
  lt(a: Value, b: Value): Value;
  le(a: Value, b: Value): Value;
  isNan(a: Value): Value;
  isSignalling(a: Value): Value;
  isInfinite(a: Value): Value;
  isZero(a: Value): Value;
  quiet(a: Value): Value;
  abs(a: Value): Value;
  neg(a: Value): Value;
  /** Sign bit as a condition. */
  isNegative(a: Value): Value;
  copySign(magnitude: Value, sign: Value): Value;
  min(a: Value, b: Value): Value;
  max(a: Value, b: Value): Value;
  /** Flushes a denormal as the mode says for inputs, for results. */
  input(a: Value): Value;
  result(a: Value): Value;
  /** Output clamp to 0..1; a NaN becomes 0 with DX10_CLAMP. */
  clamp(a: Value): Value;
}

/** Conversions round and keep denormals. */
export interface F32Builder extends FloatBuilder {
  fromF64(a: Value): Value;
  fromI32S(a: Value): Value;
  fromI32U(a: Value): Value;
}

export interface F16Builder extends FloatBuilder {
  toF32(a: Value): Value;
  fromF32(a: Value): Value;
  fromF64(a: Value): Value;
}

export interface FloatBuilders {
  readonly f16: F16Builder;
  /** Rounds to nearest whatever the mode says. */
  readonly bf16: F16Builder;
  readonly f32: F32Builder;
  readonly f64: FloatBuilder;
}

interface Layout {
  readonly bits: 16 | 32 | 64;
  readonly fractionBits: number;
  constant(pattern: bigint): Value;
}

function bitOperations(b: PureBuilder, layout: Layout, flush: { inputs: boolean; results: boolean }) {
  const { bits, fractionBits, constant } = layout;
  const sign = 1n << BigInt(bits - 1);
  const infinity = ((1n << BigInt(bits - 1 - fractionBits)) - 1n) << BigInt(fractionBits);
  const quietBit = 1n << BigInt(fractionBits - 1);
  const magnitude = (a: Value): Value => b.and(a, constant(sign - 1n));
  const isDenormal = (a: Value): Value => b.ltU(magnitude(a), constant(1n << BigInt(fractionBits)));
  const flushed = (a: Value): Value => b.select(isDenormal(a), b.and(a, constant(sign)), a);
  const isNan = (a: Value): Value => b.ltU(constant(infinity), magnitude(a));
  const quiet = (a: Value): Value => b.or(a, constant(quietBit));
  return {
    bits,
    isNan,
    quiet,
    isSignalling: (a: Value): Value => b.op('i1.and', isNan(a), b.isZero(b.and(a, constant(quietBit)))),
    isInfinite: (a: Value): Value => b.eq(magnitude(a), constant(infinity)),
    isZero: (a: Value): Value => b.isZero(magnitude(a)),
    abs: magnitude,
    neg: (a: Value): Value => b.xor(a, constant(sign)),
    isNegative: (a: Value): Value => b.ne(b.and(a, constant(sign)), constant(0n)),
    copySign: (m: Value, s: Value): Value => b.or(magnitude(m), b.and(s, constant(sign))),
    input: (a: Value): Value => (flush.inputs ? flushed(a) : a),
    result: (a: Value): Value => (flush.results ? flushed(a) : a),
  };
}

/**
 * v_min / v_max: with IEEE set a signalling NaN comes out quieted; otherwise the other operand of a NaN is
 * taken; -0 is less than +0 (CDNA3 ISA 12.7, V_MIN_F32 and V_MAX_F32). NaNs are rare.
 */
function minMax(
  b: PureBuilder,
  f: Pick<FloatBuilder, 'isNan' | 'isSignalling' | 'quiet' | 'lt' | 'eq' | 'input' | 'result'>,
  { wantLess, ieee }: { readonly wantLess: boolean; readonly ieee: boolean },
  x: Value,
  y: Value,
): Value {
  const [p, q] = [f.input(x), f.input(y)];
  const [isLess, isGreater] = [f.lt(p, q), f.lt(q, p)];
  // Equal numbers have the same bits, but for zeros of both signs.
  const equal = wantLess ? b.or(p, q) : b.and(p, q);
  const ordered = b.select(wantLess ? isLess : isGreater, p, b.select(wantLess ? isGreater : isLess, q, equal));
  let value = b.select(f.isNan(p), q, p);
  if (ieee) {
    value = b.select(f.isSignalling(p), f.quiet(p), b.select(f.isSignalling(q), f.quiet(q), value));
  }
  const isOrdered = [isGreater, f.eq(p, q)].reduce((x, y) => b.op('i1.or', x, y), isLess);
  return f.result(b.select(b.rare(b.not(isOrdered)), value, ordered));
}

/** Clamp to 0..1 (CDNA3 ISA 6.2.2): -0 becomes +0, NaN becomes 0 with DX10_CLAMP and stays otherwise. */
function clampUnit(
  b: PureBuilder,
  f: Pick<FloatBuilder, 'lt' | 'isNan' | 'isNegative' | 'constant'>,
  dx10Clamp: boolean,
  a: Value,
): Value {
  const [zero, one] = [f.constant(0), f.constant(1)];
  const low = b.select(b.op('i1.and', f.isNegative(a), b.not(f.isNan(a))), zero, b.select(f.lt(one, a), one, a));
  return dx10Clamp ? b.select(f.isNan(a), zero, low) : low;
}

type BitOperations = ReturnType<typeof bitOperations>;
type Binary = (x: Value, y: Value) => Value;

/** What a width computes without rounding. */
interface Exact {
  constant(value: number): Value;
  /** floor, ceil, trunc, nearest of an operand that is flushed already. */
  whole(name: string, a: Value): Value;
  compare(name: string, a: Value, b: Value): Value;
}

/** What the operations of a width are made of. */
interface Parts {
  readonly base: BitOperations;
  readonly exact: Exact;
  /** Rounded as the mode says. */
  readonly unflushed: Arithmetic;
}

/** All operations of a width. */
function complete(b: PureBuilder, { ieee, dx10Clamp }: FloatMode, parts: Parts): FloatBuilder {
  const { base, exact, unflushed } = parts;
  const { input, result } = base;
  const binary =
    (compute: Binary): Binary =>
    (x, y) =>
      result(compute(input(x), input(y)));
  const whole =
    (name: string) =>
    (x: Value): Value =>
      result(exact.whole(name, input(x)));
  const compare =
    (name: string): Binary =>
    (x, y) =>
      exact.compare(name, input(x), input(y));
  const partial = {
    ...base,
    unflushed,
    constant: exact.constant,
    add: binary(unflushed.add),
    sub: binary(unflushed.sub),
    mul: binary(unflushed.mul),
    div: binary(unflushed.div),
    sqrt: (x: Value): Value => result(unflushed.sqrt(input(x))),
    fma: (x: Value, y: Value, z: Value): Value => result(unflushed.fma(input(x), input(y), input(z))),
    floor: whole('floor'),
    ceil: whole('ceil'),
    trunc: whole('trunc'),
    nearest: whole('nearest'),
    eq: compare('eq'),
    lt: compare('lt'),
    le: compare('le'),
  };
  return {
    ...partial,
    min: (x, y) => minMax(b, partial, { wantLess: true, ieee }, x, y),
    max: (x, y) => minMax(b, partial, { wantLess: false, ieee }, x, y),
    clamp: (a) => clampUnit(b, partial, dx10Clamp, a),
  };
}

/** f32 and f64, whose pure operations bear their names. */
function wideOperations(
  b: PureBuilder,
  mode: FloatMode,
  prefix: 'f32' | 'f64',
): { base: BitOperations; exact: Exact; nearest: Arithmetic } {
  const bits = prefix === 'f32' ? 32 : 64;
  const pattern = (value: bigint): Value => (bits === 32 ? b.i32(Number(BigInt.asIntN(32, value))) : b.i64(value));
  const flush = bits === 32 ? mode.flush32 : mode.flush64;
  const view = new DataView(new ArrayBuffer(8));
  const op = (name: string, ...args: Value[]): Value => b.op(`${prefix}.${name}` as OpName, ...args);
  const named =
    (name: string) =>
    (...args: Value[]): Value =>
      op(name, ...args);
  return {
    base: bitOperations(b, { bits, fractionBits: bits === 32 ? 23 : 52, constant: pattern }, flush),
    exact: {
      constant(value) {
        if (bits === 32) view.setFloat32(0, value);
        else view.setFloat64(0, value);
        return bits === 32 ? b.i32(view.getInt32(0)) : b.i64(view.getBigUint64(0));
      },
      whole: op,
      compare: op,
    },
    nearest: {
      add: named('add'),
      sub: named('sub'),
      mul: named('mul'),
      div: named('div'),
      sqrt: named('sqrt'),
      fma: named('fma'),
    },
  };
}

function doubleBuilder(b: PureBuilder, mode: FloatMode): FloatBuilder {
  const { base, exact, nearest } = wideOperations(b, mode, 'f64');
  const unflushed = mode.round64 === NEAREST_EVEN ? nearest : directedF64(b, mode.round64);
  return complete(b, mode, { base, exact, unflushed });
}

function singleBuilder(b: PureBuilder, mode: FloatMode): F32Builder {
  const rounding = mode.round32;
  const { base, exact, nearest } = wideOperations(b, mode, 'f32');
  const nearestFromF64 = (a: Value): Value => b.op('f32.fromF64', a);
  if (rounding === NEAREST_EVEN) {
    return {
      ...complete(b, mode, { base, exact, unflushed: nearest }),
      fromF64: nearestFromF64,
      fromI32S: (a) => b.op('f32.fromI32S', a),
      fromI32U: (a) => b.op('f32.fromI32U', a),
    };
  }
  const widen = (a: Value): Value => b.op('f64.fromF32', a);
  const directed = directedNarrow(b, rounding, { isNegative: base.isNegative, widen, nearestFromF64 });
  return {
    ...complete(b, mode, { base, exact, unflushed: directed }),
    fromF64: directed.fromF64,
    fromI32S: (a) => directed.fromF64(b.op('f64.fromI32S', a)),
    fromI32U: (a) => directed.fromF64(b.op('f64.fromI32U', a)),
  };
}

/**
 * To nearest, f16 is computed in f32, exactly, and rounded once more: innocuous for + - * / sqrt because 24
 * >= 2 * 11 + 2; a fused multiply-add goes through f64 with rounding to odd.
 */
function halfBuilder(b: PureBuilder, mode: FloatMode): F16Builder {
  const rounding = mode.round64;
  const pattern = (value: bigint): Value => b.i32(Number(value));
  const base = bitOperations(b, { bits: 16, fractionBits: 10, constant: pattern }, mode.flush64);
  const toF32 = (a: Value): Value => b.op('f32.fromF16', a);
  const widen = (a: Value): Value => b.op('f64.fromF32', toF32(a));
  const nearestFromF32 = (a: Value): Value => b.op('f16.fromF32', a);
  const nearestFromF64 = (a: Value): Value => {
    const sticky = b.isZero(b.and(a, b.i64(0x1fffffffn)));
    const cut = b.and(a, b.i64(~0x1fffffffn));
    const odd = b.select(sticky, cut, b.or(cut, b.i64(0x20000000n)));
    const isNan = b.not(b.op('f64.eq', a, a));
    return nearestFromF32(b.op('f32.fromF64', b.select(isNan, a, odd)));
  };
  const inF32 = (name: string, ...args: Value[]): Value => b.op(`f32.${name}` as OpName, ...args.map(toF32));
  const rounded =
    (name: string) =>
    (...args: Value[]): Value =>
      nearestFromF32(inF32(name, ...args));
  const nearest: NarrowArithmetic = {
    add: rounded('add'),
    sub: rounded('sub'),
    mul: rounded('mul'),
    div: rounded('div'),
    sqrt: rounded('sqrt'),
    fma: (x, y, z) => nearestFromF64(b.op('f64.fma', widen(x), widen(y), widen(z))),
    fromF64: nearestFromF64,
  };
  const isNearest = rounding === NEAREST_EVEN;
  const directedFromF32 = (a: Value): Value => {
    const half = nearestFromF32(a);
    const back = toF32(half);
    return settle(b, rounding, half, base.isNegative(half), {
      isBelow: () => b.op('f32.lt', a, back),
      isAbove: () => b.op('f32.lt', back, a),
    });
  };
  const unflushed = isNearest
    ? nearest
    : directedNarrow(b, rounding, { isNegative: base.isNegative, widen, nearestFromF64 });
  const single = wideOperations(b, mode, 'f32').exact;
  const exact: Exact = {
    constant: (value) => nearestFromF32(single.constant(value)),
    whole: (name, a) => nearestFromF32(inF32(name, a)),
    compare: inF32,
  };
  return {
    ...complete(b, mode, { base, exact, unflushed }),
    toF32,
    fromF32: isNearest ? nearestFromF32 : directedFromF32,
    fromF64: unflushed.fromF64,
  };
}

/** bf16 is computed in f64, exactly or with enough digits that rounding once more changes nothing. */
function brainBuilder(b: PureBuilder, mode: FloatMode): F16Builder {
  const pattern = (value: bigint): Value => b.i32(Number(value));
  const base = bitOperations(b, { bits: 16, fractionBits: 7, constant: pattern }, mode.flush64);
  const toF32 = (a: Value): Value => b.shl(a, 16);
  const widen = (a: Value): Value => b.op('f64.fromF32', toF32(a));
  const fromF64 = (a: Value): Value => narrowed(b, BF16, a);
  const fromF32 = (a: Value): Value => fromF64(b.op('f64.fromF32', a));
  const inF32 = (name: string, ...args: Value[]): Value => b.op(`f32.${name}` as OpName, ...args.map(toF32));
  const rounded =
    (name: string) =>
    (...args: Value[]): Value =>
      fromF64(b.op(`f64.${name}` as OpName, ...args.map(widen)));
  const unflushed: Arithmetic = {
    add: rounded('add'),
    sub: rounded('sub'),
    mul: rounded('mul'),
    div: rounded('div'),
    sqrt: rounded('sqrt'),
    fma: (x, y, z) => fromF64(oddFma(b, widen(x), widen(y), widen(z))),
  };
  const single = wideOperations(b, mode, 'f32').exact;
  const exact: Exact = {
    constant: (value) => fromF32(single.constant(value)),
    whole: (name, a) => fromF32(inF32(name, a)),
    compare: inF32,
  };
  return { ...complete(b, mode, { base, exact, unflushed }), toF32, fromF32, fromF64 };
}

/** The operations of each format; made when first asked for. */
export function makeFloatBuilders(b: PureBuilder, mode: FloatMode): FloatBuilders {
  let [f16, f32, f64]: Partial<[F16Builder, F32Builder, FloatBuilder]> = [];
  let bf16: F16Builder | undefined;
  return {
    get f16() {
      f16 ??= halfBuilder(b, mode);
      return f16;
    },
    get bf16() {
      bf16 ??= brainBuilder(b, mode);
      return bf16;
    },
    get f32() {
      f32 ??= singleBuilder(b, mode);
      return f32;
    },
    get f64() {
      f64 ??= doubleBuilder(b, mode);
      return f64;
    },
  };
}
