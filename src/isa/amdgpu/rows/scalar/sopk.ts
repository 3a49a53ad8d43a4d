/** SOPK: a 16-bit constant and a scalar register. CDNA2 ISA 12.2, "SOPK Instructions"; RDNA2 ISA 12.2, RDNA3 ISA 16.2. */

import { getRegister, setRegister } from '../../semantics/hardware-registers.ts';
import { addSigned } from '../../semantics/scc.ts';
import { type Opcodes, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { type Comparison, RELATIONS } from './sopc.ts';

function sopk(name: string, opcodes: Opcodes, operandText: string, semantics?: Semantics, flags?: RowFlags): Row {
  return row('SOPK', name, opcodes, operandText, semantics, flags);
}

function compare(name: string, opcodes: Opcodes, operandText: string, condition: Comparison): Row {
  return sopk(name, opcodes, operandText, (b, x, constant) => b.setScc(condition(b, x, constant)));
}

/** Counters are at zero between instructions. */
const nothing: Semantics = () => undefined;

/** Up to gfx11 a loop over the halves of EXEC: D keeps the half that waits, and which half is zero tells the pass. */
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

const waitFor = (counter: string, gfx10: number): Row =>
  sopk(`s_waitcnt_${counter}`, { gfx10, gfx11: gfx10 + 1, gfx12: -1 }, 'sdst:b32 simm16:imm16', nothing, {
    synchronises: true,
  });

export const SOPK_ROWS: readonly Row[] = [
  sopk('s_movk_i32', { gfx9: 0, gfx10: 0 }, '=sdst:i32 simm16:simm16', (_, constant) => constant),
  sopk('s_version', { gfx10: 1 }, '', nothing),
  sopk('s_cmovk_i32', { gfx9: 1, gfx10: 2 }, '+sdst:i32 simm16:simm16', (b, old, constant) =>
    b.select(b.scc, constant, old),
  ),
  ...RELATIONS.map(([name, signed], i) =>
    compare(`s_cmpk_${name}_i32`, { gfx9: 2 + i, gfx10: 3 + i, gfx12: -1 }, 'sdst:i32 simm16:simm16', signed),
  ),
  ...RELATIONS.map(([name, , unsigned], i) =>
    compare(`s_cmpk_${name}_u32`, { gfx9: 8 + i, gfx10: 9 + i, gfx12: -1 }, 'sdst:u32 simm16:imm16', unsigned),
  ),
  sopk('s_addk_i32', { gfx9: 14, gfx10: 15, gfx12: ['s_addk_co_i32', 15] }, '+sdst:i32 simm16:simm16', addSigned),
  sopk('s_mulk_i32', { gfx9: 15, gfx10: 16 }, '+sdst:i32 simm16:simm16', (b, x, constant) => b.mul(x, constant)),
  sopk('s_cbranch_i_fork', 16, 'sdst:b64 simm16:label', undefined, { terminator: 'jump', writesExec: true }),
  sopk('s_getreg_b32', { gfx9: 17, gfx10: 18, gfx11: 17 }, '=sdst:b32', getRegister),
  sopk('s_setreg_b32', { gfx9: 18, gfx10: 19, gfx11: 18 }, 'sdst:b32', setRegister),
  sopk('s_setreg_imm32_b32', { gfx9: 20, gfx10: 21, gfx11: 19 }, 'literal:literal32', setRegister),
  sopk(
    's_call_b64',
    { gfx9: 21, gfx10: 22, gfx11: 20 },
    '=sdst:b64 simm16:label',
    (b, distance) => {
      b.jump(b.add(b.nextPc(), b.sext64(distance)));
      return b.nextPc();
    },
    { terminator: 'jump' },
  ),
  waitFor('vscnt', 23),
  waitFor('vmcnt', 24),
  waitFor('expcnt', 25),
  waitFor('lgkmcnt', 26),
  sopk(
    's_subvector_loop_begin',
    { gfx10: 27, gfx11: 22, gfx12: -1 },
    '+sdst:b32 simm16:label',
    beginSubvectors,
    SUBVECTORS,
  ),
  sopk(
    's_subvector_loop_end',
    { gfx10: 28, gfx11: 23, gfx12: -1 },
    '+sdst:b32 simm16:label',
    endSubvectors,
    SUBVECTORS,
  ),
];
