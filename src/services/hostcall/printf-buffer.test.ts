import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import { initializePrintfBuffer, PrintfFormats } from './printf-buffer.ts';

const OFFSET_SIZE_BYTES = 8;

/** What a kernel prints that left `records` behind. */
function printed(lines: readonly string[], records: Uint8Array, used = records.length): string {
  const buffer = new Uint8Array(new SharedArrayBuffer(OFFSET_SIZE_BYTES + 256));
  initializePrintfBuffer(buffer);
  assert.equal(new DataView(buffer.buffer).getUint32(4, true), 256, 'room');
  buffer.set(records, OFFSET_SIZE_BYTES);
  new DataView(buffer.buffer).setUint32(0, used, true);
  let text = '';
  new PrintfFormats(lines).print(buffer, (stream, bytes) => {
    text += `${stream === 'stderr' ? 'stderr: ' : ''}${new TextDecoder().decode(bytes)}`;
  });
  return text;
}

/** Values one after the other, each in dwords. */
function record(
  ...values: readonly ({ f32: number } | { f64: number } | { u64: bigint } | { bytes: number[] } | number)[]
): Uint8Array {
  const parts = values.map((value) => {
    if (typeof value === 'number') return new Uint8Array(Uint32Array.of(value).buffer);
    if ('f32' in value) return new Uint8Array(Float32Array.of(value.f32).buffer);
    if ('f64' in value) return new Uint8Array(Float64Array.of(value.f64).buffer);
    if ('u64' in value) return new Uint8Array(BigUint64Array.of(value.u64).buffer);
    return Uint8Array.from([...value.bytes, ...new Array<number>(-value.bytes.length & 3).fill(0)]);
  });
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

const ascii = (text: string): number[] => [...new TextEncoder().encode(text), 0];

test("OpenCL: numbers of every size, strings, vectors, and the metadata's way to write colons and lines", () => {
  const lines = ['1:6:4:8:4:8:8:4:%d\\72 %s, %.1f %f %ld %c\\n', '2:0:plain %% \\x\\n'];
  const first = record(1, -5, { bytes: ascii('string') }, { f32: 1.5 }, { f64: -2.25 }, { u64: 1n << 40n }, 0x41);
  const text = '-5: string, 1.5 -2.250000 1099511627776 A\n';
  assert.equal(printed(lines, record(2, { bytes: [...first] }, 2)), `plain % \\x\n${text}plain % \\x\n`);
  const vectors = ['7:5:4:16:8:4:8:%v2hd|%v3hlf|%v8hhx|%2v2hu|%v2hld'];
  const short = { bytes: [1, 0, 255, 255] };
  const floats = [0, 1.5, -Infinity, 99].map((f32) => ({ f32 }));
  const rest = [{ bytes: [1, 2, 3, 4, 5, 6, 7, 255] }, short, 1, -1];
  assert.equal(
    printed(vectors, record(7, short, ...floats, ...rest)),
    '1,-1|0.000000,1.500000,-inf|1,2,3,4,5,6,7,ff| 1,65535|1,-1',
  );
  assert.equal(
    printed(['3:2:16:4:%v4hld %.3v2hhd'], record(3, 1, -2, 3, -4, { bytes: [255, 255, 2, 0] })),
    '1,-2,3,-4 -001,002',
  );
});

test('OpenCL: half floats; arguments that are not there end the text', () => {
  assert.equal(printed(['1:1:2:%g'], record(1, { bytes: [0, 0x3e] })), '1.5');
  assert.equal(printed(['1:1:4:%d and %d'], record(1, 3)), '3 and ');
  assert.equal(printed(['1:3:4:4:4:%*.*d|'], record(1, 6, 3, 7)), '   007|');
});

test('HIP: formats by their hash or in the record, to both streams', () => {
  const lines = ['0:0:b6f4224af3892d1f,%d:%s\\n|', '0:0:1,%'];
  const hash = { u64: 0xb6f4224af3892d1fn };
  const constant = record((28 << 2) | 2, hash, { u64: 5n }, { bytes: ascii('string!') });
  assert.equal(printed(lines, constant), '5:string!\\n|');
  const other = record((28 << 2) | 1, { bytes: ascii('%ld %x\n') }, { u64: 1n << 40n }, { u64: 255n });
  assert.equal(printed(lines, other), 'stderr: 1099511627776 ff\n');
  assert.equal(printed(lines, record((12 << 2) | 2, { u64: 1n })), '%');
});

test('hostile buffers: records of no format, cut off, of no size; a size beyond the buffer', () => {
  const lines = ['1:1:8:%ld'];
  const refused = { code: 'RPC_PROTOCOL', message: /holds no record/ };
  assert.throws(() => printed(lines, record(2, 0, 0)), refused);
  assert.throws(() => printed(lines, record(1, 0)), refused);
  assert.throws(() => printed(lines, record(1, 0, 0), 11), refused);
  assert.throws(() => printed([], record(1)), refused);
  assert.throws(() => printed(['0:0:1,x'], record(2)), refused);
  assert.throws(() => printed(['0:0:1,x'], record((12 << 2) | 2, 3, 0)), refused);
  assert.throws(() => printed(['0:0:1,x'], record(0xffff_ffff, 1, 0)), refused);
  assert.throws(() => printed(lines, record(1, 5, 0), 0xffff_ffff), refused);
  assert.throws(() => printed(['1:1:4:%2000000000d'], record(1, 5)), { code: 'LIMIT_EXCEEDED' });
});

test('wrong metadata is bad input', () => {
  for (const line of ['', 'x', '1', '1:', '1:2:4:%d', '1:99999:%d', '99999999999:0:', '1:1:4294967296:%d']) {
    assert.throws(() => new PrintfFormats([line]), { code: 'BAD_INPUT', message: /amdhsa\.printf/ }, line);
  }
});

test('whatever stands in buffer and metadata ends in nothing but a WavewrightError', () => {
  const size = fc.constantFrom(0, 1, 2, 3, 4, 5, 8, 12, 16, 64);
  const format = fc
    .array(
      fc.constantFrom('%', '%d', '%v4hlf', '%v3hd', '%s', '%*.*f', '%v16hhx', '%c', ':', '\\n', '%5.3v2le', 'text'),
    )
    .map((parts) => parts.join(''));
  const line = fc
    .tuple(fc.nat(3), fc.array(size, { maxLength: 6 }), format)
    .map(([number, sizes, text]) => [number + 1, sizes.length, ...sizes, text].join(':'));
  const hashed = fc.tuple(fc.nat(3), format).map(([hash, text]) => `0:0:${hash},${text}`);
  const dwords = fc.array(fc.oneof(fc.nat(5), fc.nat(255), fc.nat(2 ** 31)), { maxLength: 64 });
  fc.assert(
    fc.property(fc.array(fc.oneof(line, hashed), { maxLength: 4 }), dwords, fc.nat(300), (lines, values, used) => {
      try {
        printed(lines, record(...values), used);
      } catch (error) {
        if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
      }
    }),
    { numRuns: 1000 },
  );
});
