/**
 * SOPP: program control; no registers named. CDNA2 ISA 12.5, "SOPP Instructions"; RDNA2 ISA 12.5, RDNA3 ISA
 * 16.5.
 */

import { WavewrightError } from '../../../../base/errors.ts';
import type { ExitReason, Value } from '../../../../ir/types.ts';
import { freesVectors, MESSAGE_INTERRUPT, messageOf } from '../../encoding/messages.ts';
import type { Row, RowFlags } from '../../encoding/row.ts';
import { indexOff, selectOperands } from '../../semantics/gpr-index.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { type Opcodes, row } from '../table/row.ts';

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
const BARRIER: RowFlags = { barrier: true };
const HEXADECIMAL: RowFlags = { spelled: { field: 'simm16', as: 'hexadecimal' } };
const MESSAGE: RowFlags = { message: true, spelled: { field: 'simm16', as: 'message' } };
/** STATUS.COND_DBG_USER and COND_DBG_SYS (CDNA2 ISA 3.4). */
const DEBUG_USER = 1 << 20;
const DEBUG_SYSTEM = 1 << 21;

const debugFlag = (b: InstructionBuilder, flag: number): Value =>
  b.not(b.isZero(b.and(b.state('status'), b.i32(flag))));

const debugBoth = (b: InstructionBuilder): Value =>
  b.op('i1.and', debugFlag(b, DEBUG_SYSTEM), debugFlag(b, DEBUG_USER));

/**
 * simm16 is no operand: which message it names is part of what the instruction is (CDNA2 ISA 12.5.1, RDNA3
 * ISA 5.3).
 */
const sendMessage: Semantics = (b) => {
  const message = messageOf(b.instruction);
  if (message === MESSAGE_INTERRUPT) return b.exit('interrupt');
  if (freesVectors(b.instruction)) return;
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

/** Only the barrier of the workgroup, -1 (RDNA4 ISA 5.6). */
const waitAtBarrier: Semantics = (b) => {
  if (b.field('simm16') === 0xffff) return b.exit('barrier');
  throw new WavewrightError(
    'UNSUPPORTED',
    `unsupported instruction '${b.instruction.name}' at another barrier than -1`,
  );
};

// biome-ignore format: one row per line, as the tables of the manual
export const soppRows = (): readonly Row[] => [
  sopp('s_nop', { gfx9: 0x00, gfx10: 0x00 }, 'simm16:imm16', nothing, { idles: true }),
  sopp('s_endpgm', { gfx9: 0x01, gfx10: 0x01, gfx11: 0x30 }, 'simm16:imm16', exit('end'), { ...END, spelled: { field: 'simm16', as: 'optional' } }),
  sopp('s_branch', { gfx9: 0x02, gfx10: 0x02, gfx11: 0x20 }, 'simm16:label', (b) => b.branch(b.i1(true)), { terminator: 'branch' }),
  sopp('s_wakeup', { gfx9: 0x03, gfx10: 0x03, gfx11: 0x34 }, '', nothing),
  branchIf('s_cbranch_scc0', { gfx9: 0x04, gfx10: 0x04, gfx11: 0x21 }, (b) => b.not(b.scc)),
  branchIf('s_cbranch_scc1', { gfx9: 0x05, gfx10: 0x05, gfx11: 0x22 }, (b) => b.scc),
  branchIf('s_cbranch_vccz', { gfx9: 0x06, gfx10: 0x06, gfx11: 0x23 }, (b) => b.isZero(b.vcc)),
  branchIf('s_cbranch_vccnz', { gfx9: 0x07, gfx10: 0x07, gfx11: 0x24 }, (b) => b.not(b.isZero(b.vcc))),
  branchIf('s_cbranch_execz', { gfx9: 0x08, gfx10: 0x08, gfx11: 0x25 }, (b) => b.isZero(b.exec)),
  branchIf('s_cbranch_execnz', { gfx9: 0x09, gfx10: 0x09, gfx11: 0x26 }, (b) => b.not(b.isZero(b.exec))),
  sopp('s_barrier', { gfx9: 0x0a, gfx10: 0x0a, gfx11: 0x3d, gfx12: -1 }, '', exit('barrier'), BARRIER),
  sopp('s_setkill', { gfx9: 0x0b, gfx10: 0x0b, gfx11: 0x01 }, 'simm16:imm16', undefined, { touches: { writesState: ['status'] } }),
  sopp('s_waitcnt', { gfx9: 0x0c, gfx10: 0x0c, gfx11: 0x09 }, 'simm16:imm16', nothing, { waits: 'packed', spelled: { field: 'simm16', as: 'waitCount' } }),
  sopp('s_sethalt', { gfx9: 0x0d, gfx10: 0x0d, gfx11: 0x02 }, 'simm16:imm16', undefined, { touches: { writesState: ['status'] } }),
  sopp('s_sleep', { gfx9: 0x0e, gfx10: 0x0e, gfx11: 0x03 }, 'simm16:imm16', exit('sleep')),
  sopp('s_setprio', { gfx9: 0x0f, gfx10: 0x0f, gfx11: 0x35 }, 'simm16:imm16', nothing),
  sopp('s_sendmsg', { gfx9: 0x10, gfx10: 0x10, gfx11: 0x36 }, '', sendMessage, MESSAGE),
  sopp('s_sendmsghalt', { gfx9: 0x11, gfx10: 0x11, gfx11: 0x37 }, '', undefined, MESSAGE),
  sopp('s_trap', { gfx9: 0x12, gfx10: 0x12, gfx11: 0x10 }, 'simm16:imm16', exit('trap')),
  sopp('s_icache_inv', { gfx9: 0x13, gfx10: 0x13, gfx11: 0x3c }, '', nothing),
  sopp('s_incperflevel', { gfx9: 0x14, gfx10: 0x14, gfx11: 0x38 }, 'simm16:imm16', nothing),
  sopp('s_decperflevel', { gfx9: 0x15, gfx10: 0x15, gfx11: 0x39 }, 'simm16:imm16', nothing),
  sopp('s_ttracedata', { gfx9: 0x16, gfx10: 0x16, gfx11: 0x3a }, '', nothing, { touches: { readsState: ['m0'] } }),
  branchIf('s_cbranch_cdbgsys', { gfx9: 0x17, gfx10: 0x17, gfx11: 0x27, gfx12: -1 }, (b) => debugFlag(b, DEBUG_SYSTEM)),
  branchIf('s_cbranch_cdbguser', { gfx9: 0x18, gfx10: 0x18, gfx11: 0x28, gfx12: -1 }, (b) => debugFlag(b, DEBUG_USER)),
  branchIf('s_cbranch_cdbgsys_or_user', { gfx9: 0x19, gfx10: 0x19, gfx11: 0x29, gfx12: -1 }, (b) => debugFlag(b, DEBUG_SYSTEM | DEBUG_USER)),
  branchIf('s_cbranch_cdbgsys_and_user', { gfx9: 0x1a, gfx10: 0x1a, gfx11: 0x2a, gfx12: -1 }, debugBoth),
  sopp('s_endpgm_saved', { gfx9: 0x1b, gfx10: 0x1b, gfx11: 0x31 }, '', undefined, END),
  sopp('s_set_gpr_idx_off', 0x1c, '', indexOff),
  sopp('s_set_gpr_idx_mode', 0x1d, 'simm16:imm16', selectOperands, { spelled: { field: 'simm16', as: 'indexMode' } }),
  sopp('s_endpgm_ordered_ps_done', { gfx9: 0x1e, gfx10: 0x1e, gfx11: -1 }, '', undefined, END),
  // Raises an illegal instruction: padding behind programs.
  sopp('s_code_end', { gfx10: 0x1f }, '', undefined, END),
  sopp('s_inst_prefetch', { gfx10: 0x20, gfx11: ['s_set_inst_prefetch_distance', 0x04], gfx12: -1 }, 'simm16:imm16', nothing, HEXADECIMAL),
  sopp('s_clause', { gfx10: 0x21, gfx11: 0x05 }, 'simm16:imm16', nothing, { hint: 'clause', ...HEXADECIMAL }),
  sopp('s_wait_idle', { gfx10: 0x22, gfx11: 0x0a }, '', nothing, { waits: 'all' }),
  sopp('s_waitcnt_depctr', { gfx10: 0x23, gfx11: 0x08, gfx12: ['s_wait_alu', 0x08] }, 'simm16:imm16', nothing, { spelled: { field: 'simm16', as: 'dependencyCount' } }),
  sopp('s_round_mode', { gfx10: 0x24, gfx11: 0x11 }, 'simm16:imm16', setMode(ROUND_BIT), HEXADECIMAL),
  sopp('s_denorm_mode', { gfx10: 0x25, gfx11: 0x12 }, 'simm16:imm16', setMode(DENORM_BIT)),
  sopp('s_ttracedata_imm', { gfx10: 0x28, gfx11: 0x3b }, 'simm16:imm16', nothing, HEXADECIMAL),
  sopp('s_delay_alu', { gfx11: 0x07 }, 'simm16:imm16', nothing, { hint: 'delay', spelled: { field: 'simm16', as: 'delay' } }),
  sopp('s_barrier_wait', { gfx12: 0x14 }, 'simm16:simm16', waitAtBarrier, BARRIER),
  sopp('s_barrier_leave', { gfx12: 0x15 }, '', undefined, { touches: { writesState: ['scc'] } }),
  sopp('s_wait_loadcnt', { gfx12: 0x40 }, 'simm16:imm16', nothing, { waits: ['loadcnt'], ...HEXADECIMAL }),
  sopp('s_wait_storecnt', { gfx12: 0x41 }, 'simm16:imm16', nothing, { waits: ['storecnt'], ...HEXADECIMAL }),
  sopp('s_wait_samplecnt', { gfx12: 0x42 }, 'simm16:imm16', nothing, { waits: ['samplecnt'], ...HEXADECIMAL }),
  sopp('s_wait_bvhcnt', { gfx12: 0x43 }, 'simm16:imm16', nothing, { waits: ['bvhcnt'], ...HEXADECIMAL }),
  sopp('s_wait_expcnt', { gfx12: 0x44 }, 'simm16:imm16', nothing, { waits: ['expcnt'], ...HEXADECIMAL }),
  sopp('s_wait_dscnt', { gfx12: 0x46 }, 'simm16:imm16', nothing, { waits: ['dscnt'], ...HEXADECIMAL }),
  sopp('s_wait_kmcnt', { gfx12: 0x47 }, 'simm16:imm16', nothing, { waits: ['kmcnt'], ...HEXADECIMAL }),
  sopp('s_wait_loadcnt_dscnt', { gfx12: 0x48 }, 'simm16:imm16', nothing, { waits: ['loadcnt', 'dscnt'], ...HEXADECIMAL }),
  sopp('s_wait_storecnt_dscnt', { gfx12: 0x49 }, 'simm16:imm16', nothing, { waits: ['storecnt', 'dscnt'], ...HEXADECIMAL }),
  // Says that values are used once.
  sopp('s_singleuse_vdst', { gfx115: 0x13 }, 'simm16:imm16', nothing, HEXADECIMAL),
  // Waits for what only shaders with exports wait for.
  sopp('s_wait_event', { gfx11: 0x0b }, 'simm16:imm16', nothing, HEXADECIMAL),
];
