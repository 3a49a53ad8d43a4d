/** Whether the operands of an encoding exist: reserved numbers and registers behind the last one are no instruction. */
import { SRC_LITERAL } from './formats.ts';
import type { Instruction } from './instruction.ts';
import { scalarText } from './registers.ts';

const VGPR_COUNT = 256;

/** Sources that must be addresses in registers (CDNA2 ISA 12.3). */
const WITHOUT_LITERAL = /^s_(setpc_b64|rfe_b64|movrels_b(32|64)|cbranch_join)$/;

export function hasValidOperands(instruction: Instruction): boolean {
  const { row, literal } = instruction;
  if (literal !== undefined && WITHOUT_LITERAL.test(row.name)) return false;
  return row.operands.every((_, index) => instruction.access(index) === undefined || isValid(instruction, index));
}

function isValid(instruction: Instruction, index: number): boolean {
  const operand = instruction.operand(index);
  switch (operand.kind) {
    case 'vector':
      return operand.register + instruction.dwords(index) <= VGPR_COUNT;
    case 'scalar':
    case 'special': {
      const encoded = instruction.encoded(index);
      if (encoded === instruction.scalars.m0 && instruction.dwords(index) > 1) return false;
      if (encoded === SRC_LITERAL) return false;
      return scalarText(encoded, instruction.dwords(index), instruction.scalars) !== undefined;
    }
    case 'constant':
    case 'null':
    case 'off':
      return true;
  }
}
