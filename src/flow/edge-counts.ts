/**
 * Where control has to be counted so that all that it went through is known: as often as it comes to a node
 * it leaves it, so that counts of the edges outside of a spanning tree tell those of the others (D. E. Knuth
 * and F. R. Stevenson, "Optimal measurement points for program frequency counts", 1973).
 */

/** An edge of a graph in which as much leaves each node as comes to it. */
export interface CountedEdge {
  readonly from: number;
  readonly to: number;
  /** What it costs to count it. */
  readonly cost: number;
}

export interface EdgePlan {
  /** The edges to count, by index in ascending order: the cheapest that are enough. */
  readonly counted: readonly number[];
  /** Counts of all edges, from those of the counted ones in their order. */
  solve(counts: readonly bigint[]): bigint[];
}

/** `size`: of nodes. What comes from outside and goes there is edges of a node that stands for it. */
export function planEdgeCounts(size: number, edges: readonly CountedEdge[]): EdgePlan {
  const order = [...edges.keys()].sort((a, b) => edges[b]!.cost - edges[a]!.cost || a - b);
  const joined = Int32Array.from({ length: size }, (_, node) => node);
  const rootOf = (node: number): number => {
    let root = node;
    while (joined[root] !== root) {
      joined[root] = joined[joined[root]!]!;
      root = joined[root]!;
    }
    return root;
  };
  const isInTree = new Uint8Array(edges.length);
  for (const index of order) {
    const [from, to] = [rootOf(edges[index]!.from), rootOf(edges[index]!.to)];
    if (from === to) continue;
    joined[from] = to;
    isInTree[index] = 1;
  }
  const counted = [...edges.keys()].filter((index) => isInTree[index] === 0);
  return { counted, solve: (counts) => solve({ size, edges, isInTree, counted }, counts) };
}

interface Tree {
  readonly size: number;
  readonly edges: readonly CountedEdge[];
  readonly isInTree: Uint8Array;
  readonly counted: readonly number[];
}

/** From the leaves of the tree inwards: a node with one edge that is not known tells it. */
function solve({ size, edges, isInTree, counted }: Tree, counts: readonly bigint[]): bigint[] {
  const known = edges.map(() => 0n);
  for (const [i, index] of counted.entries()) known[index] = counts[i]!;
  /** What comes to a node and is not yet seen to leave it. */
  const left = new Array<bigint>(size).fill(0n);
  const open: number[][] = Array.from({ length: size }, () => []);
  for (const [index, { from, to }] of edges.entries()) {
    left[from]! -= known[index]!;
    left[to]! += known[index]!;
    if (isInTree[index] === 0) continue;
    open[from]!.push(index);
    open[to]!.push(index);
  }
  const isOpen = Uint8Array.from(isInTree);
  const degrees = open.map(({ length }) => length);
  const leaves = [...degrees.keys()].filter((node) => degrees[node] === 1);
  for (let node = leaves.pop(); node !== undefined; node = leaves.pop()) {
    const index = open[node]!.find((each) => isOpen[each] === 1);
    if (index === undefined) continue;
    const { from, to } = edges[index]!;
    const value = from === node ? left[node]! : -left[node]!;
    known[index] = value;
    isOpen[index] = 0;
    left[from]! -= value;
    left[to]! += value;
    const other = from === node ? to : from;
    degrees[other]!--;
    if (degrees[other] === 1) leaves.push(other);
  }
  return known;
}
