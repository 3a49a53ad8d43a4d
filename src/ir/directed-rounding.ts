/**
 * Arithmetic rounded toward +infinity, -infinity or zero, denormals kept, composed of operations that round
 * to nearest: the result is the nearest number or its neighbour, and the sign of the nearest one's error
 * tells which. That sign is exact:
 * - f32 and f16 are computed in f64. Products and what an addition drops are exact there; a quotient or a
 *   root that no number of the narrow width equals is farther from all of them than f64 rounds.
 * - f64: what an addition drops is a number. Otherwise the sign bit of a fused multiply-add is that of the
 *   error, even of one that underflows to zero, because an exact zero comes out positive. Errors of NaNs and
 *   of exact infinities are NaNs, which are neither below nor above zero.
 */
import { type Rounding, TOWARD_NEGATIVE, TOWARD_POSITIVE } from './float-bits.ts';
import type { PureBuilder } from './pure-builder.ts';
import type { Value } from './types.ts';

export interface Arithmetic {
  add(a: Value, b: Value): Value;
  sub(a: Value, b: Value): Value;
  mul(a: Value, b: Value): Value;
  div(a: Value, b: Value): Value;
  sqrt(a: Value): Value;
  fma(a: Value, b: Value, c: Value): Value;
}

export interface NarrowArithmetic extends Arithmetic {
  fromF64(a: Value): Value;
}

/** A width whose numbers f64 holds. */
export interface NarrowFloat {
  isNegative(a: Value): Value;
  widen(a: Value): Value;
  nearestFromF64(a: Value): Value;
}

/** A f64, and the f64 that it lacks to be exact. */
interface Sum {
  readonly value: Value;
  readonly rest?: Value;
}

/** Where the exact result lies, seen from the nearest number. */
interface Side {
  isBelow(): Value;
  isAbove(): Value;
}

/**
 * `nearest`, or its neighbour where the exact result lies on the side that `rounding` takes. Neighbours
 * differ by 1 in their bits.
 */
export function settle(b: PureBuilder, rounding: Rounding, nearest: Value, isNegative: Value, exact: Side): Value {
  const one = nearest.type === 'i64' ? b.i64(1n) : b.i32(1);
  const outward = b.add(nearest, one);
  const inward = b.sub(nearest, one);
  switch (rounding) {
    case TOWARD_POSITIVE:
      return b.select(exact.isAbove(), b.select(isNegative, inward, outward), nearest);
    case TOWARD_NEGATIVE:
      return b.select(exact.isBelow(), b.select(isNegative, outward, inward), nearest);
    default:
      return b.select(b.select(isNegative, exact.isAbove(), exact.isBelow()), inward, nearest);
  }
}

const SIGN = 1n << 63n;
const isNegative64 = (b: PureBuilder, x: Value): Value => b.ltS(x, b.i64(0n));
const negated = (b: PureBuilder, x: Value): Value => b.xor(x, b.i64(SIGN));
const magnitude = (b: PureBuilder, x: Value): Value => b.and(x, b.i64(SIGN - 1n));
const less = (b: PureBuilder, x: Value, y: Value): Value => b.op('f64.lt', x, y);

/**
 * `sum`, the nearest f64 to x + y, with its rest: of two numbers the smaller one loses what the larger one
 * has no place for.
 */
function exactSum(b: PureBuilder, rounding: Rounding, sum: Value, x: Value, y: Value): Sum {
  const isOrdered = b.ltU(magnitude(b, y), magnitude(b, x));
  const [large, small] = [b.select(isOrdered, x, y), b.select(isOrdered, y, x)];
  const rest = b.op('f64.sub', small, b.op('f64.sub', sum, large));
  if (rounding !== TOWARD_NEGATIVE) return { value: sum, rest };
  // A zero is negative toward -infinity, unless both terms are positive zeros.
  const isZero = b.isZero(magnitude(b, sum));
  return { value: b.select(isZero, b.and(b.or(x, y), b.i64(SIGN)), sum), rest };
}

export function directedNarrow(b: PureBuilder, rounding: Rounding, { isNegative, widen, nearestFromF64 }: NarrowFloat) {
  const narrow = ({ value, rest }: Sum): Value => {
    const nearest = nearestFromF64(value);
    const back = widen(nearest);
    const isRest = (condition: (rest: Value) => Value): Value =>
      rest ? b.op('i1.and', b.op('f64.eq', value, back), condition(rest)) : b.i1(false);
    const zero = b.i64(0n);
    return settle(b, rounding, nearest, isNegative(nearest), {
      isBelow: () =>
        b.op(
          'i1.or',
          less(b, value, back),
          isRest((rest) => less(b, rest, zero)),
        ),
      isAbove: () =>
        b.op(
          'i1.or',
          less(b, back, value),
          isRest((rest) => less(b, zero, rest)),
        ),
    });
  };
  const sum = (nearest: Value, x: Value, y: Value): Value => narrow(exactSum(b, rounding, nearest, x, y));
  const arithmetic: NarrowArithmetic = {
    add(x, y) {
      const [p, q] = [widen(x), widen(y)];
      return sum(b.op('f64.add', p, q), p, q);
    },
    sub(x, y) {
      const [p, q] = [widen(x), widen(y)];
      return sum(b.op('f64.sub', p, q), p, negated(b, q));
    },
    mul: (x, y) => narrow({ value: b.op('f64.mul', widen(x), widen(y)) }),
    div: (x, y) => narrow({ value: b.op('f64.div', widen(x), widen(y)) }),
    sqrt: (x) => narrow({ value: b.op('f64.sqrt', widen(x)) }),
    fma(x, y, z) {
      const [p, q, r] = [widen(x), widen(y), widen(z)];
      return sum(b.op('f64.fma', p, q, r), b.op('f64.mul', p, q), r);
    },
    fromF64: (x) => narrow({ value: x }),
  };
  return arithmetic;
}

export function directedF64(b: PureBuilder, rounding: Rounding): Arithmetic {
  const sum = (nearest: Value, x: Value, y: Value): Value => {
    const { value, rest } = exactSum(b, rounding, nearest, x, y);
    const zero = b.i64(0n);
    return settle(b, rounding, value, isNegative64(b, value), {
      isBelow: () => less(b, rest!, zero),
      isAbove: () => less(b, zero, rest!),
    });
  };
  /** The error of `nearest` has the sign of x * y + z. */
  const residual = (nearest: Value, x: Value, y: Value, z: Value): Value => {
    const isNumber = b.op('f64.eq', nearest, nearest);
    const isBelow = (p: Value, q: Value): Value => b.op('i1.and', isNegative64(b, b.op('f64.fma', p, y, q)), isNumber);
    return settle(b, rounding, nearest, isNegative64(b, nearest), {
      isBelow: () => isBelow(x, z),
      isAbove: () => isBelow(negated(b, x), negated(b, z)),
    });
  };
  return {
    add: (x, y) => sum(b.op('f64.add', x, y), x, y),
    sub: (x, y) => sum(b.op('f64.sub', x, y), x, negated(b, y)),
    mul(x, y) {
      const product = b.op('f64.mul', x, y);
      return residual(product, x, y, negated(b, product));
    },
    div(x, y) {
      const quotient = b.op('f64.div', x, y);
      const dividend = b.xor(x, b.and(y, b.i64(SIGN)));
      return residual(quotient, negated(b, quotient), magnitude(b, y), dividend);
    },
    sqrt(x) {
      const root = b.op('f64.sqrt', x);
      const size = magnitude(b, root);
      return residual(root, negated(b, size), size, magnitude(b, x));
    },
    fma: (x, y, z) => b.op('f64.fmaRounded', x, y, z, b.i32(rounding)),
  };
}
