/** A code object as a tool sees it: what is selected of it, and where the tool's hooks go. */
import { assert } from '../../base/errors.ts';
import type { PointHook } from './hook.ts';
import type { Insertions } from './insertions.ts';
import { contains, type Interval } from './options.ts';
import {
  firstOf,
  instructionsOf,
  lastOf,
  type ToolBlock,
  type ToolFunction,
  type ToolInstruction,
} from './tool-function.ts';
import { COUNTER_BYTES, type Counters, type ToolVariable } from './variables.ts';

const BUFFER_ALIGNMENT_BYTES = 64;

export interface ToolSelection {
  /** Functions whose code the tool is shown, with all that they call. */
  readonly functions: readonly ToolFunction[];
  /** Of each function, by position. */
  readonly instructions: Interval;
}

export class ToolCode {
  readonly processor: string;
  /** Functions that are selected, in the order of addresses. */
  readonly functions: readonly ToolFunction[];
  /** Instructions of these functions that are selected. */
  readonly instructions: readonly ToolInstruction[];
  readonly #insertions: Insertions;
  readonly #prefix: string;
  readonly #variables: ToolVariable[] = [];

  /** `prefix`: what names of the tool's symbols begin with. */
  constructor(processor: string, selection: ToolSelection, insertions: Insertions, prefix: string) {
    this.processor = processor;
    this.functions = selection.functions;
    this.instructions = instructionsOf(selection.functions).filter(({ index }) =>
      contains(selection.instructions, index),
    );
    this.#insertions = insertions;
    this.#prefix = prefix;
  }

  get kernels(): readonly ToolFunction[] {
    return this.functions.filter(({ isKernel }) => isKernel);
  }

  get blocks(): readonly ToolBlock[] {
    return this.functions.flatMap(({ blocks }) => blocks);
  }

  get variables(): readonly ToolVariable[] {
    return this.#variables;
  }

  /** Counters of 64 bits, 0 when the code is loaded. */
  counters(name: string, length: number): Counters {
    return { ...this.#variable(name, length * COUNTER_BYTES, COUNTER_BYTES), length };
  }

  /** Memory, zeros when the code is loaded. */
  buffer(name: string, sizeBytes: number): ToolVariable {
    return this.#variable(name, sizeBytes, BUFFER_ALIGNMENT_BYTES);
  }

  /** Memory that holds `bytes` when the code is loaded. */
  memory(name: string, bytes: Uint8Array, alignmentBytes: number): ToolVariable {
    const variable = { ...this.#variable(name, bytes.length, alignmentBytes), bytes };
    this.#variables[this.#variables.length - 1] = variable;
    return variable;
  }

  /** Before an instruction, however control comes there. */
  before({ address }: ToolInstruction, hook: PointHook): void {
    this.#insertions.insert('before', address, hook);
  }

  /** After an instruction, when control goes on with the next one: of a branch, when it is not taken. */
  after({ address }: ToolInstruction, hook: PointHook): void {
    this.#insertions.insert('after', address, hook);
  }

  /** On the way from a branch to its target. */
  whenTaken({ address, step }: ToolInstruction, hook: PointHook): void {
    assert(step.target !== undefined && step.control !== 'call', () => `'${step.text()}' is a direct branch`);
    this.#insertions.insert('taken', address, hook);
  }

  atBlockEntry(block: ToolBlock, hook: PointHook): void {
    this.before(firstOf(block), hook);
  }

  /**
   * When a function is called, or a kernel launched; a branch back to its first instruction does not count.
   */
  atEntry({ blocks, address }: ToolFunction, hook: PointHook): void {
    assert(blocks.length > 0, () => `a function without code at ${address}`);
    this.#insertions.insert('entry', address, hook);
  }

  /**
   * Before each instruction that ends a kernel or returns from a function. On targets that give registers
   * back with a message before, it stands before that message.
   */
  atExit({ blocks }: ToolFunction, hook: PointHook): void {
    for (const block of blocks) {
      const { control } = lastOf(block).step;
      if (control === 'end') this.before(endOf(block), hook);
      else if (control === 'return') this.before(lastOf(block), hook);
    }
  }

  /** On an edge between blocks of a function. */
  onEdge(from: ToolBlock, to: ToolBlock, hook: PointHook): void {
    if (from.target === to) this.whenTaken(lastOf(from), hook);
    if (from.next === to) this.after(lastOf(from), hook);
  }

  /** Takes an instruction out; its hooks stay. */
  remove({ address }: ToolInstruction): void {
    this.#insertions.replace(address, { kind: 'removed' });
  }

  /** Puts what `hook` writes in the place of an instruction. */
  replace({ address }: ToolInstruction, hook: PointHook): void {
    this.#insertions.replace(address, { kind: 'replaced', hook });
  }

  #variable(name: string, sizeBytes: number, alignmentBytes: number): ToolVariable {
    const variable = { symbol: `${this.#prefix}${name}`, sizeBytes, alignmentBytes };
    assert(!this.#variables.some(({ symbol }) => symbol === variable.symbol), () => `${name} is declared once`);
    this.#variables.push(variable);
    return variable;
  }
}

/** Where a kernel's end begins: with the message that gives registers back, where there is one. */
function endOf({ instructions }: ToolBlock): ToolInstruction {
  const message = instructions.at(-2);
  return message?.step.instruction.row.flags.message ? message : instructions.at(-1)!;
}
