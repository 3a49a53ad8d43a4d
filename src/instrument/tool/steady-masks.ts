/**
 * Where EXEC is the same whenever a wave comes by, with some lane on: then as many lanes come by, each time,
 * and each of them as often as the wave does.
 */
import type { BlockDepths } from './block-depths.ts';
import { emptyWay, execRegions, writesExec } from './exec-regions.ts';
import { lastOf, type ToolBlock, type ToolFunction, type ToolInstruction } from './tool-function.ts';

/** What EXEC is: what the kernel began with, or what one instruction wrote that a wave comes to once. */
interface Mask {
  readonly writer: ToolInstruction | 'launch' | 'several';
  readonly hasLanes: boolean;
}

/** The first instructions of regions (`execRegions`) with such a mask. */
export function steadyRegions({ blocks, address }: ToolFunction, depths: BlockDepths): ReadonlySet<ToolInstruction> {
  if (!depths.isLaunched) return new Set();
  const isOnce = (block: ToolBlock): boolean => depths.isOnce(block);
  const incoming = new Map<ToolBlock, Mask>();
  const start = blocks.find(({ instructions }) => instructions[0]!.address === address);
  const work: ToolBlock[] = [];
  const arrive = (block: ToolBlock | undefined, mask: Mask): void => {
    if (!block) return;
    const before = incoming.get(block);
    const joined = before ? join(before, mask) : mask;
    if (before && joined.writer === before.writer && joined.hasLanes === before.hasLanes) return;
    incoming.set(block, joined);
    work.push(block);
  };
  arrive(start, { writer: 'launch', hasLanes: true });
  for (let block = work.pop(); block; block = work.pop()) {
    const last = lastOf(block);
    const after = masksOf(block, incoming.get(block)!, isOnce).at(-1)!;
    const empty = emptyWay(last);
    const isCall = last.step.control === 'call';
    const behind: Mask = isCall ? { writer: 'several', hasLanes: false } : after;
    const way = (name: 'next' | 'taken'): Mask =>
      empty === undefined || writesExec(last) ? behind : { ...behind, hasLanes: empty !== name };
    arrive(block.next, way('next'));
    arrive(block.target, way('taken'));
  }
  const found = new Set<ToolInstruction>();
  for (const [block, mask] of incoming) {
    const masks = masksOf(block, mask, isOnce);
    for (const [i, { instructions }] of execRegions(block).entries()) {
      const { writer, hasLanes } = masks[i]!;
      if (writer !== 'several' && hasLanes) found.add(instructions[0]!);
    }
  }
  return found;
}

/** Of each region of a block, and behind the last one. */
function masksOf(block: ToolBlock, incoming: Mask, isOnce: (block: ToolBlock) => boolean): readonly Mask[] {
  const masks = [incoming];
  for (const { instructions } of execRegions(block)) {
    const last = instructions.at(-1)!;
    const written: Mask = { writer: isOnce(block) ? last : 'several', hasLanes: false };
    masks.push(writesExec(last) ? written : masks.at(-1)!);
  }
  return masks;
}

const join = (a: Mask, b: Mask): Mask => ({
  writer: a.writer === b.writer ? a.writer : 'several',
  hasLanes: a.hasLanes && b.hasLanes,
});
