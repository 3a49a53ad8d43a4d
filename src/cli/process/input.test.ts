import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { type ErrorCode, WavewrightError } from '../../base/errors.ts';
import { readInput } from './input.ts';

const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-input-'));
after(() => rmSync(scratch, { recursive: true }));
const file = (name: string) => path.join(scratch, name);

function refused(name: string, code: ErrorCode, what: RegExp): void {
  assert.throws(
    () => readInput(name),
    (error: unknown) => {
      assert.ok(error instanceof WavewrightError);
      assert.deepEqual([error.code, error.context.file], [code, name]);
      assert.match(error.what, what);
      return true;
    },
  );
}

test('the bytes of a file', () => {
  writeFileSync(file('some'), Uint8Array.of(1, 2, 255));
  assert.deepEqual([...readInput(file('some'))], [1, 2, 255]);
});

test('- is standard input', () => {
  const program = `import { readInput } from ${JSON.stringify(new URL('./input.ts', import.meta.url).href)};
    process.stdout.write(String(readInput('-')));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { input: 'bytes' });
  assert.deepEqual([String(stdout), String(stderr)], ['bytes', '']);
});

test('what cannot be read is told apart', () => {
  refused(file('none'), 'IO', /^no such file$/);
  refused(scratch, 'IO', /^is a directory, expected a file$/);
  writeFileSync(file('plain'), 'x');
  refused(path.join(file('plain'), 'inside'), 'IO', /is not a directory/);
  symlinkSync(file('loop'), file('loop'));
  refused(file('loop'), 'IO', /symbolic links/);
  refused(file('x'.repeat(300)), 'IO', /too long/);
  refused('', 'IO', /^no such file$/);
});

test('an empty file and one beyond the limit are bad input', () => {
  writeFileSync(file('empty'), '');
  refused(file('empty'), 'BAD_INPUT', /^is empty/);
  writeFileSync(file('huge'), '');
  truncateSync(file('huge'), 2 ** 31);
  refused(file('huge'), 'LIMIT_EXCEEDED', /^is 2147483648 bytes long, expected at most 2147483647$/);
});
