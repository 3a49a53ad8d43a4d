/**
 * Conversions of 8-bit numbers. CDNA3 ISA 12.8, opcodes 84 to 87 of VOP1, 12.11, opcodes 674 to 677 of VOP3.
 * gfx12 has them of other formats, with infinities and two zeros (RDNA4 ISA 7.5), known by name.
 */
import type { Row, RowFlags } from '../../encoding/row.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';
import { fromF32, SMALL_FLOATS, toF32 } from '../../semantics/small-floats.ts';
import { row } from '../table/row.ts';

const [FP8, BF8] = SMALL_FLOATS;
type SmallFloat = typeof FP8;

const widen =
  (layout: SmallFloat): Semantics =>
  (b, x) =>
    toF32(b, layout, x!);

const widenPair =
  (layout: SmallFloat): Semantics =>
  (b, x) =>
    b.pack(toF32(b, layout, x!), toF32(b, layout, b.shrU(x!, 8)));

/** Two bytes in the half of the destination that op_sel chooses; the clamp bit has no meaning. */
const packed =
  (layout: SmallFloat): Semantics =>
  (b, x, y) =>
    b.or(fromF32(b, layout, x!), b.shl(fromF32(b, layout, y!), 8));

const WIDEN = '=vdst:f32 src0:b32';
const WIDEN_PAIR = '=vdst:v2f32 src0:b32';
const PACK = '=vdst:b16 src0:f32 src1:f32';
const ROUND = '=vdst:b32 src0:f32 src1:u32';

const SOURCE_ONLY: RowFlags = { noSdwaDestination: true };
const PACKS: RowFlags = { integerClamp: true, clampBit: 'never', keepsHighHalf: true };
const ROUNDS: RowFlags = { clampBit: 'never', signs: 'any' };

// biome-ignore format: one row per line, as the tables of the manual
export const vop1SmallFloatRows = (): readonly Row[] => [
  row('VOP1', 'v_cvt_f32_fp8', { gfx940: 0x54 }, WIDEN, widen(FP8), SOURCE_ONLY),
  row('VOP1', 'v_cvt_pk_f32_fp8', { gfx940: 0x56 }, WIDEN_PAIR, widenPair(FP8), SOURCE_ONLY),
  row('VOP1', 'v_cvt_f32_bf8', { gfx940: 0x55 }, WIDEN, widen(BF8), SOURCE_ONLY),
  row('VOP1', 'v_cvt_pk_f32_bf8', { gfx940: 0x57 }, WIDEN_PAIR, widenPair(BF8), SOURCE_ONLY),
  row('VOP1', 'v_cvt_f32_fp8', { gfx12: 0x6c }, WIDEN, undefined, { ...SOURCE_ONLY, opSelText: 'sourceByte' }),
  row('VOP1', 'v_cvt_pk_f32_fp8', { gfx12: 0x6e }, WIDEN_PAIR, undefined, { ...SOURCE_ONLY, opSelText: 'halves' }),
  row('VOP1', 'v_cvt_f32_bf8', { gfx12: 0x6d }, WIDEN, undefined, { ...SOURCE_ONLY, opSelText: 'sourceByte' }),
  row('VOP1', 'v_cvt_pk_f32_bf8', { gfx12: 0x6f }, WIDEN_PAIR, undefined, { ...SOURCE_ONLY, opSelText: 'halves' }),
];

// The manual has the sum of number and random bits of v_cvt_sr truncated (7.2), wrapped and rounded (12.11).
// biome-ignore format: one row per line, as the tables of the manual
export const vop3SmallFloatRows = (): readonly Row[] => [
  row('VOP3', 'v_cvt_pk_fp8_f32', { gfx940: 0x2a2 }, PACK, packed(FP8), PACKS),
  row('VOP3', 'v_cvt_sr_fp8_f32', { gfx940: 0x2a4 }, ROUND, undefined, { ...ROUNDS, opSelText: 'four' }),
  row('VOP3', 'v_cvt_pk_bf8_f32', { gfx940: 0x2a3 }, PACK, packed(BF8), PACKS),
  row('VOP3', 'v_cvt_sr_bf8_f32', { gfx940: 0x2a5 }, ROUND, undefined, { ...ROUNDS, opSelText: 'four' }),
  row('VOP3', 'v_cvt_pk_fp8_f32', { gfx12: 0x369 }, PACK, undefined, PACKS),
  row('VOP3', 'v_cvt_sr_fp8_f32', { gfx12: 0x36b }, ROUND, undefined, { ...ROUNDS, opSelText: 'resultByte' }),
  row('VOP3', 'v_cvt_pk_bf8_f32', { gfx12: 0x36a }, PACK, undefined, PACKS),
  row('VOP3', 'v_cvt_sr_bf8_f32', { gfx12: 0x36c }, ROUND, undefined, { ...ROUNDS, opSelText: 'resultByte' }),
];
