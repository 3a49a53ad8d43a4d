/** Values of a region: what the programs of its instructions compute, with registers renamed. */
import type { Leaf, Type } from '../../../ir/types.ts';

/** Before the loop over the chunks, in it, or after it because a value depends on what all lanes computed. */
export type Phase = 'before' | 'lanes' | 'after';

export type NodeLeaf =
  | Extract<
      Leaf,
      {
        kind: 'const' | 'pure' | 'clock' | 'laneId' | 'laneMask' | 'ballot' | 'load' | 'loaded' | 'store' | 'atomic';
      }
    >
  /** What a place of the wave state holds when the region begins; i64: two dwords. */
  | { readonly kind: 'scalar'; readonly offset: number }
  /** What a row of a VGPR holds when the region begins. */
  | { readonly kind: 'row'; readonly offset: number }
  /** A row in the lane args[0], uniform. */
  | { readonly kind: 'rowLane'; readonly offset: number }
  /** A row in the lane args[0], another for each lane. */
  | { readonly kind: 'gatherRow'; readonly offset: number }
  /** A number of the function that stands in memory: see literals.ts. */
  | { readonly kind: 'literal'; readonly index: number }
  /** Byte `lane` of the table whose address is a literal. */
  | { readonly kind: 'laneByte'; readonly index: number };

/**
 * The address of an access in parts, for accesses of all four lanes of a chunk: low + offset. The low word of
 * the sum of the parts must not be below `floor`, or the addition carried into the high word.
 */
export interface AddressParts {
  readonly low: Node;
  /** Absent in LDS and private memory. */
  readonly high: Node | undefined;
  readonly floor: Node | undefined;
  /** 0 .. 2^31 - 1. */
  readonly offset: number;
  /**
   * low and high again, when they are those of a uniform base plus an index: without the high word that costs
   * less to check.
   */
  readonly indexed: IndexedAddress | undefined;
}

/** The 64-bit sum of a uniform base and a 32-bit `index`, extended and shifted left by less than 16. */
export interface IndexedAddress {
  readonly baseLow: Node;
  readonly baseHigh: Node;
  readonly index: Node;
  readonly shift: number;
  readonly isSigned: boolean;
  /**
   * Where the index is a sum of values that are extended before they are added: these. It stands for them
   * only while it does not wrap.
   */
  readonly summands: readonly Node[];
}

export interface Node {
  readonly id: number;
  readonly leaf: NodeLeaf;
  readonly type: Type | 'void';
  readonly lane: boolean;
  readonly phase: Phase;
  readonly args: readonly Node[];
  /** Of a memory access: number of its instruction in the function. */
  readonly instruction: number;
  /** Of an access of lanes. */
  readonly address: AddressParts | undefined;
  /** The lanes that make an access, where these are not all that were active before the first instruction. */
  readonly active: Node | undefined;
}

export type NodeOf<K extends NodeLeaf['kind']> = Node & { readonly leaf: Extract<NodeLeaf, { kind: K }> };

/** Some nodes and all behind them; not those that are not `wanted`, nor what only these are computed from. */
export function nodesBehind(nodes: readonly Node[], wanted = (_: Node): boolean => true): ReadonlySet<Node> {
  const found = new Set<Node>();
  const add = (node: Node): void => {
    if (found.has(node) || !wanted(node)) return;
    found.add(node);
    node.args.forEach(add);
  };
  nodes.forEach(add);
  return found;
}

/** The lane values among some nodes and all that they are computed from, in order. */
export const lanesBehind = (nodes: readonly Node[]): readonly Node[] =>
  [...nodesBehind(nodes, ({ lane }) => lane)].sort((a, b) => a.id - b.id);
