/** The lines of a timeline, from top to bottom: heads of queues, under them tracks. */
import type { EventFamily, Track } from '../../../src/report/report-data.ts';
import type { Report } from '../data.ts';

/** An event: a row of the table of its family. */
export interface EventRef {
  readonly family: EventFamily;
  readonly row: number;
}

export interface TimelineRow {
  readonly y: number;
  readonly height: number;
  readonly label: string;
  /** Undefined for the head of a queue. */
  readonly track: Track | undefined;
}

const NO_ORDINAL = 0xffff_ffff;
const HEAD_HEIGHT = 26;
const TRACK_HEIGHT = 20;
/** Marks of single moments need less room. */
const MOMENTS_HEIGHT = 14;
const FAMILY_GAP = 4;

const FAMILY_LABELS: Readonly<Record<EventFamily, string>> = {
  queue: 'submitted, waiting',
  dispatch: 'kernels',
  device: 'device operations',
  host: 'host execution',
  memory: 'memory events',
};

const placeOf = ({ device, queue }: Track): string => `${device} ${queue}`;

export class TimelineRows {
  readonly rows: readonly TimelineRow[];
  readonly height: number;
  readonly #byFamily: ReadonlyMap<EventFamily, readonly TimelineRow[]>;

  constructor({ header }: Report) {
    const rows: TimelineRow[] = [];
    let y = 0;
    const add = (height: number, label: string, track?: Track): void => {
      rows.push({ y, height, label, track });
      y += height;
    };
    const tracks = [...Map.groupBy(header.tracks, placeOf).values()];
    tracks.sort(([one], [other]) => one!.device - other!.device || one!.queue - other!.queue);
    for (const ofQueue of tracks) {
      const { device, queue } = ofQueue[0]!;
      const known = header.queues.find((each) => each.device === device && each.queue === queue);
      const queueTitle = known?.title ?? (queue === NO_ORDINAL ? 'no queue' : `queue ${queue}`);
      add(HEAD_HEIGHT, `${device === NO_ORDINAL ? 'no device' : `device ${device}`} · ${queueTitle}`);
      for (const track of ofQueue) {
        const { family, lane, isRest } = track;
        const label = isRest ? '  and more' : lane === 0 ? FAMILY_LABELS[family] : '';
        add(family === 'memory' ? MOMENTS_HEIGHT : TRACK_HEIGHT, label, track);
      }
      y += FAMILY_GAP;
    }
    this.rows = rows;
    this.height = y;
    const withTrack = rows.flatMap((row) => (row.track ? [{ row, family: row.track.family }] : []));
    const groups = Map.groupBy(withTrack, ({ family }) => family);
    this.#byFamily = new Map(
      [...groups].map(([family, of]) => {
        const ordered = of.map(({ row }) => row).sort((one, other) => one.track!.first - other.track!.first);
        return [family, ordered] as const;
      }),
    );
  }

  at(y: number): TimelineRow | undefined {
    return this.rows.find((row) => y >= row.y && y < row.y + row.height);
  }

  /** The line that an event lies in. */
  of({ family, row }: EventRef): TimelineRow | undefined {
    return this.#byFamily.get(family)?.findLast(({ track }) => track!.first <= row);
  }

  /** The next line with a track above (-1) or below (1). */
  neighbour(row: TimelineRow, step: 1 | -1): TimelineRow | undefined {
    for (let i = this.rows.indexOf(row) + step; i >= 0 && i < this.rows.length; i += step) {
      if (this.rows[i]!.track !== undefined) return this.rows[i];
    }
    return undefined;
  }
}
