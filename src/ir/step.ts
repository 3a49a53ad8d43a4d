/** An instruction in its place, whatever language it came from: what analyses of code, the compiler and the executors share. */
import type { Effects, RegisterRange } from './effects.ts';
import type { Program } from './types.ts';

/** How a value known only at run time completes the number of a register; the language's front end says what the names mean. */
export interface RelativeIndex {
  readonly role: 'source' | 'destination';
  /** Which part of the value counts. */
  readonly index: string;
  /** What is read in place of a source that is none of the file's registers: those from the first one on, or 0. */
  readonly missing: 'first' | 'zero';
}

export type StepOperand =
  | ({
      readonly kind: 'register';
      /** A value of 16 bits in the high half. */
      readonly isHighHalf: boolean;
      readonly relative?: RelativeIndex;
    } & RegisterRange)
  /** 64 bits. What is read of an operand that is absent is 0, and what is written to it is lost. */
  | { readonly kind: 'constant'; readonly value: bigint };

/**
 * How control goes on: `next`, with the next instruction; `branch`, at the target; `conditional`, at one of the two; `jump`, at an address known at
 * run time; `call` likewise, and back to the next instruction; `return`, to the address that the caller left; `end`, nowhere.
 */
export type Control = 'next' | 'branch' | 'conditional' | 'jump' | 'call' | 'return' | 'end';

export interface Step {
  /** Bytes from the start of the code that it was read from. */
  readonly offset: number;
  readonly sizeBytes: number;
  /** The operands of the program, in its numbering. */
  readonly operands: readonly StepOperand[];
  readonly effects: Effects;
  readonly control: Control;
  /** Of a branch or conditional branch, as an offset like `offset`. */
  readonly target: number | undefined;
  /** Steps with equal keys have equal programs. */
  readonly key: string;
  /** What it does. Throws UNSUPPORTED, by name, where that is not implemented. */
  program(): Program;
  /** As the language's tools print it. */
  text(): string;
}
