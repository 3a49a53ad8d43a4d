/** The reference executor of the ir: one value after the other, lane by lane. Slow and obvious. */
import { assert } from '../base/errors.ts';
import { fromConstant } from './folding.ts';
import { multiplyMatrices } from './matrix-product.ts';
import type { Evaluated } from './op.ts';
import { OPS } from './ops.ts';
import {
  type ExitReason,
  isMatrixProgram,
  type MemorySpace,
  type OperandDword,
  type Program,
  type StateSlot,
  type Update,
  type Value,
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

type LaneValues = readonly Evaluated[];
type Result = Evaluated | LaneValues;

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
  const { waveSize } = program;
  const exec = isMatrixProgram(program) ? -1n : (machine.readState('exec') as bigint);
  const active: number[] = [];
  for (let lane = 0; lane < waveSize; lane++) if ((exec >> BigInt(lane)) & 1n) active.push(lane);
  const results: Result[] = [];
  const loads: number[][][] = [];
  const products: Evaluated[][][] = [];
  const at = (value: Value, lane: number): Evaluated => {
    const result = results[value.id]!;
    return isLanes(result) ? result[lane]! : result;
  };
  /** Lane -1 stands for the wave. */
  const lanesOf = (value: Value): readonly number[] => (value.lane ? active : [-1]);
  const perLane = (value: Value, compute: (lane: number) => Evaluated): Result => {
    if (!value.lane) return compute(-1);
    return Array.from({ length: waveSize }, (_, lane) => compute(lane));
  };

  /** Whether the predicate of a memory access, its last argument, is on. */
  const accesses = ({ leaf, args }: Value, lane: number): boolean =>
    !('predicated' in leaf && leaf.predicated) || at(args.at(-1)!, lane) !== 0;
  /** What a memory access stores or combines: its arguments between address and predicate. */
  const dataOf = ({ leaf, args }: Value, lane: number): Evaluated[] =>
    args.slice(1, 'predicated' in leaf && leaf.predicated ? -1 : undefined).map((arg) => at(arg, lane));

  for (const value of program.values) {
    const { leaf, args } = value;
    const arg = (i: number, lane: number): Evaluated => at(args[i]!, lane);
    switch (leaf.kind) {
      case 'const':
        results[value.id] = fromConstant(leaf.value, value.type);
        break;
      case 'operand':
        results[value.id] = perLane(value, (lane) => machine.readOperand(leaf.at, lane));
        break;
      case 'state':
        results[value.id] = machine.readState(leaf.slot);
        break;
      case 'pc':
        results[value.id] = machine.pc;
        break;
      case 'nextPc':
        results[value.id] = machine.nextPc;
        break;
      case 'clock':
        results[value.id] = machine.clock();
        break;
      case 'laneId':
        results[value.id] = perLane(value, (lane) => lane);
        break;
      case 'laneTable':
        results[value.id] = perLane(value, (lane) => machine.laneTable(leaf.operand, lane));
        break;
      case 'pure':
        results[value.id] = perLane(value, (lane) =>
          pure(
            value,
            args.map((a) => at(a, lane)),
          ),
        );
        break;
      case 'laneMask':
        results[value.id] = perLane(value, (lane) => Number(((arg(0, -1) as bigint) >> BigInt(lane)) & 1n));
        break;
      case 'ballot': {
        let mask = 0n;
        for (const lane of active) if (arg(0, lane)) mask |= 1n << BigInt(lane);
        results[value.id] = mask;
        break;
      }
      case 'gather':
        results[value.id] = perLane(value, (lane) =>
          machine.readOperand(leaf.at, Number(arg(0, lane)) & (waveSize - 1)),
        );
        break;
      case 'readLane':
        results[value.id] = machine.readOperand(leaf.at, Number(arg(0, -1)) & (waveSize - 1));
        break;
      case 'writeLane':
        machine.writeOperand(leaf.at, Number(arg(0, -1)) & (waveSize - 1), Number(arg(1, -1)));
        break;
      case 'matrixProduct':
        products[value.id] = multiplyMatrices(leaf.product, waveSize, (i, lane) => arg(i, lane));
        results[value.id] = products[value.id]![0]!;
        break;
      case 'matrixResult':
        results[value.id] = products[args[0]!.id]![leaf.index]!;
        break;
      case 'load': {
        const dwords: number[][] = [];
        for (const lane of lanesOf(value)) {
          if (accesses(value, lane)) dwords[lane + 1] = machine.load(leaf.space, leaf.sizeBytes, arg(0, lane), lane);
        }
        loads[value.id] = dwords;
        results[value.id] = perLane(value, (lane) => dwords[lane + 1]?.[0] ?? 0);
        break;
      }
      case 'loaded': {
        const dwords = loads[args[0]!.id]!;
        results[value.id] = perLane(value, (lane) => dwords[lane + 1]?.[leaf.index] ?? 0);
        break;
      }
      case 'store':
        for (const lane of lanesOf(value)) {
          if (!accesses(value, lane)) continue;
          machine.store(leaf.space, leaf.sizeBytes, arg(0, lane), dataOf(value, lane).map(Number), lane);
        }
        break;
      case 'atomic': {
        const old: Evaluated[] = Array.from({ length: waveSize }, () => (value.type === 'i64' ? 0n : 0));
        for (const lane of active) {
          if (!accesses(value, lane)) continue;
          const data = dataOf(value, lane);
          const update = (before: Evaluated): Evaluated => applyUpdate(leaf.update, [before, ...data]);
          old[lane] = machine.atomic(leaf.space, leaf.sizeBytes, arg(0, lane), lane, update);
        }
        results[value.id] = old;
        break;
      }
      case 'fence':
        machine.fence();
        break;
      case 'setOperand':
        for (const lane of lanesOf(value)) {
          if (args.length < 2 || arg(1, lane)) machine.writeOperand(leaf.at, lane, Number(arg(0, lane)));
        }
        break;
      case 'setState':
        machine.writeState(leaf.slot, arg(0, -1));
        break;
      case 'branch':
        if (arg(0, -1)) machine.branch();
        break;
      case 'jump':
        machine.jump(arg(0, -1) as bigint);
        break;
      case 'exit':
        machine.exit(leaf.reason);
        break;
      case 'param':
        assert(false, 'a parameter outside an atomic update');
    }
  }
}
