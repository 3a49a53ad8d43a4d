/** Formats that f64 computes, against results by definition; constants are folded by the evaluator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Builder } from './builder.ts';
import {
  converted,
  expected,
  type FloatType,
  isNan,
  MODES,
  OPERATIONS,
  operandTuples,
  patterns,
} from './exact-rounding.test-support.ts';
import type { Rounding } from './float-bits.ts';
import { BF16, E4M3, E5M2, HALF, type NarrowFormat, narrowed, TF32, widened } from './narrow-float.ts';
import type { Value } from './types.ts';

const RUNS = { numRuns: 100 };
const KEPT = { inputs: false, results: false };
const b = new Builder(64, {
  ...{ round32: 0, round64: 0, flush32: KEPT, flush64: KEPT, ieee: false, dx10Clamp: true },
});

const FORMATS: Readonly<Partial<Record<FloatType, NarrowFormat>>> = { f16: HALF, bf16: BF16, tf32: TF32, e5m2: E5M2 };

function bitsOf(value: Value): bigint {
  assert.equal(value.leaf.kind, 'const');
  return value.leaf.kind === 'const' ? BigInt.asUintN(value.type === 'i64' ? 64 : 32, value.leaf.value) : 0n;
}
const small = (bits: bigint): Value => b.i32(Number(bits));
const hex = (x: bigint): string => `0x${x.toString(16)}`;

for (const operation of OPERATIONS) {
  test(`bf16 ${operation}`, () => {
    fc.assert(
      fc.property(operandTuples(operation, 'bf16'), (operands) => {
        const compute = b.bf16[operation] as (...values: Value[]) => Value;
        const wanted = expected(operation, 'bf16', 0, operands);
        const found = bitsOf(compute(...operands.map(small)));
        const what = `${operation}(${operands.map(hex)})`;
        assert.equal(hex(found), hex(isNan('bf16', wanted) ? 0x7fffn : wanted), what);
      }),
      { numRuns: 400 },
    );
  });
}

// The product is a tie, and what is added to it is beyond the digits of a f64.
test('a fused multiply-add of bf16 rounds what f64 cannot hold', () => {
  for (const z of [0x0180n, 0x8180n]) {
    const operands = [0x3f81n, 0x4040n, z];
    assert.equal(
      bitsOf(b.bf16.fma(...(operands.map(small) as [Value, Value, Value]))),
      expected('fma', 'bf16', 0, operands),
    );
  }
});

for (const [name, format] of Object.entries(FORMATS) as [FloatType, NarrowFormat][]) {
  test(`${name} of f64 in all rounding modes, and back`, () => {
    fc.assert(
      fc.property(patterns('f64'), patterns(name), fc.bigInt(-2n, 2n), (wide, narrow, step) => {
        for (const mode of MODES) {
          const near = BigInt.asUintN(64, converted(name, 'f64', 0, narrow) + step);
          for (const x of [wide, near]) {
            const found = bitsOf(narrowed(b, format, b.i64(x), { rounding: mode as Rounding }));
            const wanted = isNan('f64', x) ? BigInt(format.nan) : converted('f64', name, mode, x);
            assert.equal(hex(found), hex(wanted), `${hex(x)}, rounding ${mode}`);
          }
        }
        const back = bitsOf(widened(b, format, small(narrow)));
        if (!isNan(name, narrow)) assert.equal(hex(back), hex(converted(name, 'f64', 0, narrow)));
        else assert.ok(isNan('f64', back));
      }),
      RUNS,
    );
  });
}

const double = (x: number): bigint => new BigUint64Array(Float64Array.of(x).buffer)[0]!;

/** A pattern below 0x7f of e4m3, by definition (OFP8 table 1). */
const e4m3 = (bits: number): number => {
  const [field, fraction] = [bits >> 3, bits & 7];
  return field === 0 ? fraction * 2 ** -9 : (8 + fraction) * 2 ** (field - 10);
};

test('e4m3 has no infinity: every number, every middle between two, and what is beyond', () => {
  const of = (x: number): bigint => bitsOf(narrowed(b, E4M3, b.i64(double(x)), { isSaturating: true }));
  for (let bits = 0; bits < 0x7f; bits++) {
    const value = e4m3(bits);
    assert.equal(bitsOf(widened(b, E4M3, b.i32(bits))), double(value));
    assert.equal(bitsOf(widened(b, E4M3, b.i32(bits | 0x80))), double(-value));
    assert.equal(of(value), BigInt(bits));
    assert.equal(of(-value), BigInt(bits | 0x80));
    if (bits === 0x7e) continue;
    const middle = (value + e4m3(bits + 1)) / 2;
    assert.equal(of(middle), BigInt(bits + (bits & 1)), `${middle}`);
    assert.equal(of(middle * (1 - 2 ** -50)), BigInt(bits), `below ${middle}`);
    assert.equal(of(middle * (1 + 2 ** -50)), BigInt(bits + 1), `above ${middle}`);
  }
  for (const x of [449, 464, 480, 1e30, 1e300, Number.POSITIVE_INFINITY]) {
    assert.equal(of(x), 0x7en);
    assert.equal(of(-x), 0xfen);
  }
  assert.equal(of(Number.NaN), 0x7fn);
  assert.ok(isNan('f64', bitsOf(widened(b, E4M3, b.i32(0xff)))));
});

test('what is beyond the largest number becomes it where that is asked for', () => {
  for (const [, format] of Object.entries(FORMATS)) {
    for (const x of [1e300, Number.POSITIVE_INFINITY]) {
      assert.equal(bitsOf(narrowed(b, format, b.i64(double(x)), { isSaturating: true })), BigInt(format.largest));
    }
  }
});
