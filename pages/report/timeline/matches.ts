/** Which events a search finds: those whose name has the text, or with `#ID` an event with this number. */
import { EVENT_FAMILIES, type EventFamily } from '../../../src/report/report-data.ts';
import { lowerBound, type Report } from '../data.ts';
import type { EventRef } from './rows.ts';

export class Matches {
  readonly count: number;
  readonly #report: Report;
  /** Of each row, how many before it are found; one more for all. */
  readonly #counts: Readonly<Record<EventFamily, Float64Array>>;

  constructor(report: Report, text: string) {
    this.#report = report;
    const isFound = finder(report, text);
    const entries = EVENT_FAMILIES.map((family) => {
      const { rowCount } = report.events[family];
      const counts = new Float64Array(rowCount + 1);
      const ofFamily = isFound(family);
      for (let row = 0; row < rowCount; row++) counts[row + 1] = counts[row]! + Number(ofFamily(row));
      return [family, counts] as const;
    });
    this.#counts = Object.fromEntries(entries) as Record<EventFamily, Float64Array>; // reason: one for each family
    this.count = entries.reduce((sum, [, counts]) => sum + counts.at(-1)!, 0);
  }

  /** How many of the rows `[first, end)`. */
  among(family: EventFamily, first: number, end: number): number {
    const counts = this.#counts[family];
    return counts[end]! - counts[first]!;
  }

  /** What is found next behind `from`, or before it, by start; around the end of the profile. */
  next(from: EventRef | undefined, step: 1 | -1): EventRef | undefined {
    const all = this.#inOrder();
    if (all.length === 0) return undefined;
    if (from === undefined) return step === 1 ? all[0] : all.at(-1);
    const at = all.findIndex(({ family, row }) => family === from.family && row === from.row);
    if (at >= 0) return all[(at + step + all.length) % all.length];
    const start = this.#report.events[from.family].starts[from.row]!;
    const behind = all.findIndex(({ family, row }) => this.#report.events[family].starts[row]! > start);
    return step === 1 ? all[Math.max(behind, 0)] : all.at(behind - 1);
  }

  #ordered: readonly EventRef[] | undefined;
  #inOrder(): readonly EventRef[] {
    if (this.#ordered !== undefined) return this.#ordered;
    const found: (EventRef & { readonly start: number })[] = [];
    for (const family of EVENT_FAMILIES) {
      const counts = this.#counts[family];
      const { starts } = this.#report.events[family];
      for (let nth = 1; nth <= counts.at(-1)!; nth++) {
        const row = lowerBound(counts, nth, 0, counts.length) - 1;
        found.push({ family, row, start: starts[row]! });
      }
    }
    this.#ordered = found.sort((one, other) => one.start - other.start);
    return this.#ordered;
  }
}

/** What tells for a family whether a row is found. */
function finder({ header, events }: Report, text: string): (family: EventFamily) => (row: number) => boolean {
  const id = /^#(\d+)$/.exec(text)?.[1];
  if (id !== undefined) {
    return (family) => {
      const ids = events[family].column('eventId');
      return (row) => String(ids[row]) === id;
    };
  }
  const lowered = text.toLowerCase();
  const isFound = header.names.map((name) => name.toLowerCase().includes(lowered));
  return (family) => {
    const { names } = events[family];
    return (row) => isFound[names[row]!]!;
  };
}
