/** The instruction of a handler, which runs for every record of its shape. Parameter 0 is the record. */
import type { FunctionBuilder } from '../../wasm/function.ts';
import { RECORD_NEXT_PC, RECORD_OPERANDS, RECORD_PC, RECORD_SIZE_BYTES, RECORD_TARGET } from '../machine/layout.ts';
import type { InstructionPlace } from './handler-state.ts';

export class RecordPlace implements InstructionPlace {
  readonly #f: FunctionBuilder;

  constructor(f: FunctionBuilder) {
    this.#f = f;
  }

  pushRecord(): void {
    this.#f.get(this.#f.param(0));
  }

  pushParameter(operand: number, dword: number): void {
    this.#pushField(RECORD_OPERANDS + operand * 8 + dword * 4);
  }

  parameter(_operand: number, _dword: number): number | undefined {
    return undefined;
  }

  pushPc(kind: 'pc' | 'nextPc'): void {
    this.#pushField(kind === 'pc' ? RECORD_PC : RECORD_NEXT_PC);
  }

  pushTarget(): void {
    this.#pushField(RECORD_TARGET);
  }

  pushFollowing(): void {
    this.pushRecord();
    this.#f.i32(RECORD_SIZE_BYTES);
    this.#f.op('i32.add');
  }

  pushResumption(): void {
    this.pushFollowing();
  }

  goOn(): void {
    this.#f.return();
  }

  #pushField(offset: number): void {
    this.pushRecord();
    this.#f.load('i32.load', offset);
  }
}
