/** VOP1: one source; moves and bit operations. CDNA2 ISA 12.8, "VOP1 Instructions". */

import { lowestOne, reverseBits, signBits, zerosAboveHighestOne } from '../../semantics/bit-operations.ts';
import { firstLane, readLane, swapWaveHalves } from '../../semantics/lanes.ts';
import { VOP1_SMALL_FLOAT_ROWS } from '../../semantics/small-floats.ts';
import { type Opcodes, type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { VOP1_CONVERSION_ROWS } from './vop1-conversion.ts';
import { VOP1_FLOAT_ROWS } from './vop1-float.ts';

const ONLY_VOP1: RowFlags = { noVop3: true, noSdwa: true, noDpp: true };
const NEVER_EXTENDED: RowFlags = { noSdwa: true, noDpp: true };

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

export const VOP1_ROWS: readonly Row[] = [
  row('VOP1', 'v_nop', { gfx9: 0, gfx10: 0 }, '', () => undefined, NEVER_EXTENDED),
  vop1('v_mov_b32', { gfx9: 1, gfx10: 1 }, 'b32', 'b32', (_, x) => x, { vopd: 8 }),
  row('VOP1', 'v_mov_b64', { gfx940: 56 }, '=vdst:b64 src0:b64', (_, x) => x, { noSdwa: true }),
  row(
    'VOP1',
    'v_readfirstlane_b32',
    { gfx9: 2, gfx10: 2 },
    '=vdst:b32/s src0:b32',
    (b, x) => readLane(b, x, firstLane(b)),
    ONLY_VOP1,
  ),
  vop1('v_not_b32', { gfx9: 43, gfx10: 55 }, 'b32', 'b32', (b, x) => b.not(x)),
  vop1('v_bfrev_b32', { gfx9: 44, gfx10: 56 }, 'b32', 'b32', reverseBits),
  vop1('v_ffbh_u32', { gfx9: 45, gfx10: 57, gfx11: ['v_clz_i32_u32', 57] }, 'u32', 'u32', zerosAboveHighestOne),
  vop1('v_ffbl_b32', { gfx9: 46, gfx10: 58, gfx11: ['v_ctz_i32_b32', 58] }, 'b32', 'b32', lowestOne),
  vop1('v_ffbh_i32', { gfx9: 47, gfx10: 59, gfx11: ['v_cls_i32', 59] }, 'i32', 'i32', signBits),
  // Exceptions are not modelled: there is no state to clear.
  row('VOP1', 'v_clrexcp', { gfx9: 53, gfx10: 65, gfx11: -1 }, '', () => undefined, NEVER_EXTENDED),
  vop1('v_screen_partition_4se_b32', 55, 'b32', 'b32'),
  vop1('v_sat_pk_u8_i16', { gfx9: 79, gfx10: 98 }, 'b16', 'b32', saturatePackU8),
  row('VOP1', 'v_swap_b32', { gfx9: 81, gfx10: 101 }, '+vdst:b32 +src0:b32', (_, x, y) => [y, x], ONLY_VOP1),
  row('VOP1', 'v_accvgpr_mov_b32', { gfx90a: 82 }, '=vdst:b32/a src0:b32/a', (_, x) => x, ONLY_VOP1),
  // Forgets what is cached of VGPRs: nothing to see.
  row('VOP1', 'v_pipeflush', { gfx10: 27 }, '', () => undefined, NEVER_EXTENDED),
  // The only instruction whose halves LLVM 19 names in the 32-bit encoding.
  vop1('v_mov_b16', { gfx11: 28 }, 'b16', 'b16', (_, x) => x, {
    noVop3: true,
    alwaysSuffixed: true,
    spellsHalves: true,
  }),
  // M0 changes the numbers of the registers.
  row('VOP1', 'v_movreld_b32', { gfx10: 66 }, '=vdst:b32/whole src0:b32', (_, x) => x),
  row('VOP1', 'v_movrels_b32', { gfx10: 67 }, '=vdst:b32 src0:b32/whole', (_, x) => x),
  row('VOP1', 'v_movrelsd_b32', { gfx10: 68 }, '=vdst:b32/whole src0:b32/whole', (_, x) => x),
  row('VOP1', 'v_movrelsd_2_b32', { gfx10: 72 }, '=vdst:b32/high src0:b32/low', (_, x) => x),
  row('VOP1', 'v_swaprel_b32', { gfx10: 104 }, '+vdst:b32/high +src0:b32/low', (_, x, y) => [y, x], ONLY_VOP1),
  vop1('v_permlane64_b32', { gfx11: 103 }, 'b32', 'b32', swapWaveHalves, ONLY_VOP1),
  vop1('v_not_b16', { gfx11: 105 }, 'b16', 'b16', (b, x) => b.not(x)),
  vop1('v_cvt_i32_i16', { gfx11: 106 }, 'i32', 'i16', (b, x) => b.sext16(x)),
  vop1('v_cvt_u32_u16', { gfx11: 107 }, 'u32', 'u16', (_, x) => x),
  ...VOP1_CONVERSION_ROWS,
  ...VOP1_FLOAT_ROWS,
  ...VOP1_SMALL_FLOAT_ROWS,
];
