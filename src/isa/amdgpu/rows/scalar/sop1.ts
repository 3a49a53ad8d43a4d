/** SOP1: one scalar source. CDNA2 ISA 12.3, "SOP1 Instructions"; RDNA3 ISA 16.3. */

import { WavewrightError } from '../../../../base/errors.ts';
import type { Value } from '../../../../ir/types.ts';
import type { Row, RowFlags } from '../../encoding/row.ts';
import { lowestOne, reverseBits, signBits, zerosAboveHighestOne } from '../../semantics/bit-operations.ts';
import { setIndex } from '../../semantics/gpr-index.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { sccNonZero } from '../../semantics/scc.ts';
import { variant } from '../table/opcode-variants.ts';
import { FORK, type Opcodes, row } from '../table/row.ts';

type Unary = (b: InstructionBuilder, x: Value) => Value;
type Binary = (b: InstructionBuilder, x: Value, y: Value) => Value;

function sop1(name: string, opcodes: Opcodes, operandText: string, semantics?: Semantics, flags?: RowFlags): Row {
  return row('SOP1', name, opcodes, operandText, semantics, flags);
}

/** The forms for 32 bits and for 64 bits, one opcode further on. Both have the name with their suffix. */
function pair(name: string, opcodes: Opcodes, operation: Unary): Row[] {
  return [
    sop1(`${name}_b32`, suffixed(opcodes, 0, '_b32'), '=sdst:b32 ssrc0:b32', operation),
    sop1(`${name}_b64`, suffixed(opcodes, 1, '_b64'), '=sdst:b64 ssrc0:b64', operation),
  ];
}

/**
 * A 32-bit result from a source of 32 or 64 bits; gfx11 calls one that counts zeros from the top unsigned.
 */
function count(name: string, opcodes: Opcodes, operation: Unary): Row[] {
  const letter = name.includes('flbit') ? '_u' : '_b';
  return [
    sop1(`${name}_b32`, suffixed(opcodes, 0, `${letter}32`), '=sdst:i32 ssrc0:b32', operation),
    sop1(`${name}_b64`, suffixed(opcodes, 1, `${letter}64`), '=sdst:i32 ssrc0:b64', operation),
  ];
}

const suffixed = (opcodes: Opcodes, step: number, suffix: string): Opcodes =>
  variant(opcodes, step, (name) => name + suffix);

const EXEC_WRITER: RowFlags = { writesExec: true };

/** How an instruction of 64 or 32 bits sees EXEC: those of 32 bits leave the high half as it is. */
interface ExecPart {
  readonly suffix: '_b32' | '_b64';
  readonly operands: string;
  readonly read: (b: InstructionBuilder) => Value;
  readonly write: (b: InstructionBuilder, value: Value) => void;
}

const EXEC_64: ExecPart = {
  suffix: '_b64',
  operands: '=sdst:b64 ssrc0:b64',
  read: (b) => b.exec,
  write: (b, value) => b.setState('exec', value),
};
const EXEC_32: ExecPart = {
  suffix: '_b32',
  operands: '=sdst:b32 ssrc0:b32',
  read: (b) => b.low(b.exec),
  write: (b, value) => b.setState('exec', b.pack(value, b.high(b.exec))),
};

/** D = EXEC, then EXEC = source <op> EXEC. The destination is written first: it may be EXEC itself. */
const saveExec =
  ({ read, write }: ExecPart, operation: Binary): Semantics =>
  (b, source) => {
    const exec = read(b);
    const next = sccNonZero(b, operation(b, source!, exec));
    b.write(0, exec);
    write(b, next);
  };

/** D and EXEC = source <op> EXEC. */
const writeExec =
  ({ read, write }: ExecPart, operation: Binary): Semantics =>
  (b, source) => {
    const next = sccNonZero(b, operation(b, source!, read(b)));
    write(b, next);
    return next;
  };

type ExecFunction = (part: ExecPart, operation: Binary) => Semantics;

/**
 * The form for 64 bits on gfx9 and gfx10, the one for 32 bits on gfx10; on gfx11 the latter is `gfx11`, the
 * former follows it.
 */
function execRows(
  [name, gfx11Name]: readonly [name: string, gfx11Name: string],
  [gfx9, gfx10, gfx10Short, gfx11]: readonly [gfx9: number, gfx10: number, gfx10Short: number, gfx11: number],
  semantics: ExecFunction,
  operation: Binary,
): Row[] {
  const one = (part: ExecPart, opcodes: Exclude<Opcodes, number>, step: number): Row => {
    const own = { ...opcodes, gfx11: [`${gfx11Name}${part.suffix}`, gfx11 + step] as const };
    return sop1(`${name}${part.suffix}`, own, part.operands, semantics(part, operation), EXEC_WRITER);
  };
  return [one(EXEC_64, { gfx9, gfx10 }, 1), one(EXEC_32, { gfx10: gfx10Short }, 0)];
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

/** gfx11: what a message that returns a value asks for (RDNA3 ISA 5.3, table 16). */
const MESSAGE_GET_REALTIME = 0x83;

/** ssrc0 is no register: which message it names is part of what the instruction is. */
const messageReply = (b: InstructionBuilder): Value => {
  const message = b.field('ssrc0');
  if (message === MESSAGE_GET_REALTIME) return b.clock();
  throw new WavewrightError(
    'UNSUPPORTED',
    `unsupported instruction '${b.instruction.name}' with message ${message}, expected ${MESSAGE_GET_REALTIME} (real time)`,
  );
};

/** The barrier of the workgroup, as an inline constant: -1. */
const WORKGROUP_BARRIER = 193;

/** The wave is waited for when it waits itself (RDNA4 ISA 5.6). */
const signalBarrier: Semantics = (b) => {
  if (b.field('ssrc0') === WORKGROUP_BARRIER) return;
  throw new WavewrightError(
    'UNSUPPORTED',
    `unsupported instruction '${b.instruction.name}' of another barrier than -1`,
  );
};

const swapPc: Semantics = (b, target) => {
  b.jump(target!);
  return b.nextPc();
};

const JUMP: RowFlags = { terminator: 'jump' };
const MESSAGE: RowFlags = { message: true, spelled: { field: 'ssrc0', as: 'message' } };
const SYNCHRONISES: RowFlags = { synchronises: true };

// biome-ignore format: one row per line, as the tables of the manual
export const sop1Rows = (): readonly Row[] => [
  ...pair('s_mov', { gfx9: 0x00, gfx10: 0x03, gfx11: 0x00 }, (_, x) => x),
  ...(['b32', 'b64'] as const).map((type, i) =>
    sop1(`s_cmov_${type}`, variant({ gfx9: 0x02, gfx10: 0x05, gfx11: 0x02 }, i), `+sdst:${type} ssrc0:${type}`, (b, old, x) =>
      b.select(b.scc, x!, old!),
    ),
  ),
  ...pair('s_not', { gfx9: 0x04, gfx10: 0x07, gfx11: 0x1e }, (b, x) => sccNonZero(b, b.not(x))),
  ...pair('s_wqm', { gfx9: 0x06, gfx10: 0x09, gfx11: 0x1c }, (b, x) => sccNonZero(b, b.mul(quadsWithAny(b, x), constant(b, x, 15n)))),
  ...pair('s_brev', { gfx9: 0x08, gfx10: 0x0b, gfx11: 0x04 }, reverseBits),
  ...count('s_bcnt0_i32', { gfx9: 0x0a, gfx10: 0x0d, gfx11: 0x16 }, (b, x) => sccNonZero(b, popcount(b, b.not(x)))),
  ...count('s_bcnt1_i32', { gfx9: 0x0c, gfx10: 0x0f, gfx11: 0x18 }, (b, x) => sccNonZero(b, popcount(b, x))),
  ...count('s_ff0_i32', { gfx9: 0x0e, gfx10: 0x11, gfx11: -1 }, (b, x) => lowestOne(b, b.not(x))),
  ...count('s_ff1_i32', { gfx9: 0x10, gfx10: 0x13, gfx11: ['s_ctz_i32', 0x08] }, lowestOne),
  ...count('s_flbit_i32', { gfx9: 0x12, gfx10: 0x15, gfx11: ['s_clz_i32', 0x0a] }, zerosAboveHighestOne),
  sop1('s_flbit_i32', { gfx9: 0x14, gfx10: 0x17, gfx11: ['s_cls_i32', 0x0c] }, '=sdst:i32 ssrc0:i32', signBits),
  sop1('s_flbit_i32_i64', { gfx9: 0x15, gfx10: 0x18, gfx11: ['s_cls_i32_i64', 0x0d] }, '=sdst:i32 ssrc0:i64', signBits),
  sop1('s_sext_i32_i8', { gfx9: 0x16, gfx10: 0x19, gfx11: 0x0e }, '=sdst:i32 ssrc0:b32', (b, x) => b.sext8(x)),
  sop1('s_sext_i32_i16', { gfx9: 0x17, gfx10: 0x1a, gfx11: 0x0f }, '=sdst:i32 ssrc0:b32', (b, x) => b.sext16(x)),
  sop1('s_bitset0_b32', { gfx9: 0x18, gfx10: 0x1b, gfx11: 0x10 }, '+sdst:b32 ssrc0:b32', (b, old, i) => b.and(old, b.not(b.shl(b.i32(1), i)))),
  sop1('s_bitset0_b64', { gfx9: 0x19, gfx10: 0x1c, gfx11: 0x11 }, '+sdst:b64 ssrc0:b32', (b, old, i) => b.and(old, b.not(b.shl(b.i64(1n), i)))),
  sop1('s_bitset1_b32', { gfx9: 0x1a, gfx10: 0x1d, gfx11: 0x12 }, '+sdst:b32 ssrc0:b32', (b, old, i) => b.or(old, b.shl(b.i32(1), i))),
  sop1('s_bitset1_b64', { gfx9: 0x1b, gfx10: 0x1e, gfx11: 0x13 }, '+sdst:b64 ssrc0:b32', (b, old, i) => b.or(old, b.shl(b.i64(1n), i))),
  sop1('s_getpc_b64', { gfx9: 0x1c, gfx10: 0x1f, gfx11: 0x47 }, '=sdst:b64', (b) => b.nextPc()),
  sop1('s_setpc_b64', { gfx9: 0x1d, gfx10: 0x20, gfx11: 0x48 }, 'ssrc0:b64', (b, target) => b.jump(target), { ...JUMP, registerSource: 'address' }),
  sop1('s_swappc_b64', { gfx9: 0x1e, gfx10: 0x21, gfx11: 0x49 }, '=sdst:b64 ssrc0:b64', swapPc, JUMP),
  sop1('s_rfe_b64', { gfx9: 0x1f, gfx10: 0x22, gfx11: 0x4a }, 'ssrc0:b64', undefined, { ...JUMP, registerSource: 'address' }),
  ...execRows(['s_and_saveexec', 's_and_saveexec'], [32, 36, 60, 32], saveExec, (b, x, exec) => b.and(x, exec)),
  ...execRows(['s_or_saveexec', 's_or_saveexec'], [33, 37, 61, 34], saveExec, (b, x, exec) => b.or(x, exec)),
  ...execRows(['s_xor_saveexec', 's_xor_saveexec'], [34, 38, 62, 36], saveExec, (b, x, exec) => b.xor(x, exec)),
  ...execRows(['s_andn2_saveexec', 's_and_not1_saveexec'], [35, 39, 63, 48], saveExec, (b, x, exec) => b.and(x, b.not(exec))),
  ...execRows(['s_orn2_saveexec', 's_or_not1_saveexec'], [36, 40, 64, 50], saveExec, (b, x, exec) => b.or(x, b.not(exec))),
  ...execRows(['s_nand_saveexec', 's_nand_saveexec'], [37, 41, 65, 38], saveExec, (b, x, exec) => b.not(b.and(x, exec))),
  ...execRows(['s_nor_saveexec', 's_nor_saveexec'], [38, 42, 66, 40], saveExec, (b, x, exec) => b.not(b.or(x, exec))),
  ...execRows(['s_xnor_saveexec', 's_xnor_saveexec'], [39, 43, 67, 42], saveExec, (b, x, exec) => b.not(b.xor(x, exec))),
  ...execRows(['s_andn1_saveexec', 's_and_not0_saveexec'], [51, 55, 68, 44], saveExec, (b, x, exec) => b.and(b.not(x), exec)),
  ...execRows(['s_orn1_saveexec', 's_or_not0_saveexec'], [52, 56, 69, 46], saveExec, (b, x, exec) => b.or(b.not(x), exec)),
  ...execRows(['s_andn1_wrexec', 's_and_not0_wrexec'], [53, 57, 70, 52], writeExec, (b, x, exec) => b.and(b.not(x), exec)),
  ...execRows(['s_andn2_wrexec', 's_and_not1_wrexec'], [54, 58, 71, 54], writeExec, (b, x, exec) => b.and(x, b.not(exec))),
  sop1('s_quadmask_b32', { gfx9: 0x28, gfx10: 0x2c, gfx11: 0x1a }, '=sdst:b32 ssrc0:b32', (b, x) => sccNonZero(b, quadMask32(b, x))),
  sop1('s_quadmask_b64', { gfx9: 0x29, gfx10: 0x2d, gfx11: 0x1b }, '=sdst:b64 ssrc0:b64', (b, x) => {
    const high = b.shl(quadMask32(b, b.high(x)), 8);
    return sccNonZero(b, b.zext64(b.or(quadMask32(b, b.low(x)), high)));
  }),
  sop1('s_movrels_b32', { gfx9: 0x2a, gfx10: 0x2e, gfx11: 0x40 }, '=sdst:b32 ssrc0:b32/whole', (_, x) => x, { registerSource: 'plain' }),
  sop1('s_movrels_b64', { gfx9: 0x2b, gfx10: 0x2f, gfx11: 0x41 }, '=sdst:b64 ssrc0:b64/whole', (_, x) => x, { registerSource: 'address' }),
  sop1('s_movreld_b32', { gfx9: 0x2c, gfx10: 0x30, gfx11: 0x42 }, '=sdst:b32/whole ssrc0:b32', (_, x) => x),
  sop1('s_movreld_b64', { gfx9: 0x2d, gfx10: 0x31, gfx11: 0x43 }, '=sdst:b64/whole ssrc0:b64', (_, x) => x),
  sop1('s_movrelsd_2_b32', { gfx10: 0x49, gfx11: 0x44 }, '=sdst:b32/high ssrc0:b32/low', (_, x) => x),
  sop1('s_cbranch_join', 0x2e, 'ssrc0:b32', undefined, { ...FORK, registerSource: 'plain' }),
  sop1('s_abs_i32', { gfx9: 0x30, gfx10: 0x34, gfx11: 0x15 }, '=sdst:i32 ssrc0:i32', (b, x) => sccNonZero(b, b.select(b.ltS(x, b.i32(0)), b.neg(x), x))),
  sop1('s_set_gpr_idx_idx', 0x32, 'ssrc0:b32', setIndex),
  sop1('s_bitreplicate_b64_b32', { gfx9: 0x37, gfx10: 0x3b, gfx11: 0x14 }, '=sdst:b64 ssrc0:b32', replicate),
  sop1('s_sendmsg_rtn_b32', { gfx11: 0x4c }, '=sdst:b32', (b) => b.low(messageReply(b)), MESSAGE),
  sop1('s_sendmsg_rtn_b64', { gfx11: 0x4d }, '=sdst:b64', messageReply, MESSAGE),
  sop1('s_barrier_signal', { gfx12: 0x4e }, 'ssrc0:b32', signalBarrier, SYNCHRONISES),
  sop1('s_barrier_signal_isfirst', { gfx12: 0x4f }, 'ssrc0:b32', undefined, { ...SYNCHRONISES, touches: { writesState: ['scc'] } }),
  sop1('s_get_barrier_state', { gfx12: 0x50 }, '=sdst:b32 ssrc0:b32', undefined, { counter: 'scalar' }),
  sop1('s_barrier_init', { gfx12: 0x51 }, 'ssrc0:b32', undefined, SYNCHRONISES),
  sop1('s_barrier_join', { gfx12: 0x52 }, 'ssrc0:b32', undefined, SYNCHRONISES),
  sop1('s_wakeup_barrier', { gfx12: 0x57 }, 'ssrc0:b32'),
  sop1('s_sleep_var', { gfx12: 0x58 }, 'ssrc0:b32', (b) => b.exit('sleep'), SYNCHRONISES),
];
