import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PROPERTIES_ROWS, RSRC1_ROWS, RSRC2_ROWS, RSRC3_ROWS } from './descriptor-fields.ts';
import {
  decodeKernelDescriptor,
  encodeKernelDescriptor,
  scalarRegisterCount,
  vectorRegisterCount,
  wavefrontSize,
} from './kernel-descriptor.ts';
import type { ProcessorFamily } from './processors.ts';

const FAMILIES: ProcessorFamily[] = ['gfx6', 'gfx7', 'gfx8', 'gfx9', 'gfx90a', 'gfx10', 'gfx11', 'gfx12', 'gfx125'];

const zeros = () => new Uint8Array(64);
const withWord = (offset: number, word: number) => {
  const bytes = zeros();
  new DataView(bytes.buffer).setUint32(offset, word, true);
  return bytes;
};

test('any 64 bytes survive decoding and encoding', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), fc.constantFrom(...FAMILIES), (bytes, family) => {
      assert.deepEqual(encodeKernelDescriptor(decodeKernelDescriptor(bytes, family)), bytes);
    }),
  );
});

test('no two fields of a family share a bit, and a field that a family has is decoded from its bits alone', () => {
  const words = [
    [RSRC1_ROWS, 48, 'rsrc1'],
    [RSRC2_ROWS, 52, 'rsrc2'],
    [RSRC3_ROWS, 44, 'rsrc3'],
    [PROPERTIES_ROWS, 56, 'properties'],
  ] as const;
  for (const family of FAMILIES) {
    for (const [rows, offset, word] of words) {
      const empty: object = decodeKernelDescriptor(zeros(), family)[word];
      const bits = word === 'properties' ? 16 : 32;
      for (let bit = 0; bit < bits; bit++) {
        const one: Readonly<Record<string, unknown>> = {
          ...decodeKernelDescriptor(withWord(offset, 2 ** bit), family)[word],
        };
        const changed = Object.entries(empty).filter(([name, value]) => one[name] !== value);
        assert.equal(changed.length, 1, `${family} ${word} bit ${bit}`);
      }
      assert.ok(rows.length > 0);
    }
  }
});

test('fields without a range are there for every family, the others only where the specification has them', () => {
  const names = (family: ProcessorFamily, word: 'rsrc1' | 'rsrc3') =>
    Object.keys(decodeKernelDescriptor(zeros(), family)[word]);
  for (const family of FAMILIES) assert.ok(names(family, 'rsrc1').includes('floatDenormMode16And64'));
  assert.deepEqual(names('gfx9', 'rsrc3'), ['reserved']);
  assert.deepEqual(names('gfx90a', 'rsrc3'), ['accumOffset', 'threadGroupSplit', 'reserved']);
  assert.deepEqual(names('gfx10', 'rsrc3'), ['sharedVgprCount', 'reserved']);
  assert.ok(names('gfx11', 'rsrc1').includes('enableIeeeMode') && !names('gfx12', 'rsrc1').includes('enableIeeeMode'));
  assert.ok(!names('gfx8', 'rsrc1').includes('fp16Overflow') && names('gfx9', 'rsrc1').includes('fp16Overflow'));
});

test('every field stands where the specification puts it', () => {
  const bytes = zeros();
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 1024, true);
  view.setUint32(4, 16, true);
  view.setUint32(8, 280, true);
  view.setBigInt64(16, -256n, true);
  view.setUint32(44, 0x1_0003, true);
  view.setUint32(48, 0x00af_0081, true);
  view.setUint32(52, 0x0000_138d, true);
  view.setUint16(56, 0x080b, true);
  view.setUint16(58, (5 << 7) | 3, true);
  const descriptor = decodeKernelDescriptor(bytes, 'gfx90a');
  assert.equal(descriptor.groupSegmentFixedSizeBytes, 1024);
  assert.equal(descriptor.privateSegmentFixedSizeBytes, 16);
  assert.equal(descriptor.kernargSizeBytes, 280);
  assert.equal(descriptor.kernelCodeEntryByteOffset, -256n);
  assert.deepEqual(descriptor.rsrc3, { accumOffset: 3, threadGroupSplit: true, reserved: 0 });
  const { rsrc1, rsrc2, properties } = descriptor;
  assert.deepEqual([rsrc1.granulatedWorkitemVgprCount, rsrc1.granulatedWavefrontSgprCount], [1, 2]);
  assert.deepEqual([rsrc1.floatDenormMode32, rsrc1.floatDenormMode16And64], [3, 3]);
  assert.deepEqual([rsrc1.enableDx10Clamp, rsrc1.enableIeeeMode, rsrc1.priv], [true, true, false]);
  assert.deepEqual([rsrc2.enablePrivateSegment, rsrc2.userSgprCount, rsrc2.enableVgprWorkitemId], [true, 6, 2]);
  const ids = [rsrc2.enableSgprWorkgroupIdX, rsrc2.enableSgprWorkgroupIdY, rsrc2.enableSgprWorkgroupIdZ];
  assert.deepEqual(ids, [true, true, true]);
  assert.equal(properties.enableSgprPrivateSegmentBuffer, true);
  assert.equal(properties.enableSgprDispatchPtr, true);
  assert.equal(properties.enableSgprKernargSegmentPtr, true);
  assert.equal(properties.usesDynamicStack, true);
  assert.deepEqual(descriptor.kernargPreload, { lengthDwords: 3, offsetDwords: 5 });
});

test('register counts follow the granules of family and wave size', () => {
  const decode = (family: ProcessorFamily, rsrc1: number, wave32 = false) => {
    const bytes = withWord(48, rsrc1);
    if (wave32) bytes[57] = 4;
    return decodeKernelDescriptor(bytes, family);
  };
  assert.equal(wavefrontSize(decode('gfx10', 0, true)), 32);
  assert.equal(wavefrontSize(decode('gfx10', 0)), 64);
  assert.equal(vectorRegisterCount(decode('gfx9', 2)), 12);
  assert.equal(vectorRegisterCount(decode('gfx90a', 2)), 24);
  assert.equal(vectorRegisterCount(decode('gfx11', 2)), 12);
  assert.equal(vectorRegisterCount(decode('gfx11', 2, true)), 24);
  assert.equal(vectorRegisterCount(decode('gfx125', 2, true)), 48);
  assert.equal(scalarRegisterCount(decode('gfx9', 0x0c0)), 32);
  assert.equal(scalarRegisterCount(decode('gfx10', 0)), 128);
});

test('what does not fit is refused', () => {
  const descriptor = decodeKernelDescriptor(zeros(), 'gfx90a');
  descriptor.rsrc2.userSgprCount = 32;
  assert.throws(() => encodeKernelDescriptor(descriptor), /userSgprCount is 32, which does not fit 5 bits/);
  assert.throws(() => decodeKernelDescriptor(new Uint8Array(63), 'gfx9'), /64 bytes, found 63/);
  assert.throws(() => decodeKernelDescriptor(zeros(), 'gfx13'), /kernel descriptors for gfx13 is not known/);
});
