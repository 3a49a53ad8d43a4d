/** SOPC: compares two scalar sources into SCC. CDNA2 ISA 12.4, "SOPC Instructions". */

import type { Value } from '../../../../ir/types.ts';
import type { Row } from '../../encoding/row.ts';
import { bitAt } from '../../semantics/bit-operations.ts';
import { indexOn } from '../../semantics/gpr-index.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { type Opcodes, row } from '../table/row.ts';

export type Comparison = (b: InstructionBuilder, x: Value, y: Value) => Value;

function sopc(name: string, opcodes: Opcodes, operandText: string, condition?: Comparison): Row {
  return row('SOPC', name, opcodes, operandText, condition && ((b, x, y) => b.setScc(condition(b, x, y))));
}

/** The same opcode on all targets. */
const common = (opcode: number): Opcodes => ({ gfx9: opcode, gfx10: opcode });

/** The six relations; SOPK has them with a constant. */
export const RELATIONS = {
  signed: {
    eq: (b, x, y) => b.eq(x, y),
    lg: (b, x, y) => b.ne(x, y),
    gt: (b, x, y) => b.ltS(y, x),
    ge: (b, x, y) => b.not(b.ltS(x, y)),
    lt: (b, x, y) => b.ltS(x, y),
    le: (b, x, y) => b.not(b.ltS(y, x)),
  },
  unsigned: {
    eq: (b, x, y) => b.eq(x, y),
    lg: (b, x, y) => b.ne(x, y),
    gt: (b, x, y) => b.ltU(y, x),
    ge: (b, x, y) => b.not(b.ltU(x, y)),
    lt: (b, x, y) => b.ltU(x, y),
    le: (b, x, y) => b.not(b.ltU(y, x)),
  },
} satisfies Record<'signed' | 'unsigned', Record<string, Comparison>>;

// biome-ignore format: one row per line, as the tables of the manual
export const sopcRows = (): readonly Row[] => [
  sopc('s_cmp_eq_i32', common(0x00), 'ssrc0:i32 ssrc1:i32', RELATIONS.signed.eq),
  sopc('s_cmp_lg_i32', common(0x01), 'ssrc0:i32 ssrc1:i32', RELATIONS.signed.lg),
  sopc('s_cmp_gt_i32', common(0x02), 'ssrc0:i32 ssrc1:i32', RELATIONS.signed.gt),
  sopc('s_cmp_ge_i32', common(0x03), 'ssrc0:i32 ssrc1:i32', RELATIONS.signed.ge),
  sopc('s_cmp_lt_i32', common(0x04), 'ssrc0:i32 ssrc1:i32', RELATIONS.signed.lt),
  sopc('s_cmp_le_i32', common(0x05), 'ssrc0:i32 ssrc1:i32', RELATIONS.signed.le),
  sopc('s_cmp_eq_u32', common(0x06), 'ssrc0:u32 ssrc1:u32', RELATIONS.unsigned.eq),
  sopc('s_cmp_lg_u32', common(0x07), 'ssrc0:u32 ssrc1:u32', RELATIONS.unsigned.lg),
  sopc('s_cmp_gt_u32', common(0x08), 'ssrc0:u32 ssrc1:u32', RELATIONS.unsigned.gt),
  sopc('s_cmp_ge_u32', common(0x09), 'ssrc0:u32 ssrc1:u32', RELATIONS.unsigned.ge),
  sopc('s_cmp_lt_u32', common(0x0a), 'ssrc0:u32 ssrc1:u32', RELATIONS.unsigned.lt),
  sopc('s_cmp_le_u32', common(0x0b), 'ssrc0:u32 ssrc1:u32', RELATIONS.unsigned.le),
  sopc('s_bitcmp0_b32', common(0x0c), 'ssrc0:b32 ssrc1:b32', (b, x, i) => b.not(bitAt(b, x, i))),
  sopc('s_bitcmp1_b32', common(0x0d), 'ssrc0:b32 ssrc1:b32', bitAt),
  sopc('s_bitcmp0_b64', common(0x0e), 'ssrc0:b64 ssrc1:b32', (b, x, i) => b.not(bitAt(b, x, i))),
  sopc('s_bitcmp1_b64', common(0x0f), 'ssrc0:b64 ssrc1:b32', bitAt),
  // It sets MODE.VSKIP, which has vector instructions skipped (CDNA2 ISA 3.5).
  row('SOPC', 's_setvskip', { gfx9: 0x10 }, 'ssrc0:b32 ssrc1:b32', undefined, { touches: { writesState: ['mode'] } }),
  row('SOPC', 's_set_gpr_idx_on', 0x11, 'ssrc0:b32 ssrc1:imm8', indexOn, { spelled: { field: 'ssrc1', as: 'indexMode' } }),
  sopc('s_cmp_eq_u64', { gfx9: 0x12, gfx10: 0x12, gfx11: 0x10 }, 'ssrc0:u64 ssrc1:u64', (b, x, y) => b.eq(x, y)),
  sopc('s_cmp_lg_u64', { gfx9: 0x13, gfx10: 0x13, gfx11: 0x11 }, 'ssrc0:u64 ssrc1:u64', (b, x, y) => b.ne(x, y)),
];
