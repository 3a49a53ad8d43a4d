/** What LLVM 19 says of operands that no compiler writes: bytes that are data, decoded with --disassemble-all. */
import type { Instruction } from '../isa/amdgpu/instruction.ts';
import { scalarText } from '../isa/amdgpu/registers.ts';

const FIRST_TTMP = 108;
const LAST_TTMP = 123;

/** Whether a scalar operand has a number that names nothing: LLVM then sees no instruction. */
export function hasUnnamedOperand(instruction: Instruction): boolean {
  return instruction.row.operands.some((_, index) => {
    const { kind } = instruction.operand(index);
    if (kind !== 'scalar' && kind !== 'special') return false;
    return scalarText(instruction.encoded(index), instruction.dwords(index), instruction.scalars) === undefined;
  });
}

/** LLVM's comment on scalar register groups that start where no group can; empty when there are none. */
export function alignmentRemark(instruction: Instruction): string {
  let remark = '';
  instruction.row.operands.forEach((_, index) => {
    const dwords = instruction.dwords(index);
    if (dwords < 2 || instruction.operand(index).kind !== 'scalar') return;
    const encoded = instruction.encoded(index);
    const isTtmp = encoded >= FIRST_TTMP && encoded <= LAST_TTMP;
    if (!isTtmp && encoded >= instruction.scalars.sgprCount) return;
    const register = isTtmp ? encoded - FIRST_TTMP : encoded;
    if (register % (dwords === 2 ? 2 : 4) === 0) return;
    remark += `Warning: ${isTtmp ? 'TTMP' : 'SGPR'}_${dwords * 32}: scalar reg isn't aligned ${register}`;
  });
  return remark && ` ; ${remark}`;
}
