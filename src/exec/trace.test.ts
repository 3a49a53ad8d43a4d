/** Traces: arrows, limits, and a ring that holds anything. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guestAddress } from '../device/guest-address.ts';
import { createEmulatedDevice } from '../devices/emulated/index.ts';
import { CONTROL_WORDS, TRACE_RECORDS, TRACE_WORDS, TRACED_CALLS } from './protocol.ts';
import type { TimedPacket } from './timed-packet.ts';
import { Traces } from './trace.ts';
import { TraceRing } from './trace-ring.ts';

interface Event {
  readonly ph: string;
  readonly name: string;
  readonly ts: number;
  readonly tid: number;
  readonly args?: Readonly<Record<string, unknown>>;
}

const BARRIER: TimedPacket = {
  ...{ packetIndex: 4n, completionSignal: guestAddress(0x40n), dispatch: undefined, kernel: undefined },
  ...{
    gridSize: [0, 0, 0],
    workgroupSize: [0, 0, 0],
    ldsSizeBytes: 0,
    resident: undefined,
    beginNs: 500n,
    endNs: 500n,
    queue: 0x1000n,
  },
};

function eventsOf(traces: Traces): Event[] {
  return JSON.parse(new TextDecoder().decode(traces.file())).traceEvents;
}

test('arrows lead from doorbells to packets, and from packets and copies to who waits for them', () => {
  const traces = new Traces();
  const trace = traces.open(7);
  const wait = { name: 'hsa_signal_wait_relaxed', thread: 8, a: 0x40n, b: 1n } as const;
  trace.addCall({ name: 'doorbell', beginNs: 100n, endNs: 110n, thread: 7, a: 0x1000n, b: 4n });
  trace.addCall({ ...wait, beginNs: 120n, endNs: 130n });
  trace.addCall({ ...wait, beginNs: 400n, endNs: 600n });
  // It began after all was done.
  trace.addCall({ ...wait, beginNs: 900n, endNs: 901n });
  trace.addCall({ name: 'copy', beginNs: 300n, endNs: 450n, thread: 9, a: 0x40n, b: 2n ** 64n - 1n });
  trace.addCall({ name: 'copy', beginNs: 700n, endNs: 800n, thread: 9, a: 0x40n, b: 8n });
  trace.addPacket(BARRIER);
  trace.addPacket({ ...BARRIER, packetIndex: 5n, completionSignal: guestAddress(0n) });
  const events = eventsOf(traces);
  const arrows = events.filter(({ ph }) => ph === 's' || ph === 'f').map(({ ph, ts, tid }) => [ph, ts, tid % 1000]);
  assert.deepEqual(arrows, [
    ...[
      ['s', 0.1, 7],
      ['f', 0.5, 0],
    ],
    ...[
      ['s', 0.449, 9],
      ['f', 0.6, 8],
    ],
    ...[
      ['s', 0.5, 0],
      ['f', 0.6, 8],
    ],
  ]);
  assert.deepEqual(events.find(({ name }) => name === 'copy')!.args, { completion: '0x40', bytes: -1 });
});

test('events beyond a limit are counted', () => {
  const traces = new Traces();
  const trace = traces.open(1);
  for (let i = 0; i < 1_000_010; i++) trace.addRequest('free', 1n, 2n);
  assert.equal(trace.lostCount, 10);
});

test('the ring gives what was written, in its order, and bears anything', () => {
  using device = createEmulatedDevice({ processor: 'gfx90a' });
  const memory = device.memory.view(device.memory.allocate(4096), 4096);
  const control = new Int32Array(memory.buffer, memory.byteOffset, 1024);
  const ring = new TraceRing(device, { control });
  const words = new BigUint64Array(control.buffer, control.byteOffset, 512);
  const address = words[CONTROL_WORDS.traceRing / 2]!;
  const count = Object.keys(TRACE_WORDS).length;
  const bytes = device.memory.view(address, TRACE_RECORDS * count * 8);
  const records = new BigUint64Array(bytes.buffer, bytes.byteOffset, TRACE_RECORDS * count);
  const write = (index: number, values: readonly bigint[]) => records.set(values, (index % TRACE_RECORDS) * count);
  const doorbell = BigInt(Object.keys(TRACED_CALLS).indexOf('doorbell'));
  assert.deepEqual([...ring.take()], []);
  write(0, [1n, 5n, 6n, doorbell, 77n, 0x1000n, 9n, 0n]);
  // No such call, a time that runs backwards, a record that is not complete.
  write(1, [2n, 5n, 6n, 2n ** 63n, 77n, 0n, 0n, 0n]);
  write(2, [3n, 6n, 5n, doorbell, 77n, 0n, 0n, 0n]);
  write(3, [3n, 5n, 6n, doorbell, 77n, 0n, 0n, 0n]);
  assert.deepEqual([...ring.take()], [{ name: 'doorbell', beginNs: 5n, endNs: 6n, thread: 77, a: 0x1000n, b: 9n }]);
  assert.equal(words[CONTROL_WORDS.traceRead / 2], 3n);
  for (let i = 3; i < TRACE_RECORDS + 3; i++) write(i, [BigInt(i + 1), 5n, 6n, 3n, 1n, 0n, 0n, 0n]);
  assert.equal([...ring.take()].length, TRACE_RECORDS);
  assert.equal([...ring.take()].length, 0);
});
