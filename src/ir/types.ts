/**
 * The intermediate representation: a flat list of typed operations in execution order that says what one
 * instruction does.
 *
 * A value is either *uniform* (one for the wave) or *per lane*. Floating-point values are carried as their
 * bits; the operation says how they are read. 16-bit values sit in the low half of an i32.
 */
import type { MatrixProduct } from './matrix-product.ts';
import type { Type } from './op.ts';
import type { OpName } from './ops.ts';

export type { Type } from './op.ts';

/** Registers of a wave that instructions reach without naming them as an operand. */
export type StateSlot =
  | 'scc'
  | 'exec'
  | 'vcc'
  | 'm0'
  | 'mode'
  | 'status'
  | 'trapsts'
  | 'flatScratchLow'
  | 'flatScratchHigh'
  | 'request';

/**
 * Masks of lanes are i64; a wave of 32 lanes reads the low half, zero-extended, and leaves the high half as
 * it is.
 */
export const isMaskSlot = (slot: StateSlot): boolean => slot === 'exec' || slot === 'vcc';

export type MemorySpace = 'global' | 'flat' | 'lds' | 'private';

/**
 * Why a wave leaves the executor. `gws-init`, `gws-barrier` and `named-barrier` are done by the host, with
 * what the state `request` says. `sleep` gives other waves and the host a chance to run; `trap` and `halt`
 * end the dispatch with a fault; at `turn` the language says which lanes of the wave go on, and where.
 */
export type ExitReason =
  | 'end'
  | 'barrier'
  | 'sleep'
  | 'trap'
  | 'interrupt'
  | 'turn'
  | 'gws-init'
  | 'gws-barrier'
  | 'named-barrier';

/**
 * One dword of an operand of the instruction; which register or constant it is stands in the decoded
 * instruction.
 */
export interface OperandDword {
  readonly operand: number;
  readonly dword: number;
}

/** What an effect or a leaf does; pure operations are `{ op: OpName }` with arguments only. */
export type Leaf =
  | { readonly kind: 'const'; readonly value: bigint }
  | { readonly kind: 'param'; readonly index: number }
  | { readonly kind: 'operand'; readonly at: OperandDword }
  | { readonly kind: 'state'; readonly slot: StateSlot }
  | { readonly kind: 'pc' }
  | { readonly kind: 'nextPc' }
  | { readonly kind: 'clock' }
  | { readonly kind: 'laneId' }
  /**
   * Per-lane constant: byte `lane` of the table that the decoded instruction carries as operand `operand`.
   */
  | { readonly kind: 'laneTable'; readonly operand: number }
  | { readonly kind: 'pure'; readonly op: OpName }
  /** Bit of a uniform i64 (or i32 in wave32) for each lane. */
  | { readonly kind: 'laneMask' }
  /** Uniform i64 whose bits are the lanes of an i1, zero where EXEC is off. */
  | { readonly kind: 'ballot' }
  /** Value of a VGPR operand in another lane (per-lane index; EXEC is not looked at). */
  | { readonly kind: 'gather'; readonly at: OperandDword }
  /** Value of a VGPR operand in one lane (uniform index). */
  | { readonly kind: 'readLane'; readonly at: OperandDword }
  /**
   * Result 0 of a product of matrices; args: see `argumentOffsets`. A program has at most one, and all its
   * lanes count as active.
   */
  | { readonly kind: 'matrixProduct'; readonly product: MatrixProduct }
  /** Result `index` of the product in args[0]. */
  | { readonly kind: 'matrixResult'; readonly index: number }
  /**
   * Memory accesses. Arguments: `[address]`, `[address, ...data]` (one i32 for each dword) of a store,
   * `[address, data, compare?]` of an atomic. With `predicated` one more argument follows, an i1: a lane (or
   * the wave) where it is 0 makes no access, so no fault, and reads 0. `isRare`, of accesses to one dword: it
   * is 0 nearly everywhere, so that fast code runs without them. An access is the wave's own (once, EXEC not
   * looked at) when the value is not `lane`, else one for each lane in EXEC; the arguments of a lane access
   * may be uniform. `alignmentBytes`, a power of two: an address that is no multiple of it is a fault;
   * without it any address will do.
   */
  | {
      readonly kind: 'load';
      readonly space: MemorySpace;
      readonly sizeBytes: number;
      readonly dwords: number;
      readonly predicated: boolean;
      readonly isRare?: boolean;
      readonly alignmentBytes?: number;
    }
  /** Dword `index` of the load in args[0]. */
  | { readonly kind: 'loaded'; readonly index: number }
  | {
      readonly kind: 'atomic';
      readonly space: MemorySpace;
      readonly sizeBytes: 4 | 8;
      readonly update: Update;
      readonly predicated: boolean;
      readonly alignmentBytes?: number;
    }
  | {
      readonly kind: 'store';
      readonly space: MemorySpace;
      readonly sizeBytes: number;
      readonly predicated: boolean;
      readonly isRare?: boolean;
      readonly alignmentBytes?: number;
    }
  /** What the wave stored before is seen by other threads before it loads what follows. */
  | { readonly kind: 'fence' }
  | { readonly kind: 'setOperand'; readonly at: OperandDword }
  | { readonly kind: 'writeLane'; readonly at: OperandDword }
  | { readonly kind: 'setState'; readonly slot: StateSlot }
  | { readonly kind: 'branch' }
  | { readonly kind: 'jump' }
  | { readonly kind: 'exit'; readonly reason: ExitReason };

export type LeafOf<K extends Leaf['kind']> = Extract<Leaf, { kind: K }>;

export interface Value {
  readonly id: number;
  readonly leaf: Leaf;
  readonly type: Type | 'void';
  readonly lane: boolean;
  readonly args: readonly Value[];
}

export type ValueOf<K extends Leaf['kind']> = Value & { readonly leaf: LeafOf<K> };

/**
 * New memory value of an atomic: uniform operations over the parameters 0 (old value), 1 (data), 2 (compare).
 */
export interface Update {
  readonly body: readonly Value[];
  readonly result: Value;
}

/** The meaning of one decoded instruction: values and effects in execution order. */
export interface Program {
  readonly values: readonly Value[];
  readonly waveSize: 32 | 64;
}

/** Programs with a product work on all lanes, whatever EXEC holds. */
export const isMatrixProgram = ({ values }: Program): boolean =>
  values.some(({ leaf }) => leaf.kind === 'matrixProduct');
