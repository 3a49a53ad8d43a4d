/** IREE's operations as calls of devices and queues. */
import { WavewrightError } from '../../base/errors.ts';
import { HalEvent } from '../../hal/core/hal-event.ts';
import {
  ALLOCA_FLAGS,
  BUFFER_USAGE,
  type BufferParams,
  HalError,
  type HalFile,
  type HalQueue,
  type LogicalDevice,
  MEMORY_ACCESS,
  MEMORY_TYPES,
  memoryFile,
  type OrderOptions,
  SEMAPHORE_FLAGS,
} from '../../hal/index.ts';
import type { ReplayRecord } from '../format/file.ts';
import { EXTERNAL_HOST_ALLOCATION } from '../format/names.ts';
import type { PayloadOf } from '../format/payload-layout.ts';
import type {
  ALLOCATE_BUFFER,
  BUFFER_RANGE_DATA,
  COMMAND_BUFFER_OBJECT,
  DISPATCH_CALL,
  EXECUTABLE_PREPARE,
  FILE_OBJECT,
  IMPORT_BUFFER,
  QUEUE_ALLOCA,
  QUEUE_COPY,
  QUEUE_DEALLOCA,
  QUEUE_EXECUTE,
  QUEUE_FILL,
  QUEUE_READ,
  QUEUE_UPDATE,
  QUEUE_WRITE,
  REPLAY_SCOPE,
  SEMAPHORE_OBJECT,
} from '../format/payloads.ts';
import { dispatchOf } from './dispatches.ts';
import { loadRecorded } from './executables.ts';
import { ReplayedCommands } from './replayed-commands.ts';
import { replayedFile, ScriptedFile } from './replayed-files.ts';
import type { ReplayRun } from './run.ts';

type Result = Promise<void> | undefined | void;
type Call<Payload> = (run: ReplayRun, record: ReplayRecord, payload: Payload) => Result;

/** The device that a record is about. */
export const deviceOf = (run: ReplayRun, { deviceId, objectId }: ReplayRecord): LogicalDevice =>
  run.things.device(deviceId === 0 ? objectId : deviceId);

/** The queue of the lowest bit; any queue is the first one. Throws OUT_OF_RANGE for one that is not. */
export function queueOf(device: LogicalDevice, affinity: bigint): HalQueue {
  return device.queue(lowestQueue(affinity));
}

const ANY_QUEUE = 2n ** 64n - 1n;

function lowestQueue(affinity: bigint): number {
  if (affinity === 0n || affinity === ANY_QUEUE) return 0;
  let queue = 0;
  while ((affinity >> BigInt(queue)) % 2n === 0n) queue++;
  return queue;
}

interface Allocation {
  readonly queueAffinity: bigint;
  readonly minAlignment: number;
  readonly usage: number;
  readonly type: number;
  readonly access: number;
}

function paramsOf(device: LogicalDevice, { queueAffinity, minAlignment, usage, type, access }: Allocation, id: number) {
  const queue = device.queues[lowestQueue(queueAffinity)];
  return {
    memoryType: MEMORY_TYPES.ofBits(type),
    usage: BUFFER_USAGE.ofBits(usage),
    access: MEMORY_ACCESS.ofBits(access),
    minAlignmentBytes: Math.max(1, minAlignment),
    deviceOrdinal: queue?.deviceOrdinal ?? 0,
    label: `buffer ${id}`,
  } satisfies BufferParams;
}

/** What orders an operation; a recording says of each whether it was aborted. */
export function orderOf(
  run: ReplayRun,
  { waitSemaphores, signalSemaphores }: Pick<PayloadOf<typeof QUEUE_FILL>, 'waitSemaphores' | 'signalSemaphores'>,
): { readonly order: OrderOptions; readonly controller: AbortController | undefined } {
  const controller = run.note.abort === undefined ? undefined : new AbortController();
  if (run.note.abort === 'before') controller!.abort();
  const order = {
    waits: run.things.timepoints(waitSemaphores),
    signals: run.things.timepoints(signalSemaphores),
    ...(controller && { abort: controller.signal }),
  };
  return { order, controller };
}

type QueuePayload = Pick<PayloadOf<typeof QUEUE_FILL>, 'waitSemaphores' | 'signalSemaphores' | 'queueAffinity'>;

/** An operation that makes nothing. */
const queued =
  <Payload extends QueuePayload>(
    submit: (queue: HalQueue, order: OrderOptions, payload: Payload, run: ReplayRun) => ReturnType<HalQueue['fill']>,
  ): Call<Payload> =>
  (run, record, payload) => {
    const { order, controller } = orderOf(run, payload);
    const submission = submit(queueOf(deviceOf(run, record), payload.queueAffinity), order, payload, run);
    return run.operation(record.ordinal, { submission, controller });
  };

/** Bytes that the host wrote. */
const hostWrite: Call<PayloadOf<typeof BUFFER_RANGE_DATA> | undefined> = (run, { objectId }, payload) => {
  if (payload === undefined || !('data' in payload)) return;
  const write = (): void => {
    const buffer = run.things.of('buffer', objectId);
    const { byteOffset, data } = payload;
    buffer.checkRange(byteOffset, data.length);
    // Who has exported memory may write to it when it is given back.
    if (buffer.state === 'released') return;
    // Memory that was imported is the device's own here, which the host need not map.
    buffer.allocation.storage.bytes().set(data, buffer.offsetBytes + byteOffset);
  };
  const settled = run.settle();
  if (settled !== undefined) return settled.then(write);
  write();
};

const scope =
  (kind: 'begin' | 'end'): Call<PayloadOf<typeof REPLAY_SCOPE>> =>
  (run, { ordinal }, { name }) =>
    run.options.onScope?.({ kind, name, ordinal });

const alloca: Call<PayloadOf<typeof QUEUE_ALLOCA>> = (run, record, payload) => {
  const device = deviceOf(run, record);
  const { order, controller } = orderOf(run, payload);
  const allocation = { ...payload, queueAffinity: payload.allocationQueueAffinity };
  const { pool } = run.note;
  const submission = queueOf(device, payload.queueAffinity).alloca({
    ...paramsOf(device, allocation, record.relatedObjectId),
    ...order,
    sizeBytes: payload.allocationSize,
    flags: ALLOCA_FLAGS.ofBits(Number(payload.flags)),
    ...(pool !== undefined && { pool: run.things.of('pool', pool) }),
  });
  run.things.set(record.relatedObjectId, submission.result);
  return run.operation(record.ordinal, { submission, controller });
};

const offsetOf = ({ note: { fileOffset } }: ReplayRun, otherwise: number): number =>
  fileOffset === undefined ? otherwise : Number(fileOffset);

const read: Call<PayloadOf<typeof QUEUE_READ>> = (run, record, payload) => {
  const { order, controller } = orderOf(run, payload);
  const { sourceFileId, sourceOffset, targetRef, capturedData } = payload;
  const queue = queueOf(deviceOf(run, record), payload.queueAffinity);
  const target = run.things.ref(targetRef);
  const { file: known } = run.things.of('file', sourceFileId);
  const isCaptured = known === undefined && capturedData.length > 0;
  const scripted = known === undefined && !isCaptured ? new ScriptedFile() : undefined;
  const file: HalFile = known ?? scripted ?? memoryFile(capturedData);
  const fileOffset = offsetOf(run, isCaptured ? 0 : sourceOffset);
  const submission = queue.read({ ...order, file, fileOffset, target });
  return run.operation(record.ordinal, { submission, controller, file: scripted });
};

const write: Call<PayloadOf<typeof QUEUE_WRITE>> = (run, record, payload) => {
  const { order, controller } = orderOf(run, payload);
  const { targetFileId, targetOffset, sourceRef } = payload;
  const fileOffset = offsetOf(run, targetOffset);
  const queue = queueOf(deviceOf(run, record), payload.queueAffinity);
  const { file: known } = run.things.of('file', targetFileId);
  const scripted = known === undefined ? new ScriptedFile() : undefined;
  const file = known ?? scripted!;
  const submission = queue.write({ ...order, file, fileOffset, source: run.things.ref(sourceRef) });
  return run.operation(record.ordinal, { submission, controller, file: scripted });
};

const execute = queued<PayloadOf<typeof QUEUE_EXECUTE>>((queue, order, { commandBufferId, bindings }, { things }) => {
  if (commandBufferId === 0) return queue.barrier(order);
  const commands = things.of('command buffer', commandBufferId);
  // reason: slots without a buffer are those that no command uses
  const table = bindings.map((ref) => things.optionalRef(ref)) as ReturnType<typeof things.ref>[];
  return queue.execute({ ...order, commands, bindings: table });
});

const importBuffer: Call<PayloadOf<typeof IMPORT_BUFFER>> = (run, record, payload) => {
  if (payload.externalType !== EXTERNAL_HOST_ALLOCATION) {
    throw new WavewrightError('UNSUPPORTED', `external memory of type ${payload.externalType}`);
  }
  const device = deviceOf(run, record);
  const { data, allocationSize } = payload;
  if (data.length > allocationSize) {
    throw new WavewrightError('BAD_INPUT', `${data.length} bytes of memory that has ${allocationSize}`);
  }
  const buffer = device.allocate(allocationSize, paramsOf(device, payload, record.relatedObjectId));
  buffer.allocation.storage.bytes().set(data);
  run.things.set(record.relatedObjectId, buffer);
};

const prepare: Call<PayloadOf<typeof EXECUTABLE_PREPARE>> = (run, record, { format, data, constants, metadata }) => {
  if (constants.length > 0) {
    throw new HalError('UNIMPLEMENTED', `${constants.length} words of specialization constants, which have no names`);
  }
  const executableId = record.relatedObjectId;
  const code = { executableId, format, pieces: [data], constants: {}, metadata };
  run.things.set(executableId, loadRecorded(deviceOf(run, record), code, run.options.substitute));
};

const command =
  (name: keyof ReplayedCommands['commands']): Call<never> =>
  (run, { objectId }, payload) =>
    commandsOf(run, objectId).commands[name](payload);

/** Throws BAD_INPUT for a command buffer that has no begin, or has its end. */
export function commandsOf(run: ReplayRun, id: number): ReplayedCommands {
  const found = run.commands.get(id);
  if (found !== undefined) return found;
  throw new WavewrightError('BAD_INPUT', `no command buffer of number ${id} is recorded`, { file: run.plan.file.name });
}

/** By name. The payload is that of the operation's layout. */
export const CALLS: Readonly<Record<string, Call<never>>> = {
  'object.device': (run, { objectId }) => run.takeDevice(objectId),
  'device.create_command_buffer': (run, { relatedObjectId: id }, payload: PayloadOf<typeof COMMAND_BUFFER_OBJECT>) =>
    void run.commands.set(id, new ReplayedCommands(run.things, payload, `command buffer ${id}`)),
  'device.create_event': (run, { relatedObjectId: id }) => run.things.set(id, new HalEvent(`event ${id}`)),
  'device.create_executable_cache': () => {},
  'device.create_semaphore': (run, record, payload: PayloadOf<typeof SEMAPHORE_OBJECT>) => {
    const { initialValue, flags } = payload;
    const label = `semaphore ${record.relatedObjectId}`;
    const options = { initialValue, flags: SEMAPHORE_FLAGS.ofBits(Number(flags)), label };
    run.things.set(record.relatedObjectId, deviceOf(run, record).createSemaphore(options));
  },
  'device.import_file': (run, { relatedObjectId }, payload: PayloadOf<typeof FILE_OBJECT>) =>
    run.things.set(relatedObjectId, replayedFile(payload, run.options)),
  'device.trim': (run, record) => void deviceOf(run, record).trim(),
  'allocator.allocate_buffer': (run, record, payload: PayloadOf<typeof ALLOCATE_BUFFER>) => {
    const device = deviceOf(run, record);
    const params = paramsOf(device, payload, record.relatedObjectId);
    run.things.set(record.relatedObjectId, device.allocate(payload.allocationSize, params));
  },
  'allocator.import_buffer': importBuffer,
  'device.queue_alloca': alloca,
  'device.queue_dealloca': queued<PayloadOf<typeof QUEUE_DEALLOCA>>((queue, order, { bufferRef }, { things }) =>
    queue.dealloca({ ...order, buffer: things.of('buffer', bufferRef.bufferId) }),
  ),
  'device.queue_fill': queued<PayloadOf<typeof QUEUE_FILL>>((queue, order, { targetRef, pattern }, { things }) =>
    queue.fill({ ...order, target: things.ref(targetRef), pattern }),
  ),
  'device.queue_update': queued<PayloadOf<typeof QUEUE_UPDATE>>((queue, order, { targetRef, data }, { things }) =>
    queue.update({ ...order, target: things.ref(targetRef), contents: data }),
  ),
  'device.queue_copy': queued<PayloadOf<typeof QUEUE_COPY>>((queue, order, { sourceRef, targetRef }, { things }) =>
    queue.copy({ ...order, source: things.ref(sourceRef), target: things.ref(targetRef) }),
  ),
  'device.queue_read': read,
  'device.queue_write': write,
  'device.queue_dispatch': queued<PayloadOf<typeof DISPATCH_CALL>>((queue, order, payload, { things }) =>
    queue.dispatch({ ...order, ...dispatchOf(things, payload, (ref) => things.ref(ref)) }),
  ),
  'device.queue_execute': execute,
  'device.queue_flush': (run, record) => {
    for (const queue of deviceOf(run, record).queues) queue.flush();
  },
  'replay.scope_begin': scope('begin'),
  'replay.scope_end': scope('end'),
  'buffer.unmap_range': hostWrite,
  'buffer.flush_range': hostWrite,
  'command_buffer.begin': () => {},
  'command_buffer.end': (run, record) => {
    const commands = commandsOf(run, record.objectId);
    run.commands.delete(record.objectId);
    run.things.set(record.objectId, commands.finish(deviceOf(run, record)));
  },
  'command_buffer.execution_barrier': command('command_buffer.execution_barrier'),
  'command_buffer.signal_event': command('command_buffer.signal_event'),
  'command_buffer.reset_event': command('command_buffer.reset_event'),
  'command_buffer.wait_events': command('command_buffer.wait_events'),
  'command_buffer.fill_buffer': command('command_buffer.fill_buffer'),
  'command_buffer.update_buffer': command('command_buffer.update_buffer'),
  'command_buffer.copy_buffer': command('command_buffer.copy_buffer'),
  'command_buffer.dispatch': command('command_buffer.dispatch'),
  'executable_cache.prepare_executable': prepare,
};
