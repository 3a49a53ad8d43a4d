/**
 * Floating-point operations on bit patterns, rounding to nearest even unless they say otherwise, denormals
 * kept; rows flush denormals with separate operations. A NaN operand comes out quieted, the first one first;
 * an invalid operation gives the positive default NaN (RDNA3 ISA section 7.2.3, CDNA3 ISA section 4.4 on IEEE
 * NaN rules).
 */
import {
  convert,
  defaultNan,
  F16,
  F32,
  F64,
  type FloatFormat,
  fusedMultiplyAdd,
  isNan,
  quieted,
  type Rounding,
} from './float-bits.ts';
import { type Evaluated, type Op, op, type Type } from './op.ts';

const scratch = new DataView(new ArrayBuffer(8));

interface HostFloat {
  readonly type: Type;
  readonly format: FloatFormat;
  read(bits: Evaluated): number;
  write(value: number): Evaluated;
  big(bits: Evaluated): bigint;
  small(bits: bigint): Evaluated;
}

const F32_HOST: HostFloat = {
  type: 'i32',
  format: F32,
  read(bits) {
    scratch.setInt32(0, Number(bits));
    return scratch.getFloat32(0);
  },
  write(value) {
    scratch.setFloat32(0, value);
    return scratch.getInt32(0);
  },
  big: (bits) => BigInt(Number(bits) >>> 0),
  small: (bits) => Number(BigInt.asIntN(32, bits)),
};

const F64_HOST: HostFloat = {
  type: 'i64',
  format: F64,
  read(bits) {
    scratch.setBigUint64(0, BigInt(bits));
    return scratch.getFloat64(0);
  },
  write(value) {
    scratch.setFloat64(0, value);
    return scratch.getBigUint64(0);
  },
  big: (bits) => BigInt(bits),
  small: (bits) => bits,
};

/**
 * Host arithmetic is exact IEEE for these (double rounding of f32 through f64 is innocuous for + - * / sqrt);
 * only NaNs differ.
 */
function arithmetic(host: HostFloat, compute: (...x: number[]) => number, ...operands: Evaluated[]): Evaluated {
  for (const bits of operands) {
    if (isNan(host.big(bits), host.format)) return host.small(quieted(host.big(bits), host.format));
  }
  const result = compute(...operands.map((bits) => host.read(bits)));
  return Number.isNaN(result) ? host.small(defaultNan(host.format)) : host.write(result);
}

function nearestEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest === 0) return x;
  const rounded = rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
  return rounded === 0 && x < 0 ? -0 : rounded;
}

const clampInteger = (x: number, low: number, high: number): number =>
  Number.isNaN(x) ? 0 : Math.trunc(Math.min(Math.max(x, low), high)) | 0;

function floatOps<P extends 'f32' | 'f64'>(prefix: P, h: HostFloat) {
  const t = h.type;
  const binary = (f: (x: number, y: number) => number) =>
    op(t, [t, t], (a: Evaluated, b: Evaluated) => arithmetic(h, f, a, b));
  const unary = (f: (x: number) => number) => op(t, [t], (a: Evaluated) => arithmetic(h, f, a));
  const compare = (f: (x: number, y: number) => boolean) =>
    op('i1', [t, t], (a: Evaluated, b: Evaluated) => (f(h.read(a), h.read(b)) ? 1 : 0));
  const ops = {
    add: binary((x, y) => x + y),
    sub: binary((x, y) => x - y),
    mul: binary((x, y) => x * y),
    div: binary((x, y) => x / y),
    sqrt: unary(Math.sqrt),
    fma: op(t, [t, t, t], (a: Evaluated, b: Evaluated, c: Evaluated) =>
      h.small(fusedMultiplyAdd(h.big(a), h.big(b), h.big(c), h.format)),
    ),
    floor: unary(Math.floor),
    ceil: unary(Math.ceil),
    trunc: unary(Math.trunc),
    nearest: unary(nearestEven),
    eq: compare((x, y) => x === y),
    lt: compare((x, y) => x < y),
    le: compare((x, y) => x <= y),
    /** To a signed 32-bit integer, truncated, saturated; NaN gives 0. */
    toI32S: op('i32', [t], (a: Evaluated) => clampInteger(h.read(a), -0x80000000, 0x7fffffff)),
    toI32U: op('i32', [t], (a: Evaluated) => clampInteger(h.read(a), 0, 0xffffffff)),
    fromI32S: op(t, ['i32'], (a: number) => h.write(a)),
    fromI32U: op(t, ['i32'], (a: number) => h.write(a >>> 0)),
  };
  return Object.fromEntries(Object.entries(ops).map(([name, o]) => [`${prefix}.${name}`, o])) as {
    [K in keyof typeof ops & string as `${P}.${K}`]: Op;
  };
}

export const CANONICAL_NAN = 0x7fffffff;

export const FLOAT_OPS = {
  ...floatOps('f32', F32_HOST),
  ...floatOps('f64', F64_HOST),
  /** The fourth argument is a `Rounding`, of which the low two bits count. */
  'f64.fmaRounded': op('i64', ['i64', 'i64', 'i64', 'i32'], (a: bigint, b: bigint, c: bigint, rounding: number) =>
    fusedMultiplyAdd(a, b, c, F64, (rounding & 3) as Rounding),
  ),
  'f64.fromF32': op('i64', ['i32'], (a: number) => convert(F32_HOST.big(a), F32, F64)),
  'f32.fromF64': op('i32', ['i64'], (a: bigint) => F32_HOST.small(convert(a, F64, F32))),
  /** The same, but that all NaNs become one: that of NVIDIA's GPUs (PTX ISA 9.7.3). */
  'f32.canonical': op('i32', ['i32'], (a: number) => (isNan(F32_HOST.big(a), F32) ? CANONICAL_NAN : a)),
  /** The low 16 bits are read; the result of the reverse operation has a zero high half. */
  'f32.fromF16': op('i32', ['i32'], (a: number) => F32_HOST.small(convert(BigInt(a & 0xffff), F16, F32))),
  'f16.fromF32': op('i32', ['i32'], (a: number) => Number(convert(F32_HOST.big(a), F32, F16))),
} as const satisfies Record<string, Op>;
