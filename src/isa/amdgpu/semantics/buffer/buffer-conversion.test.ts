/**
 * Formatted buffer accesses: expected values are those that the names of the formats mean (CDNA2 ISA 9.1.4,
 * RDNA3 ISA 9.3 and table 56).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, type FieldValues } from '../../encoding/encode.test-support.ts';
import { targetFor } from '../../encoding/targets.ts';
import { TestWave } from '../machine.test-support.ts';
import { DATA_FORMATS, NUMBER_FORMATS, unifiedFormats } from './buffer-formats.ts';

const ZERO = 128;
const SRSRC = 1;
const BASE = 0x1000;
const view = new DataView(new ArrayBuffer(8));

function bitsOfFloat(x: number): number {
  view.setFloat32(0, x);
  return view.getUint32(0);
}
function bitsOfHalf(x: number): number {
  view.setFloat16(0, x);
  return view.getUint16(0);
}
const floats = (...xs: number[]): number[] => xs.map(bitsOfFloat);

/** Number of a format in instructions of gfx9: data format and number format. */
const gfx9Format = (bits: string, kind: string): number =>
  DATA_FORMATS.indexOf(`BUF_DATA_FORMAT_${bits}`) | (NUMBER_FORMATS.indexOf(`BUF_NUM_FORMAT_${kind}`) << 4);
const gfx11Format = (bits: string, kind: string): number =>
  unifiedFormats(targetFor('gfx1100'))!.indexOf(`BUF_FMT_${bits}_${kind}`);

/** Channels x, y, z, w of the resource: components in their order. */
const IDENTITY = 4 | (5 << 3) | (6 << 6) | (7 << 9);

/** From gfx10 on: the number of records is one of bytes. */
const RAW = 3 << 28;

function waveWith(word3 = 0): TestWave {
  const wave = new TestWave();
  wave.sgprs.set([BASE, 0, 0x1000, word3], SRSRC * 4);
  wave.exec = 1n;
  return wave;
}

function setBytes(wave: TestWave, address: number, bytes: readonly number[]): void {
  for (const [i, byte] of bytes.entries()) wave.memory.setUint8(address + i, byte);
}

function run(wave: TestWave, name: string, fields: FieldValues, processor = 'gfx90a'): void {
  wave.run(encode(name, { srsrc: SRSRC, soffset: ZERO, ...fields }, undefined, processor), processor);
}

/** Components of an element, lowest bytes first, and what a load of all four channels gives. */
const CASES: readonly (readonly [bits: string, kind: string, bytes: readonly number[], expected: readonly number[]])[] =
  [
    ['8', 'UNORM', [255], floats(1, 0, 0, 0)],
    ['8', 'SNORM', [0x80], floats(-1, 0, 0, 0)],
    ['8_8', 'UINT', [200, 7], [200, 7, 0, 0]],
    ['8_8_8_8', 'UNORM', [0, 51, 128, 255], floats(0, 51 / 255, 128 / 255, 1)],
    ['8_8_8_8', 'SNORM', [0x80, 0x81, 0x7f, 64], floats(-1, -1, 1, 64 / 127)],
    ['8_8_8_8', 'SINT', [0xff, 1, 0x80, 0x7f], [-1, 1, -128, 127]],
    ['8_8_8_8', 'USCALED', [0xff, 1, 0x80, 0], floats(255, 1, 128, 0)],
    ['8_8_8_8', 'SSCALED', [0xff, 1, 0x80, 0], floats(-1, 1, -128, 0)],
    ['16_16', 'UNORM', [0xff, 0xff, 0x01, 0x80], floats(1, 0x8001 / 65535, 0, 0)],
    ['16_16', 'FLOAT', [0x00, 0x3c, 0x00, 0xc0], floats(1, -2, 0, 0)],
    ['16_16_16_16', 'SINT', [0xff, 0xff, 2, 0, 0, 0x80, 4, 0], [-1, 2, -32768, 4]],
    ['32', 'UINT', [1, 2, 3, 4], [0x04030201, 0, 0, 0]],
    ['32_32', 'FLOAT', [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0], floats(1, -2, 0, 0)],
    // 2 bits on top, then 10, 10 and 10: w, z, y, x.
    ['2_10_10_10', 'UINT', [0x01, 0x08, 0x30, 0xc0], [1, 2, 3, 3]],
    ['2_10_10_10', 'UNORM', [0xff, 0x03, 0x00, 0x40], floats(1, 0, 0, 1 / 3)],
    // 10 bits on top, then 11 and 11; 1, 2 and 0.5 have the exponents 15, 16 and 14.
    ['10_11_11', 'FLOAT', [0xc0, 0x03, 0x20, 0x70], floats(1, 2, 0.5, 0)],
  ];

const asUnsigned = (values: readonly number[]): number[] => values.map((x) => x >>> 0);

for (const [bits, kind, bytes, expected] of CASES) {
  test(`${bits} ${kind}: loads give the components, stores the same bytes again`, () => {
    for (const [processor, format] of [
      ['gfx90a', gfx9Format(bits, kind)],
      ['gfx942', gfx9Format(bits, kind)],
      ['gfx1100', gfx11Format(bits, kind)],
    ] as const) {
      const wave = waveWith(processor === 'gfx1100' ? RAW : 0);
      setBytes(wave, BASE + 64, bytes);
      run(wave, 'tbuffer_load_format_xyzw', { vdata: 4, offset: 64, format }, processor);
      const loaded = [0, 1, 2, 3].map((i) => wave.vgprs[4 + i]![0]!);
      assert.deepEqual(asUnsigned(loaded), asUnsigned(expected), processor);

      for (let i = 0; i < 20; i++) wave.memory.setUint8(BASE + 128 + i, 0xee);
      run(wave, 'tbuffer_store_format_xyzw', { vdata: 4, offset: 128, format }, processor);
      const stored = Array.from({ length: 20 }, (_, i) => wave.memory.getUint8(BASE + 128 + i));
      // -1 has two signed encodings; the one that is stored is the symmetric one.
      const same = kind === 'SNORM' ? bytes.map((byte) => (byte === 0x80 ? 0x81 : byte)) : bytes;
      assert.deepEqual(stored, [...same, ...new Array<number>(20 - bytes.length).fill(0xee)], processor);
    }
  });

  test(`${bits} ${kind}: the format of the resource`, () => {
    const gfx9 = gfx9Format(bits, kind);
    for (const [processor, word3] of [
      ['gfx90a', IDENTITY | ((gfx9 >> 4) << 12) | ((gfx9 & 15) << 15)],
      ['gfx1100', IDENTITY | (gfx11Format(bits, kind) << 12) | RAW],
    ] as const) {
      const wave = waveWith(word3);
      setBytes(wave, BASE + 64, bytes);
      run(wave, 'buffer_load_format_xyzw', { vdata: 4, offset: 64 }, processor);
      assert.deepEqual(asUnsigned([0, 1, 2, 3].map((i) => wave.vgprs[4 + i]![0]!)), asUnsigned(expected), processor);
    }
  });
}

test('the resource chooses the channels: constants and other components', () => {
  const format = gfx9Format('8_8_8_8', 'UNORM');
  const swapped = 6 | (1 << 3) | (0 << 6) | (4 << 9);
  const wave = waveWith(swapped | ((format >> 4) << 12) | ((format & 15) << 15));
  setBytes(wave, BASE, [0, 51, 255, 102]);
  run(wave, 'buffer_load_format_xyzw', { vdata: 4 });
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => wave.vgprs[4 + i]![0]! >>> 0),
    floats(1, 1, 0, 0),
  );
});

test('an unbound resource gives 0 and takes nothing', () => {
  const wave = waveWith(IDENTITY);
  wave.memory.setUint32(BASE, 0x12345678, true);
  wave.vgprs[4]![0] = 99;
  run(wave, 'buffer_store_format_x', { vdata: 4 });
  run(wave, 'buffer_load_format_x', { vdata: 4 });
  assert.deepEqual([wave.vgprs[4]![0], wave.memory.getUint32(BASE, true)], [0, 0x12345678]);
});

test('d16: two halves in a register, floats as f16', () => {
  const format = gfx9Format('8_8_8_8', 'UNORM');
  const wave = waveWith();
  setBytes(wave, BASE, [0, 51, 255, 0]);
  wave.vgprs[5]![0] = -1;
  run(wave, 'tbuffer_load_format_d16_xyz', { vdata: 4, format });
  const third = bitsOfHalf(51 / 255);
  assert.deepEqual([wave.vgprs[4]![0]! >>> 0, wave.vgprs[5]![0]! >>> 0], [(third << 16) >>> 0, bitsOfHalf(1)]);
  run(wave, 'tbuffer_store_format_d16_xyz', { vdata: 4, offset: 8, format });
  assert.equal(wave.memory.getUint32(BASE + 8, true), 0x00ff3300);
});

test('numbers that do not fit are saturated', () => {
  const wave = waveWith();
  wave.vgprs[4]![0] = bitsOfFloat(7);
  wave.vgprs[5]![0] = bitsOfFloat(-7);
  run(wave, 'tbuffer_store_format_xy', { vdata: 4, format: gfx9Format('8_8', 'UNORM') });
  run(wave, 'tbuffer_store_format_xy', { vdata: 4, offset: 4, format: gfx9Format('8_8', 'SNORM') });
  wave.vgprs[4]![0] = 1000;
  wave.vgprs[5]![0] = -1000;
  run(wave, 'tbuffer_store_format_xy', { vdata: 4, offset: 8, format: gfx9Format('8_8', 'SINT') });
  assert.deepEqual(
    [0, 4, 8].map((at) => wave.memory.getUint16(BASE + at, true)),
    [0x00ff, 0x817f, 0x807f],
  );
});
