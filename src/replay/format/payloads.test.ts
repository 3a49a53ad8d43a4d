/** The payloads byte by byte, held against the layout of IREE's structures, written down a second time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concatenate } from '../../base/concatenate.ts';
import { randomValues } from './all-payloads.test-support.ts';
import { decodeMetadata, encodeMetadata } from './executable-metadata.ts';
import { OWN, PAYLOADS } from './payloads.ts';

/**
 * Of each payload its number, the bytes of its structure, and OFFSET:BYTES of each field; behind `|` what
 * follows it, in order, as the offset of the count (4 bytes wide with `n`) and the bytes of one.
 */
const STRUCTURES = `
buffer_object 1 56 0:8 8:8 16:8 24:8 32:4 36:4 40:4 44:2
allocator_allocate_buffer 2 40 0:8 8:8 16:8 24:4 28:4 32:2
buffer_range 3 32 0:8 8:8 16:4 20:2
buffer_range_data 4 40 0:8 8:8 24:4 28:2 | 16:1
command_buffer_object 5 24 0:4 4:4 8:8 16:8
executable_cache_object 6 16 | 0:1
executable_prepare 7 40 0:8 24:4 | 28n:1 8:1 16:4 32n:1
dispatch 8 120 0:8 8:8 16:4 20:4 24:12 36:12 48:32 80:4 | 88:16 96:16 104:1 112:32
device_queue_execute 9 48 0:8 8:8 16:8 | 24:16 32:16 40:32
semaphore_object 10 32 0:8 8:8 16:8
command_buffer_copy_buffer 11 80 0:32 32:32 64:4
device_queue_alloca 12 72 0:8 8:8 16:8 24:4 28:4 32:2 40:8 48:8 | 56:16 64:16
command_buffer_execution_barrier 13 40 0:8 8:8 16:8 | 24:8 32:40
device_queue_dealloca 14 64 0:32 32:8 40:8 | 48:16 56:16
device_queue_fill 15 72 0:32 32:8 40:8 | 48:16 56:16 64:1
device_queue_update 16 80 0:32 32:8 40:8 48:8 | 64:16 72:16 56:1
device_queue_copy 17 96 0:32 32:32 64:8 72:8 | 80:16 88:16
command_buffer_fill_buffer 18 48 0:32 32:4 | 40:1
command_buffer_update_buffer 19 56 0:32 32:4 40:8 | 48:1
event_object 20 24 0:8 8:4
command_buffer_event 21 16 0:8 8:8
command_buffer_wait_events 22 48 0:8 8:8 | 16:8 24:8 32:40
file_object 23 112 0:8 8:8 16:8 24:8 32:8 48:4 52:4 56:4 60:4 64:4 68:2 76:32 | 40:1
device_queue_read 24 88 0:8 8:8 16:32 48:8 56:8 | 72:16 80:16 64:1
device_queue_write 25 80 0:32 32:8 40:8 48:8 56:8 | 64:16 72:16
allocator_import_buffer 26 56 0:8 8:8 16:8 24:4 28:4 32:2 40:4 44:4 | 48:1
replay_scope 27 24 | 0:1
`;

const pairs = (text = ''): [number, number, boolean][] =>
  text
    .trim()
    .split(' ')
    .filter(Boolean)
    .map((pair) => {
      const [offset, sizeBytes] = pair.split(':') as [string, string];
      return [Number.parseInt(offset, 10), Number(sizeBytes), offset.endsWith('n')];
    });

const rows = STRUCTURES.trim().split('\n');

test('there is a layout for each structure, and no other', () => {
  const types = rows.map((row) => Number(row.split(' ')[1]));
  assert.deepEqual(
    [...PAYLOADS.keys()].filter((type) => type !== OWN.type).toSorted((a, b) => a - b),
    types,
  );
});

for (const row of rows) {
  const [head, tails] = row.split(' | ') as [string, string?];
  const [name, type, sizeBytes, ...fields] = head.split(' ') as [string, string, string, ...string[]];
  test(`${name}: each field has its bytes, and what follows its count`, () => {
    const layout = PAYLOADS.get(Number(type))!;
    assert.equal(layout.name, name);
    assert.equal(concatenate(layout.encode({})).length, Number(sizeBytes), 'the size of the structure');
    const counted = pairs(tails);
    const places = pairs(fields.join(' ')).map(([offset]) => offset);
    const order = Object.entries(layout.fields);
    const isTail = ([, { offset }]: (typeof order)[number]) => counted.some(([each]) => each === offset);
    const fixed = order.filter((entry) => !isTail(entry)).map(([, { offset }]) => offset);
    assert.deepEqual(
      fixed.toSorted((a, b) => a - b),
      places,
    );
    for (let seed = 1; seed < 20; seed++) {
      const values = randomValues(layout, seed);
      const whole = concatenate(layout.encode(values));
      const view = new DataView(whole.buffer, whole.byteOffset, whole.length);
      for (const [offset, width] of pairs(fields.join(' '))) {
        const [field] = order.find((entry) => entry[1].offset === offset && !isTail(entry))!;
        const alone = concatenate(layout.encode({ [field]: values[field]! }));
        const expected = new Uint8Array(Number(sizeBytes));
        expected.set(whole.subarray(offset, offset + width), offset);
        assert.deepEqual(alone, expected, `${field} has the bytes ${offset} to ${offset + width}`);
      }
      let end = Number(sizeBytes);
      for (const [offset, width, isNarrow] of counted) {
        const [field] = order.find((entry) => entry[1].offset === offset && isTail(entry))!;
        const alone = concatenate(layout.encode({ [field]: values[field]! })).subarray(Number(sizeBytes));
        const count = isNarrow ? view.getUint32(offset, true) : Number(view.getBigUint64(offset, true));
        assert.equal(count * width, alone.length, `${field} is counted at ${offset}`);
        assert.deepEqual(whole.subarray(end, end + alone.length), alone, `${field} stands at ${end}`);
        end += alone.length;
      }
      assert.equal(end, whole.length);
      assert.deepEqual(layout.decode(whole, { offset: 0 }), values);
    }
  });
}

test('a length that does not fit is refused with its place', () => {
  const layout = PAYLOADS.get(15)!;
  const whole = concatenate(layout.encode(randomValues(layout, 3)));
  const place = { file: 'f', offset: 1000 };
  const inside = { code: 'BAD_INPUT' } as const;
  assert.throws(() => layout.decode(whole.subarray(0, 71), place), {
    ...inside,
    message: /^f: device_queue_fill at 0x3e8: 71 bytes/,
  });
  assert.throws(() => layout.decode(whole.subarray(0, -1), place), inside);
  const longer = concatenate([whole, Uint8Array.of(1, 2)]);
  assert.throws(() => layout.decode(longer, place), { ...inside, message: /its parts have/ });
  assert.deepEqual(layout.decode(longer, place, true), layout.decode(whole, place), 'a later version may add to it');
  const wide = Uint8Array.from(whole).fill(0xff, 0, 8);
  assert.throws(() => layout.decode(wide, place), { ...inside, message: /more than 2\^53/ });
});

test('what exports take is there again', () => {
  const parameters = [
    { offset: 8, flags: 1, type: 1, size: 8 },
    { offset: 16, flags: 0, type: 0, size: 4 },
  ];
  const one = { flags: 2n, workgroupSize: [64, 2, 1], constantCount: 3, bindingCount: 1, parameters };
  const exports = [one, { ...one, flags: 0n, parameters: [] }, { ...one, parameters: parameters.slice(1) }];
  const bytes = encodeMetadata(exports);
  assert.equal(bytes.length, 32 + 3 * 32 + 3 * 8);
  assert.deepEqual(
    [...bytes.subarray(32, 58)],
    [2, ...Array(7).fill(0), 64, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 1, 0, 2, 0],
  );
  assert.deepEqual(decodeMetadata(bytes), exports);
  assert.equal(decodeMetadata(new Uint8Array()), undefined);
  assert.throws(() => decodeMetadata(bytes.subarray(0, -8)), { code: 'BAD_INPUT' });
});
