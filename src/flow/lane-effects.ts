/** What the program of an instruction does to registers, as liveness in lanes asks it. */
import { type ExecPlaces, maskChange } from '../ir/mask-change.ts';
import {
  isMaskSlot,
  isMatrixProgram,
  type OperandDword,
  type Program,
  type StateSlot,
  type Value,
} from '../ir/types.ts';
import type { LaneEffects } from './lane-liveness.ts';

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
    maskChange: (scalarWrites & state('exec')) === 0n ? 'none' : maskChange(values, execPlaces(places)),
    ends: values.some(({ leaf }) => leaf.kind === 'exit' && leaf.reason === 'end'),
  };
}

function execPlaces(places: OperandPlaces): ExecPlaces {
  const exec = places.state('exec');
  return {
    execHalf: (at) => exec.indexOf(places.register(at) ?? 0n),
    constant: (at) => places.constant(at),
  };
}
