/** Traces of Perfetto, read back by the fields of their messages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createHal } from '../../hal-drivers/index.ts';
import { BundleWriter } from '../format/bundle.ts';
import { CLOCK_CORRELATIONS, DEVICES, DISPATCH_EVENTS, EXECUTABLE_EXPORTS, QUEUES } from '../format/records.ts';
import { Profile } from '../profile.ts';
import { kernelImage, MemoryTarget } from '../profile-rig.test-support.ts';
import { ProfileFileSink } from '../session-file.ts';
import { perfettoTrace } from './perfetto.ts';
import { ProtobufMessage } from './protobuf.ts';

type Message = ReadonlyMap<number, readonly (bigint | Uint8Array)[]>;

/** Fields of a message by their numbers. */
function parse(bytes: Uint8Array): Message {
  const fields = new Map<number, (bigint | Uint8Array)[]>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const values = fields.get(tag >>> 3) ?? [];
    fields.set(tag >>> 3, values);
    if ((tag & 7) === 0) values.push(varint());
    else if ((tag & 7) === 1) {
      values.push(view.getBigUint64(at, true));
      at += 8;
    } else {
      const length = Number(varint());
      values.push(bytes.subarray(at, at + length));
      at += length;
    }
  }
  return fields;
}

const messages = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).flatMap((each) => (each instanceof Uint8Array ? [parse(each)] : []));
const textOf = (message: Message, field: number): string | undefined => {
  const [value] = message.get(field) ?? [];
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : undefined;
};

test('numbers and texts of any size are read back', () => {
  const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  const fields = fc.array(
    fc.tuple(fc.integer({ min: 1, max: 2 ** 29 - 1 }), fc.oneof(u64, fc.string({ maxLength: 300 }))),
  );
  fc.assert(
    fc.property(fields, (given) => {
      const message = new ProtobufMessage();
      for (const [field, value] of given) {
        if (typeof value === 'string') message.text(field, value);
        else message.varint(field, value).fixed64(field, value);
      }
      const expected = new Map<number, unknown[]>();
      for (const [field, value] of given) {
        const all = expected.get(field) ?? [];
        expected.set(field, all);
        all.push(...(typeof value === 'string' ? [value] : [value, value]));
      }
      const found = [...parse(message.bytes)].map(([field, values]) => {
        const decoded = values.map((each) => (each instanceof Uint8Array ? new TextDecoder().decode(each) : each));
        return [field, decoded] as const;
      });
      assert.deepEqual(new Map(found), expected);
    }),
  );
  assert.deepEqual(parse(new ProtobufMessage().varint(1, -1).bytes).get(1), [2n ** 64n - 1n]);
});

/** A profile of kernels that ran from tick to tick, 10 ns each. */
function profileOf(runs: readonly (readonly [start: bigint, end: bigint])[]): Profile {
  const parts: Uint8Array[] = [];
  const writer = new BundleWriter({ append: (bytes) => void parts.push(bytes), restart: () => {} });
  const place = { physicalDeviceOrdinal: 0, queueOrdinal: 0, streamId: 1n };
  writer.record('chunk', 'devices', {}, [DEVICES.encode({ physicalDeviceOrdinal: 0, queueCount: 1 })]);
  writer.record('chunk', 'queues', {}, [QUEUES.encode(place)]);
  const kernel = { executableId: 1n, exportOrdinal: 0, name: 'vadd' };
  writer.record('chunk', 'executable-exports', {}, [EXECUTABLE_EXPORTS.encode(kernel)]);
  const clocks = [100n, 1100n].map((deviceTick) =>
    CLOCK_CORRELATIONS.encode({ flags: 3, physicalDeviceOrdinal: 0, deviceTick, hostCpuTimestampNs: 10n * deviceTick }),
  );
  writer.record('chunk', 'clock-correlations', {}, clocks);
  const events = runs.map(([startTick, endTick]) => DISPATCH_EVENTS.encode({ ...kernel, startTick, endTick }));
  writer.record('chunk', 'dispatch-events', place, events);
  return Profile.read(new Uint8Array(Buffer.concat(parts)));
}

test('kernels that overlap lie in lanes, in nanoseconds; what has no time is counted', () => {
  const { bytes, sliceCount, skippedCount } = perfettoTrace(
    profileOf([
      [100n, 300n],
      [200n, 400n],
      [300n, 350n],
      [500n, 400n],
    ]),
  );
  assert.deepEqual([sliceCount, skippedCount], [3, 1]);
  const packets = messages(parse(bytes), 1);
  const tracks = new Map(packets.flatMap((packet) => messages(packet, 60).map((track) => [track.get(1)![0], track])));
  assert.deepEqual(
    [...tracks.values()].map((track) => textOf(track, 2)),
    ['IREE HAL profile', 'device[0]', 'queue[0] stream=1', 'dispatch', 'dispatch lane 1'],
  );
  const found = packets.flatMap((packet) =>
    messages(packet, 11).map((event) => [
      packet.get(8)![0],
      event.get(9)![0],
      textOf(tracks.get(event.get(11)![0]!)!, 2),
      textOf(event, 23),
    ]),
  );
  assert.deepEqual(found, [
    [1000n, 1n, 'dispatch', 'vadd'],
    [3000n, 2n, 'dispatch', undefined],
    [2000n, 1n, 'dispatch lane 1', 'vadd'],
    [4000n, 2n, 'dispatch lane 1', undefined],
    [3000n, 1n, 'dispatch', 'vadd'],
    [3500n, 2n, 'dispatch', undefined],
  ]);
});

test('counters of ranges and metrics of devices are tracks of the device', async () => {
  await using hal = createHal({ clock: 'counted' });
  const device = await hal.open('amdgpu?target=gfx90a');
  const code = device.load(kernelImage('nothing', 's_nop 0'));
  const target = new MemoryTarget();
  const data = ['counter-ranges', 'device-metrics'] as const;
  const session = await device.profile({ sink: new ProfileFileSink(target), data, counters: ['SQ_WAVES', 'WW_INSTS'] });
  for (const groups of [3, 2]) {
    await device.queue().dispatch({ entry: code.lookup('nothing'), groups, workgroupSize: 64 });
    await session.flush();
  }
  await session.end();
  const { bytes, skippedCount } = perfettoTrace(Profile.read(target.bytes));
  assert.equal(skippedCount, 0);
  const packets = messages(parse(bytes), 1);
  const tracks = packets.flatMap((packet) => messages(packet, 60));
  const values = (name: string): unknown[] => {
    const uuid = tracks.find((track) => textOf(track, 2) === name)!.get(1)![0];
    const events = packets.flatMap((packet) => messages(packet, 11)).filter((event) => event.get(11)![0] === uuid);
    return events.map((event) => event.get(30)![0]);
  };
  // The last range has no kernels; s_endpgm is the second instruction.
  assert.deepEqual(
    [values('SQ_WAVES'), values('WW_INSTS')],
    [
      [3n, 2n, 0n],
      [6n, 4n, 0n],
    ],
  );
  assert.deepEqual(values('memory.local.total'), new Array(4).fill(2n ** 28n));
  assert.equal(values('activity.compute').length, 3);
});
