/** Rows that a region writes while other lanes still read them: these read copies. */
import { assert } from '../../../base/errors.ts';
import { TEMPORARY_ROW_COUNT, WAVE_TEMPORARY_ROWS } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';

export class RowCopies {
  readonly #state: FunctionState;
  readonly #copies = new Map<number, number>();

  constructor(state: FunctionState) {
    this.#state = state;
  }

  /** Offset in the wave state of what lanes read of a row. */
  of(offset: number): number {
    return this.#copies.get(offset) ?? offset;
  }

  copy(offset: number): void {
    const { f, wave, spaces } = this.#state;
    const rowSize = spaces.waveSize * 4;
    assert(this.#copies.size < TEMPORARY_ROW_COUNT, 'rows that other lanes read have copies');
    const copy = WAVE_TEMPORARY_ROWS + this.#copies.size * rowSize;
    this.#copies.set(offset, copy);
    for (let at = 0; at < rowSize; at += 16) {
      f.get(wave);
      f.get(wave);
      f.load('v128.load', offset + at);
      f.store('v128.store', copy + at);
    }
  }
}
