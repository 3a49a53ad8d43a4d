/** VOP3: floating point. CDNA2 ISA 12.11, "VOP3A & VOP3B Instructions". */
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import { divFixup, divFmas, divScale } from '../../semantics/division.ts';
import {
  type FloatType,
  floatOf,
  legacyFma,
  legacyMad,
  legacyProduct,
  maximum,
  minimum,
  unfusedMultiplyAdd,
} from '../../semantics/float-rules.ts';
import { type InstructionBuilder, type Semantics, semanticsOf } from '../../semantics/instruction-builder.ts';
import { packedBf16, packedF16 } from '../../semantics/packed-operands.ts';
import { f16TowardZero, insertByte, normalizedI16, normalizedU16, packHalves } from '../../semantics/packing.ts';
import { ldexp } from '../../semantics/scaling.ts';
import { twoOverPiSegment } from '../../semantics/two-over-pi.ts';
import { alsoIn, type Opcodes, row } from '../table/row.ts';
import { dotInBf16, dotInF16 } from './dot-products.ts';
import { vop3SmallFloatRows } from './small-floats.ts';
import { vop1FloatRows } from './vop1-float.ts';

type Ternary = (b: InstructionBuilder, type: FloatType, x: Value, y: Value, z: Value) => Value;

const KEEPS_HIGH_HALF: RowFlags = { keepsHighHalf: true };
const NO_VOP3_DPP: RowFlags = { noVop3Dpp: true };
const BY_VCC: RowFlags = { noVop3Dpp: true, readsVcc: true };
const HALVES_UNSAID: RowFlags = { opSelText: 'none' };

function ternary(name: string, type: FloatType, opcodes: Opcodes, compute: Ternary, flags: RowFlags = {}): Row {
  const operandText = `=vdst:${type} src0:${type} src1:${type} src2:${type}`;
  return row('VOP3', name, opcodes, operandText, (b, x, y, z) => compute(b, type, x, y, z), flags);
}

// biome-ignore lint/complexity/useMaxParams: the columns of the tables, in their order
function binary(
  name: string,
  opcodes: Opcodes,
  result: OperandType,
  sources: OperandType,
  semantics: Semantics,
  flags?: RowFlags,
): Row {
  return row('VOP3', name, opcodes, `=vdst:${result} src0:${sources} src1:${sources}`, semantics, flags);
}

const fma: Ternary = (b, type, x, y, z) => floatOf(b, type).fma(x, y, z);
const mad =
  (type: 'f16' | 'f32'): Ternary =>
  (b, _, x, y, z) =>
    unfusedMultiplyAdd(b, type, x, y, z);

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

const fmasByVcc =
  (type: 'f32' | 'f64'): Ternary =>
  (b, _, x, y, z) =>
    divFmas(b, type, [x, y, z], b.laneMask(b.state('vcc')));

function scaleOfDivision(name: string, type: 'f32' | 'f64', opcodes: Opcodes): Row {
  const operandText = `=vdst:${type} =sdst:mask src0:${type} src1:${type} src2:${type}`;
  const flags: RowFlags = { vop3b: true, noVop3Dpp: true };
  return row('VOP3', name, opcodes, operandText, (b, x, y, z) => divScale(b, type, x, y, z), flags);
}

const addF64: Semantics = (b, x, y) => b.f64.add(x!, y!);
const mulF64: Semantics = (b, x, y) => b.f64.mul(x!, y!);
const minF64: Semantics = (b, x, y) => b.f64.min(x!, y!);
const maxF64: Semantics = (b, x, y) => b.f64.max(x!, y!);

const packBoth =
  (convert: (b: InstructionBuilder, x: Value) => Value): Semantics =>
  (b, x, y) =>
    packHalves(b, convert(b, x), convert(b, y));

const packI16 = (type: 'f16' | 'f32'): Semantics => packBoth((b, x) => normalizedI16(b, type, x));
const packU16 = (type: 'f16' | 'f32'): Semantics => packBoth((b, x) => normalizedU16(b, type, x));

/**
 * What z, y or x gives where it is the largest in magnitude, the earlier one of equal ones. CDNA3 ISA and
 * RDNA3 ISA, V_CUBEID_F32 and the following.
 */
function byLargest(b: InstructionBuilder, [x, y, z]: readonly Value[], onZ: Value, onY: Value, onX: Value): Value {
  const { f32 } = b;
  const atLeast = (p: Value, q: Value): Value => f32.le(f32.abs(q), f32.abs(p));
  return b.select(b.op('i1.and', atLeast(z!, x!), atLeast(z!, y!)), onZ, b.select(atLeast(y!, x!), onY, onX));
}

const ifNegative = (b: InstructionBuilder, x: Value, negative: Value, other: Value): Value =>
  b.select(b.f32.lt(x, b.f32.constant(0)), negative, other);

const cubeFace: Semantics = (b, ...xyz) => {
  const face = (axis: number): Value =>
    ifNegative(b, xyz[axis]!, b.f32.constant(2 * axis + 1), b.f32.constant(2 * axis));
  return byLargest(b, xyz, face(2), face(1), face(0));
};

const cubeS: Semantics = (b, x, y, z) => {
  const { neg } = b.f32;
  return byLargest(b, [x!, y!, z!], ifNegative(b, z!, neg(x!), x!), x!, ifNegative(b, x!, z!, neg(z!)));
};

const cubeT: Semantics = (b, x, y, z) => {
  const { neg } = b.f32;
  return byLargest(b, [x!, y!, z!], neg(y!), ifNegative(b, y!, neg(z!), z!), neg(y!));
};

const cubeMajorAxis: Semantics = (b, ...xyz) => {
  const [x, y, z] = xyz.map((value) => b.f32.mul(value, b.f32.constant(2)));
  return byLargest(b, xyz, z!, y!, x!);
};

/** The other product where a light does not count: S1 is -MAX, -infinity or a NaN, or S2 is not positive. */
const mulLit: Semantics = (b, x, y, z) => {
  const { f32 } = b;
  const lowest = b.i32(0xff7fffff | 0);
  const hasNone = [f32.le(y!, lowest), f32.isNan(y!), f32.le(z!, f32.constant(0)), f32.isNan(z!)];
  return b.select(
    hasNone.reduce((p, q) => b.op('i1.or', p, q)),
    lowest,
    f32.mul(x!, y!),
  );
};

type Binary = 'min' | 'max';

const inTurn =
  (first: Binary, second: Binary): Ternary =>
  (b, type, x, y, z) =>
    floatOf(b, type)[second](floatOf(b, type)[first](x, y), z);

const packIntegers = (type: 'i16' | 'u16'): Semantics =>
  packBoth((b, x) => {
    if (type === 'u16') return b.minU(b.op('f32.toI32U', x), b.i32(0xffff));
    return b.minS(b.maxS(b.op('f32.toI32S', x), b.i32(-0x8000)), b.i32(0x7fff));
  });

/** The clamp bit and OMOD are ignored (RDNA3 ISA 7.2.3.1). */
const HALF_DOT: RowFlags = {
  integerClamp: true,
  clampBit: 'never',
  approximate: 'each product is added with one rounding; AMD does not publish where the hardware rounds',
};

const dot2F16: Semantics = (b, x, y, z) => dotInF16(b, packedF16(b, 'src0', x!), packedF16(b, 'src1', y!), z!);
const dot2Bf16: Semantics = (b, x, y, z) => dotInBf16(b, packedBf16(b, 'src0', x!), packedBf16(b, 'src1', y!), z!);
const fmaLegacy: Ternary = (b, _, x, y, z) => legacyFma(b, x, y, z);

/** Instructions that gfx10 and gfx11 brought. RDNA3 ISA 16.12. */
// biome-ignore format: one row per line, as the tables of the manual
const laterRows = (): readonly Row[] => [
  ternary('v_fma_legacy_f32', 'f32', { gfx10: 0x140, gfx101: -1, gfx11: ['v_fma_dx9_zero_f32', 0x209] }, fmaLegacy, NO_VOP3_DPP),
  row('VOP3', 'v_mullit_f32', { gfx10: 0x150, gfx11: 0x218 }, '=vdst:f32 src0:f32 src1:f32 src2:f32', mulLit),
  ternary('v_maxmin_f32', 'f32', { gfx11: 0x25e, gfx12: ['v_maxmin_num_f32', 0x269] }, inTurn('max', 'min')),
  ternary('v_minmax_f32', 'f32', { gfx11: 0x25f, gfx12: ['v_minmax_num_f32', 0x268] }, inTurn('min', 'max')),
  ternary('v_maxmin_f16', 'f16', { gfx11: 0x260, gfx12: ['v_maxmin_num_f16', 0x26b] }, inTurn('max', 'min'), HALVES_UNSAID),
  ternary('v_minmax_f16', 'f16', { gfx11: 0x261, gfx12: ['v_minmax_num_f16', 0x26a] }, inTurn('min', 'max'), HALVES_UNSAID),
  row('VOP3', 'v_dot2_f16_f16', { gfx11: 0x266 }, '=vdst:b16 src0:v2f16 src1:v2f16 src2:f16', dot2F16, HALF_DOT),
  row('VOP3', 'v_dot2_bf16_bf16', { gfx11: 0x267 }, '=vdst:b16 src0:v2bf16 src1:v2bf16 src2:bf16', dot2Bf16, HALF_DOT),
  binary('v_cvt_pk_i16_f32', { gfx11: 0x306 }, 'b32', 'f32', packIntegers('i16')),
  binary('v_cvt_pk_u16_f32', { gfx11: 0x307 }, 'b32', 'f32', packIntegers('u16')),
];

type Order = typeof minimum;

const unlessNan =
  (type: FloatType, order: Order): Semantics =>
  (b, x, y) =>
    order(b, floatOf(b, type), x!, y!);
const threeUnlessNan =
  (first: Order, second: Order): Ternary =>
  (b, type, x, y, z) => {
    const f = floatOf(b, type);
    return second(b, f, first(b, f, x, y), z);
  };

/** gfx12: a NaN among the sources is the result. RDNA4 ISA 16.12. */
// biome-ignore format: one row per line, as the tables of the manual
const nanRows = (): readonly Row[] => [
  binary('v_minimum_f64', { gfx12: 0x341 }, 'f64', 'f64', unlessNan('f64', minimum)),
  binary('v_maximum_f64', { gfx12: 0x342 }, 'f64', 'f64', unlessNan('f64', maximum)),
  binary('v_minimum_f32', { gfx12: 0x365 }, 'f32', 'f32', unlessNan('f32', minimum)),
  binary('v_maximum_f32', { gfx12: 0x366 }, 'f32', 'f32', unlessNan('f32', maximum)),
  ternary('v_minimum3_f32', 'f32', { gfx12: 0x22d }, threeUnlessNan(minimum, minimum)),
  ternary('v_maximum3_f32', 'f32', { gfx12: 0x22e }, threeUnlessNan(maximum, maximum)),
  ternary('v_minimummaximum_f32', 'f32', { gfx12: 0x26c }, threeUnlessNan(minimum, maximum)),
  ternary('v_maximumminimum_f32', 'f32', { gfx12: 0x26d }, threeUnlessNan(maximum, minimum)),
  binary('v_minimum_f16', { gfx12: 0x367 }, 'f16', 'f16', unlessNan('f16', minimum), HALVES_UNSAID),
  binary('v_maximum_f16', { gfx12: 0x368 }, 'f16', 'f16', unlessNan('f16', maximum), HALVES_UNSAID),
  ternary('v_minimum3_f16', 'f16', { gfx12: 0x22f }, threeUnlessNan(minimum, minimum)),
  ternary('v_maximum3_f16', 'f16', { gfx12: 0x230 }, threeUnlessNan(maximum, maximum)),
  ternary('v_minimummaximum_f16', 'f16', { gfx12: 0x26e }, threeUnlessNan(minimum, maximum)),
  ternary('v_maximumminimum_f16', 'f16', { gfx12: 0x26f }, threeUnlessNan(maximum, minimum)),
];

const SCALAR_TRANSCENDENTALS = [
  ['exp', 0x280],
  ['log', 0x282],
  ['rcp', 0x284],
  ['rsq', 0x286],
  ['sqrt', 0x288],
] as const;

/** gfx12: instructions of VOP1 with scalar operands, for f32 and, one opcode further on, f16. */
function scalarTranscendentals(): readonly Row[] {
  const originals = new Map(vop1FloatRows().map((original) => [original.name, original]));
  return SCALAR_TRANSCENDENTALS.flatMap(([name, gfx12]) =>
    (['f32', 'f16'] as const).map((type, step) => {
      const original = originals.get(`v_${name}_${type}`)!;
      const flags: RowFlags = { ...original.flags, ...NO_VOP3_DPP, ...HALVES_UNSAID };
      const operandText = `=vdst:${type}/s src0:${type}/s`;
      return row('VOP3', `v_s_${name}_${type}`, { gfx12: gfx12 + step }, operandText, semanticsOf(original), flags);
    }),
  );
}

// biome-ignore format: one row per line, as the tables of the manual
export const vop3FloatRows = (): readonly Row[] => [
  ternary('v_mad_legacy_f32', 'f32', { gfx9: 0x1c0, gfx940: -1, gfx101: 0x140 }, (b, _, x, y, z) => legacyMad(b, x, y, z)),
  ternary('v_mad_f32', 'f32', { gfx9: 0x1c1, gfx940: -1, gfx101: 0x141 }, mad('f32')),
  row('VOP3', 'v_cubeid_f32', { gfx9: 0x1c4, gfx10: 0x144, gfx11: 0x20c }, '=vdst:f32 src0:f32 src1:f32 src2:f32', cubeFace),
  row('VOP3', 'v_cubesc_f32', { gfx9: 0x1c5, gfx10: 0x145, gfx11: 0x20d }, '=vdst:f32 src0:f32 src1:f32 src2:f32', cubeS),
  row('VOP3', 'v_cubetc_f32', { gfx9: 0x1c6, gfx10: 0x146, gfx11: 0x20e }, '=vdst:f32 src0:f32 src1:f32 src2:f32', cubeT),
  row('VOP3', 'v_cubema_f32', { gfx9: 0x1c7, gfx10: 0x147, gfx11: 0x20f }, '=vdst:f32 src0:f32 src1:f32 src2:f32', cubeMajorAxis),
  ternary('v_fma_f32', 'f32', { gfx9: 0x1cb, gfx10: 0x14b, gfx11: 0x213 }, fma),
  ternary('v_fma_f64', 'f64', { gfx9: 0x1cc, gfx10: 0x14c, gfx11: 0x214 }, fma, { doubleFma: true }),
  ternary('v_min3_f32', 'f32', { gfx9: 0x1d0, gfx10: 0x151, gfx11: 0x219, gfx12: ['v_min3_num_f32', 0x229] }, min3),
  ternary('v_max3_f32', 'f32', { gfx9: 0x1d3, gfx10: 0x154, gfx11: 0x21c, gfx12: ['v_max3_num_f32', 0x22a] }, max3),
  ternary('v_med3_f32', 'f32', { gfx9: 0x1d6, gfx10: 0x157, gfx11: 0x21f, gfx12: ['v_med3_num_f32', 0x231] }, med3),
  row('VOP3', 'v_cvt_pk_u8_f32', { gfx9: 0x1dd, gfx10: 0x15e, gfx11: 0x226 }, '=vdst:b32 src0:f32 src1:u32 src2:u32', insertByte),
  ternary('v_div_fixup_f32', 'f32', { gfx9: 0x1de, gfx10: 0x15f, gfx11: 0x227 }, divFixup, NO_VOP3_DPP),
  scaleOfDivision('v_div_scale_f32', 'f32', { gfx9: 0x1e0, gfx10: 0x16d, gfx11: 0x2fc }),
  ternary('v_div_fmas_f32', 'f32', { gfx9: 0x1e2, gfx10: 0x16f, gfx11: 0x237 }, fmasByVcc('f32'), BY_VCC),
  ternary('v_div_fixup_f64', 'f64', { gfx9: 0x1df, gfx10: 0x160, gfx11: 0x228 }, divFixup, NO_VOP3_DPP),
  scaleOfDivision('v_div_scale_f64', 'f64', { gfx9: 0x1e1, gfx10: 0x16e, gfx11: 0x2fd }),
  ternary('v_div_fmas_f64', 'f64', { gfx9: 0x1e3, gfx10: 0x170, gfx11: 0x238 }, fmasByVcc('f64'), BY_VCC),
  ternary('v_mad_legacy_f16', 'f16', 0x1ea, mad('f16'), { opSelText: 'none' }),
  ternary('v_fma_legacy_f16', 'f16', 0x1ee, fma, { opSelText: 'none' }),
  ternary('v_div_fixup_legacy_f16', 'f16', 0x1ef, divFixup, { opSelText: 'none' }),
  row('VOP3', 'v_cvt_pkaccum_u8_f32', 0x1f0, '+vdst:b32 src0:f32 src1:u32', (b, d, x, position) => insertByte(b, x, position, d)),
  ternary('v_min3_f16', 'f16', { gfx9: 0x1f4, gfx10: 0x351, gfx11: 0x249, gfx12: ['v_min3_num_f16', 0x22b] }, min3),
  ternary('v_max3_f16', 'f16', { gfx9: 0x1f7, gfx10: 0x354, gfx11: 0x24c, gfx12: ['v_max3_num_f16', 0x22c] }, max3),
  ternary('v_med3_f16', 'f16', { gfx9: 0x1fa, gfx10: 0x357, gfx11: 0x24f, gfx12: ['v_med3_num_f16', 0x232] }, med3),
  ternary('v_mad_f16', 'f16', 0x203, mad('f16'), KEEPS_HIGH_HALF),
  ternary('v_fma_f16', 'f16', { gfx9: 0x206, gfx10: 0x34b, gfx11: 0x248 }, fma, KEEPS_HIGH_HALF),
  ternary('v_div_fixup_f16', 'f16', { gfx9: 0x207, gfx10: 0x35f, gfx11: 0x254 }, divFixup, KEEPS_HIGH_HALF),
  ...alsoIn('VOP2', binary('v_add_f64', { gfx9: 0x280, gfx10: 0x164, gfx11: 0x327, gfx12: -1 }, 'f64', 'f64', addF64), { gfx12: ['v_add_f64', 0x02] }),
  ...alsoIn('VOP2', binary('v_mul_f64', { gfx9: 0x281, gfx10: 0x165, gfx11: 0x328, gfx12: -1 }, 'f64', 'f64', mulF64), { gfx12: ['v_mul_f64', 0x06] }),
  ...alsoIn('VOP2', binary('v_min_f64', { gfx9: 0x282, gfx10: 0x166, gfx11: 0x329, gfx12: -1 }, 'f64', 'f64', minF64), { gfx12: ['v_min_num_f64', 0x0d] }),
  ...alsoIn('VOP2', binary('v_max_f64', { gfx9: 0x283, gfx10: 0x167, gfx11: 0x32a, gfx12: -1 }, 'f64', 'f64', maxF64), { gfx12: ['v_max_num_f64', 0x0e] }),
  row('VOP3', 'v_ldexp_f64', { gfx9: 0x284, gfx10: 0x168, gfx11: 0x32b }, '=vdst:f64 src0:f64 src1:i32', (b, x, n) => ldexp(b, 'f64', x, n)),
  row('VOP3', 'v_ldexp_f32', { gfx9: 0x288, gfx10: 0x362, gfx11: 0x31c }, '=vdst:f32 src0:f32 src1:i32', (b, x, n) => ldexp(b, 'f32', x, n)),
  row('VOP3', 'v_trig_preop_f64', { gfx9: 0x292, gfx10: 0x174, gfx11: 0x32f }, '=vdst:f64 src0:f64 src1:u32', twoOverPiSegment),
  binary('v_cvt_pknorm_i16_f32', { gfx9: 0x294, gfx10: 0x368, gfx11: ['v_cvt_pk_norm_i16_f32', 0x321] }, 'b32', 'f32', packI16('f32')),
  binary('v_cvt_pknorm_u16_f32', { gfx9: 0x295, gfx10: 0x369, gfx11: ['v_cvt_pk_norm_u16_f32', 0x322] }, 'b32', 'f32', packU16('f32')),
  ...alsoIn('VOP2', binary('v_cvt_pkrtz_f16_f32', 0x296, 'b32', 'f32', packBoth(f16TowardZero), { scaled: 'always' }), { gfx10: 0x2f, gfx11: ['v_cvt_pk_rtz_f16_f32', 0x2f] }),
  binary('v_cvt_pknorm_i16_f16', { gfx9: 0x299, gfx10: 0x312, gfx11: ['v_cvt_pk_norm_i16_f16', 0x312] }, 'b32', 'f16', packI16('f16')),
  binary('v_cvt_pknorm_u16_f16', { gfx9: 0x29a, gfx10: 0x313, gfx11: ['v_cvt_pk_norm_u16_f16', 0x313] }, 'b32', 'f16', packU16('f16')),
  binary('v_pack_b32_f16', { gfx9: 0x2a0, gfx10: 0x311 }, 'b32', 'f16', packBoth((b, x) => b.f16.input(x))),
  binary('v_mul_legacy_f32', { gfx90a: 0x2a1 }, 'f32', 'f32', legacyProduct),
  ...laterRows(),
  ...vop3SmallFloatRows(),
  ...nanRows(),
  ...scalarTranscendentals(),
];
