/**
 * Every operation that rounds, in the four rounding modes, against results by definition; constants are
 * folded by the evaluator.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Builder } from './builder.ts';
import {
  converted,
  expected,
  FLOAT_TYPES,
  type FloatType,
  flushed,
  fromInteger,
  MODES,
  type Mode,
  OPERATIONS,
  operandTuples,
  patterns,
} from './exact-rounding.test-support.ts';
import type { Value } from './types.ts';

const RUNS = { numRuns: 1000 };

/** The other type's bits ask for another rounding, which must not matter. */
function builder(type: FloatType, mode: Mode, flush = false): Builder {
  const other = ((mode + 1) & 3) as Mode;
  const denormals = { inputs: flush, results: flush };
  return new Builder(64, {
    round32: type === 'f32' ? mode : other,
    round64: type === 'f32' ? other : mode,
    flush32: denormals,
    flush64: denormals,
    ieee: true,
    dx10Clamp: true,
  });
}

const constant = (b: Builder, type: FloatType, bits: bigint): Value =>
  type === 'f64' ? b.i64(bits) : b.i32(Number(BigInt.asIntN(32, bits)));

function bitsOf(value: Value, type: FloatType): bigint {
  assert.equal(value.leaf.kind, 'const');
  return BigInt.asUintN(Number(type.slice(1)), value.leaf.kind === 'const' ? value.leaf.value : 0n);
}

const hex = (x: bigint): string => `0x${x.toString(16)}`;

for (const type of FLOAT_TYPES) {
  for (const mode of MODES) {
    for (const operation of OPERATIONS) {
      test(`${type} ${operation}, rounding ${mode}`, () => {
        const b = builder(type, mode);
        const flushing = builder(type, mode, true);
        const run = (on: Builder, operands: readonly bigint[]): bigint => {
          const compute = on[type][operation] as (...values: Value[]) => Value;
          return bitsOf(compute(...operands.map((x) => constant(on, type, x))), type);
        };
        fc.assert(
          fc.property(operandTuples(operation, type), (operands) => {
            const what = `${operation}(${operands.map(hex)})`;
            assert.equal(hex(run(b, operands)), hex(expected(operation, type, mode, operands)), what);
            const inputs = operands.map((x) => flushed(type, x));
            const result = flushed(type, expected(operation, type, mode, inputs));
            assert.equal(hex(run(flushing, operands)), hex(result), `${what}, denormals flushed`);
          }),
          RUNS,
        );
      });
    }
  }
}

for (const mode of MODES) {
  test(`conversions, rounding ${mode}`, () => {
    const single = builder('f32', mode);
    const half = builder('f16', mode);
    fc.assert(
      fc.property(patterns('f64'), patterns('f32'), patterns('f16'), (x64, x32, x16) => {
        const fold = (b: Builder, from: FloatType, to: FloatType, x: bigint, convert: (value: Value) => Value) => {
          const found = bitsOf(convert(constant(b, from, x)), to);
          assert.equal(hex(found), hex(converted(from, to, mode, x)), `${from} ${hex(x)} to ${to}`);
        };
        fold(single, 'f64', 'f32', x64, single.f32.fromF64);
        fold(half, 'f64', 'f16', x64, half.f16.fromF64);
        fold(half, 'f32', 'f16', x32, half.f16.fromF32);
        fold(half, 'f16', 'f32', x16, half.f16.toF32);
        // A number that an f32 or f16 comes close to.
        fold(single, 'f64', 'f32', converted('f32', 'f64', mode, x32) ^ (x64 & 3n), single.f32.fromF64);
        fold(half, 'f64', 'f16', converted('f16', 'f64', mode, x16) ^ (x64 & 3n), half.f16.fromF64);
        fold(half, 'f32', 'f16', converted('f16', 'f32', mode, x16) ^ (x64 & 3n), half.f16.fromF32);
      }),
      RUNS,
    );
  });

  test(`integers to f32, rounding ${mode}`, () => {
    const b = builder('f32', mode);
    fc.assert(
      fc.property(fc.integer(), (x) => {
        const unsigned = fromInteger('f32', mode, BigInt(x >>> 0));
        assert.equal(hex(bitsOf(b.f32.fromI32S(b.i32(x)), 'f32')), hex(fromInteger('f32', mode, BigInt(x))));
        assert.equal(hex(bitsOf(b.f32.fromI32U(b.i32(x)), 'f32')), hex(unsigned));
      }),
      RUNS,
    );
  });

  test(`rounding ${mode} asked for in a mode that says otherwise`, () => {
    const b = builder('f32', ((mode + 2) & 3) as Mode);
    for (const type of FLOAT_TYPES) {
      const [one, tiny] = [converted('f32', type, 0, 0x3f800000n), 1n];
      const sum = b.rounding(mode)[type].sub(constant(b, type, one), constant(b, type, tiny));
      assert.equal(hex(bitsOf(sum, type)), hex(expected('sub', type, mode, [one, tiny])));
    }
  });
}
