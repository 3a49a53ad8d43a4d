/** Basic blocks: code is followed from where it is entered, and cut where control comes together or parts. */
import type { FlowGraph } from './graph.ts';

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

/** The places of code from the lowest on. */
export function placesInOrder(code: ReadonlyMap<number, unknown>): Float64Array {
  const places = new Float64Array(code.size);
  let count = 0;
  let isOrdered = true;
  code.forEach((_, place) => {
    isOrdered &&= count === 0 || places[count - 1]! < place;
    places[count++] = place;
  });
  return isOrdered ? places : places.sort();
}

const NOWHERE_ELSE = { target: undefined, leaves: false };

/**
 * The blocks of `code`, which stands in the order in which its blocks are to be numbered. `entries` begin
 * blocks, too.
 */
export function basicBlocks<I>(code: ReadonlyMap<number, Followed<I>>, entries: Iterable<number>): BasicBlock<I>[] {
  return blocksAt([...code.keys()], (place) => code.get(place)!, entries);
}

/** The same of code whose places are known in order; `at` is asked once for each. */
export function blocksAt<I>(
  places: ArrayLike<number>,
  at: (place: number) => Followed<I>,
  entries: Iterable<number>,
): BasicBlock<I>[] {
  const starts = new Set(entries);
  const instructions = new Array<I>(places.length);
  /** Where instructions go on, and those that may go elsewhere: most do not. */
  const nexts = new Array<number | undefined>(places.length);
  const leading = new Map<number, Followed<I>>();
  /** Where the instruction before goes on: instructions may overlap, so that another one stands between. */
  let expected: number | undefined;
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!;
    const followed = at(place);
    const { next, target, endsBlock } = followed;
    instructions[i] = followed.instruction;
    nexts[i] = next;
    if (target !== undefined || followed.leaves) leading.set(i, followed);
    if (expected !== undefined && expected !== place) starts.add(expected);
    if (target !== undefined) starts.add(target);
    if (endsBlock && next !== undefined) starts.add(next);
    expected = next;
  }
  type Open = { -readonly [K in keyof BasicBlock<I>]: BasicBlock<I>[K] };
  const blocks: Open[] = [];
  const byStart = new Map<number, Open>();
  /** Of each block. */
  const lasts: number[] = [];
  for (let first = 0; first < places.length; ) {
    let end = first + 1;
    while (end < places.length && nexts[end - 1] === places[end] && !starts.has(places[end]!)) end++;
    const own = instructions.slice(first, end);
    const block = { index: blocks.length, instructions: own, next: undefined, target: undefined, leaves: false };
    blocks.push(block);
    byStart.set(places[first]!, block);
    lasts.push(end - 1);
    first = end;
  }
  for (const each of blocks) {
    const last = lasts[each.index]!;
    const next = nexts[last];
    const { target, leaves } = leading.get(last) ?? NOWHERE_ELSE;
    if (next !== undefined) each.next = byStart.get(next);
    if (target !== undefined) each.target = byStart.get(target);
    const isLost = (place: number | undefined) => place !== undefined && !byStart.has(place);
    each.leaves = leaves || isLost(next) || isLost(target);
  }
  return blocks;
}

/**
 * Some of the blocks of code as blocks of their own, which are entered at one of them; what is not among them
 * is outside. Undefined where two of them would be one: an instruction that `endsBlock` ends one.
 */
export function partOfBlocks<I>(
  blocks: readonly BasicBlock<I>[],
  entry: BasicBlock<I>,
  endsBlock: (instruction: I) => boolean,
): BasicBlock<I>[] | undefined {
  type Open = { -readonly [K in keyof BasicBlock<I>]: BasicBlock<I>[K] };
  const own = new Map<BasicBlock<I>, Open>();
  const targets = new Set<BasicBlock<I>>([entry]);
  for (const block of blocks) {
    own.set(block, { ...block, index: own.size });
    if (block.target) targets.add(block.target);
  }
  let before: BasicBlock<I> | undefined;
  for (const [block, part] of own) {
    if (before?.next === block && !targets.has(block) && !endsBlock(before.instructions.at(-1)!)) return undefined;
    before = block;
    part.next = block.next && own.get(block.next);
    part.target = block.target && own.get(block.target);
    part.leaves ||= part.next !== block.next && !part.next;
    part.leaves ||= part.target !== block.target && !part.target;
  }
  return [...own.values()];
}

const NO_NUMBERS: number[] = [];

/** Code has many blocks, and most of them one or two neighbours: lists that grow have room for many more. */
function withNumber(list: number[], number: number): number[] {
  if (list.length === 0) return [number];
  if (list.length === 1) return [list[0]!, number];
  list.push(number);
  return list;
}

/** The graph of blocks, numbered by their index. A way to a block that is none of them leads out of it. */
export function blockGraph<I>(blocks: readonly BasicBlock<I>[], entries: readonly BasicBlock<I>[]): FlowGraph {
  const successors: number[][] = [];
  const predecessors: number[][] = new Array<number[]>(blocks.length).fill(NO_NUMBERS);
  const exits: number[] = [];
  for (let number = 0; number < blocks.length; number++) {
    const { next, target, leaves } = blocks[number]!;
    let inside = NO_NUMBERS;
    let isExit = leaves;
    for (let way = 0; way < 2; way++) {
      const to = way === 0 ? next : target;
      if (!to) continue;
      if (blocks[to.index] !== to) isExit = true;
      else {
        inside = withNumber(inside, to.index);
        predecessors[to.index] = withNumber(predecessors[to.index]!, number);
      }
    }
    successors.push(inside);
    if (isExit || inside.length === 0) exits.push(number);
  }
  return { size: blocks.length, entries: entries.map(({ index }) => index), exits, successors, predecessors };
}
