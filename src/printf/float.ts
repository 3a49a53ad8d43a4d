/**
 * Text of doubles for `%a %e %f %g`, correctly rounded (to nearest, ties to even) from the exact value m *
 * 2^e. Only digits: sign, flags and padding are the caller's.
 */

export interface Double {
  readonly negative: boolean;
  readonly kind: 'finite' | 'inf' | 'nan';
  /** |value| = mantissa * 2^exponent for a finite value. */
  readonly mantissa: bigint;
  readonly exponent: number;
}

const FRACTION_BITS = 52;

export function decodeDouble(bits: bigint): Double {
  const fraction = bits & ((1n << 52n) - 1n);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const negative = bits >> 63n !== 0n;
  if (biased === 0x7ff) return { negative, kind: fraction === 0n ? 'inf' : 'nan', mantissa: 0n, exponent: 0 };
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  return { negative, kind: 'finite', mantissa, exponent: Math.max(biased, 1) - 1075 };
}

/** No double has more decimal digits behind the point, or more significant ones; further ones are zeros. */
const EXACT_DIGITS = 1074;

/** numerator / denominator rounded to the nearest integer, ties to even. */
function divideToNearest(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = 2n * (numerator - quotient * denominator);
  const up = twice > denominator || (twice === denominator && (quotient & 1n) === 1n);
  return up ? quotient + 1n : quotient;
}

/** value * 10^power rounded to an integer. */
function scaled({ mantissa, exponent }: Double, power: number): bigint {
  let numerator = mantissa;
  let denominator = 1n;
  if (exponent >= 0) numerator <<= BigInt(exponent);
  else denominator <<= BigInt(-exponent);
  if (power >= 0) numerator *= 10n ** BigInt(power);
  else denominator *= 10n ** BigInt(-power);
  return divideToNearest(numerator, denominator);
}

/** Digits, a point if `point` or digits follow it, `precision` digits. */
export function fixedDigits(value: Double, precision: number, point: boolean): string {
  const exact = Math.min(precision, EXACT_DIGITS);
  const digits = scaled(value, exact)
    .toString()
    .padStart(exact + 1, '0');
  const whole = digits.slice(0, digits.length - exact);
  const fraction = digits.slice(digits.length - exact) + '0'.repeat(precision - exact);
  return withPoint(whole, fraction, point);
}

interface Scientific {
  /** `precision` + 1 digits. */
  readonly digits: string;
  readonly exponent: number;
}

function scientific(value: Double, precision: number): Scientific {
  const exact = Math.min(precision, EXACT_DIGITS);
  const zeros = '0'.repeat(precision - exact);
  if (value.mantissa === 0n) return { digits: '0'.repeat(exact + 1) + zeros, exponent: 0 };
  // log10 of the value is off by at most one ulp, so the floor may be one too high or too low.
  const estimate = Math.floor(Math.log10(Number(value.mantissa)) + value.exponent * Math.LOG10E * Math.LN2);
  for (let exponent = estimate - 1; ; exponent++) {
    const digits = scaled(value, exact - exponent).toString();
    if (digits.length === exact + 1) return { digits: digits + zeros, exponent };
    // Rounding up to the next power of ten: the same digits one exponent later.
  }
}

function exponentText(letter: string, exponent: number): string {
  return `${letter}${exponent < 0 ? '-' : '+'}${Math.abs(exponent).toString().padStart(2, '0')}`;
}

/**
 * One digit, a point if `point` or digits follow it, `precision` digits, `e` and an exponent of at least two
 * digits.
 */
export function exponentDigits(value: Double, precision: number, point: boolean): string {
  const { digits, exponent } = scientific(value, precision);
  return withPoint(digits.slice(0, 1), digits.slice(1), point) + exponentText('e', exponent);
}

/** `%g`: the shorter style for this magnitude; trailing zeros go unless `alternate`. */
export function generalDigits(value: Double, precision: number, alternate: boolean): string {
  const significant = Math.max(precision, 1);
  const { digits, exponent } = scientific(value, significant - 1);
  const trim = (fraction: string) => (alternate ? fraction : fraction.replace(/0+$/, ''));
  if (exponent < -4 || exponent >= significant) {
    return withPoint(digits.slice(0, 1), trim(digits.slice(1)), alternate) + exponentText('e', exponent);
  }
  if (exponent < 0) return withPoint('0', trim('0'.repeat(-exponent - 1) + digits), alternate);
  return withPoint(digits.slice(0, exponent + 1), trim(digits.slice(exponent + 1)), alternate);
}

/** `%a` without its `0x`; `precision` undefined: as many hexadecimal digits as the value has. */
export function hexDigits(value: Double, precision: number | undefined, point: boolean): string {
  const { mantissa } = value;
  const wanted = precision ?? FRACTION_BITS / 4;
  const dropped = Math.max(FRACTION_BITS - 4 * wanted, 0);
  const rounded = divideToNearest(mantissa, 1n << BigInt(dropped));
  const kept = FRACTION_BITS - dropped;
  const whole = (rounded >> BigInt(kept)).toString(16);
  let fraction = kept === 0 ? '' : (rounded & ((1n << BigInt(kept)) - 1n)).toString(16).padStart(kept / 4, '0');
  fraction = precision === undefined ? fraction.replace(/0+$/, '') : fraction.padEnd(precision, '0');
  const exponent = mantissa === 0n ? 0 : value.exponent + FRACTION_BITS;
  return `${withPoint(whole, fraction, point)}p${exponent < 0 ? '-' : '+'}${Math.abs(exponent)}`;
}

function withPoint(whole: string, fraction: string, point: boolean): string {
  return point || fraction !== '' ? `${whole}.${fraction}` : whole;
}
