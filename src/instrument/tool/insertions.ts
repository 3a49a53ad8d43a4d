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

export class Insertions {
  readonly #hooks: Readonly<Record<Side, Map<number, PointHook[]>>> = {
    entry: new Map(),
    before: new Map(),
    after: new Map(),
    taken: new Map(),
  };
  readonly #replacements = new Map<number, Replacement>();

  /** `address`: of the original instruction. */
  insert(side: Side, address: number, hook: PointHook): void {
    const hooks = this.#hooks[side].get(address);
    if (hooks) hooks.push(hook);
    else this.#hooks[side].set(address, [hook]);
  }

  /** Throws USAGE where another replacement stands already. */
  replace(address: number, replacement: Replacement): void {
    if (this.#replacements.has(address))
      throw new WavewrightError('USAGE', `the instruction at ${hex(address)} is replaced twice`);
    this.#replacements.set(address, replacement);
  }

  at(side: Side, address: number): readonly PointHook[] {
    return this.#hooks[side].get(address) ?? [];
  }

  /** All hooks with their places; those that stand in place of an instruction count as before it. */
  *all(): Generator<readonly [address: number, side: Side, hook: PointHook]> {
    for (const side of SIDES) {
      for (const [address, hooks] of this.#hooks[side]) for (const hook of hooks) yield [address, side, hook];
    }
    for (const [address, replacement] of this.#replacements) {
      if (replacement.kind === 'replaced') yield [address, 'before', replacement.hook];
    }
  }

  /** Addresses of instructions that something stands in place of, be it nothing. */
  replaced(): Iterable<number> {
    return this.#replacements.keys();
  }

  replacementOf(address: number): Replacement | undefined {
    return this.#replacements.get(address);
  }

  has(address: number): boolean {
    return this.#replacements.has(address) || SIDES.some((side) => this.#hooks[side].has(address));
  }

  /** Places with hooks or a replacement. */
  get count(): number {
    return SIDES.reduce((sum, side) => sum + this.#hooks[side].size, this.#replacements.size);
  }
}
