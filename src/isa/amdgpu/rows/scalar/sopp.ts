/** SOPP: program control; no registers named. CDNA2 ISA 12.5, "SOPP Instructions"; RDNA2 ISA 12.5, RDNA3 ISA 16.5. */

import { WavewrightError } from '../../../../base/errors.ts';
import type { ExitReason, Value } from '../../../../ir/types.ts';
import { indexOff, selectOperands } from '../../semantics/gpr-index.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { type Opcodes, type Row, type RowFlags, row, type Semantics } from '../row.ts';

function sopp(name: string, opcodes: Opcodes, operandText: string, semantics?: Semantics, flags?: RowFlags): Row {
  return row('SOPP', name, opcodes, operandText, semantics, flags);
}

/** For instructions that time, order or count what an executor does in program order anyway. */
const nothing: Semantics = () => undefined;
const exit =
  (reason: ExitReason): Semantics =>
  (b) =>
    b.exit(reason);

function branchIf(name: string, opcodes: Opcodes, condition: (b: InstructionBuilder) => Value): Row {
  return sopp(name, opcodes, 'simm16:label', (b) => b.branch(condition(b)), { terminator: 'conditional' });
}

const END: RowFlags = { terminator: 'end' };
const MESSAGE: RowFlags = { message: true };
/** STATUS.COND_DBG_USER and COND_DBG_SYS (CDNA2 ISA 3.4). */
const DEBUG_USER = 1 << 20;
const DEBUG_SYSTEM = 1 << 21;

const debugFlag = (b: InstructionBuilder, flag: number): Value =>
  b.not(b.isZero(b.and(b.state('status'), b.i32(flag))));

const MESSAGE_INTERRUPT = 1;
/** gfx11: gives the VGPRs back before the end of the program. */
const MESSAGE_DEALLOC_VGPRS = 3;

/** simm16 is no operand: which message it names is part of what the instruction is (CDNA2 ISA 12.5.1, RDNA3 ISA 5.3). */
const sendMessage: Semantics = (b) => {
  const gfx11 = b.instruction.families.includes('gfx11');
  const message = b.field('simm16') & (gfx11 ? 0xff : 15);
  if (message === MESSAGE_INTERRUPT) return b.exit('interrupt');
  if (gfx11 && message === MESSAGE_DEALLOC_VGPRS) return;
  throw new WavewrightError(
    'UNSUPPORTED',
    `unsupported instruction 's_sendmsg' with message ${message}, expected 1 (interrupt)`,
  );
};

/** Replaces four bits of MODE. */
const setMode =
  (low: number): Semantics =>
  (b, value) =>
    b.setState('mode', b.or(b.and(b.state('mode'), b.i32(~(15 << low))), b.shl(b.bits(value!, 0, 4), low)));

const ROUND_BIT = 0;
const DENORM_BIT = 4;

/** gfx12: one instruction for each counter. */
const COUNTERS: readonly (readonly [name: string, opcode: number])[] = [
  ['loadcnt', 64],
  ['storecnt', 65],
  ['samplecnt', 66],
  ['bvhcnt', 67],
  ['expcnt', 68],
  ['dscnt', 70],
  ['kmcnt', 71],
  ['loadcnt_dscnt', 72],
  ['storecnt_dscnt', 73],
];

/** Only the barrier of the workgroup, -1 (RDNA4 ISA 5.6). */
const waitAtBarrier: Semantics = (b) => {
  if (b.field('simm16') === 0xffff) return b.exit('barrier');
  throw new WavewrightError(
    'UNSUPPORTED',
    `unsupported instruction '${b.instruction.name}' at another barrier than -1`,
  );
};

export const SOPP_ROWS: readonly Row[] = [
  sopp('s_nop', { gfx9: 0, gfx10: 0 }, 'simm16:imm16', nothing),
  sopp('s_endpgm', { gfx9: 1, gfx10: 1, gfx11: 48 }, 'simm16:imm16', exit('end'), END),
  sopp('s_branch', { gfx9: 2, gfx10: 2, gfx11: 32 }, 'simm16:label', (b) => b.branch(b.i1(true)), {
    terminator: 'branch',
  }),
  sopp('s_wakeup', { gfx9: 3, gfx10: 3, gfx11: 52 }, '', nothing),
  branchIf('s_cbranch_scc0', { gfx9: 4, gfx10: 4, gfx11: 33 }, (b) => b.not(b.scc)),
  branchIf('s_cbranch_scc1', { gfx9: 5, gfx10: 5, gfx11: 34 }, (b) => b.scc),
  branchIf('s_cbranch_vccz', { gfx9: 6, gfx10: 6, gfx11: 35 }, (b) => b.isZero(b.vcc)),
  branchIf('s_cbranch_vccnz', { gfx9: 7, gfx10: 7, gfx11: 36 }, (b) => b.not(b.isZero(b.vcc))),
  branchIf('s_cbranch_execz', { gfx9: 8, gfx10: 8, gfx11: 37 }, (b) => b.isZero(b.exec)),
  branchIf('s_cbranch_execnz', { gfx9: 9, gfx10: 9, gfx11: 38 }, (b) => b.not(b.isZero(b.exec))),
  sopp('s_barrier', { gfx9: 10, gfx10: 10, gfx11: 61, gfx12: -1 }, '', exit('barrier')),
  sopp('s_setkill', { gfx9: 11, gfx10: 11, gfx11: 1 }, 'simm16:imm16'),
  sopp('s_waitcnt', { gfx9: 12, gfx10: 12, gfx11: 9 }, 'simm16:imm16', nothing),
  sopp('s_sethalt', { gfx9: 13, gfx10: 13, gfx11: 2 }, 'simm16:imm16'),
  sopp('s_sleep', { gfx9: 14, gfx10: 14, gfx11: 3 }, 'simm16:imm16', exit('sleep')),
  sopp('s_setprio', { gfx9: 15, gfx10: 15, gfx11: 53 }, 'simm16:imm16', nothing),
  sopp('s_sendmsg', { gfx9: 16, gfx10: 16, gfx11: 54 }, '', sendMessage, MESSAGE),
  sopp('s_sendmsghalt', { gfx9: 17, gfx10: 17, gfx11: 55 }, '', undefined, MESSAGE),
  sopp('s_trap', { gfx9: 18, gfx10: 18, gfx11: 16 }, 'simm16:imm16', exit('trap')),
  sopp('s_icache_inv', { gfx9: 19, gfx10: 19, gfx11: 60 }, '', nothing),
  sopp('s_incperflevel', { gfx9: 20, gfx10: 20, gfx11: 56 }, 'simm16:imm16', nothing),
  sopp('s_decperflevel', { gfx9: 21, gfx10: 21, gfx11: 57 }, 'simm16:imm16', nothing),
  sopp('s_ttracedata', { gfx9: 22, gfx10: 22, gfx11: 58 }, '', nothing),
  branchIf('s_cbranch_cdbgsys', { gfx9: 23, gfx10: 23, gfx11: 39, gfx12: -1 }, (b) => debugFlag(b, DEBUG_SYSTEM)),
  branchIf('s_cbranch_cdbguser', { gfx9: 24, gfx10: 24, gfx11: 40, gfx12: -1 }, (b) => debugFlag(b, DEBUG_USER)),
  branchIf('s_cbranch_cdbgsys_or_user', { gfx9: 25, gfx10: 25, gfx11: 41, gfx12: -1 }, (b) =>
    debugFlag(b, DEBUG_SYSTEM | DEBUG_USER),
  ),
  branchIf('s_cbranch_cdbgsys_and_user', { gfx9: 26, gfx10: 26, gfx11: 42, gfx12: -1 }, (b) =>
    b.op('i1.and', debugFlag(b, DEBUG_SYSTEM), debugFlag(b, DEBUG_USER)),
  ),
  sopp('s_endpgm_saved', { gfx9: 27, gfx10: 27, gfx11: 49 }, '', undefined, END),
  sopp('s_set_gpr_idx_off', 28, '', indexOff),
  sopp('s_set_gpr_idx_mode', 29, 'simm16:imm16', selectOperands),
  sopp('s_endpgm_ordered_ps_done', { gfx9: 30, gfx10: 30, gfx11: -1 }, '', undefined, END),
  // Raises an illegal instruction: padding behind programs.
  sopp('s_code_end', { gfx10: 31 }, '', undefined, END),
  sopp(
    's_inst_prefetch',
    { gfx10: 32, gfx11: ['s_set_inst_prefetch_distance', 4], gfx12: -1 },
    'simm16:imm16',
    nothing,
  ),
  sopp('s_clause', { gfx10: 33, gfx11: 5 }, 'simm16:imm16', nothing),
  sopp('s_wait_idle', { gfx10: 34, gfx11: 10 }, '', nothing),
  sopp('s_waitcnt_depctr', { gfx10: 35, gfx11: 8, gfx12: ['s_wait_alu', 8] }, 'simm16:imm16', nothing),
  sopp('s_round_mode', { gfx10: 36, gfx11: 17 }, 'simm16:imm16', setMode(ROUND_BIT)),
  sopp('s_denorm_mode', { gfx10: 37, gfx11: 18 }, 'simm16:imm16', setMode(DENORM_BIT)),
  sopp('s_ttracedata_imm', { gfx10: 40, gfx11: 59 }, 'simm16:imm16', nothing),
  sopp('s_delay_alu', { gfx11: 7 }, 'simm16:imm16', nothing),
  sopp('s_barrier_wait', { gfx12: 20 }, 'simm16:simm16', waitAtBarrier),
  sopp('s_barrier_leave', { gfx12: 21 }, ''),
  ...COUNTERS.map(([name, opcode]) => sopp(`s_wait_${name}`, { gfx12: opcode }, 'simm16:imm16', nothing)),
  // Says that values are used once.
  sopp('s_singleuse_vdst', { gfx115: 19 }, 'simm16:imm16', nothing),
  // Waits for what only shaders with exports wait for.
  sopp('s_wait_event', { gfx11: 11 }, 'simm16:imm16', nothing),
];
