/** Addresses of functions that code makes: whether they get anywhere but to known calls. */
import type { BasicBlock } from '../flow/blocks.ts';
import type { LiveLanes } from '../flow/lane-words.ts';
import { registerSet } from '../flow/steps.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

/** What is asked of the function that makes an address. */
interface Maker {
  blockOf(step: AmdgpuStep): BasicBlock<AmdgpuStep> | undefined;
  liveBefore(step: AmdgpuStep): LiveLanes;
  liveAfter(step: AmdgpuStep): LiveLanes;
  siteOf(step: AmdgpuStep):
    | {
        readonly isComplete: boolean;
        readonly targets: readonly number[];
        readonly callees: readonly { readonly reads: LiveLanes | undefined }[];
      }
    | undefined;
}

/** An address in two scalar registers. */
export interface MadeAddress {
  readonly function: Maker;
  /** The step of that function behind which the registers hold it. */
  readonly step: AmdgpuStep;
  readonly first: number;
}

/** Compilers make addresses close to where they are used. */
const MAX_STEPS = 256;

/**
 * Whether nothing reads the address from its registers, but calls of `callee` and jumps to it. Nothing can be
 * reached by the high half alone, which masks of lanes at times begin with by chance.
 */
export function isOnlyCalled({ function: caller, step, first }: MadeAddress, callee: object): boolean {
  const bits = registerSet([{ file: 'scalar', first, dwords: 1 }]);
  const start = caller.blockOf(step);
  if (!start) return false;
  let left = MAX_STEPS;
  const ways: (readonly [block: BasicBlock<AmdgpuStep>, from: number])[] = [
    [start, start.instructions.indexOf(step) + 1],
  ];
  const met = new Set<BasicBlock<AmdgpuStep>>();
  for (const [block, from] of ways) {
    const { instructions, leaves, next, target } = block;
    for (const each of instructions.slice(from)) {
      if ((caller.liveBefore(each).active & bits) === 0n) break;
      if (left-- === 0 || usesIt(each, bits, caller, callee)) return false;
    }
    const last = instructions.at(-1)!;
    if ((caller.liveAfter(last).active & bits) === 0n) continue;
    if (leaves && last.control !== 'call') return false;
    for (const way of [next, target]) {
      if (!way || met.has(way)) continue;
      met.add(way);
      ways.push([way, 0]);
    }
  }
  return true;
}

/** Whether a step does more with registers than to go to `callee` by them. */
function usesIt(step: AmdgpuStep, bits: bigint, caller: Maker, callee: object): boolean {
  const { control, effects } = step;
  const isRead = (registerSet(effects.reads) & bits) !== 0n || effects.readsAnyOf.has('scalar');
  if (control !== 'call' && control !== 'jump') return isRead;
  const site = caller.siteOf(step);
  if (!site?.isComplete || site.callees.length < site.targets.length) return true;
  if (isRead && site.callees.some((each) => each !== callee)) return true;
  return site.callees.some(({ reads }) => !reads || (reads.active & bits) !== 0n);
}
