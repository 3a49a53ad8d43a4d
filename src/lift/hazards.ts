/**
 * Hazards that code does not keep out of the way of: wait states that are missing before steps, over all ways
 * through blocks, or in straight code between what is around it.
 */
import { type BasicBlock, blockGraph } from '../flow/blocks.ts';
import { solveDataFlow } from '../flow/data-flow.ts';
import type { FlowGraph } from '../flow/graph.ts';
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
  /** By their registers as text, where the hazard needs a second result. */
  readonly partners: ReadonlyMap<string, PendingPartner>;
}

/** A second result, and how many vector instructions have come behind it. */
interface PendingPartner {
  readonly ranges: readonly RegisterRange[];
  readonly passed: number;
}

const NO_PARTNERS: Pending['partners'] = new Map();

interface StepParts {
  readonly facts: Facts;
  /** The parts that may come too early after others. */
  readonly endangered: readonly HazardPart[];
  /** What others may come too early after, when the step has just run. */
  readonly added: readonly Pending[];
}

const known = new WeakMap<AmdgpuStep, StepParts>();
/** Steps of one encoding share their effects, and with them these. */
const partsByEffects = new WeakMap<Effects, readonly HazardPart[]>();

function partsOf(step: AmdgpuStep): StepParts {
  let found = known.get(step);
  if (!found) {
    const { instruction, effects } = step;
    const facts = { instruction, effects };
    const parts = partsByEffects.get(effects) ?? hazardParts(facts);
    partsByEffects.set(effects, parts);
    const added = parts.flatMap(({ hazard, before: part }): Pending[] => {
      if (part === undefined) return [];
      const isArmed = hazard.armedBy === undefined;
      return [{ hazard, producer: step, part, passed: 0, cured: 0, isArmed, partners: NO_PARTNERS }];
    });
    found = { facts, endangered: parts.filter(({ after }) => after !== undefined), added };
    known.set(step, found);
  }
  return found;
}

const meet = (a: Part, b: Part): boolean =>
  a !== undefined &&
  b !== undefined &&
  (a === 'any' || b === 'any' || a.some((one) => b.some((each) => overlaps(one, each))));

const rangeText = ({ file, first, dwords }: RegisterRange): string => `${file} ${first} ${dwords}`;

const NOTHING_MISSING: readonly MissingWait[] = [];

/** What comes of a step at a place. */
interface Transition {
  readonly missing: readonly MissingWait[];
  readonly after: HazardState;
}

/** Hazards that a step may meet: what comes before them matters to code with such steps alone. */
export const hazardsMetBy = (step: AmdgpuStep): readonly Hazard[] =>
  partsOf(step).endangered.map(({ hazard }) => hazard);

/** The states of one walk through code, by what is pending in them. */
interface Walk {
  /** Hazards that steps of the code may meet; undefined: all. */
  readonly hazards: ReadonlySet<Hazard> | undefined;
  readonly states: Map<string, HazardState>;
  readonly producers: Map<AmdgpuStep, number>;
}

/**
 * What is known at a place of the steps before it. States do not change, and those of one walk that are equal
 * are one object, so that what comes of a step is found once for each state.
 */
export class HazardState {
  readonly #pending: readonly Pending[];
  readonly #walk: Walk;
  readonly #transitions = new Map<AmdgpuStep, Transition>();
  /** The step that was asked about last: what comes of it is asked for behind what is missing. */
  #lastStep: AmdgpuStep | undefined;
  #lastTransition: Transition | undefined;

  private constructor(pending: readonly Pending[], walk: Walk) {
    this.#pending = pending;
    this.#walk = walk;
  }

  /**
   * Where nothing is known to be near: a walk of its own begins. `hazards`: those that the walk is about, all
   * by default; they are looked up when a step is walked through.
   */
  static nothing(hazards?: ReadonlySet<Hazard>): HazardState {
    return HazardState.#in({ hazards, states: new Map(), producers: new Map() }, []);
  }

  static #in(walk: Walk, pending: readonly Pending[]): HazardState {
    const keys = pending.map((each) => keyOf(each, walk));
    const key = keys.length > 1 ? keys.sort().join() : (keys[0] ?? '');
    let state = walk.states.get(key);
    if (!state) {
      state = new HazardState(pending, walk);
      walk.states.set(key, state);
    }
    return state;
  }

  /** The waits that are missing if the step comes next. */
  missing(step: AmdgpuStep): readonly MissingWait[] {
    return this.#through(step).missing;
  }

  /** What is known behind the step, with so many wait states before it. */
  after(step: AmdgpuStep, statesBefore = 0): HazardState {
    return statesBefore === 0 ? this.#through(step).after : this.#behind(step, statesBefore);
  }

  /**
   * As `after`; a call or a return is an instruction like others, but ends what time alone does not end: LLVM
   * looks at functions one by one, and code that it makes has such hazards across them.
   */
  afterInCode(step: AmdgpuStep, statesBefore = 0): HazardState {
    const after = this.after(step, statesBefore);
    if (step.control !== 'call' && step.control !== 'jump' && step.control !== 'return') return after;
    return HazardState.#in(
      this.#walk,
      after.#pending.filter(({ hazard }) => isOfStep(hazard)),
    );
  }

  /** Of two states of one walk. */
  join(other: HazardState): HazardState {
    if (other === this || other.#pending.length === 0) return this;
    if (this.#pending.length === 0) return other;
    return HazardState.#in(this.#walk, withAll(this.#pending, other.#pending, nearer));
  }

  #through(step: AmdgpuStep): Transition {
    if (this.#lastStep === step) return this.#lastTransition!;
    let transition = this.#transitions.get(step);
    if (!transition) {
      transition = { missing: this.#missing(step), after: this.#behind(step, 0) };
      this.#transitions.set(step, transition);
    }
    this.#lastStep = step;
    this.#lastTransition = transition;
    return transition;
  }

  #missing(step: AmdgpuStep): readonly MissingWait[] {
    if (this.#pending.length === 0) return NOTHING_MISSING;
    const { facts, endangered } = partsOf(step);
    if (endangered.length === 0) return NOTHING_MISSING;
    return endangered.flatMap(({ hazard, after }) => {
      const pending = this.#pending.filter((each) => each.hazard === hazard);
      return pending.flatMap((each) => {
        const isPaired = !hazard.partner || isFirstOfPair(each, after, pending);
        const missing = isPaired ? missingOf(each, after, facts) : undefined;
        return missing ? [{ ...missing, step }] : [];
      });
    });
  }

  #behind(step: AmdgpuStep, statesBefore: number): HazardState {
    const { facts, added: all } = partsOf(step);
    const { hazards } = this.#walk;
    const added = hazards && all.length > 0 ? all.filter(({ hazard }) => hazards.has(hazard)) : all;
    if (this.#pending.length === 0 && added.length === 0) return this;
    const left = this.#pending.flatMap((each) => passed(each, facts, statesBefore) ?? []);
    return HazardState.#in(
      this.#walk,
      withAll(left, added, (earlier, each) => nearer(each, earlier)),
    );
  }
}

function keyOf(pending: Pending, { producers }: Walk): string {
  const { hazard, producer, part, passed: count, cured, isArmed, partners } = pending;
  let number = -1;
  if (isOfStep(hazard)) {
    number = producers.get(producer) ?? producers.size;
    producers.set(producer, number);
  }
  const seconds = partners.size === 0 ? '' : Array.from(partners, ([text, each]) => `${text} ${each.passed}`).sort();
  return `${hazard.name} ${number} ${partText(part)} ${count} ${cured} ${isArmed} ${seconds}`;
}

/** Registers of either. */
function eitherPart(a: Part, b: Part): Part {
  if (typeof a !== 'object' || typeof b !== 'object' || a === b) return a;
  const own = new Set(a.map(rangeText));
  const others = b.filter((range) => !own.has(rangeText(range)));
  return others.length === 0 ? a : [...a, ...others];
}

const partTexts = new WeakMap<readonly RegisterRange[], string>();

function partText(part: Part): string {
  if (typeof part !== 'object') return `${part}`;
  const text = partTexts.get(part) ?? part.map(rangeText).join();
  partTexts.set(part, text);
  return text;
}

/** `all` and the others; of two that are one and the same hazard, what `both` makes of them. */
function withAll(
  all: readonly Pending[],
  others: readonly Pending[],
  both: (own: Pending, other: Pending) => Pending,
): readonly Pending[] {
  if (others.length === 0) return all;
  const joined = [...all];
  for (const other of others) {
    const index = joined.findIndex((own) => isSame(own, other));
    if (index < 0) joined.push(other);
    else joined[index] = both(joined[index]!, other);
  }
  return joined;
}

/** Those that time does not end are told apart by their registers, of which there are few, not by steps. */
const isOfStep = ({ most }: Hazard): boolean => most < Number.POSITIVE_INFINITY;

function isSame(a: Pending, b: Pending): boolean {
  if (a.hazard !== b.hazard) return false;
  return isOfStep(a.hazard) ? a.producer === b.producer : partText(a.part) === partText(b.part);
}

const nearer = (a: Pending, b: Pending): Pending => ({
  ...a,
  part: eitherPart(a.part, b.part),
  passed: Math.min(a.passed, b.passed),
  cured: Math.min(a.cured, b.cured),
  isArmed: a.isArmed || b.isArmed,
  partners: nearerPartners(a.partners, b.partners),
});

function nearerPartners(a: Pending['partners'], b: Pending['partners']): Pending['partners'] {
  if (a.size === 0 || b.size === 0) return a.size === 0 ? b : a;
  const partners = new Map(a);
  for (const [key, each] of b) {
    const own = partners.get(key);
    if (!own || each.passed < own.passed) partners.set(key, each);
  }
  return partners;
}

function missingOf(pending: Pending, after: Part, facts: Facts): Omit<MissingWait, 'step'> | undefined {
  const { hazard, producer, part, isArmed } = pending;
  if (!isArmed || !meet(part, after)) return undefined;
  const { waitStates } = hazard;
  const needed = typeof waitStates === 'number' ? waitStates : waitStates(partsOf(producer).facts, facts);
  const missing = needed - pending.passed;
  return missing > 0 ? { producer, hazard, missing } : undefined;
}

/**
 * Whether one operand is the first result, and of the others the one that was written last a second result;
 * `all` is what is pending of the hazard.
 */
function isFirstOfPair({ part, passed: count, partners }: Pending, after: Part, all: readonly Pending[]): boolean {
  if (typeof after !== 'object') return false;
  const lastOf = (operand: RegisterRange): number =>
    Math.min(Number.POSITIVE_INFINITY, ...all.filter((each) => meet(each.part, [operand])).map((each) => each.passed));
  const last = Math.min(...after.map(lastOf));
  const isFirst = (operand: RegisterRange): boolean => meet(part, [operand]) && lastOf(operand) === count;
  const isSecond = (operand: RegisterRange): boolean =>
    lastOf(operand) === last &&
    [...partners.values()].some((each) => each.passed === last && meet(each.ranges, [operand]));
  return count > last && after.some(isFirst) && after.some(isSecond);
}

/** The second results behind a step that a first one meets. */
function partnersBehind({ hazard, passed: count, isArmed, partners }: Pending, facts: Facts): Pending['partners'] {
  const { partner, replaced } = hazard;
  if (!partner) return NO_PARTNERS;
  const written = replaced?.(facts);
  const behind = new Map<string, PendingPartner>();
  for (const each of partners.values()) {
    const sum = each.passed + Number(isVector(facts));
    const ranges = typeof written === 'object' ? rangesWithout(each.ranges, written) : each.ranges;
    if (sum <= partner.mostBehind && ranges.length > 0) behind.set(partText(ranges), { ranges, passed: sum });
  }
  const ranges = isArmed && count <= partner.mostBetween ? partner.part(facts) : undefined;
  if (typeof ranges === 'object') behind.set(partText(ranges), { ranges, passed: 0 });
  return behind;
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
  if (left?.length === 0) return undefined;
  return { ...pending, part: left, passed: sum, cured, isArmed, partners: partnersBehind(pending, facts) };
}

/**
 * The waits that are missing in blocks, in their order: from entries on along the blocks, or as a graph says
 * whose nodes they are.
 */
export function missingWaits(
  blocks: readonly BasicBlock<AmdgpuStep>[],
  where: readonly BasicBlock<AmdgpuStep>[] | FlowGraph,
): MissingWait[] {
  const graph = 'successors' in where ? where : blockGraph(blocks, where);
  const hazards = new Set<Hazard>();
  for (const { instructions } of blocks) {
    for (const step of instructions) for (const hazard of hazardsMetBy(step)) hazards.add(hazard);
  }
  const nothing = HazardState.nothing(hazards);
  const { incoming } = solveDataFlow<HazardState>(graph, {
    direction: 'forward',
    nothing,
    outside: nothing,
    join: (a, b) => a.join(b),
    equals: (a, b) => a === b,
    transfer: (node, state) => blocks[node]!.instructions.reduce((before, step) => before.afterInCode(step), state),
  });
  return blocks.flatMap(({ index, instructions }) => {
    let state = incoming[index]!;
    return instructions.flatMap((step) => {
      const missing = state.missing(step);
      state = state.afterInCode(step);
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
