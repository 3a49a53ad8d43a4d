/** Sums of products over elements that are spread over the lanes: what the matrix instructions compute. */
import { F32, F64, type FloatFormat, fusedMultiplyAdd, isNan } from './float-bits.ts';
import type { Evaluated } from './op.ts';

/** Element `element` of lane `lane`. */
export interface Place {
  readonly element: number;
  readonly lane: number;
}

/**
 * Every lane holds elements of a left and of a right matrix and `results` accumulators. To each accumulator
 * `steps` products are added, one after the other. i32 keeps the low 32 bits; f32 and f64 (bits in an i64)
 * multiply and add with one rounding to nearest even, denormals kept, and a result that is a NaN is the
 * positive one without payload.
 *
 * What executors rely on: with lanes in groups of 4 from lane 0, the left factor of a group is one place and
 * the right factors are 4 consecutive lanes of one element; and a place's number is a sum of one number for
 * the group, in which every bit of the group's number counts for itself, and one for result and step. The
 * layouts of all matrix instructions are so.
 */
export interface MatrixProduct {
  readonly type: 'i32' | 'f32' | 'f64';
  /** Elements in each lane. */
  readonly left: number;
  readonly right: number;
  readonly results: number;
  readonly steps: number;
  /**
   * Every left element comes with a number that is added to the element of the right factor: the left matrix
   * is sparse.
   */
  readonly selects: boolean;
  /** Factors of product `step` of accumulator `result` of lane `lane`. */
  leftPlace(result: number, lane: number, step: number): Place;
  rightPlace(result: number, lane: number, step: number): Place;
}

/** Where the arguments of a product begin: left elements, their selectors, right elements, accumulators. */
export function argumentOffsets({ left, right, selects }: MatrixProduct) {
  const rightStart = left + (selects ? left : 0);
  return { selectors: left, right: rightStart, accumulators: rightStart + right };
}

const FORMATS: Readonly<Record<'f32' | 'f64', FloatFormat>> = { f32: F32, f64: F64 };
const NANS = { f32: 0x7fc00000n, f64: 0x7ff8000000000000n } as const;

function accumulate(
  type: MatrixProduct['type'],
  start: Evaluated,
  factors: readonly (readonly Evaluated[])[],
): Evaluated {
  if (type === 'i32') {
    return factors.reduce<number>((sum, [x, y]) => (sum + Math.imul(Number(x), Number(y))) | 0, Number(start));
  }
  const format = FORMATS[type];
  const bits = (value: Evaluated): bigint => BigInt.asUintN(type === 'f32' ? 32 : 64, BigInt(value));
  const sum = factors.reduce((total, [x, y]) => fusedMultiplyAdd(bits(x!), bits(y!), total, format), bits(start));
  const result = isNan(sum, format) ? NANS[type] : sum;
  return type === 'f32' ? Number(BigInt.asIntN(32, result)) : result;
}

/**
 * The evaluator's form: `argument(i, lane)` is an argument in a lane; the result is one list of lanes for
 * each accumulator.
 */
export function multiplyMatrices(
  product: MatrixProduct,
  waveSize: 32 | 64,
  argument: (index: number, lane: number) => Evaluated,
): Evaluated[][] {
  const offsets = argumentOffsets(product);
  const factors = (result: number, lane: number): Evaluated[][] =>
    Array.from({ length: product.steps }, (_, step) => {
      const left = product.leftPlace(result, lane, step);
      const right = product.rightPlace(result, lane, step);
      const selector = product.selects ? Number(argument(offsets.selectors + left.element, left.lane)) : 0;
      return [argument(left.element, left.lane), argument(offsets.right + right.element + selector, right.lane)];
    });
  return Array.from({ length: product.results }, (_, result) =>
    Array.from({ length: waveSize }, (_, lane) =>
      accumulate(product.type, argument(offsets.accumulators + result, lane), factors(result, lane)),
    ),
  );
}
