/** Powers of two: ldexp, frexp and the segments of 2/pi. CDNA2 ISA 12.8 and 12.11. */
import type { Builder } from '../../../ir/builder.ts';
import type { FloatBuilders } from '../../../ir/float-builder.ts';
import { powerOfTwo } from '../../../ir/transcendental.ts';
import type { Value } from '../../../ir/types.ts';
import { type FloatType, floatOf, fromF64, toF64 } from './float-rules.ts';

/**
 * x * 2^n with one rounding, denormals kept. f64 takes up to three factors; the ones for small results leave
 * the quotient of the first steps normal, or so small that it rounds to zero anyway. Directed rounding of a
 * step moves to the same side as the next.
 */
export function scaleByPower(b: Builder, type: FloatType, x: Value, n: Value, floats: FloatBuilders = b): Value {
  if (type !== 'f64') {
    const limited = b.maxS(b.minS(n, b.i32(400)), b.i32(-400));
    return fromF64(floats, type, b.op('f64.mul', toF64(b, type, x), powerOfTwo(b, limited)));
  }
  const { mul } = floats.f64.unflushed;
  let value = x;
  let rest = n;
  for (let step = 0; step < 2; step++) {
    const large = b.ltS(b.i32(1023), rest);
    const small = b.ltS(rest, b.i32(-1022));
    const power = b.select(large, b.i32(1023), b.select(small, b.i32(-969), b.i32(0)));
    value = mul(value, powerOfTwo(b, power));
    rest = b.sub(rest, power);
  }
  return mul(value, powerOfTwo(b, b.maxS(b.minS(rest, b.i32(1023)), b.i32(-1022))));
}

/** v_ldexp: denormals as MODE says. Where 2^n is a normal number, that is one product. */
export function ldexp(b: Builder, type: FloatType, x: Value, n: Value): Value {
  const f = floatOf(b, type);
  const scaled = f.result(scaleByPower(b, type, f.input(x), n));
  if (type === 'f16') return scaled;
  const bias = type === 'f32' ? 127 : 1023;
  const exponent = b.add(n, b.i32(bias));
  const isRare = b.rare(b.not(b.ltU(b.sub(exponent, b.i32(1)), b.i32(2 * bias))));
  const power = type === 'f32' ? b.shl(exponent, 23) : b.shl(b.zext64(exponent), 52);
  return b.select(isRare, scaled, f.mul(x, power));
}

/**
 * x = mantissa * 2^exponent with 1/2 <= |mantissa| < 1; zero, infinity and NaN have exponent 0 and are their
 * own mantissa.
 */
export function frexp(b: Builder, type: FloatType, x: Value): { mantissa: Value; exponent: Value } {
  const f = floatOf(b, type);
  const source = f.input(x);
  const wide = toF64(b, type, source);
  const needsScale = type === 'f64' ? b.ltU(b.f64.abs(wide), b.i64(1n << 52n)) : b.i1(false);
  const normal = b.select(needsScale, b.op('f64.mul', wide, b.f64.constant(2 ** 54)), wide);
  const field = b.bits(b.high(normal), 20, 11);
  const exponent = b.sub(field, b.select(needsScale, b.i32(1022 + 54), b.i32(1022)));
  const mantissaHigh = b.or(b.and(b.high(normal), b.i32(0x800fffff)), b.i32(0x3fe00000));
  const mantissa = fromF64(b, type, b.pack(b.low(normal), mantissaHigh));
  const special = [f.isZero(source), f.isInfinite(source), f.isNan(source)].reduce((p, q) => b.op('i1.or', p, q));
  return { mantissa: b.select(special, source, mantissa), exponent: b.select(special, b.i32(0), exponent) };
}
