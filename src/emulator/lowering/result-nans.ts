/**
 * NaNs among the results of a product of matrices. That of an invalid sum or of an operand has no documented
 * sign and payload: one for all. The sum of all results tells whether one of them may be a NaN, which is
 * rare; then all are looked at where they were stored.
 */
import { assign, loadFrom, ne, operation, push, sum } from '../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { captured } from './emitter.ts';

const NANS = {
  f32: [0x7fc00000, 0x7fc00000, 0x7fc00000, 0x7fc00000],
  f64: [0, 0x7ff80000, 0, 0x7ff80000],
} as const;

export class ResultNans {
  readonly #f: FunctionBuilder;
  readonly #type: 'f32' | 'f64';
  readonly #sum: Local;

  constructor(f: FunctionBuilder, type: 'f32' | 'f64') {
    this.#f = f;
    this.#type = type;
    f.v128([0, 0, 0, 0]);
    this.#sum = captured(f);
  }

  get #width(): 'f32x4' | 'f64x2' {
    return this.#type === 'f64' ? 'f64x2' : 'f32x4';
  }

  /** Vectors of results, in pairs, so that no sum waits for many others. */
  add(results: readonly Local[]): void {
    const f = this.#f;
    const pushSum = (from: number, to: number): void => {
      if (to - from === 1) {
        f.get(results[from]!);
        return;
      }
      const middle = (from + to) >> 1;
      pushSum(from, middle);
      pushSum(middle, to);
      f.op(`${this.#width}.add`);
    };
    pushSum(0, results.length);
    f.get(this.#sum);
    f.op(`${this.#width}.add`);
    f.set(this.#sum);
  }

  /** Behind the product, whose results are `sizeBytes` each, at `offsets` from an address. */
  repair({ from, sizeBytes }: { readonly from: Local; readonly sizeBytes: number }, offsets: readonly number[]): void {
    const f = this.#f;
    const isNan = (vector: Local) => operation(`${this.#width}.ne`, vector, vector);
    push(f, operation('v128.any_true', isNan(this.#sum)));
    f.free(this.#sum);
    f.if(undefined, () => {
      f.v128(NANS[this.#type]);
      const nan = captured(f);
      const [at, end, result] = [f.local('i32'), f.local('i32'), f.local('v128')];
      assign(f, at, from);
      assign(f, end, sum(from, sizeBytes));
      f.loop(undefined, (again) => {
        for (const offset of offsets) {
          assign(f, result, loadFrom('v128.load', at, offset));
          f.get(at);
          push(f, operation('v128.bitselect', nan, result, isNan(result)));
          f.store('v128.store', offset);
        }
        assign(f, at, sum(at, 16));
        push(f, ne(at, end));
        f.brIf(again);
      });
      f.free(nan, at, end, result);
    });
  }
}
