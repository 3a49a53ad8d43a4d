/**
 * Conversions to and from formats that are packed or have no arithmetic of their own: PTX ISA 9.7.9.21 "cvt",
 * 9.7.9.22 "cvt.pack".
 */
import { BF16, E4M3, E5M2, HALF, type NarrowFormat, narrowed, TF32, widened } from '../../ir/narrow-float.ts';
import type { Value } from '../../ir/types.ts';
import { NAN16, NAN32, type PtxBuilder, ROUNDINGS } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

const FORMATS: Readonly<Record<string, NarrowFormat>> = {
  ...{ f16: HALF, f16x2: HALF, bf16: BF16, bf16x2: BF16, tf32: TF32, e4m3x2: E4M3, e5m2x2: E5M2 },
};

const formatOf = (b: PtxBuilder): NarrowFormat => FORMATS[b.modifiers['to']!]!;

/** A f64 in the format that is written. `.relu` makes 0 of what is negative. */
function narrow(b: PtxBuilder, value: Value): Value {
  const format = formatOf(b);
  const isSaturating = b.has('satfinite');
  const bits = narrowed(b, format, value, { rounding: ROUNDINGS[b.modifiers['round']!]!, isSaturating });
  if (!b.has('relu')) return bits;
  return b.select(b.isZero(b.bits(bits, format.bits - 1, 1)), bits, b.i32(0));
}

const fromSingle = (b: PtxBuilder, x: Value): Value => narrow(b, b.op('f64.fromF32', x));

const single = (b: PtxBuilder): void => b.write(0, fromSingle(b, b.read(1)));

/** The first source becomes the high element. */
function packed(b: PtxBuilder): void {
  const { bits } = formatOf(b);
  b.write(0, b.or(b.shl(fromSingle(b, b.read(1)), bits), fromSingle(b, b.read(2))));
}

/** Both elements of packed halves to bytes. */
function bytesOfHalves(b: PtxBuilder): void {
  const halves = b.read(1);
  const byte = (low: 0 | 16): Value => fromSingle(b, b.f16.toF32(b.bits(halves, low, 16)));
  b.write(0, b.or(byte(0), b.shl(byte(16), 8)));
}

/** Both bytes to packed halves, exact. */
function halvesOfBytes(b: PtxBuilder): void {
  const source = b.read(1);
  const format = FORMATS[b.modifiers['from']!]!;
  const half = (low: 0 | 8): Value => {
    const value = b.f16.fromF64(widened(b, format, b.bits(source, low, 8)));
    const canonical = b.select(b.f16.isNan(value), b.i32(NAN16), value);
    return b.has('relu') ? b.select(b.f16.isNegative(canonical), b.i32(0), canonical) : canonical;
  };
  b.write(0, b.packHalves(half(0), half(8)));
}

/** Its 19 bits are the high ones of a f32. */
const TF32_SHIFT = 13;

const tensorFloat = (b: PtxBuilder): void => {
  const x = b.read(1);
  const bits = b.shl(fromSingle(b, x), TF32_SHIFT);
  b.write(0, b.select(b.f32.isNan(x), b.i32(NAN32), bits));
};

/** To the nearest, of two that are as near to the larger one. */
function tensorFloatAway(b: PtxBuilder): void {
  const x = b.read(1);
  const size = b.f32.abs(x);
  const half = b.i32(1 << (TF32_SHIFT - 1));
  const rounded = b.and(b.add(size, half), b.i32(-1 << TF32_SHIFT));
  const bits = b.has('satfinite') ? b.minU(rounded, b.i32(TF32.largest << TF32_SHIFT)) : rounded;
  b.write(0, b.select(b.f32.isNan(x), b.i32(NAN32), b.f32.copySign(bits, x)));
}

/** Integers cut at the bounds of the narrow type; what is left of the third source stands above them. */
function packIntegers(b: PtxBuilder): void {
  const { to = '' } = b.modifiers;
  const bits = Number(to.slice(1));
  const isSigned = to.startsWith('s');
  const [least, most] = isSigned ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
  const [high, low, rest] = b.sources as [Value, Value, Value | undefined];
  const cut = (value: Value): Value => b.bits(b.minS(b.maxS(value, b.i32(least)), b.i32(most)), 0, bits);
  const pair = b.or(b.shl(cut(high), bits), cut(low));
  b.write(0, rest ? b.or(b.shl(rest, 2 * bits), pair) : pair);
}

const FLAGS = '.round=rn|rz.relu?.satfinite?';

// biome-ignore format: one row per line, as the tables of the manual
const ROWS: readonly PtxRow[] = [
  ptxRow('cvt', `${FLAGS}.to=f16|bf16.from=f32`, '=to from', single),
  ptxRow('cvt', `${FLAGS}.to=f16x2|bf16x2.from=f32`, '=to from from', packed),
  ptxRow('cvt', `${FLAGS}.to=tf32.from=f32`, '=b32 from', tensorFloat),
  ptxRow('cvt', '.rna.satfinite?.to=tf32.from=f32', '=b32 from', tensorFloatAway),
  ptxRow('cvt', '.round=rn.satfinite.relu?.to=e4m3x2|e5m2x2.from=f32', '=b16 from from', packed),
  ptxRow('cvt', '.round=rn.satfinite.relu?.to=e4m3x2|e5m2x2.from=f16x2', '=b16 from', bytesOfHalves),
  ptxRow('cvt', '.round=rn.relu?.to=f16x2.from=e4m3x2|e5m2x2', '=to b16', halvesOfBytes),
  ptxRow('cvt', '.pack.sat.to=u16|s16.from=s32', '=b32 from from', packIntegers),
  ptxRow('cvt', '.pack.sat.to=u8|s8|u4|s4|u2|s2.from=s32.rest=b32', '=b32 from from rest', packIntegers),
];

export const NARROW_ROWS: readonly PtxRow[] = ROWS.map((each) => ({ ...each, className: 'convert' }));
