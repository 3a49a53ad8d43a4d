/** Conversions of the vector unit: CDNA3 ISA 12.8 and 12.11, RDNA3 ISA 16.8 and 16.12. */
import { arithmetic, forTypes, type LaneContext, type LaneModel, type LaneModels } from './lane-context.ts';
import {
  converted,
  DOWN,
  exactValue,
  type FloatType,
  isInfinite,
  isNan,
  isNegative,
  magnitude,
  NEAREST,
  type Rounding,
  rounded,
  saturated,
  signed,
  TOWARD_ZERO,
  times,
  unsigned,
  wholeOf,
  withSign,
} from './numbers.ts';

const RANGES = {
  i16: [-0x8000n, 0x7fffn],
  u16: [0n, 0xffffn],
  i32: [-0x80000000n, 0x7fffffffn],
  u32: [0n, 0xffffffffn],
  u8: [0n, 255n],
} as const;
type Integer = keyof typeof RANGES;

const bitsOf = (type: Integer): number => Number(type.slice(1));

const toInteger =
  (from: FloatType, to: Integer, mode: Rounding = TOWARD_ZERO): LaneModel =>
  (_, x) =>
    unsigned(bitsOf(to), saturated(from, x!, mode, RANGES[to][0], RANGES[to][1]));

const fromInteger =
  (from: Integer, to: FloatType): LaneModel =>
  (c, x) => {
    const n = from[0] === 'i' ? signed(bitsOf(from), x!) : unsigned(bitsOf(from), x!);
    return rounded(to, arithmetic(c, to).rounding, { n, e: 0 });
  };

const between =
  (from: FloatType, to: FloatType, mode?: Rounding): LaneModel =>
  (c, x) => {
    const target = arithmetic(c, to);
    return target.result(converted(from, to, mode ?? target.rounding, arithmetic(c, from).input(x!)));
  };

/** The number times the largest integer, to nearest even, limited. */
function normalized(type: FloatType, x: bigint, to: 'i16' | 'u16'): bigint {
  const [low, high] = to === 'i16' ? [-0x7fffn, 0x7fffn] : [0n, 0xffffn];
  if (isNan(type, x)) return 0n;
  if (isInfinite(type, x)) return unsigned(16, isNegative(type, x) ? low : high);
  const whole = wholeOf(times(exactValue(type, x), { n: high, e: 0 }), NEAREST);
  return unsigned(16, whole < low ? low : whole > high ? high : whole);
}

const both =
  (convert: (c: LaneContext, x: bigint) => bigint): LaneModel =>
  (c, x, y) =>
    convert(c, x!) | (convert(c, y!) << 16n);

function insertedByte(x: bigint, position: bigint, rest: bigint): bigint {
  const shift = 8n * (position & 3n);
  const value = saturated('f32', x, TOWARD_ZERO, 0n, 255n);
  return (rest & ~(0xffn << shift) & 0xffffffffn) | (value << shift);
}

interface SmallFormat {
  readonly fraction: number;
  readonly bias: number;
}

/** CDNA3 ISA 7.2: no infinities, no negative zero, 0x80 is the NaN. */
const SMALL: Readonly<Record<'fp8' | 'bf8', SmallFormat>> = {
  fp8: { fraction: 3, bias: 8 },
  bf8: { fraction: 2, bias: 16 },
};

function smallToF32({ fraction, bias }: SmallFormat, x: bigint): bigint {
  if (x === 0x80n) return 0x7fc00000n;
  const field = Number((x & 0x7fn) >> BigInt(fraction));
  const digits = (x & ((1n << BigInt(fraction)) - 1n)) + (field === 0 ? 0n : 1n << BigInt(fraction));
  const value = rounded('f32', NEAREST, { n: digits, e: Math.max(field, 1) - bias - fraction });
  return withSign('f32', value, (x & 0x80n) !== 0n);
}

/** The nearest number of the format, in a tie the one whose pattern is even, by looking at all of them. */
function f32ToSmall(format: SmallFormat, x: bigint): bigint {
  if (isNan('f32', x) || isInfinite('f32', x)) return 0x80n;
  const { fraction, bias } = format;
  // Every number of the format is a multiple of its smallest one.
  const unit = 1 - bias - fraction;
  const { n, e } = exactValue('f32', magnitude('f32', x));
  const scaled = (pattern: number): bigint => {
    const field = pattern >> fraction;
    const digits = BigInt((pattern & ((1 << fraction) - 1)) + (field === 0 ? 0 : 1 << fraction));
    return digits << BigInt(Math.max(field, 1) - 1);
  };
  const low = Math.min(e, unit) - 1;
  const size = n << BigInt(e - low);
  const distance = (pattern: number): bigint => {
    const d = (scaled(pattern) << BigInt(unit - low)) - size;
    return d < 0n ? -d : d;
  };
  let best = 0;
  for (let pattern = 1; pattern <= 0x80; pattern++) {
    const order = distance(pattern) - distance(best);
    if (order < 0n || (order === 0n && pattern % 2 === 0)) best = pattern;
  }
  if (best === 0x80) return 0x80n;
  return best === 0 ? 0n : BigInt(best) | (isNegative('f32', x) ? 0x80n : 0n);
}

const small: LaneModels = forTypes(['fp8', 'bf8'] as const, (name) => {
  const format = SMALL[name];
  return {
    [`v_cvt_f32_${name}`]: (_, x) => smallToF32(format, x & 0xffn),
    [`v_cvt_pk_f32_${name}`]: (_, x) => smallToF32(format, x & 0xffn) | (smallToF32(format, (x >> 8n) & 0xffn) << 32n),
    [`v_cvt_pk_${name}_f32`]: (_, x, y) => f32ToSmall(format, x) | (f32ToSmall(format, y!) << 8n),
  } as LaneModels;
});

const ubyte =
  (i: number): LaneModel =>
  (_, x) =>
    rounded('f32', NEAREST, { n: (x! >> BigInt(8 * i)) & 0xffn, e: 0 });

export const CONVERSION_MODELS: LaneModels = {
  v_cvt_i32_f64: toInteger('f64', 'i32'),
  v_cvt_u32_f64: toInteger('f64', 'u32'),
  v_cvt_i32_f32: toInteger('f32', 'i32'),
  v_cvt_u32_f32: toInteger('f32', 'u32'),
  v_cvt_i16_f16: toInteger('f16', 'i16'),
  v_cvt_u16_f16: toInteger('f16', 'u16'),
  v_cvt_flr_i32_f32: toInteger('f32', 'i32', DOWN),
  // floor(S0 + 0.5F): the sum is an f32.
  v_cvt_rpi_i32_f32: (c, x) =>
    toInteger('f32', 'i32', DOWN)(c, arithmetic(c, 'f32').with(NEAREST).add(x!, 0x3f000000n)),
  v_cvt_f64_i32: fromInteger('i32', 'f64'),
  v_cvt_f64_u32: fromInteger('u32', 'f64'),
  v_cvt_f32_i32: fromInteger('i32', 'f32'),
  v_cvt_f32_u32: fromInteger('u32', 'f32'),
  v_cvt_f16_i16: fromInteger('i16', 'f16'),
  v_cvt_f16_u16: fromInteger('u16', 'f16'),
  v_cvt_f16_f32: between('f32', 'f16'),
  v_cvt_f32_f16: between('f16', 'f32'),
  v_cvt_f64_f32: between('f32', 'f64'),
  v_cvt_off_f32_i4: (_, x) => rounded('f32', NEAREST, { n: signed(4, x!), e: -4 }),
  v_cvt_f32_ubyte0: ubyte(0),
  v_cvt_f32_ubyte1: ubyte(1),
  v_cvt_f32_ubyte2: ubyte(2),
  v_cvt_f32_ubyte3: ubyte(3),
  v_cvt_norm_i16_f16: (_, x) => normalized('f16', x!, 'i16'),
  v_cvt_norm_u16_f16: (_, x) => normalized('f16', x!, 'u16'),
  ...forTypes(['f16', 'f32'] as const, (type) => ({
    [`v_cvt_pknorm_i16_${type}`]: both((_, x) => normalized(type, x, 'i16')),
    [`v_cvt_pknorm_u16_${type}`]: both((_, x) => normalized(type, x, 'u16')),
  })),
  v_cvt_pkrtz_f16_f32: both((c, x) => between('f32', 'f16', TOWARD_ZERO)(c, x) as bigint),
  v_cvt_pk_i16_f32: both((c, x) => toInteger('f32', 'i16')(c, x) as bigint),
  v_cvt_pk_u16_f32: both((c, x) => toInteger('f32', 'u16')(c, x) as bigint),
  v_cvt_pk_u8_f32: (_, x, position, rest) => insertedByte(x!, position!, rest!),
  v_cvt_pkaccum_u8_f32: (_, old, x, position) => insertedByte(x!, position!, old!),
  v_pack_b32_f16: both((c, x) => arithmetic(c, 'f16').input(x)),
  ...small,
};
