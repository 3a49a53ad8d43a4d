/** Profiles of any size, made up: two queues of one device, command buffers, memory that comes and goes. */
import { BundleWriter } from '../profile/format/bundle.ts';
import { MEMORY_EVENTS, numberOf, QUEUE_OPERATIONS } from '../profile/format/names.ts';
import {
  CLOCK_CORRELATIONS,
  COUNTER_SAMPLES,
  COUNTER_SETS,
  COUNTERS,
  DEVICES,
  DISPATCH_EVENTS,
  EXECUTABLE_EXPORTS,
  HOST_EXECUTION_EVENTS,
  MEMORY_EVENT_RECORDS,
  QUEUE_DEVICE_EVENTS,
  QUEUE_EVENTS,
  QUEUES,
} from '../profile/format/records.ts';
import { sampleCode } from './sample-code.test-support.ts';

const KERNELS = ['matmul16', 'softmax', 'reduce_sum', 'transpose', '<img src=x onerror=alert(1)>'];
const DEVICE = 0;
const QUEUE_COUNT = 2;
const QUEUE_ORDINALS = [0, 1];
/** Of an operation and the next one of its queue. */
const STEP_NS = 20_000n;
const START_NS = 1_000_000_000_000n;
/** Nanoseconds of a tick. */
const TICK_NS = 10n;

/** Numbers below `limit` that repeat with the seed. */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Records of an operation: its submission, what the device did for it, kernels, memory. */
function operation(at: number, random: (limit: number) => number) {
  const queueOrdinal = at % QUEUE_COUNT;
  const place = { physicalDeviceOrdinal: DEVICE, queueOrdinal, streamId: BigInt(queueOrdinal + 1) };
  const submissionId = BigInt(Math.floor(at / QUEUE_COUNT) + 1);
  const submitted = START_NS + BigInt(at) * STEP_NS;
  const ready = submitted + BigInt(random(15_000));
  const eventId = BigInt(8 * at + 1);
  const start = (ready + BigInt(500 + random(3_000))) / TICK_NS;
  const end = start + BigInt(100 + random(2_500));
  const exportOrdinal = Math.min(random(3) * random(3), KERNELS.length - 1);
  const common = { ...place, submissionId };
  const dispatch = { type: numberOf(QUEUE_OPERATIONS, 'dispatch'), ...common, operationCount: 1 };
  const kernel = { executableId: 1n, exportOrdinal, workgroupCount: [64, 1 + random(8), 1], workgroupSize: [64, 1, 1] };
  const memory = { type: numberOf(MEMORY_EVENTS, at % 4 < 2 ? 'buffer_allocate' : 'buffer_free'), ...common };
  const length = BigInt(2 ** (10 + ((at >> 2) % 12)));
  return {
    queueOrdinal,
    queue: QUEUE_EVENTS.encode({
      ...dispatch,
      eventId,
      hostTimeNs: submitted,
      readyHostTimeNs: ready,
      waitCount: at % 3,
    }),
    device: QUEUE_DEVICE_EVENTS.encode({ ...dispatch, eventId: eventId + 1n, startTick: start, endTick: end }),
    dispatch: DISPATCH_EVENTS.encode({
      ...kernel,
      submissionId,
      eventId: eventId + 2n,
      startTick: start,
      endTick: end,
    }),
    sample: COUNTER_SAMPLES.encode({
      ...{ ...common, executableId: 1n, exportOrdinal, counterSetId: 1n, scope: 1 },
      values: [64n, BigInt(6_400 + random(1_000))],
    }),
    memory: MEMORY_EVENT_RECORDS.encode({
      ...{ ...memory, eventId: eventId + 3n, hostTimeNs: ready, length, allocationId: BigInt(1 + (at >> 2)) },
    }),
    host: HOST_EXECUTION_EVENTS.encode({
      ...{ ...dispatch, type: numberOf(QUEUE_OPERATIONS, 'copy'), eventId: eventId + 4n, payloadLength: length },
      ...{ startHostTimeNs: ready, endHostTimeNs: ready + BigInt(random(4_000)) },
    }),
  };
}

const placeOf = (queueOrdinal: number) => ({
  physicalDeviceOrdinal: DEVICE,
  queueOrdinal,
  streamId: BigInt(queueOrdinal + 1),
});

type Record = (contentType: string, payload: readonly Uint8Array[], header?: object) => void;

/** What events name. */
function writeMetadata(record: Record, endNs: bigint): void {
  record('devices', [DEVICES.encode({ physicalDeviceOrdinal: DEVICE, queueCount: QUEUE_COUNT })]);
  record(
    'queues',
    QUEUE_ORDINALS.map((ordinal) => QUEUES.encode(placeOf(ordinal))),
  );
  const exports = KERNELS.map((name, exportOrdinal) =>
    EXECUTABLE_EXPORTS.encode({ executableId: 1n, exportOrdinal, name }),
  );
  record('executable-exports', exports);
  const set = { counterSetId: 1n, physicalDeviceOrdinal: DEVICE };
  record('counter-sets', [COUNTER_SETS.encode({ ...set, counterCount: 2, sampleValueCount: 2, name: 'dispatch' })]);
  const counters = ['SQ_WAVES', 'WW_INSTS'].map((name, i) => {
    const place = { counterOrdinal: i, sampleValueOffset: i, sampleValueCount: 1 };
    return COUNTERS.encode({ ...set, ...place, flags: 1, unit: 1, name, description: `${name} of a dispatch` });
  });
  record('counters', counters);
  const clocks = [START_NS, endNs].map((hostCpuTimestampNs) => {
    const deviceTick = hostCpuTimestampNs / TICK_NS;
    return CLOCK_CORRELATIONS.encode({ flags: 3, physicalDeviceOrdinal: DEVICE, deviceTick, hostCpuTimestampNs });
  });
  record('clock-correlations', clocks);
}

/** Each operation has six records, five of which are events. */
export function sampleProfile(operationCount: number, seed = 1): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  const writer = new BundleWriter({
    append: (bytes) => void parts.push(bytes),
    restart: (bytes) => void parts.splice(0, 1, bytes),
  });
  const record: Record = (contentType, payload, header = {}) => writer.record('chunk', contentType, header, payload);
  const random = randomNumbers(seed);
  writeMetadata(record, START_NS + BigInt(operationCount + 10) * STEP_NS);
  const all = Array.from({ length: operationCount }, (_, at) => operation(at, random));
  const chunk = (contentType: string, of: Exclude<keyof (typeof all)[number], 'queueOrdinal'>): void =>
    record(
      contentType,
      all.map((each) => each[of]),
    );
  chunk('queue-events', 'queue');
  chunk('queue-device-events', 'device');
  for (const ordinal of QUEUE_ORDINALS) {
    const ofQueue = all.filter(({ queueOrdinal }) => queueOrdinal === ordinal);
    record(
      'dispatch-events',
      ofQueue.map(({ dispatch }) => dispatch),
      placeOf(ordinal),
    );
  }
  chunk('counter-samples', 'sample');
  chunk('host-execution-events', 'host');
  chunk('memory-events', 'memory');
  for (const [contentType, records] of Object.entries(sampleCode(KERNELS.indexOf('matmul16')))) {
    record(contentType, records);
  }
  writer.end();
  return new Uint8Array(Buffer.concat(parts));
}
