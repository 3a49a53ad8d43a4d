/** LLVM's readers accept rewritten code objects, and see the same instructions in new code as in old. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { instrumentCodeObject } from '../../src/index.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const OBJDUMP = 'llvm-objdump-19';
const isMissing = spawnSync(OBJDUMP, ['--version']).status !== 0;
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-instrumented-'));
after(() => rmSync(folder, { recursive: true }));

const FILES = ['examples', 'test/data'].flatMap((top) =>
  readdirSync(path.join(ROOT, top), { recursive: true, encoding: 'utf8' })
    .filter((name) => /gfx(90a|942|1100)(\.v\d)?\.co$/.test(name))
    .map((name) => path.join(top, name)),
);

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  assert.deepEqual([status, stderr], [0, ''], command);
  return stdout;
}

/** Mnemonics by address. */
function mnemonics(file: string): Map<number, string> {
  const lines = run(OBJDUMP, '-d', file).matchAll(/^\t(\S+).*\/\/ ([0-9A-F]{12}):/gm);
  return new Map([...lines].map(([, name, address]) => [Number.parseInt(address!, 16), name!]));
}

for (const name of FILES) {
  test(`${name}: LLVM reads it, and finds each instruction where the map says`, { skip: isMissing }, () => {
    const old = path.join(ROOT, name);
    const file = path.join(folder, 'new.co');
    const { bytes, map } = instrumentCodeObject(readFileSync(old), { name });
    writeFileSync(file, bytes);
    run('llvm-readelf-19', '-aW', file);
    const [before, now] = [mnemonics(old), mnemonics(file)];
    assert.ok(map.rows.length > 0);
    for (const { address, origin, kind } of map.rows) {
      if (kind === 'original') assert.equal(now.get(address), before.get(origin!));
    }
  });
}
