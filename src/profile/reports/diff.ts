/** `profile diff A B`: kernels of two profiles side by side, by their names. The rows are our own. */
import { countedKernels } from '../counted-kernels.ts';
import type { Profile } from '../profile.ts';
import { DEVICE_DISPATCHES, groupDispatches, keyOf, matchDispatches, type ReportFilter } from './groups.ts';
import { type Columns, type ReportRow, rounded } from './rows.ts';

export const DIFF_COLUMNS: Columns = {
  diff_kernel: [
    ...['key', 'dispatches_a', 'dispatches_b', 'total_ns_a', 'total_ns_b', 'time_ratio'],
    ...['instructions_a', 'instructions_b', 'instruction_ratio'],
  ],
};

/** Of a kernel, on all devices. */
interface KernelSums {
  dispatches: number;
  totalNs: bigint;
  instructions: bigint;
}

function sumsOf(profile: Profile, filter: ReportFilter): Map<string, KernelSums> {
  const sums = new Map<string, KernelSums>();
  const of = (key: string): KernelSums => {
    const own = sums.get(key) ?? { dispatches: 0, totalNs: 0n, instructions: 0n };
    sums.set(key, own);
    return own;
  };
  const { matched } = matchDispatches(profile, DEVICE_DISPATCHES, filter, 'eventId');
  const keyWithDevice = (each: (typeof matched)[number]) => `${each.physicalDeviceOrdinal} ${keyOf(profile, each)}`;
  for (const { first, totals } of groupDispatches(DEVICE_DISPATCHES, matched, keyWithDevice)) {
    const own = of(keyOf(profile, first));
    own.dispatches += totals.count;
    own.totalNs += profile.clockFit(first.physicalDeviceOrdinal)?.durationNs(totals.total) ?? 0n;
  }
  const names = new Set(sums.keys());
  for (const { key, executedCount } of countedKernels(profile)) {
    if (names.has(key) || names.size === 0) of(key).instructions += executedCount;
  }
  return sums;
}

/** Ratios are B to A, and 0 where A has none. Kernels of A come first, in its order. */
export function diffRows(a: Profile, b: Profile, filter: ReportFilter): ReportRow[] {
  const [ofA, ofB] = [sumsOf(a, filter), sumsOf(b, filter)];
  const none: KernelSums = { dispatches: 0, totalNs: 0n, instructions: 0n };
  const ratio = (before: bigint, now: bigint): number => (before === 0n ? 0 : rounded(Number(now) / Number(before), 4));
  return [...new Set([...ofA.keys(), ...ofB.keys()])].map((key) => {
    const [one, other] = [ofA.get(key) ?? none, ofB.get(key) ?? none];
    return {
      ...{ type: 'diff_kernel', key, dispatches_a: one.dispatches, dispatches_b: other.dispatches },
      ...{ total_ns_a: one.totalNs, total_ns_b: other.totalNs, time_ratio: ratio(one.totalNs, other.totalNs) },
      ...{ instructions_a: one.instructions, instructions_b: other.instructions },
      instruction_ratio: ratio(one.instructions, other.instructions),
    };
  });
}
