/** Integer arithmetic, logic and shifts. PTX ISA 9.7.1, 9.7.2 and 9.7.8 "Logic and Shift Instructions". */
import type { Value } from '../../ir/types.ts';
import { bitsOf, isSigned, type PtxType } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

type Compute = (b: PtxBuilder, ...sources: Value[]) => Value;

/** Writes what comes of the sources to the first operand. */
export const result =
  (compute: Compute) =>
  (b: PtxBuilder): void =>
    b.write(0, compute(b, ...b.sources));

export const zero = (b: PtxBuilder, like: Value): Value => (like.type === 'i64' ? b.i64(0n) : b.i32(0));
const ones = (b: PtxBuilder, like: Value): Value => (like.type === 'i64' ? b.i64(-1n) : b.i32(-1));

/** Results of 16 bits stand in 32: their low half counts. */
const isWide = (type: PtxType): boolean => bitsOf(type) === 64;

/** 64 x 64 bits to the high 64. */
function mulHigh64(b: PtxBuilder, x: Value, y: Value, signed: boolean): Value {
  const part = (value: Value): [Value, Value] => [b.zext64(b.low(value)), b.zext64(b.high(value))];
  const [xl, xh] = part(x);
  const [yl, yh] = part(y);
  const low = b.shrU(b.mul(xl, yl), 32);
  const first = b.add(b.mul(xh, yl), low);
  const second = b.add(b.mul(xl, yh), b.zext64(b.low(first)));
  const unsigned = b.add(b.add(b.mul(xh, yh), b.shrU(first, 32)), b.shrU(second, 32));
  if (!signed) return unsigned;
  const correction = (sign: Value, other: Value): Value => b.select(b.ltS(sign, b.i64(0n)), other, b.i64(0n));
  return b.sub(b.sub(unsigned, correction(x, y)), correction(y, x));
}

function mulHigh(b: PtxBuilder, x: Value, y: Value): Value {
  const type = b.type();
  const signed = isSigned(type);
  if (isWide(type)) return mulHigh64(b, x, y, signed);
  if (bitsOf(type) === 32) return b.op(signed ? 'i32.mulHiS' : 'i32.mulHiU', x, y);
  return signed ? b.shrS(b.mul(x, y), 16) : b.shrU(b.mul(x, y), 16);
}

/** Twice as wide as the sources. */
function mulWide(b: PtxBuilder, x: Value, y: Value): Value {
  if (bitsOf(b.type()) === 16) return b.mul(x, y);
  const widen = (value: Value): Value => (isSigned(b.type()) ? b.sext64(value) : b.zext64(value));
  return b.mul(widen(x), widen(y));
}

/** Below and above 32 bits a signed sum is cut at its bounds. */
function saturated(b: PtxBuilder, sum: Value): Value {
  const [low, high] = [b.i64(-0x80000000n), b.i64(0x7fffffffn)];
  return b.low(b.select(b.ltS(sum, low), low, b.select(b.ltS(high, sum), high, sum)));
}

/** The low 24 bits, as their type says. */
const low24 = (b: PtxBuilder, value: Value): Value =>
  isSigned(b.type()) ? b.shrS(b.shl(value, 8), 8) : b.bits(value, 0, 24);

function product24(b: PtxBuilder, x: Value, y: Value): Value {
  const [p, q] = [low24(b, x), low24(b, y)];
  if (b.modifiers['half'] === 'lo') return b.mul(p, q);
  const widen = (value: Value): Value => (isSigned(b.type()) ? b.sext64(value) : b.zext64(value));
  return b.low(b.shrU(b.mul(widen(p), widen(q)), 16));
}

/**
 * Restoring division of 64 bits, one bit after the other: as many steps as bits, all of them built out.
 * `remainder` and `quotient` of numbers without sign; by 0 the quotient is all ones, the rest the dividend.
 */
function divide(b: PtxBuilder, x: Value, y: Value): { readonly quotient: Value; readonly remainder: Value } {
  const bits = x.type === 'i64' ? 64 : 32;
  let remainder = zero(b, x);
  let quotient = zero(b, x);
  for (let i = bits - 1; i >= 0; i--) {
    // The bit that is shifted out makes it larger than any divisor.
    const carry = b.ltS(remainder, zero(b, x));
    remainder = b.or(b.shl(remainder, 1), b.and(b.shrU(x, i), x.type === 'i64' ? b.i64(1n) : b.i32(1)));
    const fits = b.op('i1.or', carry, b.not(b.ltU(remainder, y)));
    remainder = b.select(fits, b.sub(remainder, y), remainder);
    const bit = x.type === 'i64' ? b.i64(1n << BigInt(i)) : b.i32(1 << i);
    quotient = b.select(fits, b.or(quotient, bit), quotient);
  }
  return { quotient, remainder };
}

/** 32 bits fit a double exactly, and a quotient that is no integer is too far from one to round to it. */
function divide32(b: PtxBuilder, x: Value, y: Value): { readonly quotient: Value; readonly remainder: Value } {
  const double = (value: Value): Value => b.op('f64.fromI32U', value);
  const isZero = b.isZero(y);
  const quotient = b.op('f64.toI32U', b.op('f64.div', double(x), double(y)));
  const remainder = b.sub(x, b.mul(quotient, y));
  return { quotient: b.select(isZero, b.i32(-1), quotient), remainder: b.select(isZero, x, remainder) };
}

/** By the signs of C. A division by zero gives all ones, its rest is the dividend; nothing traps. */
function division(b: PtxBuilder, x: Value, y: Value, part: 'quotient' | 'remainder'): Value {
  const of = (p: Value, q: Value): Value => (p.type === 'i64' ? divide(b, p, q) : divide32(b, p, q))[part];
  if (!isSigned(b.type())) return of(x, y);
  const isNegative = (value: Value): Value => b.ltS(value, zero(b, value));
  const magnitude = (value: Value): Value => b.select(isNegative(value), b.neg(value), value);
  const size = of(magnitude(x), magnitude(y));
  const sign = part === 'remainder' ? isNegative(x) : b.op('i1.xor', isNegative(x), isNegative(y));
  const signed = b.select(sign, b.neg(size), size);
  return part === 'quotient' ? b.select(b.isZero(y), ones(b, x), signed) : signed;
}

/** Amounts of the width and above shift everything out (PTX ISA 9.7.8.8). */
function shift(b: PtxBuilder, x: Value, amount: Value, direction: 'left' | 'right'): Value {
  const type = b.type();
  const bits = bitsOf(type);
  const isBeyond = b.not(b.ltU(amount, b.i32(bits)));
  if (direction === 'left') return b.select(isBeyond, zero(b, x), b.shl(x, amount));
  if (!isSigned(type)) return b.select(isBeyond, zero(b, x), b.shrU(x, amount));
  return b.shrS(x, b.select(isBeyond, b.i32(bits - 1), amount));
}

/** 64 bits of both sources, shifted. */
function funnel(b: PtxBuilder, low: Value, high: Value, amount: Value, direction: 'left' | 'right'): Value {
  const count = b.has('wrap') ? b.and(amount, b.i32(31)) : b.minU(amount, b.i32(32));
  const both = b.pack(low, high);
  return direction === 'left' ? b.high(b.shl(both, count)) : b.low(b.shrU(both, count));
}

/** The byte of eight that the low three bits of a nibble name; its fourth bit asks for the sign alone. */
function permuted(b: PtxBuilder, both: Value, selector: Value): Value {
  const byte = b.low(b.shrU(both, b.shl(b.and(selector, b.i32(7)), 3)));
  const isSign = b.ne(b.and(selector, b.i32(8)), b.i32(0));
  return b.bits(b.select(isSign, b.shrS(b.sext8(byte), 7), byte), 0, 8);
}

/** Selectors of the modes with names, by the low two bits of the third operand (PTX ISA 9.7.9.7). */
const PERMUTE_MODES: Readonly<Record<string, readonly number[]>> = {
  f4e: [0x3210, 0x4321, 0x5432, 0x6543],
  b4e: [0x5670, 0x6701, 0x7012, 0x0123],
  rc8: [0x0000, 0x1111, 0x2222, 0x3333],
  ecl: [0x3210, 0x3211, 0x3222, 0x3333],
  ecr: [0x0000, 0x1110, 0x2210, 0x3210],
  rc16: [0x1010, 0x3232, 0x1010, 0x3232],
};

function permute(b: PtxBuilder, x: Value, y: Value, selector: Value): Value {
  const { mode } = b.modifiers;
  const both = b.pack(x, y);
  let nibbles = selector;
  if (mode !== undefined) {
    const [first = 0, ...others] = PERMUTE_MODES[mode]!;
    const index = b.and(selector, b.i32(3));
    nibbles = others.reduce(
      (chosen, each, i) => b.select(b.eq(index, b.i32(i + 1)), b.i32(each), chosen),
      b.i32(first),
    );
  }
  const bytes = [0, 1, 2, 3].map((i) => b.shl(permuted(b, both, b.bits(nibbles, 4 * i, 4)), 8 * i));
  return bytes.reduce((all, byte) => b.or(all, byte));
}

/** Position and length count modulo 256; bits beyond the width repeat the sign (PTX ISA 9.7.1.18). */
function extractField(b: PtxBuilder, x: Value, position: Value, length: Value): Value {
  const type = b.type();
  const bits = bitsOf(type);
  const [at, count] = [b.bits(position, 0, 8), b.bits(length, 0, 8)];
  const shifted = (value: Value, amount: Value, signed: boolean): Value => {
    const isBeyond = b.not(b.ltU(amount, b.i32(bits)));
    if (signed) return b.shrS(value, b.select(isBeyond, b.i32(bits - 1), amount));
    return b.select(isBeyond, zero(b, x), b.shrU(value, amount));
  };
  const isEmpty = b.isZero(count);
  const isAll = b.not(b.ltU(count, b.i32(bits)));
  if (!isSigned(type)) {
    const mask = b.select(isAll, ones(b, x), b.sub(b.shl(one(b, x), count), one(b, x)));
    return b.select(isEmpty, zero(b, x), b.and(shifted(x, at, false), mask));
  }
  // The sign is the field's last bit, or the last one of all.
  const last = b.minU(b.sub(b.add(at, count), b.i32(1)), b.i32(bits - 1));
  const sign = b.ne(b.and(b.shrU(x, last), one(b, x)), zero(b, x));
  const mask = b.select(isAll, ones(b, x), b.sub(b.shl(one(b, x), count), one(b, x)));
  // What lies beyond the last bit repeats that.
  const field = b.and(shifted(x, at, true), mask);
  return b.select(isEmpty, zero(b, x), b.select(sign, b.or(field, b.not(mask)), field));
}

const one = (b: PtxBuilder, like: Value): Value => (like.type === 'i64' ? b.i64(1n) : b.i32(1));

function insertField(b: PtxBuilder, x: Value, y: Value, position: Value, length: Value): Value {
  const bits = bitsOf(b.type());
  const [at, count] = [b.bits(position, 0, 8), b.bits(length, 0, 8)];
  const isAll = b.not(b.ltU(count, b.i32(bits)));
  const low = b.select(isAll, ones(b, x), b.sub(b.shl(one(b, x), count), one(b, x)));
  const isBeyond = b.not(b.ltU(at, b.i32(bits)));
  const mask = b.select(isBeyond, zero(b, x), b.shl(low, at));
  return b.or(b.and(b.shl(x, at), mask), b.and(y, b.not(mask)));
}

/** Each element of the result is computed of those of two sources. */
const eachOf =
  (compute: (b: PtxBuilder, type: PtxType, x: Value, y: Value) => Value) =>
  (b: PtxBuilder): void =>
    b.write(
      0,
      b.perElement(b.type(), b.sources, (type, x, y) => compute(b, type, x!, y!)),
    );

const minMax = (b: PtxBuilder, type: PtxType, x: Value, y: Value, want: 'min' | 'max'): Value => {
  const signed = isSigned(type);
  if (want === 'min') return signed ? b.minS(x, y) : b.minU(x, y);
  return signed ? b.maxS(x, y) : b.maxU(x, y);
};

export function reversedBits(b: PtxBuilder, x: Value): Value {
  if (x.type === 'i64') return b.pack(reversedBits(b, b.high(x)), reversedBits(b, b.low(x)));
  const swap = (value: Value, mask: number, distance: number): Value =>
    b.or(b.and(b.shrU(value, distance), b.i32(mask)), b.shl(b.and(value, b.i32(mask)), distance));
  const bytes = swap(swap(swap(x, 0x55555555, 1), 0x33333333, 2), 0x0f0f0f0f, 4);
  return b.or(b.shl(swap(bytes, 0x00ff00ff, 8), 16), b.shrU(swap(bytes, 0x00ff00ff, 8), 16));
}

/** The highest bit that differs from the sign; all ones for none. */
function highestBit(b: PtxBuilder, x: Value): Value {
  const wide = x.type === 'i64';
  const bits = wide ? 64 : 32;
  const folded = isSigned(b.type()) ? b.xor(x, b.shrS(x, bits - 1)) : x;
  const leading = b.op(wide ? 'i64.clz' : 'i32.clz', folded);
  const place = b.has('shiftamt') ? leading : b.sub(b.i32(bits - 1), leading);
  return b.select(b.isZero(folded), b.i32(-1), place);
}

function sumOfDifference(b: PtxBuilder, x: Value, y: Value, z: Value): Value {
  const isLess = isSigned(b.type()) ? b.ltS(x, y) : b.ltU(x, y);
  return b.add(b.select(isLess, b.sub(y, x), b.sub(x, y)), z);
}

/** All of the 256 functions of three bits: `table` has a bit for each (PTX ISA 9.7.8.6). */
export function anyLogic(b: PtxBuilder, x: Value, y: Value, z: Value, table: Value): Value {
  const of = (value: Value, isOn: boolean): Value => (isOn ? value : b.not(value));
  return Array.from({ length: 8 }, (_, i) => {
    const term = b.and(b.and(of(x, (i & 4) !== 0), of(y, (i & 2) !== 0)), of(z, (i & 1) !== 0));
    return b.and(term, b.neg(b.bits(table, i, 1)));
  }).reduce((all, term) => b.or(all, term));
}

/** Four products of bytes, or two of a half with a byte, and the accumulator. */
function dotProduct(b: PtxBuilder, x: Value, y: Value, z: Value, firstByte: number | undefined): Value {
  const part = (value: Value, low: number, bits: 8 | 16, type: string): Value => {
    const field = b.bits(value, low, bits);
    if (!type.startsWith('s')) return field;
    return bits === 8 ? b.sext8(field) : b.sext16(field);
  };
  const { atype = 'u32', btype = 'u32' } = b.modifiers;
  const terms =
    firstByte === undefined
      ? [0, 8, 16, 24].map((low) => b.mul(part(x, low, 8, atype), part(y, low, 8, btype)))
      : [0, 1].map((i) => b.mul(part(x, 16 * i, 16, atype), part(y, firstByte + 8 * i, 8, btype)));
  return terms.reduce((all, term) => b.add(all, term), z);
}

/** The carry of the thread, as wide as what it is added to. */
const carried = (b: PtxBuilder, index: number, like: Value): Value =>
  like.type === 'i64' ? b.zext64(b.read(index)) : b.read(index);

/** A sum with the carry that was, if that counts, and the one that comes of it. */
function carrySum(b: PtxBuilder, x: Value, y: Value, before: Value | undefined): void {
  const sum = b.add(x, y);
  const total = before ? b.add(sum, before) : sum;
  const over = b.ltU(sum, x);
  b.write(0, total);
  if (b.has('cc')) b.write(b.lastWritten, before ? b.op('i1.or', over, b.ltU(total, before)) : over);
}

/** A borrow is a carry of 0, as one sees where a sum reads what a difference left. */
function borrowDifference(b: PtxBuilder, x: Value, y: Value, before: Value | undefined): void {
  const difference = b.sub(x, y);
  const borrowed = before && b.sub(one(b, x), before);
  b.write(0, borrowed ? b.sub(difference, borrowed) : difference);
  const under = b.ltU(x, y);
  const isBorrow = borrowed ? b.op('i1.or', under, b.ltU(difference, borrowed)) : under;
  if (b.has('cc')) b.write(b.lastWritten, b.not(isBorrow));
}

const withCarry =
  (compute: (b: PtxBuilder, x: Value, y: Value, before: Value | undefined) => void, carry?: number) =>
  (b: PtxBuilder): void => {
    const x = b.read(1);
    compute(b, x, b.read(2), carry === undefined ? undefined : carried(b, carry, x));
  };

/** A part of a product, and the third operand. */
const productCarry =
  (part: 'lo' | 'hi', carry?: number) =>
  (b: PtxBuilder): void => {
    const [x, y, z] = [b.read(1), b.read(2), b.read(3)];
    const product = part === 'lo' ? b.mul(x, y) : mulHigh(b, x, y);
    carrySum(b, product, z, carry === undefined ? undefined : carried(b, carry, z));
  };

const CARRYING = '.type=u32|s32|u64|s64';

// biome-ignore format: one row per line, as the tables of the manual
const CARRY_ROWS: readonly PtxRow[] = [
  ptxRow('add', `.cc${CARRYING}`, '=type type type =carry', withCarry(carrySum)),
  ptxRow('addc', CARRYING, '=type type type carry', withCarry(carrySum, 3)),
  ptxRow('addc', `.cc${CARRYING}`, '=type type type carry =carry', withCarry(carrySum, 3)),
  ptxRow('sub', `.cc${CARRYING}`, '=type type type =carry', withCarry(borrowDifference)),
  ptxRow('subc', CARRYING, '=type type type carry', withCarry(borrowDifference, 3)),
  ptxRow('subc', `.cc${CARRYING}`, '=type type type carry =carry', withCarry(borrowDifference, 3)),
  ...(['lo', 'hi'] as const).flatMap((part) => [
    ptxRow('mad', `.${part}.cc${CARRYING}`, '=type type type type =carry', productCarry(part)),
    ptxRow('madc', `.${part}${CARRYING}`, '=type type type type carry', productCarry(part, 4)),
    ptxRow('madc', `.${part}.cc${CARRYING}`, '=type type type type carry =carry', productCarry(part, 4)),
  ]),
];

// biome-ignore format: one row per line, as the tables of the manual
export const INTEGER_ROWS: readonly PtxRow[] = [
  ...CARRY_ROWS,
  ptxRow('add', '.type=@int', '=type type type', result((b, x, y) => b.add(x!, y!))),
  ptxRow('add', '.sat.type=s32', '=type type type', result((b, x, y) => saturated(b, b.add(b.sext64(x!), b.sext64(y!))))),
  ptxRow('sub', '.type=@int', '=type type type', result((b, x, y) => b.sub(x!, y!))),
  ptxRow('sub', '.sat.type=s32', '=type type type', result((b, x, y) => saturated(b, b.sub(b.sext64(x!), b.sext64(y!))))),
  ptxRow('mul', '.lo.type=@int', '=type type type', result((b, x, y) => b.mul(x!, y!))),
  ptxRow('mul', '.hi.type=@int', '=type type type', result((b, x, y) => mulHigh(b, x!, y!))),
  ptxRow('mul', '.wide.type=u16|s16', '=b32 type type', result((b, x, y) => mulWide(b, x!, y!))),
  ptxRow('mul', '.wide.type=u32|s32', '=b64 type type', result((b, x, y) => mulWide(b, x!, y!))),
  ptxRow('mad', '.lo.type=@int', '=type type type type', result((b, x, y, z) => b.add(b.mul(x!, y!), z!))),
  ptxRow('mad', '.hi.type=@int', '=type type type type', result((b, x, y, z) => b.add(mulHigh(b, x!, y!), z!))),
  ptxRow('mad', '.hi.sat.type=s32', '=type type type type', result((b, x, y, z) => saturated(b, b.add(b.sext64(mulHigh(b, x!, y!)), b.sext64(z!))))),
  ptxRow('mad', '.wide.type=u16|s16', '=b32 type type b32', result((b, x, y, z) => b.add(mulWide(b, x!, y!), z!))),
  ptxRow('mad', '.wide.type=u32|s32', '=b64 type type b64', result((b, x, y, z) => b.add(mulWide(b, x!, y!), z!))),
  ptxRow('mul24', '.half=lo|hi.type=@int32', '=type type type', result((b, x, y) => product24(b, x!, y!))),
  ptxRow('mad24', '.half=lo|hi.type=@int32', '=type type type type', result((b, x, y, z) => b.add(product24(b, x!, y!), z!))),
  ptxRow('mad24', '.half=hi.sat.type=s32', '=type type type type', result((b, x, y, z) => saturated(b, b.add(b.sext64(product24(b, x!, y!)), b.sext64(z!))))),
  ptxRow('div', '.type=@int', '=type type type', result((b, x, y) => division(b, x!, y!, 'quotient'))),
  ptxRow('rem', '.type=@int', '=type type type', result((b, x, y) => division(b, x!, y!, 'remainder'))),
  ptxRow('abs', '.type=s16|s32|s64', '=type type', result((b, x) => b.select(b.ltS(x!, zero(b, x!)), b.neg(x!), x!))),
  ptxRow('neg', '.type=s16|s32|s64', '=type type', result((b, x) => b.neg(x!))),
  ptxRow('min', '.type=@int', '=type type type', eachOf((b, type, x, y) => minMax(b, type, x, y, 'min'))),
  ptxRow('max', '.type=@int', '=type type type', eachOf((b, type, x, y) => minMax(b, type, x, y, 'max'))),
  ptxRow('add', '.type=u16x2|s16x2', '=type type type', eachOf((b, _, x, y) => b.add(x, y))),
  ptxRow('min', '.type=u16x2|s16x2', '=type type type', eachOf((b, type, x, y) => minMax(b, type, x, y, 'min'))),
  ptxRow('max', '.type=u16x2|s16x2', '=type type type', eachOf((b, type, x, y) => minMax(b, type, x, y, 'max'))),
  ptxRow('min', '.relu.type=s32|s16x2', '=type type type', eachOf((b, type, x, y) => b.maxS(minMax(b, type, x, y, 'min'), b.i32(0)))),
  ptxRow('max', '.relu.type=s32|s16x2', '=type type type', eachOf((b, type, x, y) => b.maxS(minMax(b, type, x, y, 'max'), b.i32(0)))),
  ptxRow('sad', '.type=@int', '=type type type type', result((b, x, y, z) => sumOfDifference(b, x!, y!, z!))),
  ptxRow('popc', '.type=b32', '=u32 type', result((b, x) => b.op('i32.popcnt', x!))),
  ptxRow('popc', '.type=b64', '=u32 type', result((b, x) => b.op('i64.popcnt', x!))),
  ptxRow('clz', '.type=b32', '=u32 type', result((b, x) => b.op('i32.clz', x!))),
  ptxRow('clz', '.type=b64', '=u32 type', result((b, x) => b.op('i64.clz', x!))),
  ptxRow('bfind', '.shiftamt?.type=u32|s32|u64|s64', '=u32 type', result((b, x) => highestBit(b, x!))),
  ptxRow('brev', '.type=b32|b64', '=type type', result((b, x) => reversedBits(b, x!))),
  ptxRow('bfe', '.type=u32|s32|u64|s64', '=type type u32 u32', result((b, x, p, n) => extractField(b, x!, p!, n!))),
  ptxRow('bfi', '.type=b32|b64', '=type type type u32 u32', result((b, x, y, p, n) => insertField(b, x!, y!, p!, n!))),
  ptxRow('prmt', '.b32.mode=f4e|b4e|rc8|ecl|ecr|rc16?', '=b32 b32 b32 b32', result((b, x, y, s) => permute(b, x!, y!, s!))),
  ptxRow('dp4a', '.atype=@int32.btype=@int32', '=b32 b32 b32 b32', result((b, x, y, z) => dotProduct(b, x!, y!, z!, undefined))),
  ptxRow('dp2a', '.half=lo.atype=@int32.btype=@int32', '=b32 b32 b32 b32', result((b, x, y, z) => dotProduct(b, x!, y!, z!, 0))),
  ptxRow('dp2a', '.half=hi.atype=@int32.btype=@int32', '=b32 b32 b32 b32', result((b, x, y, z) => dotProduct(b, x!, y!, z!, 16))),
  ptxRow('and', '.type=@bits', '=type type type', result((b, x, y) => b.and(x!, y!))),
  ptxRow('or', '.type=@bits', '=type type type', result((b, x, y) => b.or(x!, y!))),
  ptxRow('xor', '.type=@bits', '=type type type', result((b, x, y) => b.xor(x!, y!))),
  ptxRow('not', '.type=@bits', '=type type', result((b, x) => b.not(x!))),
  ptxRow('and', '.type=pred', '=type type type', result((b, x, y) => b.op('i1.and', x!, y!))),
  ptxRow('or', '.type=pred', '=type type type', result((b, x, y) => b.op('i1.or', x!, y!))),
  ptxRow('xor', '.type=pred', '=type type type', result((b, x, y) => b.op('i1.xor', x!, y!))),
  ptxRow('not', '.type=pred', '=type type', result((b, x) => b.not(x!))),
  ptxRow('cnot', '.type=@bits', '=type type', result((b, x) => b.select(b.isZero(x!), one(b, x!), zero(b, x!)))),
  ptxRow('lop3', '.b32', '=b32 b32 b32 b32 b32', result((b, x, y, z, t) => anyLogic(b, x!, y!, z!, t!))),
  ptxRow('shl', '.type=@bits', '=type type u32', result((b, x, n) => shift(b, x!, n!, 'left'))),
  ptxRow('shr', '.type=b16|b32|b64|u16|u32|u64|s16|s32|s64', '=type type u32', result((b, x, n) => shift(b, x!, n!, 'right'))),
  ptxRow('shf', '.l.wrap?.clamp?.b32', '=b32 b32 b32 u32', result((b, x, y, n) => funnel(b, x!, y!, n!, 'left'))),
  ptxRow('shf', '.r.wrap?.clamp?.b32', '=b32 b32 b32 u32', result((b, x, y, n) => funnel(b, x!, y!, n!, 'right'))),
];
