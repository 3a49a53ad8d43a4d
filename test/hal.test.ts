/** The package's HAL as docs/hal.md shows it: its program prints what it says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createHal } from '../src/hal.ts';

const ROOT = path.resolve(import.meta.dirname, '..');

test('the program of docs/hal.md prints what stands behind it', async () => {
  const text = readFileSync(path.join(ROOT, 'docs/hal.md'), 'utf8');
  const [, program, expected] = /^```ts\n(.*?)^```\n\n```text\n(.*?)^```$/ms.exec(text)!;
  const body = program!
    .replace(/^import .*\n/gm, '')
    .replaceAll(/\bawait using\b|\busing\b/g, 'const')
    .replaceAll(/(?<=\w)!(?=\.)/g, '');
  const printed: unknown[] = [];
  const read = (file: string) => readFileSync(path.join(ROOT, file));
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  const run = new AsyncFunction('readFileSync', 'createHal', 'console', `${body}; await hal[Symbol.asyncDispose]();`);
  await run(read, createHal, { log: (value: unknown) => printed.push(value) });
  assert.equal(`${printed.join('\n')}\n`, expected);
});

test('devices are listed, and an unknown one names them', async () => {
  using hal = createHal({ processors: ['gfx942', 'gfx1100'] });
  const devices = await hal.devices();
  assert.deepEqual(
    devices.map(({ name }) => name),
    ['gfx942 (emulated) (Node 1)', 'gfx1100 (emulated) (Node 2)', 'host', 'null'],
  );
  using some = createHal({ processors: ['gfx942', 'gfx1100', 'gfx90a'], visibleDevices: `2,${devices[1]!.uuid}` });
  assert.equal((await some.open('amdgpu:1')).name, devices[1]!.uri);
  await assert.rejects(some.open('amdgpu:2'), { message: /there are 2 devices/ });
  const device = await hal.open(devices[1]!.uri);
  assert.equal(device.describe().devices[0]!.formats[1], 'gfx1100');
  await assert.rejects(hal.open('amdgpu'), { status: 'INCOMPATIBLE' });
  assert.equal((await hal.open('amdgpu?target=gfx942')).physicalDevices.length, 2);
  await assert.rejects(hal.open('cuda:0'), { status: 'NOT_FOUND', code: 'NO_DEVICE' });
  await assert.rejects(hal.open('amdgpu?target=gfx1'), { status: 'NOT_FOUND' });
});
