import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CODE_OBJECT_FILES, errorCodeOf, mutationsOf, readTestFile } from '../../test/data/codeobjects/load.ts';
import { PT_DYNAMIC, PT_NOTE } from '../elf/constants.ts';
import { parseElf } from '../elf/elf.ts';
import { parseCodeObject } from './code-object.ts';

const parse = (file: string) => parseCodeObject(readTestFile(file), file);

test('version and target of every prebuilt object', () => {
  const found = CODE_OBJECT_FILES.filter((file) => file.startsWith('kernels.')).map((file) => {
    const { version, isaName, target } = parse(file);
    return [file, version, isaName.replace('amdgcn-amd-amdhsa--', ''), target.genericVersion];
  });
  assert.deepEqual(found.sort(), [
    ['kernels.gfx1030.v4.co', 4, 'gfx1030', 0],
    ['kernels.gfx11-generic.v6.co', 6, 'gfx11-generic', 1],
    ['kernels.gfx1100.v5.co', 5, 'gfx1100', 0],
    ['kernels.gfx1201.v6.co', 6, 'gfx1201', 0],
    ['kernels.gfx9-generic.v6.co', 6, 'gfx9-generic:xnack+', 1],
    ['kernels.gfx90a.v4.co', 4, 'gfx90a:sramecc+:xnack-', 0],
    ['kernels.gfx90a.v5.co', 5, 'gfx90a', 0],
    ['kernels.gfx90a.v5.o', 5, 'gfx90a', 0],
    ['kernels.gfx90a.v5.stripped.co', 5, 'gfx90a', 0],
    ['kernels.gfx942.v5.co', 5, 'gfx942', 0],
  ]);
});

test('kernels have descriptor, metadata and entry address', () => {
  const { kernels, elf } = parse('kernels.gfx90a.v5.co');
  assert.deepEqual(
    kernels.map(({ name, isExported }) => [name, isExported]),
    [
      ['store', true],
      ['mixed', true],
      ['stacky', true],
      ['internal', false],
    ],
  );
  for (const { name, symbol, entryAddress, descriptor, metadata } of kernels) {
    assert.equal(symbol.name, `${name}.kd`);
    assert.equal(entryAddress, elf.symbols.find((candidate) => candidate.name === name)!.value);
    assert.equal(descriptor.kernargSizeBytes, metadata!.kernargSegmentSizeBytes);
    assert.equal(descriptor.groupSegmentFixedSizeBytes, metadata!.groupSegmentFixedSizeBytes);
    assert.equal(descriptor.privateSegmentFixedSizeBytes, metadata!.privateSegmentFixedSizeBytes);
    assert.equal(descriptor.properties.usesDynamicStack, metadata!.usesDynamicStack);
  }
});

test('wave32 and its registers on gfx1100', () => {
  const [store] = parse('kernels.gfx1100.v5.co').kernels;
  assert.equal(store!.descriptor.properties.enableWavefrontSize32, true);
  assert.equal(store!.metadata!.wavefrontSize, 32);
});

test('in a stripped file the kernels that are not exported are gone', () => {
  const { kernels, metadata } = parse('kernels.gfx90a.v5.stripped.co');
  assert.deepEqual(
    kernels.map(({ name }) => name),
    ['store', 'mixed', 'stacky'],
  );
  assert.equal(metadata!.kernels.length, 4);
});

test('a relocatable object has kernels without entry address', () => {
  const { kernels, isRelocatable, symbols } = parse('kernels.gfx90a.v5.o');
  assert.ok(isRelocatable);
  assert.deepEqual(
    kernels.map(({ name, entryAddress }) => [name, entryAddress]),
    [
      ['store', undefined],
      ['mixed', undefined],
      ['stacky', undefined],
      ['internal', undefined],
    ],
  );
  assert.ok(symbols.some(({ name }) => name === 'step'));
});

test('a kernel without metadata is one all the same', () => {
  const bytes = readTestFile('kernels.gfx90a.v5.co');
  const note = parseElf(bytes).sectionNamed('.note')!;
  new DataView(bytes.buffer).setUint32(note.offset + 8, 33, true);
  const { metadata, kernels } = parseCodeObject(bytes, 'x');
  assert.equal(metadata, undefined);
  assert.deepEqual(kernels.map((kernel) => [kernel.name, kernel.metadata]).sort(), [
    ['internal', undefined],
    ['mixed', undefined],
    ['stacky', undefined],
    ['store', undefined],
  ]);
});

test('version 3 is read, version 2 refused', () => {
  const bytes = readTestFile('kernels.gfx90a.v4.co');
  bytes[8] = 1;
  assert.equal(parseCodeObject(bytes, 'x').version, 3);
  bytes[8] = 0;
  assert.equal(
    errorCodeOf(() => parseCodeObject(bytes, 'x')),
    'UNSUPPORTED',
  );
});

test('a descriptor symbol of another size is BAD_INPUT', () => {
  const bytes = readTestFile('kernels.gfx90a.v5.co');
  const { elf } = parseCodeObject(bytes, 'x');
  const symbol = elf.dynamicSymbols.find(({ name }) => name === 'store.kd')!;
  const at = elf.sectionNamed('.dynsym')!.offset + 24 * symbol.index + 16;
  new DataView(bytes.buffer).setBigUint64(at, 256n, true);
  assert.throws(() => parseCodeObject(bytes, 'x'), /x: kernel descriptor 'store\.kd' has 256 bytes, expected 64/);
});

test('a descriptor outside its section is BAD_INPUT in a relocatable object', () => {
  const bytes = readTestFile('kernels.gfx90a.v5.o');
  const { elf } = parseCodeObject(bytes, 'x');
  const symbol = elf.symbols.find(({ name }) => name === 'store.kd')!;
  const at = elf.sectionNamed('.symtab')!.offset + 24 * symbol.index + 8;
  new DataView(bytes.buffer).setBigUint64(at, 1_000n, true);
  assert.throws(() => parseCodeObject(bytes, 'x'), /'store\.kd' ends at 0x428, beyond the end of section \.rodata/);
});

test('one kernel twice in the metadata, in one note or in two, is BAD_INPUT', () => {
  const twoNotes = readTestFile('kernels.gfx90a.v5.co');
  const { segments } = parseElf(twoNotes);
  const note = segments.find(({ type }) => type === PT_NOTE)!;
  const stack = segments.find(({ type }) => type === 0x6474e551)!;
  twoNotes.copyWithin(64 + 56 * stack.index, 64 + 56 * note.index, 64 + 56 * (note.index + 1));
  assert.throws(() => parseCodeObject(twoNotes, 'x'), /the metadata lists the kernel descriptor '.*' twice/);

  const twice = readTestFile('kernels.gfx90a.v5.co');
  const text = new TextEncoder();
  const at = Buffer.from(twice.buffer).indexOf('mixed.kd');
  assert.ok(at > note.offset && at < note.offset + note.fileSizeBytes);
  twice.set(text.encode('store.kd'), at);
  assert.throws(() => parseCodeObject(twice, 'x'), /the metadata lists the kernel descriptor 'store\.kd' twice/);
});

test('packed relocations are refused', () => {
  const bytes = readTestFile('kernels.gfx90a.v5.co');
  const dynamic = parseElf(bytes).segments.find(({ type }) => type === PT_DYNAMIC)!;
  new DataView(bytes.buffer).setBigUint64(dynamic.offset + 3 * 16, 36n, true);
  assert.throws(() => parseCodeObject(bytes, 'x'), /packed relative relocations \(DT_RELR\)/);
});

test('a code object cut off anywhere is BAD_INPUT', () => {
  for (const file of ['tiny.gfx90a.co', 'kernels.gfx1100.v5.co']) {
    const bytes = readTestFile(file);
    for (let length = 0; length < bytes.length; length++) {
      assert.equal(
        errorCodeOf(() => parseCodeObject(bytes.subarray(0, length), file)),
        'BAD_INPUT',
        `${length} bytes`,
      );
    }
  }
});

test('mutated code objects give WavewrightError or a result, nothing else', () => {
  const mutated = fc.constantFrom(...CODE_OBJECT_FILES).chain((name) => mutationsOf(readTestFile(name)));
  fc.assert(
    fc.property(mutated, (bytes) => {
      errorCodeOf(() => parseCodeObject(bytes, 'mutated').elf.dynamicRelocations);
    }),
    { numRuns: 3_000 },
  );
});
