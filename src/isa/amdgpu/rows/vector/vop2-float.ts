/** VOP2: floating point and dot products. CDNA2 ISA 12.7. */
import type { Value } from '../../../../ir/types.ts';
import type { Row, RowFlags } from '../../encoding/row.ts';
import {
  type FloatType,
  floatOf,
  legacyFma,
  legacyMad,
  legacyProduct,
  unfusedMultiplyAdd,
} from '../../semantics/float-rules.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { packedF16 } from '../../semantics/packed-operands.ts';
import { packHalves } from '../../semantics/packing.ts';
import { ldexp } from '../../semantics/scaling.ts';
import { type Opcodes, row } from '../table/row.ts';
import { dotF16, dotIntegers } from './dot-products.ts';

type Binary = (b: InstructionBuilder, type: FloatType, x: Value, y: Value) => Value;

function binary(name: string, type: FloatType, opcodes: Opcodes, compute: Binary, flags?: RowFlags): Row {
  const operandText = `=vdst:${type} src0:${type} src1:${type}`;
  return row('VOP2', name, opcodes, operandText, (b, x, y) => compute(b, type, x, y), flags);
}

const add: Binary = (b, type, x, y) => floatOf(b, type).add(x, y);
const sub: Binary = (b, type, x, y) => floatOf(b, type).sub(x, y);
const subrev: Binary = (b, type, x, y) => floatOf(b, type).sub(y, x);
const mul: Binary = (b, type, x, y) => floatOf(b, type).mul(x, y);
const min: Binary = (b, type, x, y) => floatOf(b, type).min(x, y);
const max: Binary = (b, type, x, y) => floatOf(b, type).max(x, y);

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

/**
 * A product and a sum with one constant, the low half of the literal for f16; the constant is the second
 * factor.
 */
function multiplyByLiteral(
  name: string,
  type: 'f16' | 'f32',
  opcodes: Opcodes,
  compute: MultiplyAdd,
  vopd?: number,
): Row {
  const madmk: Semantics = (b, x, literal, y) => compute(b, type, x!, literal!, y!);
  const operandText = `=vdst:${type} src0:${type} literal:literal32 src1:${type}`;
  return row('VOP2', name, opcodes, operandText, madmk, { ...ONLY_VOP2, ...(vopd !== undefined && { vopd }) });
}

/** The constant is the addend. */
function addLiteral(name: string, type: 'f16' | 'f32', opcodes: Opcodes, compute: MultiplyAdd, vopd?: number): Row {
  const madak: Semantics = (b, x, y, literal) => compute(b, type, x!, y!, literal!);
  const operandText = `=vdst:${type} src0:${type} src1:${type} literal:literal32`;
  return row('VOP2', name, opcodes, operandText, madak, { ...ONLY_VOP2, ...(vopd !== undefined && { vopd }) });
}

const fused: MultiplyAdd = (b, type, x, y, z) => b[type].fma(x, y, z);

const F32_PRODUCT = '=vdst:f32 src0:f32 src1:f32';
const F32_SUM = '+vdst:f32 src0:f32 src1:f32';
const fmaLegacy: Semantics = (b, d, x, y) => legacyFma(b, x!, y!, d!);

const DOT2 = '+vdst:f32 src0:v2f16 src1:v2f16';
const dot2Accumulate: Semantics = (b, d, x, y) => dotF16(b, packedF16(b, 'src0', x!), packedF16(b, 'src1', y!), d!);

const PACKED = '+vdst:v2f16 src0:v2f16 src1:v2f16';
const packedAccumulate: Semantics = (b, d, x, y) => {
  const half = (i: 0 | 1): Value =>
    b.f16.fma(packedF16(b, 'src0', x!)[i], packedF16(b, 'src1', y!)[i], packedF16(b, 'vdst', d!)[i]);
  return packHalves(b, half(0), half(1));
};

const dot4 = dotIntegers(8, 'accumulator');

/** LLVM 19 takes signs of the integers for those of floats. */
const DOT_INTEGERS: RowFlags = { integerClamp: true, signs: 'floats', dot: true };

// biome-ignore format: one row per line, as the tables of the manual
export const vop2FloatRows = (): readonly Row[] => [
  binary('v_add_f32', 'f32', { gfx9: 0x01, gfx10: 0x03 }, add, { vopd: 0x04 }),
  binary('v_add_f16', 'f16', { gfx9: 0x1f, gfx10: 0x32 }, add),
  binary('v_sub_f32', 'f32', { gfx9: 0x02, gfx10: 0x04 }, sub, { vopd: 0x05 }),
  binary('v_sub_f16', 'f16', { gfx9: 0x20, gfx10: 0x33 }, sub),
  binary('v_subrev_f32', 'f32', { gfx9: 0x03, gfx10: 0x05 }, subrev, { vopd: 0x06 }),
  binary('v_subrev_f16', 'f16', { gfx9: 0x21, gfx10: 0x34 }, subrev),
  binary('v_mul_f32', 'f32', { gfx9: 0x05, gfx10: 0x08 }, mul, { vopd: 0x03 }),
  binary('v_mul_f16', 'f16', { gfx9: 0x22, gfx10: 0x35 }, mul),
  binary('v_min_f32', 'f32', { gfx9: 0x0a, gfx10: 0x0f, gfx12: ['v_min_num_f32', 0x15] }, min, { vopd: 0x0b }),
  binary('v_min_f16', 'f16', { gfx9: 0x2e, gfx10: 0x3a, gfx12: ['v_min_num_f16', 0x30] }, min),
  binary('v_max_f32', 'f32', { gfx9: 0x0b, gfx10: 0x10, gfx12: ['v_max_num_f32', 0x16] }, max, { vopd: 0x0a }),
  binary('v_max_f16', 'f16', { gfx9: 0x2d, gfx10: 0x39, gfx12: ['v_max_num_f16', 0x31] }, max),
  accumulate('v_mac_f32', { gfx9: 0x16, gfx940: -1, gfx101: 0x1f }, F32_SUM, (b, d, x, y) => unfusedMultiplyAdd(b, 'f32', x, y, d)),
  multiplyByLiteral('v_madmk_f32', 'f32', { gfx9: 0x17, gfx940: -1, gfx101: 0x20 }, unfusedMultiplyAdd),
  addLiteral('v_madak_f32', 'f32', { gfx9: 0x18, gfx940: -1, gfx101: 0x21 }, unfusedMultiplyAdd),
  multiplyByLiteral('v_fmamk_f32', 'f32', { gfx940: 0x17, gfx10: 0x2c }, fused, 0x02),
  addLiteral('v_fmaak_f32', 'f32', { gfx940: 0x18, gfx10: 0x2d }, fused, 0x01),
  multiplyByLiteral('v_fmamk_f16', 'f16', { gfx10: 0x37 }, fused),
  addLiteral('v_fmaak_f16', 'f16', { gfx10: 0x38 }, fused),
  accumulate('v_mac_f16', 0x23, '+vdst:f16 src0:f16 src1:f16', (b, d, x, y) => unfusedMultiplyAdd(b, 'f16', x, y, d)),
  multiplyByLiteral('v_madmk_f16', 'f16', 0x24, unfusedMultiplyAdd),
  addLiteral('v_madak_f16', 'f16', 0x25, unfusedMultiplyAdd),
  row('VOP2', 'v_ldexp_f16', { gfx9: 0x33, gfx10: 0x3b }, '=vdst:f16 src0:f16 src1:i16', (b, x, n) => ldexp(b, 'f16', x, b.sext16(n))),
  accumulate('v_fmac_f64', { gfx90a: 0x04 }, '+vdst:f64 src0:f64 src1:f64', (b, d, x, y) => b.f64.fma(x, y, d), { doubleFma: true }),
  accumulate('v_fmac_f32', { gfx906: 0x3b, gfx10: 0x2b }, F32_SUM, (b, d, x, y) => b.f32.fma(x, y, d), { vopd: 0x00 }),
  accumulate('v_fmac_f16', { gfx10: 0x36 }, '+vdst:f16 src0:f16 src1:f16', (b, d, x, y) => b.f16.fma(x, y, d), { opSelText: 'all' }),
  row('VOP2', 'v_mul_legacy_f32', { gfx9: 0x04, gfx90a: -1, gfx10: 0x07, gfx11: ['v_mul_dx9_zero_f32', 0x07] }, F32_PRODUCT, legacyProduct, { vopd: 0x07 }),
  accumulate('v_fmac_legacy_f32', { gfx10: 0x06, gfx101: -1, gfx11: ['v_fmac_dx9_zero_f32', 0x06], gfx12: -1 }, F32_SUM, fmaLegacy, { noDpp: true }),
  accumulate('v_mac_legacy_f32', { gfx101: 0x06 }, F32_SUM, (b, d, x, y) => legacyMad(b, x, y, d), { noDpp: true }),
  accumulate('v_dot2c_f32_f16', { gfx908: 0x37 }, DOT2, dot2Accumulate, { dot: true }),
  accumulate('v_dot2c_f32_f16', { gfx10: 0x02, gfx101: -1, gfx1011: 0x02, gfx11: ['v_dot2acc_f32_f16', 0x02], gfx12: -1 }, DOT2, dot2Accumulate, { noVop3: true, vopd: 0x0c }),
  accumulate('v_dot2c_i32_i16', { gfx908: 0x38 }, '+vdst:i32 src0:v2b16 src1:v2b16', dotIntegers(16, 'accumulator'), DOT_INTEGERS),
  accumulate('v_dot4c_i32_i8', { gfx908: 0x39 }, '+vdst:i32 src0:b32 src1:b32', dot4, DOT_INTEGERS),
  accumulate('v_dot4c_i32_i8', { gfx10: 0x0d, gfx101: -1, gfx1011: 0x0d, gfx11: -1 }, '+vdst:i32 src0:b32 src1:b32', dot4, { ...DOT_INTEGERS, noVop3: true }),
  accumulate('v_dot8c_i32_i4', { gfx908: 0x3a }, '+vdst:i32 src0:b32 src1:b32', dotIntegers(4, 'accumulator'), DOT_INTEGERS),
  accumulate('v_pk_fmac_f16', { gfx908: 0x3c }, PACKED, packedAccumulate, { ...ONLY_VOP2, alwaysSuffixed: true }),
  accumulate('v_pk_fmac_f16', { gfx10: 0x3c, gfx11: -1 }, PACKED, packedAccumulate, ONLY_VOP2),
  accumulate('v_pk_fmac_f16', { gfx11: 0x3c }, PACKED, packedAccumulate, { noVop3: true }),
];
