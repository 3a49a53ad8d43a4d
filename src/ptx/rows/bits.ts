/** Masks and fields by position. PTX ISA 9.7.1 "Integer Arithmetic", 9.7.8 "Logic and Shift". */
import type { Value } from '../../ir/types.ts';
import type { PtxBuilder } from './builder.ts';
import { anyLogic, result, reversedBits } from './integer.ts';
import { type PtxRow, ptxRow } from './row.ts';

/** Bits below a position; all of them for 32. */
const below = (b: PtxBuilder, position: Value): Value => {
  const mask = b.sub(b.shl(b.i32(1), position), b.i32(1));
  return b.select(b.ltU(position, b.i32(32)), mask, b.i32(-1));
};

/** A position or a width: cut at 32, or counted modulo 32. */
const limited = (b: PtxBuilder, value: Value): Value =>
  b.modifiers['mode'] === 'clamp' ? b.minU(value, b.i32(32)) : b.and(value, b.i32(31));

function extended(b: PtxBuilder, x: Value, width: Value): Value {
  const bits = limited(b, width);
  const mask = below(b, bits);
  const field = b.and(x, mask);
  if (b.type() === 'u32') return field;
  const last = b.sub(bits, b.i32(1));
  const isNegative = b.ne(b.and(b.shrU(field, last), b.i32(1)), b.i32(0));
  const hasSign = b.op('i1.and', b.not(b.isZero(bits)), isNegative);
  return b.select(hasSign, b.or(field, b.not(mask)), field);
}

function fieldMask(b: PtxBuilder, position: Value, width: Value): Value {
  const [at, bits] = [limited(b, position), limited(b, width)];
  const shifted = b.shl(below(b, bits), at);
  return b.select(b.ltU(at, b.i32(32)), shifted, b.i32(0));
}

/** The place of the bit that is the n-th from below, n from 1; the mask has as many. */
function placeOfBit(b: PtxBuilder, mask: Value, n: Value): Value {
  let [place, rest]: [Value, Value] = [b.i32(0), n];
  for (const width of [16, 8, 4, 2, 1]) {
    const count = b.op('i32.popcnt', b.bits(b.shrU(mask, place), 0, width));
    const isAbove = b.ltU(count, rest);
    rest = b.select(isAbove, b.sub(rest, count), rest);
    place = b.select(isAbove, b.add(place, b.i32(width)), place);
  }
  return place;
}

/** The set bit that is so many from a position, upwards or downwards; all ones for none. */
function findBit(b: PtxBuilder, mask: Value, base: Value, offset: Value): Value {
  const isDown = b.ltS(offset, b.i32(0));
  const [bits, start] = [b.select(isDown, reversedBits(b, mask), mask), b.select(isDown, b.sub(b.i32(31), base), base)];
  const isHere = b.isZero(offset);
  const one = b.shl(b.i32(1), start);
  const candidates = b.and(bits, b.select(isHere, one, b.neg(one)));
  const n = b.select(isHere, b.i32(1), b.select(isDown, b.neg(offset), offset));
  const place = placeOfBit(b, candidates, n);
  const isThere = b.not(b.ltU(b.op('i32.popcnt', candidates), n));
  return b.select(isThere, b.select(isDown, b.sub(b.i32(31), place), place), b.i32(-1));
}

/** Whether any bit of the result is set goes to a predicate, combined with another one. */
function logicPredicate(b: PtxBuilder): void {
  const value = anyLogic(b, b.read(2), b.read(3), b.read(4), b.read(5));
  const other = b.read(6);
  const isSet = b.not(b.isZero(value));
  b.write(0, value);
  b.write(1, b.modifiers['with'] === 'or' ? b.op('i1.or', isSet, other) : b.op('i1.and', isSet, other));
}

// biome-ignore format: one row per line, as the tables of the manual
export const BIT_ROWS: readonly PtxRow[] = [
  ptxRow('szext', '.mode=clamp|wrap.type=u32|s32', '=type type u32', result((b, x, n) => extended(b, x!, n!))),
  ptxRow('bmsk', '.mode=clamp|wrap.b32', '=b32 u32 u32', result((b, p, n) => fieldMask(b, p!, n!))),
  ptxRow('fns', '.b32', '=b32 b32 u32 s32', result((b, m, p, n) => findBit(b, m!, p!, n!))),
  ptxRow('lop3', '.with=or|and.b32', '=b32 |=pred b32 b32 b32 b32 pred', logicPredicate),
];
