/** What of its sources the packets of an operation have to wait for, and what a queue is behind then. */
import type { Axis } from './axis.ts';
import type { Frontier, Submitted } from './submitted.ts';
import type { AxisWait } from './wait-batch.ts';

/** Whether a queue with this frontier is behind it already. */
export function isWithin({ place }: Submitted, frontier: Frontier): boolean {
  return place !== undefined && (frontier.get(place.axis) ?? 0) >= place.epoch;
}

/** A wait with what its source has waited for. */
export interface OpenWait extends AxisWait {
  readonly frontier: Frontier;
}

/** For each axis the last epoch that packets have to wait for; undefined: that is not known yet. */
export function openWaits({ sources, queue }: Submitted, frontier: Frontier): OpenWait[] | undefined {
  const waits = new Map<Axis, OpenWait>();
  for (const source of sources) {
    // reason: `resolveWaits` took all of them
    const other = source as Submitted;
    if (other.isOver || other.queue === queue || isWithin(other, frontier)) continue;
    const { place } = other;
    if (place === undefined) return undefined;
    if (place.epoch > Math.max(place.axis.completed, waits.get(place.axis)?.epoch ?? 0)) waits.set(place.axis, place);
  }
  return [...waits.values()];
}

/** A frontier and all that stands before some epochs. */
export function merged(frontier: Frontier, waits: readonly OpenWait[]): Frontier {
  const all = new Map([...frontier].filter(([axis]) => !axis.isLost));
  const add = (axis: Axis, epoch: number) => {
    if (!axis.isLost) all.set(axis, Math.max(epoch, all.get(axis) ?? 0));
  };
  for (const wait of waits) {
    for (const [axis, epoch] of wait.frontier) add(axis, epoch);
    add(wait.axis, wait.epoch);
  }
  return all;
}
