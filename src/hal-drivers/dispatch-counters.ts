/**
 * What emulated GPUs count of each dispatch. Names that begin with SQ_ are those of rocprof and mean the
 * same (ROCm's tables of performance counters for MI200 and MI300); what it does not tell in this way
 * begins with WW_.
 */
import type { Occupancy } from '../codeobject/occupancy.ts';
import type { DispatchStatistics, PcCount } from '../device/statistics.ts';
import type { DispatchCounter } from '../hal/amdgpu/agents.ts';
import type { CountedClass } from '../isa/amdgpu/encoding/instruction-class.ts';

const counter = (
  name: string,
  description: string,
  count: DispatchCounter['count'],
  more: Pick<DispatchCounter, 'unit' | 'isLevel'> = {},
): DispatchCounter => ({ name, block: name.slice(0, 2), description, count, ...more });

const ofClasses = (name: string, what: string, ...classes: readonly CountedClass[]): DispatchCounter =>
  counter(name, `executed ${what}, once for each wave`, ({ classes: counts }) =>
    classes.reduce((sum, each) => sum + (counts?.[each] ?? 0), 0),
  );

/** 0 where it is not known. */
const ofOccupancy = (name: string, limit: string, of: keyof Occupancy): DispatchCounter =>
  counter(name, `waves that a SIMD holds at once, by ${limit}`, (_, occupancy) => occupancy?.[of] ?? 0, {
    isLevel: true,
  });

/** What costs nothing. */
const ALWAYS: readonly DispatchCounter[] = [
  counter('SQ_WAVES', 'waves that were launched', ({ waves }) => waves),
  counter('WW_WORKGROUPS', 'workgroups that were launched', ({ workgroups }) => workgroups),
  counter('WW_INSTS', 'executed instructions, once for each wave', ({ instructions }) => instructions),
  ofOccupancy('WW_OCCUPANCY', 'all limits together', 'waves'),
  ofOccupancy('WW_OCCUPANCY_VGPRS', 'VGPRs alone', 'byVgprs'),
  ofOccupancy('WW_OCCUPANCY_SGPRS', 'SGPRs alone', 'bySgprs'),
  ofOccupancy('WW_OCCUPANCY_LDS', 'LDS alone', 'byLds'),
  ofOccupancy('WW_OCCUPANCY_WORKGROUPS', 'whole workgroups and their barriers alone', 'byWorkgroups'),
];

/** What GPUs count that tell classes of instructions apart. */
const BY_CLASS: readonly DispatchCounter[] = [
  ofClasses('SQ_INSTS_VALU', 'vector instructions, products of matrices among them', 'valu', 'matrix'),
  ofClasses('WW_INSTS_MATRIX', 'products of matrices: MFMA, SMFMAC and WMMA', 'matrix'),
  ofClasses('SQ_INSTS_SALU', 'scalar instructions', 'salu'),
  ofClasses('SQ_INSTS_SMEM', 'scalar accesses to memory', 'smem', 'smem-atomic'),
  ofClasses('WW_INSTS_VMEM', 'global, buffer and image accesses', 'vmem', 'vmem-atomic'),
  ofClasses('WW_INSTS_FLAT', 'accesses through the flat aperture', 'flat', 'flat-atomic'),
  ofClasses('WW_INSTS_SCRATCH', 'accesses to scratch memory', 'scratch'),
  ofClasses('SQ_INSTS_LDS', 'LDS instructions, permutes of lanes among them', 'lds', 'lds-atomic'),
  ofClasses('SQ_INSTS_BRANCH', 'branches, jumps and calls', 'branch'),
  ofClasses('SQ_INSTS_SENDMSG', 'messages', 'message'),
  ofClasses('WW_INSTS_EXPORT', 'exports', 'export'),
  ofClasses('WW_INSTS_WAIT', 'waits for accesses that are in flight (s_waitcnt)', 'wait'),
  ofClasses('WW_INSTS_BARRIER', 'barriers', 'barrier'),
  ofClasses('WW_INSTS_OTHER', 's_nop, s_endpgm and what else the sequencer does by itself', 'other'),
  ofClasses(
    'WW_ATOMICS_GLOBAL',
    'atomics on global memory and buffers, also through flat addresses',
    'smem-atomic',
    'vmem-atomic',
    'flat-atomic',
  ),
  ofClasses('WW_ATOMICS_LDS', 'atomics of LDS instructions', 'lds-atomic'),
];

const ofPcs = (
  name: string,
  description: string,
  of: (count: PcCount) => number,
  unit?: DispatchCounter['unit'],
): DispatchCounter => {
  const sumOf = ({ pcCounts }: DispatchStatistics): number => {
    let sum = 0;
    for (const count of pcCounts?.values() ?? []) sum += of(count);
    return sum;
  };
  return counter(name, description, sumOf, unit && { unit });
};

/** What GPUs count that count each instruction. */
const BY_PC: readonly DispatchCounter[] = [
  ofPcs('WW_LANES', 'active lanes of executed instructions', ({ lanes }) => lanes),
  ofPcs('WW_BRANCHES_TAKEN', 'conditional branches that were taken, once for each wave', ({ taken }) => taken),
];

/** What those count that count accesses of lanes besides. */
const BY_ACCESS: readonly DispatchCounter[] = [
  ofPcs('WW_ACCESSES', 'accesses of waves to global memory and to the LDS', ({ memory }) => memory?.accesses ?? 0),
  ofPcs('WW_BYTES', 'bytes that lanes asked for in these', ({ memory }) => memory?.bytes ?? 0, 'bytes'),
  ofPcs('WW_SEGMENTS', 'cache lines that accesses to global memory touched', ({ memory }) => memory?.segments ?? 0),
  ofPcs('WW_LDS_CYCLES', 'cycles that accesses to the LDS take', ({ memory }) => memory?.cycles ?? 0, 'cycles'),
  ofPcs(
    'SQ_LDS_BANK_CONFLICT',
    'cycles of these that bank conflicts cost',
    ({ memory }) => memory?.conflicts ?? 0,
    'cycles',
  ),
];

export interface CountedKinds {
  readonly classes: boolean;
  readonly instructions: boolean;
  readonly accesses: boolean;
}

export const dispatchCounters = ({ classes, instructions, accesses }: CountedKinds): readonly DispatchCounter[] => [
  ...ALWAYS,
  ...(classes ? BY_CLASS : []),
  ...(instructions ? BY_PC : []),
  ...(accesses ? BY_ACCESS : []),
];
