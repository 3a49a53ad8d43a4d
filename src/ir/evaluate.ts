/** The reference executor of the ir: one value after the other, lane by lane. Slow and obvious. */
import { assert } from '../base/errors.ts';
import { fromConstant } from './folding.ts';
import type { LeafKind, VoidKind } from './leaves.ts';
import { multiplyMatrices } from './matrix-product.ts';
import type { Evaluated } from './op.ts';
import { OPS } from './ops.ts';
import { phasesOf } from './phases.ts';
import {
  type ExitReason,
  isMatrixProgram,
  type MemorySpace,
  type OperandDword,
  type Program,
  type StateSlot,
  type Update,
  type Value,
  type ValueOf,
} from './types.ts';

/**
 * The wave that a program runs on. `lane` is -1 for a uniform register. Values of 32 bits are in int32 form.
 */
export interface Machine {
  readOperand(at: OperandDword, lane: number): number;
  writeOperand(at: OperandDword, lane: number, value: number): void;
  readState(slot: StateSlot): Evaluated;
  writeState(slot: StateSlot, value: Evaluated): void;
  readonly pc: bigint;
  readonly nextPc: bigint;
  clock(): bigint;
  laneTable(operand: number, lane: number): number;
  /**
   * Checks `sizeBytes` at the address, then returns it as dwords; 1 and 2 bytes are zero-extended. Throws on
   * a fault.
   */
  load(space: MemorySpace, sizeBytes: number, address: Evaluated, lane: number): number[];
  store(space: MemorySpace, sizeBytes: number, address: Evaluated, data: readonly number[], lane: number): void;
  /** Throws the fault of an access at an address that is no multiple of what the access asks for. */
  misaligned(access: 'read' | 'write' | 'atomic', space: MemorySpace, address: Evaluated, lane: number): never;
  /** Reads, updates and writes without interruption; returns the old value. */
  atomic(
    space: MemorySpace,
    sizeBytes: 4 | 8,
    address: Evaluated,
    lane: number,
    update: (old: Evaluated) => Evaluated,
  ): Evaluated;
  fence(): void;
  branch(): void;
  jump(pc: bigint): void;
  exit(reason: ExitReason): void;
}

type LaneValues = Evaluated[];
type Result = Evaluated | LaneValues;
type Evaluator<K extends LeafKind> = (value: ValueOf<K>) => K extends VoidKind ? void : Result;
type Access = ValueOf<'load' | 'store' | 'atomic'>;

const isLanes = (result: Result): result is LaneValues => Array.isArray(result);

function pure(value: Value, args: readonly Evaluated[]): Evaluated {
  assert(value.leaf.kind === 'pure', 'a pure value');
  const evaluate = OPS[value.leaf.op].evaluate as (...args: readonly Evaluated[]) => Evaluated;
  return evaluate(...args);
}

function applyUpdate(update: Update, params: readonly Evaluated[]): Evaluated {
  const results: Evaluated[] = [];
  for (const value of update.body) {
    const { leaf } = value;
    if (leaf.kind === 'param') results[value.id] = params[leaf.index]!;
    else if (leaf.kind === 'const') results[value.id] = fromConstant(leaf.value, value.type);
    else
      results[value.id] = pure(
        value,
        value.args.map((arg) => results[arg.id]!),
      );
  }
  return results[update.result.id]!;
}

export function evaluate(program: Program, machine: Machine): void {
  new Evaluation(program, machine).run();
}

/** Lane -1 stands for the wave. */
const WAVE = -1;

/** Whether lanes write to memory by more than one access. */
const writesRepeatedly = ({ values }: Program): boolean =>
  values.filter(({ leaf, lane }) => lane && (leaf.kind === 'store' || leaf.kind === 'atomic')).length > 1;

/** Generated code makes the accesses of so many neighbouring lanes before those of the next. */
const LANES_TOGETHER = 4;

const lanesUpTo = (count: number): readonly number[] => Array.from({ length: count }, (_, lane) => lane);
const LANES = { 32: lanesUpTo(32), 64: lanesUpTo(64) } as const;

/** What was asked for last: waves mostly execute several instructions with the same EXEC. */
let asked: { readonly exec: bigint; readonly all: readonly number[]; readonly active: readonly number[] } | undefined;

function activeLanes(all: readonly number[], exec: bigint): readonly number[] {
  if (asked?.exec !== exec || asked.all !== all) {
    asked = { exec, all, active: all.filter((lane) => (exec >> BigInt(lane)) & 1n) };
  }
  return asked.active;
}

class Evaluation {
  readonly #program: Program;
  readonly #machine: Machine;
  readonly #active: readonly number[];
  /** Lanes whose values are computed now, and those of them that are active. */
  #lanes: readonly number[];
  #activeNow: readonly number[];
  readonly #results: Result[] = [];
  /** Dwords of loads by lane + 1, and all results of products. */
  readonly #loads: number[][][] = [];
  readonly #products: Evaluated[][][] = [];

  constructor(program: Program, machine: Machine) {
    this.#program = program;
    this.#machine = machine;
    const exec = isMatrixProgram(program) ? -1n : (machine.readState('exec') as bigint);
    this.#lanes = LANES[program.waveSize];
    this.#active = activeLanes(this.#lanes, exec);
    this.#activeNow = this.#active;
  }

  run(): void {
    if (!writesRepeatedly(this.#program)) this.#evaluate(this.#program.values);
    else this.#evaluateTogether();
  }

  /**
   * Lanes may write to one place by several accesses of one instruction. Which of them is the last is defined
   * by the order of generated code: four neighbouring lanes make all of theirs, one access after the other.
   */
  #evaluateTogether(): void {
    const { values } = this.#program;
    const phases = phasesOf(values);
    const all = this.#lanes;
    this.#evaluate(values.filter((value) => phases.get(value) === 'before'));
    const ofLanes = values.filter((value) => phases.get(value) === 'lanes');
    for (let first = 0; first < all.length; first += LANES_TOGETHER) {
      const isTogether = (lane: number): boolean => lane >= first && lane < first + LANES_TOGETHER;
      this.#lanes = all.filter(isTogether);
      this.#activeNow = this.#active.filter(isTogether);
      this.#evaluate(ofLanes);
    }
    this.#lanes = all;
    this.#activeNow = this.#active;
    this.#evaluate(values.filter((value) => phases.get(value) === 'after'));
  }

  #evaluate(values: readonly Value[]): void {
    for (const value of values) {
      const evaluateLeaf = this.#kinds[value.leaf.kind] as Evaluator<LeafKind>; // reason: a kind's row takes leaves of that kind
      const result = evaluateLeaf(value);
      if (result !== undefined) this.#results[value.id] = result;
    }
  }

  readonly #kinds: { readonly [K in LeafKind]: Evaluator<K> } = {
    const: ({ leaf, type }) => fromConstant(leaf.value, type),
    param: () => {
      assert(false, 'a parameter outside an atomic update');
    },
    operand: (value) => this.#perLane(value, (lane) => this.#machine.readOperand(value.leaf.at, lane)),
    state: ({ leaf }) => this.#machine.readState(leaf.slot),
    pc: () => this.#machine.pc,
    nextPc: () => this.#machine.nextPc,
    clock: () => this.#machine.clock(),
    laneId: (value) => this.#perLane(value, (lane) => lane),
    laneTable: (value) => this.#perLane(value, (lane) => this.#machine.laneTable(value.leaf.operand, lane)),
    pure: (value) =>
      this.#perLane(value, (lane) =>
        pure(
          value,
          value.args.map((arg) => this.#at(arg, lane)),
        ),
      ),
    laneMask: (value) => {
      const mask = this.#arg(value, 0, WAVE) as bigint;
      return this.#perLane(value, (lane) => Number((mask >> BigInt(lane)) & 1n));
    },
    ballot: (value) =>
      this.#active.reduce((mask, lane) => (this.#arg(value, 0, lane) ? mask | (1n << BigInt(lane)) : mask), 0n),
    gather: (value) =>
      this.#perLane(value, (lane) => this.#machine.readOperand(value.leaf.at, this.#laneIndex(value, lane))),
    readLane: (value) => this.#machine.readOperand(value.leaf.at, this.#laneIndex(value, WAVE)),
    writeLane: (value) =>
      this.#machine.writeOperand(value.leaf.at, this.#laneIndex(value, WAVE), Number(this.#arg(value, 1, WAVE))),
    matrixProduct: (value) => {
      const argument = (i: number, lane: number): Evaluated => this.#arg(value, i, lane);
      const products = multiplyMatrices(value.leaf.product, this.#program.waveSize, argument);
      this.#products[value.id] = products;
      return products[0]!;
    },
    matrixResult: ({ leaf, args }) => this.#products[args[0]!.id]![leaf.index]!,
    load: (value) => this.#load(value),
    loaded: (value) => this.#dword(value, value.args[0]!, value.leaf.index),
    store: (value) => this.#store(value),
    atomic: (value) => this.#atomic(value),
    fence: () => this.#machine.fence(),
    setOperand: (value) => this.#setOperand(value),
    setState: (value) => this.#machine.writeState(value.leaf.slot, this.#arg(value, 0, WAVE)),
    branch: (value) => {
      if (this.#arg(value, 0, WAVE)) this.#machine.branch();
    },
    jump: (value) => this.#machine.jump(this.#arg(value, 0, WAVE) as bigint),
    exit: ({ leaf }) => this.#machine.exit(leaf.reason),
  };

  #at(value: Value, lane: number): Evaluated {
    const result = this.#results[value.id]!;
    return isLanes(result) ? result[lane]! : result;
  }

  #arg(value: Value, index: number, lane: number): Evaluated {
    return this.#at(value.args[index]!, lane);
  }

  /** The lane that the first argument names. */
  #laneIndex(value: Value, lane: number): number {
    return Number(this.#arg(value, 0, lane)) & (this.#program.waveSize - 1);
  }

  #lanesOf(value: Value): readonly number[] {
    return value.lane ? this.#activeNow : [WAVE];
  }

  #perLane(value: Value, compute: (lane: number) => Evaluated): Result {
    if (!value.lane) return compute(WAVE);
    const known = this.#results[value.id];
    const result: Evaluated[] = known !== undefined && isLanes(known) ? known : [];
    for (const lane of this.#lanes) result[lane] = compute(lane);
    return result;
  }

  /** Whether the predicate of a memory access, its last argument, is on. */
  #accesses({ leaf, args }: Access, lane: number): boolean {
    return !leaf.predicated || this.#at(args.at(-1)!, lane) !== 0;
  }

  /** What a memory access stores or combines: its arguments between address and predicate. */
  #dataOf({ leaf, args }: Access, lane: number): Evaluated[] {
    return args.slice(1, leaf.predicated ? -1 : undefined).map((arg) => this.#at(arg, lane));
  }

  /** Where a lane makes an access, which is a multiple of what that asks for. */
  #address(value: Access, access: 'read' | 'write' | 'atomic', lane: number): Evaluated {
    const { space, alignmentBytes = 1 } = value.leaf;
    const address = this.#arg(value, 0, lane);
    const low = typeof address === 'bigint' ? Number(BigInt.asUintN(32, address)) : address;
    if (low & (alignmentBytes - 1)) this.#machine.misaligned(access, space, address, lane);
    return address;
  }

  #load(value: ValueOf<'load'>): Result {
    const { space, sizeBytes } = value.leaf;
    const dwords = this.#loads[value.id] ?? [];
    this.#loads[value.id] = dwords;
    for (const lane of this.#lanesOf(value))
      if (this.#accesses(value, lane))
        dwords[lane + 1] = this.#machine.load(space, sizeBytes, this.#address(value, 'read', lane), lane);
    return this.#dword(value, value, 0);
  }

  /** 0 where a lane made no access. */
  #dword(value: Value, load: Value, index: number): Result {
    const dwords = this.#loads[load.id]!;
    return this.#perLane(value, (lane) => dwords[lane + 1]?.[index] ?? 0);
  }

  #store(value: ValueOf<'store'>): void {
    const { space, sizeBytes } = value.leaf;
    for (const lane of this.#lanesOf(value)) {
      if (!this.#accesses(value, lane)) continue;
      const data = this.#dataOf(value, lane).map(Number);
      this.#machine.store(space, sizeBytes, this.#address(value, 'write', lane), data, lane);
    }
  }

  #atomic(value: ValueOf<'atomic'>): Result {
    const { space, sizeBytes, update } = value.leaf;
    const known = this.#results[value.id];
    const none = value.type === 'i64' ? 0n : 0;
    const perform = (lane: number): Evaluated => {
      if (!this.#accesses(value, lane)) return none;
      const data = this.#dataOf(value, lane);
      const updated = (before: Evaluated): Evaluated => applyUpdate(update, [before, ...data]);
      return this.#machine.atomic(space, sizeBytes, this.#address(value, 'atomic', lane), lane, updated);
    };
    if (!value.lane) return perform(WAVE);
    const old = known !== undefined && isLanes(known) ? known : new Array<Evaluated>(this.#program.waveSize).fill(none);
    for (const lane of this.#activeNow) old[lane] = perform(lane);
    return old;
  }

  #setOperand(value: ValueOf<'setOperand'>): void {
    for (const lane of this.#lanesOf(value))
      if (value.args.length < 2 || this.#arg(value, 1, lane))
        this.#machine.writeOperand(value.leaf.at, lane, Number(this.#arg(value, 0, lane)));
  }
}
