/** An instruction at one place of a function: its operands are known, its records are literals. */
import { assert } from '../../../base/errors.ts';
import type { InstructionPlace } from '../../lowering/handler-state.ts';
import { RECORD_SIZE_BYTES } from '../../machine/layout.ts';
import type { Decoded } from '../function/decoded.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { Literal } from '../function/literals.ts';

export class FixedPlace implements InstructionPlace {
  readonly #state: FunctionState;
  readonly #instruction: Decoded;
  readonly #goOn: () => void;

  /** `goOn` as in the interface. */
  constructor(state: FunctionState, instruction: Decoded, goOn: () => void) {
    this.#state = state;
    this.#instruction = instruction;
    this.#goOn = goOn;
  }

  pushRecord(): void {
    this.#state.pushRecord(this.#instruction.index);
  }

  pushParameter(operand: number, dword: number): void {
    if (this.#instruction.shape.operands[operand]!.kind === 'laneTable') this.#pushLiteral('table', operand);
    else this.#state.f.i32(this.#instruction.parameter(operand, dword));
  }

  parameter(operand: number, dword: number): number {
    return this.#instruction.parameter(operand, dword);
  }

  pushPc(kind: 'pc' | 'nextPc'): void {
    this.#pushLiteral(kind);
  }

  pushTarget(): void {
    assert(false, 'direct branches are in regions');
  }

  pushFollowing(): void {
    this.pushRecord();
    this.#state.f.i32(RECORD_SIZE_BYTES);
    this.#state.f.op('i32.add');
  }

  pushResumption(): void {
    this.#pushLiteral('next');
  }

  goOn(): void {
    this.#goOn();
  }

  #pushLiteral(kind: Literal['kind'], operand?: number): void {
    const instruction = this.#instruction.index;
    const literal = operand === undefined ? { kind, instruction } : { kind, instruction, operand };
    this.#state.pushLiteral(this.#state.literals.index(literal));
  }
}
