/** Rows of reports: what iree-profile prints as JSON Lines, and tables of these for people. */

import { isJsonList, type JsonValue, jsonOf } from '../../base/json.ts';

export { jsonOf };
export type ReportCell = JsonValue;
/** A row; 64-bit values are bigint. */
export type ReportRow = { readonly type: string } & { readonly [key: string]: ReportCell };

/** A number with so many digits behind the point at most, as iree-profile prints it. */
export const rounded = (value: number, digits = 3): number => Number(value.toFixed(digits));

export const jsonLines = (rows: Iterable<ReportRow>): string => [...rows].map((row) => `${jsonOf(row)}\n`).join('');

/** Of a type of rows: the columns of its table. Types that have none are printed as `key=value`. */
export type Columns = Readonly<Record<string, readonly string[]>>;

const cellText = (cell: ReportCell): string => {
  if (typeof cell === 'string') return cell;
  if (cell === 0xffff_ffff) return '-';
  return typeof cell === 'object' && cell !== null && isJsonList(cell) ? cell.map(cellText).join('x') : jsonOf(cell);
};

/** Rows of one type that follow each other are a table, if the type has columns. */
export function textOf(rows: readonly ReportRow[], columns: Columns): string {
  const lines: string[] = [];
  for (let start = 0; start < rows.length; ) {
    const { type } = rows[start]!;
    let end = start + 1;
    while (end < rows.length && rows[end]!.type === type) end++;
    const group = rows.slice(start, end);
    const heads = columns[type];
    if (heads === undefined) {
      for (const row of group) lines.push(pairsText(row));
    } else lines.push('', type, ...tableLines(heads, group));
    start = end;
  }
  return `${lines.join('\n')}\n`;
}

/** What is 0 or not there is left out. */
const pairsText = ({ type, ...cells }: ReportRow): string => {
  const told = Object.entries(cells).filter(([key, cell]) => key.endsWith('ordinal') || Boolean(cell));
  return [`${type}:`, ...told.map(([key, cell]) => `${key}=${cellText(cell)}`)].join(' ');
};

function tableLines(heads: readonly string[], rows: readonly ReportRow[]): string[] {
  const cells = [heads, ...rows.map((row) => heads.map((head) => cellText(row[head] ?? '')))];
  const widths = heads.map((_, i) => Math.max(...cells.map((line) => line[i]!.length)));
  const isNumber = heads.map((head) => rows.every((row) => typeof row[head] !== 'string'));
  const line = (of: readonly string[]): string =>
    of.map((cell, i) => (isNumber[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  ');
  return cells.map((each) => `  ${line(each)}`.trimEnd());
}
