/**
 * Instructions as the analyses of this folder take them, whatever language they are of: steps in blocks, and
 * from the effects of a step what it defines and what it does to lanes. Effects follow from the encoding
 * alone, so that code may be analysed whose meaning is not known.
 */
import type { Effects, RegisterFile, RegisterRange } from '../ir/effects.ts';
import { fallsThrough, followingOffset, type Step } from '../ir/step.ts';
import type { StateSlot } from '../ir/types.ts';
import { type BasicBlock, blocksAt, type Followed, placesInOrder, reachable } from './blocks.ts';
import type { LaneEffects, PlaceSets } from './lane-liveness.ts';
import type { RegisterDefinition } from './reaching-definitions.ts';

/** Where each file begins: no language has more than 128 scalar registers, 1024 rows and 256 accumulators. */
const FILE_STARTS: Readonly<Record<RegisterFile, number>> = { scalar: 0, vector: 256, accumulator: 256 + 1024 };
const PLACES = FILE_STARTS.accumulator + 256;
/** How many words of 32 bits a set of places has (`LaneWords`). */
export const REGISTER_WORDS = PLACES / 32;
/** State without a number in the file of scalar registers; it stands behind these. */
const STATES = [
  ...(['scc', 'mode', 'status', 'trapsts', 'flatScratchLow', 'flatScratchHigh', 'request'] as const),
] satisfies readonly StateSlot[];
const FIRST_STATE = 128;
const SCALARS = (1n << BigInt(FILE_STARTS.vector)) - 1n;

/** The number by which analyses know a register: the files follow each other. */
export const registerNumber = (file: RegisterFile, index: number): number => FILE_STARTS[file] + index;

/** The file of a number, and the register in it; state counts as scalar registers. */
export function registerOf(number: number): readonly [file: RegisterFile, index: number] {
  const file = number < FILE_STARTS.vector ? 'scalar' : number < FILE_STARTS.accumulator ? 'vector' : 'accumulator';
  return [file, number - FILE_STARTS[file]];
}

/** The number by which analyses know state that is no register. */
export const stateNumber = (slot: (typeof STATES)[number]): number => FIRST_STATE + STATES.indexOf(slot);

/** The state that a number stands for; undefined for registers. */
export const stateOf = (number: number): StateSlot | undefined => STATES[number - FIRST_STATE];

/**
 * All registers as bits of a set: bit `registerNumber(file, index)` stands for the register, and bit
 * `stateNumber(slot)` for state that is none.
 */
export const REGISTER_PLACES: PlaceSets = {
  everything: (1n << BigInt(PLACES)) - 1n,
  rows: (1n << BigInt(PLACES)) - 1n - SCALARS,
};

/**
 * The blocks of the code that `entries` reach, in the order of their offsets. `read` may answer with a text
 * where there is no instruction, as readers of steps do; control that goes on there leaves the blocks. So
 * does a call, which comes back unless `comesBack` says otherwise: what is called is no part of the blocks
 * unless it is an entry as well.
 */
export function stepBlocks<S extends Step>(
  read: (offset: number) => S | string | undefined,
  entries: readonly number[],
  comesBack: (call: S) => boolean = () => true,
): BasicBlock<S>[] {
  const at = (offset: number): Followed<S> | undefined => {
    const step = read(offset);
    return typeof step === 'object' ? follow(step, comesBack) : undefined;
  };
  const code = reachable(at, entries);
  return blocksAt(placesInOrder(code), (place) => code.get(place)!, entries);
}

function follow<S extends Step>(step: S, comesBack: (call: S) => boolean): Followed<S> {
  const { control } = step;
  const isBranch = control === 'branch' || control === 'conditional';
  return {
    instruction: step,
    next: fallsThrough(step) || (control === 'call' && comesBack(step)) ? followingOffset(step) : undefined,
    target: isBranch ? step.target : undefined,
    leaves: control === 'call' || control === 'jump' || control === 'return',
    endsBlock: control !== 'next',
  };
}

/**
 * The registers that a step defines, for ReachingDefinitions. A vector register keeps what it had in lanes
 * that are off; a call may define any register.
 */
export function registerDefinitions({ control, effects }: Step): RegisterDefinition[] {
  const definitions = effects.writes.flatMap(({ file, first, dwords, lanes, isPartial }) =>
    Array.from({ length: dwords }, (_, index) => ({
      register: registerNumber(file, first + index),
      isPartial: isPartial || lanes === 'active',
    })),
  );
  const isAny = control === 'call' || effects.writesAnyOf.size > 0;
  return isAny ? [...definitions, { register: undefined, isPartial: true }] : definitions;
}

/** Steps of one encoding share their effects, and what follows from these. */
const laneEffects = new WeakMap<Effects, LaneEffects>();

/** What a step does to registers and state, for LaneLiveness over REGISTER_PLACES. */
export function registerLaneEffects({ control, effects }: Step): LaneEffects {
  let known = laneEffects.get(effects);
  if (!known) {
    known = laneEffectsOf(effects, control === 'end');
    laneEffects.set(effects, known);
  }
  return known;
}

function laneEffectsOf(effects: Effects, ends: boolean): LaneEffects {
  const { reads, writes, readsAnyOf, readsState, writesState, maskChange } = effects;
  const written = registerSet(writes.filter(({ isPartial }) => !isPartial));
  // What is written of other state may be a part of it.
  const whole = WHOLE.filter((slot) => writesState.has(slot) && (slot === 'scc' || !readsState.has(slot)));
  const writtenState = whole.length === 0 ? 0n : stateBits(new Set(whole));
  return {
    reads: registerSet(reads) | stateBits(readsState),
    crossReads: registerSet(reads.filter(({ isCrossLane }) => isCrossLane)) & REGISTER_PLACES.rows,
    scalarWrites: (written & SCALARS) | writtenState,
    rowWrites: written & REGISTER_PLACES.rows,
    maskChange,
    isOpaque: readsAnyOf.size > 0,
    ends,
  };
}

/** State that is written as a whole by what does not read it, or by all. */
const WHOLE = ['scc', 'flatScratchLow', 'flatScratchHigh'] as const;

const stateBits = (slots: ReadonlySet<StateSlot>): bigint =>
  STATES.reduce((sum, slot) => (slots.has(slot) ? sum | (1n << BigInt(stateNumber(slot))) : sum), 0n);

/** Ranges of registers as a set. */
export function registerSet(ranges: readonly RegisterRange[]): bigint {
  return ranges.reduce(
    (sum, { file, first, dwords }) => sum | (((1n << BigInt(dwords)) - 1n) << BigInt(registerNumber(file, first))),
    0n,
  );
}
