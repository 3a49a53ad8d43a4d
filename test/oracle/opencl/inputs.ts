/** Reproducible contents of buffers: half of them at the edges of the type, half of them random. */
import { Random } from '../../fuzz/random.ts';

const SIGNED = { 8: Int8Array, 16: Int16Array, 32: Int32Array, 64: BigInt64Array } as const;
const UNSIGNED = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array, 64: BigUint64Array } as const;

type Width = keyof typeof SIGNED;
type Integers = InstanceType<(typeof SIGNED)[Width] | (typeof UNSIGNED)[Width]>;

const random64 = (random: Random): bigint => (BigInt(random.next()) << 32n) | BigInt(random.next());

/** `type`: `i8` to `u64`. */
export function integers(type: string, count: number, seed: number): Integers {
  const width = Number(type.slice(1)) as Width;
  const random = new Random(seed);
  const bits = BigInt(width);
  const top = 1n << (bits - 1n);
  const edges = [0n, 1n, 2n, 3n, 7n, 100n, -1n, -2n, -7n, top, top - 1n, top + 1n, top >> 1n, (1n << (bits / 2n)) - 1n];
  const words = BigUint64Array.from({ length: count }, () => {
    if (random.chance(40)) return BigInt.asUintN(64, random.pick(edges));
    return random.chance(30) ? random64(random) >> BigInt(random.below(64)) : random64(random);
  });
  const array = (type.startsWith('i') ? SIGNED : UNSIGNED)[width];
  const numbers = new array(count);
  words.forEach((word, i) => {
    if (numbers instanceof BigInt64Array || numbers instanceof BigUint64Array) numbers[i] = word;
    else numbers[i] = Number(BigInt.asUintN(width, word));
  });
  return numbers;
}

const FLOATS = { f16: Float16Array, f32: Float32Array, f64: Float64Array } as const;

export type FloatType = keyof typeof FLOATS;

/** Multiples of 1/4 of a few bits, so that sums and products of some of them are exact. */
export function smallFloats(type: string, count: number, seed: number): Float16Array | Float32Array | Float64Array {
  const random = new Random(seed);
  return new FLOATS[type as FloatType](random.times(count, () => random.between(-40, 40) / 4));
}

/** From 1/4 to 4. */
export function positiveFloats(
  type: FloatType,
  count: number,
  seed: number,
): Float16Array | Float32Array | Float64Array {
  const random = new Random(seed);
  return new FLOATS[type](random.times(count, () => 0.25 + (3.75 * random.next()) / 2 ** 32));
}

interface Format {
  readonly mantissaBits: number;
  readonly exponentBits: number;
}

const FORMATS: Readonly<Record<FloatType, Format>> = {
  f16: { mantissaBits: 10, exponentBits: 5 },
  f32: { mantissaBits: 23, exponentBits: 8 },
  f64: { mantissaBits: 52, exponentBits: 11 },
};
const MODERATE = [0.5, 1, 1.5, 2, 2.5, 3, 1 / 3, 0.1, 7, 100, 1000, 65504, 65519, 65520, 2 ** 31, 2 ** 32, 2 ** 63];

/**
 * Zeros, denormals, infinities, quiet NaNs, the largest and smallest normal numbers, halves, and random bits:
 * half of them with exponents near 0.
 */
export function floats(type: FloatType, count: number, seed: number): Float16Array | Float32Array | Float64Array {
  const { mantissaBits, exponentBits } = FORMATS[type];
  const random = new Random(seed);
  const one = 1n << BigInt(mantissaBits);
  const exponents = (1n << BigInt(exponentBits)) - 1n;
  const quiet = exponents * one + one / 2n;
  const edges = [0n, 1n, 2n, one - 1n, one / 3n, one, one + 1n, exponents * one - 1n, exponents * one, quiet];
  const numbers = new FLOATS[type](count);
  const view = new DataView(numbers.buffer);
  const width = numbers.BYTES_PER_ELEMENT * 8;
  const setBits = (i: number, bits: bigint): void => {
    if (width === 64) view.setBigUint64(i * 8, bits, true);
    else if (width === 32) view.setUint32(i * 4, Number(bits), true);
    else view.setUint16(i * 2, Number(bits), true);
  };
  for (let i = 0; i < count; i++) {
    const sign = BigInt(random.below(2)) << BigInt(width - 1);
    const mantissa = random64(random) % one;
    const exponent = BigInt(random.below(Number(exponents)));
    const near = exponents / 2n + BigInt(random.between(-4, 4));
    const choice = random.below(100);
    if (choice < 30) setBits(i, sign | random.pick(edges));
    else if (choice < 45) numbers[i] = random.pick(MODERATE) * (random.chance(50) ? -1 : 1);
    else setBits(i, sign | ((choice < 75 ? near : exponent) * one + mantissa));
  }
  return numbers;
}
