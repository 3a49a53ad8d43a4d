/** Memory of a profile: how much is open over time, and the largest allocations. */
import { MEMORY_EVENT_RECORDS } from '../profile/format/records.ts';
import type { Profile } from '../profile/profile.ts';
import { BALANCES, type Lifecycle, MemoryTotals } from '../profile/reports/memory-totals.ts';
import type { ColumnWriter } from './columns.ts';
import type { AllocationRow, OpenMemory } from './report-data.ts';

/** Allocations of a report; the rest is only counted. */
const MAX_ALLOCATIONS = 1_000;

export interface MemoryTables {
  readonly openMemory: readonly OpenMemory[];
  readonly allocations: readonly AllocationRow[];
  readonly allocationCount: number;
}

/** What is open on one device after each of its events. */
interface Curve {
  readonly times: number[];
  /** By kind. */
  readonly bytes: number[][];
}

/** Times count from `baseTimeNs` on. Throws BAD_INPUT for a damaged profile. */
export function writeMemory(profile: Profile, baseTimeNs: bigint, writer: ColumnWriter): MemoryTables {
  const totals = new MemoryTotals();
  const curves = new Map<number, Curve>();
  for (const [event] of profile.located(MEMORY_EVENT_RECORDS)) {
    totals.add(event);
    const { balances } = totals.devices.get(event.physicalDeviceOrdinal)!;
    const curve = curves.get(event.physicalDeviceOrdinal) ?? { times: [], bytes: BALANCES.map(() => []) };
    curves.set(event.physicalDeviceOrdinal, curve);
    curve.times.push(Number(event.hostTimeNs - baseTimeNs));
    for (const [i, kind] of BALANCES.entries()) curve.bytes[i]!.push(Number(balances[kind]!.bytes));
  }
  const all = [...totals.allocations.values()].filter(({ balance }) => balance.highBytes > 0n);
  all.sort((one, other) => Number(other.balance.highBytes - one.balance.highBytes));
  const allocations = all.slice(0, MAX_ALLOCATIONS).map((each) => allocationRow(each, baseTimeNs));
  const openMemory = [...curves].map(([device, curve]) => writeCurve(device, curve, writer));
  return { openMemory, allocations, allocationCount: all.length };
}

/** Kinds that the device never had are left out. */
function writeCurve(device: number, { times, bytes }: Curve, writer: ColumnWriter): OpenMemory {
  const order = Uint32Array.from(times.keys()).sort((one, other) => times[one]! - times[other]!);
  const kinds = BALANCES.filter((_, i) => bytes[i]!.some((open) => open !== 0));
  const columns = Object.fromEntries(
    kinds.map((kind) => [kind, writer.add(Float64Array.from(bytes[BALANCES.indexOf(kind)]!), order)]),
  );
  const time = writer.add(Float64Array.from(times), order);
  return { device, kinds, table: { rowCount: order.length, columns: { time, ...columns } } };
}

const allocationRow = (
  { kind, first, last, poolId, balance, isOpen, events }: Lifecycle,
  base: bigint,
): AllocationRow => ({
  kind,
  device: first.physicalDeviceOrdinal,
  id: first.allocationId.toString(),
  pool: poolId.toString(),
  bytes: Number(balance.highBytes),
  startNs: Number(first.hostTimeNs - base),
  ...(!isOpen && { endNs: Number(last.hostTimeNs - base) }),
  events,
});
