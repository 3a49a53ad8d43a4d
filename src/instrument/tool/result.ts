/** What a tool says after a run: named numbers and tables, printed for people or as JSON. */

export type Cell = string | number | bigint;

export interface ResultTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** A cell for each column. */
  readonly rows: readonly (readonly Cell[])[];
}

export interface ToolResult {
  /** What is said of the run as a whole, in order. */
  readonly summary: Readonly<Record<string, Cell>>;
  readonly tables: readonly ResultTable[];
  /** What is to be written besides. */
  readonly files?: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}

const jsonCell = (cell: Cell): string | number => {
  if (typeof cell !== 'bigint') return cell;
  // A number beyond 2^53 would lose digits where JSON is read.
  return cell <= BigInt(Number.MAX_SAFE_INTEGER) && cell >= -BigInt(Number.MAX_SAFE_INTEGER) ? Number(cell) : `${cell}`;
};

/** Rows become objects by column; numbers that JSON cannot hold become text. */
export function resultJson({ summary, tables }: ToolResult): Record<string, unknown> {
  return {
    ...Object.fromEntries(Object.entries(summary).map(([name, cell]) => [name, jsonCell(cell)])),
    ...Object.fromEntries(
      tables.map(({ name, columns, rows }) => [
        name,
        rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, jsonCell(row[i]!)]))),
      ]),
    ),
  };
}

/** Lines of text; numbers are set flush right. */
export function resultText({ summary, tables }: ToolResult): string {
  const lines = Object.entries(summary).map(([name, cell]) => `${name}: ${cell}`);
  for (const { name, columns, rows } of tables) {
    if (rows.length === 0) continue;
    const isNumber = columns.map((_, i) => rows.every((row) => typeof row[i] !== 'string'));
    const widths = columns.map((column, i) => rows.reduce((w, row) => Math.max(w, `${row[i]}`.length), column.length));
    const line = (cells: readonly Cell[]): string =>
      cells
        .map((cell, i) => (isNumber[i] ? `${cell}`.padStart(widths[i]!) : `${cell}`.padEnd(widths[i]!)))
        .join('  ')
        .trimEnd();
    lines.push(`${name}:`, ...[columns, ...rows].map((row) => `  ${line(row)}`));
  }
  return lines.map((text) => `${text}\n`).join('');
}
