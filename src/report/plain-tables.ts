/** Rows of other reports as tables of a page. */
import { NO_ORDINAL } from '../profile/format/record-layout.ts';
import type { Profile } from '../profile/profile.ts';
import { jsonOf, type ReportCell, type ReportRow } from '../profile/reports/rows.ts';
import { statisticsRows } from '../profile/reports/statistics.ts';
import { summaryRows } from '../profile/reports/summary.ts';
import type { PlainCell, PlainTable } from './report-data.ts';

/** Of rows of statistics: what is worth a column, in this order. */
const STATISTICS_COLUMNS = [
  'event_name',
  'export_name',
  'physical_device_ordinal',
  'queue_ordinal',
  'executable_id',
  'export_ordinal',
  'command_buffer_id',
  'command_index',
  'sample_count',
  'invalid_sample_count',
  'operation_count',
  'payload_bytes',
  'tile_count',
  'tile_duration_sum_ns',
  'total_duration_ns',
  'minimum_duration_ns',
  'maximum_duration_ns',
  'total_duration',
  'duration_unit',
];

/** What `profile statistics` and `profile summary` say. */
export function plainTables(profile: Profile): PlainTable[] {
  const statistics = statisticsRows(profile).filter(({ type }) => type === 'statistics_row');
  const tables = [...Map.groupBy(statistics, (row) => String(row['row_type']))].map(([type, rows]) =>
    tableOf(type, rows),
  );
  const facts = summaryRows(profile).map(({ type, ...cells }) => {
    const told = Object.entries(cells).filter(([, cell]) => cell !== 0 && cell !== 0n && cell !== false);
    return { title: type, columns: ['what', 'value'], rows: told.map(([name, cell]) => [name, cellOf(cell)]) };
  });
  return [...tables, ...facts];
}

/** Columns in which no row says anything are left out; places are told always. */
function tableOf(title: string, rows: readonly ReportRow[]): PlainTable {
  const isTold = (cell: ReportCell | undefined): boolean =>
    ![undefined, null, 0, 0n, NO_ORDINAL].some((each) => each === cell);
  const hasTimes = rows.some((row) => isTold(row['total_duration_ns']));
  const columns = STATISTICS_COLUMNS.filter((name) => {
    if (hasTimes && (name === 'total_duration' || name === 'duration_unit')) return false;
    return name === 'physical_device_ordinal' || rows.some((row) => isTold(row[name]));
  });
  return { title, columns, rows: rows.map((row) => columns.map((name) => cellOf(row[name] ?? null))) };
}

function cellOf(cell: ReportCell): PlainCell {
  if (cell === NO_ORDINAL) return null;
  if (typeof cell === 'bigint') return Number.isSafeInteger(Number(cell)) ? Number(cell) : cell.toString();
  return typeof cell === 'object' && cell !== null ? jsonOf(cell) : cell;
}
