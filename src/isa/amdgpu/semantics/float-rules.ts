/** What float instructions have in common beyond the arithmetic of the builder. */
import type { Builder } from '../../../ir/builder.ts';
import type { FloatBuilder, FloatBuilders } from '../../../ir/float-builder.ts';
import type { Value } from '../../../ir/types.ts';

export type FloatType = 'f16' | 'f32' | 'f64';

export const floatOf = (floats: FloatBuilders, type: FloatType): FloatBuilder => floats[type];

interface Layout {
  readonly bits: number;
  readonly fractionBits: number;
}

export const LAYOUTS: Readonly<Record<FloatType, Layout>> = {
  f16: { bits: 16, fractionBits: 10 },
  f32: { bits: 32, fractionBits: 23 },
  f64: { bits: 64, fractionBits: 52 },
};

/** A bit pattern of the type. */
export const patternOf = (b: Builder, type: FloatType, bits: bigint): Value =>
  type === 'f64' ? b.i64(bits) : b.i32(Number(BigInt.asIntN(32, bits)));

const infinityBits = ({ bits, fractionBits }: Layout): bigint =>
  ((1n << BigInt(bits - 1 - fractionBits)) - 1n) << BigInt(fractionBits);

export const infinityOf = (b: Builder, type: FloatType): Value => patternOf(b, type, infinityBits(LAYOUTS[type]));

/**
 * The NaN that the manual's examples give for roots, logarithms and quotients without value: negative, quiet.
 */
export function invalidNan(b: Builder, type: FloatType): Value {
  const { bits, fractionBits } = LAYOUTS[type];
  return patternOf(b, type, (1n << BigInt(bits - 1)) | infinityBits(LAYOUTS[type]) | (1n << BigInt(fractionBits - 1)));
}

/** Biased exponent field. */
export function exponentField(b: Builder, type: FloatType, x: Value): Value {
  const { fractionBits } = LAYOUTS[type];
  const top = type === 'f64' ? b.high(b.f64.abs(x)) : floatOf(b, type).abs(x);
  return b.shrU(top, type === 'f64' ? fractionBits - 32 : fractionBits);
}

/** Is not zero and below the normal numbers. */
export function isDenormal(b: Builder, type: FloatType, x: Value): Value {
  const f = floatOf(b, type);
  const minNormal = patternOf(b, type, 1n << BigInt(LAYOUTS[type].fractionBits));
  return b.op('i1.and', b.ltU(f.abs(x), minNormal), b.not(f.isZero(x)));
}

/**
 * Turns a denormal into a zero of its sign whatever MODE says, for instructions that the manual has flush.
 */
export function flushed(b: Builder, type: FloatType, x: Value): Value {
  return b.select(isDenormal(b, type, x), floatOf(b, type).copySign(patternOf(b, type, 0n), x), x);
}

/** x as f64 bits: exact. */
export function toF64(b: Builder, type: FloatType, x: Value): Value {
  if (type === 'f64') return x;
  return b.op('f64.fromF32', type === 'f16' ? b.f16.toF32(x) : x);
}

/** f64 bits rounded to the type, denormals kept. */
export function fromF64(floats: FloatBuilders, type: FloatType, x: Value): Value {
  return type === 'f64' ? x : floats[type].fromF64(x);
}

/**
 * Product and sum rounded one after the other; denormals are always flushed (CDNA2 ISA 12.11, V_MAD_F32 and
 * V_MAD_F16).
 */
export function unfusedMultiplyAdd(b: Builder, type: 'f16' | 'f32', x: Value, y: Value, z: Value): Value {
  const f = floatOf(b, type);
  const flush = (value: Value): Value => flushed(b, type, value);
  return flush(f.add(flush(f.mul(flush(x), flush(y))), flush(z)));
}

/** x * y + z, rounded once; with a DX9 product of zero, z. */
export function legacyFma(b: Builder, x: Value, y: Value, z: Value): Value {
  const { f32 } = b;
  return b.select(hasZero(b, x, y), f32.result(f32.input(z)), f32.fma(x, y, z));
}

const hasZero = (b: Builder, x: Value, y: Value): Value => {
  const zero = b.f32.constant(0);
  return b.op('i1.or', b.f32.eq(x, zero), b.f32.eq(y, zero));
};

/** DX9 product: zero times anything is +0. */
export function legacyProduct(b: Builder, x: Value, y: Value): Value {
  return b.select(hasZero(b, x, y), b.f32.constant(0), b.f32.mul(x, y));
}

/** DX9 product, then a sum; denormals are flushed like those of v_mad_f32. */
export function legacyMad(b: Builder, x: Value, y: Value, z: Value): Value {
  const flush = (value: Value): Value => flushed(b, 'f32', value);
  return flush(b.f32.add(flush(legacyProduct(b, flush(x), flush(y))), flush(z)));
}

/**
 * The NaN that an operation with a NaN among its sources gives: a signalling one before a quiet one, the
 * first before the second.
 */
const propagatedNan = (b: Builder, f: FloatBuilder, x: Value, y: Value): Value =>
  b.select(f.isSignalling(x), f.quiet(x), b.select(f.isSignalling(y), f.quiet(y), b.select(f.isNan(x), x, y)));

const unlessNan =
  (order: 'min' | 'max') =>
  (b: Builder, f: FloatBuilder, x: Value, y: Value): Value =>
    b.select(b.op('i1.or', f.isNan(x), f.isNan(y)), propagatedNan(b, f, x, y), f[order](x, y));

/** Unlike f.min and f.max, a NaN wins (RDNA4 ISA, V_MINIMUM_F32). */
export const minimum = unlessNan('min');
export const maximum = unlessNan('max');
