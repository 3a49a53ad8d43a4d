/**
 * Instructions as the analyses of this folder take them, whatever language they are of: steps in blocks, and
 * from the effects of a step what it defines and what it does to lanes. Effects follow from the encoding
 * alone, so that code may be analysed whose meaning is not known.
 */
import type { RegisterFile, RegisterRange } from '../ir/effects.ts';
import { fallsThrough, followingOffset, type Step } from '../ir/step.ts';
import { type BasicBlock, basicBlocks, type Followed, reachable } from './blocks.ts';
import type { LaneEffects, PlaceSets } from './lane-liveness.ts';
import type { RegisterDefinition } from './reaching-definitions.ts';

/** More registers than a file of any language has. */
const FILE_SIZE = 1024;
const FILES: readonly RegisterFile[] = ['scalar', 'vector', 'accumulator'];
const SCALARS = (1n << BigInt(FILE_SIZE)) - 1n;

/** The number by which analyses know a register: the files follow each other. */
export const registerNumber = (file: RegisterFile, index: number): number => FILES.indexOf(file) * FILE_SIZE + index;

/** All registers as bits of a set: bit `registerNumber(file, index)` stands for the register. */
export const REGISTER_PLACES: PlaceSets = {
  everything: (1n << BigInt(FILES.length * FILE_SIZE)) - 1n,
  rows: ((1n << BigInt((FILES.length - 1) * FILE_SIZE)) - 1n) << BigInt(FILE_SIZE),
};

/**
 * The blocks of the code that `entries` reach, in the order of their offsets. `read` may answer with a text
 * where there is no instruction, as readers of steps do; control that goes on there leaves the blocks. So
 * does a call, which comes back: what is called is no part of the blocks unless it is an entry as well.
 */
export function stepBlocks<S extends Step>(
  read: (offset: number) => S | string | undefined,
  entries: readonly number[],
  maxInstructions = Number.POSITIVE_INFINITY,
): BasicBlock<S>[] {
  const at = (offset: number): Followed<S> | undefined => {
    const step = read(offset);
    return typeof step === 'object' ? follow(step) : undefined;
  };
  const found = [...reachable(at, entries, maxInstructions)].sort(([a], [b]) => a - b);
  return basicBlocks(new Map(found), entries);
}

function follow<S extends Step>(step: S): Followed<S> {
  const { control } = step;
  const isBranch = control === 'branch' || control === 'conditional';
  return {
    instruction: step,
    next: fallsThrough(step) || control === 'call' ? followingOffset(step) : undefined,
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

/** What a step does to registers, for LaneLiveness over REGISTER_PLACES. */
export function registerLaneEffects({ control, effects }: Step): LaneEffects {
  const { reads, writes, readsAnyOf, writesState } = effects;
  const written = bitsOf(writes.filter(({ isPartial }) => !isPartial));
  return {
    reads: bitsOf(reads),
    crossReads: bitsOf(reads.filter(({ isCrossLane }) => isCrossLane)) & REGISTER_PLACES.rows,
    scalarWrites: written & SCALARS,
    rowWrites: written & REGISTER_PLACES.rows,
    maskChange: writesState.has('exec') ? 'any' : 'none',
    isOpaque: readsAnyOf.size > 0,
    ends: control === 'end',
  };
}

function bitsOf(ranges: readonly RegisterRange[]): bigint {
  return ranges.reduce(
    (sum, { file, first, dwords }) => sum | (((1n << BigInt(dwords)) - 1n) << BigInt(registerNumber(file, first))),
    0n,
  );
}
