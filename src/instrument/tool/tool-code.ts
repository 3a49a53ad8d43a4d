/** A code object as a tool sees it: what is selected of it, and where the tool's hooks go. */
import { AddressTable } from '../../base/address-table.ts';
import { assert } from '../../base/errors.ts';
import type { InsertedPoint } from '../../codeobject/inserted-tools.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import type { LaunchRegisters } from '../hooks/hook-point.ts';
import type { ScratchArea } from '../kernel/scratch-area.ts';
import { lineText } from './attribution.ts';
import type { Guard, HookMeaning, PointHook } from './hook.ts';
import type { Insertions, Side } from './insertions.ts';
import { contains, type Interval } from './options.ts';
import type { Residents } from './residents.ts';
import {
  endOf,
  firstOf,
  forEachInstruction,
  lastOf,
  loopsOf,
  type ToolBlock,
  type ToolFunction,
  type ToolInstruction,
  type ToolLoop,
} from './tool-function.ts';
import { COUNTER_BYTES, type Counters, type ToolVariable } from './variables.ts';

const BUFFER_ALIGNMENT_BYTES = 64;

/** Code and data with all distances as they are. */
export interface ToolImage {
  readonly bytes: Uint8Array;
  readonly alignmentBytes: number;
  readonly pointers: NonNullable<ToolVariable['pointers']>;
}

export interface ToolSelection {
  /** Functions whose code the tool is shown, with all that they call. */
  readonly functions: readonly ToolFunction[];
  /** Of each function, by position. */
  readonly instructions: Interval;
  /** What the kernels that run a function keep of their launch. */
  readonly launchOf: (lifted: LiftedFunction) => LaunchRegisters;
  /** Registers for counters, where the kernels that run a function leave some. */
  readonly residentsOf: (lifted: LiftedFunction) => Residents | undefined;
  /** Private memory that calls may have there, or why there is none. */
  readonly scratchOf: (lifted: LiftedFunction) => ScratchArea | string;
}

/** What says what a number is about, such as a hook. */
interface Meaningful {
  readonly meaning?: HookMeaning;
}

/** Places that numbers in one variable are about, column by column: code has many. */
interface DescribedPoints {
  readonly meanings: Meaningful[];
  readonly sides: Side[];
  readonly addresses: number[];
  readonly instructions: (ToolInstruction | undefined)[];
}

const NO_POINTS: DescribedPoints = { meanings: [], sides: [], addresses: [], instructions: [] };

export class ToolCode {
  readonly processor: string;
  /** Functions that are selected, in the order of addresses. */
  readonly functions: readonly ToolFunction[];
  /** Instructions of these functions that are selected. */
  readonly instructions: readonly ToolInstruction[];
  readonly #selection: ToolSelection;
  readonly #insertions: Insertions;
  readonly #prefix: string;
  readonly #variables: ToolVariable[] = [];
  /** By symbol of the variable. */
  readonly #points = new Map<string, DescribedPoints>();
  #instructionAt: AddressTable<ToolInstruction> | undefined;
  #guard: Guard | undefined;

  /** `prefix`: what names of the tool's symbols begin with. */
  constructor(processor: string, selection: ToolSelection, insertions: Insertions, prefix: string) {
    this.processor = processor;
    this.functions = selection.functions;
    const instructions: ToolInstruction[] = [];
    forEachInstruction(selection.functions, (instruction) => {
      if (contains(selection.instructions, instruction.index)) instructions.push(instruction);
    });
    this.instructions = instructions;
    this.#selection = selection;
    this.#insertions = insertions;
    this.#prefix = prefix;
  }

  /** Of the cache that all compute units share. */
  get cacheLineBytes(): number {
    return targetFor(this.processor).cacheLineBytes;
  }

  /** Where hooks of a function find what the kernels around it were launched with. */
  launchOf({ lifted }: ToolFunction): LaunchRegisters {
    return this.#selection.launchOf(lifted);
  }

  /**
   * Registers for counters in a function; undefined where it is not known that waves come to an end that is
   * seen, as behind pointers to functions.
   */
  residentsOf({ lifted }: ToolFunction): Residents | undefined {
    return this.#selection.residentsOf(lifted);
  }

  /** Private memory for calls in a function, or why there is none. */
  scratchOf({ lifted }: ToolFunction): ScratchArea | string {
    return this.#selection.scratchOf(lifted);
  }

  get kernels(): readonly ToolFunction[] {
    return this.functions.filter(({ isKernel }) => isKernel);
  }

  get blocks(): readonly ToolBlock[] {
    return this.functions.flatMap(({ blocks }) => blocks);
  }

  /** Natural loops, each behind the loops around it. */
  get loops(): readonly ToolLoop[] {
    return this.functions.flatMap(loopsOf);
  }

  get variables(): readonly ToolVariable[] {
    return this.#variables;
  }

  /** Counters of 64 bits, 0 when the code is loaded. */
  counters(name: string, length: number): Counters {
    const variable = { kind: 'counters', sizeBytes: length * COUNTER_BYTES, alignmentBytes: COUNTER_BYTES } as const;
    return { ...this.#variable(name, variable), length };
  }

  /** Memory, zeros when the code is loaded. */
  buffer(name: string, sizeBytes: number, parts: ToolVariable['parts'] = []): ToolVariable {
    return this.#variable(name, { kind: 'bytes', sizeBytes, alignmentBytes: BUFFER_ALIGNMENT_BYTES, parts });
  }

  /** As `buffer`, for a trace. */
  records(name: string, sizeBytes: number): ToolVariable {
    return this.#variable(name, { kind: 'records', sizeBytes, alignmentBytes: BUFFER_ALIGNMENT_BYTES });
  }

  /** Memory that holds `bytes` when the code is loaded. */
  memory(name: string, bytes: Uint8Array, alignmentBytes: number, parts: ToolVariable['parts'] = []): ToolVariable {
    return this.#variable(name, { kind: 'bytes', sizeBytes: bytes.length, alignmentBytes, bytes, parts });
  }

  /** What numbers in a variable are about, as far as hooks say so. */
  pointsOf({ symbol }: ToolVariable): readonly InsertedPoint[] {
    const { meanings, sides, addresses, instructions } = this.#points.get(symbol) ?? NO_POINTS;
    return meanings.map(({ meaning }, i) => {
      const { index, amount } = meaning!;
      const instruction = instructions[i];
      return {
        index: typeof index === 'number' ? index : index(),
        address: addresses[i]!,
        where: sides[i]!,
        amount,
        function: instruction?.block.function.name ?? '',
        line: instruction ? lineText(instruction) : '',
      };
    });
  }

  /** The code of hooks that are inserted from now on is made inside of `guard`, long after that. */
  guardHooks(guard: Guard): void {
    this.#guard = guard;
  }

  /** Before an instruction, however control comes there. */
  before(instruction: ToolInstruction, hook: PointHook): void {
    this.#insert('before', instruction, hook);
  }

  /** After an instruction, when control goes on with the next one: of a branch, when it is not taken. */
  after(instruction: ToolInstruction, hook: PointHook): void {
    this.#insert('after', instruction, hook);
  }

  /** On the way from a branch to its target. */
  whenTaken(instruction: ToolInstruction, hook: PointHook): void {
    const { step } = instruction;
    assert(step.target !== undefined && step.control !== 'call', () => `'${step.text()}' is a direct branch`);
    this.#insert('taken', instruction, hook);
  }

  atBlockEntry(block: ToolBlock, hook: PointHook): void {
    this.before(firstOf(block), hook);
  }

  /**
   * When a function is called, or a kernel launched; a branch back to its first instruction does not count.
   */
  atEntry({ blocks, address }: ToolFunction, hook: PointHook): void {
    assert(blocks.length > 0, () => `a function without code at ${address}`);
    this.#guardHook(hook);
    this.#insertions.insert('entry', address, hook);
    if (hook.meaning && hook.refusal === undefined) this.describe(hook.meaning, 'entry', address);
  }

  /**
   * Before each instruction that ends a kernel or returns from a function. On targets that give registers
   * back with a message before, it stands before that message.
   */
  atExit(exited: ToolFunction, hook: PointHook): void {
    for (const block of exited.blocks) {
      if (lastOf(block).step.control === 'end') this.before(endOf(block), hook);
      else if (returnsFrom(exited, lastOf(block))) this.before(lastOf(block), hook);
    }
  }

  /** On an edge between blocks of a function. */
  onEdge(from: ToolBlock, to: ToolBlock, hook: PointHook): void {
    if (from.target === to) this.whenTaken(lastOf(from), hook);
    if (from.next === to) this.after(lastOf(from), hook);
  }

  /** On each way from inside of a loop back to its first block: once less than the loop goes round. */
  atBackEdges({ header, latches }: ToolLoop, hook: PointHook): void {
    for (const latch of latches) this.onEdge(latch, header, hook);
  }

  /**
   * Takes an instruction out; its hooks stay, and its results are what their registers held before. It is
   * refused, and the instruction stays, for branches, waits, accesses to memory, and what sets SCC, VCC, EXEC
   * or M0 for others.
   */
  remove({ address }: ToolInstruction): void {
    this.#insertions.replace(address, { kind: 'removed' });
  }

  /** Puts what `hook` writes in the place of an instruction; refused as `remove` is, and as hooks are. */
  replace({ address }: ToolInstruction, hook: PointHook): void {
    this.#guardHook(hook);
    this.#insertions.replace(address, { kind: 'replaced', hook });
  }

  /** Code and data as one piece, with pointers that a loader fills in. */
  image(name: string, { bytes, alignmentBytes, pointers }: ToolImage, parts: ToolVariable['parts'] = []): ToolVariable {
    const own = { bytes, alignmentBytes, pointers, parts, sizeBytes: bytes.length };
    return this.#variable(name, { kind: 'bytes', isExecutable: true, ...own });
  }

  #guardHook(hook: PointHook): void {
    if (this.#guard) this.#insertions.guard(hook, this.#guard);
  }

  #insert(side: Side, instruction: ToolInstruction, hook: PointHook): void {
    const { address } = instruction;
    this.#guardHook(hook);
    this.#insertions.insert(side, address, hook);
    if (hook.refusal === undefined) this.#describe(hook, side, address, instruction);
  }

  /** Says what a number in a variable of the tool is about, where no hook does. */
  describe(meaning: HookMeaning, side: Side, address: number): void {
    this.#instructionAt ??= this.#byAddress();
    this.#describe({ meaning }, side, address, this.#instructionAt.get(address));
  }

  #byAddress(): AddressTable<ToolInstruction> {
    const table = new AddressTable<ToolInstruction>();
    forEachInstruction(this.functions, (instruction) => table.set(instruction.address, instruction));
    return table;
  }

  #describe(point: Meaningful, side: Side, address: number, instruction: ToolInstruction | undefined): void {
    const symbol = point.meaning?.symbol;
    if (symbol === undefined) return;
    let points = this.#points.get(symbol);
    if (!points) {
      points = { meanings: [], sides: [], addresses: [], instructions: [] };
      this.#points.set(symbol, points);
    }
    points.meanings.push(point);
    points.sides.push(side);
    points.addresses.push(address);
    points.instructions.push(instruction);
  }

  #variable(name: string, made: Omit<ToolVariable, 'name' | 'symbol'>): ToolVariable {
    const variable = { name, symbol: `${this.#prefix}${name}`, ...made };
    assert(!this.#variables.some(({ symbol }) => symbol === variable.symbol), () => `${name} is declared once`);
    this.#variables.push(variable);
    return variable;
  }
}

/** Whether an instruction goes where callers left the address, be it in registers of their own. */
function returnsFrom({ lifted }: ToolFunction, { step, address }: ToolInstruction): boolean {
  if (step.control !== 'jump' && step.control !== 'return') return false;
  // Plain returns are no sites.
  const site = lifted.sites.find(({ step: { offset } }) => offset === address);
  return site === undefined || site.kind === 'return';
}
