/** VOP3: floating point. CDNA2 ISA 12.11, "VOP3A & VOP3B Instructions". */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type Opcodes, type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { divFixup, divFmas, divScale } from './division.ts';
import { type FloatType, floatOf, flushed, legacyProduct, unfusedMultiplyAdd } from './float-rules.ts';
import { f16TowardZero, insertByte, normalizedI16, normalizedU16, packHalves } from './packing.ts';
import { ldexp } from './scaling.ts';
import { VOP3_SMALL_FLOAT_ROWS } from './small-floats.ts';
import { twoOverPiSegment } from './two-over-pi.ts';

type Ternary = (b: InstructionBuilder, type: FloatType, x: Value, y: Value, z: Value) => Value;

const KEEPS_HIGH_HALF: RowFlags = { keepsHighHalf: true };

function ternary(name: string, type: FloatType, opcodes: Opcodes, compute: Ternary, flags: RowFlags = {}): Row {
  const operandText = `=vdst:${type} src0:${type} src1:${type} src2:${type}`;
  return row('VOP3', name, opcodes, operandText, (b, x, y, z) => compute(b, type, x, y, z), flags);
}

function binary(name: string, opcode: number, result: OperandType, sources: OperandType, semantics: Semantics): Row {
  return row('VOP3', name, opcode, `=vdst:${result} src0:${sources} src1:${sources}`, semantics);
}

const fma: Ternary = (b, type, x, y, z) => floatOf(b, type).fma(x, y, z);
const mad =
  (type: 'f16' | 'f32'): Ternary =>
  (b, _, x, y, z) =>
    unfusedMultiplyAdd(b, type, x, y, z);

/** DX9 product, then a sum; denormals are flushed like those of v_mad_f32. */
const legacyMad: Ternary = (b, _, x, y, z) => {
  const flush = (value: Value): Value => flushed(b, 'f32', value);
  return flush(b.f32.add(flush(legacyProduct(b, flush(x), flush(y))), flush(z)));
};

const min3: Ternary = (b, type, x, y, z) => floatOf(b, type).min(floatOf(b, type).min(x, y), z);
const max3: Ternary = (b, type, x, y, z) => floatOf(b, type).max(floatOf(b, type).max(x, y), z);

/** The middle one; with a NaN among them the smallest. */
const med3: Ternary = (b, type, x, y, z) => {
  const f = floatOf(b, type);
  const largest = max3(b, type, x, y, z);
  const others = b.select(f.eq(largest, x), f.max(y, z), b.select(f.eq(largest, y), f.max(x, z), f.max(x, y)));
  const hasNan = b.op('i1.or', b.op('i1.or', f.isNan(x), f.isNan(y)), f.isNan(z));
  return b.select(hasNan, min3(b, type, x, y, z), others);
};

/** min3, max3 and med3 in steps of three opcodes. */
const order = (type: FloatType, opcode: number): Row[] => [
  ternary(`v_min3_${type}`, type, opcode, min3),
  ternary(`v_max3_${type}`, type, opcode + 3, max3),
  ternary(`v_med3_${type}`, type, opcode + 6, med3),
];

function division(type: 'f32' | 'f64', first: number): Row[] {
  const scaleOperands = `=vdst:${type} =sdst:mask src0:${type} src1:${type} src2:${type}`;
  const divFmasByVcc: Ternary = (b, _, x, y, z) => divFmas(b, type, x, y, z, b.laneMask(b.state('vcc')));
  return [
    ternary(`v_div_fixup_${type}`, type, first, divFixup),
    row('VOP3', `v_div_scale_${type}`, first + 2, scaleOperands, (b, x, y, z) => divScale(b, type, x, y, z), {
      vop3b: true,
    }),
    ternary(`v_div_fmas_${type}`, type, first + 4, divFmasByVcc),
  ];
}

const packBoth =
  (convert: (b: InstructionBuilder, x: Value) => Value): Semantics =>
  (b, x, y) =>
    packHalves(b, convert(b, x), convert(b, y));

export const VOP3_FLOAT_ROWS: readonly Row[] = [
  ternary('v_mad_legacy_f32', 'f32', { gfx9: 448, gfx940: -1 }, legacyMad),
  ternary('v_mad_f32', 'f32', { gfx9: 449, gfx940: -1 }, mad('f32')),
  // Cube maps: no use for them without images.
  row('VOP3', 'v_cubeid_f32', 452, '=vdst:f32 src0:f32 src1:f32 src2:f32'),
  row('VOP3', 'v_cubesc_f32', 453, '=vdst:f32 src0:f32 src1:f32 src2:f32'),
  row('VOP3', 'v_cubetc_f32', 454, '=vdst:f32 src0:f32 src1:f32 src2:f32'),
  row('VOP3', 'v_cubema_f32', 455, '=vdst:f32 src0:f32 src1:f32 src2:f32'),
  ternary('v_fma_f32', 'f32', 459, fma),
  ternary('v_fma_f64', 'f64', 460, fma),
  ...order('f32', 464),
  row('VOP3', 'v_cvt_pk_u8_f32', 477, '=vdst:b32 src0:f32 src1:u32 src2:u32', insertByte),
  ...division('f32', 478),
  ...division('f64', 479),
  ternary('v_mad_legacy_f16', 'f16', 490, mad('f16')),
  ternary('v_fma_legacy_f16', 'f16', 494, fma),
  ternary('v_div_fixup_legacy_f16', 'f16', 495, divFixup),
  row('VOP3', 'v_cvt_pkaccum_u8_f32', 496, '+vdst:b32 src0:f32 src1:u32', (b, d, x, position) =>
    insertByte(b, x, position, d),
  ),
  ...order('f16', 500),
  ternary('v_mad_f16', 'f16', 515, mad('f16'), KEEPS_HIGH_HALF),
  ternary('v_fma_f16', 'f16', 518, fma, KEEPS_HIGH_HALF),
  ternary('v_div_fixup_f16', 'f16', 519, divFixup, KEEPS_HIGH_HALF),
  binary('v_add_f64', 640, 'f64', 'f64', (b, x, y) => b.f64.add(x, y)),
  binary('v_mul_f64', 641, 'f64', 'f64', (b, x, y) => b.f64.mul(x, y)),
  binary('v_min_f64', 642, 'f64', 'f64', (b, x, y) => b.f64.min(x, y)),
  binary('v_max_f64', 643, 'f64', 'f64', (b, x, y) => b.f64.max(x, y)),
  row('VOP3', 'v_ldexp_f64', 644, '=vdst:f64 src0:f64 src1:i32', (b, x, n) => ldexp(b, 'f64', x, n)),
  row('VOP3', 'v_ldexp_f32', 648, '=vdst:f32 src0:f32 src1:i32', (b, x, n) => ldexp(b, 'f32', x, n)),
  row('VOP3', 'v_trig_preop_f64', 658, '=vdst:f64 src0:f64 src1:u32', twoOverPiSegment),
  binary(
    'v_cvt_pknorm_i16_f32',
    660,
    'b32',
    'f32',
    packBoth((b, x) => normalizedI16(b, 'f32', x)),
  ),
  binary(
    'v_cvt_pknorm_u16_f32',
    661,
    'b32',
    'f32',
    packBoth((b, x) => normalizedU16(b, 'f32', x)),
  ),
  binary('v_cvt_pkrtz_f16_f32', 662, 'b32', 'f32', packBoth(f16TowardZero)),
  binary(
    'v_cvt_pknorm_i16_f16',
    665,
    'b32',
    'f16',
    packBoth((b, x) => normalizedI16(b, 'f16', x)),
  ),
  binary(
    'v_cvt_pknorm_u16_f16',
    666,
    'b32',
    'f16',
    packBoth((b, x) => normalizedU16(b, 'f16', x)),
  ),
  binary(
    'v_pack_b32_f16',
    672,
    'b32',
    'f16',
    packBoth((b, x) => b.f16.input(x)),
  ),
  binary('v_mul_legacy_f32', 673, 'f32', 'f32', legacyProduct),
  ...VOP3_SMALL_FLOAT_ROWS,
];
