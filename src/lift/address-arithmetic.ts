/**
 * Whether code computes with an address of code that it has in scalar registers: what comes of that leads to
 * the place that it is meant for only if the address is the one that the code was written with.
 */
import type { BasicBlock } from '../flow/blocks.ts';
import type { FlowGraph } from '../flow/graph.ts';
import type { LiveLanes } from '../flow/lane-words.ts';
import { registerSet } from '../flow/steps.ts';
import type { OpName } from '../ir/ops.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

interface Owner {
  readonly graph: FlowGraph;
  liveBefore(step: AmdgpuStep): LiveLanes;
}

/** The low half of the address, before an instruction of a block. */
export interface HeldAddress {
  readonly owner: Owner;
  readonly block: BasicBlock<AmdgpuStep>;
  readonly index: number;
  readonly register: number;
}

/** Code uses addresses close to where it has them. */
const MAX_STEPS = 256;

/**
 * Of what is moved to other registers no more is known, nor where ways come together: on others of these the
 * registers may hold something else.
 */
export function isComputedWith({ owner, block: start, index, register }: HeldAddress): boolean {
  const bits = registerSet([{ file: 'scalar', first: register, dwords: 1 }]);
  const ways: (readonly [block: BasicBlock<AmdgpuStep>, from: number])[] = [[start, index]];
  let left = MAX_STEPS;
  for (const [block, from] of ways) {
    let isHeld = true;
    for (const step of block.instructions.slice(from)) {
      isHeld = (owner.liveBefore(step).active & bits) !== 0n;
      if (!isHeld) break;
      if (left-- === 0) return false;
      if (computes(step, register)) return true;
      isHeld = (registerSet(step.effects.writes) & bits) === 0n;
      if (!isHeld) break;
    }
    for (const way of isHeld ? [block.next, block.target] : []) {
      if (way && owner.graph.predecessors[way.index]!.length === 1) ways.push([way, 0]);
    }
  }
  return false;
}

/** These give one of their arguments, or halves of it; comparisons are no addresses either. */
const MOVES = new Set<OpName>(['i32.select', 'i64.select', 'i64.pack', 'i64.low', 'i64.high', 'i64.zext32']);

/** Whether an instruction writes what it computes of the register, or reads memory there. */
function computes({ instruction, meaning }: AmdgpuStep, register: number): boolean {
  const held = new Set<number>();
  const computed = new Set<number>();
  for (const { id, leaf, args, type } of meaning?.values ?? []) {
    const [isHeld, isComputed] = [held, computed].map((some) => args.some((arg) => some.has(arg.id)));
    if (leaf.kind === 'operand') {
      const operand = instruction.operand(leaf.at.operand);
      if (operand.kind === 'scalar' && operand.register + leaf.at.dword === register) held.add(id);
    } else if (leaf.kind === 'pure' && type !== 'i1') {
      if (isHeld && MOVES.has(leaf.op)) held.add(id);
      else if (isHeld || isComputed) computed.add(id);
    } else if (leaf.kind === 'load' && args[0] && (held.has(args[0].id) || computed.has(args[0].id))) return true;
    else if (leaf.kind === 'setOperand' && isComputed) return true;
  }
  return false;
}
