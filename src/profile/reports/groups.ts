/** Dispatches of a profile that are looked at, by kernel or by what led to them. */
import { matchesGlob } from '../../base/glob.ts';
import { numberOf, QUEUE_OPERATIONS } from '../format/names.ts';
import type { RecordOf } from '../format/record-layout.ts';
import { HOST_EXECUTION_EVENTS } from '../format/records.ts';
import type { PlacedDispatch, Profile } from '../profile.ts';
import { Totals } from './totals.ts';

/** Which rows are looked at. */
export interface ReportFilter {
  /** Names: `*` stands for any characters. */
  readonly glob: string;
  /** What a report takes for an id; undefined: all. */
  readonly id: bigint | undefined;
}

export type HostExecutionRecord = RecordOf<typeof HOST_EXECUTION_EVENTS>;

/** What dispatches of devices and of the host have in common. */
interface Dispatched {
  readonly eventId: bigint;
  readonly submissionId: bigint;
  readonly commandBufferId: bigint;
  readonly executableId: bigint;
  readonly exportOrdinal: number;
  readonly physicalDeviceOrdinal: number;
}

/** Dispatches that belong together. */
export class DispatchGroup<Dispatch> {
  readonly first: Dispatch;
  last: Dispatch;
  readonly totals = new Totals();
  /** Of the host. */
  tileCount = 0n;
  tileDurationNs = 0n;

  constructor(first: Dispatch) {
    this.first = first;
    this.last = first;
  }
}

/** Who ran dispatches. */
interface DispatchKind<Dispatch extends Dispatched> {
  all(profile: Profile): readonly Dispatch[];
  add(group: DispatchGroup<Dispatch>, dispatch: Dispatch): void;
}

const DISPATCH = numberOf(QUEUE_OPERATIONS, 'dispatch');

export const isValidHostTime = (startNs: bigint, endNs: bigint): boolean => startNs >= 0n && endNs >= startNs;

/** Dispatches by ticks of their device. */
export const DEVICE_DISPATCHES: DispatchKind<PlacedDispatch> = {
  all: ({ dispatches }) => dispatches,
  add: ({ totals }, dispatch) => totals.addTicks(dispatch),
};

/** Dispatches that the host ran, by its time. */
export const HOST_DISPATCHES: DispatchKind<HostExecutionRecord> = {
  all: (profile) => profile.all(HOST_EXECUTION_EVENTS).filter(({ type }) => type === DISPATCH),
  add: (group, { startHostTimeNs, endHostTimeNs, tileCount, tileDurationSumNs }) => {
    group.totals.add(startHostTimeNs, endHostTimeNs, isValidHostTime(startHostTimeNs, endHostTimeNs));
    group.tileCount += tileCount;
    group.tileDurationNs += tileDurationSumNs;
  },
};

export interface MatchedDispatches<Dispatch> {
  /** Of the profile. */
  readonly count: number;
  /** Those that the filter leaves. */
  readonly matched: readonly Dispatch[];
  readonly valid: number;
  readonly invalid: number;
}

/** `idField`: what the filter's id is an id of. */
export function matchDispatches<Dispatch extends Dispatched>(
  profile: Profile,
  kind: DispatchKind<Dispatch>,
  { glob, id }: ReportFilter,
  idField: 'eventId' | 'submissionId' | 'commandBufferId' | 'executableId',
): MatchedDispatches<Dispatch> {
  const all = kind.all(profile);
  const matched = all.filter(
    (each) => (id === undefined || each[idField] === id) && matchesGlob(keyOf(profile, each), glob),
  );
  const [group] = groupDispatches(kind, matched, () => '');
  return { count: all.length, matched, valid: group?.totals.valid ?? 0, invalid: group?.totals.invalid ?? 0 };
}

/** In the order in which their keys come up. */
export function groupDispatches<Dispatch extends Dispatched>(
  kind: DispatchKind<Dispatch>,
  dispatches: readonly Dispatch[],
  keyOf: (dispatch: Dispatch) => string,
): DispatchGroup<Dispatch>[] {
  const groups = new Map<string, DispatchGroup<Dispatch>>();
  for (const each of dispatches) {
    const key = keyOf(each);
    const group = groups.get(key) ?? new DispatchGroup(each);
    groups.set(key, group);
    group.last = each;
    kind.add(group, each);
  }
  return [...groups.values()];
}

/** The name of what a dispatch ran. */
export const keyOf = (profile: Profile, { executableId, exportOrdinal, physicalDeviceOrdinal }: Dispatched): string =>
  profile.keyOf(executableId, exportOrdinal, physicalDeviceOrdinal);

/** For grouping by kernel and device. */
export const kernelKey = ({ physicalDeviceOrdinal, executableId, exportOrdinal }: Dispatched): string =>
  `${physicalDeviceOrdinal} ${executableId} ${exportOrdinal}`;
