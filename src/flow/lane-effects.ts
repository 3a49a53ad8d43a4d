/** What the program of an instruction does to registers, as liveness in lanes asks it. */
import {
  isMaskSlot,
  isMatrixProgram,
  type OperandDword,
  type Program,
  type StateSlot,
  type Value,
} from '../ir/types.ts';
import type { LaneEffects, MaskChange } from './lane-liveness.ts';

/** The operands of an instruction, and the bits that stand for registers and state in sets of places. */
export interface OperandPlaces {
  /** Undefined for what is no register. */
  register(at: OperandDword): bigint | undefined;
  /** The low and high 32 bits of a constant; undefined for what is none. */
  constant(at: OperandDword): number | undefined;
  /** Whether only running the instruction tells which register it is. */
  isRelative(operand: number): boolean;
  /**
   * The bits of a state: a low and a high one for masks of lanes. Registers that are the same as a state have
   * its bits.
   */
  state(slot: StateSlot): readonly bigint[];
}

export interface ProgramEffects extends LaneEffects {
  /** Writes rows, be it in some of the active lanes only. */
  readonly writesRows: boolean;
}

/** `values`: those of the program that count. */
export function programEffects(program: Program, values: readonly Value[], places: OperandPlaces): ProgramEffects {
  const isMatrix = isMatrixProgram(program);
  let [reads, crossReads, scalarWrites, rowWrites, partial, isOpaque] = [0n, 0n, 0n, 0n, 0n, false];
  const state = (slot: StateSlot): bigint => places.state(slot).reduce((sum, bit) => sum | bit, 0n);
  for (const { leaf, lane, args } of values) {
    if (lane || leaf.kind === 'ballot') reads |= state('exec');
    if ('at' in leaf && places.isRelative(leaf.at.operand)) {
      // Opaque stands for what is read, and what is written counts as kept.
      isOpaque = true;
      continue;
    }
    const bit = 'at' in leaf ? (places.register(leaf.at) ?? 0n) : 0n;
    switch (leaf.kind) {
      case 'operand':
        reads |= bit;
        if (isMatrix) crossReads |= bit;
        break;
      case 'gather':
      case 'readLane':
        crossReads |= bit;
        break;
      case 'state':
        reads |= state(leaf.slot);
        break;
      case 'setState':
        // Waves of 32 lanes write one dword of a mask.
        scalarWrites |=
          program.waveSize === 32 && isMaskSlot(leaf.slot) ? places.state(leaf.slot)[0]! : state(leaf.slot);
        break;
      case 'setOperand':
        if (!lane) scalarWrites |= bit;
        else if (args.length > 1) partial |= bit;
        else rowWrites |= bit;
        break;
    }
  }
  return {
    ...{ reads: reads | partial, crossReads, scalarWrites, rowWrites, isOpaque },
    writesRows: (rowWrites | partial) !== 0n,
    maskChange: (scalarWrites & state('exec')) === 0n ? 'none' : maskChange(values, places),
    ends: values.some(({ leaf }) => leaf.kind === 'exit' && leaf.reason === 'end'),
  };
}

/** What an instruction that writes EXEC does to it. */
function maskChange(values: readonly Value[], places: OperandPlaces): MaskChange {
  const exec = places.state('exec');
  const isExec = ({ leaf }: Value, half: number): boolean =>
    leaf.kind === 'state' ? leaf.slot === 'exec' : leaf.kind === 'operand' && places.register(leaf.at) === exec[half];
  /**
   * Whether the bits of a value are a part of those of EXEC, or hold all of them; `half`: of its low or high
   * dword.
   */
  const compares = (value: Value, grows: boolean, half: number): boolean => {
    const { leaf, args } = value;
    const inner = (arg: Value | undefined, part = half): boolean => arg !== undefined && compares(arg, grows, part);
    if (isExec(value, half)) return true;
    if (leaf.kind === 'const') return leaf.value === (grows ? -1n : 0n);
    if (leaf.kind === 'operand') return places.constant(leaf.at) === (grows ? -1 : 0);
    if (leaf.kind === 'ballot') return !grows;
    if (leaf.kind !== 'pure') return false;
    switch (leaf.op) {
      case 'i64.low':
        return inner(args[0], 0);
      case 'i64.high':
        return inner(args[0], 1);
      case 'i64.pack':
        return inner(args[0], 0) && inner(args[1], 1);
      case 'i32.and':
      case 'i64.and':
        return grows ? inner(args[0]) && inner(args[1]) : inner(args[0]) || inner(args[1]);
      case 'i32.or':
      case 'i64.or':
        return grows ? inner(args[0]) || inner(args[1]) : inner(args[0]) && inner(args[1]);
      default:
        return false;
    }
  };
  const writes = values.flatMap(({ leaf, lane, args }) => {
    if (leaf.kind === 'setState' && leaf.slot === 'exec') return [{ value: args[0]!, half: 0 }];
    const half = leaf.kind === 'setOperand' && !lane ? exec.indexOf(places.register(leaf.at) ?? 0n) : -1;
    return half < 0 ? [] : [{ value: args[0]!, half }];
  });
  const all = (grows: boolean): boolean => writes.every(({ value, half }) => compares(value, grows, half));
  return all(false) ? 'shrinks' : all(true) ? 'grows' : 'any';
}
