/** Numbers of things in a recording, from 1 on. */
export class ObjectIds {
  readonly #ids = new Map<unknown, number>();
  #last = 0;

  /** Undefined for what has no number yet. */
  of(thing: unknown): number | undefined {
    return this.#ids.get(thing);
  }

  take(thing?: unknown): number {
    const id = ++this.#last;
    if (thing !== undefined) this.#ids.set(thing, id);
    return id;
  }
}
