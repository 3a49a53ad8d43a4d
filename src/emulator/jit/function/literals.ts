/**
 * Numbers that compiled code needs but that change from one place of the code to another: addresses of
 * records and tables. They stand in memory, so that a module can be used again wherever the same code is
 * decoded.
 */

/**
 * Of instruction `instruction` of the function. `next` and `target`: where the wave goes on after it, outside
 * the function. `counts`: where the executions of the instructions in `together` are counted. `fits` and
 * `series` are no literals, but how many of the last waves, and series, that ran from there were as expected
 * (function/fits.ts).
 */
export interface Literal {
  readonly kind: 'record' | 'pc' | 'nextPc' | 'table' | 'next' | 'target' | 'counts' | 'fits' | 'series';
  readonly instruction: number;
  /** Of a table: the operand that it is. */
  readonly operand?: number;
  readonly together?: readonly number[];
}

export class Literals {
  readonly items: Literal[] = [];
  readonly #indices = new Map<string, number>();

  index(literal: Literal): number {
    const key = `${literal.kind} ${literal.instruction} ${literal.operand ?? ''} ${literal.together?.join() ?? ''}`;
    let index = this.#indices.get(key);
    if (index === undefined) {
      index = this.items.push(literal) - 1;
      this.#indices.set(key, index);
    }
    return index;
  }
}
