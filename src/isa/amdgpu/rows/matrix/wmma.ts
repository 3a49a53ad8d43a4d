/**
 * Products of 16 x 16 matrices, RDNA3 ISA 7.9 and 16.10, opcodes 64 to 69 of VOP3P. All lanes work, whatever
 * EXEC says, and sums are rounded to nearest even. Approximate, because no public text says more: products
 * are added to an f32 with one rounding each, in ascending order of k, denormals are kept, and a 16-bit
 * result is rounded once, at the end.
 */
import { WavewrightError } from '../../../../base/errors.ts';
import type { Value } from '../../../../ir/types.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { type ElementFormat, elements } from '../../semantics/matrix/matrix-elements.ts';
import { waveProduct } from '../../semantics/matrix/matrix-layout.ts';
import { add, saturating } from '../../semantics/saturation.ts';

type HalfFormat = 'f16' | 'bf16';

function refuse(b: InstructionBuilder, what: string): never {
  throw new WavewrightError('UNSUPPORTED', `unsupported instruction '${b.instruction.name}' ${what}`);
}

/** Registers of A or B, which are VGPRs. */
function sourceDwords(b: InstructionBuilder, field: 'src0' | 'src1'): Value[] {
  const index = b.index(field);
  return b.isVector(index) ? b.dwords(index) : refuse(b, `whose ${field} is no VGPR`);
}

/** The registers of C; an inline constant stands for each of them. */
function accumulatorDwords(b: InstructionBuilder): Value[] {
  const index = b.index('src2');
  const { kind } = b.instruction.operand(index);
  if (kind !== 'vector' && kind !== 'constant') refuse(b, 'whose src2 is neither VGPR nor constant');
  const count = 256 / b.waveSize;
  if (kind === 'vector') return b.dwords(index, count);
  const value = b.dword(index, 0);
  return Array.from({ length: count }, () => value);
}

/** 16 halves of A or B: NEG negates those in the low halves of registers, NEG_HI those in the high halves. */
function halves(b: InstructionBuilder, source: 0 | 1, format: HalfFormat): Value[] {
  const bit = (field: string): number => (b.field(field) >> source) & 1;
  const signs = (bit('neg') ? 0x8000 : 0) | (bit('neg_hi') ? 0x80000000 : 0);
  const dwords = sourceDwords(b, source === 0 ? 'src0' : 'src1');
  return elements(b, format, signs ? dwords.map((dword) => b.xor(dword, b.i32(signs))) : dwords, false);
}

/** C as f32: NEG_HI takes the absolute value, then NEG negates. */
function signed(b: InstructionBuilder, values: readonly Value[]): Value[] {
  const bit = (field: string): number => (b.field(field) >> 2) & 1;
  const magnitudes = values.map((x) => (bit('neg_hi') ? b.f32.abs(x) : x));
  return magnitudes.map((x) => (bit('neg') ? b.f32.neg(x) : x));
}

function halfProduct(b: InstructionBuilder, format: HalfFormat, accumulators: readonly Value[]): Value[] {
  if (b.field('clamp')) refuse(b, 'with clamp');
  const product = waveProduct('f32', b.waveSize);
  return b.matrixProduct(product, halves(b, 0, format), halves(b, 1, format), signed(b, accumulators));
}

/** f16 or bf16 matrices, added to one of f32. */
export const waveMultiplyF32 =
  (format: HalfFormat): Semantics =>
  (b) =>
    b.setDwords(b.index('vdst'), halfProduct(b, format, accumulatorDwords(b)));

/** f32 without NaN payload as bf16, to nearest even. */
const bf16FromF32 = (b: InstructionBuilder, x: Value): Value =>
  b.shrU(b.add(x, b.add(b.i32(0x7fff), b.bits(x, 16, 1))), 16);

/**
 * All matrices of the format; a register has one element of C or D, in the half that OP_SEL[2] chooses, and D
 * leaves the other as it was.
 */
export const waveMultiplyHalf =
  (format: HalfFormat): Semantics =>
  (b) => {
    const [destination, isHigh] = [b.index('vdst'), (b.field('op_sel') & 4) !== 0];
    const isConstant = !b.isVector(b.index('src2'));
    // A constant is an f16 in the low half, or an f32 whose high half is the bf16.
    const readsHigh = isConstant ? format === 'bf16' : isHigh;
    const accumulators = accumulatorDwords(b).map((dword) => elements(b, format, [dword], false)[readsHigh ? 1 : 0]!);
    const sums = halfProduct(b, format, accumulators);
    const results = sums.map((x) => (format === 'f16' ? b.op('f16.fromF32', x) : bf16FromF32(b, x)));
    const old = b.dwords(destination, sums.length);
    b.setDwords(
      destination,
      results.map((x, i) =>
        isHigh ? b.or(b.bits(old[i]!, 0, 16), b.shl(x, 16)) : b.or(b.and(old[i]!, b.i32(0xffff0000)), x),
      ),
    );
  };

/** Integers of 8 or 4 bits, signed where NEG says so; the clamp bit saturates the sum. */
export const waveMultiplyIntegers =
  (width: 8 | 4): Semantics =>
  (b) => {
    const integers = (source: 0 | 1): Value[] => {
      const format = `${(b.field('neg') >> source) & 1 ? 'i' : 'u'}${width}` as ElementFormat;
      return elements(b, format, sourceDwords(b, source === 0 ? 'src0' : 'src1'), false);
    };
    const product = waveProduct('i32', b.waveSize);
    const accumulators = accumulatorDwords(b);
    const destination = b.index('vdst');
    if (!b.field('clamp')) {
      b.setDwords(destination, b.matrixProduct(product, integers(0), integers(1), accumulators));
      return;
    }
    const zeros = accumulators.map(() => b.i32(0));
    const sums = b.matrixProduct(product, integers(0), integers(1), zeros);
    b.setDwords(
      destination,
      sums.map((sum, i) => saturating('i32', add)(b, accumulators[i]!, sum) as Value),
    );
  };
