/**
 * What emulated GPUs count of each dispatch. Names that begin with SQ_ are those of rocprof and mean the
 * same (ROCm's tables of performance counters for MI200 and MI300); what it does not tell in this way
 * begins with WW_.
 */
import type { DispatchStatistics, PcCount } from '../device/statistics.ts';
import type { DispatchCounter } from '../hal/amdgpu/agents.ts';
import type { InstructionClass } from '../isa/amdgpu/encoding/instruction-class.ts';

const counter = (
  name: string,
  description: string,
  count: (statistics: DispatchStatistics) => number,
): DispatchCounter => ({ name, block: name.slice(0, 2), description, count });

const ofClasses = (name: string, what: string, ...classes: readonly InstructionClass[]): DispatchCounter =>
  counter(name, `executed ${what}, once for each wave`, ({ classes: counts }) =>
    classes.reduce((sum, each) => sum + (counts?.[each] ?? 0), 0),
  );

/** What costs nothing. */
const ALWAYS: readonly DispatchCounter[] = [
  counter('SQ_WAVES', 'waves that were launched', ({ waves }) => waves),
  counter('WW_WORKGROUPS', 'workgroups that were launched', ({ workgroups }) => workgroups),
  counter('WW_INSTS', 'executed instructions, once for each wave', ({ instructions }) => instructions),
];

/** What GPUs count that tell classes of instructions apart. */
const BY_CLASS: readonly DispatchCounter[] = [
  ofClasses('SQ_INSTS_VALU', 'vector instructions, products of matrices among them', 'valu', 'matrix'),
  ofClasses('WW_INSTS_MATRIX', 'products of matrices: MFMA, SMFMAC and WMMA', 'matrix'),
  ofClasses('SQ_INSTS_SALU', 'scalar instructions', 'salu'),
  ofClasses('SQ_INSTS_SMEM', 'scalar accesses to memory', 'smem'),
  ofClasses('WW_INSTS_VMEM', 'global, buffer and image accesses', 'vmem'),
  ofClasses('WW_INSTS_FLAT', 'accesses through the flat aperture', 'flat'),
  ofClasses('WW_INSTS_SCRATCH', 'accesses to scratch memory', 'scratch'),
  ofClasses('SQ_INSTS_LDS', 'LDS instructions, permutes of lanes among them', 'lds'),
  ofClasses('SQ_INSTS_BRANCH', 'branches, jumps and calls', 'branch'),
  ofClasses('SQ_INSTS_SENDMSG', 'messages', 'message'),
  ofClasses('WW_INSTS_EXPORT', 'exports', 'export'),
  ofClasses('WW_INSTS_OTHER', 'waits, barriers, s_nop, s_endpgm', 'other'),
];

const ofPcs = (name: string, description: string, of: (count: PcCount) => number): DispatchCounter =>
  counter(name, description, ({ pcCounts }) => {
    let sum = 0;
    for (const count of pcCounts?.values() ?? []) sum += of(count);
    return sum;
  });

/** What GPUs count that count each instruction. */
const BY_PC: readonly DispatchCounter[] = [
  ofPcs('WW_LANES', 'active lanes of executed instructions', ({ lanes }) => lanes),
  ofPcs('WW_BRANCHES_TAKEN', 'conditional branches that were taken, once for each wave', ({ taken }) => taken),
];

/** What those count that count accesses of lanes besides. */
const BY_ACCESS: readonly DispatchCounter[] = [
  ofPcs('WW_ACCESSES', 'accesses of waves to global memory and to the LDS', ({ memory }) => memory?.accesses ?? 0),
  ofPcs('WW_BYTES', 'bytes that lanes asked for in these', ({ memory }) => memory?.bytes ?? 0),
  ofPcs('WW_SEGMENTS', 'cache lines that accesses to global memory touched', ({ memory }) => memory?.segments ?? 0),
  ofPcs('WW_LDS_CYCLES', 'cycles that accesses to the LDS take', ({ memory }) => memory?.cycles ?? 0),
  ofPcs('SQ_LDS_BANK_CONFLICT', 'cycles of these that bank conflicts cost', ({ memory }) => memory?.conflicts ?? 0),
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
