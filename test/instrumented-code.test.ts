/**
 * What tools make of checked-in code objects has nothing that a GPU would run wrong and an emulator right:
 * waits, hazards, clauses, registers and descriptors. WAVEWRIGHT_SCALE=full looks at all files.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { instrumentImage } from '../src/instrument/index.ts';
import { checkCode } from '../src/lift/check-code.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { IS_FULL_SCALE } from './scale.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
/** Files with the runtime of a C library take seconds each. */
const MAX_BYTES = IS_FULL_SCALE ? Number.POSITIVE_INFINITY : 5000;
const FILES = ['examples', 'test/data'].flatMap((folder) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /gfx(90a|942|1100)(\.v\d)?\.co$/.test(name))
    .map((name) => path.join(folder, name)),
);
const CHOSEN = FILES.filter((file) => statSync(path.join(ROOT, file)).size <= MAX_BYTES);
const TOOLS = [
  ...['instruction-count', 'block-count', 'memory-trace'],
  ...(IS_FULL_SCALE ? ['instruction-count:level=wave', 'opcode-histogram', 'coalescing', 'lds-bank-conflicts'] : []),
  ...(IS_FULL_SCALE ? ['branch-divergence', 'register-log:registers=s0,v0', 'value-profile'] : []),
];

const findingsOf = (bytes: Uint8Array, name: string): string[] =>
  checkCode(liftCodeObject(parseCodeObject(bytes, name))).map(({ rule, text }) => `${rule}: ${text}`);

for (const file of CHOSEN) {
  test(`${file}: tools leave code without findings`, async () => {
    const bytes = readFileSync(path.join(ROOT, file));
    const native = findingsOf(bytes, file).length;
    for (const name of TOOLS) {
      const image = instrumentImage({ bytes, name: file }, [await chooseTool(name)]);
      const found = findingsOf(image.bytes, file);
      assert.ok(found.length <= native, `${name}:\n${found.join('\n')}`);
    }
  });
}
assert.ok(CHOSEN.length > 20, `${CHOSEN.length} of ${FILES.length} files`);

test('calls are known in code that a tool was put into as they were before', async () => {
  const file = 'examples/link/filters.gfx90a.co';
  const before = readFileSync(path.join(ROOT, file));
  const knownIn = (bytes: Uint8Array): string[] =>
    liftCodeObject(parseCodeObject(bytes, file)).sites.map(
      ({ function: { name }, callees, how }) => `${name}: ${callees.map((callee) => callee.name)} ${how}`,
    );
  assert.deepEqual(knownIn(before), ['soften:  unresolved', 'digits: digits table']);
  for (const name of TOOLS) {
    const { bytes } = instrumentImage({ bytes: before, name: file }, [await chooseTool(name)]);
    assert.deepEqual(knownIn(bytes).sort(), knownIn(before).sort(), name);
  }
});
