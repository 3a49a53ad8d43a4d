/** VOP1: one source; moves and bit operations. CDNA2 ISA 12.8, "VOP1 Instructions". */

import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import { lowestOne, reverseBits, signBits, zerosAboveHighestOne } from '../../semantics/bit-operations.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';
import { firstLane, readLane, swapWaveHalves } from '../../semantics/lanes.ts';
import { type Opcodes, row } from '../table/row.ts';
import { vop1SmallFloatRows } from './small-floats.ts';
import { vop1ConversionRows } from './vop1-conversion.ts';
import { vop1FloatRows } from './vop1-float.ts';

const ONLY_VOP1: RowFlags = { noVop3: true, noSdwa: true, noDpp: true };
const NEVER_EXTENDED: RowFlags = { noSdwa: true, noDpp: true };

// biome-ignore lint/complexity/useMaxParams: the columns of the tables, in their order
function vop1(
  name: string,
  opcodes: Opcodes,
  result: OperandType,
  source: OperandType,
  semantics?: Semantics,
  flags?: RowFlags,
): Row {
  return row('VOP1', name, opcodes, `=vdst:${result} src0:${source}`, semantics, flags);
}

/** Each half of the source, an i16, saturated to 0..255, in the two low bytes. */
const saturatePackU8: Semantics = (b, x) => {
  const [low, high] = [b.sext16(x), b.shrS(x, 16)].map((half) => b.minS(b.maxS(half, b.i32(0)), b.i32(255)));
  return b.or(low!, b.shl(high!, 8));
};

// biome-ignore format: one row per line, as the tables of the manual
export const vop1Rows = (): readonly Row[] => [
  row('VOP1', 'v_nop', { gfx9: 0x00, gfx10: 0x00 }, '', () => undefined, NEVER_EXTENDED),
  vop1('v_mov_b32', { gfx9: 0x01, gfx10: 0x01 }, 'b32', 'b32', (_, x) => x, { vopd: 0x08 }),
  row('VOP1', 'v_mov_b64', { gfx940: 0x38 }, '=vdst:b64 src0:b64', (_, x) => x, { noSdwa: true }),
  row('VOP1', 'v_readfirstlane_b32', { gfx9: 0x02, gfx10: 0x02 }, '=vdst:b32/s src0:b32', (b, x) => readLane(b, x, firstLane(b)), { ...ONLY_VOP1, vectorSource: true }),
  vop1('v_not_b32', { gfx9: 0x2b, gfx10: 0x37 }, 'b32', 'b32', (b, x) => b.not(x)),
  vop1('v_bfrev_b32', { gfx9: 0x2c, gfx10: 0x38 }, 'b32', 'b32', reverseBits),
  vop1('v_ffbh_u32', { gfx9: 0x2d, gfx10: 0x39, gfx11: ['v_clz_i32_u32', 0x39] }, 'u32', 'u32', zerosAboveHighestOne),
  vop1('v_ffbl_b32', { gfx9: 0x2e, gfx10: 0x3a, gfx11: ['v_ctz_i32_b32', 0x3a] }, 'b32', 'b32', lowestOne),
  vop1('v_ffbh_i32', { gfx9: 0x2f, gfx10: 0x3b, gfx11: ['v_cls_i32', 0x3b] }, 'i32', 'i32', signBits),
  // Exceptions are not modelled: there is no state to clear.
  row('VOP1', 'v_clrexcp', { gfx9: 0x35, gfx10: 0x41, gfx11: -1 }, '', () => undefined, NEVER_EXTENDED),
  vop1('v_screen_partition_4se_b32', 0x37, 'b32', 'b32'),
  vop1('v_sat_pk_u8_i16', { gfx9: 0x4f, gfx10: 0x62 }, 'b16', 'b32', saturatePackU8),
  row('VOP1', 'v_swap_b32', { gfx9: 0x51, gfx10: 0x65 }, '+vdst:b32 +src0:b32', (_, x, y) => [y, x], ONLY_VOP1),
  row('VOP1', 'v_accvgpr_mov_b32', { gfx90a: 0x52 }, '=vdst:b32/a src0:b32/a', (_, x) => x, ONLY_VOP1),
  // Forgets what is cached of VGPRs: nothing to see.
  row('VOP1', 'v_pipeflush', { gfx10: 0x1b }, '', () => undefined, NEVER_EXTENDED),
  // The only instruction whose halves LLVM 19 names in the 32-bit encoding.
  vop1('v_mov_b16', { gfx11: 0x1c }, 'b16', 'b16', (_, x) => x, { noVop3: true, alwaysSuffixed: true, spellsHalves: true, signs: 'floats' }),
  // M0 changes the numbers of the registers.
  row('VOP1', 'v_movreld_b32', { gfx10: 0x42 }, '=vdst:b32/whole src0:b32', (_, x) => x),
  row('VOP1', 'v_movrels_b32', { gfx10: 0x43 }, '=vdst:b32 src0:b32/whole', (_, x) => x),
  row('VOP1', 'v_movrelsd_b32', { gfx10: 0x44 }, '=vdst:b32/whole src0:b32/whole', (_, x) => x),
  row('VOP1', 'v_movrelsd_2_b32', { gfx10: 0x48 }, '=vdst:b32/high src0:b32/low', (_, x) => x),
  row('VOP1', 'v_swaprel_b32', { gfx10: 0x68 }, '+vdst:b32/high +src0:b32/low', (_, x, y) => [y, x], ONLY_VOP1),
  vop1('v_permlane64_b32', { gfx11: 0x67 }, 'b32', 'b32', swapWaveHalves, ONLY_VOP1),
  vop1('v_not_b16', { gfx11: 0x69 }, 'b16', 'b16', (b, x) => b.not(x)),
  vop1('v_cvt_i32_i16', { gfx11: 0x6a }, 'i32', 'i16', (b, x) => b.sext16(x)),
  vop1('v_cvt_u32_u16', { gfx11: 0x6b }, 'u32', 'u16', (_, x) => x),
  ...vop1ConversionRows(),
  ...vop1FloatRows(),
  ...vop1SmallFloatRows(),
];
