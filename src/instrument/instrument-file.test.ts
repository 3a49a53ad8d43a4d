import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTestFile } from '../../test/data/codeobjects/load.ts';
import { WavewrightError } from '../base/errors.ts';
import { openCodeObjects, openContainer } from '../codeobject/container.ts';
import { nodeDecompress } from '../codeobject/node-decompress.ts';
import { ET_DYN, PF_R, PF_W, PT_LOAD, SHF_ALLOC, SHF_WRITE, SHT_PROGBITS, SHT_STRTAB } from '../elf/constants.ts';
import { parseElf } from '../elf/elf.ts';
import { writeElf } from '../elf/writer.ts';
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

const PAGE = 4096;
const BASE = 0x40_0000;
const WRAPPER_BYTES = 24;

/** A program with as many bundles as wrappers that register them, at the addresses that `pointers` say. */
function program(bundles: readonly Uint8Array[], pointers: readonly number[]): Uint8Array {
  const starts: number[] = [];
  let end = PAGE;
  for (const { length } of bundles) {
    starts.push(end);
    end += Math.ceil(length / PAGE) * PAGE;
  }
  const fatbin = new Uint8Array(end - PAGE);
  for (const [i, bundle] of bundles.entries()) fatbin.set(bundle, starts[i]! - PAGE);
  const wrappers = new DataView(new ArrayBuffer(pointers.length * WRAPPER_BYTES));
  for (const [i, pointer] of pointers.entries()) {
    wrappers.setUint32(i * WRAPPER_BYTES, 0x4849_5046, true);
    wrappers.setUint32(i * WRAPPER_BYTES + 4, 1, true);
    wrappers.setBigUint64(i * WRAPPER_BYTES + 8, BigInt(pointer), true);
  }
  const bytes = new Uint8Array(wrappers.buffer);
  const load = (flags: number, offset: number, sizeBytes: number) => ({
    ...{ type: PT_LOAD, flags, offset, address: BigInt(BASE + offset) },
    ...{ fileSizeBytes: sizeBytes, memorySizeBytes: sizeBytes, alignmentBytes: PAGE },
  });
  return writeElf({
    ...{ type: ET_DYN, machine: 62, osAbi: 0, abiVersion: 0, flags: 0, nameSection: '.shstrtab' },
    segments: [load(PF_R, PAGE, fatbin.length), load(PF_R | PF_W, end, bytes.length)],
    sections: [
      {
        ...{ name: '.hip_fatbin', type: SHT_PROGBITS, flags: SHF_ALLOC, address: BigInt(BASE + PAGE), offset: PAGE },
        ...{ bytes: fatbin, alignmentBytes: PAGE },
      },
      {
        ...{ name: '.hipFatBinSegment', type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_WRITE, alignmentBytes: 8 },
        ...{ address: BigInt(BASE + end), offset: end, bytes },
      },
      { name: '.shstrtab', type: SHT_STRTAB, flags: 0n, bytes: new Uint8Array(), alignmentBytes: 1 },
    ],
  });
}

const BUNDLE = readTestFile('fat.bundle');
const BUNDLE_PAGES = Math.ceil(BUNDLE.length / PAGE);
const second = BASE + PAGE + BUNDLE_PAGES * PAGE;

test('a program with several bundles: each is rewritten, and what registers it leads there', () => {
  const { bytes, images } = instrumentFile(program([BUNDLE, BUNDLE], [second, BASE + PAGE]), 'x', options);
  assert.equal(entriesOf(bytes).length, 2);
  const expected = Buffer.from(instrumentFile(BUNDLE, 'x', options).bytes);
  assert.equal(images.length, 2 * instrumentFile(BUNDLE, 'x', options).images.length);
  const elf = parseElf(bytes, 'x');
  const wrappers = elf.sectionBytes(elf.sectionNamed('.hipFatBinSegment')!);
  const view = new DataView(wrappers.buffer, wrappers.byteOffset, wrappers.length);
  const pointers = [0, 1].map((i) => view.getBigUint64(i * WRAPPER_BYTES + 8, true));
  assert.ok(pointers[0]! > pointers[1]!);
  for (const pointer of pointers) {
    assert.deepEqual(Buffer.from(elf.read(pointer, expected.length, 'a bundle')), expected);
  }
});

test('bundles that nothing known registers, and archives, are refused by name', () => {
  const strange = program([BUNDLE, BUNDLE], [BASE + PAGE]);
  assert.throws(() => instrumentFile(strange, 'x', options), {
    code: 'UNSUPPORTED',
    message: /1 of its fat binaries are registered in a way that is not known/,
  });
  const archive = new TextEncoder().encode('!<arch>\n');
  assert.throws(() => instrumentFile(archive, 'lib.a'), { code: 'UNSUPPORTED', message: /an archive: link it/ });
});

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
