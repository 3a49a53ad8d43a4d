/**
 * Notes on which iterations of a loop skipped which code: for each iteration and each skip a vector that is
 * not zero when a lane had work there. Groups of chunks add theirs one after the other; those of a fast way
 * stand apart until it is known that it did not give up, since its values may have been wrong then.
 */
import { assert } from '../../../base/errors.ts';
import {
  assign,
  loadFrom,
  ltU,
  mul,
  operation,
  or,
  type Push,
  push,
  select,
  shl,
  sum,
} from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { captured } from '../../lowering/emitter.ts';
import { MATRIX_ROW_COUNT, WAVE_MATRIX_ROWS } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';

/** Iterations after which the wave's registers are made complete, at most: bounds the notes. */
export const MAX_NOTED_ITERATIONS = 96;
/** Iterations that are cleared and counted together. */
const BLOCK = 4;
const APART = WAVE_MATRIX_ROWS + MATRIX_ROW_COUNT * 128;

export class SkipNotes {
  readonly #state: FunctionState;
  readonly #count: number;

  /** `count`: skips of the loop. */
  constructor(state: FunctionState, count: number) {
    this.#state = state;
    this.#count = count;
    const sizeBytes = MAX_NOTED_ITERATIONS * count * 16;
    assert(MAX_NOTED_ITERATIONS % BLOCK === 0, 'iterations are in whole blocks');
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

  /** Iterations are cleared, and counted, a block of them at a time. */
  clear(iterations: Local): void {
    const { f } = this.#state;
    this.#each(iterations, BLOCK, (at) => {
      for (let note = 0; note < this.#count * BLOCK; note++) {
        f.get(at);
        f.v128([0, 0, 0, 0]);
        f.store('v128.store', WAVE_MATRIX_ROWS + note * 16);
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
    this.#each(iterations, 1, (at) => {
      for (let skip = 0; skip < this.#count; skip++)
        this.note(at, skip, false, () => {
          f.get(at);
          f.load('v128.load', APART + skip * 16);
        });
    });
  }

  /** In how many iterations the code of each skip ran, in fresh locals. */
  countRan(iterations: Local): Local[] {
    const { f } = this.#state;
    const blocks = f.local('i32');
    assign(f, blocks, 0);
    const zero: Push = () => f.v128([0, 0, 0, 0]);
    const empty = Array.from({ length: this.#count }, () => {
      zero(f);
      return captured(f);
    });
    this.#each(iterations, BLOCK, (at) => {
      assign(f, blocks, sum(blocks, 1));
      for (const [skip, lanes] of empty.entries()) {
        const note = (iteration: number): Push =>
          loadFrom('v128.load', at, WAVE_MATRIX_ROWS + (iteration * this.#count + skip) * 16);
        const pair = (first: number): Push => operation('i16x8.narrow_i32x4_s', note(first), note(first + 1));
        // Four bytes for each iteration, which are a lane.
        const all = operation('i8x16.narrow_i16x8_s', pair(0), pair(2));
        assign(f, lanes, operation('i32x4.add', lanes, operation('i32x4.eq', all, zero)));
      }
    });
    const ran = empty.map((lanes) => {
      const local = f.local('i32');
      // Each iteration without a note is -1, also those that fill the last block.
      assign(f, local, shl(blocks, Math.log2(BLOCK)));
      for (let lane = 0; lane < 4; lane++) {
        f.get(local);
        f.get(lanes);
        f.lane('i32x4.extract_lane', lane);
        f.op('i32.add');
        f.set(local);
      }
      return local;
    });
    f.free(blocks, ...empty);
    return ran;
  }

  /** Emits `body` where the notes of every `step`th iteration are; `iterations` is at least 1. */
  #each(iterations: Local, step: number, body: (at: Local) => void): void {
    const { f, wave } = this.#state;
    const [at, end] = [f.local('i32'), f.local('i32')];
    assign(f, at, wave);
    assign(f, end, sum(wave, this.offset(iterations)));
    f.loop(undefined, (again) => {
      body(at);
      assign(f, at, sum(at, this.#count * step * 16));
      push(f, ltU(at, end));
      f.brIf(again);
    });
    f.free(at, end);
  }
}
