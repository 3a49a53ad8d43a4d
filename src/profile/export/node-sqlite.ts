/**
 * A profile as a database of SQLite: a table for each type of row of the interchange format, with the keys
 * of the rows as columns. Lists and objects are JSON; integers above 2^63 - 1, which SQLite does not have,
 * are text.
 */
import type { Profile } from '../profile.ts';
import { interchangeRows } from '../reports/interchange.ts';
import { jsonOf, type ReportCell } from '../reports/rows.ts';

const MAX_INTEGER = 2n ** 63n - 1n;

type Value = string | number | bigint | null;

/** What a cell is in a database. */
function columnValue(cell: ReportCell | undefined): Value {
  if (cell === undefined || cell === null) return null;
  if (typeof cell === 'boolean') return cell ? 1 : 0;
  if (typeof cell === 'bigint') return cell > MAX_INTEGER ? cell.toString() : cell;
  return typeof cell === 'object' ? jsonOf(cell) : cell;
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Writes a new database. Throws what SQLite throws, BAD_INPUT for a damaged profile. */
export function writeDatabase(profile: Profile, file: string): void {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const tables = Map.groupBy(interchangeRows(profile), (row) => String(row['record_type']));
  const database = new DatabaseSync(file);
  try {
    database.exec('BEGIN');
    for (const [type, rows] of tables) {
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== 'record_type');
      database.exec(`CREATE TABLE ${quoted(type)} (${columns.map(quoted).join(', ')})`);
      const places = columns.map(() => '?').join(', ');
      const insert = database.prepare(`INSERT INTO ${quoted(type)} VALUES (${places})`);
      for (const row of rows) insert.run(...columns.map((name) => columnValue(row[name])));
    }
    database.exec('COMMIT');
  } finally {
    database.close();
  }
}
