/**
 * Floating-point operations as instructions mean them: the MODE register's denormal setting applied around the pure
 * operations, minimum and maximum, and everything that is composed of integer operations on the bits.
 */
import type { Builder } from './builder.ts';
import type { OpName } from './ops.ts';
import type { Value } from './types.ts';

/** The part of MODE that changes results. Rounding other than to nearest even is refused before code is built. */
export interface FloatMode {
  /** FP_DENORM bits 4 and 5: f32 denormals of inputs, of results are flushed to a zero of the same sign. */
  readonly flush32: { readonly inputs: boolean; readonly results: boolean };
  /** FP_DENORM bits 6 and 7, for f64 and f16. */
  readonly flush64: { readonly inputs: boolean; readonly results: boolean };
  readonly ieee: boolean;
  readonly dx10Clamp: boolean;
}

export interface FloatBuilder {
  readonly bits: 16 | 32 | 64;
  constant(value: number): Value;
  add(a: Value, b: Value): Value;
  sub(a: Value, b: Value): Value;
  mul(a: Value, b: Value): Value;
  div(a: Value, b: Value): Value;
  sqrt(a: Value): Value;
  fma(a: Value, b: Value, c: Value): Value;
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

export interface F16Builder extends FloatBuilder {
  toF32(a: Value): Value;
  fromF32(a: Value): Value;
  fromF64(a: Value): Value;
}

type Wide = 'f32' | 'f64';

interface Layout {
  readonly bits: 16 | 32 | 64;
  readonly fractionBits: number;
  constant(pattern: bigint): Value;
}

function bitOperations(b: Builder, layout: Layout, flush: { inputs: boolean; results: boolean }) {
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
 * v_min / v_max: with IEEE set a signalling NaN comes out quieted; otherwise the other operand of a NaN is taken; -0 is less
 * than +0 (CDNA3 ISA 12.9, V_MIN_F32 and V_MAX_F32).
 */
function minMax(
  b: Builder,
  f: Pick<FloatBuilder, 'isNan' | 'isSignalling' | 'quiet' | 'lt' | 'eq' | 'input' | 'result' | 'isNegative'>,
  wantLess: boolean,
  x: Value,
  y: Value,
): Value {
  const [p, q] = [f.input(x), f.input(y)];
  const less = b.op('i1.or', f.lt(p, q), b.op('i1.and', f.eq(p, q), f.isNegative(p)));
  const ordered = wantLess ? b.select(less, p, q) : b.select(less, q, p);
  let value = b.select(f.isNan(p), q, b.select(f.isNan(q), p, ordered));
  if (b.mode.ieee) {
    value = b.select(f.isSignalling(p), f.quiet(p), b.select(f.isSignalling(q), f.quiet(q), value));
  }
  return f.result(value);
}

/** Clamp to 0..1 (CDNA3 ISA 6.2.3): -0 becomes +0, NaN becomes 0 with DX10_CLAMP and stays otherwise. */
function clampUnit(
  b: Builder,
  f: Pick<FloatBuilder, 'lt' | 'isNan' | 'isNegative'>,
  zero: Value,
  one: Value,
  a: Value,
): Value {
  const low = b.select(b.op('i1.and', f.isNegative(a), b.not(f.isNan(a))), zero, b.select(f.lt(one, a), one, a));
  return b.mode.dx10Clamp ? b.select(f.isNan(a), zero, low) : low;
}

type Operation = (...args: Value[]) => Value;
type BitOperations = ReturnType<typeof bitOperations>;

/** All operations of a width from how it computes one by its name, and from what is done on its bits. */
function complete(
  b: Builder,
  base: BitOperations,
  constant: (value: number) => Value,
  arithmetic: (name: string) => Operation,
  compare: (name: string) => (x: Value, y: Value) => Value,
): FloatBuilder {
  const partial = {
    ...base,
    constant,
    add: arithmetic('add'),
    sub: arithmetic('sub'),
    mul: arithmetic('mul'),
    div: arithmetic('div'),
    sqrt: arithmetic('sqrt'),
    fma: arithmetic('fma'),
    floor: arithmetic('floor'),
    ceil: arithmetic('ceil'),
    trunc: arithmetic('trunc'),
    nearest: arithmetic('nearest'),
    eq: compare('eq'),
    lt: compare('lt'),
    le: compare('le'),
  };
  return {
    ...partial,
    min: (x, y) => minMax(b, partial, true, x, y),
    max: (x, y) => minMax(b, partial, false, x, y),
    clamp: (a) => clampUnit(b, partial, constant(0), constant(1), a),
  };
}

function wideBuilder(b: Builder, prefix: Wide): FloatBuilder {
  const bits = prefix === 'f32' ? 32 : 64;
  const pattern = (value: bigint): Value => (bits === 32 ? b.i32(Number(BigInt.asIntN(32, value))) : b.i64(value));
  const flush = bits === 32 ? b.mode.flush32 : b.mode.flush64;
  const base = bitOperations(b, { bits, fractionBits: bits === 32 ? 23 : 52, constant: pattern }, flush);
  const view = new DataView(new ArrayBuffer(8));
  const constant = (value: number): Value => {
    if (bits === 32) view.setFloat32(0, value);
    else view.setFloat64(0, value);
    return bits === 32 ? b.i32(view.getInt32(0)) : b.i64(view.getBigUint64(0));
  };
  const apply = (name: string, args: readonly Value[]): Value =>
    b.op(`${prefix}.${name}` as OpName, ...args.map(base.input));
  return complete(
    b,
    base,
    constant,
    (name) =>
      (...args) =>
        base.result(apply(name, args)),
    (name) => (x, y) => apply(name, [x, y]),
  );
}

/**
 * f16 is computed in f32, exactly, and rounded once more: innocuous for + - * / sqrt because 24 >= 2 * 11 + 2; a fused
 * multiply-add goes through f64 with rounding to odd.
 */
function halfBuilder(b: Builder, f32: FloatBuilder): F16Builder {
  const pattern = (value: bigint): Value => b.i32(Number(value));
  const base = bitOperations(b, { bits: 16, fractionBits: 10, constant: pattern }, b.mode.flush64);
  const toF32 = (a: Value): Value => b.op('f32.fromF16', a);
  const fromF32 = (a: Value): Value => b.op('f16.fromF32', a);
  const apply = (name: string, args: readonly Value[]): Value =>
    b.op(`f32.${name}` as OpName, ...args.map((arg) => toF32(base.input(arg))));
  const fromF64 = (a: Value): Value => {
    const sticky = b.isZero(b.and(a, b.i64(0x1fffffffn)));
    const cut = b.and(a, b.i64(~0x1fffffffn));
    const odd = b.select(sticky, cut, b.or(cut, b.i64(0x20000000n)));
    const isNan = b.not(b.op('f64.eq', a, a));
    return fromF32(b.op('f32.fromF64', b.select(isNan, a, odd)));
  };
  const builder = complete(
    b,
    base,
    (value) => fromF32(f32.constant(value)),
    (name) =>
      (...args) =>
        base.result(fromF32(apply(name, args))),
    (name) => (x, y) => apply(name, [x, y]),
  );
  const fma = (x: Value, y: Value, z: Value): Value => {
    const [p, q, r] = [x, y, z].map((v) => b.op('f64.fromF32', toF32(base.input(v)))) as [Value, Value, Value];
    return base.result(fromF64(b.op('f64.fma', p, q, r)));
  };
  return { ...builder, toF32, fromF32, fromF64, fma };
}

export function makeFloatBuilders(b: Builder) {
  const f32 = wideBuilder(b, 'f32');
  return { f32, f64: wideBuilder(b, 'f64'), f16: halfBuilder(b, f32) };
}
