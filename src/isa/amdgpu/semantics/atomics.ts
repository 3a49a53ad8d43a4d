/**
 * What atomics make of the value in memory. Integer ones are those of CDNA2 ISA 12.12 (DS) and 12.16 (FLAT),
 * floating-point ones follow 9.5 "Float Memory Atomics": rounding to nearest even, denormals by unit, NaN
 * rules.
 */
import type { Builder } from '../../../ir/builder.ts';
import { NEAREST_EVEN } from '../../../ir/float-bits.ts';
import type { Value } from '../../../ir/types.ts';

/**
 * New value from the old one, the data and, where there is one, the second data operand (the comparand of a
 * swap).
 */
export type AtomicUpdate = (b: Builder, old: Value, data: Value, second: Value) => Value;

const number = (b: Builder, like: Value, value: number): Value =>
  like.type === 'i64' ? b.i64(BigInt(value)) : b.i32(value);

/** For i32 and i64 alike. */
export const INTEGER_UPDATES = {
  add: (b, old, data) => b.add(old, data),
  sub: (b, old, data) => b.sub(old, data),
  rsub: (b, old, data) => b.sub(data, old),
  /** Not below 0. */
  clampedSub: (b, old, data) => b.select(b.ltU(old, data), number(b, old, 0), b.sub(old, data)),
  /** Only where the result is not below 0. */
  conditionalSub: (b, old, data) => b.select(b.ltU(old, data), old, b.sub(old, data)),
  inc: (b, old, data) => b.select(b.ltU(old, data), b.add(old, number(b, old, 1)), number(b, old, 0)),
  dec: (b, old, data) => b.select(b.op('i1.or', b.isZero(old), b.ltU(data, old)), data, b.sub(old, number(b, old, 1))),
  minS: (b, old, data) => b.minS(old, data),
  maxS: (b, old, data) => b.maxS(old, data),
  minU: (b, old, data) => b.minU(old, data),
  maxU: (b, old, data) => b.maxU(old, data),
  and: (b, old, data) => b.and(old, data),
  or: (b, old, data) => b.or(old, data),
  xor: (b, old, data) => b.xor(old, data),
  /** `data` is the mask of the bits that `second` replaces. */
  maskedOr: (b, old, data, second) => b.or(b.and(old, b.not(data)), second),
  swap: (_, __, data) => data,
  compareSwap: (b, old, data, compare) => b.select(b.eq(old, compare), data, old),
  wrap: (b, old, data, second) => b.select(b.ltU(old, data), b.add(old, second), b.sub(old, data)),
} satisfies Record<string, AtomicUpdate>;

interface Comparison {
  lt(a: Value, b: Value): Value;
  eq(a: Value, b: Value): Value;
}

const exactF64 = (b: Builder): Comparison => ({
  lt: (x, y) => b.op('f64.lt', x, y),
  eq: (x, y) => b.op('f64.eq', x, y),
});

/**
 * Selection rules of 9.5.3: a signalling NaN wins, quieted; a quiet NaN loses against any number; -0 is below
 * +0. The result is a source as it was, flushed or not in the comparison.
 */
const selection =
  (type: 'f32' | 'f64', want: 'less' | 'greater', comparisonOf = (b: Builder): Comparison => b[type]): AtomicUpdate =>
  (b, old, data) => {
    const f = b[type];
    const compare = comparisonOf(b);
    const oldFirst = b.op('i1.or', compare.lt(old, data), b.op('i1.and', compare.eq(old, data), f.isNegative(old)));
    const ordered = want === 'less' ? b.select(oldFirst, old, data) : b.select(oldFirst, data, old);
    const number = b.select(f.isNan(old), data, b.select(f.isNan(data), old, ordered));
    return b.select(f.isSignalling(old), f.quiet(old), b.select(f.isSignalling(data), f.quiet(data), number));
  };

const SIGN = 0x80000000;
const SMALLEST_NORMAL = 0x00800000;

const flushed32 = (b: Builder, a: Value): Value =>
  b.select(b.ltU(b.and(a, b.i32(~SIGN)), b.i32(SMALLEST_NORMAL)), b.and(a, b.i32(SIGN)), a);

const addF16 = (b: Builder, x: Value, y: Value): Value =>
  b.op('f16.fromF32', b.op('f32.add', b.op('f32.fromF16', x), b.op('f32.fromF16', y)));

/**
 * bf16 is the high half of f32; a sum rounded to f32 first rounds to the same bf16. A NaN is quiet before it
 * is cut.
 */
function addBf16(b: Builder, x: Value, y: Value, flush: (value: Value) => Value = (value) => value): Value {
  const sum = flush(b.op('f32.add', flush(b.shl(x, 16)), flush(b.shl(y, 16))));
  const odd = b.bits(sum, 16, 1);
  const rounded = b.add(sum, b.add(odd, b.i32(0x7fff)));
  return b.shrU(b.select(b.f32.isNan(sum), sum, rounded), 16);
}

const packedAdd = (b: Builder, old: Value, data: Value, add: (b: Builder, x: Value, y: Value) => Value): Value =>
  b.or(b.bits(add(b, old, data), 0, 16), b.shl(add(b, b.shrU(old, 16), b.shrU(data, 16)), 16));

/** MODE decides about denormals: in the LDS, from gfx10 on in the caches too (RDNA3 ISA 13.2). */
export const MODE_COMPARISONS = {
  minF32: selection('f32', 'less'),
  maxF32: selection('f32', 'greater'),
  minF64: selection('f64', 'less'),
  maxF64: selection('f64', 'greater'),
  compareSwapF32: (b, old, data, compare) => b.select(b.f32.eq(old, compare), b.f32.input(data), old),
  compareSwapF64: (b, old, data, compare) => b.select(b.f64.eq(old, compare), b.f64.input(data), old),
} satisfies Record<string, AtomicUpdate>;

/** The L2 cache: f32 denormals are always flushed, f64 and f16 ones never (table 43). */
export const CACHE_FLOAT_UPDATES = {
  addF32: (b, old, data) => flushed32(b, b.op('f32.add', flushed32(b, old), flushed32(b, data))),
  addF64: (b, old, data) => b.op('f64.add', old, data),
  minF64: selection('f64', 'less', exactF64),
  maxF64: selection('f64', 'greater', exactF64),
  packedAddF16: (b, old, data) => packedAdd(b, old, data, addF16),
  /** CDNA3 ISA 9.2, table 52: denormals kept. */
  packedAddBf16: (b, old, data) => packedAdd(b, old, data, (inner, x, y) => addBf16(inner, x, y)),
} satisfies Record<string, AtomicUpdate>;

/** The LDS: MODE decides about denormals, but for the f64 adder, which never flushes them (table 43). */
export const LDS_FLOAT_UPDATES = {
  addF32: (b, old, data) => b.rounding(NEAREST_EVEN).f32.add(old, data),
  packedAddF16: (b, old, data) =>
    packedAdd(b, old, data, (inner, x, y) =>
      inner.rounding(NEAREST_EVEN).f16.add(inner.bits(x, 0, 16), inner.bits(y, 0, 16)),
    ),
  /** FP_DENORM of f16 and f64 holds for bf16 too. */
  packedAddBf16: (b, old, data) => {
    const { inputs, results } = b.mode.flush64;
    return packedAdd(b, old, data, (inner, x, y) =>
      addBf16(inner, x, y, inputs || results ? (value) => flushed32(inner, value) : undefined),
    );
  },
  addF64: CACHE_FLOAT_UPDATES.addF64,
  ...MODE_COMPARISONS,
} satisfies Record<string, AtomicUpdate>;
