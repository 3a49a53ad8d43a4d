import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { checkOutput, writeOutput } from './output-file.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-output-'));
after(() => rmSync(folder, { recursive: true }));
const place = (name: string) => path.join(folder, name);
const text = (value: string) => new TextEncoder().encode(value);

test('a file is replaced as a whole: through links, with its permissions, and nothing stays beside it', () => {
  writeFileSync(place('old'), 'old');
  chmodSync(place('old'), 0o662);
  linkSync(place('old'), place('same'));
  symlinkSync('old', place('link'));
  writeOutput(place('link'), text('new'));
  assert.equal(readFileSync(place('old'), 'utf8'), 'new');
  assert.equal(statSync(place('old')).mode & 0o777, 0o662);
  assert.equal(readFileSync(place('same'), 'utf8'), 'old', 'the old file was never written to');
  writeOutput(place('none'), text('x'));
  assert.deepEqual(readdirSync(folder).sort(), ['link', 'none', 'old', 'same']);
});

test('a process that ends while it writes leaves the old file', () => {
  writeFileSync(place('kept'), 'kept');
  const program = `const { writeOutput } = await import(${JSON.stringify(path.join(import.meta.dirname, 'output-file.ts'))});
    writeOutput(${JSON.stringify(place('kept'))}, new Uint8Array(100_000));`;
  // The limit is in blocks of 512 bytes; who writes beyond it is ended by a signal.
  const line = 'ulimit -c 0; ulimit -f 20; exec "$0" --input-type=module -e "$1"';
  const { status } = spawnSync('sh', ['-c', line, process.execPath, program], {
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  assert.notEqual(status, 0);
  assert.equal(readFileSync(place('kept'), 'utf8'), 'kept');
});

test('what cannot be written is IO, before and then; a check changes nothing', () => {
  for (const file of [folder, place('none/x'), '/dev/full']) {
    const expected = { code: 'IO', message: new RegExp(`^${file}: cannot be written \\(E\\w+\\)$`) };
    if (file !== '/dev/full') assert.throws(() => checkOutput(file), expected);
    assert.throws(() => writeOutput(file, text('x')), expected);
  }
  writeFileSync(place('checked'), 'as it was');
  checkOutput(place('checked'));
  checkOutput(place('absent'));
  assert.equal(readFileSync(place('checked'), 'utf8'), 'as it was');
  assert.ok(!readdirSync(folder).includes('absent'));
  writeOutput('/dev/null', text('x'));
});
