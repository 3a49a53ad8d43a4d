/** Lanes that make no access look like one that does, so that they ask for nothing else. */
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { laneSpread, spreadLanes } from '../regions/lane-spread.ts';

export class ActiveSpread {
  readonly #f: FunctionBuilder;
  /** Of an access that some lanes make: its vector of NIBBLE_SPREADS, and what was made with it. */
  #spread: Local | undefined;
  readonly #opening: Local[] = [];

  constructor(f: FunctionBuilder) {
    this.#f = f;
  }

  /** Lanes of a value as the access that is being opened sees them. */
  of(lanes: Local): Local {
    if (!this.#spread) return lanes;
    const spread = spreadLanes(this.#f, lanes, this.#spread);
    this.#opening.push(spread);
    return spread;
  }

  /** Ends the opening of an access. */
  close(): void {
    this.#f.free(...this.#opening.splice(0));
  }

  /** Lanes that are off in `active` look like one that is on, to what `emit` opens. */
  within(active: Local, emit: () => void): void {
    const bits = activeBits(this.#f, active);
    this.#spread = laneSpread(this.#f, bits);
    this.#f.free(bits);
    emit();
    this.#f.free(this.#spread);
    this.#spread = undefined;
  }
}

/** The lanes of a mask as bits, in a fresh local. */
export function activeBits(f: FunctionBuilder, mask: Local): Local {
  const bits = f.local('i32');
  f.get(mask);
  f.op('i32x4.bitmask');
  f.set(bits);
  return bits;
}
