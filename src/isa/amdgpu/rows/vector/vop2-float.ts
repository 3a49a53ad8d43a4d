/** VOP2: floating point and dot products. CDNA2 ISA 12.7. */
import type { Value } from '../../../../ir/types.ts';
import {
  type FloatType,
  floatOf,
  legacyFma,
  legacyMad,
  legacyProduct,
  unfusedMultiplyAdd,
} from '../../semantics/float-rules.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { packedF16 } from '../../semantics/packed-operands.ts';
import { packHalves } from '../../semantics/packing.ts';
import { ldexp } from '../../semantics/scaling.ts';
import { type Opcodes, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { dotF16, dotIntegers } from './dot-products.ts';

type Binary = (b: InstructionBuilder, type: FloatType, x: Value, y: Value) => Value;

/** `vopd` is the opcode of the f32 form there. */
const binary = (
  name: string,
  opcodes: Readonly<Partial<Record<FloatType, Opcodes>>>,
  compute: Binary,
  vopd?: number,
): Row[] =>
  (Object.entries(opcodes) as [FloatType, Opcodes][]).map(([type, own]) =>
    row(
      'VOP2',
      `${name}_${type}`,
      own,
      `=vdst:${type} src0:${type} src1:${type}`,
      (b, x, y) => compute(b, type, x, y),
      type === 'f32' && vopd !== undefined ? { vopd } : {},
    ),
  );

/** The destination is the addend. */
function accumulate(
  name: string,
  opcodes: Opcodes,
  operandText: string,
  semantics: Semantics,
  flags: RowFlags = {},
): Row {
  return row('VOP2', name, opcodes, operandText, semantics, { noSdwa: true, ...flags });
}

const ONLY_VOP2: RowFlags = { noVop3: true, noSdwa: true, noDpp: true };

type MultiplyAdd = (b: InstructionBuilder, type: 'f16' | 'f32', x: Value, y: Value, z: Value) => Value;

/** A product and a sum with one constant, the low half of the literal for f16; `k` stands where the constant is. */
function withLiteral(
  name: string,
  type: 'f16' | 'f32',
  opcodes: [Opcodes, Opcodes],
  compute: MultiplyAdd,
  vopd?: readonly [number, number],
): Row[] {
  const madmk: Semantics = (b, x, literal, y) => compute(b, type, x, literal!, y!);
  const madak: Semantics = (b, x, y, literal) => compute(b, type, x, y!, literal!);
  const source = (n: number): string => `src${n}:${type}`;
  return [
    row('VOP2', `${name}mk_${type}`, opcodes[0], `=vdst:${type} ${source(0)} literal:literal32 ${source(1)}`, madmk, {
      ...ONLY_VOP2,
      ...(vopd && { vopd: vopd[0] }),
    }),
    row('VOP2', `${name}ak_${type}`, opcodes[1], `=vdst:${type} ${source(0)} ${source(1)} literal:literal32`, madak, {
      ...ONLY_VOP2,
      ...(vopd && { vopd: vopd[1] }),
    }),
  ];
}

const fused: MultiplyAdd = (b, type, x, y, z) => b[type].fma(x, y, z);

const DOT2 = '+vdst:f32 src0:v2f16 src1:v2f16';
const dot2Accumulate: Semantics = (b, d, x, y) => dotF16(b, packedF16(b, 'src0', x!), packedF16(b, 'src1', y!), d!);

const PACKED = '+vdst:v2f16 src0:v2f16 src1:v2f16';
const packedAccumulate: Semantics = (b, d, x, y) => {
  const half = (i: 0 | 1): Value =>
    b.f16.fma(packedF16(b, 'src0', x!)[i], packedF16(b, 'src1', y!)[i], packedF16(b, 'vdst', d!)[i]);
  return packHalves(b, half(0), half(1));
};

const CLAMPS: RowFlags = { integerClamp: true };

export const VOP2_FLOAT_ROWS: readonly Row[] = [
  ...binary(
    'v_add',
    { f32: { gfx9: 1, gfx10: 3 }, f16: { gfx9: 31, gfx10: 50 } },
    (b, type, x, y) => floatOf(b, type).add(x, y),
    4,
  ),
  ...binary(
    'v_sub',
    { f32: { gfx9: 2, gfx10: 4 }, f16: { gfx9: 32, gfx10: 51 } },
    (b, type, x, y) => floatOf(b, type).sub(x, y),
    5,
  ),
  ...binary(
    'v_subrev',
    { f32: { gfx9: 3, gfx10: 5 }, f16: { gfx9: 33, gfx10: 52 } },
    (b, type, x, y) => floatOf(b, type).sub(y, x),
    6,
  ),
  ...binary(
    'v_mul',
    { f32: { gfx9: 5, gfx10: 8 }, f16: { gfx9: 34, gfx10: 53 } },
    (b, type, x, y) => floatOf(b, type).mul(x, y),
    3,
  ),
  ...binary(
    'v_min',
    {
      f32: { gfx9: 10, gfx10: 15, gfx12: ['v_min_num_f32', 21] },
      f16: { gfx9: 46, gfx10: 58, gfx12: ['v_min_num_f16', 48] },
    },
    (b, type, x, y) => floatOf(b, type).min(x, y),
    11,
  ),
  ...binary(
    'v_max',
    {
      f32: { gfx9: 11, gfx10: 16, gfx12: ['v_max_num_f32', 22] },
      f16: { gfx9: 45, gfx10: 57, gfx12: ['v_max_num_f16', 49] },
    },
    (b, type, x, y) => floatOf(b, type).max(x, y),
    10,
  ),
  accumulate('v_mac_f32', { gfx9: 22, gfx940: -1, gfx101: 31 }, '+vdst:f32 src0:f32 src1:f32', (b, d, x, y) =>
    unfusedMultiplyAdd(b, 'f32', x, y, d),
  ),
  ...withLiteral(
    'v_mad',
    'f32',
    [
      { gfx9: 23, gfx940: -1, gfx101: 32 },
      { gfx9: 24, gfx940: -1, gfx101: 33 },
    ],
    unfusedMultiplyAdd,
  ),
  ...withLiteral(
    'v_fma',
    'f32',
    [
      { gfx940: 23, gfx10: 44 },
      { gfx940: 24, gfx10: 45 },
    ],
    fused,
    [2, 1],
  ),
  ...withLiteral('v_fma', 'f16', [{ gfx10: 55 }, { gfx10: 56 }], fused),
  accumulate('v_mac_f16', 35, '+vdst:f16 src0:f16 src1:f16', (b, d, x, y) => unfusedMultiplyAdd(b, 'f16', x, y, d)),
  ...withLiteral('v_mad', 'f16', [36, 37], unfusedMultiplyAdd),
  row('VOP2', 'v_ldexp_f16', { gfx9: 51, gfx10: 59 }, '=vdst:f16 src0:f16 src1:i16', (b, x, n) =>
    ldexp(b, 'f16', x, b.sext16(n)),
  ),
  accumulate('v_fmac_f64', { gfx90a: 4 }, '+vdst:f64 src0:f64 src1:f64', (b, d, x, y) => b.f64.fma(x, y, d)),
  accumulate(
    'v_fmac_f32',
    { gfx906: 59, gfx10: 43 },
    '+vdst:f32 src0:f32 src1:f32',
    (b, d, x, y) => b.f32.fma(x, y, d),
    { vopd: 0 },
  ),
  accumulate('v_fmac_f16', { gfx10: 54 }, '+vdst:f16 src0:f16 src1:f16', (b, d, x, y) => b.f16.fma(x, y, d), {
    opSelText: 'all',
  }),
  row(
    'VOP2',
    'v_mul_legacy_f32',
    { gfx9: 4, gfx90a: -1, gfx10: 7, gfx11: ['v_mul_dx9_zero_f32', 7] },
    '=vdst:f32 src0:f32 src1:f32',
    legacyProduct,
    { vopd: 7 },
  ),
  accumulate(
    'v_fmac_legacy_f32',
    { gfx10: 6, gfx101: -1, gfx11: ['v_fmac_dx9_zero_f32', 6], gfx12: -1 },
    '+vdst:f32 src0:f32 src1:f32',
    (b, d, x, y) => legacyFma(b, x, y, d),
    { noDpp: true },
  ),
  accumulate('v_mac_legacy_f32', { gfx101: 6 }, '+vdst:f32 src0:f32 src1:f32', (b, d, x, y) => legacyMad(b, x, y, d), {
    noDpp: true,
  }),
  accumulate('v_dot2c_f32_f16', { gfx908: 55 }, DOT2, dot2Accumulate),
  accumulate(
    'v_dot2c_f32_f16',
    { gfx10: 2, gfx101: -1, gfx1011: 2, gfx11: ['v_dot2acc_f32_f16', 2], gfx12: -1 },
    DOT2,
    dot2Accumulate,
    {
      noVop3: true,
      vopd: 12,
    },
  ),
  accumulate(
    'v_dot2c_i32_i16',
    { gfx908: 56 },
    '+vdst:i32 src0:v2b16 src1:v2b16',
    dotIntegers(16, 'accumulator'),
    CLAMPS,
  ),
  accumulate('v_dot4c_i32_i8', { gfx908: 57 }, '+vdst:i32 src0:b32 src1:b32', dotIntegers(8, 'accumulator'), CLAMPS),
  accumulate(
    'v_dot4c_i32_i8',
    { gfx10: 13, gfx101: -1, gfx1011: 13, gfx11: -1 },
    '+vdst:i32 src0:b32 src1:b32',
    dotIntegers(8, 'accumulator'),
    {
      ...CLAMPS,
      noVop3: true,
    },
  ),
  accumulate('v_dot8c_i32_i4', { gfx908: 58 }, '+vdst:i32 src0:b32 src1:b32', dotIntegers(4, 'accumulator'), CLAMPS),
  accumulate('v_pk_fmac_f16', { gfx908: 60 }, PACKED, packedAccumulate, { ...ONLY_VOP2, alwaysSuffixed: true }),
  accumulate('v_pk_fmac_f16', { gfx10: 60, gfx11: -1 }, PACKED, packedAccumulate, ONLY_VOP2),
  accumulate('v_pk_fmac_f16', { gfx11: 60 }, PACKED, packedAccumulate, { noVop3: true }),
];
