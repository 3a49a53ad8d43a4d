/** Names that say what a value is, so that a change in one place does not rename everything behind it. */
export class Names {
  readonly #counts = new Map<string, number>();

  /** `add`, then `add.2`, `add.3`. */
  unique(hint: string): string {
    const count = (this.#counts.get(hint) ?? 0) + 1;
    this.#counts.set(hint, count);
    return count === 1 ? hint : `${hint}.${count}`;
  }
}
