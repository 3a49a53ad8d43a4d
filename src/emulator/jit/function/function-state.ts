/** One function being emitted: what all its regions use. */
import { loadFrom, type Push } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import type { ValueType } from '../../../wasm/types.ts';
import type { Emitter } from '../../lowering/emitter.ts';
import type { AddressSpaces } from '../../lowering/memory-access.ts';
import type { ModuleContext } from '../../lowering/module-context.ts';
import type { Decoded } from './decoded.ts';
import type { Literals } from './literals.ts';
import { RangePlaces } from './range-places.ts';

export class FunctionState {
  readonly f: FunctionBuilder;
  readonly e: Emitter;
  readonly context: ModuleContext;
  readonly spaces: AddressSpaces;
  readonly wave: Local;
  readonly literals: Literals;
  /** Address of the literals. */
  readonly literalBase: Local;
  readonly rangePlaces: RangePlaces;

  constructor(
    { context, spaces, literals }: Pick<FunctionState, 'context' | 'spaces' | 'literals'>,
    f: FunctionBuilder,
    { wave, literalBase }: Pick<FunctionState, 'wave' | 'literalBase'>,
  ) {
    this.context = context;
    this.spaces = spaces;
    this.literals = literals;
    this.f = f;
    this.e = { f, context };
    this.wave = wave;
    this.literalBase = literalBase;
    this.rangePlaces = new RangePlaces({ f, wave, literalBase });
  }

  /** A part of the function that it calls: a function with these parameters behind (wave, literals). */
  part(name: string, parameters: readonly ValueType[], results: readonly ValueType[]): FunctionState {
    const { module } = this.context;
    const f = module.function(['i32', 'i32', ...parameters], results, `${this.f.name} ${name}`);
    return new FunctionState(this, f, { wave: f.param(0), literalBase: f.param(1) });
  }

  /** A mask of the wave from its registers, as i64. */
  mask(offset: number): Push {
    return loadFrom(this.spaces.waveSize === 64 ? 'i64.load' : 'i64.load32_u', this.wave, offset);
  }

  pushLiteral(index: number): void {
    this.f.get(this.literalBase);
    this.f.load('i32.load', index * 4);
  }

  /** Pushes the record that a wave goes on with outside of the function; `last`: what ends its block. */
  pushSuccessor(way: 'next' | 'target', last: Decoded): void {
    this.pushLiteral(this.literals.index({ kind: way, instruction: last.index }));
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
