/**
 * Where in the wave state code of one function keeps what it learns of permitted ranges
 * (regions/permitted-ranges.ts). A region that runs again finds what it knew: in a loop, and in further waves
 * that run in the same place, until another function does, or memory is freed or protected. There are fewer
 * places than ranges, so ranges may have to share one. Of a function in two parts (full waves, and the blocks
 * behind them), which have the same literals, only the blocks keep any.
 */
import { assign, loadFrom, operation, push, zext64 } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import {
  RANGE_COUNT,
  RANGE_SIZE_BYTES,
  RANGES_EPOCH,
  WAVE_RANGES,
  WAVE_RANGES_KNOWN,
  WAVE_RANGES_OWNER,
} from '../../machine/layout.ts';

/** Ranges of a function that have a bit; others are forgotten whenever their region begins. */
const BIT_COUNT = 63;
/** Says that the other bits are those of this wave. */
const HAS_LOOKED = -(2n ** 63n);

interface Places {
  readonly f: FunctionBuilder;
  readonly wave: Local;
  readonly literalBase: Local;
}

export class RangePlaces {
  readonly #places: Places;
  #count = 0;
  /** The bits of ranges that are in their places; 0 until the function looks for those that it left. */
  #known: Local | undefined;

  constructor(places: Places) {
    this.#places = places;
  }

  /**
   * Offsets in the wave state of some ranges, of `count` of them or as many as there can be. Emits `clear`
   * where others may be there; of ranges that are for one time only (`isOnce`), in any case.
   */
  open(count: number, clear: (places: readonly number[]) => void, isOnce = false): readonly number[] {
    const { f, wave } = this.#places;
    const numbers = Array.from({ length: Math.min(count, RANGE_COUNT) }, (_, i) => this.#count + i);
    this.#count += numbers.length;
    const places = numbers.map((number) => WAVE_RANGES + (number % RANGE_COUNT) * RANGE_SIZE_BYTES);
    const own = isOnce ? 0n : bitsOf((number) => numbers.includes(number));
    const others = bitsOf((number) => !numbers.some((taken) => (taken - number) % RANGE_COUNT === 0)) | HAS_LOOKED;
    const known = this.#bits;
    const replace = (): void => {
      clear(places);
      assign(f, known, operation('i64.or', operation('i64.and', known, others), own));
      f.get(wave);
      f.get(known);
      f.store('i64.store', WAVE_RANGES_KNOWN);
    };
    const isUnknown = operation('i64.ne', operation('i64.and', known, own), own);
    if (isOnce || numbers.some((number) => number >= BIT_COUNT)) {
      this.#look();
      replace();
    } else {
      push(f, isUnknown);
      f.if(undefined, () => {
        this.#look();
        push(f, isUnknown);
        f.if(undefined, replace);
      });
    }
    return places;
  }

  /** Emits, once in a call of the function, what finds the ranges that it left. */
  #look(): void {
    const { f, wave, literalBase } = this.#places;
    const known = this.#bits;
    push(f, operation('i64.ge_s', known, 0n));
    f.if(undefined, () => {
      const owner = f.local('i64');
      const epoch = operation('i64.shl', zext64(loadFrom('i32.load', 0, RANGES_EPOCH)), 32n);
      assign(f, owner, operation('i64.or', epoch, zext64(literalBase)));
      push(f, operation('i64.eq', owner, loadFrom('i64.load', wave, WAVE_RANGES_OWNER)));
      f.if(
        undefined,
        () => assign(f, known, loadFrom('i64.load', wave, WAVE_RANGES_KNOWN)),
        () => {
          f.get(wave);
          f.get(owner);
          f.store('i64.store', WAVE_RANGES_OWNER);
          assign(f, known, HAS_LOOKED);
        },
      );
      f.free(owner);
    });
  }

  get #bits(): Local {
    this.#known ??= this.#places.f.ownLocal('i64');
    return this.#known;
  }
}

function bitsOf(isOne: (number: number) => boolean): bigint {
  const bits = Array.from({ length: BIT_COUNT }, (_, number) => (isOne(number) ? 1n << BigInt(number) : 0n));
  return bits.reduce((all, bit) => all | bit);
}
