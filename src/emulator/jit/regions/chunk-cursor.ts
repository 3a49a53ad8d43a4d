/** The chunk at hand of a loop over the chunks of a wave, and which of its lanes are on. */
import { assign, shl, sum } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { pushNibbleMask } from '../../lowering/chunk-place.ts';
import { captured } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';

export class ChunkCursor {
  /** Number of the first lane. */
  readonly chunk: Local;
  /** The wave's address plus 4 bytes for each lane before. */
  readonly pointer: Local;
  readonly #state: FunctionState;

  constructor(state: FunctionState) {
    this.#state = state;
    this.chunk = state.f.local('i32');
    this.pointer = state.f.local('i32');
  }

  release(): void {
    this.#state.f.free(this.chunk, this.pointer);
  }

  goToFirst(): void {
    const { f, wave } = this.#state;
    assign(f, this.chunk, 0);
    assign(f, this.pointer, wave);
  }

  /** Goes to the lane whose number is on the stack. */
  goToPushed(): void {
    const { f, wave } = this.#state;
    f.set(this.chunk);
    assign(f, this.pointer, sum(wave, shl(this.chunk, 2)));
  }

  /** Goes on to the next chunk with an active lane, or to `done` behind the last chunk. */
  skipInactive(exec: Local, done: BlockLabel): void {
    const { f, spaces } = this.#state;
    const lanes = f.local('i32');
    const rest = f.local('i64');
    f.get(exec);
    f.get(this.chunk);
    f.op('i64.extend_i32_u');
    f.op('i64.shr_u');
    f.tee(rest);
    f.op('i64.eqz');
    f.if(undefined, () => {
      f.i32(spaces.waveSize);
      f.set(this.chunk);
      f.br(done);
    });
    f.get(rest);
    f.op('i64.ctz');
    f.op('i32.wrap_i64');
    f.i32(-4);
    f.op('i32.and');
    f.set(lanes);
    this.advance(lanes);
    f.free(lanes, rest);
  }

  /** Goes on to the next chunk, or by so many lanes. */
  advance(lanes: Local | number = 4): void {
    const { f } = this.#state;
    f.get(this.pointer);
    if (typeof lanes === 'number') f.i32(lanes * 4);
    else {
      f.get(lanes);
      f.i32(2);
      f.op('i32.shl');
    }
    f.op('i32.add');
    f.set(this.pointer);
    f.get(this.chunk);
    if (typeof lanes === 'number') f.i32(lanes);
    else f.get(lanes);
    f.op('i32.add');
    f.set(this.chunk);
  }

  pushIsBeforeEnd(): void {
    const { f, spaces } = this.#state;
    f.get(this.chunk);
    f.i32(spaces.waveSize);
    f.op('i32.ne');
  }

  /** Active lanes from the chunk at hand on, cut to `bits`. */
  setNibble(nibble: Local, exec: Local, bits: number): void {
    const { f } = this.#state;
    f.get(exec);
    f.get(this.chunk);
    f.op('i64.extend_i32_u');
    f.op('i64.shr_u');
    f.op('i32.wrap_i64');
    f.i32(bits);
    f.op('i32.and');
    f.set(nibble);
  }

  /** Mask of four lanes, from one on, of `bits`, which has no more where that is the first one. */
  maskOf(bits: Local, lane?: number): Local {
    const { f } = this.#state;
    if (lane === undefined) pushNibbleMask(f, bits);
    else {
      const nibble = f.local('i32');
      f.get(bits);
      f.i32(lane);
      f.op('i32.shr_u');
      f.i32(15);
      f.op('i32.and');
      f.set(nibble);
      pushNibbleMask(f, nibble);
      f.free(nibble);
    }
    return captured(f);
  }
}
