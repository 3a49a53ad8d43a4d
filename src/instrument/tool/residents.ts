/** Counters that stay in registers while a wave runs; at its end they are added to memory. */
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import type { Amount } from './counting.ts';
import type { HookMeaning, PointHook } from './hook.ts';
import type { ToolFunction } from './tool-function.ts';
import type { VariableMemory } from './variables.ts';

/** Waves that came to their end are counted, and no others. */
export interface ResidentCounter {
  /** Counts where it is inserted, in the functions that the counter was made for. */
  readonly hook: PointHook;
  read(memory: VariableMemory): bigint;
}

/** Counts lanes, and waves that come by with some, where it is always the same lanes of a wave. */
export interface PairedCounter extends ResidentCounter {
  readonly waves: HooklessCounter;
}

/** A counter that needs no hook of its own. */
export interface HooklessCounter extends Pick<ResidentCounter, 'read'> {
  readonly meaning: HookMeaning;
}

/** Registers that the kernels around a function leave for counters. */
export interface Residents {
  /**
   * Undefined where no registers are left. `isOnce`: no wave comes by more than once, so that one register
   * is enough.
   */
  counter(amount: Amount, isOnce: boolean): ResidentCounter | undefined;
  /** Undefined as above. */
  pairedCounter(): PairedCounter | undefined;
  /** Counts the waves that are launched, which takes no instruction at a point; undefined as above. */
  launchCounter(kernel: ToolFunction): HooklessCounter | undefined;
  /** Whether all waves come back from a call of a function, by the address of the call. */
  comesBackFrom(call: number, lifted: LiftedFunction): boolean;
}
