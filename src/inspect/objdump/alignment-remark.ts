/** What LLVM 19 remarks on instructions whose scalar registers do not start where they should. */
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { scalarGroup } from '../../isa/amdgpu/encoding/registers.ts';

/** LLVM's comment on scalar register groups that start where no group can; empty when there are none. */
export function alignmentRemark(instruction: Instruction): string {
  let remark = '';
  const { operands } = instruction.row;
  for (let index = 0; index < operands.length; index++) {
    const { file } = operands[index]!;
    if (file !== 'scalar' && file !== 'any') continue;
    const dwords = instruction.dwords(index);
    if (dwords < 2 || instruction.operand(index).kind !== 'scalar') continue;
    const { first, count, name } = scalarGroup(instruction.encoded(index), instruction.scalars);
    if (count === 0 || first % (dwords === 2 ? 2 : 4) === 0) continue;
    remark += `Warning: ${name}_${dwords * 32}: scalar reg isn't aligned ${first}`;
  }
  return remark && ` ; ${remark}`;
}
