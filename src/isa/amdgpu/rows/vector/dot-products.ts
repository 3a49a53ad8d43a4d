/** Dot products added to a number. CDNA2 ISA 12.7 (opcodes 55 to 58) and 12.10 (opcodes 35 to 43). */
import type { Builder } from '../../../../ir/builder.ts';
import { NEAREST_EVEN } from '../../../../ir/float-bits.ts';
import type { Value } from '../../../../ir/types.ts';
import { flushed } from '../../semantics/float-rules.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import type { Pair } from '../../semantics/packed-operands.ts';
import { packedBits } from '../../semantics/packed-operands.ts';
import { add, type NarrowInteger, saturating } from '../../semantics/saturation.ts';

/**
 * addend + x0 * y0 + x1 * y1 in this order in f32, each sum rounded (CDNA3 pseudocode); the products are
 * exact. Denormals of sources and results are always flushed (CDNA2 ISA 6.4); one of the addend is lost in a
 * sum or flushed with it.
 */
export function dotF16(b: Builder, x: Pair, y: Pair, addend: Value): Value {
  const widen = (value: Value): Value => b.op('f32.fromF16', flushed(b, 'f16', value));
  const sum = (total: Value, i: 0 | 1): Value =>
    flushed(b, 'f32', b.op('f32.add', total, b.op('f32.mul', widen(x[i]), widen(y[i]))));
  return sum(sum(addend, 0), 1);
}

/**
 * addend + x0 * y0 + x1 * y1 in this order in f16, each step rounded once to nearest, denormals kept (RDNA3
 * ISA 7.2.4); whether the hardware rounds in between is not published.
 */
export function dotInF16(b: Builder, x: Pair, y: Pair, addend: Value): Value {
  const { fma } = b.rounding(NEAREST_EVEN).f16.unflushed;
  return fma(x[1], y[1], fma(x[0], y[0], addend));
}

/** As `dotF16` with bf16, whose bits are the high half of an f32. */
export function dotBf16(b: Builder, x: Pair, y: Pair, addend: Value): Value {
  const widen = (value: Value): Value => flushed(b, 'f32', b.shl(value, 16));
  const sum = (total: Value, i: 0 | 1): Value =>
    flushed(b, 'f32', b.op('f32.add', total, b.op('f32.mul', widen(x[i]), widen(y[i]))));
  return sum(sum(addend, 0), 1);
}

/** The nearest bf16, even in a tie; denormals become zeros. */
function roundedToBf16(b: Builder, x: Value): Value {
  const value = flushed(b, 'f32', x);
  const rounded = b.shrU(b.add(value, b.add(b.i32(0x7fff), b.bits(value, 16, 1))), 16);
  return b.select(b.f32.isNan(value), b.shrU(b.f32.quiet(value), 16), rounded);
}

/** As `dotInF16` with bf16, without denormals (RDNA3 ISA 7.2.4). */
export function dotInBf16(b: Builder, x: Pair, y: Pair, addend: Value): Value {
  const widen = (value: Value): Value => flushed(b, 'f32', b.shl(value, 16));
  const { fma } = b.rounding(NEAREST_EVEN).f32.unflushed;
  const step = (total: Value, i: 0 | 1): Value => roundedToBf16(b, fma(widen(x[i]), widen(y[i]), widen(total)));
  return step(step(addend, 0), 1);
}

/** Signedness of the sources says neg (RDNA3 ISA 7.5); the products of both fit 32 bits. */
export const dotMixedSigns =
  (width: 4 | 8): Semantics =>
  (b, x, y, z) => {
    const typeOf = (source: number): NarrowInteger => ((b.field('neg') >> source) & 1 ? 'i32' : 'u32');
    const left = elements(b, typeOf(0), 'src0', x!, width);
    const right = elements(b, typeOf(1), 'src1', y!, width);
    const products = left.map((element, i) => b.mul(element, right[i]!));
    return saturating('i32', sum)(b, z!, ...products);
  };

const sum = (builder: Builder, ...terms: Value[]): Value => terms.reduce((total, term) => add(builder, total, term));

/** The numbers of `width` bits in a dword. */
function elements(b: InstructionBuilder, type: NarrowInteger, field: string, dword: Value, width: 4 | 8 | 16): Value[] {
  if (width === 16) return packedBits(b, field, dword).map((half) => (type === 'i32' ? b.sext16(half) : half));
  return Array.from({ length: 32 / width }, (_, i) => {
    if (type === 'u32') return b.bits(dword, i * width, width);
    return b.shrS(b.shl(dword, 32 - (i + 1) * width), 32 - width);
  });
}

/**
 * Integers of 4, 8 or 16 bits; the clamp bit saturates the last sum. The products fit 32 bits; the sum of two
 * 16-bit products does not always, hence one addition after the other.
 */
export const dotIntegers =
  (width: 4 | 8 | 16, addend: 'accumulator' | 'source', type: 'i32' | 'u32' = 'i32'): Semantics =>
  (b, ...sources) => {
    const [x, y, z] = (addend === 'source' ? sources : [...sources.slice(1), sources[0]]) as [Value, Value, Value];
    const left = elements(b, type, 'src0', x, width);
    const right = elements(b, type, 'src1', y, width);
    const products = left.map((element, i) => b.mul(element, right[i]!));
    return saturating(type, sum)(b, z, ...products);
  };
