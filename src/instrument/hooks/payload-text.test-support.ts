/** Payload code as text, with names in place of the registers that an allocator chooses. */
import { formatInstruction } from '../../isa/amdgpu/text/disassemble.ts';
import type { MachineItem } from '../machine/machine-code.ts';

/** `%3.1` is dword 1 of register 3; an exclamation mark: it has values in lanes that are off, too. */
export function payloadText(items: readonly MachineItem[]): string[] {
  return items.map((item) => {
    if (item.kind === 'label') return `${item.label.name}:`;
    const { template, registers, literal, target } = item;
    const [name, ...operands] = formatInstruction(template).split(/ (?=[^ ])/);
    const places = [...registers.entries()].map(([index, { register, firstDword }]) => {
      const wide = register.writesOtherLanes ? '!' : '';
      return `${template.row.operands[index]!.field}=${register.file[0]}${register.id}${wide}.${firstDword}`;
    });
    const value =
      literal === undefined
        ? ''
        : typeof literal === 'number'
          ? `${literal}`
          : 'symbol' in literal
            ? `${literal.half}(${literal.symbol}+${literal.addend})`
            : `literal ${literal.pointLiteral}`;
    const rest = registers.size === 0 && literal === undefined && !target ? operands.join(' ') : '';
    return [name, rest, ...places, value, target && `-> ${target.name}`].filter(Boolean).join(' ');
  });
}
