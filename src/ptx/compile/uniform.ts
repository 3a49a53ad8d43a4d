/**
 * Which registers of a kernel hold the same in all lanes whenever a lane reads them: these get places in
 * scalars, so that branches on them move the whole wave. A register is one of them when each of its
 * instructions computes it from what is the same for all lanes, where all lanes are together.
 */
import { postDominators } from '../../flow/dominators.ts';
import { graphOf } from '../../flow/graph.ts';
import type { RegisterOperand, StepOperand } from '../../ir/step.ts';
import type { Value } from '../../ir/types.ts';
import { OWN_SCALARS } from '../machine/places.ts';
import { PtxBuilder } from '../rows/builder.ts';
import type { Form } from '../rows/row.ts';
import { type FunctionRegister, type Lir, type LirOperand, lir, registersOf } from './lir.ts';

/** A block with the instructions of the machine, before it is known how waves go on. */
export interface SelectedBlock {
  readonly code: readonly Lir[];
  readonly successors: readonly number[];
  /** The predicate of its branch. */
  readonly condition: FunctionRegister | undefined;
}

export type ScalarPlaces = ReadonlyMap<number, RegisterOperand>;

const NONE: ScalarPlaces = new Map();

/** Places in scalars, by numbers of registers. */
export function uniformRegisters(blocks: readonly SelectedBlock[], givesWay: boolean): ScalarPlaces {
  const analysis = new UniformAnalysis(blocks);
  for (;;) {
    analysis.solve();
    if (!analysis.staysTogether(givesWay)) return NONE;
    const registers = analysis.registers();
    const { places, rest } = placed(registers);
    if (rest.length === 0) return places;
    // What has no place is none of them, and what is computed of it neither.
    for (const { id } of rest) analysis.giveUp(id);
  }
}

/** Those that are used most first; of 64 bits at even numbers. */
function placed(registers: readonly FunctionRegister[]): { places: ScalarPlaces; rest: FunctionRegister[] } {
  const places = new Map<number, RegisterOperand>();
  const rest: FunctionRegister[] = [];
  let { first } = OWN_SCALARS;
  for (const register of [...registers].sort((a, b) => b.dwords - a.dwords)) {
    const { id, dwords } = register;
    if (first + dwords > OWN_SCALARS.end) rest.push(register);
    else places.set(id, { kind: 'register', file: 'scalar', first, dwords, isHighHalf: false });
    first += dwords;
  }
  return { places, rest };
}

class UniformAnalysis {
  readonly #blocks: readonly SelectedBlock[];
  readonly #varying = new Set<number>();
  /** Blocks in which only some lanes may be. */
  readonly #parted: Uint8Array;
  /** Of these: behind which block all lanes are together, as far as it is known; -1 for the end. */
  readonly #until: Int32Array;
  readonly #isSplit: Uint8Array;
  readonly #nextMeeting: (block: number) => number | undefined;
  /** Whether all ways from the second block lead through the first one. */
  readonly #isBehind: (block: number, other: number) => boolean;

  constructor(blocks: readonly SelectedBlock[]) {
    this.#blocks = blocks;
    this.#parted = new Uint8Array(blocks.length);
    this.#until = new Int32Array(blocks.length);
    this.#isSplit = new Uint8Array(blocks.length);
    const numbers = [...blocks.keys()];
    const dominators = postDominators(graphOf(numbers, [0], (block) => blocks[block]!.successors));
    this.#nextMeeting = (block) => dominators.immediate(block);
    this.#isBehind = (block, other) => dominators.dominates(block, other);
    const isWritten = new Set<number>();
    for (const line of blocks.flatMap(({ code }) => code)) {
      if (line.guard) this.#varying.add(line.guard.register.id);
      // Lanes that wait read them again when they go on.
      for (const each of line.aside?.park.operands ?? []) if (each.kind === 'virtual') this.#varying.add(each.id);
      for (const { id } of registersOf(line).writes) isWritten.add(id);
    }
    // What nothing writes has no place in scalars, and so nothing that is computed of it has one.
    const read = blocks.flatMap(({ code, condition }) => [
      ...code.flatMap((line) => [...registersOf(line).reads]),
      ...(condition === undefined ? [] : [condition]),
    ]);
    for (const { id } of read) if (!isWritten.has(id)) this.#varying.add(id);
  }

  giveUp(id: number): void {
    this.#varying.add(id);
  }

  solve(): void {
    for (let hasChanged = true; hasChanged; ) {
      hasChanged = false;
      this.#blocks.forEach(({ code, condition, successors }, block) => {
        for (const line of code) {
          for (const { id } of registersOf(line).writes) {
            if (this.#varying.has(id) || (!this.#parted[block] && this.#isUniform(line))) continue;
            this.#varying.add(id);
            hasChanged = true;
          }
        }
        const splits = successors.length > 1 && (condition === undefined || this.#varying.has(condition.id));
        if (!splits || this.#isSplit[block]) return;
        this.#isSplit[block] = 1;
        this.#part(block);
        hasChanged = true;
      });
    }
  }

  /**
   * Whether lanes that part meet where their ways join, whatever they do in between: where they give way, or
   * meet elsewhere, they take turns.
   */
  staysTogether(givesWay: boolean): boolean {
    if (givesWay && this.#parted.includes(1)) return false;
    return this.#blocks.every(({ code }, block) => !this.#parted[block] || code.every(({ aside }) => !aside));
  }

  registers(): readonly FunctionRegister[] {
    const uses = new Map<number, { readonly register: FunctionRegister; count: number }>();
    for (const { code } of this.#blocks) {
      for (const line of code) {
        const { reads, writes } = registersOf(line);
        for (const register of [...reads, ...writes]) {
          const known = uses.get(register.id) ?? { register, count: 0 };
          known.count++;
          uses.set(register.id, known);
        }
      }
    }
    const found = [...uses.values()].filter(({ register }) => !this.#varying.has(register.id));
    return found.sort((a, b) => b.count - a.count).map(({ register }) => register);
  }

  /** Lanes go both ways from a block: they are not together before these ways meet. */
  #part(block: number): void {
    const meeting = this.#nextMeeting(block);
    const { successors } = this.#blocks[block]!;
    // Lanes that end there read nothing any more.
    if (successors.some((next) => this.#isEnd(next))) return;
    const work = [...successors];
    for (let next = work.pop(); next !== undefined; next = work.pop()) {
      if (next === meeting) continue;
      if (!this.#parted[next]) {
        work.push(...this.#blocks[next]!.successors);
        this.#parted[next] = 1;
      } else {
        // What lies before the place where an earlier walk ended is done.
        const until = this.#until[next]!;
        if (until < 0 || until === meeting || (meeting !== undefined && this.#isBehind(until, meeting))) continue;
        work.push(until);
      }
      this.#until[next] = meeting ?? -1;
    }
  }

  #isEnd(block: number): boolean {
    const { code, successors } = this.#blocks[block]!;
    return code.length === 0 && successors.length === 0;
  }

  #isUniform(line: Lir): boolean {
    const { form, operands, guard } = line;
    if (guard || !takesScalars(form)) return false;
    if (operands.some((operand) => operand.kind === 'virtual' && this.#varying.has(operand.id))) return false;
    return computesScalars(form, operands);
  }
}

const SCALAR_CLASSES: ReadonlySet<string> = new Set(['integer', 'convert', 'move', 'memory']);

/** Whether operands of an instruction may be scalars; others have to be copied. */
export const takesScalars = ({ row }: Form): boolean => row.isOfWave || SCALAR_CLASSES.has(row.className);

const known = new Map<string, boolean>();

/** Whether an instruction whose registers are scalars gives scalars, and does nothing else. */
function computesScalars(form: Form, operands: readonly LirOperand[]): boolean {
  const steps = operands.map((operand): StepOperand => {
    if (operand.kind === 'register' || operand.kind === 'constant') return operand;
    if (operand.kind !== 'virtual') return { kind: 'constant', value: 0n };
    return { kind: 'register', file: 'scalar', first: OWN_SCALARS.first, dwords: operand.dwords, isHighHalf: false };
  });
  const key = `${form.opcode} ${steps.map((step) => (step.kind === 'register' ? `${step.file} ${step.dwords}` : step.kind)).join(' ')}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const builder = new PtxBuilder(
    { opcode: form.opcode, modifiers: form.modifiers, specs: form.row.operands },
    steps,
    'none',
  );
  form.row.build(builder);
  const result = builder.finish().values.every(isOfWave);
  known.set(key, result);
  return result;
}

const PURE: ReadonlySet<string> = new Set(['pure', 'const', 'operand', 'setOperand', 'load', 'loaded']);

const isOfWave = ({ lane, leaf }: Value): boolean => !lane && PURE.has(leaf.kind);

/** Instructions whose registers are where they belong; those that take no scalars get copies. */
export function withScalars(
  code: readonly Lir[],
  places: ScalarPlaces,
  temporary: (dwords: 1 | 2) => FunctionRegister,
): readonly Lir[] {
  if (places.size === 0) return code;
  return code.flatMap((line) => {
    const copies: Lir[] = [];
    const { specs } = line.form;
    const operands = line.operands.map((operand, index) => {
      const place = operand.kind === 'virtual' ? places.get(operand.id) : undefined;
      if (!place || operand.kind !== 'virtual') return operand;
      if (takesScalars(line.form)) return place;
      const copy = temporary(operand.dwords);
      if (specs[index]!.kind === 'write') return copy;
      copies.push(lir(`mov.b${32 * operand.dwords}`, [copy, place], line.offset));
      return copy;
    });
    return [...copies, { ...line, operands }];
  });
}
