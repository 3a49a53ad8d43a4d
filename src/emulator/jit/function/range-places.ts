/**
 * Where in the wave state code of one function keeps what it learns of permitted ranges
 * (regions/permitted-ranges.ts), until the function is left: a region that runs again, in a loop, finds what
 * it knew. There are fewer places than ranges, so ranges may have to share one.
 */
import { assign, operation, push } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { RANGE_COUNT, RANGE_SIZE_BYTES, WAVE_RANGES } from '../../machine/layout.ts';

/** Ranges of a function that have a bit; others are forgotten whenever their region begins. */
const BIT_COUNT = 64;

export class RangePlaces {
  readonly #f: FunctionBuilder;
  #count = 0;
  /** The bits of ranges that are in their places. */
  #known: Local | undefined;

  constructor(f: FunctionBuilder) {
    this.#f = f;
  }

  /**
   * Offsets in the wave state of some ranges, of `count` of them or as many as there can be. Emits `clear`
   * where others may be there; of ranges that are for one time only (`isOnce`), in any case.
   */
  open(count: number, clear: (places: readonly number[]) => void, isOnce = false): readonly number[] {
    const f = this.#f;
    const numbers = Array.from({ length: Math.min(count, RANGE_COUNT) }, (_, i) => this.#count + i);
    this.#count += numbers.length;
    const places = numbers.map((number) => WAVE_RANGES + (number % RANGE_COUNT) * RANGE_SIZE_BYTES);
    const own = isOnce ? 0n : bitsOf((number) => numbers.includes(number));
    const others = bitsOf((number) => !numbers.some((own) => (own - number) % RANGE_COUNT === 0));
    const known = this.#bits;
    const replace = (): void => {
      clear(places);
      assign(f, known, operation('i64.or', operation('i64.and', known, others), own));
    };
    if (isOnce || numbers.some((number) => number >= BIT_COUNT)) replace();
    else {
      push(f, operation('i64.ne', operation('i64.and', known, own), own));
      f.if(undefined, replace);
    }
    return places;
  }

  get #bits(): Local {
    this.#known ??= this.#f.ownLocal('i64');
    return this.#known;
  }
}

function bitsOf(isOne: (number: number) => boolean): bigint {
  const bits = Array.from({ length: BIT_COUNT }, (_, number) => (isOne(number) ? 1n << BigInt(number) : 0n));
  return BigInt.asIntN(
    BIT_COUNT,
    bits.reduce((all, bit) => all | bit),
  );
}
