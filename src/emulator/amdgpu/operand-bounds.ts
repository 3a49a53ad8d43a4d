/** What generated code and the reference executor rely on, checked where a program meets its operands. */
import { assert } from '../../base/errors.ts';
import type { Program } from '../../ir/types.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { isImmediate } from '../../isa/amdgpu/rows/row.ts';
import { dppTableSlot } from '../../isa/amdgpu/semantics/instruction-builder.ts';
import { RECORD_NEW_MODE, RECORD_OPERAND_COUNT, RECORD_OPERANDS } from '../machine/layout.ts';

/** Dwords of a constant in a record. */
const CONSTANT_DWORDS = 2;

/** The record has room for all operands, and for the lane table behind them. */
export function assertRecordHolds(instruction: Instruction): void {
  const slots = dppTableSlot(instruction) + (instruction.hasDpp ? 1 : 0);
  assert(slots <= RECORD_OPERAND_COUNT, () => `${instruction.row.name} has too many operands for a record`);
}

/** What a record keeps about MODE stands behind the operands. */
function assertModeFits(instruction: Instruction): void {
  const end = RECORD_OPERANDS + dppTableSlot(instruction) * 8;
  assert(end <= RECORD_NEW_MODE, () => `${instruction.row.name} changes MODE and has few operands`);
}

/** The program reads and writes no register behind those that the decoder found to exist, and no constant beyond its record. */
export function assertWithinOperands({ values }: Program, instruction: Instruction): void {
  for (const { leaf } of values) {
    if (leaf.kind === 'setState' && leaf.slot === 'mode') assertModeFits(instruction);
    if (!('at' in leaf)) continue;
    const { operand, dword } = leaf.at;
    const { kind } = instruction.operand(operand);
    const isRegister = kind === 'vector' || kind === 'scalar';
    const isOne = isImmediate(instruction.row.operands[operand]!.type);
    const dwords = isRegister ? instruction.dwords(operand) : isOne ? 1 : CONSTANT_DWORDS;
    assert(dword < dwords, () => `${instruction.row.name} accesses dword ${dword} of operand ${operand}`);
  }
}
