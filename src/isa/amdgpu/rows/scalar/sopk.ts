/**
 * SOPK: a 16-bit constant and a scalar register. CDNA2 ISA 12.2, "SOPK Instructions"; RDNA2 ISA 12.2, RDNA3
 * ISA 16.2.
 */

import type { WaitCounter } from '../../../../ir/effects.ts';
import type { Row, RowFlags } from '../../encoding/row.ts';
import { getRegister, setRegister } from '../../semantics/hardware-registers.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';
import { addSigned } from '../../semantics/scc.ts';
import { FORK, type Opcodes, row } from '../table/row.ts';
import { type Comparison, RELATIONS } from './sopc.ts';

function sopk(name: string, opcodes: Opcodes, operandText: string, semantics?: Semantics, flags?: RowFlags): Row {
  return row('SOPK', name, opcodes, operandText, semantics, flags);
}

function compare(name: string, opcodes: Opcodes, operandText: string, condition: Comparison): Row {
  return sopk(name, opcodes, operandText, (b, x, constant) => b.setScc(condition(b, x, constant)));
}

/** Counters are at zero between instructions. */
const nothing: Semantics = () => undefined;

/**
 * Up to gfx11 a loop over the halves of EXEC: D keeps the half that waits, and which half is zero tells the
 * pass.
 */
const beginSubvectors: Semantics = (b, old) => {
  const [low, high] = [b.low(b.exec), b.high(b.exec)];
  const noneActive = b.isZero(b.exec);
  const onlyHigh = b.isZero(low);
  b.setState('exec', b.pack(low, b.select(onlyHigh, high, b.i32(0))));
  b.branch(noneActive);
  return b.select(noneActive, old!, b.select(onlyHigh, low, high));
};

const endSubvectors: Semantics = (b, kept) => {
  const [low, high] = [b.low(b.exec), b.high(b.exec)];
  const inHighPass = b.not(b.isZero(high));
  const again = b.op('i1.and', b.isZero(high), b.not(b.isZero(kept!)));
  const newLow = b.select(inHighPass, kept!, b.select(again, b.i32(0), low));
  b.setState('exec', b.pack(newLow, b.select(again, kept!, high)));
  b.branch(again);
  return b.select(again, low, kept!);
};

const SUBVECTORS: RowFlags = { terminator: 'conditional', writesExec: true };

const waitsFor = (counter: WaitCounter): RowFlags => ({ synchronises: true, nullSource: true, waits: [counter] });

const call: Semantics = (b, distance) => {
  b.jump(b.add(b.nextPc(), b.sext64(distance!)));
  return b.nextPc();
};

// biome-ignore format: one row per line, as the tables of the manual
export const sopkRows = (): readonly Row[] => [
  sopk('s_movk_i32', { gfx9: 0x00, gfx10: 0x00 }, '=sdst:i32 simm16:simm16', (_, constant) => constant),
  sopk('s_version', { gfx10: 0x01 }, '', nothing, { spelled: { field: 'simm16', as: 'version' } }),
  sopk('s_cmovk_i32', { gfx9: 0x01, gfx10: 0x02 }, '+sdst:i32 simm16:simm16', (b, old, constant) => b.select(b.scc, constant, old)),
  compare('s_cmpk_eq_i32', { gfx9: 0x02, gfx10: 0x03, gfx12: -1 }, 'sdst:i32 simm16:simm16', RELATIONS.signed.eq),
  compare('s_cmpk_lg_i32', { gfx9: 0x03, gfx10: 0x04, gfx12: -1 }, 'sdst:i32 simm16:simm16', RELATIONS.signed.lg),
  compare('s_cmpk_gt_i32', { gfx9: 0x04, gfx10: 0x05, gfx12: -1 }, 'sdst:i32 simm16:simm16', RELATIONS.signed.gt),
  compare('s_cmpk_ge_i32', { gfx9: 0x05, gfx10: 0x06, gfx12: -1 }, 'sdst:i32 simm16:simm16', RELATIONS.signed.ge),
  compare('s_cmpk_lt_i32', { gfx9: 0x06, gfx10: 0x07, gfx12: -1 }, 'sdst:i32 simm16:simm16', RELATIONS.signed.lt),
  compare('s_cmpk_le_i32', { gfx9: 0x07, gfx10: 0x08, gfx12: -1 }, 'sdst:i32 simm16:simm16', RELATIONS.signed.le),
  compare('s_cmpk_eq_u32', { gfx9: 0x08, gfx10: 0x09, gfx12: -1 }, 'sdst:u32 simm16:imm16', RELATIONS.unsigned.eq),
  compare('s_cmpk_lg_u32', { gfx9: 0x09, gfx10: 0x0a, gfx12: -1 }, 'sdst:u32 simm16:imm16', RELATIONS.unsigned.lg),
  compare('s_cmpk_gt_u32', { gfx9: 0x0a, gfx10: 0x0b, gfx12: -1 }, 'sdst:u32 simm16:imm16', RELATIONS.unsigned.gt),
  compare('s_cmpk_ge_u32', { gfx9: 0x0b, gfx10: 0x0c, gfx12: -1 }, 'sdst:u32 simm16:imm16', RELATIONS.unsigned.ge),
  compare('s_cmpk_lt_u32', { gfx9: 0x0c, gfx10: 0x0d, gfx12: -1 }, 'sdst:u32 simm16:imm16', RELATIONS.unsigned.lt),
  compare('s_cmpk_le_u32', { gfx9: 0x0d, gfx10: 0x0e, gfx12: -1 }, 'sdst:u32 simm16:imm16', RELATIONS.unsigned.le),
  sopk('s_addk_i32', { gfx9: 0x0e, gfx10: 0x0f, gfx12: ['s_addk_co_i32', 0x0f] }, '+sdst:i32 simm16:simm16', addSigned),
  sopk('s_mulk_i32', { gfx9: 0x0f, gfx10: 0x10 }, '+sdst:i32 simm16:simm16', (b, x, constant) => b.mul(x, constant)),
  sopk('s_cbranch_i_fork', 0x10, 'sdst:b64 simm16:label', undefined, FORK),
  sopk('s_getreg_b32', { gfx9: 0x11, gfx10: 0x12, gfx11: 0x11 }, '=sdst:b32', getRegister, { spelled: { field: 'simm16', as: 'hardwareRegister' } }),
  sopk('s_setreg_b32', { gfx9: 0x12, gfx10: 0x13, gfx11: 0x12 }, 'sdst:b32', setRegister, { spelled: { field: 'simm16', as: 'hardwareRegister', first: true } }),
  sopk('s_setreg_imm32_b32', { gfx9: 0x14, gfx10: 0x15, gfx11: 0x13 }, 'literal:literal32', setRegister, { spelled: { field: 'simm16', as: 'hardwareRegister', first: true } }),
  sopk('s_call_b64', { gfx9: 0x15, gfx10: 0x16, gfx11: 0x14 }, '=sdst:b64 simm16:label', call, { terminator: 'jump' }),
  sopk('s_waitcnt_vscnt', { gfx10: 0x17, gfx11: 0x18, gfx12: -1 }, 'sdst:b32 simm16:imm16', nothing, waitsFor('vscnt')),
  sopk('s_waitcnt_vmcnt', { gfx10: 0x18, gfx11: 0x19, gfx12: -1 }, 'sdst:b32 simm16:imm16', nothing, waitsFor('vmcnt')),
  sopk('s_waitcnt_expcnt', { gfx10: 0x19, gfx11: 0x1a, gfx12: -1 }, 'sdst:b32 simm16:imm16', nothing, waitsFor('expcnt')),
  sopk('s_waitcnt_lgkmcnt', { gfx10: 0x1a, gfx11: 0x1b, gfx12: -1 }, 'sdst:b32 simm16:imm16', nothing, waitsFor('lgkmcnt')),
  sopk('s_subvector_loop_begin', { gfx10: 0x1b, gfx11: 0x16, gfx12: -1 }, '+sdst:b32 simm16:label', beginSubvectors, SUBVECTORS),
  sopk('s_subvector_loop_end', { gfx10: 0x1c, gfx11: 0x17, gfx12: -1 }, '+sdst:b32 simm16:label', endSubvectors, SUBVECTORS),
];
