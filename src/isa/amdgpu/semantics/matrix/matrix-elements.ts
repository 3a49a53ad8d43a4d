/** The numbers in the registers of a matrix, as f32, f64 (i64) or i32. */
import type { Builder } from '../../../../ir/builder.ts';
import type { MatrixProduct } from '../../../../ir/matrix-product.ts';
import type { Value } from '../../../../ir/types.ts';
import { smallFloatToF32 } from '../small-floats.ts';

export type ElementFormat = 'f64' | 'f32' | 'xf32' | 'f16' | 'bf16' | 'fp8' | 'bf8' | 'i8' | 'u8' | 'i4' | 'u4';

export const elementBits = (format: ElementFormat): number => Number(format.replace(/\D+/, ''));

/** Type in which products of the format are summed. */
export const sumType = (format: ElementFormat): MatrixProduct['type'] =>
  format === 'f64' ? 'f64' : /^[iu]/.test(format) ? 'i32' : 'f32';

/** An f32 below 2^exponent becomes a zero of its sign. */
export function flushedBelow(b: Builder, x: Value, exponent: number): Value {
  const sign = b.and(x, b.i32(0x80000000));
  return b.select(b.ltS(b.f32.abs(x), b.i32((exponent + 127) << 23)), sign, x);
}

/**
 * f32 with 10 bits of fraction, to nearest even (the manual has no more than "round", CDNA3 ISA 7.1.2);
 * infinities and NaNs stay.
 */
function reduced(b: Builder, x: Value): Value {
  const halfway = b.add(b.i32(0xfff), b.bits(x, 13, 1));
  const rounded = b.and(b.add(x, halfway), b.i32(~0x1fff));
  return b.select(b.ltS(b.f32.abs(x), b.i32(0x7f800000)), rounded, x);
}

/** The elements in registers, lowest bits first; `flushes` takes denormals of f16 and bf16 for zeros. */
export function elements(b: Builder, format: ElementFormat, dwords: readonly Value[], flushes: boolean): Value[] {
  if (format === 'f64') {
    return Array.from({ length: dwords.length / 2 }, (_, i) => b.pack(dwords[2 * i]!, dwords[2 * i + 1]!));
  }
  const width = elementBits(format);
  const number = (dword: Value, low: number): Value => {
    switch (format) {
      case 'f32':
        return dword;
      case 'xf32':
        return reduced(b, dword);
      case 'f16': {
        const x = b.op('f32.fromF16', b.shrU(dword, low)); // which reads the low half
        return flushes ? flushedBelow(b, x, -14) : x;
      }
      case 'bf16': {
        const x = low === 0 ? b.shl(dword, 16) : b.and(dword, b.i32(0xffff0000));
        return flushes ? flushedBelow(b, x, -126) : x;
      }
      case 'fp8':
      case 'bf8':
        return smallFloatToF32(b, format, b.shrU(dword, low));
      case 'i8':
      case 'i4':
        return b.shrS(b.shl(dword, 32 - low - width), 32 - width);
      default:
        return b.bits(dword, low, width);
    }
  };
  return dwords.flatMap((dword) => Array.from({ length: 32 / width }, (_, i) => number(dword, i * width)));
}
