/** SOP1: one scalar source. CDNA2 ISA 12.3, "SOP1 Instructions". */

import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { lowestOne, reverseBits, signBits, zerosAboveHighestOne } from './bit-operations.ts';
import { setIndex } from './gpr-index.ts';
import { sccNonZero } from './scc.ts';

type Unary = (b: InstructionBuilder, x: Value) => Value;
type Binary = (b: InstructionBuilder, x: Value, y: Value) => Value;

function sop1(name: string, opcode: number, operandText: string, semantics?: Semantics, flags?: RowFlags): Row {
  return row('SOP1', name, opcode, operandText, semantics, flags);
}

/** The forms for 32 bits (`opcode`) and 64 bits (`opcode + 1`). */
function pair(name: string, opcode: number, operation: Unary): Row[] {
  return [
    sop1(`${name}_b32`, opcode, '=sdst:b32 ssrc0:b32', operation),
    sop1(`${name}_b64`, opcode + 1, '=sdst:b64 ssrc0:b64', operation),
  ];
}

/** A 32-bit result from a source of 32 or 64 bits. */
function count(name: string, opcode: number, operation: Unary): Row[] {
  return [
    sop1(`${name}_b32`, opcode, '=sdst:i32 ssrc0:b32', operation),
    sop1(`${name}_b64`, opcode + 1, '=sdst:i32 ssrc0:b64', operation),
  ];
}

const EXEC_WRITER: RowFlags = { writesExec: true };

/** D = EXEC, then EXEC = source <op> EXEC. The destination is written first: it may be EXEC itself. */
function saveExec(name: string, opcode: number, operation: Binary): Row {
  const semantics: Semantics = (b, source) => {
    const { exec } = b;
    const next = sccNonZero(b, operation(b, source, exec));
    b.write(0, exec);
    b.setState('exec', next);
  };
  return sop1(`s_${name}_saveexec_b64`, opcode, '=sdst:b64 ssrc0:b64', semantics, EXEC_WRITER);
}

/** D and EXEC = source <op> EXEC. */
function writeExec(name: string, opcode: number, operation: Binary): Row {
  const semantics: Semantics = (b, source) => {
    const next = sccNonZero(b, operation(b, source, b.exec));
    b.setState('exec', next);
    return next;
  };
  return sop1(`s_${name}_wrexec_b64`, opcode, '=sdst:b64 ssrc0:b64', semantics, EXEC_WRITER);
}

const popcount: Unary = (b, x) => b.op(x.type === 'i64' ? 'i64.popcnt' : 'i32.popcnt', x);
const constant = (b: InstructionBuilder, like: Value, value: bigint): Value =>
  like.type === 'i64' ? b.i64(value) : b.i32(Number(BigInt.asIntN(32, value)));

/** Bit 4q of the result: any of the bits 4q..4q+3. */
const quadsWithAny: Unary = (b, x) => {
  const pairs = b.or(x, b.shrU(x, 1));
  return b.and(b.or(pairs, b.shrU(pairs, 2)), constant(b, x, 0x1111111111111111n));
};

/** The bits 0, 4, ..., 28 side by side. */
const gatherQuads32: Unary = (b, x) => {
  const pairs = b.and(b.or(x, b.shrU(x, 3)), b.i32(0x03030303));
  const nibbles = b.and(b.or(pairs, b.shrU(pairs, 6)), b.i32(0x000f000f));
  return b.and(b.or(nibbles, b.shrU(nibbles, 12)), b.i32(0xff));
};

const quadMask32: Unary = (b, x) => gatherQuads32(b, quadsWithAny(b, x));

const replicate: Unary = (b, x) => {
  const steps = [
    [16, 0x0000ffff0000ffffn],
    [8, 0x00ff00ff00ff00ffn],
    [4, 0x0f0f0f0f0f0f0f0fn],
    [2, 0x3333333333333333n],
    [1, 0x5555555555555555n],
  ] as const;
  let spread = b.zext64(x);
  for (const [distance, mask] of steps) spread = b.and(b.or(spread, b.shl(spread, distance)), b.i64(mask));
  return b.or(spread, b.shl(spread, 1));
};

export const SOP1_ROWS: readonly Row[] = [
  ...pair('s_mov', 0, (_, x) => x),
  sop1('s_cmov_b32', 2, '+sdst:b32 ssrc0:b32', (b, old, x) => b.select(b.scc, x, old)),
  sop1('s_cmov_b64', 3, '+sdst:b64 ssrc0:b64', (b, old, x) => b.select(b.scc, x, old)),
  ...pair('s_not', 4, (b, x) => sccNonZero(b, b.not(x))),
  ...pair('s_wqm', 6, (b, x) => sccNonZero(b, b.mul(quadsWithAny(b, x), constant(b, x, 15n)))),
  ...pair('s_brev', 8, reverseBits),
  ...count('s_bcnt0_i32', 10, (b, x) => sccNonZero(b, popcount(b, b.not(x)))),
  ...count('s_bcnt1_i32', 12, (b, x) => sccNonZero(b, popcount(b, x))),
  ...count('s_ff0_i32', 14, (b, x) => lowestOne(b, b.not(x))),
  ...count('s_ff1_i32', 16, lowestOne),
  ...count('s_flbit_i32', 18, zerosAboveHighestOne),
  sop1('s_flbit_i32', 20, '=sdst:i32 ssrc0:i32', signBits),
  sop1('s_flbit_i32_i64', 21, '=sdst:i32 ssrc0:i64', signBits),
  sop1('s_sext_i32_i8', 22, '=sdst:i32 ssrc0:b32', (b, x) => b.sext8(x)),
  sop1('s_sext_i32_i16', 23, '=sdst:i32 ssrc0:b32', (b, x) => b.sext16(x)),
  sop1('s_bitset0_b32', 24, '+sdst:b32 ssrc0:b32', (b, old, i) => b.and(old, b.not(b.shl(b.i32(1), i)))),
  sop1('s_bitset0_b64', 25, '+sdst:b64 ssrc0:b32', (b, old, i) => b.and(old, b.not(b.shl(b.i64(1n), i)))),
  sop1('s_bitset1_b32', 26, '+sdst:b32 ssrc0:b32', (b, old, i) => b.or(old, b.shl(b.i32(1), i))),
  sop1('s_bitset1_b64', 27, '+sdst:b64 ssrc0:b32', (b, old, i) => b.or(old, b.shl(b.i64(1n), i))),
  sop1('s_getpc_b64', 28, '=sdst:b64', (b) => b.nextPc()),
  sop1('s_setpc_b64', 29, 'ssrc0:b64', (b, target) => b.jump(target), { terminator: 'jump' }),
  sop1(
    's_swappc_b64',
    30,
    '=sdst:b64 ssrc0:b64',
    (b, target) => {
      b.jump(target);
      return b.nextPc();
    },
    { terminator: 'jump' },
  ),
  sop1('s_rfe_b64', 31, 'ssrc0:b64', undefined, { terminator: 'jump' }),
  saveExec('and', 32, (b, x, exec) => b.and(x, exec)),
  saveExec('or', 33, (b, x, exec) => b.or(x, exec)),
  saveExec('xor', 34, (b, x, exec) => b.xor(x, exec)),
  saveExec('andn2', 35, (b, x, exec) => b.and(x, b.not(exec))),
  saveExec('orn2', 36, (b, x, exec) => b.or(x, b.not(exec))),
  saveExec('nand', 37, (b, x, exec) => b.not(b.and(x, exec))),
  saveExec('nor', 38, (b, x, exec) => b.not(b.or(x, exec))),
  saveExec('xnor', 39, (b, x, exec) => b.not(b.xor(x, exec))),
  sop1('s_quadmask_b32', 40, '=sdst:b32 ssrc0:b32', (b, x) => sccNonZero(b, quadMask32(b, x))),
  sop1('s_quadmask_b64', 41, '=sdst:b64 ssrc0:b64', (b, x) => {
    const high = b.shl(quadMask32(b, b.high(x)), 8);
    return sccNonZero(b, b.zext64(b.or(quadMask32(b, b.low(x)), high)));
  }),
  sop1('s_movrels_b32', 42, '=sdst:b32 ssrc0:b32'),
  sop1('s_movrels_b64', 43, '=sdst:b64 ssrc0:b64'),
  sop1('s_movreld_b32', 44, '=sdst:b32 ssrc0:b32'),
  sop1('s_movreld_b64', 45, '=sdst:b64 ssrc0:b64'),
  sop1('s_cbranch_join', 46, 'ssrc0:b32', undefined, { terminator: 'jump', writesExec: true }),
  sop1('s_abs_i32', 48, '=sdst:i32 ssrc0:i32', (b, x) => sccNonZero(b, b.select(b.ltS(x, b.i32(0)), b.neg(x), x))),
  sop1('s_set_gpr_idx_idx', 50, 'ssrc0:b32', setIndex),
  saveExec('andn1', 51, (b, x, exec) => b.and(b.not(x), exec)),
  saveExec('orn1', 52, (b, x, exec) => b.or(b.not(x), exec)),
  writeExec('andn1', 53, (b, x, exec) => b.and(b.not(x), exec)),
  writeExec('andn2', 54, (b, x, exec) => b.and(x, b.not(exec))),
  sop1('s_bitreplicate_b64_b32', 55, '=sdst:b64 ssrc0:b32', replicate),
];
