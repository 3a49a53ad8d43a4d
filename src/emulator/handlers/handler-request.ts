/** What a handler of T0 is to be made from. */
import type { Step } from '../../ir/step.ts';
import type { Program } from '../../ir/types.ts';
import type { HandlerMeaning } from '../lowering/lower.ts';
import { weightOf } from '../machine/instruction-weight.ts';
import type { OperandForm } from '../machine/operand-places.ts';

/** Of a handler: about how long it takes (instruction-weight.ts), and how many values its program has. */
export type HandlerSize = readonly [key: string, weight: number, valueCount: number];

export interface HandlerParts extends Omit<HandlerMeaning, 'key'> {
  /** One of the key; undefined for records that stand for no instruction: they cost the budget nothing. */
  readonly step: Step | undefined;
}

export class HandlerRequest implements HandlerMeaning {
  readonly key: string;
  readonly size: HandlerSize;
  readonly #make: () => HandlerParts;
  #parts: HandlerParts | undefined;

  /**
   * Where its size is known, its parts are made when they are asked for. Throws UNSUPPORTED, by name, for a
   * step whose program is not implemented: its size is never known.
   */
  constructor(key: string, make: () => HandlerParts, size?: HandlerSize) {
    this.key = key;
    this.#make = make;
    this.size = size ?? [key, weightOf(this.program), this.program.values.length];
  }

  get program(): Program {
    return this.#made.program;
  }

  get operands(): readonly OperandForm[] {
    return this.#made.operands;
  }

  get step(): Step | undefined {
    return this.#made.step;
  }

  get #made(): HandlerParts {
    this.#parts ??= this.#make();
    return this.#parts;
  }
}
