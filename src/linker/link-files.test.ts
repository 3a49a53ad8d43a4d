/** What is linked of files and archives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readTestFile } from '../../test/data/codeobjects/load.ts';
import { assembleFile } from '../assembler/assemble-file.ts';
import { WavewrightError } from '../base/errors.ts';
import { nodeDecompress } from '../codeobject/node-decompress.ts';
import { parseTargetId } from '../codeobject/target-id.ts';
import { imagesOf, openLinkFile, pickLinkImages } from './link-files.ts';

const object = (source: string, processor = 'gfx90a'): Uint8Array => assembleFile(source, { processor });
const defines = (name: string, needs = '', binding = 'globl'): string =>
  `.data\n.${binding} ${name}\n.type ${name},@object\n.p2align 3\n${name}: .quad ${needs || 0}\n.size ${name}, 8\n`;

const pad = (text: string, size: number): string => text.padEnd(size, ' ');
const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));
function header(name: string, sizeBytes: number): string {
  return `${pad(name, 16)}${pad('0', 12)}${pad('0', 6)}${pad('0', 6)}${pad('644', 8)}${pad(String(sizeBytes), 10)}\`\n`;
}

/** As GNU ar writes it; `index`: members of symbols. */
function archive(
  members: Readonly<Record<string, Uint8Array>>,
  index: Readonly<Record<string, string>> = {},
): Uint8Array {
  const names = Object.keys(members);
  const table = names.map((name) => `${name}/\n`).join('');
  const symbols = Object.keys(index);
  const indexSize = 4 + 4 * symbols.length + symbols.join('\0').length + 1;
  const padded = (bytes: Uint8Array): number[] => [...bytes, ...(bytes.length % 2 === 1 ? [10] : [])];
  const parts: number[][] = [];
  const offsets = new Map<string, number>();
  let offset = 8 + 60 + indexSize + (indexSize % 2) + 60 + table.length + (table.length % 2);
  for (const [name, bytes] of Object.entries(members)) {
    const at = table.indexOf(`${name}/\n`);
    const part = [...latin1(header(name.length > 15 ? `/${at}` : `${name}/`, bytes.length)), ...padded(bytes)];
    offsets.set(name, offset);
    offset += part.length;
    parts.push(part);
  }
  const indexBytes = new Uint8Array(indexSize);
  const view = new DataView(indexBytes.buffer);
  view.setUint32(0, symbols.length);
  symbols.forEach((symbol, i) => {
    view.setUint32(4 + 4 * i, offsets.get(index[symbol]!)!);
  });
  indexBytes.set(latin1(symbols.join('\0')), 4 + 4 * symbols.length);
  const head = [...latin1(`!<arch>\n${header('/', indexSize)}`), ...padded(indexBytes)];
  return Uint8Array.from([...head, ...latin1(header('//', table.length)), ...padded(latin1(table)), ...parts.flat()]);
}

const pick = (files: Readonly<Record<string, Uint8Array>>, wanted: string[] = []): string[] => {
  const opened = Object.entries(files).map(([name, bytes]) => openLinkFile(bytes, name));
  return pickLinkImages(opened, parseTargetId('gfx90a'), wanted).map(({ name }) => name);
};

const LIBRARY = archive({
  'f.o': object(defines('f', 'g')),
  'a-long-name-of-a-member.o': object(defines('g')),
  'h.o': object(defines('h')),
  'other.o': object(defines('other'), 'gfx1100'),
});
const user = object(defines('user', 'f'));

test('members that define what is missing are taken, and what these lack, wherever the archive stands', () => {
  const taken = ['lib.a(f.o)', 'lib.a(a-long-name-of-a-member.o)'];
  assert.deepEqual(pick({ 'user.o': user, 'lib.a': LIBRARY }), ['user.o', ...taken]);
  assert.deepEqual(pick({ 'lib.a': LIBRARY, 'user.o': user }), ['user.o', ...taken]);
  assert.deepEqual(pick({ 'user.o': user, 'lib.a': LIBRARY, 'last.o': object(defines('last')) }), [
    'user.o',
    ...taken,
    'last.o',
  ]);
});

test('what is there, weakly missing or for other targets is not taken; what the user wants is', () => {
  const own = object(defines('f', '', 'weak'));
  assert.deepEqual(pick({ 'own.o': own, 'user.o': user, 'lib.a': LIBRARY }), ['own.o', 'user.o']);
  const weak = object(`.weak f\n${defines('user', 'f')}`);
  assert.deepEqual(pick({ 'user.o': weak, 'lib.a': LIBRARY }), ['user.o']);
  assert.deepEqual(pick({ 'user.o': object(defines('user', 'other')), 'lib.a': LIBRARY }), ['user.o']);
  assert.deepEqual(pick({ 'lib.a': LIBRARY }, ['h']), ['lib.a(h.o)']);
  assert.equal(imagesOf(openLinkFile(LIBRARY, 'lib.a')).length, 4);
});

test('of archives that define the same, the first counts, its member only once', () => {
  const both = archive({ 'fg.o': object(defines('f') + defines('g')) });
  const needsBoth = object(defines('user', 'f') + defines('user2', 'g'));
  assert.deepEqual(pick({ 'user.o': needsBoth, 'both.a': both, 'lib.a': LIBRARY }), ['user.o', 'both.a(fg.o)']);
});

test('bitcode in an archive is an error where it is needed', () => {
  const bitcode = Uint8Array.of(0x42, 0x43, 0xc0, 0xde);
  const library = archive({ 'f.o': bitcode, 'h.o': object(defines('h')) }, { f: 'f.o' });
  assert.throws(() => pick({ 'user.o': user, 'lib.a': library }), /lib\.a\(f\.o\): LLVM bitcode/);
  assert.deepEqual(pick({ 'user.o': object(defines('user', 'h')), 'lib.a': library }), ['user.o', 'lib.a(h.o)']);
});

test('thin and damaged archives end in a WavewrightError', () => {
  assert.throws(() => openLinkFile(latin1('!<thin>\n'), 'thin.a'), /thin archive/);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(LIBRARY.length - 1), fc.nat(255)), { minLength: 1 }),
      fc.nat(),
      (damage, cut) => {
        const bytes = LIBRARY.slice(0, cut % 3 === 0 ? cut % LIBRARY.length : undefined);
        for (const [at, value] of damage) if (at < bytes.length) bytes[at] = value;
        try {
          pick({ 'user.o': user, 'lib.a': bytes });
        } catch (error) {
          if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('the bundles of a host program are modules, other files are not', () => {
  const files = [openLinkFile(readTestFile('host.elf'), 'host', { decompress: nodeDecompress })];
  const images = pickLinkImages(files, parseTargetId('gfx1100'));
  assert.deepEqual(
    images.map(({ bundle, isModule }) => [bundle, isModule]),
    [
      [0, true],
      [1, true],
    ],
  );
  const bundle = [openLinkFile(readTestFile('fat.bundle'), 'fat.bundle')];
  assert.deepEqual(
    pickLinkImages(bundle, parseTargetId('gfx1100')).map(({ isModule }) => isModule),
    [false],
  );
});
