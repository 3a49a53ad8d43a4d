/** SOPP: program control; no registers named. CDNA2 ISA 12.5, "SOPP Instructions". */

import { WavewrightError } from '../../../base/errors.ts';
import type { ExitReason, Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { indexOff, selectOperands } from './gpr-index.ts';

function sopp(name: string, opcode: number, operandText: string, semantics?: Semantics, flags?: RowFlags): Row {
  return row('SOPP', name, opcode, operandText, semantics, flags);
}

/** For instructions that time, order or count what an executor does in program order anyway. */
const nothing: Semantics = () => undefined;
const exit =
  (reason: ExitReason): Semantics =>
  (b) =>
    b.exit(reason);

function branchIf(name: string, opcode: number, condition: (b: InstructionBuilder) => Value): Row {
  return sopp(name, opcode, 'simm16:label', (b) => b.branch(condition(b)), { terminator: 'conditional' });
}

const END: RowFlags = { terminator: 'end' };
/** STATUS.COND_DBG_USER and COND_DBG_SYS (CDNA2 ISA 3.4). */
const DEBUG_USER = 1 << 20;
const DEBUG_SYSTEM = 1 << 21;

const debugFlag = (b: InstructionBuilder, flag: number): Value =>
  b.not(b.isZero(b.and(b.state('status'), b.i32(flag))));

const MESSAGE_INTERRUPT = 1;

/** simm16 is no operand: which message it names is part of what the instruction is (CDNA2 ISA 12.5.1). */
const sendMessage: Semantics = (b) => {
  const message = b.field('simm16') & 15;
  if (message === MESSAGE_INTERRUPT) return b.exit('interrupt');
  throw new WavewrightError(
    'UNSUPPORTED',
    `unsupported instruction 's_sendmsg' with message ${message}, expected 1 (interrupt)`,
  );
};

export const SOPP_ROWS: readonly Row[] = [
  sopp('s_nop', 0, 'simm16:imm16', nothing),
  sopp('s_endpgm', 1, 'simm16:imm16', exit('end'), END),
  sopp('s_branch', 2, 'simm16:label', (b) => b.branch(b.i1(true)), { terminator: 'branch' }),
  sopp('s_wakeup', 3, '', nothing),
  branchIf('s_cbranch_scc0', 4, (b) => b.not(b.scc)),
  branchIf('s_cbranch_scc1', 5, (b) => b.scc),
  branchIf('s_cbranch_vccz', 6, (b) => b.isZero(b.state('vcc'))),
  branchIf('s_cbranch_vccnz', 7, (b) => b.not(b.isZero(b.state('vcc')))),
  branchIf('s_cbranch_execz', 8, (b) => b.isZero(b.exec)),
  branchIf('s_cbranch_execnz', 9, (b) => b.not(b.isZero(b.exec))),
  sopp('s_barrier', 10, '', exit('barrier')),
  sopp('s_setkill', 11, 'simm16:imm16'),
  sopp('s_waitcnt', 12, 'simm16:imm16', nothing),
  sopp('s_sethalt', 13, 'simm16:imm16'),
  sopp('s_sleep', 14, 'simm16:imm16', exit('sleep')),
  sopp('s_setprio', 15, 'simm16:imm16', nothing),
  sopp('s_sendmsg', 16, '', sendMessage),
  sopp('s_sendmsghalt', 17, ''),
  sopp('s_trap', 18, 'simm16:imm16', exit('trap')),
  sopp('s_icache_inv', 19, '', nothing),
  sopp('s_incperflevel', 20, 'simm16:imm16', nothing),
  sopp('s_decperflevel', 21, 'simm16:imm16', nothing),
  sopp('s_ttracedata', 22, '', nothing),
  branchIf('s_cbranch_cdbgsys', 23, (b) => debugFlag(b, DEBUG_SYSTEM)),
  branchIf('s_cbranch_cdbguser', 24, (b) => debugFlag(b, DEBUG_USER)),
  branchIf('s_cbranch_cdbgsys_or_user', 25, (b) => debugFlag(b, DEBUG_SYSTEM | DEBUG_USER)),
  branchIf('s_cbranch_cdbgsys_and_user', 26, (b) =>
    b.op('i1.and', debugFlag(b, DEBUG_SYSTEM), debugFlag(b, DEBUG_USER)),
  ),
  sopp('s_endpgm_saved', 27, '', undefined, END),
  sopp('s_set_gpr_idx_off', 28, '', indexOff),
  sopp('s_set_gpr_idx_mode', 29, 'simm16:imm16', selectOperands),
  sopp('s_endpgm_ordered_ps_done', 30, '', undefined, END),
];
