/** VOP3: floating point. CDNA2 ISA 12.11, "VOP3A & VOP3B Instructions". */
import type { Value } from '../../../../ir/types.ts';
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
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { packedBf16, packedF16 } from '../../semantics/packed-operands.ts';
import { f16TowardZero, insertByte, normalizedI16, normalizedU16, packHalves } from '../../semantics/packing.ts';
import { ldexp } from '../../semantics/scaling.ts';
import { VOP3_SMALL_FLOAT_ROWS } from '../../semantics/small-floats.ts';
import { twoOverPiSegment } from '../../semantics/two-over-pi.ts';
import {
  alsoIn,
  type ByFamily,
  moved,
  type Opcodes,
  type OperandType,
  type Row,
  type RowFlags,
  row,
  type Semantics,
} from '../row.ts';
import { dotInBf16, dotInF16 } from './dot-products.ts';
import { VOP1_FLOAT_ROWS } from './vop1-float.ts';

type Ternary = (b: InstructionBuilder, type: FloatType, x: Value, y: Value, z: Value) => Value;

const KEEPS_HIGH_HALF: RowFlags = { keepsHighHalf: true };
const NO_VOP3_DPP: RowFlags = { noVop3Dpp: true };

function ternary(name: string, type: FloatType, opcodes: Opcodes, compute: Ternary, flags: RowFlags = {}): Row {
  const operandText = `=vdst:${type} src0:${type} src1:${type} src2:${type}`;
  return row('VOP3', name, opcodes, operandText, (b, x, y, z) => compute(b, type, x, y, z), flags);
}

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

/** min3, max3 and med3 in steps of three opcodes; on gfx12 by other names. */
function order(type: FloatType, first: ByFamily, gfx12: readonly [min3: number, max3: number, med3: number]): Row[] {
  const operations = [
    ['min3', min3],
    ['max3', max3],
    ['med3', med3],
  ] as const;
  return operations.map(([name, operation], i) => {
    const opcodes = { ...moved(first, 3 * i), gfx12: [`v_${name}_num_${type}`, gfx12[i]!] as const };
    return ternary(`v_${name}_${type}`, type, opcodes, operation);
  });
}

/** Opcodes of f32; those of f64 follow. */
interface DivisionOpcodes {
  readonly fixup: ByFamily;
  readonly scale: ByFamily;
  readonly fmas: ByFamily;
}

const DIVISION: DivisionOpcodes = {
  fixup: { gfx9: 478, gfx10: 351, gfx11: 551 },
  scale: { gfx9: 480, gfx10: 365, gfx11: 764 },
  fmas: { gfx9: 482, gfx10: 367, gfx11: 567 },
};

function division(type: 'f32' | 'f64', distance: number): Row[] {
  const scaleOperands = `=vdst:${type} =sdst:mask src0:${type} src1:${type} src2:${type}`;
  const divFmasByVcc: Ternary = (b, _, x, y, z) => divFmas(b, type, x, y, z, b.laneMask(b.state('vcc')));
  return [
    ternary(`v_div_fixup_${type}`, type, moved(DIVISION.fixup, distance), divFixup, NO_VOP3_DPP),
    row(
      'VOP3',
      `v_div_scale_${type}`,
      moved(DIVISION.scale, distance),
      scaleOperands,
      (b, x, y, z) => divScale(b, type, x, y, z),
      {
        vop3b: true,
        noVop3Dpp: true,
      },
    ),
    ternary(`v_div_fmas_${type}`, type, moved(DIVISION.fmas, distance), divFmasByVcc, NO_VOP3_DPP),
  ];
}

const packBoth =
  (convert: (b: InstructionBuilder, x: Value) => Value): Semantics =>
  (b, x, y) =>
    packHalves(b, convert(b, x), convert(b, y));

/** What z, y or x gives where it is the largest in magnitude, the earlier one of equal ones. CDNA3 ISA and RDNA3 ISA, V_CUBEID_F32 and the following. */
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
  approximate: 'each product is added with one rounding; AMD does not publish where the hardware rounds',
};

/** Instructions that gfx10 and gfx11 brought. RDNA3 ISA 16.12. */
const LATER_ROWS: readonly Row[] = [
  ternary(
    'v_fma_legacy_f32',
    'f32',
    { gfx10: 320, gfx101: -1, gfx11: ['v_fma_dx9_zero_f32', 521] },
    (b, _, x, y, z) => legacyFma(b, x, y, z),
    NO_VOP3_DPP,
  ),
  row('VOP3', 'v_mullit_f32', { gfx10: 336, gfx11: 536 }, '=vdst:f32 src0:f32 src1:f32 src2:f32', mulLit),
  ternary('v_maxmin_f32', 'f32', { gfx11: 606, gfx12: ['v_maxmin_num_f32', 617] }, inTurn('max', 'min')),
  ternary('v_minmax_f32', 'f32', { gfx11: 607, gfx12: ['v_minmax_num_f32', 616] }, inTurn('min', 'max')),
  ternary('v_maxmin_f16', 'f16', { gfx11: 608, gfx12: ['v_maxmin_num_f16', 619] }, inTurn('max', 'min'), {
    opSelText: 'none',
  }),
  ternary('v_minmax_f16', 'f16', { gfx11: 609, gfx12: ['v_minmax_num_f16', 618] }, inTurn('min', 'max'), {
    opSelText: 'none',
  }),
  row(
    'VOP3',
    'v_dot2_f16_f16',
    { gfx11: 614 },
    '=vdst:b16 src0:v2f16 src1:v2f16 src2:f16',
    (b, x, y, z) => dotInF16(b, packedF16(b, 'src0', x), packedF16(b, 'src1', y), z),
    HALF_DOT,
  ),
  row(
    'VOP3',
    'v_dot2_bf16_bf16',
    { gfx11: 615 },
    '=vdst:b16 src0:v2bf16 src1:v2bf16 src2:bf16',
    (b, x, y, z) => dotInBf16(b, packedBf16(b, 'src0', x), packedBf16(b, 'src1', y), z),
    HALF_DOT,
  ),
  binary('v_cvt_pk_i16_f32', { gfx11: 774 }, 'b32', 'f32', packIntegers('i16')),
  binary('v_cvt_pk_u16_f32', { gfx11: 775 }, 'b32', 'f32', packIntegers('u16')),
];

type Order = typeof minimum;

/** gfx12: a NaN among the sources is the result. RDNA4 ISA 16.12. */
const NAN_ROWS: readonly Row[] = (['f64', 'f32', 'f16'] as const).flatMap((type, i) => {
  const halves: RowFlags = type === 'f16' ? { opSelText: 'none' } : {};
  const three =
    (first: Order, second: Order): Ternary =>
    (b, _, x, y, z) => {
      const f = floatOf(b, type);
      return second(b, f, first(b, f, x, y), z);
    };
  const two = (order: Order) => (b: InstructionBuilder, x: Value, y: Value) => order(b, floatOf(b, type), x, y);
  const places = [
    [833, 0, 0],
    [869, 557, 620],
    [871, 559, 622],
  ] as const;
  const [pair, triple, both] = places[i]!;
  return [
    binary(`v_minimum_${type}`, { gfx12: pair }, type, type, two(minimum), halves),
    binary(`v_maximum_${type}`, { gfx12: pair + 1 }, type, type, two(maximum), halves),
    ...(type === 'f64'
      ? []
      : [
          ternary(`v_minimum3_${type}`, type, { gfx12: triple }, three(minimum, minimum)),
          ternary(`v_maximum3_${type}`, type, { gfx12: triple + 1 }, three(maximum, maximum)),
          ternary(`v_minimummaximum_${type}`, type, { gfx12: both }, three(minimum, maximum)),
          ternary(`v_maximumminimum_${type}`, type, { gfx12: both + 1 }, three(maximum, minimum)),
        ]),
  ];
});

/** gfx12: with scalar operands. */
const SCALAR_TRANSCENDENTALS: readonly Row[] = ['exp', 'log', 'rcp', 'rsq', 'sqrt'].flatMap((name, i) =>
  (['f32', 'f16'] as const).map((type, k) => {
    const { semantics, flags } = VOP1_FLOAT_ROWS.find((each) => each.name === `v_${name}_${type}`)!;
    const operandText = `=vdst:${type}/s src0:${type}/s`;
    return row('VOP3', `v_s_${name}_${type}`, { gfx12: 640 + 2 * i + k }, operandText, semantics, {
      ...flags,
      ...NO_VOP3_DPP,
      opSelText: 'none',
    });
  }),
);

export const VOP3_FLOAT_ROWS: readonly Row[] = [
  ternary('v_mad_legacy_f32', 'f32', { gfx9: 448, gfx940: -1, gfx101: 320 }, (b, _, x, y, z) => legacyMad(b, x, y, z)),
  ternary('v_mad_f32', 'f32', { gfx9: 449, gfx940: -1, gfx101: 321 }, mad('f32')),
  row('VOP3', 'v_cubeid_f32', { gfx9: 452, gfx10: 324, gfx11: 524 }, '=vdst:f32 src0:f32 src1:f32 src2:f32', cubeFace),
  row('VOP3', 'v_cubesc_f32', { gfx9: 453, gfx10: 325, gfx11: 525 }, '=vdst:f32 src0:f32 src1:f32 src2:f32', cubeS),
  row('VOP3', 'v_cubetc_f32', { gfx9: 454, gfx10: 326, gfx11: 526 }, '=vdst:f32 src0:f32 src1:f32 src2:f32', cubeT),
  row(
    'VOP3',
    'v_cubema_f32',
    { gfx9: 455, gfx10: 327, gfx11: 527 },
    '=vdst:f32 src0:f32 src1:f32 src2:f32',
    cubeMajorAxis,
  ),
  ternary('v_fma_f32', 'f32', { gfx9: 459, gfx10: 331, gfx11: 531 }, fma),
  ternary('v_fma_f64', 'f64', { gfx9: 460, gfx10: 332, gfx11: 532 }, fma),
  ...order('f32', { gfx9: 464, gfx10: 337, gfx11: 537 }, [553, 554, 561]),
  row(
    'VOP3',
    'v_cvt_pk_u8_f32',
    { gfx9: 477, gfx10: 350, gfx11: 550 },
    '=vdst:b32 src0:f32 src1:u32 src2:u32',
    insertByte,
  ),
  ...division('f32', 0),
  ...division('f64', 1),
  ternary('v_mad_legacy_f16', 'f16', 490, mad('f16')),
  ternary('v_fma_legacy_f16', 'f16', 494, fma),
  ternary('v_div_fixup_legacy_f16', 'f16', 495, divFixup),
  row('VOP3', 'v_cvt_pkaccum_u8_f32', 496, '+vdst:b32 src0:f32 src1:u32', (b, d, x, position) =>
    insertByte(b, x, position, d),
  ),
  ...order('f16', { gfx9: 500, gfx10: 849, gfx11: 585 }, [555, 556, 562]),
  ternary('v_mad_f16', 'f16', 515, mad('f16'), KEEPS_HIGH_HALF),
  ternary('v_fma_f16', 'f16', { gfx9: 518, gfx10: 843, gfx11: 584 }, fma, KEEPS_HIGH_HALF),
  ternary('v_div_fixup_f16', 'f16', { gfx9: 519, gfx10: 863, gfx11: 596 }, divFixup, KEEPS_HIGH_HALF),
  ...alsoIn(
    'VOP2',
    binary('v_add_f64', { gfx9: 640, gfx10: 356, gfx11: 807, gfx12: -1 }, 'f64', 'f64', (b, x, y) => b.f64.add(x, y)),
    { gfx12: ['v_add_f64', 2] },
  ),
  ...alsoIn(
    'VOP2',
    binary('v_mul_f64', { gfx9: 641, gfx10: 357, gfx11: 808, gfx12: -1 }, 'f64', 'f64', (b, x, y) => b.f64.mul(x, y)),
    { gfx12: ['v_mul_f64', 6] },
  ),
  ...alsoIn(
    'VOP2',
    binary('v_min_f64', { gfx9: 642, gfx10: 358, gfx11: 809, gfx12: -1 }, 'f64', 'f64', (b, x, y) => b.f64.min(x, y)),
    { gfx12: ['v_min_num_f64', 13] },
  ),
  ...alsoIn(
    'VOP2',
    binary('v_max_f64', { gfx9: 643, gfx10: 359, gfx11: 810, gfx12: -1 }, 'f64', 'f64', (b, x, y) => b.f64.max(x, y)),
    { gfx12: ['v_max_num_f64', 14] },
  ),
  row('VOP3', 'v_ldexp_f64', { gfx9: 644, gfx10: 360, gfx11: 811 }, '=vdst:f64 src0:f64 src1:i32', (b, x, n) =>
    ldexp(b, 'f64', x, n),
  ),
  row('VOP3', 'v_ldexp_f32', { gfx9: 648, gfx10: 866, gfx11: 796 }, '=vdst:f32 src0:f32 src1:i32', (b, x, n) =>
    ldexp(b, 'f32', x, n),
  ),
  row(
    'VOP3',
    'v_trig_preop_f64',
    { gfx9: 658, gfx10: 372, gfx11: 815 },
    '=vdst:f64 src0:f64 src1:u32',
    twoOverPiSegment,
  ),
  binary(
    'v_cvt_pknorm_i16_f32',
    { gfx9: 660, gfx10: 872, gfx11: ['v_cvt_pk_norm_i16_f32', 801] },
    'b32',
    'f32',
    packBoth((b, x) => normalizedI16(b, 'f32', x)),
  ),
  binary(
    'v_cvt_pknorm_u16_f32',
    { gfx9: 661, gfx10: 873, gfx11: ['v_cvt_pk_norm_u16_f32', 802] },
    'b32',
    'f32',
    packBoth((b, x) => normalizedU16(b, 'f32', x)),
  ),
  ...alsoIn('VOP2', binary('v_cvt_pkrtz_f16_f32', 662, 'b32', 'f32', packBoth(f16TowardZero)), {
    gfx10: 47,
    gfx11: ['v_cvt_pk_rtz_f16_f32', 47],
  }),
  binary(
    'v_cvt_pknorm_i16_f16',
    { gfx9: 665, gfx10: 786, gfx11: ['v_cvt_pk_norm_i16_f16', 786] },
    'b32',
    'f16',
    packBoth((b, x) => normalizedI16(b, 'f16', x)),
  ),
  binary(
    'v_cvt_pknorm_u16_f16',
    { gfx9: 666, gfx10: 787, gfx11: ['v_cvt_pk_norm_u16_f16', 787] },
    'b32',
    'f16',
    packBoth((b, x) => normalizedU16(b, 'f16', x)),
  ),
  binary(
    'v_pack_b32_f16',
    { gfx9: 672, gfx10: 785 },
    'b32',
    'f16',
    packBoth((b, x) => b.f16.input(x)),
  ),
  binary('v_mul_legacy_f32', { gfx90a: 673 }, 'f32', 'f32', legacyProduct),
  ...LATER_ROWS,
  ...VOP3_SMALL_FLOAT_ROWS,
  ...NAN_ROWS,
  ...SCALAR_TRANSCENDENTALS,
];
