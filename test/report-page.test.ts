/** The page of `profile html` is built from its sources, and these pass the compiler. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { inflateRawSync } from 'node:zlib';
import { PAGE_ASSETS } from '../src/report/page-assets.ts';
import { bundlePage } from '../tools/report-page.ts';

const ROOT = path.resolve(import.meta.dirname, '..');

test('what is checked in is what `npm run build:page` makes', async () => {
  const built = await bundlePage();
  for (const part of ['script', 'style'] as const) {
    const found = inflateRawSync(Buffer.from(PAGE_ASSETS[part], 'base64')).toString();
    assert.ok(found === built[part], `the ${part} differs: npm run build:page`);
  }
  assert.match(built.script, /^\/\*!\nThis page contains:\n\n[\s\S]*d3-zoom [\s\S]*Permission to use/);
});

test('the sources of the page pass a strict compiler', () => {
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout, status } = spawnSync(process.execPath, [tsc, '--noEmit', '-p', 'pages'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  assert.deepEqual({ stdout, status }, { stdout: '', status: 0 });
});
