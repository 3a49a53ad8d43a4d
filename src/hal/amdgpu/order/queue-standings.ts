/** Where the operations of a queue stand: for reports of what does not end. */
import type { QueuePosition, QueueStanding, RingName } from '../../core/stall.ts';
import type { OperationInfo } from '../../core/status.ts';
import type { Submitted } from './submitted.ts';
import { WaitBatch } from './wait-batch.ts';

export interface QueueContents {
  readonly position: QueuePosition;
  /** In the rings, the oldest first. */
  readonly inFlight: readonly Submitted[];
  readonly parked: readonly Submitted[];
  /** The ring in which the first of `parked` has no room; undefined: it is not a ring that it waits for. */
  readonly fullRing: RingName | undefined;
}

/** Of each operation that the queue has: where the first of it stands that has not ended. */
export function standingsOf(contents: QueueContents): Map<OperationInfo, QueueStanding> {
  const { position, inFlight, parked, fullRing } = contents;
  const standings = new Map<OperationInfo, QueueStanding>();
  const add = ({ operation }: Submitted, standing: QueueStanding): void => {
    if (!standings.has(operation)) standings.set(operation, standing);
  };
  const held = heldBy(contents);
  const [first] = inFlight;
  for (const entry of inFlight) {
    if (entry.operation !== first!.operation) add(entry, { kind: 'behind', of: first!.operation, ...position });
    else if (!(entry.place?.batch instanceof WaitBatch)) add(entry, { kind: 'running', ...position });
    else add(entry, heldOrRunning(held.get(entry.operation), position));
  }
  const [next] = parked;
  for (const entry of parked) {
    if (fullRing !== undefined && first !== undefined) {
      add(entry, { kind: 'parked', ring: fullRing, until: first.operation, ...position });
    } else if (entry.operation !== next!.operation) add(entry, { kind: 'behind', of: next!.operation, ...position });
    else add(entry, heldOrRunning(held.get(entry.operation), position));
  }
  return standings;
}

const heldOrRunning = (by: readonly OperationInfo[] | undefined, position: QueuePosition): QueueStanding =>
  by === undefined ? { kind: 'running', ...position } : { kind: 'held', by, ...position };

/** What each operation waits for that other queues have. */
function heldBy({ inFlight, parked }: QueueContents): Map<OperationInfo, OperationInfo[]> {
  const held = new Map<OperationInfo, OperationInfo[]>();
  for (const { operation, queue, sources } of [...inFlight, ...parked]) {
    // reason: `resolveWaits` took all of them
    const open = (sources as readonly Submitted[]).filter((source) => !source.isOver && source.queue !== queue);
    if (open.length > 0) {
      held.set(
        operation,
        open.map((source) => source.operation),
      );
    }
  }
  return held;
}
