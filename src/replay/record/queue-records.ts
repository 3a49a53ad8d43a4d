/** Operations of queues as records. */

import { wordsOfConstants } from '../../hal/commands/queue-dispatch.ts';
import type { CommandRef } from '../../hal/index.ts';
import {
  ALLOCA_FLAGS,
  type HalBuffer,
  type HalFile,
  HOST_CALL_FLAGS,
  type OrderOptions,
  type QueueAlloca,
  type QueueCopy,
  type QueueDispatch,
  type QueueExecute,
  type QueueFill,
  type QueueHostCall,
  type QueueRead,
  type QueueUpdate,
  type QueueWrite,
} from '../../hal/index.ts';
import { resolveParams } from '../../hal/memory/buffer-params.ts';
import type { Submission } from '../../hal/queues/submission.ts';
import { DISPATCH_CALL_FLAG } from '../format/names.ts';
import { type BufferRefRecord, NO_BUFFER } from '../format/payload-kinds.ts';
import type { PayloadLayout, PayloadOf } from '../format/payload-layout.ts';
import {
  DISPATCH_CALL,
  QUEUE_ALLOCA,
  QUEUE_COPY,
  QUEUE_DEALLOCA,
  QUEUE_EXECUTE,
  QUEUE_FILL,
  QUEUE_READ,
  QUEUE_UPDATE,
  QUEUE_WRITE,
} from '../format/payloads.ts';
import type { FileRecords } from './file-records.ts';
import type { ThingRecords } from './thing-records.ts';

/** A dispatch, but for its semaphores. `refOf`: a range, which a slot may have. */
export function dispatchPayload<Ref extends CommandRef>(
  things: ThingRecords,
  options: QueueDispatch<Ref>,
  refOf: (ref: Ref) => BufferRefRecord,
): Partial<PayloadOf<typeof DISPATCH_CALL>> {
  const { entry, groups, workgroupSize, constants = [], bindings = [], dynamicGroupSizeBytes = 0 } = options;
  const { arguments: given } = options;
  const isIndirect = typeof groups === 'object' && 'from' in groups;
  let flags = isIndirect ? DISPATCH_CALL_FLAG.dynamicIndirectParameters : 0;
  let bytes = new Uint8Array(wordsOfConstants(constants).buffer);
  const refs = bindings.map(refOf);
  if (given !== undefined && ArrayBuffer.isView(given)) {
    flags |= DISPATCH_CALL_FLAG.customDirectArguments;
    bytes = Uint8Array.from(new Uint8Array(given.buffer, given.byteOffset, given.byteLength));
  } else if (given !== undefined) {
    // The buffer that has the arguments is the first binding.
    flags |= DISPATCH_CALL_FLAG.dynamicIndirectArguments;
    refs.unshift(refOf(given.from));
  }
  return {
    executableId: things.executableId(entry.executable),
    exportOrdinal: entry.ordinal,
    flags,
    workgroupSize: workgroupSize === undefined ? [0, 0, 0] : extent(workgroupSize),
    workgroupCount: isIndirect ? [0, 0, 0] : extent(groups),
    workgroupCountRef: isIndirect ? refOf(groups.from) : NO_BUFFER,
    dynamicWorkgroupLocalMemory: dynamicGroupSizeBytes,
    constants: bytes,
    bindings: refs,
  };
}

function extent(sizes: number | readonly number[]): number[] {
  const [x = 1, y = 1, z = 1] = typeof sizes === 'number' ? [sizes] : sizes;
  return [x, y, z];
}

/** What all operations of a call have. */
interface Call {
  readonly queueAffinity: bigint;
  readonly waitSemaphores: PayloadOf<typeof QUEUE_FILL>['waitSemaphores'];
  readonly signalSemaphores: PayloadOf<typeof QUEUE_FILL>['signalSemaphores'];
}

export class QueueRecords {
  readonly #things: ThingRecords;
  readonly #files: FileRecords;

  constructor(things: ThingRecords, files: FileRecords) {
    this.#things = things;
    this.#files = files;
  }

  /** A record for the operation; returns its ordinal. */
  operation(queue: number, method: string, options: OrderOptions, submission: Submission<unknown>): number {
    const write = WRITERS[method as keyof typeof WRITERS]; // reason: queues are recorded by these methods alone
    const [end] = submission.timepoints;
    // Others may wait for its end, and IREE's replay does.
    const endId = this.#things.semaphore(end.semaphore, 0);
    const call = {
      queueAffinity: 1n << BigInt(queue),
      waitSemaphores: this.#things.timepoints(options.waits),
      signalSemaphores: [...this.#things.timepoints(options.signals), { semaphoreId: endId, value: end.value }],
    };
    return write(this, call, options as never, submission); // reason: the options are those of the method
  }

  write<Layout extends PayloadLayout>(
    name: string,
    layout: Layout,
    payload: Partial<PayloadOf<Layout>>,
    relatedObjectId = 0,
  ): number {
    const { deviceId } = this.#things;
    const header = { deviceId, objectId: deviceId, relatedObjectId, objectType: 'device' } as const;
    return this.#things.context.writer.operation(name, header, layout, payload);
  }

  get things(): ThingRecords {
    return this.#things;
  }

  fileId(file: HalFile): number {
    return this.#files.fileId(file);
  }

  captured(file: HalFile, offset: number, sizeBytes: number): Uint8Array {
    return this.#files.captured(file, offset, sizeBytes);
  }
}

type Write<Options> = (records: QueueRecords, call: Call, options: Options, submission: Submission<unknown>) => number;

const alloca: Write<QueueAlloca> = (records, call, options, { result }) => {
  const { things } = records;
  const buffer = result as HalBuffer; // reason: what an alloca makes
  const { deviceOrdinal } = buffer.placement;
  const { usage, memoryType, access, minAlignmentBytes } = resolveParams({ ...options, deviceOrdinal });
  const { writer, ids } = things.context;
  const { deviceId } = things;
  if (options.pool !== undefined) {
    writer.own('note.operation', { deviceId }, { pool: things.poolId(options.pool) });
  }
  const id = ids.take(buffer.allocation);
  const payload = {
    ...call,
    allocationSize: options.sizeBytes,
    allocationQueueAffinity: things.affinityOf(deviceOrdinal),
    minAlignment: minAlignmentBytes,
    ...{ usage: usage.bits, type: memoryType.bits, access: access.bits },
    flags: BigInt(ALLOCA_FLAGS.set(options.flags ?? []).bits),
  };
  const ordinal = records.write('device.queue_alloca', QUEUE_ALLOCA, payload, id);
  things.bufferObject(buffer);
  return ordinal;
};

const dealloca: Write<OrderOptions & { readonly buffer: HalBuffer }> = (records, call, { buffer }) =>
  records.write('device.queue_dealloca', QUEUE_DEALLOCA, { ...call, bufferRef: records.things.ref(buffer) });

const fill: Write<QueueFill> = (records, call, { target, pattern }) =>
  records.write('device.queue_fill', QUEUE_FILL, { ...call, targetRef: records.things.ref(target), pattern });

const update: Write<QueueUpdate> = (records, call, { target, contents }) => {
  const data = new Uint8Array(contents.buffer, contents.byteOffset, contents.byteLength);
  const targetRef = { ...records.things.ref(target), length: data.length };
  return records.write('device.queue_update', QUEUE_UPDATE, { ...call, targetRef, data });
};

const copy: Write<QueueCopy> = (records, call, { source, target }) => {
  const [sourceRef, targetRef] = [records.things.ref(source), records.things.ref(target)];
  return records.write('device.queue_copy', QUEUE_COPY, { ...call, sourceRef, targetRef });
};

/** An offset that is none makes the operation fail, and a record cannot hold it. */
function offsetOf({ things }: QueueRecords, fileOffset: number): number {
  if (Number.isSafeInteger(fileOffset) && fileOffset >= 0) return fileOffset;
  const { deviceId, context } = things;
  context.writer.own('note.operation', { deviceId }, { fileOffset: String(fileOffset) });
  return 0;
}

const read: Write<QueueRead> = (records, call, { file, fileOffset: offset = 0, target }) => {
  const fileOffset = offsetOf(records, offset);
  const [sourceFileId, targetRef] = [records.fileId(file), records.things.ref(target)];
  const capturedData = records.captured(file, fileOffset, targetRef.length ?? 0);
  const payload = { ...call, sourceFileId, sourceOffset: fileOffset, targetRef, capturedData };
  return records.write('device.queue_read', QUEUE_READ, payload);
};

const write: Write<QueueWrite> = (records, call, { file, fileOffset: offset = 0, source }) => {
  const fileOffset = offsetOf(records, offset);
  const [targetFileId, sourceRef] = [records.fileId(file), records.things.ref(source)];
  return records.write('device.queue_write', QUEUE_WRITE, {
    ...call,
    targetFileId,
    targetOffset: fileOffset,
    sourceRef,
  });
};

const dispatch: Write<QueueDispatch> = (records, call, options) => {
  const payload = dispatchPayload(records.things, options, (ref) => records.things.ref(ref));
  return records.write('device.queue_dispatch', DISPATCH_CALL, { ...payload, ...call });
};

const execute: Write<QueueExecute> = (records, call, { commands, bindings = [] }) => {
  const list = Array.isArray(bindings)
    ? bindings
    : commands.slots.map((slot) => (bindings as Readonly<Record<string, QueueFill['target']>>)[slot]); // reason: no list
  const refs = list.map((ref: QueueFill['target'] | undefined) =>
    ref === undefined ? NO_BUFFER : records.things.ref(ref),
  );
  const commandBufferId = records.things.commandBufferId(commands);
  return records.write('device.queue_execute', QUEUE_EXECUTE, { ...call, commandBufferId, bindings: refs });
};

const barrier: Write<OrderOptions> = (records, call) => records.write('device.queue_execute', QUEUE_EXECUTE, call);

const hostCall: Write<QueueHostCall> = (records, call, { flags = [] }) => {
  const { waitSemaphores, signalSemaphores, queueAffinity } = call;
  const { deviceId, context } = records.things;
  const told = { waits: waitSemaphores, signals: signalSemaphores, flags: [...HOST_CALL_FLAGS.set(flags)] };
  const queue = queueAffinity.toString(2).length - 1;
  return context.writer.own('device.queue_host_call', { deviceId, objectId: deviceId }, { queue, ...told });
};

const WRITERS = { alloca, barrier, copy, dealloca, dispatch, execute, fill, hostCall, read, update, write } as const;
