/** What the other reports say of the profile, as tables. */
import type { PlainCell, PlainTable } from '../../src/report/report-data.ts';
import type { Report } from './data.ts';
import { type Column, DataTable } from './data-table.ts';
import { countText, durationText } from './format.ts';

type Row = readonly PlainCell[];

function columnOf(title: string, i: number): Column<Row> {
  const value = (row: Row) => row[i];
  return {
    title: title.replaceAll('_', ' '),
    value: (row) =>
      typeof value(row) === 'boolean' ? String(value(row)) : ((value(row) ?? undefined) as string | number | undefined), // reason: booleans and null are taken
    text: (row) => {
      const cell = value(row);
      if (typeof cell !== 'number') return cell === null || cell === undefined ? '' : String(cell);
      return title.endsWith('duration_ns')
        ? durationText(cell)
        : Number.isInteger(cell)
          ? countText(cell)
          : String(cell);
    },
  };
}

export const statisticsTables = ({ header }: Report): DataTable<Row>[] =>
  header.statistics.map(({ title, columns, rows }: PlainTable) => {
    const total = columns.indexOf('total_duration_ns');
    const options = { caption: title.replaceAll('_', ' '), columns: columns.map(columnOf), rows };
    return new DataTable<Row>({ ...options, ...(total >= 0 && { sortedBy: total }) });
  });
