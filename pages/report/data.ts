/** The data of the page: what the file holds behind its markup. */
import { type DecodedColumn, readColumn, type TablePlace } from '../../src/report/columns.ts';
import {
  EVENT_FAMILIES,
  type EventFamily,
  type EventTable,
  type ReportHeader,
  unpackReport,
} from '../../src/report/report-data.ts';

/** A table whose columns are decoded when they are asked for. */
export class Table {
  readonly rowCount: number;
  readonly #place: TablePlace;
  readonly #bytes: Uint8Array;
  readonly #decoded = new Map<string, DecodedColumn>();

  constructor(place: TablePlace, bytes: Uint8Array) {
    this.rowCount = place.rowCount;
    this.#place = place;
    this.#bytes = bytes;
  }

  /** A column, which must be there. */
  column(name: string): DecodedColumn {
    const known = this.#decoded.get(name);
    if (known !== undefined) return known;
    const column = readColumn(this.#bytes, this.#place.columns[name]!, this.rowCount);
    this.#decoded.set(name, column);
    return column;
  }

  /** A column without numbers above 2^50. */
  numbers(name: string): Float64Array {
    const column = this.column(name);
    return column instanceof Float64Array ? column : Float64Array.from(column, Number);
  }
}

/** Events of one family. */
export class Events extends Table {
  readonly fields: EventTable['fields'];
  readonly starts: Float64Array;
  readonly durations: Float64Array;
  /** Indices of the header's names. */
  readonly names: Float64Array;
  /** Of each row, the durations of those before it; one more for all. */
  readonly durationSums: Float64Array;

  constructor(table: EventTable, bytes: Uint8Array) {
    super(table, bytes);
    this.fields = table.fields;
    this.starts = this.numbers('start');
    this.durations = this.numbers('duration');
    this.names = this.numbers('name');
    this.durationSums = new Float64Array(this.rowCount + 1);
    for (let row = 0; row < this.rowCount; row++) {
      this.durationSums[row + 1] = this.durationSums[row]! + this.durations[row]!;
    }
  }
}

export interface Report {
  readonly header: ReportHeader;
  readonly events: Readonly<Record<EventFamily, Events>>;
  table(place: TablePlace): Table;
}

export async function loadReport(base64: string): Promise<Report> {
  const stream = new Blob([Uint8Array.fromBase64(base64)]).stream().pipeThrough(new DecompressionStream('gzip'));
  const { header, columns } = unpackReport(new Uint8Array(await new Response(stream).arrayBuffer()));
  const entries = EVENT_FAMILIES.map((family) => [family, new Events(header.events[family], columns)] as const);
  // reason: there is one entry for each family
  const events = Object.fromEntries(entries) as Record<EventFamily, Events>;
  return { header, events, table: (place) => new Table(place, columns) };
}

/** The first row of `[first, end)` whose value is at least `value`; `end` for none. Values do not fall. */
export function lowerBound(values: Float64Array, value: number, first: number, end: number): number {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
