import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  CODE_OBJECT_FILES,
  CONTAINER_FILES,
  errorCodeOf,
  mutationsOf,
  readTestFile,
} from '../../test/data/codeobjects/load.ts';
import { parseCodeObject } from '../codeobject/code-object.ts';
import { nodeDecompress } from '../codeobject/node-decompress.ts';
import { describeFile } from './report.ts';
import { formatReport } from './report-text.ts';

const describe = (file: string, bytes = readTestFile(file)) =>
  describeFile(bytes, file, { decompress: nodeDecompress });

test('JSON keeps every report as it is', () => {
  for (const file of [...CODE_OBJECT_FILES, ...CONTAINER_FILES]) {
    const report = describe(file);
    assert.deepEqual(JSON.parse(JSON.stringify(report)), report, file);
    assert.deepEqual([report.schema, report.version, report.file], ['wavewright.readobj', 1, file]);
  }
});

test('a code object report has every part of the file', () => {
  const [object] = describe('kernels.gfx90a.v5.co').codeObjects;
  const { elf } = parseCodeObject(readTestFile('kernels.gfx90a.v5.co'), 'x');
  assert.equal(object!.isaName, 'amdgcn-amd-amdhsa--gfx90a');
  assert.equal(object!.segments.length, elf.segments.length);
  assert.equal(object!.sections.length, elf.sections.length);
  assert.equal(object!.dynamicSymbols.length, elf.dynamicSymbols.length);
  assert.equal(object!.symbols.length, elf.symbols.length);
  assert.deepEqual(object!.relocations, [
    {
      section: '.rela.dyn',
      entries: [
        { offset: '0x3d40', type: 'R_AMDGPU_RELATIVE64', symbol: null, addend: '8460' },
        { offset: '0x3d48', type: 'R_AMDGPU_ABS64', symbol: 'step', addend: '0' },
        { offset: '0x3d50', type: 'R_AMDGPU_ABS64', symbol: 'step', addend: '0' },
      ],
    },
  ]);
  assert.deepEqual(
    object!.kernels.map(({ name }) => name),
    ['store', 'mixed', 'stacky', 'internal'],
  );
});

test('arguments are listed with what is known of them', () => {
  const [everything] = describe('arguments.gfx90a.v5.co').codeObjects[0]!.kernels;
  assert.deepEqual(everything!.arguments[0], {
    offsetBytes: 0,
    sizeBytes: 8,
    valueKind: 'global_buffer',
    isHidden: false,
    name: 'input',
    typeName: 'float*',
    addressSpace: 'global',
    qualifiers: { isConst: true, isRestrict: true, unknown: {} },
  });
  assert.equal(everything!.arguments.filter(({ isHidden }) => isHidden).length, 20);
});

test('an unknown 64-bit value of the metadata is not lost', () => {
  const bytes = readTestFile('tiny.gfx90a.co');
  const at = Buffer.from(bytes.buffer).indexOf('.sgpr_spill_count') - 1;
  // The key of 17 characters and its fixint make room for a key of 9 and a uint 64.
  bytes.set([0xa9, ...new TextEncoder().encode('.vendor.x'), 0xcf, 1, 2, 3, 4, 5, 6, 7, 8], at);
  const [kernel] = describe('tiny', bytes).codeObjects[0]!.kernels;
  assert.match(JSON.stringify(kernel!.metadata), /"unknown":\{"\.vendor\.x":"0x102030405060708"\}/);
});

test('a stripped file has its relocations, and the kernels without descriptor stand in the metadata', () => {
  const [object] = describe('kernels.gfx90a.v5.stripped.co').codeObjects;
  assert.deepEqual(
    object!.relocations.map(({ section, entries }) => [section, entries.length]),
    [['dynamic section', 3]],
  );
  assert.match(JSON.stringify(object!.metadata), /"name":"internal"/);
});

test('a relocation against a section has the name of the section', () => {
  const [object] = describe('kernels.gfx90a.v5.o').codeObjects;
  assert.ok(object!.relocations[0]!.entries.some(({ symbol }) => symbol === '.text'));
});

test('the text shows every section, symbol and kernel', () => {
  for (const file of [...CODE_OBJECT_FILES, ...CONTAINER_FILES]) {
    const report = describe(file);
    const text = formatReport(report);
    assert.ok(text.endsWith('\n') && !/[ \t]\n/.test(text), 'no trailing blanks');
    assert.doesNotMatch(text, /^ +unknown$/m, 'nothing empty');
    for (const object of report.codeObjects) {
      for (const { name } of [...object.sections, ...object.symbols, ...object.kernels]) assert.ok(text.includes(name));
      for (const { arguments: args } of object.kernels) {
        for (const { valueKind } of args) assert.ok(text.includes(valueKind));
      }
    }
    for (const { id } of report.bundles.flatMap(({ entries }) => entries)) assert.ok(text.includes(id));
  }
});

test('control characters in names do not reach the terminal', () => {
  const bytes = readTestFile('tiny.gfx90a.co');
  const name = new TextEncoder().encode('tiny.kd');
  for (let at = 0; at < bytes.length - name.length; at++) {
    if (name.every((byte, index) => bytes[at + index] === byte)) bytes[at] = 0x1b;
  }
  const text = formatReport(describe('tiny.gfx90a.co', bytes));
  assert.ok(text.includes('\\x1biny'));
  assert.ok(!text.includes('\u001b'));
});

test('mutated files are reported or refused, in JSON and text', () => {
  const mutated = fc.constantFrom(...CODE_OBJECT_FILES).chain((name) => mutationsOf(readTestFile(name)));
  fc.assert(
    fc.property(mutated, (bytes) => {
      errorCodeOf(() => {
        const report = describe('mutated', bytes);
        JSON.stringify(report);
        formatReport(report);
      });
    }),
    { numRuns: 1_000 },
  );
});
