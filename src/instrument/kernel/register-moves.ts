/** Copies between registers that are all to happen at once, put into an order. */

export interface RegisterMove {
  readonly from: number;
  readonly to: number;
}

/**
 * The moves one after the other: none overwrites what a later one reads. Where they run in a circle, `spare`,
 * which no move names, holds a value meanwhile. Destinations differ from each other.
 */
export function orderMoves(moves: readonly RegisterMove[], spare: number): RegisterMove[] {
  const pending = new Map(moves.filter(({ from, to }) => from !== to).map((move) => [move.to, move.from]));
  /** How many pending moves read a register. */
  const readers = new Map<number, number>();
  for (const from of pending.values()) readers.set(from, (readers.get(from) ?? 0) + 1);
  const ordered: RegisterMove[] = [];
  const ready = [...pending.keys()].filter((to) => !readers.has(to));
  const emit = (to: number): void => {
    const from = pending.get(to)!;
    pending.delete(to);
    ordered.push({ from, to });
    const left = readers.get(from)! - 1;
    if (left > 0) readers.set(from, left);
    else {
      readers.delete(from);
      if (pending.has(from)) ready.push(from);
    }
  };
  for (;;) {
    for (let to = ready.pop(); to !== undefined; to = ready.pop()) emit(to);
    // What is left runs in circles, each register read once.
    const [circle] = pending;
    if (circle === undefined) return ordered;
    const [to, from] = circle;
    ordered.push({ from, to: spare });
    pending.set(to, spare);
    readers.set(spare, 1);
    readers.delete(from);
    if (pending.has(from)) ready.push(from);
  }
}
