/**
 * Loops whose accesses go on by the same number of bytes in all lanes: where the lanes are side by side, or
 * all at one place, in the first iteration, they are in all others, and one lane, the guide, says where. Its
 * addresses are values of the wave, and lanes compute nothing for them.
 */
import type { Type } from '../../../ir/types.ts';
import { type AccessGroup, groupAccesses, isAccess, isLeftOut, laneAccessOf } from '../regions/access-group.ts';
import { bothWays, extendedIndex, withoutCarry } from '../regions/address-parts.ts';
import { isOp } from '../regions/graph.ts';
import { type IndexedAddress, type Node, nodesBehind } from '../regions/node.ts';
import { changesLanes, type LoopPlan } from './loop-plan.ts';
import { argumentsOf } from './node-arguments.ts';

/** Sizes of loads that are one or two vectors where the lanes follow each other. */
const SIZES = new Set([1, 2, 4, 8]);
/** Of accesses: each takes some 10 KB of WebAssembly to find out how its lanes lie. */
const MAX_GROUPS = 8;

const isEven = ({ unitBytes }: AccessGroup): boolean => SIZES.has(unitBytes);

/** A number that is extended to 64 bits: it must not wrap in any lane. */
export interface GuideIndex {
  /** What the guide has. */
  readonly value: Node;
  readonly isSigned: boolean;
}

/** Where an access of the guide goes: the words of its address, without the offset. */
export interface GuideAddress {
  readonly low: Node;
  readonly high: Node;
  /** Absent, or what the low word is not below unless it carried, which the high word does not know. */
  readonly floor: Node | undefined;
  readonly indices: readonly GuideIndex[];
  /** Of lanes, where the only index is added to what stays the same. */
  readonly indexed: IndexedAddress | undefined;
}

/** A row that lanes do not compute: it goes on as the guide's does. `high`: that of the high words. */
export interface LeftRow {
  readonly low: number;
  readonly high: number | undefined;
}

export interface SideBySide {
  /** What is left for lanes, and what the guide computes, as values of the wave. */
  readonly plan: LoopPlan;
  readonly addresses: ReadonlyMap<Node, GuideAddress>;
  /** Rows that the guide reads, with what it has there after an iteration; undefined: the same. */
  readonly registers: ReadonlyMap<number, Node | undefined>;
  readonly left: readonly LeftRow[];
}

/** How a loop runs whose lanes keep their distances: side by side, or apart, anywhere in one allocation. */
export interface SteadyWay {
  readonly found: SideBySide;
  readonly isApart: boolean;
}

/** What lanes read of a node in such a loop: of an access, what it stores. */
export const sideBySideArguments = (node: Node): readonly Node[] =>
  isAccess(node) ? node.args.slice(1) : argumentsOf(node, true);

/** `plan`: of iterations in which nothing rare happens. */
export function sideBySide(plan: LoopPlan): SideBySide | undefined {
  const isPlain = plan.graph.again.kind === 'wave' && plan.masks.size + plan.tests.size === 0 && !changesLanes(plan);
  return isPlain ? new Finder(plan).find() : undefined;
}

/** A value of 32 bits that is extended and added to an address. */
type Index = Pick<IndexedAddress, 'index' | 'isSigned'>;

class Finder {
  readonly #plan: LoopPlan;
  readonly #copies = new Map<Node, Node | undefined>();
  /** Rows that copies read. */
  readonly #read = new Set<number>();
  readonly #steady = new Map<Node, boolean>();
  /** Of high words that were found to go with low words. */
  readonly #pairs = new Map<number, number>();

  constructor(plan: LoopPlan) {
    this.#plan = plan;
  }

  find(): SideBySide | undefined {
    const addresses = new Map<Node, GuideAddress>();
    for (const node of this.#plan.nodes) {
      if (!node.lane || !isAccess(node)) continue;
      const address = this.#addressOf(node);
      if (!address) return undefined;
      addresses.set(node, address);
    }
    const groups = new Set(groupAccesses([...addresses.keys()]).values());
    if (groups.size === 0 || groups.size > MAX_GROUPS || ![...groups].every(isEven)) return undefined;
    const { nodes, kept } = this.#forLanes();
    const left = [...this.#plan.rows.keys()].filter((offset) => !kept.has(offset)).map((row) => this.#leftRow(row));
    const registers = new Map<number, Node | undefined>();
    for (const { low, high } of left) for (const row of [low, high]) if (row !== undefined) this.#read.add(row);
    // Copies of what a row gets may read further rows, which come behind it.
    for (const offset of this.#read) {
      const next = this.#plan.rows.get(offset);
      const copy = next && this.#copy(next);
      if (next && !copy) return undefined;
      registers.set(offset, copy);
    }
    const roots = [...addresses.values()].flatMap(({ low, high, indices }) => [
      low,
      high,
      ...indices.map(({ value }) => value),
    ]);
    const guide = this.#forGuide([...roots, ...registers.values()].filter((node) => node !== undefined));
    const rows = new Map([...this.#plan.rows].filter(([offset]) => kept.has(offset)));
    const own = [...this.#plan.nodes.filter(({ lane }) => !lane), ...guide, ...nodes].sort((a, b) => a.id - b.id);
    const variant = new Set([...this.#plan.variant, ...guide]);
    return { plan: { ...this.#plan, nodes: own, rows, variant }, addresses, registers, left };
  }

  #addressOf(node: Node): GuideAddress | undefined {
    const access = laneAccessOf(node);
    if (!access || access.predicate || isLeftOut(node)) return undefined;
    const { low, high, floor } = access.parts;
    if ((access.space !== 'global' && access.space !== 'flat') || !high) return undefined;
    const { indexed } = access.parts;
    const isOne = indexed?.summands.length === 0 && this.#isSteady(indexed.index);
    const found = isOne ? [indexed] : this.#indicesOf(low, high);
    if (!found) return undefined;
    const [ownLow, ownHigh] = [this.#copy(low), this.#copy(high)];
    const indices = found.map(({ index, isSigned }) => ({ value: this.#copy(index), isSigned }));
    if (!ownLow || !ownHigh || indices.some(({ value }) => !value)) return undefined;
    const isFixed = isOne && !this.#plan.variant.has(indexed.baseLow) && !this.#plan.variant.has(indexed.baseHigh);
    const fixed = isFixed ? indexed : undefined;
    return { low: ownLow, high: ownHigh, floor, indices: indices as GuideIndex[], indexed: fixed };
  }

  #isChanging(node: Node): boolean {
    return node.lane && this.#plan.variant.has(node);
  }

  /** Whether the lanes of a 32-bit value keep their distances, around 2^32. */
  #isSteady(node: Node): boolean {
    let found = this.#steady.get(node);
    if (found === undefined) {
      found = !this.#isChanging(node) || this.#isSteadyChange(node);
      this.#steady.set(node, found);
    }
    return found;
  }

  #isSteadyChange(node: Node): boolean {
    const { leaf, args } = node;
    if (leaf.kind === 'row') return movesAlike(this.#plan.rows.get(leaf.offset)!, node);
    if (isOp(node, 'i32.add') || isOp(node, 'i32.sub')) return args.every((arg) => this.#isSteady(arg));
    const isFactor = (arg: Node): boolean => !arg.lane && !this.#plan.variant.has(arg);
    const [a, b] = args as [Node, Node];
    if (isOp(node, 'i32.shl')) return this.#isSteady(a) && isFactor(b);
    return isOp(node, 'i32.mul') && bothWays(node).some(([value, factor]) => this.#isSteady(value) && isFactor(factor));
  }

  /**
   * The indices in a 64-bit value of which the lanes keep their distances, as long as no index wraps;
   * undefined where they may not keep them.
   */
  #indicesOf(low: Node, high: Node): readonly Index[] | undefined {
    if (!this.#isChanging(low) && !this.#isChanging(high)) return [];
    if (low.leaf.kind === 'row' && high.leaf.kind === 'row') return this.#movesAsPair(low, high) ? [] : undefined;
    const sum = isOp(low, 'i32.add') ? withoutCarry(this.#plan.graph.values, low, high) : undefined;
    if (!sum) return undefined;
    const [a, b] = low.args as [Node, Node];
    // Which upper word belongs to which lower one cannot be seen; a part of 32 bits has none.
    const highs = isOp(sum, 'i32.add')
      ? bothWays(sum)
      : ([
          [sum, undefined],
          [undefined, sum],
        ] as const);
    for (const [highOfA, highOfB] of highs) {
      const [ofA, ofB] = [this.#indicesOfPart(a, highOfA), this.#indicesOfPart(b, highOfB)];
      if (ofA && ofB) return [...ofA, ...ofB];
    }
    return undefined;
  }

  #indicesOfPart(low: Node, high: Node | undefined): readonly Index[] | undefined {
    if (!this.#isChanging(low) && !(high && this.#isChanging(high))) return [];
    const found = extendedIndex(low, high);
    if (found && this.#isSteady(found.index)) return [found];
    return high && this.#indicesOf(low, high);
  }

  /** Whether two rows are the words of a number to which the wave adds something. */
  #movesAsPair(low: Node, high: Node): boolean {
    const [a, b] = [low, high].map(({ leaf }) => (leaf.kind === 'row' ? leaf.offset : -1)) as [number, number];
    const [nextLow, nextHigh] = [this.#plan.rows.get(a), this.#plan.rows.get(b)];
    if (!nextLow || !nextHigh || !isOp(nextLow, 'i32.add')) return false;
    const adds = (sum: Node, row: Node): boolean =>
      isOp(sum, 'i32.add') && bothWays(sum).some(([value, other]) => value === row && !other.lane);
    const sum = withoutCarry(this.#plan.graph.values, nextLow, nextHigh);
    if (!adds(nextLow, low) || !sum || (sum !== high && !adds(sum, high))) return false;
    this.#pairs.set(b, a);
    return true;
  }

  /** Values of lanes that are needed beside addresses, and the rows that they go on with. */
  #forLanes(): { readonly nodes: readonly Node[]; readonly kept: ReadonlySet<number> } {
    const { nodes, rows, rowsOutside, rare, graph } = this.#plan;
    const kept = new Set([...rows.keys()].filter((offset) => rowsOutside.has(offset) || !this.#mayLeave(offset)));
    for (;;) {
      const needed = new Set<Node>([...rare, graph.exec, ...[...kept].map((offset) => rows.get(offset)!)]);
      for (const node of nodes.toReversed())
        if (node.lane && (needed.has(node) || isAccess(node))) {
          needed.add(node);
          for (const arg of sideBySideArguments(node)) needed.add(arg);
        }
      const size = kept.size;
      for (const { leaf } of needed) if (leaf.kind === 'row' && rows.has(leaf.offset)) kept.add(leaf.offset);
      // What is kept of a pair is its low word only if nothing asks for the high one.
      if (kept.size === size) return { nodes: nodes.filter((node) => node.lane && needed.has(node)), kept };
    }
  }

  #mayLeave(offset: number): boolean {
    if (this.#pairs.has(offset)) return true;
    const row = this.#plan.nodes.find(({ leaf }) => leaf.kind === 'row' && leaf.offset === offset);
    return row !== undefined && movesAlike(this.#plan.rows.get(offset)!, row);
  }

  #leftRow(offset: number): LeftRow {
    const low = this.#pairs.get(offset);
    return low === undefined ? { low: offset, high: undefined } : { low, high: offset };
  }

  /** What the guide has, as a value of the wave; undefined for what is no number of its registers. */
  #copy(node: Node): Node | undefined {
    if (!node.lane) return node;
    if (!this.#copies.has(node)) this.#copies.set(node, this.#newCopy(node));
    return this.#copies.get(node);
  }

  #newCopy({ leaf, args, type }: Node): Node | undefined {
    const graph = this.#plan.graph.values;
    if (leaf.kind === 'row') {
      this.#read.add(leaf.offset);
      return graph.share({ kind: 'scalar', offset: leaf.offset }, type as Type, false);
    }
    if (leaf.kind !== 'pure' || !/^i(1|32)\./.test(leaf.op)) return undefined;
    const copies = args.map((arg) => this.#copy(arg));
    return copies.every((copy) => copy !== undefined) ? graph.op(leaf.op, ...copies) : undefined;
  }

  /** Values behind `roots` that are no others of the loop. */
  #forGuide(roots: readonly Node[]): readonly Node[] {
    const own = new Set(this.#plan.nodes);
    return [...nodesBehind(roots, (node) => !own.has(node))];
  }
}

/** Whether a row has `next` in the next iteration, which is it and something of the wave. */
function movesAlike(next: Node, row: Node): boolean {
  if (next === row) return true;
  if (isOp(next, 'i32.add')) return bothWays(next).some(([value, other]) => !other.lane && movesAlike(value, row));
  return isOp(next, 'i32.sub') && !next.args[1]!.lane && movesAlike(next.args[0]!, row);
}
