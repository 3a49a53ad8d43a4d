/** One function being emitted: what all its regions use. Parameters are (record, wave). */
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import type { Emitter } from '../../lowering/emitter.ts';
import type { AddressSpaces } from '../../lowering/memory-access.ts';
import type { ModuleContext } from '../../lowering/module-context.ts';
import type { Decoded } from './decoded.ts';
import { Literals } from './literals.ts';

export class FunctionState {
  readonly f: FunctionBuilder;
  readonly e: Emitter;
  readonly context: ModuleContext;
  readonly spaces: AddressSpaces;
  readonly record: Local;
  readonly wave: Local;
  readonly literals = new Literals();
  /** Address of the literals. */
  readonly literalBase: Local;

  constructor(context: ModuleContext, spaces: AddressSpaces, name: string) {
    this.context = context;
    this.spaces = spaces;
    this.f = context.module.function(context.handlerType.parameters, context.handlerType.results, name);
    this.e = { f: this.f, context };
    this.record = this.f.param(0);
    this.wave = this.f.param(1);
    this.literalBase = this.f.local('i32');
  }

  pushLiteral(index: number): void {
    this.f.get(this.literalBase);
    this.f.load('i32.load', index * 4);
  }

  /** Pushes where executions of instructions of the function are counted. */
  pushCounts(together: readonly Decoded[]): void {
    const numbers = together.map(({ index }) => index);
    this.pushLiteral(this.literals.index({ kind: 'counts', instruction: numbers[0]!, together: numbers }));
  }

  /** Pushes the record of an instruction of the function. */
  pushRecord(instruction: number): void {
    this.pushLiteral(this.literals.index({ kind: 'record', instruction }));
  }
}
