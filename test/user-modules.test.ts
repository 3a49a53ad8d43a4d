/** What modules of users import of the package is what runs, by each name that it has for Node. */
import assert from 'node:assert/strict';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import manifest from '../package.json' with { type: 'json' };
import { importUserModule } from '../src/cli/program/user-module.ts';

/** A page takes this one, which is a file of its own. */
const FOR_PAGES = './browser';
const NAMES = Object.keys(manifest.exports).filter((name) => name !== FOR_PAGES);

test('a module of a user gets what runs, wherever it is', async () => {
  using folder = mkdtempDisposableSync(path.join(tmpdir(), 'wavewright-user-'));
  const file = path.join(folder.path, 'tool.mjs');
  const lines = NAMES.map((name, i) => `export * as own${i} from '${path.join('wavewright', name)}';`);
  writeFileSync(file, lines.join('\n'));
  const found = await importUserModule(file);
  for (const [i, name] of NAMES.entries()) {
    const source: object = await import(`../src/${name === '.' ? 'index' : path.basename(name)}.ts`);
    assert.ok(Object.keys(source).length > 0, name);
    assert.deepEqual({ ...(found[`own${i}`] as object) }, { ...source }, name);
  }
  writeFileSync(path.join(folder.path, 'other.mjs'), "import 'wavewright/nothing';");
  await assert.rejects(importUserModule(path.join(folder.path, 'other.mjs')), { code: 'ERR_MODULE_NOT_FOUND' });
});
