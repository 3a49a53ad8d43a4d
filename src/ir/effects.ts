/**
 * What an instruction in its place may touch, as far as its encoding tells, whether or not its meaning is
 * known: what analyses, listings and rewriters of code ask. Everything that the instruction's program touches
 * lies within its effects.
 *
 * Some state has a number in the file of scalar registers as well (EXEC, VCC, M0 of AMDGPU). It stands in
 * both lists, as a range of registers and as a slot, however the instruction names it: asking either list is
 * enough.
 */
import type { MemorySpace, StateSlot } from './types.ts';

/**
 * The files of registers that all languages share. `scalar`: one value for the wave. `vector` and
 * `accumulator`: rows with a value for each lane.
 */
export type RegisterFile = 'scalar' | 'vector' | 'accumulator';

/** Neighbouring registers of 32 bits, from number `first` on. */
export interface RegisterRange {
  readonly file: RegisterFile;
  readonly first: number;
  readonly dwords: number;
}

/** A range that an instruction reads. `isCrossLane`: in other lanes than the active ones, too. */
export interface ReadRange extends RegisterRange {
  readonly isCrossLane: boolean;
}

/**
 * A range that an instruction writes, in all or in the active lanes; scalar registers are the same in all.
 * `isPartial`: bits or some of these lanes may keep what they had, so that a value from before may still be
 * needed. Bits that stay in a register that is written are read, too.
 */
export interface WrittenRange extends RegisterRange {
  readonly lanes: 'all' | 'active';
  readonly isPartial: boolean;
}

/**
 * An access to memory. `constant` is global memory through a cache that sees no stores; `unknown` is a space
 * that the encoding does not tell.
 */
export interface MemoryEffect {
  readonly space: MemorySpace | 'constant' | 'unknown';
  readonly access: 'load' | 'store' | 'atomic';
}

/** An instruction in flight counts in one or more of these until it is done; a wait names them. */
export type WaitCounter =
  | 'vmcnt'
  | 'lgkmcnt'
  | 'expcnt'
  | 'vscnt'
  | 'loadcnt'
  | 'samplecnt'
  | 'bvhcnt'
  | 'storecnt'
  | 'dscnt'
  | 'kmcnt';

/**
 * A part in a hazard, by the name that the language's list gives it: what comes `before` another must be some
 * way ahead of it.
 */
export interface HazardRole {
  readonly hazard: string;
  readonly role: 'before' | 'after';
}

/**
 * How an instruction changes the mask of active lanes; a lane that is active before a change that `grows` it
 * is active after it.
 */
export type MaskChange = 'none' | 'shrinks' | 'grows' | 'any';

export interface Effects {
  readonly reads: readonly ReadRange[];
  readonly writes: readonly WrittenRange[];
  readonly readsState: ReadonlySet<StateSlot>;
  readonly writesState: ReadonlySet<StateSlot>;
  readonly maskChange: MaskChange;
  /**
   * Registers that a value known only at run time chooses, or that the encoding's tables do not tell: any of
   * these files may be read, or written.
   */
  readonly readsAnyOf: ReadonlySet<RegisterFile>;
  readonly writesAnyOf: ReadonlySet<RegisterFile>;
  readonly memory: readonly MemoryEffect[];
  /** Counters that the instruction surely raises until it is done. */
  readonly counters: ReadonlySet<WaitCounter>;
  /** Counters that it waits for, with the number at most that may be left: 0 is all. */
  readonly waits: ReadonlyMap<WaitCounter, number>;
  /** Hazards that the hardware does not resolve and that it takes part in. */
  readonly hazards: readonly HazardRole[];
}
