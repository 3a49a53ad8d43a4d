/** Bit operations that instructions of several formats share; on i32 and i64, per lane or uniform. */
import type { Builder } from '../../../ir/builder.ts';
import type { Value } from '../../../ir/types.ts';

const widthOf = (x: Value): 32 | 64 => (x.type === 'i64' ? 64 : 32);

/** Position of the lowest one, or -1. */
export function lowestOne(b: Builder, x: Value): Value {
  return b.select(b.isZero(x), b.i32(-1), b.op(x.type === 'i64' ? 'i64.ctz' : 'i32.ctz', x));
}

/** Number of zeros above the highest one, or -1 when there is no one. */
export function zerosAboveHighestOne(b: Builder, x: Value): Value {
  return b.select(b.isZero(x), b.i32(-1), b.op(x.type === 'i64' ? 'i64.clz' : 'i32.clz', x));
}

/** Number of bits from the top that equal the sign, or -1 when all do. */
export function signBits(b: Builder, x: Value): Value {
  return zerosAboveHighestOne(b, b.xor(x, b.shrS(x, widthOf(x) - 1)));
}

/** Exchanges neighbouring groups of bits: single ones, pairs, nibbles, bytes, halves. */
export function reverseBits(b: Builder, x: Value): Value {
  if (x.type === 'i64') return b.pack(reverseBits(b, b.high(x)), reverseBits(b, b.low(x)));
  let result = x;
  for (const [size, mask] of [
    [1, 0x55555555],
    [2, 0x33333333],
    [4, 0x0f0f0f0f],
    [8, 0x00ff00ff],
    [16, 0x0000ffff],
  ] as const) {
    const odd = b.and(b.shrU(result, size), b.i32(mask));
    result = b.or(odd, b.shl(b.and(result, b.i32(mask)), size));
  }
  return result;
}

/**
 * `width` bits of `x` from bit `offset` on, extended by the right shift `shift`. A field that reaches beyond
 * the top of `x` gets what the shift brings in; a width of 0 gives 0, one of 32 (64) or more the shifted
 * value.
 */
export function bitField(b: Builder, x: Value, offset: Value, width: Value, shift: 'shrU' | 'shrS'): Value {
  const bits = widthOf(x);
  const unused = b.sub(b.i32(bits), b.minU(width, b.i32(bits)));
  const field = b[shift](b.shl(b[shift](x, offset), unused), unused);
  return b.select(b.isZero(width), x.type === 'i64' ? b.i64(0n) : b.i32(0), field);
}

/** Bit `index` (modulo the width) of `x` as i1. */
export function bitAt(b: Builder, x: Value, index: Value): Value {
  const shifted = b.shrU(x, index);
  return b.ne(b.and(shifted, x.type === 'i64' ? b.i64(1n) : b.i32(1)), x.type === 'i64' ? b.i64(0n) : b.i32(0));
}
