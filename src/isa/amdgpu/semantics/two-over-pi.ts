/**
 * v_trig_preop_f64: segments of 2/pi for the reduction of large angles, toward zero. CDNA2 ISA 12.11, opcode
 * 658. The manual's mask of the low bits after a left shift is meant as the bits that the shift moves in
 * front of the binary point.
 */
import type { Builder } from '../../../ir/builder.ts';
import { NEAREST_EVEN } from '../../../ir/float-bits.ts';
import type { Value } from '../../../ir/types.ts';
import { exponentField } from './float-rules.ts';
import type { Semantics } from './instruction-builder.ts';
import { scaleByPower } from './scaling.ts';

/** The first 1201 bits of the fraction of 2/pi, highest first, then zeros. */
const TWO_OVER_PI: readonly number[] = [
  0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a,
  0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
  0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf,
  0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
  0x56033046, 0xfc7b0000,
];

/**
 * Entry `index` of a table of constants; 0 beyond its end. Halves the table with one bit of the index after
 * the other.
 */
function lookUp(b: Builder, table: readonly number[], index: Value): Value {
  let entries = table.map((entry) => b.i32(entry));
  for (let bit = 0; entries.length > 1; bit++) {
    const isOdd = b.ne(b.bits(index, bit, 1), b.i32(0));
    const pairs = Array.from({ length: Math.ceil(entries.length / 2) }, (_, i) => i * 2);
    entries = pairs.map((i) => b.select(isOdd, entries[i + 1] ?? b.i32(0), entries[i]!));
  }
  return b.select(b.ltU(index, b.i32(table.length)), entries[0]!, b.i32(0));
}

/**
 * Segment `src1` of 53 bits, as far down as the exponent of src0 reaches, in its place relative to the binary
 * point.
 */
export const twoOverPiSegment: Semantics = (b, x, segment) => {
  const exponent = exponentField(b, 'f64', x);
  const beyond = b.maxS(b.sub(exponent, b.i32(1077)), b.i32(0));
  const shift = b.add(b.mul(b.bits(segment, 0, 5), b.i32(53)), beyond);
  const first = b.shrU(shift, 5);
  const [high, middle, low] = [0, 1, 2].map((i) => lookUp(b, TWO_OVER_PI, b.add(first, b.i32(i)))) as [
    Value,
    Value,
    Value,
  ];
  const offset = b.and(shift, b.i32(31));
  // 64 bits from the position on: the top 53 are the segment. A shift by 32 gives no bits of `low` when the
  // offset is 0.
  const upper = b.shl(b.pack(middle, high), offset);
  const lower = b.shrU(b.zext64(low), b.sub(b.i32(32), offset));
  const bits = b.shrU(b.or(upper, lower), 11);
  const value = b.op(
    'f64.add',
    b.op('f64.mul', b.op('f64.fromI32U', b.high(bits)), b.f64.constant(2 ** 32)),
    b.op('f64.fromI32U', b.low(bits)),
  );
  const large = b.select(b.ltS(exponent, b.i32(1968)), b.i32(0), b.i32(128));
  // Rounds toward zero whatever MODE says. So does the nearest number: a segment that loses digits loses a 0
  // first, always the same.
  return scaleByPower(b, 'f64', value, b.add(b.sub(b.i32(-53), shift), large), b.rounding(NEAREST_EVEN));
};
