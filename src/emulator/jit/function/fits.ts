/**
 * Whether it pays to expect that waves are as most are: where nearly none was lately, the next ones are not
 * looked at.
 */
import { loadFrom, ltS, mul, push, select, sum, type Term } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { FunctionState } from './function-state.ts';

/** What a wave that fits counts, beside one that does not; what they count in the beginning, and at most. */
const FIT = 2;
export const FIRST_FITS = 15;
const MAX_FITS = 30;
/** Waves that are not looked at when too few have fitted. */
const SKIPPED = 60;

export class Fits {
  readonly #state: FunctionState;
  readonly #offset: number;

  /** Of waves that enter at an instruction of the function, or of series that begin with them. */
  constructor(state: FunctionState, instruction: number, kind: 'fits' | 'series' = 'fits') {
    this.#state = state;
    this.#offset = 4 * state.literals.index({ kind, instruction });
  }

  /** Goes to `no` where the wave at hand is not looked at. */
  emitRefusal(no: BlockLabel): void {
    const { f } = this.#state;
    f.block(undefined, (looks) => {
      push(f, ltS(this.#fits, 0));
      f.op('i32.eqz');
      f.brIf(looks);
      this.#set(sum(this.#fits, 1));
      f.br(no);
    });
  }

  /** Counts a wave that fitted; `more`: so many others that did. */
  emitFit(more?: Local): void {
    const fit = sum(this.#fits, FIT, ...(more ? [mul(more, FIT)] : []));
    this.#set(select(fit, MAX_FITS, ltS(fit, MAX_FITS)));
  }

  /** Counts one that did not. */
  emitMisfit(): void {
    this.#set(select(sum(this.#fits, -1), -SKIPPED, ltS(0, this.#fits)));
  }

  get #fits(): Term {
    return loadFrom('i32.load', this.#state.literalBase, this.#offset);
  }

  #set(value: Term): void {
    const { f, literalBase } = this.#state;
    f.get(literalBase);
    push(f, value);
    f.store('i32.store', this.#offset);
  }
}
