/**
 * Reports of a profile of ours against what IREE's `iree-profile` (b42f44c0d9, built from its sources) says
 * of the same file, row by row and key by key. The file is of two queues, command buffers, a pool, transfers
 * and counters on the clock that counts.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../src/cli/run-command.test-support.ts';

const FOLDER = path.join(import.meta.dirname, 'data/profile');
const FILE = path.join(FOLDER, 'pipeline.ireeprof');

type Row = Readonly<Record<string, unknown>>;

/** A report of iree-profile's, with its options. */
interface Expected {
  readonly report: readonly string[];
  readonly rows: readonly Row[];
}

/** What is ours, or later than that commit. */
const OWN_KEYS = new Set([
  'unknown_chunks', // Of two names of a chunk, that commit knows one.
  'invalid_clock_alignment_samples', // May 2026.
  ...['function_ordinal', 'function_count'], // May 2026.
]);
const OWN_ROWS = new Set(['explain_hint', 'diagnostic', 'executable_function']);

function expectedReports(): Expected[] {
  const lines: Row[] & { report: string[]; rows: number }[] = readFileSync(
    path.join(FOLDER, 'iree-profile.jsonl'),
    'utf8',
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const reports: Expected[] = [];
  for (let at = 0; at < lines.length; ) {
    const { report, rows } = lines[at]!;
    reports.push({ report, rows: lines.slice(at + 1, at + 1 + rows) });
    at += 1 + rows;
  }
  return reports;
}

const compared = (rows: readonly Row[]): Row[] =>
  rows
    .filter((row) => !OWN_ROWS.has(String(row['record_type'] ?? row['type'])))
    .map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => !OWN_KEYS.has(key))));

for (const { report, rows } of expectedReports()) {
  test(`profile ${report.join(' ')}: the rows of iree-profile`, async () => {
    const [verb, ...options] = report as [string, ...string[]];
    const format = `--format=${verb === 'export' ? 'ireeperf-jsonl' : 'jsonl'}`;
    const { stdout } = await runCommand(['profile', verb, FILE, format, ...options]);
    const own: Row[] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(compared(own), compared(rows));
  });
}

test('profile statistics: the text of iree-profile', async () => {
  const { stdout } = await runCommand(['profile', 'statistics', FILE]);
  assert.equal(stdout, readFileSync(path.join(FOLDER, 'statistics.txt'), 'utf8'));
});
