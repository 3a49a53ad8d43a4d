/** LLVM's readers accept rewritten code objects, and see the same instructions in new code as in old. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../../src/cli/run-command.test-support.ts';
import { instrumentCodeObject } from '../../src/index.ts';
import { instrumentImage } from '../../src/instrument/index.ts';
import { TOOLS } from '../../src/tools/catalog.ts';
import { chooseHook, chooseTool } from '../../src/tools/chosen-tool.ts';
import { sampled } from '../scale.ts';

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

/** Of few registers, of many, with LDS and atomics. */
const KERNELS = ['gather', 'matmul4x4', 'histogram'];
const OPTIONS: Readonly<Record<string, string>> = { 'register-log': ':registers=s4 v0' };

for (const [turn, processor] of ['gfx90a', 'gfx942', 'gfx1100'].entries()) {
  test(`${processor}: LLVM reads the code of tools and hooks as we do`, { skip: isMissing }, async () => {
    const hook = `test/data/hooks/hooks.${processor}.O2.o:function=lane_statistics`;
    const uses = [
      ...(await Promise.all(TOOLS.map(({ name }) => chooseTool(name + (OPTIONS[name] ?? ''))))),
      chooseHook(hook, (file) => readFileSync(path.join(ROOT, file))),
    ];
    const pairs = KERNELS.flatMap((kernel) => uses.map((use) => [kernel, use] as const));
    for (const [kernel, use] of sampled(pairs, 4, turn)) {
      const name = `${kernel}.${processor}.co`;
      const image = { bytes: readFileSync(path.join(ROOT, 'examples/kernels', name)), name };
      const { bytes } = instrumentImage(image, [use]);
      const file = path.join(folder, name);
      writeFileSync(file, bytes);
      const { stdout } = await runCommand(['objdump', '-d', file]);
      assert.equal(stdout, run(OBJDUMP, '-d', file), `${name} ${use.tool.name}`);
    }
  });
}
