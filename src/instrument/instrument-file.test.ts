import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTestFile } from '../../test/data/codeobjects/load.ts';
import { WavewrightError } from '../base/errors.ts';
import { openCodeObjects, openContainer } from '../codeobject/container.ts';
import { nodeDecompress } from '../codeobject/node-decompress.ts';
import { instrumentCodeObject } from './instrument.ts';
import { instrumentFile } from './instrument-file.ts';

const options = { decompress: nodeDecompress };
const entriesOf = (bytes: Uint8Array) =>
  openContainer(bytes, 'x', options).bundles.map(({ entries }) => entries.map(({ id }) => id));

for (const file of ['fat.bundle', 'fat.ccob', 'host.elf']) {
  test(`${file}: every code object in it is rewritten, and nothing else`, () => {
    const before = readTestFile(file);
    const { bytes, images } = instrumentFile(before, file, options);
    assert.deepEqual(entriesOf(bytes), entriesOf(before));
    const expected = openCodeObjects(before, file, options).map((image) => instrumentCodeObject(image.bytes).bytes);
    const found = openCodeObjects(bytes, file, options).map((image) => image.bytes);
    assert.ok(found.length > 0);
    assert.deepEqual(found.map(Buffer.from), expected.map(Buffer.from));
    assert.equal(images.length, found.length);
  });
}

test('a relocatable object comes out linked', () => {
  const { bytes, images } = instrumentFile(readTestFile('kernels.gfx90a.v5.o'), 'kernels.o');
  assert.equal(images[0]!.wasLinked, true);
  assert.equal(openContainer(bytes, 'x').kind, 'code-object');
});

test('1,000 damaged files end in clear errors or in files that can be read', () => {
  const files = ['kernels.gfx90a.v5.co', 'kernels.gfx1100.v5.co', 'tiny.gfx90a.co', 'fat.bundle', 'host.elf'];
  let state = 7;
  const random = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  let refused = 0;
  for (let i = 0; i < 1000; i++) {
    const bytes = readTestFile(files[i % files.length]!).slice();
    // Half of the damage is in headers and tables, where it shows most.
    for (let n = 1 + random(4); n > 0; n--) bytes[random(random(2) === 0 ? 1024 : bytes.length)] = random(256);
    try {
      const { bytes: result } = instrumentFile(bytes, 'damaged', options);
      openContainer(result, 'result', options);
    } catch (error) {
      assert.ok(error instanceof WavewrightError && error.code !== 'INTERNAL', `${i}: ${String(error)}`);
      refused++;
    }
  }
  assert.ok(refused > 100 && refused < 1000, String(refused));
});
