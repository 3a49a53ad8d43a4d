/**
 * What a program executes as often as the pace of the host has it, or that of other waves: loops that wait or
 * try again, and the way into them.
 */
import { postDominators } from '../../src/flow/dominators.ts';
import type { Loop } from '../../src/flow/loops.ts';
import type { LiftedCode } from '../../src/lift/lifted-code.ts';
import type { LiftedFunction } from '../../src/lift/lifted-function.ts';

/** Addresses of instructions. */
export interface HostPaced {
  /** The waves that execute them are not always as many. */
  readonly waves: ReadonlySet<number>;
  /** The waves are, and their lanes are not: they stand where the lanes that wait are told from others. */
  readonly lanes: ReadonlySet<number>;
}

/**
 * Code sleeps while it waits for the host. What an atomic gives back, such as that another wave has a lock,
 * decides whether a loop tries again.
 */
const WAITS = /^s_sleep|_atomic_\w+ .*\b(glc|sc0|th:TH_ATOMIC_RETURN)\b/;

/** `lastKernel`: what runs when the program ends, wherever it is then, by addresses of instructions. */
export function hostPaced({ functions }: LiftedCode, lastKernel: ReadonlySet<number>): HostPaced {
  const waves = new Set<number>();
  const lanes = new Set<number>();
  for (const each of functions) {
    const { blocks } = each;
    const steps = blocks.flatMap(({ instructions }) => instructions);
    if (steps.some(({ offset }) => lastKernel.has(offset))) for (const { offset } of steps) waves.add(offset);
    const waiting = blocks.filter(({ instructions }) => instructions.some((step) => WAITS.test(step.text())));
    for (const loop of new Set(waiting.flatMap(({ index }) => each.loops.at(index) ?? []))) {
      for (const address of withCallees(each, each.loops.nodesOf(loop))) waves.add(address);
      const { ways, branches } = waysInto(each, loop);
      for (const address of withCallees(each, ways)) waves.add(address);
      for (const address of addressesOf(each, branches)) lanes.add(address);
    }
  }
  return { waves, lanes };
}

const addressesOf = ({ blocks }: LiftedFunction, indices: Iterable<number>): number[] =>
  [...indices].flatMap((index) => blocks[index]!.instructions.map(({ offset }) => offset));

/** With all that they call. */
function withCallees(own: LiftedFunction, indices: Iterable<number>): readonly number[] {
  const addresses = addressesOf(own, indices);
  const isInside = new Set(addresses);
  const called = own.sites.flatMap(({ step, callees }) => (isInside.has(step.offset) ? callees : []));
  const reached = new Set(called.flatMap((callee) => [...callee.reaches().functions]));
  return [...addresses, ...[...reached].flatMap((each) => addressesOf(each, each.blocks.keys()))];
}

/** Blocks behind which the loop is inevitable, back to the branches before which it is not. */
function waysInto(
  { graph }: LiftedFunction,
  loop: Loop,
): { readonly ways: Set<number>; readonly branches: Set<number> } {
  const after = postDominators(graph);
  const [ways, branches] = [new Set<number>(), new Set<number>()];
  const found = [loop.header];
  for (const node of found) {
    for (const before of graph.predecessors[node]!) {
      if (loop.latches.includes(before) || ways.has(before)) continue;
      if (!after.dominates(loop.header, before)) branches.add(before);
      else {
        ways.add(before);
        found.push(before);
      }
    }
  }
  // Where no branch is, all that come there wait.
  return branches.size > 0 ? { ways, branches } : { ways: new Set(), branches };
}
