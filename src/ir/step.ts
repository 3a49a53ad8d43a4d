/**
 * An instruction in its place, whatever language it came from: what analyses of code, the compiler and the
 * executors share.
 */
import type { Effects, RegisterRange } from './effects.ts';
import type { Program } from './types.ts';

/**
 * How M0 completes the number of a register when the instruction runs: where all bits of `enabledBy` are set
 * in M0, the bits of `mask`, above the lowest `shift` bits of M0, are added to it.
 */
export interface RelativeIndex {
  /**
   * What is read and written counts as a destination; an instruction does nothing where one of its
   * destinations does not exist.
   */
  readonly role: 'source' | 'destination';
  readonly shift: number;
  readonly mask: number;
  readonly enabledBy: number;
  /** Registers of the file that can be reached. */
  readonly count: number;
  /**
   * What is read in place of a source that is none of them: the registers from number 0 on, or the value 0.
   */
  readonly missing: 'first' | 'zero';
}

export interface RegisterOperand extends RegisterRange {
  readonly kind: 'register';
  /** A value of 16 bits is in the high half. */
  readonly isHighHalf: boolean;
  readonly relative?: RelativeIndex;
}

export type StepOperand =
  | RegisterOperand
  /** 64 bits. What is read of an operand that is absent is 0, and what is written to it is lost. */
  | { readonly kind: 'constant'; readonly value: bigint }
  /** A byte for each lane: the operand of the leaf `laneTable`. */
  | { readonly kind: 'laneTable'; readonly bytes: Uint8Array };

/**
 * How control goes on: `next`, with the next instruction; `branch`, at the target; `conditional`, at one of
 * the two; `jump`, at an address known at run time; `call` likewise, and back to the next instruction;
 * `return`, to the address that the caller left; `end`, nowhere.
 */
export type Control = 'next' | 'branch' | 'conditional' | 'jump' | 'call' | 'return' | 'end';

export interface Step {
  /** Bytes from the start of the code that it was read from. */
  readonly offset: number;
  readonly sizeBytes: number;
  /** The operands of the program, in its numbering. */
  readonly operands: readonly StepOperand[];
  /** Why no machine can execute it though its encoding is known: it names a register that does not exist. */
  readonly illegal: string | undefined;
  readonly control: Control;
  /** Of a branch, a conditional branch and a call of a fixed place, as an offset like `offset`. */
  readonly target: number | undefined;
  /** What kind of instruction it is: an index into the classes that its language counts instructions by. */
  readonly classIndex: number;
  /** Steps with equal keys have equal programs, and operands that differ in numbers and constants alone. */
  readonly key: string;
  /** What it may touch, also where its program is not known. */
  readonly effects: Effects;
  /** What it does, built anew. Throws UNSUPPORTED, by name, where that is not implemented. */
  program(): Program;
  /** As the language's tools print it. */
  text(): string;
}

/** Offset of the instruction behind a step. */
export const followingOffset = ({ offset, sizeBytes }: Step): number => offset + sizeBytes;

/** Whether control may go on with the instruction behind a step; behind a call it comes back there. */
export const fallsThrough = ({ control }: Step): boolean => control === 'next' || control === 'conditional';
