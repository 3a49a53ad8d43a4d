/** Files as a whole: what a later version adds, what is damaged, and what is cut off. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concatenate } from '../../base/concatenate.ts';
import { allPayloads, MemoryFile } from './all-payloads.test-support.ts';
import { isSkipped, payloadOf, type ReplayRecord, ReplayWriter, readReplayFile } from './file.ts';
import { operationCode, operationName } from './names.ts';
import { QUEUE_FILL } from './payloads.ts';

const HEADER_BYTES = 24;
const RECORD_BYTES = 96;

/** A session and a fill. */
function smallFile(): Uint8Array<ArrayBuffer> {
  const target = new MemoryFile();
  const writer = new ReplayWriter(target);
  writer.session();
  const ids = { deviceId: 1, objectId: 2, relatedObjectId: 3, threadId: 4n, status: 5 };
  const targetRef = { bufferId: 6, offset: 7, length: 8, slot: 9 };
  writer.operation('device.queue_fill', { ...ids, objectType: 'device' }, QUEUE_FILL, {
    targetRef,
    pattern: Uint8Array.of(1, 2),
  });
  writer.end();
  return target.bytes;
}

test('a file has the bytes of version 1.0', () => {
  const bytes = smallFile();
  const view = new DataView(bytes.buffer);
  assert.equal(bytes.length, HEADER_BYTES + RECORD_BYTES + RECORD_BYTES + 72 + 2);
  assert.equal(new TextDecoder().decode(bytes.subarray(0, 4)), 'IRRP');
  assert.deepEqual([view.getUint16(4, true), view.getUint16(6, true)], [1, 0]);
  assert.deepEqual([view.getUint32(8, true), view.getUint32(12, true)], [24, 0]);
  assert.equal(view.getBigUint64(16, true), BigInt(bytes.length));
  const at = HEADER_BYTES + RECORD_BYTES;
  const longs = Array.from({ length: 7 }, (_, i) => Number(view.getBigUint64(at + 8 * i, true)));
  assert.deepEqual(longs, [RECORD_BYTES + 74, 74, 1, 4, 1, 2, 3]);
  assert.deepEqual(
    [view.getUint32(at + 56, true), view.getUint16(at + 60, true), view.getUint16(at + 62, true)],
    [96, 3, 0],
  );
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((i) => view.getUint32(at + 64 + 4 * i, true)),
    [15, 1, 15, 5, 0],
  );
  assert.equal(view.getBigUint64(at + 88, true), 0n);
});

test('what is written is read', () => {
  const file = readReplayFile(smallFile());
  assert.equal(file.isComplete, true);
  const [session, fill] = file.records as [ReplayRecord, ReplayRecord];
  assert.equal(session.type, 1);
  assert.equal(operationName(fill.operation), 'device.queue_fill');
  assert.deepEqual([fill.deviceId, fill.objectId, fill.relatedObjectId, fill.threadId, fill.status], [1, 2, 3, 4n, 5]);
  assert.deepEqual([...payloadOf(file, fill, QUEUE_FILL).pattern], [1, 2]);
  assert.equal(operationCode('executable.lookup_export_by_name'), 503);
});

test('a file that was not ended holds all records that are whole', () => {
  const bytes = smallFile();
  new DataView(bytes.buffer).setBigUint64(16, 0n, true);
  const file = readReplayFile(bytes);
  assert.deepEqual([file.isComplete, file.records.length], [false, 2]);
});

test('bytes behind the length of a file are none of it', () => {
  const bytes = concatenate([smallFile(), Uint8Array.of(1, 2, 3)]);
  assert.equal(readReplayFile(bytes).records.length, 2);
});

/** A record with a longer header, of any type. */
function withRecord(type: number, flags: number, headerBytes = RECORD_BYTES): Uint8Array {
  const bytes = smallFile();
  const record = new Uint8Array(headerBytes);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(headerBytes), true);
  view.setBigUint64(16, 2n, true);
  view.setUint32(56, headerBytes, true);
  view.setUint16(60, type, true);
  view.setUint16(62, flags, true);
  const whole = new Uint8Array(concatenate([bytes, record]));
  new DataView(whole.buffer).setBigUint64(16, BigInt(whole.length), true);
  return whole;
}

test('records that may be skipped are, and others of unknown types are refused by number', () => {
  const { records } = readReplayFile(withRecord(77, 1));
  assert.equal(isSkipped(records[2]!), true);
  assert.throws(() => readReplayFile(withRecord(77, 0)), {
    code: 'UNSUPPORTED',
    message: /record 2 at 0x122: a record of type 77/,
  });
  assert.throws(() => readReplayFile(withRecord(77, 2)), { code: 'BAD_INPUT', message: /flags 0x2/ });
});

test('what later versions add to headers and payloads is passed over', () => {
  assert.equal(readReplayFile(withRecord(4, 0, RECORD_BYTES + 32)).records[2]!.payload.length, 0);
  const bytes = smallFile();
  const longer = new Uint8Array(
    concatenate([bytes.subarray(0, HEADER_BYTES), new Uint8Array(8), bytes.subarray(HEADER_BYTES)]),
  );
  const view = new DataView(longer.buffer);
  view.setUint32(8, HEADER_BYTES + 8, true);
  view.setUint16(6, 3, true);
  view.setBigUint64(16, BigInt(longer.length), true);
  const file = readReplayFile(longer);
  assert.deepEqual([file.headerBytes, file.versionMinor, file.records.length], [32, 3, 2]);
  const record = file.records[1]!;
  const payload = concatenate([record.payload, Uint8Array.of(9)]);
  assert.deepEqual([...payloadOf(file, { ...record, payload }, QUEUE_FILL).pattern], [1, 2]);
  assert.throws(() => payloadOf({ ...file, versionMinor: 0 }, { ...record, payload }, QUEUE_FILL), {
    code: 'BAD_INPUT',
  });
});

test('padding between fields of a header is whatever it is, and reserved fields are 0', () => {
  for (const [offset, isReserved] of [
    [80, true],
    [84, false],
    [87, false],
    [88, true],
  ] as const) {
    const bytes = smallFile();
    bytes[HEADER_BYTES + offset] = 1;
    if (!isReserved) assert.equal(readReplayFile(bytes).records.length, 2, `byte ${offset}`);
    else
      assert.throws(() => readReplayFile(bytes), { code: 'BAD_INPUT', message: /reserved fields/ }, `byte ${offset}`);
  }
});

test('another major version is refused', () => {
  const bytes = smallFile();
  bytes[4] = 2;
  assert.throws(() => readReplayFile(bytes, 'a'), {
    code: 'UNSUPPORTED',
    message: 'a: recordings of version 2.0, expected 1',
  });
});

test('every cut is refused, but behind a record', () => {
  const whole = allPayloads(7);
  new DataView(whole.buffer).setBigUint64(16, 0n, true);
  const { records } = readReplayFile(whole);
  const ends = new Set([HEADER_BYTES, ...records.map(({ offset, sizeBytes }) => offset + sizeBytes)]);
  for (let length = 0; length < whole.length; length++) {
    const cut = whole.subarray(0, length);
    if (ends.has(length)) readReplayFile(cut);
    else assert.throws(() => readReplayFile(cut), { code: 'BAD_INPUT' }, `${length} bytes`);
  }
});
