/** What dispatches did, and sums of it. */
import type { WaveTrace } from '../base/wave-trace.ts';

/**
 * Wave-instructions by what ran them: reference executor, handlers (T0), compiled regions (T1), loops
 * compiled as a whole (T2).
 */
export type TierInstructions = Readonly<Record<'reference' | 'handlers' | 'regions' | 'loops', number>>;

/** Wave-instructions by class; the device says which classes it tells apart. */
export type InstructionCounts = Readonly<Record<string, number>>;

/**
 * How often an instruction was executed: by waves, and by lanes, of which each execution counts those that
 * were active when it began; `taken`: how often it was a conditional branch that was taken.
 */
export interface PcCount {
  readonly waves: number;
  readonly lanes: number;
  readonly taken: number;
  /** What its lanes accessed, where the device counts that and they did. */
  readonly memory?: MemoryCount | undefined;
}

/**
 * Accesses of an instruction's lanes to global memory and to the LDS; one with two addresses makes two.
 * `bytes`: what lanes asked for; `segments`: pieces of global memory that were touched, each once for an
 * access of a wave; `cycles`: what accesses to the LDS took, and of these `conflicts` for its banks.
 */
export interface MemoryCount {
  readonly accesses: number;
  readonly bytes: number;
  readonly segments: number;
  readonly cycles: number;
  readonly conflicts: number;
}

/** By the address of the instruction; those that were not executed are left out. */
export type PcCounts = ReadonlyMap<bigint, PcCount>;

export interface DispatchStatistics {
  /** Wave-instructions executed. */
  readonly instructions: number;
  readonly tiers: TierInstructions;
  /** Absent where the device does not count them. */
  readonly classes?: InstructionCounts;
  /** Absent where the device does not count them. What an access to memory stopped was not executed. */
  readonly pcCounts?: PcCounts;
  /** Of one dispatch, which is over, where the device traces its waves. */
  readonly trace?: WaveTrace;
  readonly workgroups: number;
  readonly waves: number;
}

export const NO_STATISTICS: DispatchStatistics = {
  instructions: 0,
  tiers: { reference: 0, handlers: 0, regions: 0, loops: 0 },
  workgroups: 0,
  waves: 0,
};

/** `a` plus `factor` times `b`; with -1, what was counted since `b`. */
export function addStatistics(a: DispatchStatistics, b: DispatchStatistics, factor = 1): DispatchStatistics {
  const classes = a.classes && b.classes ? sumOf(a.classes, b.classes, factor) : (a.classes ?? b.classes);
  const pcCounts = a.pcCounts && b.pcCounts ? sumOfPcs(a.pcCounts, b.pcCounts, factor) : (a.pcCounts ?? b.pcCounts);
  return {
    instructions: a.instructions + factor * b.instructions,
    tiers: sumOfTiers(a.tiers, b.tiers, factor),
    ...(classes && { classes }),
    ...(pcCounts && { pcCounts }),
    workgroups: a.workgroups + factor * b.workgroups,
    waves: a.waves + factor * b.waves,
  };
}

/** By their names, not as `sumOf` does it: each launch is added. */
const sumOfTiers = (a: TierInstructions, b: TierInstructions, factor: number): TierInstructions => ({
  reference: a.reference + factor * b.reference,
  handlers: a.handlers + factor * b.handlers,
  regions: a.regions + factor * b.regions,
  loops: a.loops + factor * b.loops,
});

/** `known`, if anything, plus `factor` times `count`. */
export function addPcCount(known: PcCount | undefined, { waves, lanes, taken, memory }: PcCount, factor = 1): PcCount {
  const accessed = known?.memory && memory ? sumOf(known.memory, memory, factor) : (memory ?? known?.memory);
  return {
    waves: (known?.waves ?? 0) + factor * waves,
    lanes: (known?.lanes ?? 0) + factor * lanes,
    taken: (known?.taken ?? 0) + factor * taken,
    ...(accessed && { memory: accessed }),
  };
}

function sumOfPcs(a: PcCounts, b: PcCounts, factor: number): PcCounts {
  const sum = new Map(a);
  for (const [pc, own] of b) {
    const count = addPcCount(sum.get(pc), own, factor);
    if (count.waves === 0) sum.delete(pc);
    else sum.set(pc, count);
  }
  return sum;
}

function sumOf<Counts extends { readonly [Name in keyof Counts]: number }>(
  a: Counts,
  b: Counts,
  factor: number,
): Counts {
  const sum: { [Name in keyof Counts]?: number } = {};
  for (const name in a) sum[name] = a[name] + factor * b[name];
  return sum as Counts;
}

/** Counts that are not 0, the largest first: `120 valu, 8 salu`. */
export const instructionCounts = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');

/**
 * Shares of the tiers that ran anything, in percent: `1.2% handlers, 98.8% regions`; empty when nothing ran.
 */
export function tierShares(tiers: TierInstructions): string {
  const total = Object.values(tiers).reduce((sum, count) => sum + count, 0);
  return Object.entries(tiers)
    .filter(([, count]) => count > 0)
    .map(([tier, count]) => `${((count / total) * 100).toFixed(1)}% ${tier}`)
    .join(', ');
}
