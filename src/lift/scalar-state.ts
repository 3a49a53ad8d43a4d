/**
 * Constants in the scalar registers of a wave: what the row's own meaning says of them, without running
 * anything.
 */
import type { RegisterFile } from '../ir/effects.ts';
import type { Evaluated } from '../ir/op.ts';
import { OPS, type OpName } from '../ir/ops.ts';
import type { Leaf, OperandDword, Program, StateSlot, Value } from '../ir/types.ts';
import type { Instruction, Operand } from '../isa/amdgpu/encoding/instruction.ts';
import { SGPR_EXEC_LO, SGPR_M0, SGPR_VCC_LO } from '../isa/amdgpu/encoding/registers.ts';
import type { Row } from '../isa/amdgpu/encoding/row.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import { isNoted, type NotedValues } from './noted-values.ts';

const REGISTERS = 128;

/** Above all values of 32 bits. */
const ENTRY_VALUES = 2 ** 40;

/**
 * Stands for what a scalar register held when the code was entered: it can be moved and kept, and nothing can
 * be computed of it.
 */
export const entryValue = (register: number): number => ENTRY_VALUES + register;

/** Of such values, and of those with a note, nothing can be computed as they are. */
const isOpaque = (value: Evaluated | undefined): boolean => typeof value === 'number' && value >= ENTRY_VALUES;

/** The register that held a value on entry; undefined for all other values. */
export const entryRegister = (value: number | undefined): number | undefined =>
  value !== undefined && value >= ENTRY_VALUES && !isNoted(value) ? value - ENTRY_VALUES : undefined;

/**
 * Scalar registers, numbered as operands, and SCC; `undefined` where the value is not known. Of vector
 * registers, dwords that are the same in all lanes that wrote them.
 */
export class ScalarState {
  readonly registers: (number | undefined)[];
  readonly vectors = new Map<number, number>();
  /** What single lanes of vector registers hold, by register, then lane: scalars that are spilled there. */
  readonly lanes = new Map<number, Map<number, number>>();
  scc: number | undefined;
  /** Without it a value is a number or not known at all. */
  readonly notes: NotedValues | undefined;

  constructor(
    registers: readonly (number | undefined)[] = new Array<undefined>(REGISTERS).fill(undefined),
    notes?: NotedValues,
  ) {
    this.registers = registers.slice();
    this.notes = notes;
  }

  clone(): ScalarState {
    const copy = new ScalarState(this.registers, this.notes);
    copy.scc = this.scc;
    for (const [register, value] of this.vectors) copy.vectors.set(register, value);
    for (const [register, values] of this.lanes) copy.lanes.set(register, new Map(values));
    return copy;
  }

  /** Keeps what holds for both; returns whether less is known than before. */
  meet(other: ScalarState): boolean {
    let changed = false;
    for (let i = 0; i < REGISTERS; i++) {
      const own = this.registers[i];
      if (own === undefined || own === other.registers[i]) continue;
      const both = this.notes?.either(own, other.registers[i]);
      if (both === own) continue;
      this.registers[i] = both;
      changed = true;
    }
    for (const [register, value] of this.vectors) {
      if (other.vectors.get(register) !== value) changed = this.vectors.delete(register);
    }
    for (const [register, values] of this.lanes) {
      const others = other.lanes.get(register);
      for (const [lane, value] of values) {
        const both = value === others?.get(lane) ? value : this.notes?.either(value, others?.get(lane));
        if (both === value) continue;
        if (both === undefined) values.delete(lane);
        else values.set(lane, both);
        changed = true;
      }
    }
    if (this.scc !== undefined && this.scc !== other.scc) {
      this.scc = undefined;
      changed = true;
    }
    return changed;
  }

  /** Undefined also for what the pair held on entry. */
  pair(register: number): bigint | undefined {
    const [low, high] = [this.registers[register], this.registers[register + 1]];
    if (isOpaque(low) || isOpaque(high)) return undefined;
    return low === undefined || high === undefined ? undefined : (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  }

  forget(first: number, end: number): void {
    this.registers.fill(undefined, first, end);
  }

  forgetFiles(files: ReadonlySet<RegisterFile>): void {
    if (files.has('scalar')) this.forget(0, REGISTERS);
    if (files.has('vector')) this.forgetVectors();
  }

  forgetVectors(): void {
    this.vectors.clear();
    this.lanes.clear();
  }

  forgetVector(register: number): void {
    this.vectors.delete(register);
    this.lanes.delete(register);
  }
}

export interface ScalarContext {
  /** Address of the instruction. */
  readonly pc: bigint;
  /** A dword of memory that never changes once the code runs; `undefined` for all other memory. */
  readConstant(address: bigint): number | undefined;
  /** The halves of a pointer to code that is read somewhere behind an address that the code has made. */
  readTable?(base: number): PointerHalves | undefined;
  /** Stands in place of all constants that the instruction names. */
  readonly constant?: number;
}

export type PointerHalves = readonly [low: number | undefined, high: number | undefined];

/** Where an instruction that jumps goes to, or whether one that branches does. */
export interface Jump {
  readonly target: bigint | undefined;
  readonly isTaken: boolean | undefined;
}

/**
 * What an instruction does besides reading and writing operands. Instructions of one row may differ: a field
 * names the register that s_setreg_b32 writes, and processors that share a row differ, too.
 */
interface Facts {
  /** Registers of the scalar file that are written without being named. */
  readonly implicitWrites: readonly number[];
  /** Single lanes of vector registers are read or written by number. */
  readonly namesLanes: boolean;
  /** The instruction gives its own address, and does not jump. */
  readonly makesOwnAddress: boolean;
}

const STATE_REGISTERS: Readonly<Partial<Record<StateSlot, readonly number[]>>> = {
  vcc: [SGPR_VCC_LO, SGPR_VCC_LO + 1],
  m0: [SGPR_M0],
  exec: [SGPR_EXEC_LO, SGPR_EXEC_LO + 1],
};

/** By what instructions do, which those of one key share; by row where that is not known. */
const known = new WeakMap<Program | Row, Facts>();

function factsOf({ instruction: { row }, meaning }: AmdgpuStep): Facts {
  let facts = known.get(meaning ?? row);
  if (!facts) {
    const leaves = (meaning?.values ?? []).map(({ leaf }) => leaf);
    const slots = new Set<StateSlot>([
      ...leaves.flatMap((leaf) => (leaf.kind === 'setState' ? [leaf.slot] : [])),
      ...(row.flags.writesExec ? (['exec'] as const) : []),
      ...(row.flags.touches?.writesState ?? []),
    ]);
    facts = {
      implicitWrites: [...slots].flatMap((slot) => STATE_REGISTERS[slot] ?? []),
      namesLanes: leaves.some(({ kind }) => kind === 'readLane' || kind === 'writeLane'),
      makesOwnAddress: leaves.some(({ kind }) => kind === 'nextPc') && !leaves.some(({ kind }) => kind === 'jump'),
    };
    known.set(meaning ?? row, facts);
  }
  return facts;
}

/** Whether single lanes of vector registers are read or written by number, as where scalars are spilled. */
export const namesLanes = (step: AmdgpuStep): boolean => factsOf(step).namesLanes;

export const makesOwnAddress = (step: AmdgpuStep): boolean => factsOf(step).makesOwnAddress;

/** What an instruction names. */
interface NamedOperands {
  readonly operands: readonly Operand[];
  readonly writtenScalars: readonly { readonly first: number; readonly end: number }[];
  /** Numbers of VGPRs. */
  readonly writtenVectors: readonly number[];
}

const named = new WeakMap<Instruction, NamedOperands>();

function namedBy(instruction: Instruction): NamedOperands {
  let found = named.get(instruction);
  if (!found) {
    const operands = [...instruction.row.operands.keys()].map((index) => instruction.operand(index));
    const written = [...operands.entries()].filter(([index]) => instruction.access(index)?.includes('write'));
    found = {
      operands,
      writtenScalars: written.flatMap(([index, operand]) => {
        if (operand.kind !== 'scalar') return [];
        return [{ first: operand.register, end: operand.register + instruction.dwords(index) }];
      }),
      writtenVectors: written.flatMap(([index, operand]) => {
        if (operand.kind !== 'vector' || operand.accumulator) return [];
        return Array.from({ length: instruction.dwords(index) }, (_, dword) => operand.register + dword);
      }),
    };
    named.set(instruction, found);
  }
  return found;
}

/** The VGPRs that operands say are written, by number. */
export const writtenVectors = (instruction: Instruction): readonly number[] => namedBy(instruction).writtenVectors;

/** Registers that `step` writes become unknown, and SCC where it may be written. */
export function forgetResults(step: AmdgpuStep, state: ScalarState): void {
  const { implicitWrites } = factsOf(step);
  // M0 chooses registers, or the operands of the row do not tell.
  const { writesAnyOf, writesState } = step.effects;
  const { writtenScalars, writtenVectors } = namedBy(step.instruction);
  if (!step.meaning || writesState.has('scc')) state.scc = undefined;
  for (const register of implicitWrites) state.registers[register] = undefined;
  if (writesAnyOf.size > 0) state.forgetFiles(writesAnyOf);
  for (const { first, end } of writtenScalars) state.forget(first, end);
  for (const register of writtenVectors) state.forgetVector(register);
}

/**
 * Carries out an instruction as far as its operands are known: of a scalar format, or one that does the same
 * in all lanes.
 */
export function evaluateUniform(step: AmdgpuStep, state: ScalarState, context: ScalarContext): Jump | undefined {
  const { instruction, meaning, effects } = step;
  if (!meaning || effects.writesAnyOf.size > 0) {
    forgetResults(step, state);
    return undefined;
  }
  return new Evaluation(instruction, state, context).run(meaning);
}

const compute = (op: OpName, values: readonly (Evaluated | undefined)[]): Evaluated => {
  const evaluate = OPS[op].evaluate as (...values: readonly Evaluated[]) => Evaluated;
  return evaluate(...(values as Evaluated[])); // reason: who calls knows them all
};

const numberOf = (value: Evaluated | undefined): number | undefined => (typeof value === 'number' ? value : undefined);

/** Operations that leave an address one behind the same base, by which arguments have to have it. */
const KEEPING_BASES: Partial<Record<OpName, 'one' | 'one, others known' | 'all'>> = {
  ...{ 'i32.add': 'one', 'i64.add': 'one', 'i64.zext32': 'one', 'i64.low': 'one', 'i64.high': 'one' },
  // Instructions ignore bits of addresses below an alignment.
  ...{ 'i64.and': 'one, others known', 'i64.pack': 'all' },
};

function baseOfResult(
  op: OpName,
  bases: readonly (number | undefined)[],
  values: readonly (Evaluated | undefined)[],
): number | undefined {
  const how = KEEPING_BASES[op];
  const [base, ...others] = bases.filter((each) => each !== undefined);
  if (how === undefined) return undefined;
  if (how === 'all') return bases.every((each) => each === base) ? base : undefined;
  const isAlone =
    others.length === 0 && bases.every((each, i) => each !== undefined || values[i] !== undefined || how === 'one');
  return isAlone ? base : undefined;
}

class Evaluation {
  readonly #instruction: Instruction;
  readonly #operands: readonly Operand[];
  readonly #state: ScalarState;
  readonly #context: ScalarContext;
  readonly #results: (Evaluated | undefined)[] = [];
  /** Few instructions have any of these. */
  #loads: Map<number, readonly (number | undefined)[]> | undefined;
  /** Of values with 64 bits whose halves cannot be one number. */
  #halves: Map<number, PointerHalves> | undefined;
  /** Of values with 64 bits that are addresses behind one that the code has made. */
  #bases: Map<number, number> | undefined;
  #jump: Jump | undefined;

  constructor(instruction: Instruction, state: ScalarState, context: ScalarContext) {
    this.#instruction = instruction;
    this.#operands = namedBy(instruction).operands;
    this.#state = state;
    this.#context = context;
  }

  run({ values }: Program): Jump | undefined {
    for (let i = 0; i < values.length; i++) this.#results[values[i]!.id] = this.#evaluate(values[i]!);
    return this.#jump;
  }

  #evaluate({ id, leaf, args, type }: Value): Evaluated | undefined {
    const state = this.#state;
    switch (leaf.kind) {
      case 'const':
        return type === 'i64' ? leaf.value : Number(leaf.value);
      case 'operand':
        return this.#read(leaf.at.operand, leaf.at.dword);
      case 'state':
        return leaf.slot === 'scc' ? state.scc : undefined;
      case 'pc':
        return this.#context.pc;
      case 'nextPc':
        return this.#context.pc + BigInt(this.#instruction.sizeBytes);
      case 'pure':
        return this.#pure(id, leaf.op, args, type === 'i64');
      case 'load': {
        const dwords = this.#load(args[0]!, leaf);
        this.#loads ??= new Map();
        this.#loads.set(id, dwords);
        return dwords[0];
      }
      case 'loaded':
        return this.#loads?.get(args[0]!.id)?.[leaf.index];
      case 'setOperand':
        this.#write(leaf.at.operand, leaf.at.dword, this.#resultOf(args[0]), args.length > 1);
        return undefined;
      case 'setState': {
        const value = this.#resultOf(args[0]);
        if (leaf.slot === 'scc') state.scc = value === undefined ? undefined : Number(value);
        else for (const register of STATE_REGISTERS[leaf.slot] ?? []) state.registers[register] = undefined;
        return undefined;
      }
      case 'readLane':
        return this.#lanesOf(leaf.at)?.get(Number(this.#resultOf(args[0])));
      case 'writeLane':
        this.#writeLane(leaf.at, this.#resultOf(args[0]), this.#resultOf(args[1]));
        return undefined;
      case 'jump':
        this.#jump = { target: this.#resultOf(args[0]) as bigint | undefined, isTaken: undefined };
        return undefined;
      case 'branch': {
        const value = this.#resultOf(args[0]);
        this.#jump = { target: undefined, isTaken: value === undefined ? undefined : Boolean(value) };
        return undefined;
      }
      default:
        return undefined;
    }
  }

  #resultOf(value: Value | undefined): Evaluated | undefined {
    return value && this.#results[value.id];
  }

  #pure(id: number, op: OpName, args: readonly Value[], isWide: boolean): Evaluated | undefined {
    const values: (Evaluated | undefined)[] = [];
    let [areKnown, isAnyOpaque] = [true, false];
    for (let i = 0; i < args.length; i++) {
      const value = this.#results[args[i]!.id];
      values.push(value);
      areKnown &&= value !== undefined;
      isAnyOpaque ||= isOpaque(value);
    }
    if (areKnown && !isAnyOpaque && !this.#bases) return compute(op, values);
    return this.#state.notes ? this.#withNotes(id, op, args, values, isWide) : undefined;
  }

  #load(address: Value, { dwords, sizeBytes }: Extract<Leaf, { kind: 'load' }>): readonly (number | undefined)[] {
    const at = this.#results[address.id];
    const base = this.#bases?.get(address.id);
    const anywhere = base === undefined ? undefined : this.#context.readTable?.(base);
    return Array.from({ length: dwords }, (_, i) => {
      if (sizeBytes % 4 !== 0) return undefined;
      return typeof at === 'bigint' ? this.#context.readConstant(at + BigInt(i * 4)) : anywhere?.[i % 2];
    });
  }

  /** As an operation on numbers, but that notes are kept where they still hold. */
  #withNotes(
    id: number,
    op: OpName,
    args: readonly Value[],
    raw: readonly (Evaluated | undefined)[],
    isWide: boolean,
  ): Evaluated | undefined {
    const bases = args.map((arg, i) => this.#baseOf(arg, raw[i]));
    const values = raw.map((value) => this.#plain(value));
    const result = values.includes(undefined) ? this.#chosen(id, op, args, raw) : compute(op, values);
    const base = bases.some((each) => each !== undefined) ? baseOfResult(op, bases, values) : undefined;
    if (base === undefined) return result;
    if (!isWide) return this.#state.notes!.based(base, result === undefined ? undefined : Number(result) | 0);
    this.#bases ??= new Map();
    this.#bases.set(id, base);
    return result;
  }

  #baseOf({ id }: Value, raw: Evaluated | undefined): number | undefined {
    const note = typeof raw === 'number' ? this.#state.notes!.noteOf(raw) : undefined;
    return note?.kind === 'based' ? note.base : this.#bases?.get(id);
  }

  #plain(raw: Evaluated | undefined): Evaluated | undefined {
    if (!isOpaque(raw)) return raw;
    const note = this.#state.notes!.noteOf(Number(raw));
    return note?.kind === 'based' ? note.value : undefined;
  }

  /** What is only moved, or one of two values. */
  #chosen(
    id: number,
    op: OpName,
    args: readonly Value[],
    raw: readonly (Evaluated | undefined)[],
  ): Evaluated | undefined {
    const notes = this.#state.notes!;
    const [first, a, b] = raw;
    if (op === 'i32.select') return notes.either(numberOf(a), numberOf(b));
    if (op === 'i64.pack') this.#setHalves(id, [numberOf(first), numberOf(a)]);
    else if (op === 'i64.low') return this.#halvesOf(args[0]!)[0];
    else if (op === 'i64.high') return this.#halvesOf(args[0]!)[1];
    else if (op === 'i64.select') {
      const [one, other] = [this.#halvesOf(args[1]!), this.#halvesOf(args[2]!)];
      this.#setHalves(id, [notes.either(one[0], other[0]), notes.either(one[1], other[1])]);
    }
    return undefined;
  }

  #setHalves(id: number, halves: PointerHalves): void {
    this.#halves ??= new Map();
    this.#halves.set(id, halves);
  }

  #halvesOf({ id }: Value): PointerHalves {
    const value = this.#results[id];
    if (typeof value !== 'bigint') return this.#halves?.get(id) ?? [undefined, undefined];
    return [numberOf(compute('i64.low', [value])), numberOf(compute('i64.high', [value]))];
  }

  #lanesOf({ operand: index, dword }: OperandDword): ReadonlyMap<number, number> | undefined {
    const operand = this.#operands[index]!;
    if (operand.kind !== 'vector' || operand.accumulator) return undefined;
    return this.#state.lanes.get(operand.register + dword);
  }

  #writeLane({ operand: index, dword }: OperandDword, lane: Evaluated | undefined, value: Evaluated | undefined): void {
    const operand = this.#operands[index]!;
    if (operand.kind !== 'vector' || operand.accumulator) return;
    const register = operand.register + dword;
    this.#state.vectors.delete(register);
    if (lane === undefined || isOpaque(lane)) {
      this.#state.lanes.delete(register);
      return;
    }
    let values = this.#state.lanes.get(register);
    if (!values) {
      values = new Map();
      this.#state.lanes.set(register, values);
    }
    if (value === undefined) values.delete(Number(lane));
    else values.set(Number(lane), Number(value));
  }

  #read(index: number, dword: number): number | undefined {
    if (this.#instruction.row.operands[index]!.relative !== undefined) return undefined;
    const operand = this.#operands[index]!;
    if (operand.kind === 'constant') {
      return this.#context.constant ?? Number(BigInt.asIntN(32, operand.value >> BigInt(32 * dword)));
    }
    if (operand.kind === 'vector' && !operand.accumulator) return this.#state.vectors.get(operand.register + dword);
    return operand.kind === 'scalar' ? this.#state.registers[operand.register + dword] : undefined;
  }

  #write(index: number, dword: number, result: Evaluated | undefined, conditional: boolean): void {
    const operand = this.#operands[index]!;
    const isKnown = result !== undefined && !conditional;
    const value = isKnown ? (isOpaque(result) ? Number(result) : Number(result) | 0) : undefined;
    if (operand.kind === 'scalar') this.#state.registers[operand.register + dword] = value;
    else if (operand.kind === 'vector' && !operand.accumulator) {
      this.#state.forgetVector(operand.register + dword);
      if (value !== undefined) this.#state.vectors.set(operand.register + dword, value);
    }
  }
}
