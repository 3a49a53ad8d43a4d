/**
 * Innermost loops with one entry, the header, and one way out, at the end of the block that also leads back:
 * as compilers rotate them.
 */
import { depthFirst } from '../../../flow/depth-first.ts';
import { type FlowGraph, graphOf } from '../../../flow/graph.ts';
import { loopOfEdge } from '../../../flow/loops.ts';
import type { Block } from '../function/control-flow.ts';

export interface NaturalLoop {
  /** From the header to the latch, each block after those that lead to it. */
  readonly blocks: readonly Block[];
  readonly header: Block;
  /** The block whose branch leads back to the header or out of the loop. */
  readonly latch: Block;
  /** Which way of the latch leads out. */
  readonly exit: 'next' | 'target';
}

const successors = (block: Block): readonly (Block | undefined)[] => {
  switch (block.instructions.at(-1)!.shape.control) {
    case 'conditional':
      return [block.next, block.target];
    case 'branch':
      return [block.target];
    case 'next':
      return [block.next];
    case 'leave':
      return [];
  }
};

/** By their header; one of several loops with the same header. */
export function naturalLoops(blocks: readonly Block[]): Map<Block, NaturalLoop> {
  // A wave may enter the function at any block that has a leader; a loop runs chunk by chunk where it is
  // entered at its header.
  const graph = graphOf(blocks, [], successors);
  const exits = new Set(graph.exits);
  const loops = new Map<Block, NaturalLoop>();
  for (const latch of blocks) {
    if (latch.instructions.at(-1)!.shape.control !== 'conditional' || latch.next === latch.target) continue;
    for (const exit of ['next', 'target'] as const) {
      const header = latch[exit === 'next' ? 'target' : 'next'];
      const body = header && loopOfEdge(graph, latch.index, header.index);
      if (!body || body.has(latch[exit]?.index ?? -1)) continue;
      const order = inOrder(graph, exits, header.index, latch.index, body);
      if (order) loops.set(header, { blocks: order.map((index) => blocks[index]!), header, latch, exit });
    }
  }
  return loops;
}

/**
 * In reverse postorder; undefined where the loop can be left elsewhere, or when there is a loop inside, or
 * another way back.
 */
function inOrder(
  { size, successors: next }: FlowGraph,
  exits: ReadonlySet<number>,
  header: number,
  latch: number,
  body: ReadonlySet<number>,
): readonly number[] | undefined {
  for (const block of body) {
    if (block !== latch && (exits.has(block) || !next[block]!.every((to) => body.has(to)))) return undefined;
  }
  const forward = next.map((each, from) => (from === latch ? [] : each));
  const order = depthFirst({ size, successors: forward }, [header]).postorder.toReversed();
  const places = new Map(order.map((block, place) => [block, place]));
  const goesForward = order.every((from, place) => forward[from]!.every((to) => places.get(to)! > place));
  return goesForward && order.length === body.size && order.at(-1) === latch ? order : undefined;
}
