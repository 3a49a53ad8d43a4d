/**
 * Notes on which iterations of a loop skipped which code: for each iteration and each skip a vector that is
 * not zero when a lane had work there. Groups of chunks add theirs one after the other; those of a fast way
 * stand apart until it is known that it did not give up, since its values may have been wrong then.
 */
import { assert } from '../../../base/errors.ts';
import { loadFrom, mul, operation, or, type Push, push, select } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { MATRIX_ROW_COUNT, WAVE_MATRIX_ROWS } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';

/** Iterations after which the wave's registers are made complete, at most: bounds the notes. */
export const MAX_NOTED_ITERATIONS = 96;
const APART = WAVE_MATRIX_ROWS + MATRIX_ROW_COUNT * 128;

export class SkipNotes {
  readonly #state: FunctionState;
  readonly #count: number;

  /** `count`: skips of the loop. */
  constructor(state: FunctionState, count: number) {
    this.#state = state;
    this.#count = count;
    const sizeBytes = MAX_NOTED_ITERATIONS * count * 16;
    assert(WAVE_MATRIX_ROWS + sizeBytes <= APART, 'notes on skips fit where they stand');
  }

  /** Sets where the notes of the first iteration are, less their offset in the wave. */
  begin(at: Local): void {
    const { f, wave } = this.#state;
    f.get(wave);
    f.set(at);
  }

  /** Goes on to the next iteration. */
  advance(at: Local): void {
    const { f } = this.#state;
    f.get(at);
    f.i32(this.#count * 16);
    f.op('i32.add');
    f.set(at);
  }

  clear(iterations: Local): void {
    const { f } = this.#state;
    this.#each(iterations, (at) => {
      for (let skip = 0; skip < this.#count; skip++) {
        f.get(at);
        f.v128([0, 0, 0, 0]);
        f.store('v128.store', WAVE_MATRIX_ROWS + skip * 16);
      }
    });
  }

  /** Notes a mask of lanes, which `pushLanes` pushes. */
  note(at: Local, skip: number, isApart: boolean, pushLanes: () => void): void {
    const { f } = this.#state;
    f.get(at);
    pushLanes();
    if (!isApart) {
      f.get(at);
      f.load('v128.load', WAVE_MATRIX_ROWS + skip * 16);
      f.op('v128.or');
    }
    f.store('v128.store', (isApart ? APART : WAVE_MATRIX_ROWS) + skip * 16);
  }

  /** How far the notes of an iteration are behind those of the first one. */
  offset(iteration: Local): Push {
    return mul(iteration, this.#count * 16);
  }

  /** Notes whether a lane is in a mask, apart, with what `hasOthers` says that other lanes noted. */
  noteLane(at: Local, skip: number, bit: Local, hasOthers: Push): void {
    const { f } = this.#state;
    const others = loadFrom('i32.load', at, APART + skip * 16);
    f.get(at);
    push(f, operation('i32x4.splat', or(bit, select(others, 0, hasOthers))));
    f.store('v128.store', APART + skip * 16);
  }

  /** Adds what stands apart. */
  merge(iterations: Local): void {
    const { f } = this.#state;
    this.#each(iterations, (at) => {
      for (let skip = 0; skip < this.#count; skip++)
        this.note(at, skip, false, () => {
          f.get(at);
          f.load('v128.load', APART + skip * 16);
        });
    });
  }

  /** Emits `body` for each skip of each iteration; `pushRan` pushes whether its code ran. */
  forEach(iterations: Local, body: (skip: number, pushRan: () => void) => void): void {
    const { f } = this.#state;
    this.#each(iterations, (at) => {
      for (let skip = 0; skip < this.#count; skip++)
        body(skip, () => {
          f.get(at);
          f.load('v128.load', WAVE_MATRIX_ROWS + skip * 16);
          f.op('v128.any_true');
        });
    });
  }

  /** `iterations` is at least 1. */
  #each(iterations: Local, body: (at: Local) => void): void {
    const { f, wave } = this.#state;
    const [at, end] = [f.local('i32'), f.local('i32')];
    f.get(wave);
    f.tee(at);
    f.get(iterations);
    f.i32(this.#count * 16);
    f.op('i32.mul');
    f.op('i32.add');
    f.set(end);
    f.loop(undefined, (again) => {
      body(at);
      this.advance(at);
      f.get(at);
      f.get(end);
      f.op('i32.ne');
      f.brIf(again);
    });
    f.free(at, end);
  }
}
