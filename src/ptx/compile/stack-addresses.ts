/**
 * Registers that point to variables of the lane by what the function itself computes. Without optimisation
 * compilers reach all that is on the stack through generic addresses; accesses through such a register are
 * accesses of local memory, at a known place of the frame.
 */
import { PLACES } from '../machine/places.ts';
import { formInSpace } from '../rows/table.ts';
import { constant, eachWritten, type FunctionRegister, type Lir, type LirOperand } from './lir.ts';
import type { SelectedBlock } from './uniform.ts';

/** The first that is known of a register. */
const ADDRESS = 'address.u64';

/** A place of the frame; `isGeneric`: in generic addresses, else in those of local memory. */
interface StackAddress {
  readonly offset: bigint;
  readonly isGeneric: boolean;
}

/** The same code, with what is known to be on the stack accessed there. */
export function withStackAccesses(blocks: readonly SelectedBlock[]): readonly SelectedBlock[] {
  const begins = ({ form: { opcode } }: Lir): boolean => opcode === ADDRESS;
  if (!blocks.some(({ code }) => code.some(begins))) return blocks;
  const lines = blocks.flatMap(({ code }) => code);
  const addresses = stackAddresses(lines);
  if (addresses.size === 0) return blocks;
  return blocks.map((block) => ({ ...block, code: block.code.map((line) => onStack(line, addresses)) }));
}

/** Of registers that one instruction writes, whatever happens, by their numbers. */
function stackAddresses(lines: readonly Lir[]): ReadonlyMap<number, StackAddress> {
  const writers = new Map<number, number>();
  const written = ({ id }: FunctionRegister): unknown => writers.set(id, (writers.get(id) ?? 0) + 1);
  for (const line of lines) eachWritten(line, written);
  const found = new Map<number, StackAddress>();
  for (const line of lines) {
    const [to] = line.operands;
    if (line.guard || to?.kind !== 'virtual' || writers.get(to.id) !== 1) continue;
    const address = addressOf(line, (operand) => (operand.kind === 'virtual' ? found.get(operand.id) : undefined));
    if (address) found.set(to.id, address);
  }
  return found;
}

type Known = (operand: LirOperand) => StackAddress | undefined;

/** What an instruction computes, where that is the address of a place of the frame. */
function addressOf({ form: { opcode }, operands }: Lir, known: Known): StackAddress | undefined {
  const [, a, b] = operands;
  switch (opcode) {
    case ADDRESS:
      return a === PLACES.frame && b?.kind === 'constant' ? { offset: b.value, isGeneric: false } : undefined;
    case 'cvta.local.u64':
      return converted(known(a!), true);
    case 'cvta.to.local.u64':
      return converted(known(a!), false);
    case 'mov.b64':
    case 'mov.u64':
    case 'mov.s64':
      return known(a!);
    case 'add.u64':
    case 'add.s64':
      return b!.kind === 'constant' ? moved(known(a!), b!.value) : undefined;
    default:
      return undefined;
  }
}

const converted = (from: StackAddress | undefined, isGeneric: boolean): StackAddress | undefined =>
  from && from.isGeneric !== isGeneric ? { ...from, isGeneric } : undefined;

const moved = (from: StackAddress | undefined, by: bigint): StackAddress | undefined =>
  from && { ...from, offset: BigInt.asUintN(64, from.offset + by) };

/** A load or store through a known address. */
function onStack(line: Lir, addresses: ReadonlyMap<number, StackAddress>): Lir {
  const { form, operands } = line;
  const { name, className } = form.row;
  if (className !== 'memory' || (name !== 'ld' && name !== 'st')) return line;
  const at = form.specs.findIndex(({ kind }) => kind === 'address');
  const [base, addend] = [operands[at], operands[at + 1]];
  const address = base?.kind === 'virtual' ? addresses.get(base.id) : undefined;
  if (!address || addend?.kind !== 'constant') return line;
  const isGeneric = form.modifiers['space'] === undefined;
  const local = isGeneric ? formInSpace(form.opcode, 'local') : form;
  if (local?.modifiers['space'] !== 'local' || isGeneric !== address.isGeneric) return line;
  return {
    ...line,
    form: local,
    operands: operands.with(at, PLACES.frame).with(at + 1, constant(address.offset + addend.value)),
  };
}
