/**
 * Byte-wise instructions: averages, permutation, sums of absolute differences. CDNA2 ISA 12.11, opcodes 461
 * to 493.
 */
import type { Builder } from '../../../ir/builder.ts';
import type { Value } from '../../../ir/types.ts';
import type { Semantics } from './instruction-builder.ts';

const BYTES = [0, 1, 2, 3];

/** Unsigned |x - y|. */
export const absoluteDifference = (b: Builder, x: Value, y: Value): Value => b.sub(b.maxU(x, y), b.minU(x, y));

/** The byte differences of two dwords; masked: a zero byte of `y` counts as no difference. */
export const sumBytes =
  (masked: boolean) =>
  (b: Builder, x: Value, y: Value): Value[] =>
    BYTES.map((i) => {
      const [p, q] = [b.bits(x, i * 8, 8), b.bits(y, i * 8, 8)];
      const difference = absoluteDifference(b, p, q);
      return masked ? b.select(b.isZero(q), b.i32(0), difference) : difference;
    });

const joinBytes = (b: Builder, bytes: readonly Value[]): Value =>
  bytes.map((byte, i) => b.shl(byte, i * 8)).reduce((word, byte) => b.or(word, byte));

/** Averages of the bytes; bit 0 of a byte of src2 rounds up. */
export const lerpBytes: Semantics = (b, x, y, rounding) =>
  joinBytes(
    b,
    BYTES.map((i) => {
      const sum = b.add(b.bits(x, i * 8, 8), b.bits(y, i * 8, 8));
      return b.shrU(b.add(sum, b.bits(rounding, i * 8, 1)), 1);
    }),
  );

/** Each byte of src2 selects a byte of {S0, S1}, its sign (8 to 11: bytes 1, 3, 5, 7), 0 (12) or 255. */
export const permuteBytes: Semantics = (b, high, low, selects) => {
  const source = b.pack(low, high);
  return joinBytes(
    b,
    BYTES.map((i) => {
      const select = b.bits(selects, i * 8, 8);
      const byte = b.bits(b.low(b.shrU(source, b.shl(b.and(select, b.i32(7)), 3))), 0, 8);
      const signAt = b.add(b.shl(b.and(select, b.i32(3)), 4), b.i32(15));
      const sign = b.bits(b.neg(b.bits(b.low(b.shrU(source, signAt)), 0, 1)), 0, 8);
      const constant = b.select(b.eq(select, b.i32(12)), b.i32(0), b.i32(255));
      const upper = b.select(b.ltU(select, b.i32(12)), sign, constant);
      return b.select(b.ltU(select, b.i32(8)), byte, upper);
    }),
  );
};

/** The four differences of the windows at bytes 0 to 3 of src0 against src1. */
function windowSums(b: Builder, window: Value, reference: Value, masked: boolean): Value[] {
  return BYTES.map((i) => {
    const terms = sumBytes(masked)(b, b.low(b.shrU(window, i * 8)), reference);
    return terms.reduce((total, term) => b.add(total, term));
  });
}

/** Accumulates in four 16-bit fields; overflow of a field is lost. */
export const quadPacked =
  (masked: boolean): Semantics =>
  (b, window, reference, accumulator) => {
    const sums = windowSums(b, window, reference, masked);
    const fields = sums.map((sum, i) => {
      const half = i < 2 ? b.low(accumulator) : b.high(accumulator);
      return b.bits(b.add(sum, b.bits(half, (i & 1) * 16, 16)), 0, 16);
    });
    return b.pack(b.or(fields[0]!, b.shl(fields[1]!, 16)), b.or(fields[2]!, b.shl(fields[3]!, 16)));
  };

export const quadDwords: Semantics = (b, window, reference) => {
  const accumulators = b.dwords(b.index('src2'));
  const sums = windowSums(b, window, reference, true);
  b.setDwords(
    b.index('vdst'),
    sums.map((sum, i) => b.add(sum, accumulators[i]!)),
  );
};
