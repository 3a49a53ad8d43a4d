/** SOPC: compares two scalar sources into SCC. CDNA2 ISA 12.4, "SOPC Instructions". */

import type { Value } from '../../../../ir/types.ts';
import { bitAt } from '../../semantics/bit-operations.ts';
import { indexOn } from '../../semantics/gpr-index.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { type Opcodes, type Row, row } from '../row.ts';

export type Comparison = (b: InstructionBuilder, x: Value, y: Value) => Value;

function sopc(name: string, opcodes: Opcodes, operandText: string, condition?: Comparison): Row {
  return row('SOPC', name, opcodes, operandText, condition && ((b, x, y) => b.setScc(condition(b, x, y))));
}

/** The same opcode on all targets. */
const common = (opcode: number): Opcodes => ({ gfx9: opcode, gfx10: opcode });

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
  ...RELATIONS.map(([name, signed], i) => sopc(`s_cmp_${name}_i32`, common(i), 'ssrc0:i32 ssrc1:i32', signed)),
  ...RELATIONS.map(([name, , unsigned], i) =>
    sopc(`s_cmp_${name}_u32`, common(6 + i), 'ssrc0:u32 ssrc1:u32', unsigned),
  ),
  sopc('s_bitcmp0_b32', common(12), 'ssrc0:b32 ssrc1:b32', (b, x, i) => b.not(bitAt(b, x, i))),
  sopc('s_bitcmp1_b32', common(13), 'ssrc0:b32 ssrc1:b32', bitAt),
  sopc('s_bitcmp0_b64', common(14), 'ssrc0:b64 ssrc1:b32', (b, x, i) => b.not(bitAt(b, x, i))),
  sopc('s_bitcmp1_b64', common(15), 'ssrc0:b64 ssrc1:b32', bitAt),
  sopc('s_setvskip', 16, 'ssrc0:b32 ssrc1:b32'),
  row('SOPC', 's_set_gpr_idx_on', 17, 'ssrc0:b32 ssrc1:imm8', indexOn),
  sopc('s_cmp_eq_u64', { gfx9: 18, gfx10: 18, gfx11: 16 }, 'ssrc0:u64 ssrc1:u64', (b, x, y) => b.eq(x, y)),
  sopc('s_cmp_lg_u64', { gfx9: 19, gfx10: 19, gfx11: 17 }, 'ssrc0:u64 ssrc1:u64', (b, x, y) => b.ne(x, y)),
];
