/** Ids of things in the order in which they are first seen, from 1 on. */
export class ThingIds<Thing extends object> {
  readonly #ids = new Map<Thing, bigint>();
  #told = 0;

  of(thing: Thing): bigint {
    const known = this.#ids.get(thing);
    if (known !== undefined) return known;
    const id = BigInt(this.#ids.size + 1);
    this.#ids.set(thing, id);
    return id;
  }

  /** Those that came since the last call. */
  takeNew(): readonly (readonly [Thing, bigint])[] {
    const found = [...this.#ids].slice(this.#told);
    this.#told = this.#ids.size;
    return found;
  }
}
