/**
 * Video instructions: integers of 33 bits, or two or four of them side by side. PTX ISA 9.7.17 "Scalar Video
 * Instructions", 9.7.18 "SIMD Video Instructions". Parts of operands, such as `.b0`, are not there.
 */
import type { Value } from '../../ir/types.ts';
import { isSigned, type PtxType } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

type Compute = (b: PtxBuilder, x: Value, y: Value) => Value;

const wide = (b: PtxBuilder, type: PtxType, value: Value): Value =>
  isSigned(type) ? b.sext64(value) : b.zext64(value);

const distance: Compute = (b, x, y) => b.select(b.ltS(x, y), b.sub(y, x), b.sub(x, y));

/** Upwards where the sum is not negative. */
const average: Compute = (b, x, y) => {
  const sum = b.add(x, y);
  return b.shrS(b.select(b.ltS(sum, b.i64(0n)), sum, b.add(sum, b.i64(1n))), 1);
};

const OPERATIONS: Readonly<Record<string, Compute>> = {
  add: (b, x, y) => b.add(x, y),
  sub: (b, x, y) => b.sub(x, y),
  absdiff: distance,
  min: (b, x, y) => b.minS(x, y),
  max: (b, x, y) => b.maxS(x, y),
};

/** Amounts above 32 count as 32, or modulo 32. */
function shifted(b: PtxBuilder, x: Value, amount: Value, direction: 'left' | 'right'): Value {
  const low = b.low(amount);
  const count = b.modifiers['mode'] === 'clamp' ? b.minU(low, b.i32(32)) : b.and(low, b.i32(31));
  if (direction === 'right') return b.shrS(x, count);
  const value = b.shl(x, count);
  // What is too large for the sign of 64 bits is larger than all results.
  const isBeyond = b.op('i1.and', b.ltS(value, b.i64(0n)), b.not(b.ltS(x, b.i64(0n))));
  return b.has('sat') ? b.select(isBeyond, b.i64((1n << 63n) - 1n), value) : value;
}

const SHIFTS: Readonly<Record<string, Compute>> = {
  shl: (b, x, y) => shifted(b, x, y, 'left'),
  shr: (b, x, y) => shifted(b, x, y, 'right'),
};

const RELATIONS: Readonly<Record<string, (b: PtxBuilder, x: Value, y: Value) => Value>> = {
  eq: (b, x, y) => b.eq(x, y),
  ne: (b, x, y) => b.ne(x, y),
  lt: (b, x, y) => b.ltS(x, y),
  le: (b, x, y) => b.not(b.ltS(y, x)),
  gt: (b, x, y) => b.ltS(y, x),
  ge: (b, x, y) => b.not(b.ltS(x, y)),
};

const compared: Compute = (b, x, y) => b.zext64(b.boolToI32(RELATIONS[b.modifiers['compare']!]!(b, x, y)));

/** Cut at the bounds of an integer of so many bits. */
function saturated(b: PtxBuilder, bits: number, signed: boolean, value: Value): Value {
  const [least, most] = signed
    ? [-(1n << BigInt(bits - 1)), (1n << BigInt(bits - 1)) - 1n]
    : [0n, (1n << BigInt(bits)) - 1n];
  return b.minS(b.maxS(value, b.i64(least)), b.i64(most));
}

/** Type of the result; comparisons have none of their own. */
const resultType = (b: PtxBuilder): PtxType => (b.modifiers['to'] === undefined ? 'u32' : b.type('to'));

function combined(b: PtxBuilder, value: Value, other: Value): Value {
  const signed = isSigned(resultType(b));
  switch (b.modifiers['second']) {
    case 'add':
      return b.add(value, other);
    case 'min':
      return signed ? b.minS(value, other) : b.minU(value, other);
    default:
      return signed ? b.maxS(value, other) : b.maxU(value, other);
  }
}

const scalar =
  (compute: Compute) =>
  (b: PtxBuilder): void => {
    const value = compute(b, wide(b, b.type('a'), b.read(1)), wide(b, b.type('b'), b.read(2)));
    const cut = b.has('sat') ? saturated(b, 32, isSigned(resultType(b)), value) : value;
    b.write(0, b.has('second') ? combined(b, b.low(cut), b.read(3)) : b.low(cut));
  };

/** A product and a sum, shifted: wide enough, as 64 bits hold the product and its sign. */
function multiplyAdd(b: PtxBuilder): void {
  const signed = isSigned(b.type('a')) || isSigned(b.type('b'));
  const product = b.mul(wide(b, b.type('a'), b.read(1)), wide(b, b.type('b'), b.read(2)));
  const addend = signed ? b.sext64(b.read(3)) : b.zext64(b.read(3));
  const sum = b.add(b.add(product, addend), b.i64(b.has('po') ? 1n : 0n));
  const shift = Number((b.modifiers['scale'] ?? 'shr0').slice(3));
  const scaled = signed ? b.shrS(sum, shift) : b.shrU(sum, shift);
  if (!b.has('sat')) b.write(0, b.low(scaled));
  else if (signed) b.write(0, b.low(saturated(b, 32, true, scaled)));
  else b.write(0, b.low(b.minU(scaled, b.i64(0xffffffffn))));
}

/** The third source is what the elements are added to, where that is asked for. */
const parallel =
  (count: 2 | 4, compute: Compute) =>
  (b: PtxBuilder): void => {
    const bits = 32 / count;
    const part = (value: Value, type: PtxType, index: number): Value => {
      const field = b.bits(value, index * bits, bits);
      if (!isSigned(type)) return b.zext64(field);
      return b.sext64(bits === 8 ? b.sext8(field) : b.sext16(field));
    };
    const elements = Array.from({ length: count }, (_, i) => {
      const value = compute(b, part(b.read(1), b.type('a'), i), part(b.read(2), b.type('b'), i));
      return b.low(b.has('sat') ? saturated(b, bits, isSigned(resultType(b)), value) : value);
    });
    if (b.has('second'))
      b.write(
        0,
        elements.reduce((sum, each) => b.add(sum, each), b.read(3)),
      );
    else
      b.write(
        0,
        elements.map((each, i) => b.shl(b.bits(each, 0, bits), i * bits)).reduce((all, each) => b.or(all, each)),
      );
  };

const SOURCES = '.a=u32|s32.b=u32|s32';
const TYPES = `.to=u32|s32${SOURCES}`;
const SECOND = '.second=add|min|max';
const COMPARE = '.compare=eq|ne|lt|le|gt|ge';

/** With and without a second operation. */
const scalarRows = (name: string, types: string, compute: Compute): PtxRow[] => [
  ptxRow(name, types, '=u32 u32 u32', scalar(compute)),
  ptxRow(name, `${types}${SECOND}`, '=u32 u32 u32 u32', scalar(compute)),
];

const parallelRows = (name: string, types: string, compute: Compute): PtxRow[] =>
  ([2, 4] as const).map((count) => ptxRow(`${name}${count}`, types, '=u32 u32 u32 u32', parallel(count, compute)));

export const VIDEO_ROWS: readonly PtxRow[] = [
  ...Object.entries(OPERATIONS).flatMap(([name, compute]) => [
    ...scalarRows(`v${name}`, `${TYPES}.sat?`, compute),
    ...parallelRows(`v${name}`, `${TYPES}.sat?.second=add?`, compute),
  ]),
  ...parallelRows('vavrg', `${TYPES}.sat?.second=add?`, average),
  ...Object.entries(SHIFTS).flatMap(([name, compute]) =>
    scalarRows(`v${name}`, `${TYPES}.sat?.mode=clamp|wrap`, compute),
  ),
  ...scalarRows('vset', `${SOURCES}${COMPARE}`, compared),
  ...parallelRows('vset', `${SOURCES}${COMPARE}.second=add?`, compared),
  ptxRow('vmad', `${TYPES}.po?.sat?.scale=shr7|shr15?`, '=u32 u32 u32 u32', multiplyAdd),
];
