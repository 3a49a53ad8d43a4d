/**
 * What looks at each instruction that the reference executor runs: observers of tools, and the check of
 * waits.
 */
import type { Machine } from '../../ir/evaluate.ts';
import type { Step } from '../../ir/step.ts';
import type { OperandDword } from '../../ir/types.ts';
import type { AccessKind } from '../machine/access-codes.ts';
import type { Triple } from '../machine/launch.ts';

/** A wave of a dispatch. */
export interface WaveIdentity {
  readonly workgroup: Triple;
  /** Its number in the workgroup. */
  readonly index: number;
  readonly waveSize: 32 | 64;
}

/** One access of one lane, or of the wave, that was allowed and is about to be made. */
export interface ObservedAccess {
  readonly access: AccessKind;
  /** Where it leads; flat addresses have been resolved. */
  readonly space: 'global' | 'lds' | 'private';
  /** As the instruction computed it: of LDS and of private memory an offset, unless it was a flat address. */
  readonly address: bigint;
  readonly sizeBytes: number;
  /** -1: the wave's own. */
  readonly lane: number;
  /** Offset in device memory of its first byte. */
  readonly place: number;
}

/** The machine of one step, as far as a watch needs it. */
export interface WatchedMachine extends Machine {
  /** Address in state memory of a dword of an operand in a lane, where the operand is a register. */
  registerOf(at: OperandDword, lane: number): number | undefined;
}

export interface Watch {
  /** `base`: of its state. A wave that had the same state before is over. */
  waveStarts(base: number, wave: WaveIdentity): void;
  /** Whether a wave's turn does not get shorter by a step. */
  isFree(step: Step): boolean;
  /** Before a step, whatever it will do. */
  beforeStep(base: number, step: Step): void;
  /** Runs a step by `evaluate`, on this machine or on one of its own that goes on with this one. */
  execute(base: number, step: Step, machine: WatchedMachine, evaluate: (machine: Machine) => void): void;
  accessed(base: number, access: ObservedAccess): void;
}
