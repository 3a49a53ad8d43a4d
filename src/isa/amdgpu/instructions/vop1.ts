/** VOP1: one source; moves and bit operations. CDNA2 ISA 12.8, "VOP1 Instructions". */
import { type Opcodes, type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { lowestOne, reverseBits, signBits, zerosAboveHighestOne } from './bit-operations.ts';
import { firstLane, readLane } from './lanes.ts';
import { VOP1_SMALL_FLOAT_ROWS } from './small-floats.ts';
import { VOP1_CONVERSION_ROWS } from './vop1-conversion.ts';
import { VOP1_FLOAT_ROWS } from './vop1-float.ts';

const ONLY_VOP1: RowFlags = { noVop3: true, noSdwa: true, noDpp: true };

function vop1(name: string, opcodes: Opcodes, result: OperandType, source: OperandType, semantics?: Semantics): Row {
  return row('VOP1', name, opcodes, `=vdst:${result} src0:${source}`, semantics);
}

/** Each half of the source, an i16, saturated to 0..255, in the two low bytes. */
const saturatePackU8: Semantics = (b, x) => {
  const [low, high] = [b.sext16(x), b.shrS(x, 16)].map((half) => b.minS(b.maxS(half, b.i32(0)), b.i32(255)));
  return b.or(low!, b.shl(high!, 8));
};

export const VOP1_ROWS: readonly Row[] = [
  row('VOP1', 'v_nop', 0, '', () => undefined, { noSdwa: true, noDpp: true }),
  vop1('v_mov_b32', 1, 'b32', 'b32', (_, x) => x),
  row('VOP1', 'v_mov_b64', { gfx940: 56 }, '=vdst:b64 src0:b64', (_, x) => x, { noSdwa: true }),
  row('VOP1', 'v_readfirstlane_b32', 2, '=vdst:b32/s src0:b32', (b, x) => readLane(b, x, firstLane(b)), ONLY_VOP1),
  vop1('v_not_b32', 43, 'b32', 'b32', (b, x) => b.not(x)),
  vop1('v_bfrev_b32', 44, 'b32', 'b32', reverseBits),
  vop1('v_ffbh_u32', 45, 'u32', 'u32', zerosAboveHighestOne),
  vop1('v_ffbl_b32', 46, 'b32', 'b32', lowestOne),
  vop1('v_ffbh_i32', 47, 'i32', 'i32', signBits),
  // Exceptions are not modelled: there is no state to clear.
  row('VOP1', 'v_clrexcp', 53, '', () => undefined, { noSdwa: true, noDpp: true }),
  vop1('v_screen_partition_4se_b32', 55, 'b32', 'b32'),
  vop1('v_sat_pk_u8_i16', 79, 'b16', 'b32', saturatePackU8),
  row('VOP1', 'v_swap_b32', 81, '+vdst:b32 +src0:b32', (_, x, y) => [y, x], ONLY_VOP1),
  row('VOP1', 'v_accvgpr_mov_b32', { gfx90a: 82 }, '=vdst:b32/a src0:b32/a', (_, x) => x, ONLY_VOP1),
  ...VOP1_CONVERSION_ROWS,
  ...VOP1_FLOAT_ROWS,
  ...VOP1_SMALL_FLOAT_ROWS,
];
