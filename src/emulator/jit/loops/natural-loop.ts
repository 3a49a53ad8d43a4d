/** Innermost loops with one entry, the header, and one way out, at the end of the block that also leads back: as compilers rotate them. */
import type { Block } from '../control-flow.ts';

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
  const predecessors = new Map<Block, Block[]>(blocks.map((block) => [block, []]));
  for (const block of blocks)
    for (const successor of successors(block)) if (successor) predecessors.get(successor)!.push(block);
  const loops = new Map<Block, NaturalLoop>();
  for (const latch of blocks) {
    if (latch.instructions.at(-1)!.shape.control !== 'conditional' || latch.next === latch.target) continue;
    for (const exit of ['next', 'target'] as const) {
      const header = latch[exit === 'next' ? 'target' : 'next'];
      const body = header && bodyOf(header, latch, predecessors);
      if (!body || body.has(latch[exit] as Block)) continue;
      const order = inOrder(header, latch, body);
      if (order) loops.set(header, { blocks: order, header, latch, exit });
    }
  }
  return loops;
}

/** Blocks from which the latch is reached without passing the header; undefined where the loop can be entered or left elsewhere. */
function bodyOf(
  header: Block,
  latch: Block,
  predecessors: ReadonlyMap<Block, readonly Block[]>,
): Set<Block> | undefined {
  const body = new Set([header, latch]);
  const work = latch === header ? [] : [latch];
  for (let block = work.pop(); block; block = work.pop()) {
    const before = predecessors.get(block)!;
    if (before.length === 0) return undefined;
    for (const predecessor of before) {
      if (body.has(predecessor)) continue;
      body.add(predecessor);
      work.push(predecessor);
    }
  }
  for (const block of body) {
    const inside = successors(block).every((successor) => successor && body.has(successor));
    if (block !== latch && (!inside || successors(block).length === 0)) return undefined;
  }
  return body;
}

/** In reverse postorder; undefined when there is a loop inside, or another way back. */
function inOrder(header: Block, latch: Block, body: ReadonlySet<Block>): Block[] | undefined {
  const order: Block[] = [];
  const state = new Map<Block, 'open' | 'done'>();
  const visit = (block: Block): boolean => {
    if (state.has(block)) return state.get(block) === 'done';
    state.set(block, 'open');
    if (block !== latch) {
      for (const successor of successors(block)) if (!visit(successor!)) return false;
    }
    state.set(block, 'done');
    order.push(block);
    return true;
  };
  if (!visit(header)) return undefined;
  order.reverse();
  return order.length === body.size && order.at(-1) === latch ? order : undefined;
}
