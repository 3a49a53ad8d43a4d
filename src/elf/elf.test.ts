import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CODE_OBJECT_FILES, errorCodeOf, mutationsOf, readTestFile } from '../../test/data/codeobjects/load.ts';
import { WavewrightError } from '../base/errors.ts';
import { ET_DYN, PT_DYNAMIC, PT_LOAD, SHN_UNDEF, SHT_REL, STB_GLOBAL, STT_FUNC, STV_PROTECTED } from './constants.ts';
import { type ElfFile, parseElf } from './elf.ts';

const LINKED = 'kernels.gfx90a.v5.co';
const STRIPPED = 'kernels.gfx90a.v5.stripped.co';

/** Everything that is read only when asked for. */
function readAll(elf: ElfFile): unknown[] {
  const contents = elf.sections.map((section) => elf.sectionBytes(section));
  const segments = elf.segments.map((segment) => elf.segmentBytes(segment));
  return [
    elf.symbols,
    elf.dynamicSymbols,
    elf.relocationSections,
    elf.dynamicRelocations,
    elf.notes,
    contents,
    segments,
  ];
}

function patched(name: string, change: (view: DataView, elf: ElfFile) => void): () => unknown {
  const bytes = readTestFile(name);
  change(new DataView(bytes.buffer), parseElf(bytes, name));
  return () => readAll(parseElf(bytes, name));
}

test('header, segments and sections of a linked code object', () => {
  const elf = parseElf(readTestFile(LINKED), LINKED);
  assert.equal(elf.header.type, ET_DYN);
  assert.equal(elf.header.machine, 224);
  assert.equal(elf.header.flags, 0x53f);
  const loads = elf.segments.filter((segment) => segment.type === PT_LOAD);
  assert.deepEqual(
    loads.map((segment) => [segment.virtualAddress, segment.flags]),
    [
      [0n, 4],
      [0x2100n, 5],
      [0x3d40n, 6],
      [0x4e08n, 6],
    ],
  );
  assert.equal(elf.sectionNamed('.text')!.address, 0x2100n);
  assert.equal(elf.sectionNamed('.nothing'), undefined);
  assert.deepEqual([...elf.sectionBytes(elf.sectionNamed('.data')!)], [7, 0, 0, 0]);
  assert.equal(elf.sectionBytes(elf.sectionNamed('.relro_padding')!).length, 0, 'SHT_NOBITS has no bytes in the file');
});

test('symbols with all their fields', () => {
  const elf = parseElf(readTestFile(LINKED), LINKED);
  const store = elf.dynamicSymbols.find((symbol) => symbol.name === 'store')!;
  assert.deepEqual(store, {
    index: 1,
    name: 'store',
    value: 0x2200n,
    sizeBytes: 40,
    binding: STB_GLOBAL,
    type: STT_FUNC,
    visibility: STV_PROTECTED,
    other: 3,
    sectionIndex: 8,
  });
  assert.equal(elf.symbols[0]!.sectionIndex, SHN_UNDEF);
  assert.ok(elf.symbols.some((symbol) => symbol.name === 'internal.kd'));
});

test('dynamic relocations name their symbols', () => {
  const elf = parseElf(readTestFile(LINKED), LINKED);
  assert.deepEqual(
    elf.dynamicRelocations.map(({ offset, type, symbol, addend }) => [offset, type, symbol?.name, addend]),
    [
      [0x3d40n, 13, undefined, 0x210cn],
      [0x3d48n, 3, 'step', 0n],
      [0x3d50n, 3, 'step', 0n],
    ],
  );
});

test('relocation sections of a relocatable object point to what they patch', () => {
  const elf = parseElf(readTestFile('kernels.gfx90a.v5.o'));
  const text = elf.relocationSections.find((table) => table.name === '.rela.text')!;
  assert.equal(elf.sections[text.targetSectionIndex]!.name, '.text');
  assert.ok(text.relocations.some((relocation) => relocation.symbol?.name === 'counter'));
  assert.deepEqual(elf.dynamicRelocations, []);
});

test('a REL section has its addends in place', () => {
  const bytes = readTestFile('kernels.gfx90a.v5.o');
  const { header, sections } = parseElf(bytes);
  const { index } = sections.find(({ name }) => name === '.rela.rodata')!;
  // Four RELA entries of 24 bytes read as six REL entries of 16.
  new DataView(bytes.buffer).setUint32(header.sectionTableOffset + 64 * index + 4, SHT_REL, true);
  const table = parseElf(bytes).relocationSections.find(({ sectionIndex }) => sectionIndex === index)!;
  assert.deepEqual(
    table.relocations.map(({ addend }) => addend),
    new Array(6).fill(undefined),
  );
});

test('a file without section headers gives the same through PT_DYNAMIC and PT_NOTE', () => {
  const whole = parseElf(readTestFile(LINKED));
  const stripped = parseElf(readTestFile(STRIPPED));
  assert.equal(stripped.sections.length, 0);
  assert.deepEqual(stripped.symbols, []);
  assert.deepEqual(stripped.dynamicSymbols, whole.dynamicSymbols);
  assert.deepEqual(stripped.dynamicRelocations, whole.dynamicRelocations);
  assert.deepEqual(stripped.dynamic, whole.dynamic);
  assert.deepEqual(stripped.notes, whole.notes);
});

test('the GNU hash table alone tells the number of symbols', () => {
  const bytes = readTestFile(STRIPPED);
  const { segments, dynamicSymbols } = parseElf(bytes);
  const dynamic = segments.find((segment) => segment.type === PT_DYNAMIC)!;
  const view = new DataView(bytes.buffer);
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.fileSizeBytes; at += 16) {
    // DT_HASH becomes DT_DEBUG, which nobody reads.
    if (view.getBigUint64(at, true) === 4n) view.setBigUint64(at, 21n, true);
  }
  const without = parseElf(bytes);
  assert.ok(!without.dynamic.some((entry) => entry.tag === 4));
  assert.deepEqual(without.dynamicSymbols, dynamicSymbols);
});

test('where a section header describes the dynamic symbols, the hash table is not needed', () => {
  const bytes = readTestFile(LINKED);
  const { dynamicSymbols, sections } = parseElf(bytes);
  const hash = sections.find(({ name }) => name === '.hash')!;
  new DataView(bytes.buffer).setUint32(hash.offset + 4, 3, true);
  assert.deepEqual(parseElf(bytes).dynamicSymbols, dynamicSymbols);
});

test('the dynamic section ends at DT_NULL', () => {
  const { dynamic } = parseElf(readTestFile(LINKED));
  assert.equal(dynamic.length, 10);
  assert.ok(dynamic.every(({ tag }) => tag !== 0));
});

test('read gives file-backed bytes by address and refuses the rest', () => {
  const elf = parseElf(readTestFile(LINKED), LINKED);
  const counter = elf.dynamicSymbols.find((symbol) => symbol.name === 'counter')!;
  assert.deepEqual([...elf.read(counter.value, 4, 'counter')], [7, 0, 0, 0]);
  assert.throws(() => elf.read(counter.value, 5, 'counter'), /counter at address 0x4e08 is cut off/);
  assert.throws(() => elf.read(counter.value + 4n, 1, 'end'), /end is at address 0x4e0c, which no PT_LOAD/);
  assert.throws(() => elf.read(0x1100n, 1, 'hole'), /hole is at address 0x1100, which no PT_LOAD segment holds/);
  assert.throws(() => elf.read(2n ** 64n - 1n, 1, 'top'), /top is at address 0xffffffffffffffff, which no PT_LOAD/);
});

const DEFECTS: [what: string, change: (view: DataView, elf: ElfFile) => void, message: RegExp][] = [
  [
    'address range',
    (view) => view.setBigUint64(64 + 56 + 16, 2n ** 64n - 1n, true),
    /at 0x88: program header 1: p_vaddr \+ p_memsz is beyond 2\^64/,
  ],
  ['section count', (view) => view.setBigUint64(40, 0n, true), /at 0x3c: e_shnum is 17, but e_shoff is 0/],
  ['32-bit', (view) => view.setUint8(4, 1), /at 0x4: EI_CLASS \(2 = 64-bit\) is 1, expected 2/],
  ['big-endian', (view) => view.setUint8(5, 2), /at 0x5: EI_DATA \(1 = little-endian\) is 2, expected 1/],
  ['version', (view) => view.setUint32(20, 9, true), /at 0x14: e_version is 9, expected 1/],
  ['entry size of segments', (view) => view.setUint16(54, 32, true), /e_phentsize is 32, expected 56/],
  ['entry size of sections', (view) => view.setUint16(58, 40, true), /e_shentsize is 40, expected 64/],
  ['segment table', (view) => view.setBigUint64(32, 9_500n, true), /at 0x251c: the program header table is cut off/],
  ['section table', (view) => view.setBigUint64(40, 9_500n, true), /at 0x251c: the section header table is cut off/],
  [
    'huge offset',
    (view) => view.setBigUint64(40, 2n ** 60n, true),
    /at 0x28: e_shoff is 0x1000000000000000, more than/,
  ],
  ['name table', (view) => view.setUint16(62, 99, true), /e_shstrndx is 99, the file has 17 sections/],
  [
    'segment size',
    (view) => view.setBigUint64(64 + 56 + 32, 99_999n, true),
    /segment 1 is cut off: 99999 bytes expected/,
  ],
  ['memory size', (view) => view.setBigUint64(64 + 56 + 40, 1n, true), /p_memsz 1 is less than p_filesz 4236/],
  ['alignment', (view) => view.setBigUint64(64 + 56 + 48, 3n, true), /p_align is 0x3, expected a power of two/],
  [
    'symbol table link',
    (view, elf) => view.setUint32(elf.header.sectionTableOffset + 14 * 64 + 40, 2, true),
    /\.symtab at 0x0: sh_link is 2, expected the index of a string table/,
  ],
  [
    'symbol name',
    (view, elf) => view.setUint32(elf.sectionNamed('.symtab')!.offset + 24, 5_000, true),
    /\.strtab at 0x1388: name of symbol 1 is at 0x1388, beyond the end of the table/,
  ],
  [
    'relocated symbol',
    (view, elf) => view.setUint32(elf.sectionNamed('.rela.dyn')!.offset + 24 + 12, 77, true),
    /relocation 1 names symbol 77, the table has 12/,
  ],
  [
    'note size',
    (view, elf) => view.setUint32(elf.sectionNamed('.note')!.offset + 4, 1_000_000, true),
    /PT_NOTE segment 8 at 0x14: the descriptor of a note is cut off: 1000000 bytes expected/,
  ],
];

for (const [what, change, message] of DEFECTS) {
  test(`a wrong ${what} is refused with its place`, () => {
    assert.throws(patched(LINKED, change), (error) => {
      assert.ok(error instanceof WavewrightError);
      assert.equal(error.code, 'BAD_INPUT');
      assert.match(error.message, message);
      assert.ok(error.message.startsWith(LINKED));
      return true;
    });
  });
}

test('counts above 16 bits stand in section 0', () => {
  const bytes = readTestFile(LINKED);
  const { header } = parseElf(bytes);
  const first = header.sectionTableOffset;
  const extensions: ((view: DataView) => void)[] = [
    (view) => {
      view.setUint16(56, 0xffff, true);
      view.setUint32(first + 44, header.segmentCount, true);
    },
    (view) => {
      view.setUint16(60, 0, true);
      view.setBigUint64(first + 32, BigInt(header.sectionCount), true);
    },
    (view) => {
      view.setUint16(62, 0xffff, true);
      view.setUint32(first + 40, header.sectionNameIndex, true);
    },
  ];
  for (const extend of extensions) {
    const extended = bytes.slice();
    extend(new DataView(extended.buffer));
    assert.notDeepEqual(extended, bytes);
    assert.deepEqual(parseElf(extended).header, header);
  }
});

test('an empty file is called so', () => {
  assert.throws(() => parseElf(new Uint8Array(0), 'x'), /^WavewrightError: x: at 0x0: the file is empty/);
});

test('a file cut off anywhere is BAD_INPUT', () => {
  for (const name of [LINKED, 'kernels.gfx90a.v5.o']) {
    const bytes = readTestFile(name);
    for (let length = 0; length < bytes.length; length++) {
      assert.equal(
        errorCodeOf(() => readAll(parseElf(bytes.subarray(0, length), name))),
        'BAD_INPUT',
        `${length} bytes`,
      );
    }
  }
});

test('mutated files give WavewrightError or a result, nothing else', () => {
  const mutated = fc.constantFrom(...CODE_OBJECT_FILES, 'host.elf').chain((name) => mutationsOf(readTestFile(name)));
  fc.assert(
    fc.property(mutated, (bytes) => {
      errorCodeOf(() => readAll(parseElf(bytes)));
    }),
    { numRuns: 3_000 },
  );
});
