import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { errorCodeOf, mutationsOf } from '../../test/data/codeobjects/load.ts';
import { ByteReader } from '../base/bytes.ts';
import { concatenate } from '../base/concatenate.ts';
import { nodeDecompress } from '../codeobject/node-decompress.ts';
import { writeBundle } from '../codeobject/offload-bundle.ts';
import { elfWith, fatBinary, literalBlock, offloadBinary, ptxFor } from './containers.test-support.ts';
import { type NvptxFile, openNvptx } from './images.ts';
import { expandLz4Block } from './lz4-block.ts';
import { pickPtx, runsOn } from './pick.ts';

const NODE = { decompress: nodeDecompress };
const open = (bytes: Uint8Array, options = NODE) => openNvptx(bytes, 'file', options);
const shown = (file: NvptxFile | undefined) => file?.images.map(({ name, processor }) => `${name} ${processor}`);
const textOf = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes).replace(/\0+$/, '');

const CUBIN = elfWith({}, { abiVersion: 8, flags: 0x0600_5a04 });
const MULTI = fatBinary([
  { kind: 2, processor: 80, bytes: CUBIN },
  { kind: 1, processor: 75, bytes: ptxFor('sm_75') },
  { kind: 1, processor: 80, bytes: ptxFor('sm_80'), compression: 'lz4' },
  { kind: 1, processor: 90, bytes: ptxFor('sm_90'), compression: 'zstd' },
]);

test('LZ4: literals, matches that overlap what they write, long lengths', () => {
  const expand = (bytes: readonly number[], size: number) =>
    expandLz4Block(new ByteReader(Uint8Array.from(bytes)), size);
  assert.equal(textOf(expand([0x30, 97, 98, 99], 3)), 'abc');
  // `ab`, then 4 + 15 + 1 bytes at a distance of 2, then `z`.
  assert.equal(textOf(expand([0x2f, 97, 98, 2, 0, 1, 0x10, 122], 23)), `${'ab'.repeat(11)}z`);
  const long = Uint8Array.from({ length: 1000 }, (_, i) => i & 0xff);
  assert.deepEqual(expandLz4Block(new ByteReader(literalBlock(long)), 1000), long);
  for (const [bytes, size, message] of [
    [[0x30, 97], 3, /literals is cut off: 3 bytes expected, 1 byte left/],
    [[0x30, 97, 98, 99], 2, /literals go beyond the 2 bytes/],
    [[0x10, 97, 2, 0, 0], 9, /a match at a distance of 2, 1 bytes are there/],
    [[0x10, 97, 0, 0, 0], 9, /a match at a distance of 0/],
    [[0x10, 97], 2, /expands to 1 bytes, expected 2/],
    [[0x10, 97], 2 ** 28, /2 bytes of LZ4 cannot expand to 268435456/],
  ] as const) {
    assert.throws(() => expand(bytes, size), message);
  }
});

test('a fat binary lists its PTX and cubins; the highest PTX that the device runs is chosen', () => {
  const file = open(MULTI)!;
  assert.equal(file.kind, 'cuda-fat-binary');
  assert.deepEqual(shown(file), [
    'file[cubin for sm_80] sm_80',
    ...['sm_75', 'sm_80', 'sm_90'].map((each) => `file[ptx for ${each}] ${each}`),
  ]);
  for (const [device, chosen] of [
    ['sm_75', 'sm_75'],
    ['sm_86', 'sm_80'],
    ['sm_90', 'sm_90'],
  ] as const) {
    const [picked, ...others] = pickPtx(file.images, device);
    assert.deepEqual([picked!.processor, others.length], [chosen, 0]);
    assert.match(textOf(picked!.bytes), new RegExp(`\\.target ${chosen}\\n`));
  }
  assert.throws(() => pickPtx(file.images, 'sm_70'), /its PTX is for sm_75, sm_80, sm_90, the device is sm_70/);
});

test('PTX for one processor or its family alone runs there only', () => {
  assert.ok(runsOn('sm_90a', 'sm_90') && !runsOn('sm_89', 'sm_80') && runsOn('sm_30', 'sm_70'));
  assert.ok(!runsOn('sm_80a', 'sm_90') && runsOn('sm_100f', 'sm_103') && !runsOn('sm_100f', 'sm_120'));
  const file = open(
    fatBinary(
      [80, 86].map((processor) => ({
        kind: 1,
        processor,
        bytes: ptxFor(`sm_${processor}${processor === 86 ? 'a' : ''}`),
      })),
    ),
  )!;
  assert.deepEqual(
    pickPtx(file.images, 'sm_90').map(({ processor }) => processor),
    ['sm_80'],
  );
});

test('sections of host programs and objects, offload binaries of both versions, bundles, archives', () => {
  const ptx = ptxFor('sm_70');
  const two = concatenate([fatBinary([{ kind: 1, processor: 70, bytes: ptx }]), new Uint8Array(16), MULTI]);
  for (const section of ['.nv_fatbin', '__nv_relfatbin']) {
    const host = open(elfWith({ '.text': new Uint8Array(32), [section]: two }))!;
    assert.equal(host.kind, 'host-elf');
    assert.deepEqual(
      pickPtx(host.images, 'sm_80').map(({ name }) => name),
      [`file[${section}][ptx for sm_70]`, `file[${section}][fat binary 2, ptx for sm_80]`],
    );
  }
  const packed = concatenate([
    offloadBinary('amdgcn-amd-amdhsa', 'gfx90a', new Uint8Array(8)),
    offloadBinary('nvptx64-nvidia-cuda', 'sm_70', ptx, 2),
  ]);
  assert.deepEqual(shown(open(packed)), ['file[openmp-nvptx64-nvidia-cuda-sm_70] sm_70']);
  const offloading = elfWith({ '.llvm.offloading': packed });
  assert.deepEqual(shown(open(offloading)), ['file[.llvm.offloading][openmp-nvptx64-nvidia-cuda-sm_70] sm_70']);
  const bundle = writeBundle([{ id: 'openmp-nvptx64-nvidia-cuda--sm_75', bytes: MULTI }], 8);
  assert.equal(
    pickPtx(open(bundle)!.images, 'sm_75')[0]!.name,
    'file[openmp-nvptx64-nvidia-cuda--sm_75][ptx for sm_75]',
  );
  const header = `${'one.o/'.padEnd(48)}${String(offloading.length).padEnd(10)}\`\n`;
  const archive = concatenate([new TextEncoder().encode(`!<arch>\n${header}`), offloading]);
  assert.deepEqual(shown(open(archive)), ['file(one.o)[.llvm.offloading][openmp-nvptx64-nvidia-cuda-sm_70] sm_70']);
  assert.equal(open(new TextEncoder().encode('some text')), undefined);
  assert.equal(open(elfWith({ '.text': new Uint8Array(4) })), undefined);
});

test('machine code and bitcode alone are refused with what to build instead', () => {
  assert.deepEqual(shown(open(CUBIN)), ['file sm_90']);
  assert.deepEqual(shown(open(elfWith({}, { abiVersion: 7, flags: 0x0550_0550 }))), ['file sm_80']);
  const refusal = (bytes: Uint8Array) => {
    try {
      return pickPtx(open(bytes)!.images, 'sm_90').length;
    } catch (error) {
      const { message, context } = error as import('../base/errors.ts').WavewrightError; // reason: seen by its code
      return `${message}; ${context.hint}`;
    }
  };
  assert.match(
    String(refusal(CUBIN)),
    /^file: machine code for NVIDIA GPUs alone \(sm_90\), no PTX.*clang-19.*-S, or nvcc/,
  );
  assert.match(String(refusal(Uint8Array.from([0x42, 0x43, 0xc0, 0xde, 0, 0, 0, 0]))), /bitcode, no PTX; .*llc-19/);
});

test('what is compressed takes no more memory than there is', () => {
  const [image] = open(MULTI, { ...NODE, maxExpandedBytes: 10 } as typeof NODE)!.images.slice(3);
  assert.throws(() => image!.expand(), /it expands to \d+ bytes, there is memory for 10/);
  const plain = openNvptx(MULTI, 'file')!.images[3]!;
  assert.throws(() => plain.expand(), /the fat binary is compressed \(zstd\)/);
});

test('mutated containers end in clear errors', () => {
  const host = elfWith({ '.nv_fatbin': MULTI });
  const packed = offloadBinary('nvptx64-nvidia-cuda', 'sm_70', MULTI);
  for (const bytes of [MULTI, host, packed, offloadBinary('nvptx64-nvidia-cuda', 'sm_70', MULTI, 2)]) {
    fc.assert(
      fc.property(mutationsOf(bytes), (mutated) => {
        const code = errorCodeOf(() => {
          const file = open(mutated);
          return file && pickPtx(file.images, 'sm_90');
        });
        assert.match(code ?? 'BAD_INPUT', /^(?:BAD_INPUT|UNSUPPORTED|LIMIT_EXCEEDED)$/);
      }),
      { numRuns: 300 },
    );
  }
});
