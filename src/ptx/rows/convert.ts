/** Moves, selections and conversions. PTX ISA 9.7.9 "Data Movement and Conversion". */
import { BF16, narrowed } from '../../ir/narrow-float.ts';
import type { Value } from '../../ir/types.ts';
import { bitsOf, isFloatType, isSigned, type PtxType } from '../machine/types.ts';
import { type PtxBuilder, ROUNDINGS } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

const TWO_TO_32 = 2 ** 32;

/** Any integer in 64 bits. */
const widened = (b: PtxBuilder, type: PtxType, value: Value): Value =>
  value.type === 'i64' ? value : isSigned(type) ? b.sext64(value) : b.zext64(value);

/** Bounds of an integer type. */
function boundsOf(type: PtxType): readonly [bigint, bigint] {
  const bits = BigInt(bitsOf(type));
  return isSigned(type) ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
}

/** An integer cut at the bounds of another type. */
function clamped(b: PtxBuilder, from: PtxType, to: PtxType, value: Value): Value {
  const wide = widened(b, from, value);
  const [least, most] = boundsOf(to);
  const isUnsigned64 = from === 'u64' || from === 'b64';
  if (isUnsigned64) return b.select(b.ltU(b.i64(most), wide), b.i64(most), wide);
  const low = b.select(b.ltS(wide, b.i64(least)), b.i64(least), wide);
  return to === 'u64' ? low : b.select(b.ltS(b.i64(most), low), b.i64(most), low);
}

/** The low bits of an integer: 32 of them where the type has no more. */
const lowBits = (b: PtxBuilder, type: PtxType, value: Value): Value =>
  bitsOf(type) === 64 || value.type !== 'i64' ? value : b.low(value);

function integerToInteger(b: PtxBuilder, from: PtxType, to: PtxType, value: Value): Value {
  const wide = b.has('sat') ? clamped(b, from, to, value) : widened(b, from, value);
  return signExtended(b, to, lowBits(b, to, wide));
}

/** Narrow results fill 32 bits as their type says, because the register may be wider. */
function signExtended(b: PtxBuilder, type: PtxType, value: Value): Value {
  const bits = bitsOf(type);
  if (bits === 8) return isSigned(type) ? b.sext8(value) : b.bits(value, 0, 8);
  if (bits === 16) return isSigned(type) ? b.sext16(value) : b.bits(value, 0, 16);
  return value;
}

/** Of an f64: to the nearest, towards zero, down, up; unchanged without a modifier for it. */
function whole(b: PtxBuilder, value: Value): Value {
  const { integral } = b.modifiers;
  if (integral === 'rni') return b.op('f64.nearest', value);
  if (integral === 'rzi') return b.op('f64.trunc', value);
  if (integral === 'rmi') return b.op('f64.floor', value);
  return integral === 'rpi' ? b.op('f64.ceil', value) : value;
}

/**
 * Saturates always; a NaN is 0, and the highest bit alone in 64 bits, as the intrinsics of CUDA's math
 * library say of theirs.
 */
function doubleToInteger(b: PtxBuilder, to: PtxType, value: Value): Value {
  const number = whole(b, value);
  const bits = bitsOf(to);
  if (bits < 64) {
    const [least, most] = boundsOf(to);
    const [low, high] = [b.f64.constant(Number(least)), b.f64.constant(Number(most))];
    const upper = b.select(b.op('f64.lt', high, number), high, number);
    const cut = b.select(b.op('f64.lt', upper, low), low, upper);
    return b.op(isSigned(to) ? 'f64.toI32S' : 'f64.toI32U', cut);
  }
  const scale = b.f64.constant(TWO_TO_32);
  const upper = b.op('f64.floor', b.op('f64.mul', number, b.f64.constant(1 / TWO_TO_32)));
  const lower = b.op('f64.sub', number, b.op('f64.mul', upper, scale));
  const high = b.op(isSigned(to) ? 'f64.toI32S' : 'f64.toI32U', upper);
  const exact = b.pack(b.op('f64.toI32U', lower), high);
  const [least, most] = boundsOf(to);
  const limit = b.f64.constant(isSigned(to) ? 2 ** 63 : 2 ** 64);
  const isAbove = b.not(b.op('f64.lt', number, limit));
  const isBelow = b.op('f64.lt', number, b.f64.constant(Number(least)));
  const cut = b.select(isBelow, b.i64(least), b.select(isAbove, b.i64(most), exact));
  return b.select(b.f64.isNan(value), b.i64(1n << 63n), cut);
}

/** An integer of 64 bits is two exact parts, whose sum rounds once. */
function integerToDouble(b: PtxBuilder, from: PtxType, value: Value): Value {
  if (value.type !== 'i64') return b.op(isSigned(from) ? 'f64.fromI32S' : 'f64.fromI32U', value);
  const high = b.op(isSigned(from) ? 'f64.fromI32S' : 'f64.fromI32U', b.high(value));
  const upper = b.op('f64.mul', high, b.f64.constant(TWO_TO_32));
  return b.f64.unflushed.add(upper, b.op('f64.fromI32U', b.low(value)));
}

/**
 * The same for fewer bits: what a double would round away from a large integer becomes one bit first, which
 * no narrower type can tell from the rest.
 */
function sticky(b: PtxBuilder, from: PtxType, value: Value): Value {
  if (value.type !== 'i64') return integerToDouble(b, from, value);
  const rest = b.and(value, b.i64(0x7ffn));
  const cut = b.and(value, b.i64(~0x7ffn));
  const marked = b.select(b.isZero(rest), cut, b.or(cut, b.i64(0x800n)));
  const isSmall = b.ltU(b.add(value, isSigned(from) ? b.i64(1n << 52n) : b.i64(0n)), b.i64(1n << 53n));
  return integerToDouble(b, from, b.select(isSmall, value, marked));
}

/** Rounded once from an exact double, or one with a marked rest. */
function roundedFloat(b: PtxBuilder, to: PtxType, value: Value): Value {
  if (to === 'f32') return b.f32.fromF64(value);
  if (to === 'bf16') return narrowed(b, BF16, value, { rounding: ROUNDINGS[b.modifiers['round'] ?? 'rn']! });
  return to === 'f16' ? b.f16.fromF64(value) : value;
}

const toDouble = (b: PtxBuilder, from: PtxType, value: Value): Value => {
  if (from === 'f64') return value;
  if (from === 'bf16') return b.op('f64.fromF32', b.bf16.toF32(value));
  return b.op('f64.fromF32', from === 'f32' ? b.f32.input(value) : b.f16.toF32(value));
};

function floatToFloat(b: PtxBuilder, from: PtxType, to: PtxType, value: Value): Value {
  const source = from === 'f32' ? b.f32.input(value) : value;
  const number = whole(b, toDouble(b, from, source));
  const rounded = from === to ? backTo(b, to, number, source) : roundedFloat(b, to, number);
  const flushed = to === 'f32' ? b.f32.result(rounded) : rounded;
  return b.has('sat') ? b.float(to).clamp(flushed) : b.canonical(to, flushed);
}

/** A width that does not change loses nothing; a NaN stays as it was until it is made canonical. */
function backTo(b: PtxBuilder, to: PtxType, number: Value, source: Value): Value {
  if (b.modifiers['integral'] === undefined) return source;
  return to === 'f64' ? number : roundedFloat(b, to, number);
}

function integerToFloat(b: PtxBuilder, from: PtxType, to: PtxType, value: Value): Value {
  if (to === 'f64') return integerToDouble(b, from, value);
  if (to === 'f32' && value.type !== 'i64') return isSigned(from) ? b.f32.fromI32S(value) : b.f32.fromI32U(value);
  return roundedFloat(b, to, sticky(b, from, value));
}

function convert(b: PtxBuilder): void {
  const [to, from] = [b.type('to'), b.type('from')];
  const value = b.read(1);
  if (isFloatType(from) && isFloatType(to)) b.write(0, floatToFloat(b, from, to, value));
  else if (isFloatType(from)) b.write(0, signExtended(b, to, doubleToInteger(b, to, toDouble(b, from, value))));
  else if (isFloatType(to)) {
    const number = integerToFloat(b, from, to, value);
    b.write(0, b.has('sat') ? b.float(to).clamp(number) : number);
  } else b.write(0, integerToInteger(b, from, to, value));
}

/** Elements side by side in a wider value. */
function pack(b: PtxBuilder): void {
  const parts = b.readAll(1);
  const bits = bitsOf(b.type()) / parts.length;
  const halves = (first: number): Value => {
    if (bits === 32) return parts[first]!;
    const perWord = 32 / bits;
    return parts
      .slice(first, first + perWord)
      .map((part, i) => b.shl(b.bits(part, 0, bits), i * bits))
      .reduce((all, part) => b.or(all, part));
  };
  b.write(0, bitsOf(b.type()) === 64 ? b.pack(halves(0), halves(32 / bits)) : halves(0));
}

function unpack(b: PtxBuilder): void {
  const value = b.read(1);
  const count = Number(b.modifiers['vec']!.slice(1));
  const bits = bitsOf(b.type()) / count;
  for (let i = 0; i < count; i++) {
    const low = i * bits;
    const word = value.type !== 'i64' ? value : low < 32 ? b.low(value) : b.high(value);
    b.write(0, bits === 32 ? word : b.bits(word, low % 32, bits), i);
  }
}

/** Address of what has a place in memory: a base of the wave or the lane, and a number. */
function addressOf(b: PtxBuilder): void {
  const { base, offset } = b.address(1);
  b.write(0, b.add(base.type === 'i64' ? base : b.zext64(base), offset));
}

function moveVector(b: PtxBuilder): void {
  const values = b.readAll(1);
  for (const [element, value] of values.entries()) b.write(0, value, element);
}

const ELEMENTS: Readonly<Record<string, string>> = { b16: 'b8', b32: 'b16', b64: 'b32' };

// biome-ignore format: one row per line, as the tables of the manual
const ROWS: readonly PtxRow[] = [
  ptxRow('mov', '.type=@value|pred', '=type type', (b) => b.write(0, b.read(1)), { expansion: 'move' }),
  ptxRow('mov', '.vec=v2|v4.type=@value', '=type*vec type*vec', moveVector),
  ptxRow('selp', '.type=@value', '=type type type pred', (b) => b.write(0, b.select(b.read(3), b.read(1), b.read(2)))),
  ptxRow('slct', '.ftz?.type=@value.s32', '=type type type s32', (b) => b.write(0, b.select(b.ltS(b.read(3), b.i32(0)), b.read(2), b.read(1)))),
  ptxRow('slct', '.ftz?.type=@value.f32', '=type type type f32', (b) => b.write(0, b.select(b.f32.le(b.f32.constant(0), b.read(3)), b.read(1), b.read(2)))),
  ptxRow('cvt', '.integral=rni|rzi|rmi|rpi?.round=@round?.ftz?.sat?.to=@any|bf16.from=@any|bf16', '=to from', convert, { className: 'convert' }),
  ...Object.entries(ELEMENTS).flatMap(([type, half]) => [
    ptxRow('pack', `.vec=v2.type=${type}`, `=type ${half}*vec`, pack, { isInternal: true }),
    ptxRow('unpack', `.vec=v2.type=${type}`, `=${half}*vec type`, unpack, { isInternal: true }),
  ]),
  ptxRow('pack', '.vec=v4.type=b64', '=type b16*vec', pack, { isInternal: true }),
  ptxRow('unpack', '.vec=v4.type=b64', '=b16*vec type', unpack, { isInternal: true }),
  ptxRow('pack', '.vec=v4.type=b32', '=type b8*vec', pack, { isInternal: true }),
  ptxRow('unpack', '.vec=v4.type=b32', '=b8*vec type', unpack, { isInternal: true }),
  ptxRow('address', '.u64', '=u64 []', addressOf, { isInternal: true }),
];

export const CONVERT_ROWS: readonly PtxRow[] = ROWS.map((each) =>
  each.className === 'integer' ? { ...each, className: 'move' } : each,
);
