import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { errorCodeOf, mutationsOf, readTestFile } from '../../test/data/codeobjects/load.ts';
import { WavewrightError } from '../base/errors.ts';
import { openCodeObjects, openContainer, pickCodeObject, pickCodeObjects } from './container.ts';
import { nodeDecompress } from './node-decompress.ts';
import { formatTargetId, parseTargetId } from './target-id.ts';

const NODE = { decompress: nodeDecompress };
const open = (bytes: Uint8Array) => openCodeObjects(bytes, 'file', NODE);
const tiny = { gfx90a: readTestFile('tiny.gfx90a.co'), gfx1100: readTestFile('tiny.gfx1100.co') };

/** A bundle as clang-offload-bundler lays it out, without alignment. */
function makeBundle(entries: readonly (readonly [id: string, bytes: Uint8Array])[]): Uint8Array {
  const headerSizeBytes = 32 + entries.reduce((sum, [id]) => sum + 24 + id.length, 0);
  const bytes = new Uint8Array(headerSizeBytes + entries.reduce((sum, [, content]) => sum + content.length, 0));
  const view = new DataView(bytes.buffer);
  const encoder = new TextEncoder();
  bytes.set(encoder.encode('__CLANG_OFFLOAD_BUNDLE__'));
  view.setBigUint64(24, BigInt(entries.length), true);
  let at = 32;
  let contentAt = headerSizeBytes;
  for (const [id, content] of entries) {
    view.setBigUint64(at, BigInt(contentAt), true);
    view.setBigUint64(at + 8, BigInt(content.length), true);
    view.setBigUint64(at + 16, BigInt(id.length), true);
    bytes.set(encoder.encode(id), at + 24);
    bytes.set(content, contentAt);
    at += 24 + id.length;
    contentAt += content.length;
  }
  return bytes;
}

function compress(bundle: Uint8Array, version: 1 | 2 | 3, method: 'zlib' | 'zstd'): Uint8Array {
  const data = method === 'zlib' ? deflateSync(bundle) : zstdCompressSync(bundle);
  const headerSizeBytes = { 1: 20, 2: 24, 3: 32 }[version];
  const bytes = new Uint8Array(headerSizeBytes + data.length);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode('CCOB'));
  view.setUint16(4, version, true);
  view.setUint16(6, method === 'zlib' ? 0 : 1, true);
  if (version === 1) view.setUint32(8, bundle.length, true);
  else if (version === 2) {
    view.setUint32(8, bytes.length, true);
    view.setUint32(12, bundle.length, true);
  } else {
    view.setBigUint64(8, BigInt(bytes.length), true);
    view.setBigUint64(16, BigInt(bundle.length), true);
  }
  bytes.set(data, headerSizeBytes);
  return bytes;
}

test('a code object is its own only image', () => {
  const [image, ...others] = open(tiny.gfx1100);
  assert.equal(others.length, 0);
  assert.deepEqual([image!.id, image!.offset, image!.target.processor], [undefined, 0, 'gfx1100']);
  assert.equal(image!.bytes, tiny.gfx1100);
});

test('the bundles of clang-offload-bundler give the linked objects bit for bit', () => {
  for (const file of ['fat.bundle', 'fat.ccob']) {
    const images = open(readTestFile(file));
    assert.deepEqual(
      images.map(({ id, offset, target }) => [id, offset, formatTargetId(target)]),
      [
        ['hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-', 4096, 'gfx90a:xnack-'],
        ['hipv4-amdgcn-amd-amdhsa--gfx1100', 8192, 'gfx1100'],
      ],
      file,
    );
    assert.deepEqual(images[0]!.bytes, tiny.gfx90a);
    assert.deepEqual(images[1]!.bytes, tiny.gfx1100);
  }
});

test('a host program has one fat binary per source file', () => {
  const bytes = readTestFile('host.elf');
  const container = openContainer(bytes, 'host.elf', NODE);
  assert.equal(container.kind, 'host-elf');
  assert.deepEqual(
    container.bundles.map(({ offset, compression, entries }) => [offset, compression?.method, entries.length]),
    [
      [0x1000, undefined, 3],
      [0x4000, 'zstd', 3],
    ],
  );
  const images = open(bytes);
  assert.equal(images.length, 4);
  assert.equal(images[0]!.offset, 0x2000);
  assert.deepEqual(bytes.subarray(0x2000, 0x2000 + tiny.gfx90a.length), tiny.gfx90a);
  const picked = pickCodeObjects(images, parseTargetId('gfx1100'));
  assert.deepEqual(
    picked.map(({ name }) => name),
    ['file[hipv4-amdgcn-amd-amdhsa--gfx1100]', 'file[bundle 2, hipv4-amdgcn-amd-amdhsa--gfx1100]'],
  );
});

test('ids are split into kind, triple and target', () => {
  const [bundle] = openContainer(readTestFile('fat.bundle'), 'f').bundles;
  assert.deepEqual(
    bundle!.entries.map(({ offloadKind, triple, target }) => [offloadKind, triple, target?.processor]),
    [
      ['host', 'x86_64-unknown-linux-gnu-', undefined],
      ['hipv4', 'amdgcn-amd-amdhsa-', 'gfx90a'],
      ['hipv4', 'amdgcn-amd-amdhsa-', 'gfx1100'],
    ],
  );
});

test('code for other or unknown targets is listed, but is no code object', () => {
  const bundle = makeBundle([
    ['hip-spirv64-amd-amdhsa--amdgcnspirv', Uint8Array.of(3, 2, 0x23, 7)],
    ['hipv4-amdgcn-amd-amdhsa--gfx7777', Uint8Array.of(0)],
    ['hipv4-amdgcn-amd-amdhsa--gfx1100', tiny.gfx1100],
  ]);
  assert.equal(openContainer(bundle, 'f').bundles[0]!.entries.length, 3);
  assert.deepEqual(
    open(bundle).map(({ target }) => target.processor),
    ['gfx1100'],
  );
});

for (const version of [1, 2, 3] as const) {
  for (const method of ['zlib', 'zstd'] as const) {
    test(`compressed bundle of version ${version} with ${method}`, () => {
      const bundle = makeBundle([['hipv4-amdgcn-amd-amdhsa--gfx1100', tiny.gfx1100]]);
      const compressed = compress(bundle, version, method);
      const [found] = openContainer(compressed, 'f', NODE).bundles;
      assert.deepEqual([found!.compression!.version, found!.compression!.method], [version, method]);
      assert.deepEqual(open(compressed)[0]!.bytes, tiny.gfx1100);
      // The header of version 1 does not say where the data end, and zlib stops at its own end mark.
      if (version !== 1) {
        const cut = compressed.subarray(0, compressed.length - 1);
        assert.throws(() => open(cut), /the compressed bundle is cut off/);
      }
    });
  }
}

const errorOf = (act: () => unknown): WavewrightError => {
  try {
    act();
  } catch (error) {
    if (error instanceof WavewrightError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const patch = (bytes: Uint8Array, offset: number, ...values: number[]): Uint8Array => {
  const copy = bytes.slice();
  copy.set(values, offset);
  return copy;
};

/**
 * Of the size of the second entry: behind the magic, the count, the first entry with its id, and the second's
 * offset.
 */
const SECOND_SIZE = 24 + 8 + 24 + 'host-x86_64-unknown-linux-gnu-'.length + 8;

const REFUSED: [what: string, bytes: Uint8Array, code: string, message: RegExp][] = [
  ['an empty file', new Uint8Array(0), 'BAD_INPUT', /the file is empty/],
  ['a text', new TextEncoder().encode('#!/bin/sh'), 'BAD_INPUT', /neither an ELF file nor an offload bundle/],
  [
    'a host object without GPU code',
    patch(readTestFile('tiny.gfx90a.co'), 18, 62),
    'BAD_INPUT',
    /e_machine is x86-64 \(62\)/,
  ],
  ['code for NVIDIA GPUs', patch(readTestFile('tiny.gfx90a.co'), 18, 190), 'UNSUPPORTED', /for NVIDIA GPUs/],
  [
    'a bundle without AMD GPU code',
    makeBundle([['host-x86_64--', new Uint8Array(0)]]),
    'BAD_INPUT',
    /no code object for an AMD GPU/,
  ],
  [
    'an entry beyond the end',
    patch(readTestFile('fat.bundle'), SECOND_SIZE, 0xff, 0xff),
    'BAD_INPUT',
    /bundle entry hipv4-.* is cut off: 65535 bytes expected/,
  ],
  [
    'too many entries',
    patch(readTestFile('fat.bundle'), 0x1a, 1),
    'LIMIT_EXCEEDED',
    /65539 is above the limit bundleEntries/,
  ],
  [
    'bitcode in an entry',
    makeBundle([['hip-amdgcn-amd-amdhsa--gfx90a', Uint8Array.of(0x42, 0x43)]]),
    'BAD_INPUT',
    /gfx90a\]: at 0x0: no ELF magic/,
  ],
  [
    'version 9 of the compressed form',
    patch(readTestFile('fat.ccob'), 4, 9),
    'UNSUPPORTED',
    /version 9, expected 1, 2 or 3/,
  ],
  [
    'a total size that ends in the header',
    patch(readTestFile('fat.ccob'), 8, 4, 0),
    'BAD_INPUT',
    /the total size 4 is less than the header's 24/,
  ],
  ['an unknown method', patch(readTestFile('fat.ccob'), 6, 2), 'BAD_INPUT', /compression method 2/],
  [
    'a wrong uncompressed size',
    patch(readTestFile('fat.ccob'), 12, 0),
    'BAD_INPUT',
    /the zstd data cannot be expanded/,
  ],
  [
    'a size above that of the data',
    patch(readTestFile('fat.ccob'), 12, 0xff),
    'BAD_INPUT',
    /expands to \d+ bytes, its header says \d+/,
  ],
  ['a bomb', patch(readTestFile('fat.ccob'), 15, 0xff), 'LIMIT_EXCEEDED', /above the limit decompressedBytes/],
  [
    'broken data',
    patch(readTestFile('fat.ccob'), 30, 1, 2, 3, 4, 5, 6),
    'BAD_INPUT',
    /the zstd data cannot be expanded/,
  ],
];

for (const [what, bytes, code, message] of REFUSED) {
  test(`${what} is ${code}`, () => {
    const error = errorOf(() => open(bytes));
    assert.equal(error.code, code);
    assert.match(error.message, message);
  });
}

test('without a decompressor a compressed bundle is UNSUPPORTED with a hint', () => {
  const error = errorOf(() => openCodeObjects(readTestFile('fat.ccob'), 'fat.ccob'));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.context.hint!, /decompressor/);
});

test('the bundles of one file share the limit on decompressed bytes', () => {
  const sizeBytes = 600 * 2 ** 20;
  const bytes = readTestFile('host.elf');
  const compressed = readTestFile('fat.ccob');
  new DataView(compressed.buffer).setUint32(12, sizeBytes, true);
  bytes.fill(0, 0x1000, 0x4000);
  bytes.set(compressed, 0x1000);
  bytes.set(compressed, 0x4000);
  const bundle = readTestFile('fat.bundle');
  const decompress = () => {
    // Pages that nobody touches cost nothing.
    const expanded = new Uint8Array(sizeBytes);
    expanded.set(bundle);
    return expanded;
  };
  const error = errorOf(() => openCodeObjects(bytes, 'host.elf', { decompress }));
  assert.equal(error.code, 'LIMIT_EXCEEDED');
  assert.match(error.message, /\.hip_fatbin at 0x3000: 1258291200 is above the limit decompressedBytes/);
});

test('the best image for an agent: exact before generic, chosen features before any, first among equals', () => {
  const image = (name: string, target: string, genericVersion = 0) => ({
    name,
    id: name,
    target: { ...parseTargetId(target), genericVersion },
    bytes: new Uint8Array(0),
    offset: 0,
    bundle: 0,
  });
  const images = [
    image('a', 'gfx9-4-generic', 1),
    image('b', 'gfx942'),
    image('c', 'gfx942:xnack-'),
    image('d', 'gfx942'),
    image('e', 'gfx90a'),
  ];
  const pick = (agent: string, from = images) => pickCodeObject(from, parseTargetId(agent)).name;
  assert.equal(pick('gfx942:xnack-'), 'c');
  assert.equal(pick('gfx942:xnack+'), 'b');
  assert.equal(pick('gfx950'), 'a');
  assert.equal(pick('gfx90a:sramecc+'), 'e');
  const error = errorOf(() => pick('gfx1100'));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /no code object for gfx1100 \(a: it was built for gfx9-4-generic, not for gfx1100; b: /);
});

test('cut and mutated containers give WavewrightError or a result, nothing else', () => {
  for (const file of ['fat.bundle', 'fat.ccob']) {
    const bytes = readTestFile(file);
    for (let length = 0; length < bytes.length; length += 7) {
      assert.notEqual(
        errorCodeOf(() => open(bytes.subarray(0, length))),
        undefined,
        `${file} ${length}`,
      );
    }
  }
  const mutated = fc
    .constantFrom('fat.bundle', 'fat.ccob', 'host.elf')
    .chain((name) => mutationsOf(readTestFile(name)));
  fc.assert(
    fc.property(mutated, (bytes) => {
      errorCodeOf(() => open(bytes));
    }),
    { numRuns: 2_000 },
  );
});

test('bitcode is named as such, in a file and in a bundle', () => {
  const bitcode = Uint8Array.of(0x42, 0x43, 0xc0, 0xde, 0x35, 0x14, 0, 0);
  const bundle = makeBundle([['hip-amdgcn-amd-amdhsa--gfx90a', bitcode]]);
  for (const bytes of [bitcode, bundle]) {
    const error = errorOf(() => open(bytes));
    assert.match(error.message, /^file.*: LLVM bitcode/);
    assert.match(error.context.hint ?? '', /-fno-lto/);
  }
});
