/** What `npm test` prints: a line for each file, the failures, node:test's summary. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

test('a line for each file, failures at once and in the end, then the summary', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-reporter-'));
  const file = (name: string, text: string) =>
    writeFileSync(path.join(folder, `${name}.test.mjs`), `import { describe, test } from 'node:test';\n${text}\n`);
  file('a', "test('one', (t) => t.diagnostic('seed 7'));\ntest('two', { skip: 'no oracle' }, () => {});");
  file('b', "describe('group', () => {\n  test('bad', () => { throw new Error('what went wrong'); });\n});");
  file('c', "throw new Error('cannot be loaded');");
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const reporter = path.join(import.meta.dirname, 'file-reporter.ts');
  const argv = ['--test', '--test-concurrency=1', `--test-reporter=${reporter}`, '*.test.mjs'];
  const { stdout, status } = spawnSync(process.execPath, argv, { cwd: folder, env, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  assert.equal(status, 1);
  const lines = stdout.replace(/[\d.]+ s\)/g, 'T s)').split('\n');
  assert.deepEqual(lines.slice(0, 5), [
    '[1/3] ✔ a.test.mjs (2 tests, 1 skipped, T s)',
    '    seed 7',
    '    skipped: two (no oracle)',
    '✖ b.test.mjs:3: bad',
    '    Error: what went wrong',
  ]);
  assert.ok(lines.includes('[2/3] ✖ b.test.mjs (1 test, 1 failed, T s)'), stdout);
  assert.match(stdout, /Error: cannot be loaded/);
  const end = lines.slice(lines.indexOf('failed:'));
  assert.deepEqual(end.slice(0, 6), [
    ...['failed:', '✖ b.test.mjs:3: bad', '✖ c.test.mjs: the file failed', ''],
    ...['ℹ tests 4', 'ℹ suites 1'],
  ]);
  assert.match(stdout, /\nℹ pass 1\nℹ fail 2\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\nℹ duration_ms [\d.]+\n$/);
});
