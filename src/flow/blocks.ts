/** Basic blocks: code is followed from where it is entered, and cut where control comes together or parts. */
import { type FlowGraph, graphOf } from './graph.ts';

/**
 * Where control goes on after an instruction. A place is an offset, or whatever else numbers instructions.
 */
export interface Ways {
  /**
   * The place behind the instruction, without a branch that is taken; undefined: control never goes there.
   */
  readonly next: number | undefined;
  /** The place that a direct branch leads to. */
  readonly target: number | undefined;
}

/** An instruction with where control goes on after it: what blocks are made of. */
export interface Followed<I> extends Ways {
  readonly instruction: I;
  /** Whether control may go on elsewhere, at places that are not known. */
  readonly leaves: boolean;
  /** Whether the next instruction begins a block of its own. */
  readonly endsBlock: boolean;
}

/** Instructions that run one after the other: only the first is branched to, only the last branches. */
export interface BasicBlock<I> {
  readonly index: number;
  readonly instructions: readonly I[];
  /**
   * Where control goes on without a branch, and where the last instruction branches to; undefined: nowhere,
   * or out of the blocks.
   */
  readonly next: BasicBlock<I> | undefined;
  readonly target: BasicBlock<I> | undefined;
  /** Whether control may also go on outside of the blocks. */
  readonly leaves: boolean;
}

/**
 * What control reaches from `entries` along direct branches, by place, in the order in which it is found.
 * `at` is asked once for each place; what it says is undefined is not followed.
 */
export function reachable<W extends Ways>(
  at: (place: number) => W | undefined,
  entries: Iterable<number>,
  maxInstructions = Number.POSITIVE_INFINITY,
): Map<number, W> {
  const found = new Map<number, W>();
  const work = [...entries];
  for (let start = work.pop(); start !== undefined; start = work.pop()) {
    let place: number | undefined = start;
    while (place !== undefined && !found.has(place) && found.size < maxInstructions) {
      const followed: W | undefined = at(place);
      if (!followed) break;
      found.set(place, followed);
      if (followed.target !== undefined) work.push(followed.target);
      place = followed.next;
    }
  }
  return found;
}

/** The same by the order of the places. */
export function inOrderOfPlaces<T>(code: ReadonlyMap<number, T>): ReadonlyMap<number, T> {
  const places = [...code.keys()];
  if (places.every((place, i) => i === 0 || places[i - 1]! < place)) return code;
  return new Map(places.sort((a, b) => a - b).map((place) => [place, code.get(place)!]));
}

/**
 * The blocks of `code`, which stands in the order in which its blocks are to be numbered. `entries` begin
 * blocks, too.
 */
export function basicBlocks<I>(code: ReadonlyMap<number, Followed<I>>, entries: Iterable<number>): BasicBlock<I>[] {
  const starts = new Set(entries);
  /** Where the instruction before goes on: instructions may overlap, so that another one stands between. */
  let expected: number | undefined;
  for (const [place, { next, target, endsBlock }] of code) {
    if (expected !== undefined && expected !== place) starts.add(expected);
    if (target !== undefined) starts.add(target);
    if (endsBlock && next !== undefined) starts.add(next);
    expected = next;
  }
  type Open = { -readonly [K in keyof BasicBlock<I>]: BasicBlock<I>[K] } & { readonly instructions: I[] };
  const blocks: Open[] = [];
  const byStart = new Map<number, Open>();
  const lasts: Followed<I>[] = [];
  for (const [place, followed] of code) {
    let block = blocks.at(-1);
    if (!block || lasts.at(-1)!.next !== place || starts.has(place)) {
      block = { index: blocks.length, instructions: [], next: undefined, target: undefined, leaves: false };
      blocks.push(block);
      byStart.set(place, block);
      lasts.push(followed);
    }
    block.instructions.push(followed.instruction);
    lasts[block.index] = followed;
  }
  for (const block of blocks) {
    const { next, target, leaves } = lasts[block.index]!;
    if (next !== undefined) block.next = byStart.get(next);
    if (target !== undefined) block.target = byStart.get(target);
    const isLost = (place: number | undefined) => place !== undefined && !byStart.has(place);
    block.leaves = leaves || isLost(next) || isLost(target);
  }
  return blocks;
}

/** The graph of blocks, numbered by their index. */
export const blockGraph = <I>(blocks: readonly BasicBlock<I>[], entries: readonly BasicBlock<I>[]): FlowGraph =>
  graphOf(blocks, entries, ({ next, target, leaves }) => [
    ...(next ? [next] : []),
    ...(target ? [target] : []),
    ...(leaves ? [undefined] : []),
  ]);
