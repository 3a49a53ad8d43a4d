/** Records and bundles of `.ireeprof`, against a table of its version 1.6. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import { BundleWriter, readProfileBundle } from './bundle.ts';
import { INSTRUCTION_LAYOUTS } from './instruction-records.ts';
import { NO_ORDINAL, type RecordField, type RecordLayout, type RecordOf } from './record-layout.ts';
import { DISPATCH_EVENTS, EXECUTABLE_EXPORTS, EXECUTABLE_TRACES, RECORD_LAYOUTS } from './records.ts';

/** Content type, size of the fields, and where each of them begins that is not reserved. */
const VERSION_1_6 = `
devices 32: 4 8 12 16
queues 24: 4 8 16
executables 40: 4 8 16 24
executable-code-objects 48: 4 8 16 24 32
executable-code-object-loads 40: 4 8 16 24 32
executable-exports 64: 4 8 16 20 24 28 32 44 48
executable-functions 64: 4 8 16 20 24 28 32 44 48
command-buffers 48: 4 8 16 24 32 40
command-operations 120: 4 8 12 16 24 28 32 40 44 48 60 72 80 88 96 100 104 108
clock-correlations 72: 4 8 16 24 32 40 48 56 64
dispatch-events 88: 4 8 16 24 32 40 44 48 60 72 80
queue-events 104: 4 8 12 16 24 32 40 48 56 64 68 72 76 80 84 88 96
queue-device-events 96: 4 8 16 24 32 40 48 56 64 68 72 80 88
host-execution-events 152: 4 8 12 16 24 32 40 48 56 64 68 72 76 80 92 104 112 120 128 136 144
command-region-events 248: 4 8 16 24 32 40 44 48 52 56 60 64 68 72 76 80 88 92 96 100 136 144 152 160 168 176 184 192 200 204 208 212 216 220 224 228 232 236 240
memory-events 160: 4 8 12 16 24 32 40 48 56 64 68 72 80 88 96 104 112 120 128 136 144 152 156
event-relationships 72: 4 8 16 20 24 28 32 40 48 56 64
counter-sets 32: 4 8 16 20 24 28
counters 48: 4 8 12 16 24 28 32 36 40 44
counter-samples 112: 4 8 16 24 32 40 48 56 64 72 80 88 92 96 100 104
device-metric-sources 40: 4 8 16 20 24 28 32 36
device-metric-descriptors 48: 4 8 16 24 28 32 36 40 44
device-metric-samples 64: 4 8 16 24 32 40 48 56 60
executable-traces 88: 4 8 12 16 24 32 40 48 56 64 68 72 76 80
`;

test('every record lies as version 1.6 says', () => {
  const lines = [...RECORD_LAYOUTS.values()].map(({ contentType, sizeBytes, fields }) => {
    const offsets = Object.values<RecordField>(fields).map(({ offset }) => offset);
    return `${contentType} ${sizeBytes}: ${offsets.sort((a, b) => a - b).join(' ')}`;
  });
  assert.equal(lines.join('\n'), VERSION_1_6.trim());
});

const u32 = fc.nat({ max: NO_ORDINAL });
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const i64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const bytes = (size: number) => fc.uint8Array({ minLength: size, maxLength: size });

/** Values of a field. */
function valuesOf({ kind, count }: RecordField): fc.Arbitrary<unknown> {
  const many = <T>(each: fc.Arbitrary<T>) => fc.array(each, { minLength: count, maxLength: count });
  switch (kind) {
    case 'u32':
    case 'ordinal':
      return u32;
    case 'i32':
      return fc.integer();
    case 'u64':
      return u64;
    case 'i64':
      return i64;
    case 'u32s':
      return many(u32);
    case 'u64s':
      return many(u64);
    case 'bytes':
      return bytes(count);
    case 'text':
      return fc.string({ unit: 'grapheme' });
    case 'data':
    case 'following':
      return fc.uint8Array({ maxLength: 40 });
    case 'values':
      return fc.array(u64, { maxLength: 5 });
    case 'metrics':
      return fc.array(fc.record({ metricId: u64, bits: u64, flags: u32 }, { noNullPrototype: true }), { maxLength: 3 });
  }
}

// reason: each field has a value of its kind
const recordOf = ({ fields }: RecordLayout): fc.Arbitrary<RecordOf<RecordLayout>> =>
  fc.record(Object.fromEntries(Object.entries<RecordField>(fields).map(([name, field]) => [name, valuesOf(field)])), {
    noNullPrototype: true,
  }) as fc.Arbitrary<RecordOf<RecordLayout>>;

const anyLayout = fc.constantFrom(...RECORD_LAYOUTS.values(), ...INSTRUCTION_LAYOUTS.values());
const anyRecords = anyLayout.chain((layout) =>
  fc.record({
    layout: fc.constant(layout),
    records: fc.array(recordOf(layout), { minLength: 1, maxLength: layout === EXECUTABLE_TRACES ? 1 : 3 }),
  }),
);
const joined = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

test('what is written is read back', () => {
  fc.assert(
    fc.property(anyRecords, ({ layout, records }) => {
      const payload = joined(records.map((record) => layout.encode(record)));
      assert.deepEqual([...layout.decode(payload)], records);
    }),
    { numRuns: 300 },
  );
});

test('what is left out is 0, nothing, and no ordinal', () => {
  const [record] = [...DISPATCH_EVENTS.decode(DISPATCH_EVENTS.encode({ eventId: 7n }))];
  assert.deepEqual(
    [record!.eventId, record!.submissionId, record!.commandIndex, record!.workgroupCount],
    [7n, 0n, NO_ORDINAL, [0, 0, 0]],
  );
  const [named] = [...EXECUTABLE_EXPORTS.decode(EXECUTABLE_EXPORTS.encode({}))];
  assert.equal(named!.name, '');
});

test('a record may have more at its end than this version knows', () => {
  const [first, second] = [1n, 2n].map((eventId) => DISPATCH_EVENTS.encode({ eventId }));
  const longer = joined([first!, new Uint8Array(12)]);
  new DataView(longer.buffer).setUint32(0, longer.length, true);
  const ids = [...DISPATCH_EVENTS.decode(joined([longer, second!]))].map(({ eventId }) => eventId);
  assert.deepEqual(ids, [1n, 2n]);
});

test('lengths that do not fit are told with their place', () => {
  const record = EXECUTABLE_EXPORTS.encode({ name: 'vadd' });
  const failing = (change: (view: DataView) => void, message: RegExp) => {
    const copy = record.slice();
    change(new DataView(copy.buffer));
    assert.throws(() => [...EXECUTABLE_EXPORTS.decode(copy, 0x100)], { code: 'BAD_INPUT', message });
  };
  failing(
    (view) => view.setUint32(0, 8, true),
    /^executable-exports at 0x100: a record of 8 bytes, expected 64 to 68$/,
  );
  failing((view) => view.setUint32(0, 69, true), /a record of 69 bytes/);
  failing((view) => view.setUint32(44, 0xffff_ffff, true), /at 0x140: a name of 4294967295 bytes, 4 are left/);
  assert.throws(
    () => [...EXECUTABLE_EXPORTS.decode(record.subarray(0, 60))],
    /a record of 60 bytes, expected at least 64/,
  );
});

/** A bundle in memory. */
function bundleOf(write: (writer: BundleWriter) => void): Uint8Array {
  const parts: Uint8Array[] = [];
  const writer = new BundleWriter({
    append: (part) => void parts.push(part),
    restart: (part) => {
      parts[0] = part;
    },
  });
  write(writer);
  return joined(parts);
}

const anyChunk = fc.record({
  content: anyRecords,
  header: fc.record({
    sessionId: u64,
    streamId: u64,
    eventId: u64,
    executableId: u64,
    commandBufferId: u64,
    physicalDeviceOrdinal: u32,
    queueOrdinal: u32,
    droppedCount: u64,
    name: fc.string({ unit: 'grapheme' }),
  }),
});

test('a bundle has what was written to it, also when it never ended', () => {
  fc.assert(
    fc.property(fc.array(anyChunk, { maxLength: 3 }), fc.boolean(), (chunks, ends) => {
      const file = bundleOf((writer) => {
        for (const { content, header } of chunks) {
          const { layout, records } = content;
          writer.record(
            'chunk',
            layout.contentType,
            header,
            records.map((record) => layout.encode(record)),
          );
        }
        if (ends) writer.end();
      });
      const bundle = readProfileBundle(ends ? joined([file, Uint8Array.of(1, 2)]) : file);
      assert.deepEqual([bundle.isComplete, bundle.sizeBytes], [ends, file.length]);
      const found = [...bundle.records()];
      for (const [i, { content, header }] of chunks.entries()) {
        const { type, contentType, isTruncated, payload, ...rest } = found[i]!;
        assert.deepEqual(
          [type, contentType, isTruncated],
          ['chunk', content.layout.contentType, header.droppedCount > 0n],
        );
        assert.deepEqual({ ...rest, ...header }, rest);
        assert.deepEqual([...content.layout.decode(payload)], content.records);
      }
      assert.equal(found.length, chunks.length);
    }),
    { numRuns: 100 },
  );
});

test('damaged bundles end in nothing but errors of ours', () => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
  const whole = fc.array(anyChunk, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(whole, damage, fc.nat(), (chunks, changes, cut) => {
      const file = bundleOf((writer) => {
        for (const { content, header } of chunks) {
          const { layout, records } = content;
          writer.record(
            'chunk',
            layout.contentType,
            header,
            records.map((record) => layout.encode(record)),
          );
        }
        writer.end();
      });
      for (const [at, value] of changes) file[at % file.length] = value;
      try {
        const bundle = readProfileBundle(cut % 4 === 0 ? file.subarray(0, cut % file.length) : file);
        for (const { contentType, payload } of bundle.records()) {
          for (const _ of RECORD_LAYOUTS.get(contentType)?.decode(payload) ?? []);
        }
      } catch (error) {
        assert.ok(error instanceof WavewrightError && error.code !== 'INTERNAL', String(error));
      }
    }),
    { numRuns: 500 },
  );
});

test('what is no profile, or one of another version, is said', () => {
  const file = bundleOf((writer) => writer.end());
  assert.throws(() => readProfileBundle(Uint8Array.of(1, 2, 3, 4), 'a.ireeprof'), {
    code: 'BAD_INPUT',
    message: 'a.ireeprof: file header at 0x0: 0x4030201 is not the magic number of a profile (IRPF)',
  });
  const later = file.slice();
  later[4] = 2;
  assert.throws(() => readProfileBundle(later), {
    code: 'UNSUPPORTED',
    message: 'profiles of version 2.6, expected 1',
  });
  const flagged = file.slice();
  flagged[12] = 1;
  assert.throws(() => readProfileBundle(flagged), { code: 'BAD_INPUT', message: /flags 0x1, expected 0/ });
  assert.throws(() => readProfileBundle(new Uint8Array()), { code: 'BAD_INPUT' });
});
