/**
 * What runs where, as tools asked for it. Hooks at one place run in the order in which they were inserted; of
 * several tools, the first one's come first.
 */
import { AddressTable } from '../../base/address-table.ts';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { Guard, HookCode, PointHook } from './hook.ts';

/**
 * Where hooks of an original instruction run: `before` it, however control comes there; `after` it, when
 * control goes on with the next one; `taken`, on the way to its branch target; `entry`, before it, when
 * control comes from outside of the function, by a launch or a call.
 */
export type Side = 'entry' | 'before' | 'after' | 'taken';

export const SIDES: readonly Side[] = ['entry', 'before', 'after', 'taken'];

/** What stands in place of an original instruction. */
export type Replacement = { readonly kind: 'removed' } | { readonly kind: 'replaced'; readonly hook: PointHook };

/** One hook, as most places have, or several. */
type Hooks = PointHook | PointHook[];

export class Insertions {
  readonly #hooks: Readonly<Record<Side, AddressTable<Hooks>>> = {
    entry: new AddressTable(),
    before: new AddressTable(),
    after: new AddressTable(),
    taken: new AddressTable(),
  };
  readonly #replacements = new Map<number, Replacement>();
  readonly #guards = new Map<HookCode, Guard>();

  /** Codes of hooks that are made inside of a guard. */
  get guards(): ReadonlyMap<HookCode, Guard> {
    return this.#guards;
  }

  guard({ codes }: PointHook, guard: Guard): void {
    for (const code of codes) this.#guards.set(code, guard);
  }

  /** `address`: of the original instruction. */
  insert(side: Side, address: number, hook: PointHook): void {
    const places = this.#hooks[side];
    const hooks = places.get(address);
    if (Array.isArray(hooks)) hooks.push(hook);
    else places.set(address, hooks ? [hooks, hook] : hook);
  }

  /** Throws USAGE where another replacement stands already. */
  replace(address: number, replacement: Replacement): void {
    if (this.#replacements.has(address))
      throw new WavewrightError('USAGE', `the instruction at ${hex(address)} is replaced twice`);
    this.#replacements.set(address, replacement);
  }

  /** The hooks of a place, for code that is laid out: they are there no longer then. */
  take(side: Side, address: number): readonly PointHook[] | PointHook | undefined {
    const places = this.#hooks[side];
    const hooks = places.get(address);
    if (hooks) places.set(address, undefined);
    return hooks;
  }

  /** What stands in place of an instruction; it is there no longer then. */
  takeReplacement(address: number): Replacement | undefined {
    if (this.#replacements.size === 0) return undefined;
    const replacement = this.#replacements.get(address);
    this.#replacements.delete(address);
    return replacement;
  }

  /**
   * All hooks that are there, side by side, by address; those that stand in place of an instruction count as
   * before it.
   */
  forEach(visit: (address: number, side: Side, hook: PointHook) => void): void {
    for (const side of SIDES) {
      this.#hooks[side].forEach((hooks, address) => {
        if (Array.isArray(hooks)) for (const hook of hooks) visit(address, side, hook);
        else visit(address, side, hooks);
      });
    }
    for (const [address, replacement] of this.#replacements) {
      if (replacement.kind === 'replaced') visit(address, 'before', replacement.hook);
    }
  }

  /** Addresses of instructions that something stands in place of, be it nothing. */
  replaced(): Iterable<number> {
    return this.#replacements.keys();
  }
}
