/** Recordings on the command line. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { allPayloads } from '../../replay/format/all-payloads.test-support.ts';
import { runCommand } from '../run-command.test-support.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-replay-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a recording is printed as text and as JSON Lines', async () => {
  const file = path.join(folder, 'all.ireereplay');
  writeFileSync(file, allPayloads(1));
  const text = await runCommand(['replay', 'dump', file]);
  assert.match(text.stdout, /^IREE HAL replay v1\.0\nfile_length: \d+\nheader_length: 24\nsummary:\n {2}hermetic: /);
  assert.match(text.stdout, / op=[a-z_.]+\(\d+\) payload=device_queue_fill\(15\) range=\[\d+, \+\d+\] queue_affinity=/);
  const { stdout } = await runCommand(['replay', 'dump', file, '--format=jsonl']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    rows.slice(0, 3).map(({ kind }) => kind),
    ['file', 'summary', 'session'],
  );
  assert.equal(rows[1].record_count, rows.length - 2);
  assert.deepEqual(rows.at(-1).kind, 'unsupported');
});

test('what is no recording is refused with the place', async () => {
  const file = path.join(folder, 'none.ireereplay');
  writeFileSync(file, new Uint8Array(30));
  const { status, stderr } = await runCommand(['replay', 'dump', file]);
  assert.equal(status, 3);
  assert.match(
    stderr,
    /none\.ireereplay: file header at 0x0: 0x0 is not the magic number of a recording \(IRRP\) \[BAD_INPUT\]/,
  );
  assert.equal((await runCommand(['replay', 'dumb', file])).status, 2);
});
