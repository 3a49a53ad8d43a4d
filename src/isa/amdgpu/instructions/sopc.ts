/** SOPC: compares two scalar sources into SCC. CDNA2 ISA 12.4, "SOPC Instructions". */

import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type Row, row } from '../row.ts';
import { bitAt } from './bit-operations.ts';
import { indexOn } from './gpr-index.ts';

export type Comparison = (b: InstructionBuilder, x: Value, y: Value) => Value;

function sopc(name: string, opcode: number, operandText: string, condition?: Comparison): Row {
  return row('SOPC', name, opcode, operandText, condition && ((b, x, y) => b.setScc(condition(b, x, y))));
}

/** The six relations in the order of the opcodes; SOPK repeats them with a constant. */
export const RELATIONS: readonly (readonly [name: string, signed: Comparison, unsigned: Comparison])[] = [
  ['eq', (b, x, y) => b.eq(x, y), (b, x, y) => b.eq(x, y)],
  ['lg', (b, x, y) => b.ne(x, y), (b, x, y) => b.ne(x, y)],
  ['gt', (b, x, y) => b.ltS(y, x), (b, x, y) => b.ltU(y, x)],
  ['ge', (b, x, y) => b.not(b.ltS(x, y)), (b, x, y) => b.not(b.ltU(x, y))],
  ['lt', (b, x, y) => b.ltS(x, y), (b, x, y) => b.ltU(x, y)],
  ['le', (b, x, y) => b.not(b.ltS(y, x)), (b, x, y) => b.not(b.ltU(y, x))],
];

export const SOPC_ROWS: readonly Row[] = [
  ...RELATIONS.map(([name, signed], i) => sopc(`s_cmp_${name}_i32`, i, 'ssrc0:i32 ssrc1:i32', signed)),
  ...RELATIONS.map(([name, , unsigned], i) => sopc(`s_cmp_${name}_u32`, 6 + i, 'ssrc0:u32 ssrc1:u32', unsigned)),
  sopc('s_bitcmp0_b32', 12, 'ssrc0:b32 ssrc1:b32', (b, x, i) => b.not(bitAt(b, x, i))),
  sopc('s_bitcmp1_b32', 13, 'ssrc0:b32 ssrc1:b32', bitAt),
  sopc('s_bitcmp0_b64', 14, 'ssrc0:b64 ssrc1:b32', (b, x, i) => b.not(bitAt(b, x, i))),
  sopc('s_bitcmp1_b64', 15, 'ssrc0:b64 ssrc1:b32', bitAt),
  sopc('s_setvskip', 16, 'ssrc0:b32 ssrc1:b32'),
  row('SOPC', 's_set_gpr_idx_on', 17, 'ssrc0:b32 ssrc1:imm8', indexOn),
  sopc('s_cmp_eq_u64', 18, 'ssrc0:u64 ssrc1:u64', (b, x, y) => b.eq(x, y)),
  sopc('s_cmp_lg_u64', 19, 'ssrc0:u64 ssrc1:u64', (b, x, y) => b.ne(x, y)),
];
