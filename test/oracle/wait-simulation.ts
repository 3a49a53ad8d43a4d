/**
 * Whether code waits for every register that an access in flight will write, on all ways through it, as the
 * effects of its instructions say.
 */
import type { Effects, RegisterRange, WaitCounter } from '../../src/ir/effects.ts';
import { effectsOf } from '../../src/isa/amdgpu/effects/effects.ts';
import type { Decoder } from '../../src/isa/amdgpu/encoding/decode.ts';
import type { Instruction } from '../../src/isa/amdgpu/encoding/instruction.ts';

export interface Place {
  readonly instruction: Instruction;
  readonly effects: Effects;
  /** Numbers of the places that it may be followed by. */
  readonly next: readonly number[];
}

/** The instructions of a function; what is behind a jump or a call is not followed. */
export function placesOf(code: DataView, decoder: Decoder): Place[] {
  const instructions: { readonly instruction: Instruction; readonly end: number }[] = [];
  const numbers = new Map<number, number>();
  for (let offset = 0; offset < code.byteLength; ) {
    const instruction = decoder.decode(code, offset);
    if (typeof instruction === 'string') break;
    numbers.set(offset, instructions.length);
    offset += instruction.sizeBytes;
    instructions.push({ instruction, end: offset });
  }
  return instructions.map(({ instruction, end }, number) => {
    const { terminator } = instruction.row.flags;
    const behind = number + 1 < instructions.length ? [number + 1] : [];
    const label = instruction.row.operands.findIndex(({ type }) => type === 'label');
    const target = label < 0 ? undefined : numbers.get(end + instruction.immediate(instruction.row.operands[label]!));
    const isCall = terminator === 'jump' && instruction.row.operands.some(({ access }) => access === 'write');
    const falls = terminator === undefined || terminator === 'conditional' || isCall;
    const next = [...(falls ? behind : []), ...(target === undefined ? [] : [target])];
    return { instruction, effects: effectsOf(instruction), next };
  });
}

/** Of accesses that are done in the order of their start. SMEM's never are; up to gfx9 FLAT's are not. */
function kindOf({ format, families }: Instruction): string {
  if (format.name === 'FLAT' && families.includes('gfx9')) return 'unordered flat';
  if (format.name === 'SMEM') return 'unordered scalar';
  if (format.name === 'DS' || format.name === 'VSAMPLE' || format.name.startsWith('SOP')) return format.name;
  return 'vector memory';
}

const keyOf = (file: string, register: number): string => `${file} ${register}`;

function* registersOf(ranges: readonly RegisterRange[]): Generator<string> {
  for (const { file, first, dwords } of ranges)
    for (let register = first; register < first + dwords; register++) yield keyOf(file, register);
}

/** What is in flight. */
class InFlight {
  /**
   * For each register the counters to wait for, with how many accesses were started behind that which writes
   * it, at least.
   */
  readonly registers = new Map<string, Map<WaitCounter, number>>();
  readonly kinds = new Map<WaitCounter, Set<string>>();

  clone(): InFlight {
    const copy = new InFlight();
    copy.meet(this);
    return copy;
  }

  /** Returns whether `other` adds something. */
  meet(other: InFlight): boolean {
    let changed = false;
    for (const [register, ages] of other.registers) {
      const own = this.registers.get(register) ?? new Map<WaitCounter, number>();
      this.registers.set(register, own);
      for (const [counter, age] of ages) {
        if (age >= (own.get(counter) ?? Number.POSITIVE_INFINITY)) continue;
        own.set(counter, age);
        changed = true;
      }
    }
    for (const [counter, kinds] of other.kinds) {
      const own = this.kinds.get(counter) ?? new Set<string>();
      this.kinds.set(counter, own);
      for (const kind of kinds) {
        changed ||= !own.has(kind);
        own.add(kind);
      }
    }
    return changed;
  }

  isOrdered(counter: WaitCounter): boolean {
    const kinds = [...(this.kinds.get(counter) ?? [])];
    return kinds.length === 1 && !kinds[0]!.startsWith('unordered');
  }

  wait(counter: WaitCounter, left: number): void {
    if (left > 0 && !this.isOrdered(counter)) return;
    for (const [register, ages] of this.registers) {
      if ((ages.get(counter) ?? -1) >= left) ages.delete(counter);
      if (ages.size === 0) this.registers.delete(register);
    }
    if (left === 0) this.kinds.delete(counter);
  }

  start(instruction: Instruction, { counters, writes }: Effects): void {
    for (const counter of counters) {
      for (const ages of this.registers.values()) {
        const age = ages.get(counter);
        // No count is higher: beyond it ages need not be told apart.
        if (age !== undefined) ages.set(counter, Math.min(age + 1, 64));
      }
      this.kinds.set(counter, (this.kinds.get(counter) ?? new Set()).add(kindOf(instruction)));
    }
    if (counters.size === 0) return;
    for (const register of registersOf(writes)) {
      this.registers.set(register, new Map([...counters].map((counter) => [counter, 0])));
    }
  }
}

/** A register that is used before it is there, in words; a place whose number is `without` does not wait. */
export function unsafeUse(places: readonly Place[], without?: number): string | undefined {
  const entries = new Map([[0, new InFlight()]]);
  const pending = [0];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const state = entries.get(at)!.clone();
    const { instruction, effects, next } = places[at]!;
    if (at !== without) for (const [counter, left] of effects.waits) state.wait(counter, left);
    // Accesses that are done in the order of their start may write a register one after the other, each a
    // part of it.
    const isInOrder = (register: string): boolean =>
      [...state.registers.get(register)!.keys()].every(
        (counter) => effects.counters.has(counter) && state.isOrdered(counter),
      );
    const written = new Set(registersOf(effects.writes));
    for (const register of new Set([...registersOf(effects.reads), ...written])) {
      if (!state.registers.has(register) || (written.has(register) && isInOrder(register))) continue;
      return `${instruction.name} at ${at} uses ${register} too early`;
    }
    // A callee waits for everything before it begins.
    const after = instruction.row.flags.terminator === 'jump' ? new InFlight() : state;
    after.start(instruction, effects);
    for (const successor of next) {
      const known = entries.get(successor);
      if (known ? !known.meet(after) : !entries.set(successor, after.clone())) continue;
      pending.push(successor);
    }
  }
  return undefined;
}
