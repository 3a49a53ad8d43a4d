/**
 * What runs where, as tools asked for it. Hooks at one place run in the order in which they were inserted; of
 * several tools, the first one's come first.
 */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { PointHook } from './hook.ts';

/**
 * Where hooks of an original instruction run: `before` it, however control comes there; `after` it, when
 * control goes on with the next one; `taken`, on the way to its branch target; `entry`, before it, when
 * control comes from outside of the function, by a launch or a call.
 */
export type Side = 'entry' | 'before' | 'after' | 'taken';

export const SIDES: readonly Side[] = ['entry', 'before', 'after', 'taken'];

/** What stands in place of an original instruction. */
export type Replacement = { readonly kind: 'removed' } | { readonly kind: 'replaced'; readonly hook: PointHook };

/** What stands at one instruction. */
export type PlaceInsertions = { readonly [S in Side]?: readonly PointHook[] } & { readonly replacement?: Replacement };

interface Place {
  entry?: PointHook[];
  before?: PointHook[];
  after?: PointHook[];
  taken?: PointHook[];
  replacement?: Replacement;
}

export class Insertions {
  readonly #places = new Map<number, Place>();
  /** In the order in which the first hook came there. */
  readonly #hooked: Readonly<Record<Side, (readonly [address: number, hooks: readonly PointHook[]])[]>> = {
    ...{ entry: [], before: [], after: [], taken: [] },
  };
  readonly #replacements = new Map<number, Replacement>();

  /** `address`: of the original instruction. */
  insert(side: Side, address: number, hook: PointHook): void {
    const place = this.#placeAt(address);
    const hooks = place[side];
    if (hooks) hooks.push(hook);
    else {
      const first = [hook];
      place[side] = first;
      this.#hooked[side].push([address, first]);
    }
  }

  /** Throws USAGE where another replacement stands already. */
  replace(address: number, replacement: Replacement): void {
    if (this.#replacements.has(address))
      throw new WavewrightError('USAGE', `the instruction at ${hex(address)} is replaced twice`);
    this.#replacements.set(address, replacement);
    this.#placeAt(address).replacement = replacement;
  }

  /** Undefined where there is nothing. */
  at(address: number): PlaceInsertions | undefined {
    return this.#places.get(address);
  }

  /** All hooks with their places; those that stand in place of an instruction count as before it. */
  *all(): Generator<readonly [address: number, side: Side, hook: PointHook]> {
    for (const side of SIDES) {
      for (const [address, hooks] of this.#hooked[side]) for (const hook of hooks) yield [address, side, hook];
    }
    for (const [address, replacement] of this.#replacements) {
      if (replacement.kind === 'replaced') yield [address, 'before', replacement.hook];
    }
  }

  /** Addresses of instructions that something stands in place of, be it nothing. */
  replaced(): Iterable<number> {
    return this.#replacements.keys();
  }

  /** Places with hooks or a replacement; one counts for each side. */
  get count(): number {
    return SIDES.reduce((sum, side) => sum + this.#hooked[side].length, this.#replacements.size);
  }

  #placeAt(address: number): Place {
    let place = this.#places.get(address);
    if (!place) {
      place = {};
      this.#places.set(address, place);
    }
    return place;
  }
}
