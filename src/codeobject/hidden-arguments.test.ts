import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readTestFile } from '../../test/data/codeobjects/load.ts';
import { WavewrightError } from '../base/errors.ts';
import { parseCodeObject } from './code-object.ts';
import {
  explicitArgumentsEnd,
  type HiddenArgumentValues,
  isHiddenArgument,
  writeHiddenArguments,
} from './hidden-arguments.ts';
import type { KernelMetadata } from './metadata.ts';

const LAUNCH: HiddenArgumentValues = {
  gridSize: [100, 9, 5],
  workgroupSize: [8, 4, 2],
  dims: 3,
  globalOffset: [1n, 2n, -3n],
  dynamicLdsSizeBytes: 4096,
  privateBase: 0x2000_0000,
  sharedBase: 0x1000_0000,
  queuePtr: 0x1_0000_0001n,
  printfBuffer: 0x1_0000_0002n,
  hostcallBuffer: 0x1_0000_0003n,
  multigridSyncArg: 0x1_0000_0004n,
  heapV1: 0x1_0000_0005n,
  defaultQueue: 0x1_0000_0006n,
  completionAction: 0x1_0000_0007n,
};

const metadataOf = (file: string, kernel: string): KernelMetadata =>
  parseCodeObject(readTestFile(file), file).kernels.find(({ name }) => name === kernel)!.metadata!;

function write(kernel: KernelMetadata, launch = LAUNCH): DataView {
  const view = new DataView(new ArrayBuffer(kernel.kernargSegmentSizeBytes));
  writeHiddenArguments(view, kernel, launch);
  return view;
}

test('the block of version 5 has the layout of the specification', () => {
  const kernel = metadataOf('arguments.gfx803.v5.co', 'everything');
  const base = explicitArgumentsEnd(kernel);
  assert.equal(base, 56);
  assert.equal(kernel.kernargSegmentSizeBytes, base + 256);
  const view = write(kernel);
  const u16 = (offset: number) => view.getUint16(base + offset, true);
  const u32 = (offset: number) => view.getUint32(base + offset, true);
  const u64 = (offset: number) => view.getBigUint64(base + offset, true);
  assert.deepEqual([u32(0), u32(4), u32(8)], [12, 2, 2], 'whole workgroups only');
  assert.deepEqual([u16(12), u16(14), u16(16)], [8, 4, 2]);
  assert.deepEqual([u16(18), u16(20), u16(22)], [4, 1, 1], 'work-items of the partial workgroup');
  assert.deepEqual([u64(40), u64(48), u64(56)], [1n, 2n, 2n ** 64n - 3n]);
  assert.equal(u16(64), 3);
  assert.equal(u64(80), 0x1_0000_0003n, 'hostcall buffer');
  assert.deepEqual(
    [u64(88), u64(96), u64(104), u64(112)],
    [4n, 5n, 6n, 7n].map((low) => 0x1_0000_0000n + low),
  );
  assert.equal(u32(120), 4096);
  assert.deepEqual([u32(192), u32(196)], [0x2000_0000, 0x1000_0000]);
  assert.equal(u64(200), 0x1_0000_0001n);
});

test('the block of version 4 has the layout of the specification', () => {
  const kernel = metadataOf('arguments.gfx90a.v4.co', 'everything');
  const base = explicitArgumentsEnd(kernel);
  const view = write(kernel);
  const u64 = (offset: number) => view.getBigUint64(base + offset, true);
  assert.equal(kernel.kernargSegmentSizeBytes, base + 56);
  assert.deepEqual([u64(0), u64(8), u64(16)], [1n, 2n, 2n ** 64n - 3n]);
  assert.deepEqual(
    [u64(24), u64(32), u64(40), u64(48)],
    [3n, 6n, 7n, 4n].map((low) => 0x1_0000_0000n + low),
  );
});

test('only the listed arguments are written, and pointers that are missing become 0', () => {
  const kernel = metadataOf('arguments.gfx90a.v5.co', 'plain');
  const view = new DataView(new Uint8Array(kernel.kernargSegmentSizeBytes + 16).fill(0xaa).buffer);
  writeHiddenArguments(view, kernel, { gridSize: [64, 1, 1], workgroupSize: [64, 1, 1], dims: 1 });
  const written = new Uint8Array(view.byteLength);
  for (const argument of kernel.args) {
    if (isHiddenArgument(argument) && argument.valueKind !== 'hidden_none') {
      written.fill(1, argument.offsetBytes, argument.offsetBytes + argument.sizeBytes);
    }
  }
  for (let at = 0; at < written.length; at++) {
    if (written[at] === 0) assert.equal(view.getUint8(at), 0xaa, `byte ${at}`);
  }
  const hostcall = kernel.args.find(({ valueKind }) => valueKind === 'hidden_hostcall_buffer')!;
  assert.equal(view.getBigUint64(hostcall.offsetBytes, true), 0n);
});

test('hidden_none is left as it is', () => {
  const kernel = metadataOf('arguments.gfx90a.v5.co', 'plain');
  const args = [{ ...kernel.args[0]!, valueKind: 'hidden_none', sizeBytes: 256 }];
  assert.equal(
    new Uint8Array(write({ ...kernel, args }).buffer).findIndex((byte) => byte !== 0),
    -1,
  );
});

test('hidden arguments begin at a multiple of 8', () => {
  assert.equal(explicitArgumentsEnd(metadataOf('kernels.gfx90a.v5.co', 'stacky')), 16);
  assert.equal(explicitArgumentsEnd(metadataOf('tiny.gfx90a.co', 'tiny')), 8);
});

test('nothing is written past the kernarg segment, wherever the compiler cut it', () => {
  const whole = metadataOf('arguments.gfx803.v5.co', 'everything');
  const expected = new Uint8Array(write(whole).buffer);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: whole.kernargSegmentSizeBytes }), (kernargSegmentSizeBytes) => {
      const view = new DataView(new ArrayBuffer(expected.length));
      writeHiddenArguments(view, { ...whole, kernargSegmentSizeBytes }, LAUNCH);
      const written = new Uint8Array(view.buffer);
      for (const { offsetBytes, sizeBytes, valueKind } of whole.args) {
        if (!valueKind.startsWith('hidden_')) continue;
        const fits = offsetBytes + sizeBytes <= kernargSegmentSizeBytes;
        const found = written.subarray(offsetBytes, offsetBytes + sizeBytes);
        const wanted = expected.subarray(offsetBytes, offsetBytes + sizeBytes);
        assert.deepEqual(found, fits ? wanted : new Uint8Array(sizeBytes));
      }
    }),
  );
});

const REFUSED: [what: string, code: string, message: RegExp, act: (kernel: KernelMetadata) => void][] = [
  [
    'a short buffer',
    'USAGE',
    /the kernarg buffer has 311 bytes, everything needs 312/,
    (kernel) => writeHiddenArguments(new DataView(new ArrayBuffer(311)), kernel, LAUNCH),
  ],
  [
    'an empty workgroup',
    'USAGE',
    /workgroupSize is 0/,
    (kernel) => write(kernel, { ...LAUNCH, workgroupSize: [0, 1, 1] }),
  ],
  ['an empty grid', 'USAGE', /gridSize is 0/, (kernel) => write(kernel, { ...LAUNCH, gridSize: [1, 0, 1] })],
  [
    'too much LDS',
    'USAGE',
    /dynamicLdsSizeBytes is 4294967296/,
    (kernel) => write(kernel, { ...LAUNCH, dynamicLdsSizeBytes: 2 ** 32 }),
  ],
  [
    'an argument of another size',
    'BAD_INPUT',
    /hidden_grid_dims has 4 bytes, expected 2/,
    (kernel) => write({ ...kernel, args: [{ ...kernel.args[0]!, valueKind: 'hidden_grid_dims', sizeBytes: 4 }] }),
  ],
  [
    'an unknown argument',
    'UNSUPPORTED',
    /hidden argument 'hidden_constructor' is not known/,
    (kernel) => write({ ...kernel, args: [{ ...kernel.args[0]!, valueKind: 'hidden_constructor' }] }),
  ],
];

for (const [what, code, message, act] of REFUSED) {
  test(`${what} is ${code}`, () => {
    const kernel = metadataOf('arguments.gfx803.v5.co', 'everything');
    assert.throws(
      () => act(kernel),
      (error) => error instanceof WavewrightError && error.code === code && message.test(error.message),
    );
  });
}
