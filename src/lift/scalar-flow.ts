/** Constants carried along all ways through code, from where it is entered until nothing changes any more. */
import { followingOffset } from '../ir/step.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import type { ScalarState } from './scalar-state.ts';

/** How many instructions may be followed one by one; they take about 5 us each. */
export interface WalkBudget {
  steps: number;
}

export interface ScalarVisitor {
  /** Where something jumps to: states meet there. More may be added while the walk runs. */
  readonly labels: ReadonlySet<number>;
  /** Undefined where the walk ends: `leave` is told. */
  stepAt(place: number): AmdgpuStep | undefined;
  leave(place: number, state: ScalarState): void;
  /**
   * Carries a step out on the state, and says where control goes on; undefined: with the instruction behind
   * it alone.
   */
  visit(step: AmdgpuStep, state: ScalarState): readonly number[] | undefined;
  /** What was noted so far is void: the walk begins again, with more labels. */
  begin(): void;
}

/** How often jumps through registers may show new labels. Compilers write few of them, for long branches. */
const MAX_ROUNDS = 20;

/**
 * Whether all ways were followed to the end: before that, what is known of registers may be wrong for some
 * of them. `entry` is the state at the place where the code is entered.
 */
export function followScalars(start: number, entry: ScalarState, visitor: ScalarVisitor, budget: WalkBudget): boolean {
  // Jumps through registers show more labels: the states before them have to meet there, too.
  for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
    const labels = visitor.labels.size;
    visitor.begin();
    if (!followOnce(start, entry, visitor, budget)) return false;
    if (visitor.labels.size === labels) return true;
  }
  return false;
}

function followOnce(start: number, entry: ScalarState, visitor: ScalarVisitor, budget: WalkBudget): boolean {
  const states = new Map([[start, entry]]);
  const pending = [start];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const state = states.get(at)!.clone();
    for (const next of followRun(at, state, visitor, budget)) {
      const known = states.get(next);
      if (known && !known.meet(state)) continue;
      if (!known) states.set(next, state.clone());
      pending.push(next);
    }
    if (budget.steps <= 0) return false;
  }
  return true;
}

/** To the next place where ways part or meet; returns where they go on. */
function followRun(start: number, state: ScalarState, visitor: ScalarVisitor, budget: WalkBudget): readonly number[] {
  for (let at = start; budget.steps > 0; budget.steps--) {
    if (at !== start && visitor.labels.has(at)) return [at];
    const step = visitor.stepAt(at);
    if (!step) {
      visitor.leave(at, state);
      return [];
    }
    const next = visitor.visit(step, state);
    if (next) return next;
    at = followingOffset(step);
  }
  return [];
}
