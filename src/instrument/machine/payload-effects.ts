/** What an instruction of a payload does to virtual registers, and to those of the application. */
import { assert } from '../../base/errors.ts';
import type { Effects, RegisterRange } from '../../ir/effects.ts';
import { effectsOf } from '../../isa/amdgpu/effects/effects.ts';
import { reencode } from '../../isa/amdgpu/encoding/encode.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import type { MachineInstruction, PhysicalRange, VirtualRegister } from './machine-code.ts';

export interface VirtualRange {
  readonly register: VirtualRegister;
  readonly firstDword: number;
  readonly dwords: number;
}

export interface PayloadEffects {
  readonly reads: readonly VirtualRange[];
  /** `isPartial`: what was there may still be needed. */
  readonly writes: readonly (VirtualRange & { readonly isPartial: boolean })[];
  /** Registers of the application, EXEC, VCC and M0 among them. */
  readonly readsPhysical: readonly PhysicalRange[];
  readonly writesPhysical: readonly PhysicalRange[];
  /** In the encoding with physical registers of its own choice: for all but registers. */
  readonly effects: Effects;
}

const GROUP = 4;

/** Where virtual registers stand while the effects of one instruction are looked up. */
interface Stand {
  readonly register: VirtualRegister;
  readonly first: number;
}

const overlaps = (a: RegisterRange, b: RegisterRange): boolean =>
  a.file === b.file && a.first < b.first + b.dwords && b.first < a.first + a.dwords;

const known = new WeakMap<MachineInstruction, PayloadEffects>();

export function payloadEffects(item: MachineInstruction): PayloadEffects {
  let effects = known.get(item);
  if (!effects) {
    effects = withCall(item, workedOut(item));
    known.set(item, effects);
  }
  return effects;
}

function withCall({ clobbers }: MachineInstruction, own: PayloadEffects): PayloadEffects {
  if (!clobbers) return own;
  const effects = { ...own.effects, writesState: new Set([...own.effects.writesState, 'scc' as const]) };
  return { ...own, writesPhysical: [...own.writesPhysical, ...clobbers], effects };
}

/** Of instructions by their dwords: payloads of all functions are made of few. */
const effectsByCode = new Map<string, Effects>();

function effectsOfCode(instruction: Instruction): Effects {
  const { code, literal, waveSize, target } = instruction;
  const key = `${target.processor} ${waveSize} ${code.join()} ${literal}`;
  let effects = effectsByCode.get(key);
  if (!effects) {
    effects = effectsOf(instruction);
    effectsByCode.set(key, effects);
  }
  return effects;
}

function workedOut(item: MachineInstruction): PayloadEffects {
  const { template, registers } = item;
  const physical = template.row.operands.flatMap((_, index): RegisterRange[] => {
    if (registers.has(index)) return [];
    const operand = template.operand(index);
    if (!('register' in operand)) return [];
    const file = operand.kind === 'scalar' ? 'scalar' : operand.accumulator ? 'accumulator' : 'vector';
    return [{ file, first: operand.register, dwords: template.dwords(index) }];
  });
  const stands: Stand[] = [];
  for (const { register } of registers.values()) {
    if (!stands.some((stand) => stand.register === register)) stands.push(standFor(register, stands, physical));
  }
  const firstOf = (register: VirtualRegister): number => stands.find((stand) => stand.register === register)!.first;
  const numbers = new Map(
    [...registers].map(([index, { register, firstDword }]) => [index, firstOf(register) + firstDword]),
  );
  const standing = reencode(template, numbers);
  assert(standing, () => `${template.name} takes any registers`);
  const effects = effectsOfCode(standing);
  const virtualOf = (range: RegisterRange): VirtualRange | undefined => {
    const stand = stands.find((each) => overlaps(range, rangeOf(each)));
    return stand && { register: stand.register, firstDword: range.first - stand.first, dwords: range.dwords };
  };
  return {
    reads: effects.reads.flatMap((range) => virtualOf(range) ?? []),
    writes: effects.writes.flatMap((range) => {
      const virtual = virtualOf(range);
      return virtual ? [{ ...virtual, isPartial: range.isPartial }] : [];
    }),
    readsPhysical: effects.reads.filter((range) => !virtualOf(range)),
    writesPhysical: effects.writes.filter((range) => !virtualOf(range)),
    effects,
  };
}

const rangeOf = ({ register: { file, dwords }, first }: Stand): RegisterRange => ({ file, first, dwords });

function standFor(register: VirtualRegister, stands: readonly Stand[], physical: readonly RegisterRange[]): Stand {
  const taken = [...stands.map(rangeOf), ...physical];
  let first = 0;
  while (taken.some((range) => overlaps(range, rangeOf({ register, first })))) first += GROUP;
  return { register, first };
}
