/**
 * Cases with their verdicts as a database of SQLite: `runs`, `cases` with a row for each case and its verdict
 * (null where there is none), `labels` of cases of a sweep, `reported` with what programs report as failed.
 * Lists and objects are JSON.
 */
import type { KeyedCase } from './case.ts';
import type { RunHeader } from './report.ts';
import { shardText } from './shard.ts';
import { isFlaky, type Verdict } from './verdict.ts';

export interface RunResults {
  readonly header: RunHeader;
  readonly cases: Iterable<KeyedCase>;
  readonly verdicts: Iterable<Verdict>;
}

const SCHEMA = `
CREATE TABLE runs (digest TEXT, total INTEGER, shard TEXT, wavewright TEXT, began TEXT);
CREATE TABLE cases (
  key TEXT PRIMARY KEY, name TEXT, image TEXT, device TEXT, options TEXT, args TEXT, env TEXT, stdin TEXT,
  timeout REAL, retries INTEGER, outcome TEXT, status INTEGER, ms INTEGER, runs INTEGER, flaky INTEGER, tail TEXT,
  log TEXT
) WITHOUT ROWID;
CREATE TABLE labels (key TEXT, label TEXT, value TEXT);
CREATE TABLE reported (key TEXT, name TEXT, outcome TEXT, took TEXT);
`;

/** Writes a new database; an old file goes. Throws what SQLite throws. */
export function writeResultsDatabase(file: string, { header, cases, verdicts }: RunResults): void {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  process.getBuiltinModule('node:fs').rmSync(file, { force: true });
  const database = new DatabaseSync(file);
  try {
    database.exec(`BEGIN; ${SCHEMA}`);
    const { digest, total, shard, wavewright, began } = header;
    const run = [digest, total, shard ? shardText(shard) : null, wavewright, began];
    database.prepare('INSERT INTO runs VALUES (?, ?, ?, ?, ?)').run(...run);
    const places = 'key, name, image, device, options, args, env, stdin, timeout, retries';
    const insertCase = database.prepare(`INSERT INTO cases (${places}) VALUES (${'?, '.repeat(9)}?)`);
    const insertLabel = database.prepare('INSERT INTO labels VALUES (?, ?, ?)');
    for (const { key, case: one } of cases) {
      const lists = [one.options, one.args, one.env].map((each) => JSON.stringify(each));
      const { name, image, device = null, stdin = null, timeout, retries, labels = {} } = one;
      insertCase.run(key, name, image, device, ...lists, stdin, timeout, retries);
      for (const [label, value] of Object.entries(labels)) insertLabel.run(key, label, value);
    }
    const update = database.prepare(
      'UPDATE cases SET outcome = ?, status = ?, ms = ?, runs = ?, flaky = ?, tail = ?, log = ? WHERE key = ?',
    );
    const insertReported = database.prepare('INSERT INTO reported VALUES (?, ?, ?, ?)');
    for (const verdict of verdicts) {
      const { k, o, s = null, ms, n, tail = null, log = null, cases: reported = [] } = verdict;
      update.run(o, s, ms, n, isFlaky(verdict) ? 1 : 0, tail, log, k);
      for (const one of reported) insertReported.run(k, one.name, one.outcome, one.took ?? null);
    }
    database.exec('COMMIT');
  } finally {
    database.close();
  }
}
