/**
 * Which code can be laid out anew: what is reached from entries, but for what is not understood well
 * enough.
 */

import { hex } from '../../base/text.ts';
import type { BasicBlock } from '../../flow/blocks.ts';
import { stepBlocks } from '../../flow/steps.ts';
import { followingOffset } from '../../ir/step.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';

export type CodeBlock = BasicBlock<AmdgpuStep>;

/** Code that stays where it is, and why. */
export interface KeptCode {
  /** Of the instruction that is to blame. */
  readonly address: number;
  readonly reason: string;
}

export interface MovableCode {
  /** In the order of their addresses; all that one of them branches to is among them. */
  readonly blocks: readonly CodeBlock[];
  /** Entries whose code moves. */
  readonly entries: ReadonlySet<number>;
  /** Why the code of each other entry stays. */
  readonly kept: ReadonlyMap<number, KeptCode>;
}

export interface CodeToMove {
  /** By image address; a text where there is no instruction. */
  read(address: number): AmdgpuStep | string;
  /** Whether the address is in an executable segment. */
  isCode(address: number): boolean;
  /** Whether the dword at an address is what linkers fill gaps with. */
  isFiller(address: number): boolean;
  /** Whether control may go on behind a call. */
  comesBack(call: AmdgpuStep): boolean;
  /** Why an instruction cannot stand elsewhere; undefined where it can. */
  obstacle(step: AmdgpuStep): string | undefined;
  readonly entries: readonly number[];
  /** Those of the code that the entries reach, where they are known. */
  readonly blocks?: readonly CodeBlock[] | undefined;
}

export function findMovableCode(code: CodeToMove): MovableCode {
  const { read, isCode, comesBack, entries } = code;
  const readCode = (address: number) => (isCode(address) ? read(address) : undefined);
  const blocks = code.blocks ?? stepBlocks(readCode, entries, (call) => comesBack(call));
  const byStart = new Map(blocks.map((block) => [block.instructions[0]!.offset, block]));
  const groups = new Groups(blocks.length);
  const kept = new Map<number, KeptCode>();
  const keptBlocks: [CodeBlock, KeptCode][] = [];
  for (const block of blocks) {
    for (const next of successors(block, byStart)) groups.join(block.index, next.index);
    const reason = whyKept(block, byStart, code);
    if (reason) keptBlocks.push([block, reason]);
  }
  const keptGroups = new Map(keptBlocks.map(([block, reason]) => [groups.of(block.index), reason]));
  for (const address of entries) {
    const block = byStart.get(address);
    const reason = block ? keptGroups.get(groups.of(block.index)) : { address, reason: 'no instruction' };
    if (reason) kept.set(address, reason);
  }
  return {
    blocks: blocks.filter(({ index }) => !keptGroups.has(groups.of(index))),
    entries: new Set(entries.filter((address) => !kept.has(address))),
    kept,
  };
}

/** Blocks that control goes to by a displacement, calls among it. */
function successors(block: CodeBlock, byStart: ReadonlyMap<number, CodeBlock>): CodeBlock[] {
  const { target } = block.instructions.at(-1)!;
  const called = target === undefined ? undefined : byStart.get(target);
  return [block.next, block.target, called].filter((each) => each !== undefined);
}

function whyKept(
  block: CodeBlock,
  byStart: ReadonlyMap<number, CodeBlock>,
  { read, isCode, isFiller, obstacle }: CodeToMove,
): KeptCode | undefined {
  const { instructions } = block;
  for (let i = 0; i < instructions.length; i++) {
    const reason = obstacle(instructions[i]!);
    if (reason !== undefined) return { address: instructions[i]!.offset, reason };
  }
  const last = block.instructions.at(-1)!;
  if (last.target !== undefined && !byStart.has(last.target)) {
    return { address: last.offset, reason: `leads to ${hex(last.target)}, which is no known code` };
  }
  if (block.next || !goesOn(last)) return undefined;
  const address = followingOffset(last);
  // Where code ends, so it does when it stands elsewhere.
  if (!isCode(address)) return undefined;
  const found = read(address);
  // Compilers put nothing behind a call that never comes back; linkers fill with zeros.
  if (last.control === 'call' || isFiller(address)) return undefined;
  return typeof found === 'string' ? { address, reason: found } : undefined;
}

const goesOn = ({ control }: AmdgpuStep): boolean =>
  control === 'next' || control === 'conditional' || control === 'call';

/** Sets of numbers that are joined (union-find, with halved paths). */
class Groups {
  readonly #parents: number[];

  constructor(count: number) {
    this.#parents = Array.from({ length: count }, (_, index) => index);
  }

  of(member: number): number {
    const parents = this.#parents;
    let at = member;
    while (parents[at] !== at) {
      parents[at] = parents[parents[at]!]!;
      at = parents[at]!;
    }
    return at;
  }

  join(a: number, b: number): void {
    this.#parents[this.of(a)] = this.of(b);
  }
}
