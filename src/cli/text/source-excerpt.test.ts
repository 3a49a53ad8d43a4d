import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import { errorJson, reportError } from './report.ts';
import { sourceExcerpt } from './source-excerpt.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-excerpt-'));
after(() => rmSync(folder, { recursive: true }));
const file = path.join(folder, 'kernel.c');
writeFileSync(file, 'void f(void) {\r\n\tx = \x1b*p;\n}\n');

test('the line of the source with a mark below the column, fit for a terminal', () => {
  assert.deepEqual(sourceExcerpt({ file, line: 1, column: 6 }), ['       1 | void f(void) {', '         |      ^']);
  assert.deepEqual(sourceExcerpt({ file, line: 2, column: 0 }), ['       2 |  x = \\x1b*p;']);
});

test('what is no line of a plain file shows nothing, and never waits', () => {
  const pipe = path.join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const place of [
    { file: path.join(folder, 'none'), line: 1 },
    { file: folder, line: 1 },
    { file: pipe, line: 1 },
    { file: '/dev/zero', line: 1 },
    { file, line: 100 },
    { file, line: 0 },
  ]) {
    assert.deepEqual(sourceExcerpt({ ...place, column: 1 }), []);
  }
});

test('an error with parts is a headline and labelled lines, and the same as JSON', () => {
  const fields = { instruction: "'s_nop 0'", source: `${file}:1:6`, memory: 'none\nat all' };
  const report = { headline: 'invalid read', fields, source: { file, line: 1, column: 6 } };
  const error = new WavewrightError('GPU_FAULT', 'invalid read; all in one line', { file: 'a.co', report, hint: 'h' });
  assert.equal(error.message, 'a.co: invalid read; all in one line');
  assert.equal(
    reportError(error, false).text,
    `wavewright: error: a.co: invalid read [GPU_FAULT]
  instruction: 's_nop 0'
  source:      ${file}:1:6
       1 | void f(void) {
         |      ^
  memory:      none\\x0aat all
hint: h
`,
  );
  const { code, fields: parts, schema } = JSON.parse(errorJson(error));
  assert.deepEqual([schema, code, parts], ['wavewright.error', 'GPU_FAULT', { headline: 'invalid read', ...fields }]);
});
