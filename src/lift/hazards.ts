/**
 * Hazards that code does not keep out of the way of: wait states that are missing before steps, over all ways
 * through blocks, or in straight code between what is around it.
 */
import { type BasicBlock, blockGraph } from '../flow/blocks.ts';
import { solveDataFlow } from '../flow/data-flow.ts';
import type { Effects, RegisterRange } from '../ir/effects.ts';
import { type Facts, type Hazard, isVector, type Part, waitStatesOf } from '../isa/amdgpu/effects/hazard.ts';
import { type HazardPart, hazardParts } from '../isa/amdgpu/effects/hazards.ts';
import { overlaps, rangesWithout } from '../isa/amdgpu/effects/operand-ranges.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

export interface MissingWait {
  /** The step that comes too early, and the one that it comes too early after. */
  readonly step: AmdgpuStep;
  readonly producer: AmdgpuStep;
  readonly hazard: Hazard;
  /** Of what the hazard counts; infinite where only its cure helps. */
  readonly missing: number;
}

/** A step that others may still come too early after. */
interface Pending {
  readonly hazard: Hazard;
  readonly producer: AmdgpuStep;
  readonly part: Part;
  /** What has passed of what the hazard counts, of its cure, and whether what it needs besides was there. */
  readonly passed: number;
  readonly cured: number;
  readonly isArmed: boolean;
}

interface StepParts {
  /** Tells steps apart. */
  readonly number: number;
  readonly facts: Facts;
  readonly parts: readonly HazardPart[];
  /** What others may come too early after, when the step has just run. */
  readonly added: readonly (readonly [key: string, Pending])[];
}

const known = new WeakMap<AmdgpuStep, StepParts>();
let knownCount = 0;
/** Steps of one encoding share their effects, and with them these. */
const partsByEffects = new WeakMap<Effects, readonly HazardPart[]>();

function partsOf(step: AmdgpuStep): StepParts {
  let found = known.get(step);
  if (!found) {
    const { instruction, effects } = step;
    const facts = { instruction, effects };
    const parts = partsByEffects.get(effects) ?? hazardParts(facts);
    partsByEffects.set(effects, parts);
    const number = knownCount++;
    const added = parts.flatMap(({ hazard, before }): [string, Pending][] => {
      if (before === undefined) return [];
      const isArmed = hazard.armedBy === undefined;
      const pending = { hazard, producer: step, part: before, passed: 0, cured: 0, isArmed };
      return [[keyOf(pending, number), pending]];
    });
    found = { number, facts, parts, added };
    known.set(step, found);
  }
  return found;
}

const meet = (a: Part, b: Part): boolean =>
  a !== undefined &&
  b !== undefined &&
  (a === 'any' || b === 'any' || a.some((one) => b.some((each) => overlaps(one, each))));

const rangeText = ({ file, first, dwords }: RegisterRange): string => `${file} ${first} ${dwords}`;

/** What is known at a place of the steps before it. States do not change. */
export class HazardState {
  static readonly NOTHING = new HazardState(new Map());
  readonly #pending: ReadonlyMap<string, Pending>;

  private constructor(pending: ReadonlyMap<string, Pending>) {
    this.#pending = pending;
  }

  /** The waits that are missing if the step comes next. */
  missing(step: AmdgpuStep): MissingWait[] {
    if (this.#pending.size === 0) return [];
    const { facts, parts } = partsOf(step);
    return parts
      .flatMap(({ hazard, after }) =>
        after === undefined
          ? []
          : [...this.#pending.values()].flatMap((each) => missingOf(each, hazard, after, facts) ?? []),
      )
      .map((each) => ({ ...each, step }));
  }

  /** What is known behind the step, with so many wait states before it. */
  after(step: AmdgpuStep, statesBefore = 0): HazardState {
    const { facts, added } = partsOf(step);
    if (this.#pending.size === 0 && added.length === 0) return this;
    const pending = new Map<string, Pending>();
    for (const [key, each] of this.#pending) {
      const left = passed(each, facts, statesBefore);
      if (left) pending.set(key, left);
    }
    for (const [key, each] of added) {
      const earlier = pending.get(key);
      pending.set(key, earlier ? nearer(each, earlier) : each);
    }
    return new HazardState(pending);
  }

  join(other: HazardState): HazardState {
    if (this.#pending.size === 0) return other;
    if (other.#pending.size === 0) return this;
    const pending = new Map(this.#pending);
    for (const [key, theirs] of other.#pending) {
      const own = pending.get(key);
      pending.set(key, own ? nearer(own, theirs) : theirs);
    }
    return new HazardState(pending);
  }

  equals(other: HazardState): boolean {
    if (this === other) return true;
    return (
      this.#pending.size === other.#pending.size &&
      [...this.#pending].every(([key, own]) => {
        const theirs = other.#pending.get(key);
        return theirs?.passed === own.passed && theirs.cured === own.cured && theirs.isArmed === own.isArmed;
      })
    );
  }
}

/** Those that time does not end are told apart by their registers, of which there are few, not by steps. */
function keyOf({ hazard, part }: Pending, producer: number): string {
  if (hazard.most < Number.POSITIVE_INFINITY) return `${hazard.name} ${producer}`;
  return `${hazard.name} ${typeof part === 'object' ? part.map(rangeText).join() : part}`;
}

const nearer = (a: Pending, b: Pending): Pending => ({
  ...a,
  passed: Math.min(a.passed, b.passed),
  cured: Math.min(a.cured, b.cured),
  isArmed: a.isArmed || b.isArmed,
});

function missingOf(pending: Pending, hazard: Hazard, after: Part, facts: Facts): Omit<MissingWait, 'step'> | undefined {
  const { producer, part, isArmed } = pending;
  if (pending.hazard !== hazard || !isArmed || !meet(part, after)) return undefined;
  const { waitStates } = hazard;
  const needed = typeof waitStates === 'number' ? waitStates : waitStates(partsOf(producer).facts, facts);
  const missing = needed - pending.passed;
  return missing > 0 ? { producer, hazard, missing } : undefined;
}

/** What is left of it behind a step; undefined: nothing. */
function passed(pending: Pending, facts: Facts, statesBefore: number): Pending | undefined {
  const { hazard, part } = pending;
  const counted = hazard.counts === 'states' ? statesBefore + waitStatesOf(facts.instruction) : Number(isVector(facts));
  const sum = hazard.most < Number.POSITIVE_INFINITY ? pending.passed + counted : 0;
  const cured = pending.cured + (hazard.cured?.(facts, typeof part === 'object' ? part : []) ?? 0);
  if (sum >= hazard.most || cured >= 1) return undefined;
  const isArmed = pending.isArmed || meet(part, hazard.armedBy?.(facts));
  const replaced = hazard.replaced?.(facts);
  const left = typeof part === 'object' && typeof replaced === 'object' ? rangesWithout(part, replaced) : part;
  return left?.length === 0 ? undefined : { ...pending, part: left, passed: sum, cured, isArmed };
}

/** What is known behind a step, as `HazardState.after` says; behind a call nothing is known to be near. */
export const afterInCode = (state: HazardState, step: AmdgpuStep, statesBefore = 0): HazardState =>
  step.control === 'call' ? HazardState.NOTHING : state.after(step, statesBefore);

/** The waits that are missing in blocks, in their order. */
export function missingWaits(
  blocks: readonly BasicBlock<AmdgpuStep>[],
  entries: readonly BasicBlock<AmdgpuStep>[],
): MissingWait[] {
  const { incoming } = solveDataFlow<HazardState>(blockGraph(blocks, entries), {
    direction: 'forward',
    nothing: HazardState.NOTHING,
    outside: HazardState.NOTHING,
    join: (a, b) => a.join(b),
    equals: (a, b) => a.equals(b),
    transfer: (node, state) => blocks[node]!.instructions.reduce((before, step) => afterInCode(before, step), state),
  });
  return blocks.flatMap(({ index, instructions }) => {
    let state = incoming[index]!;
    return instructions.flatMap((step) => {
      const missing = state.missing(step);
      state = afterInCode(state, step);
      return missing;
    });
  });
}

/** What straight code needs where it is spliced in. */
export interface StraightWaits {
  /** The wait states to insert before steps, by number; where there is no number, none. */
  readonly states: ReadonlyMap<number, number>;
  /** What no wait states cure. */
  readonly others: readonly MissingWait[];
  /** What is known behind the code. */
  readonly behind: HazardState;
}

/**
 * The wait states that straight code needs behind what `before` knows; steps at the end that stay where they
 * were, behind the splice, are part of it.
 */
export function waitsOfStraightCode(before: HazardState, steps: readonly AmdgpuStep[]): StraightWaits {
  const states = new Map<number, number>();
  const others: MissingWait[] = [];
  let state = before;
  for (const [number, step] of steps.entries()) {
    const missing = state.missing(step);
    const needed = missing.filter(({ hazard }) => hazard.counts === 'states').map((each) => each.missing);
    others.push(...missing.filter(({ hazard }) => hazard.counts !== 'states'));
    const count = Math.max(0, ...needed);
    if (count > 0) states.set(number, count);
    state = state.after(step, count);
  }
  return { states, others, behind: state };
}
