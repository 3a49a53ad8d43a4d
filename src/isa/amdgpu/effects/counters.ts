/**
 * The counters of instructions in flight: which ones an instruction raises, and which it waits for. "Data
 * Dependency Resolution" in AMD's manuals: CDNA2 ISA 4.4; RDNA2 ISA 4.4, where stores get a counter of their
 * own; RDNA3 ISA 5.6; RDNA4 ISA 5.7, where each kind of access has one. Where s_waitcnt has the counts is
 * said in encoding/wait-counters.ts.
 *
 * Counters are what code may rely on. The manuals up to RDNA3 do not say whether a buffer instruction that
 * invalidates caches is counted, and LLVM's SIInsertWaitcnts takes it that it is not: none of these raises a
 * counter here. Hardware that does count one waits for more than this says, never for less: who checks waits
 * finds what is missing either way, and who writes them waits for enough. That an invalidation is over,
 * though, no wait says. What writes caches back is counted, as LLVM's memory model waits for it, and so is
 * global_inv of gfx12.
 */
import type { MemoryEffect, WaitCounter } from '../../../ir/effects.ts';
import { ofFamily } from '../encoding/format.ts';
import type { Family, FormatName } from '../encoding/formats.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { counterOf, limitOf, WAIT_COUNTERS } from '../encoding/wait-counters.ts';

/** What instructions of a generation raise. */
interface Counters {
  /** Vector memory accesses that give something back, and those that only store. */
  readonly load: WaitCounter;
  readonly store: WaitCounter;
  readonly sample: WaitCounter;
  readonly bvh: WaitCounter;
  readonly lds: WaitCounter;
  readonly scalar: WaitCounter;
}

const GFX9: Counters = {
  load: 'vmcnt',
  store: 'vmcnt',
  sample: 'vmcnt',
  bvh: 'vmcnt',
  lds: 'lgkmcnt',
  scalar: 'lgkmcnt',
};

const COUNTERS: Readonly<Partial<Record<Family, Counters>>> = {
  gfx9: GFX9,
  gfx10: { ...GFX9, store: 'vscnt' },
  gfx12: {
    load: 'loadcnt',
    store: 'storecnt',
    sample: 'samplecnt',
    bvh: 'bvhcnt',
    lds: 'dscnt',
    scalar: 'kmcnt',
  },
};

/** The counters that instructions of a target may raise. */
export function countersOf(families: readonly Family[]): ReadonlySet<WaitCounter> {
  const { load, store, sample, bvh, lds, scalar } = ofFamily(COUNTERS, families);
  return new Set([load, store, sample, bvh, lds, scalar, 'expcnt']);
}

const VECTOR_MEMORY: ReadonlySet<FormatName> = new Set<FormatName>([
  ...(['FLAT', 'GLOBAL', 'SCRATCH', 'MUBUF', 'MTBUF', 'MIMG'] as const),
]);

export function raisedCounters(instruction: Instruction, memory: readonly MemoryEffect[]): ReadonlySet<WaitCounter> {
  const { row, format, families } = instruction;
  const counters = ofFamily(COUNTERS, families);
  const raised = new Set<WaitCounter>();
  if (row.flags.counter === 'none') return raised;
  if (VECTOR_MEMORY.has(format.name)) {
    const onlyStores = memory.length > 0 && !returnsData(instruction, memory);
    raised.add(counters[row.flags.counter ?? (onlyStores ? 'store' : 'load')]);
  } else if (row.flags.counter) raised.add(counters[row.flags.counter]);
  switch (format.name) {
    case 'FLAT':
      raised.add(counters.lds);
      break;
    case 'VSAMPLE':
      raised.add(counters.sample);
      break;
    case 'DS':
      raised.add(counters.lds);
      if (instruction.field('gds') === 1) raised.add('expcnt');
      break;
    case 'SMEM':
      raised.add(counters.scalar);
      break;
    case 'EXP':
    case 'LDSDIR':
      raised.add('expcnt');
      break;
  }
  if (row.flags.message) raised.add(counters.scalar);
  return raised;
}

/** To registers or to the LDS. Images, whose registers are not operands, do so unless they store. */
function returnsData(instruction: Instruction, memory: readonly MemoryEffect[]): boolean {
  if (memory.some(({ space, access }) => space === 'lds' && access === 'store')) return true;
  if (instruction.format.name === 'MIMG') return memory.some(({ access }) => access !== 'store');
  return instruction.row.operands.some((_, index) => instruction.access(index)?.includes('write'));
}

const ALL: readonly WaitCounter[] = [
  ...(['vmcnt', 'lgkmcnt', 'expcnt', 'vscnt'] as const),
  ...(['loadcnt', 'samplecnt', 'bvhcnt', 'storecnt', 'dscnt', 'kmcnt'] as const),
];
/**
 * Bits of a count: 5:0 of a single counter and of the second of two, 13:8 of the first of two (RDNA4 ISA
 * 16.5, "S_WAIT_LOADCNT_DSCNT").
 */
const COUNT_BITS = 6;
const COUNT_LIMIT = 2 ** COUNT_BITS - 1;
/**
 * What the field WAITEXP of VINTERP says where nothing is waited for: the highest count (RDNA3 ISA 15.4.1).
 */
const NO_EXPORT_WAIT = 7;

export function waitsOf(instruction: Instruction): ReadonlyMap<WaitCounter, number> {
  const { row, families } = instruction;
  const { waits } = row.flags;
  const simm16 = instruction.field('simm16');
  if (waits === 'all') return new Map(ALL.map((name) => [name, 0]));
  if (waits === 'packed') {
    const counters = ofFamily(WAIT_COUNTERS, families);
    return new Map(
      counters.flatMap((counter) => {
        const count = counterOf(simm16, counter);
        return count === limitOf(counter) ? [] : [[counter.name, count] as const];
      }),
    );
  }
  if (waits !== undefined) {
    // A register adds to the count: how many may be left is not known (RDNA2 ISA 12.2, "S_WAITCNT_VSCNT").
    if (row.operands.some((_, index) => instruction.operand(index).kind === 'scalar')) return new Map();
    const counts = waits.toReversed().map((_, i) => (simm16 >> (i === 0 ? 0 : COUNT_BITS + 2)) & COUNT_LIMIT);
    return new Map(waits.map((name, i) => [name, counts.at(-1 - i)!]));
  }
  if (instruction.has('waitexp') && instruction.field('waitexp') !== NO_EXPORT_WAIT)
    return new Map([['expcnt', instruction.field('waitexp')]]);
  return new Map();
}
