/** SOPK: a 16-bit constant and a scalar register. CDNA2 ISA 12.2, "SOPK Instructions". */
import { type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { getRegister, setRegister } from './hardware-registers.ts';
import { addSigned } from './scc.ts';
import { type Comparison, RELATIONS } from './sopc.ts';

function sopk(name: string, opcode: number, operandText: string, semantics?: Semantics, flags?: RowFlags): Row {
  return row('SOPK', name, opcode, operandText, semantics, flags);
}

function compare(name: string, opcode: number, operandText: string, condition: Comparison): Row {
  return sopk(name, opcode, operandText, (b, x, constant) => b.setScc(condition(b, x, constant)));
}

export const SOPK_ROWS: readonly Row[] = [
  sopk('s_movk_i32', 0, '=sdst:i32 simm16:simm16', (_, constant) => constant),
  sopk('s_cmovk_i32', 1, '+sdst:i32 simm16:simm16', (b, old, constant) => b.select(b.scc, constant, old)),
  ...RELATIONS.map(([name, signed], i) => compare(`s_cmpk_${name}_i32`, 2 + i, 'sdst:i32 simm16:simm16', signed)),
  ...RELATIONS.map(([name, , unsigned], i) => compare(`s_cmpk_${name}_u32`, 8 + i, 'sdst:u32 simm16:imm16', unsigned)),
  sopk('s_addk_i32', 14, '+sdst:i32 simm16:simm16', addSigned),
  sopk('s_mulk_i32', 15, '+sdst:i32 simm16:simm16', (b, x, constant) => b.mul(x, constant)),
  sopk('s_cbranch_i_fork', 16, 'sdst:b64 simm16:label', undefined, { terminator: 'jump', writesExec: true }),
  sopk('s_getreg_b32', 17, '=sdst:b32', getRegister),
  sopk('s_setreg_b32', 18, 'sdst:b32', setRegister),
  sopk('s_setreg_imm32_b32', 20, 'literal:literal32', setRegister),
  sopk(
    's_call_b64',
    21,
    '=sdst:b64 simm16:label',
    (b, distance) => {
      b.jump(b.add(b.nextPc(), b.sext64(distance)));
      return b.nextPc();
    },
    { terminator: 'jump' },
  ),
];
