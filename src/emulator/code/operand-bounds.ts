/**
 * What generated code and the reference executor rely on, which check nothing themselves. Operands are looked
 * at when a record is filled, a program when its handler is made; what fails here is a defect of the front
 * end.
 */
import { assert } from '../../base/errors.ts';
import type { Step, StepOperand } from '../../ir/step.ts';
import type { Program } from '../../ir/types.ts';
import { RECORD_NEW_MODE, RECORD_OPERAND_COUNT, RECORD_OPERANDS } from '../machine/layout.ts';
import { fileSize } from '../machine/operand-places.ts';

/** Dwords of a constant in a record. */
const CONSTANT_DWORDS = 2;

/** The record has room for all operands, and their registers exist. */
export function assertRecordHolds(step: Pick<Step, 'operands' | 'text'>): void {
  const { operands } = step;
  assert(operands.length <= RECORD_OPERAND_COUNT, () => `${step.text()} has too many operands for a record`);
  // RECORD_COUNTS is there.
  const hasLast = operands[RECORD_OPERAND_COUNT - 1]?.kind === 'constant';
  assert(!hasLast, () => `${step.text()} has a constant as its last operand`);
  for (const operand of operands) {
    if (operand.kind !== 'register') continue;
    const { file, first, dwords } = operand;
    assert(first >= 0 && first + dwords <= fileSize(file), () => `${step.text()} names ${file} register ${first}`);
  }
}

/**
 * The program reads and writes no register behind those of its operands, and no constant beyond its record.
 */
export function assertWithinOperands({ values }: Program, step: Pick<Step, 'operands' | 'text'>): void {
  const { operands } = step;
  for (const { leaf } of values) {
    if (leaf.kind === 'laneTable') {
      assert(operands[leaf.operand]?.kind === 'laneTable', () => `${step.text()} has no lane table`);
    }
    if (leaf.kind === 'setState' && leaf.slot === 'mode') {
      // What a record keeps about MODE stands behind the operands.
      const end = RECORD_OPERANDS + operands.length * 8;
      assert(end <= RECORD_NEW_MODE, () => `${step.text()} changes MODE and has few operands`);
    }
    if (!('at' in leaf)) continue;
    const { operand, dword } = leaf.at;
    assert(dword < dwordsOf(operands[operand]), () => `${step.text()} accesses dword ${dword} of operand ${operand}`);
  }
}

function dwordsOf(operand: StepOperand | undefined): number {
  if (operand?.kind === 'register') return operand.dwords;
  return operand?.kind === 'constant' ? CONSTANT_DWORDS : 0;
}
