/**
 * The examples against their sources: every code object is what clang 19 makes of it, every expected result
 * what the host computes.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');

// The tool works on the checkout that it stands in: --expected on a copy.
const copy = mkdtempSync(path.join(tmpdir(), 'wavewright-examples-'));
after(() => rmSync(copy, { recursive: true }));
for (const part of ['examples', 'tools', 'src/base', 'package.json', 'biome.json']) {
  cpSync(path.join(ROOT, part), path.join(copy, part), { recursive: true });
}
symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));

function buildExamples(root: string, mode: string): void {
  const options = { cwd: root, encoding: 'utf8', timeout: 600_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['tools/build-examples.ts', mode], options);
  assert.equal(status, 0, stdout + stderr);
}

test('the code objects and their manifest are rebuilt bit for bit', () => buildExamples(ROOT, '--check'));

test('the expected results are what the sources do on the host', () => {
  const expected = 'examples/expected.json';
  rmSync(path.join(copy, expected));
  buildExamples(copy, '--expected');
  assert.equal(readFileSync(path.join(copy, expected), 'utf8'), readFileSync(path.join(ROOT, expected), 'utf8'));
});
