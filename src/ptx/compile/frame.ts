/** The frame of a function: private memory of each lane while an activation of it runs. */
import { alignUp } from '../../base/align.ts';
import type { StepOperand } from '../../ir/step.ts';
import { PLACES } from '../machine/places.ts';
import { constant, type FunctionRegister, type LirOperand } from './lir.ts';

/** Base and number of an address. */
export type AddressOperands = readonly [LirOperand, LirOperand];

export class Frame {
  /** Where free memory begins, in functions that take some while they run. */
  top: FunctionRegister | undefined;
  #sizeBytes: number;
  #calls = 0;

  readonly isKernel: boolean;
  /** Frames begin at multiples of this. */
  readonly alignmentBytes: number;

  /** `start`: bytes that are taken. */
  constructor(start: number, { isKernel, alignmentBytes }: { isKernel: boolean; alignmentBytes: number }) {
    this.#sizeBytes = start;
    this.isKernel = isKernel;
    this.alignmentBytes = alignmentBytes;
  }

  /** An offset from the start of the frame. */
  place(sizeBytes: number, alignmentBytes: number): number {
    const offset = alignUp(this.#sizeBytes, Math.max(4, alignmentBytes));
    this.#sizeBytes = offset + alignUp(sizeBytes, 4);
    return offset;
  }

  get sizeBytes(): number {
    return alignUp(this.#sizeBytes, this.alignmentBytes);
  }

  /** A number for a call of the function. */
  nextCall(): number {
    return this.#calls++;
  }

  at(offset: number): readonly [LirOperand, StepOperand] {
    return [PLACES.frame, constant(offset)];
  }

  /** In the frame of a function that is called. */
  atCallee(offset: number): AddressOperands {
    return this.top ? [this.top, constant(offset)] : [PLACES.frame, { kind: 'frameEnd', addend: offset }];
  }
}
