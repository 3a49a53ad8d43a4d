/** How control goes from one function to others and comes back, by the addresses of original instructions. */
import { fallsThrough, followingOffset } from '../../ir/step.ts';
import type { LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';

/** Where a function that is called ends. */
export interface FunctionEnd {
  /** Its returns. */
  readonly returns: readonly number[];
  /** The calls behind which it comes back. */
  readonly calls: number[];
  /** Functions that go on with it: where it ends, so do they. */
  readonly endOf: FunctionEnd[];
}

export interface CallWays {
  /** By the call or the jump, the entries of functions that it may go to. */
  readonly entered: ReadonlyMap<number, readonly number[]>;
  readonly ends: readonly FunctionEnd[];
}

/** As far as targets are known; nothing where no function calls another. */
export function callWays(code: LiftedCode): CallWays | undefined {
  const entered = new Map<number, readonly number[]>();
  const ends = new Map<LiftedFunction, FunctionEnd>();
  const endOf = (lifted: LiftedFunction): FunctionEnd => {
    const end = ends.get(lifted) ?? { returns: returnsOf(lifted), calls: [], endOf: [] };
    ends.set(lifted, end);
    return end;
  };
  for (const lifted of code.functions) {
    for (const { step, callees } of lifted.sites) {
      if (callees.length === 0) continue;
      entered.set(
        step.offset,
        callees.map(({ entry }) => entry),
      );
      for (const callee of callees) {
        if (step.control === 'call') endOf(callee).calls.push(step.offset);
        else endOf(callee).endOf.push(endOf(lifted));
      }
    }
  }
  if (ends.size === 0) return undefined;
  for (const lifted of code.functions) {
    for (const next of goneOnWith(lifted, code)) endOf(next).endOf.push(endOf(lifted));
  }
  return { entered, ends: [...ends.values()] };
}

/** Jumps through registers that are no sites go back to where the function was called. */
function returnsOf({ blocks, sites }: LiftedFunction): readonly number[] {
  const others = new Set(sites.map(({ step }) => step));
  return blocks
    .map(({ instructions }) => instructions.at(-1)!)
    .filter((last) => (last.control === 'jump' || last.control === 'return') && !others.has(last))
    .map(({ offset }) => offset);
}

/** Functions that a direct branch leads to, or that stand behind the last instruction. */
function goneOnWith({ blocks, entry }: LiftedFunction, code: LiftedCode): Set<LiftedFunction> {
  const found = new Set<LiftedFunction>();
  for (const { instructions, leaves } of blocks) {
    const last = instructions.at(-1)!;
    if (!leaves || last.control === 'call') continue;
    for (const address of [last.target, fallsThrough(last) ? followingOffset(last) : undefined]) {
      const other = address === undefined ? undefined : code.functionAt(address);
      if (other && other.entry !== entry) found.add(other);
    }
  }
  return found;
}
