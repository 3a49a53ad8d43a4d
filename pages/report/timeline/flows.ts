/** What belongs together: a submission to a queue, and what it led to. */
import { EVENT_FAMILIES } from '../../../src/report/report-data.ts';
import type { Report } from '../data.ts';
import type { EventRef } from './rows.ts';

export interface Flow {
  readonly from: EventRef;
  readonly to: EventRef;
}

/** A command buffer may run many kernels; these are enough to see. */
const MAX_FLOWS = 300;

/** Arrows from the submission that an event is, or is of. */
export function flowsOf({ events }: Report, { family, row }: EventRef): Flow[] {
  if (family === 'memory') return [];
  const [id, stream] = ['submissionId', 'streamId'].map((column) => events[family].column(column)[row]!);
  if (!id) return [];
  const members = EVENT_FAMILIES.filter((each) => each !== 'memory').flatMap((each) => {
    const ids = events[each].column('submissionId');
    const found: EventRef[] = [];
    let streams: ReturnType<typeof events.queue.column> | undefined;
    for (let at = 0; at < ids.length && found.length < MAX_FLOWS; at++) {
      if (ids[at] !== id) continue;
      streams ??= events[each].column('streamId');
      if (streams[at] === stream) found.push({ family: each, row: at });
    }
    return found;
  });
  const from = members.find((each) => each.family === 'queue');
  if (from === undefined) return [];
  return members.filter((each) => each.family !== 'queue').map((to) => ({ from, to }));
}
