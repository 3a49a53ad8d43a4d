/**
 * A profiling session of the HAL as an `.ireeprof` bundle: metadata of what the events name, the events as
 * records, clocks. The same events give the same bytes.
 */
import {
  CommandBuffer,
  type CounterInfo,
  type DeviceDescription,
  type DispatchTimes,
  type HalExecutable,
  type OperationInfo,
  type OperationTimes,
  type ProfileChunk,
  type ProfileData,
  type ProfileEvent,
  type ProfileSink,
  type QueueEvent,
} from '../hal/index.ts';
import { CHUNK_ORDER, DATA_OF } from './chunk-order.ts';
import { commandOperations } from './command-operations.ts';
import { CounterSets } from './counter-records.ts';
import { type BundleTarget, BundleWriter } from './format/bundle.ts';
import {
  DEPENDENCY_STRATEGIES,
  ENDPOINTS,
  MEMORY_EVENTS,
  numberOf,
  QUEUE_OPERATIONS,
  RELATIONSHIPS,
  TRACE_FORMATS,
} from './format/names.ts';
import type { RecordLayout, RecordOf } from './format/record-layout.ts';
import {
  CLOCK_CORRELATIONS,
  CLOCK_FLAG,
  COMMAND_BUFFER_OPERATIONS,
  COMMAND_BUFFERS,
  COUNTER_SAMPLE_FLAG,
  COUNTER_SAMPLES,
  DEVICE_METRIC_SAMPLES,
  DEVICES,
  DISPATCH_EVENTS,
  DISPATCH_FLAG,
  EVENT_RELATIONSHIPS,
  EXECUTABLE_EXPORTS,
  EXECUTABLE_FUNCTIONS,
  EXECUTABLE_TRACES,
  EXECUTABLES,
  HOST_EXECUTION_EVENTS,
  HOST_EXECUTION_FLAG,
  MEMORY_EVENT_RECORDS,
  MEMORY_FLAG,
  QUEUE_DEVICE_EVENTS,
  QUEUE_EVENTS,
  QUEUE_FLAG,
  QUEUES,
} from './format/records.ts';
import { encodeTraceData } from './format/wave-trace-data.ts';
import { filePlaceOf, InstructionRows } from './instruction-rows.ts';
import { metricMetadata, metricSample } from './metric-records.ts';
import { nanoseconds as ns } from './nanoseconds.ts';
import { ThingIds } from './thing-ids.ts';

const SESSION_ID = 1n;

/** What brings memory of the HAL's own ids apart from that of queues. */
const BUFFER_IDS = 2n ** 32n;

const STRATEGY_NAMES = {
  none: 'none',
  inline: 'inline',
  barrier: 'device_barrier',
  'barrier-value': 'device_barrier',
  defer: 'software_defer',
} as const;

const MEMORY_NAMES = {
  buffer: { allocate: 'buffer_allocate', free: 'buffer_free' },
  queue: { allocate: 'queue_alloca', free: 'queue_dealloca' },
  pool: { allocate: 'slab_acquire', free: 'slab_release' },
} as const;

/** By what leads to what. */
const RELATIONSHIP_NAMES: Readonly<Record<string, string>> = {
  'queue_submission dispatch_event': 'queue_submission_dispatch',
  'queue_submission queue_device_event': 'queue_submission_queue_device_event',
  'queue_submission host_execution_event': 'queue_submission_host_execution_event',
  'queue_event host_execution_event': 'queue_event_host_execution_event',
};

const typeOf = ({ kind }: OperationInfo): number => numberOf(QUEUE_OPERATIONS, kind.replace('-', '_'));

/** Where a queue stands in the session. */
interface QueuePlace {
  readonly physicalDeviceOrdinal: number;
  readonly queueOrdinal: number;
  readonly streamId: bigint;
}

/** What is known of an operation until it ends. */
interface OpenOperation {
  readonly place: QueuePlace;
  readonly type: number;
  readonly submitted: QueueEvent;
  readyMs: number;
  readonly commandBufferId: bigint;
  readonly allocationId: bigint;
  /** Of its record of `queue-events`, which is written when it begins, or ends without. */
  queueEventId: bigint | undefined;
}

type Event<Data extends ProfileData> = Extract<ProfileEvent, { readonly data: Data }>;

/** Records of chunks; those of `dispatch-events` have chunks for each queue, which only these name. */
type Rows = Map<RecordLayout, Map<QueuePlace | undefined, Uint8Array[]>>;

/** A sink that writes what a session tells. `end` of the session completes the bundle. */
export class ProfileFileSink implements ProfileSink {
  readonly #writer: BundleWriter;
  readonly #queues = new Map<string, QueuePlace>();
  readonly #executables = new ThingIds<HalExecutable>();
  readonly #commandBuffers = new ThingIds<CommandBuffer>();
  readonly #open = new Map<number, OpenOperation>();
  /** Of queue allocations: the operations that allocate them and give them back. */
  readonly #allocations = new Map<object, { id: bigint; submissionId: bigint }>();
  #name = '';
  #lastEventId = 0n;
  #lastSampleId = 0n;
  #counterSets = new CounterSets(0);
  #lastMetricSampleId = 0n;
  #lastDispatch: { readonly operation: OperationInfo; readonly eventId: bigint } | undefined;
  #lastTraceId = 0n;
  #lastRelationshipId = 0n;
  readonly #instructions = new InstructionRows((layout, record) => this.#add(layout, record));
  #rows: Rows = new Map();

  constructor(target: BundleTarget) {
    this.#writer = new BundleWriter(target);
  }

  begin(
    device: DeviceDescription,
    counters: readonly CounterInfo[] = [],
    data: readonly ProfileData[] = ['counters'],
  ): void {
    this.#counterSets = new CounterSets(device.devices.length);
    this.#name = device.name;
    this.#writer.record('session-begin', 'session', { sessionId: SESSION_ID, name: device.name });
    for (const [physicalDeviceOrdinal, { uuid, name, queues }] of device.devices.entries()) {
      const digits = /[0-9a-f]{16}$/i.exec(uuid)?.[0];
      const physicalDeviceUuid = new Uint8Array(16);
      if (digits !== undefined) physicalDeviceUuid.set(Uint8Array.fromHex(digits));
      const flags = digits === undefined ? 0 : 1;
      this.#add(DEVICES, { flags, physicalDeviceOrdinal, queueCount: queues.length, physicalDeviceUuid });
      for (const [queueOrdinal, queue] of queues.entries()) {
        const place = { physicalDeviceOrdinal, queueOrdinal, streamId: BigInt(this.#queues.size + 1) };
        this.#queues.set(queue, place);
        this.#add(QUEUES, place);
      }
      const sampled = [
        ...this.#counterSets.metadata(physicalDeviceOrdinal, counters, data),
        ...(data.includes('device-metrics') ? metricMetadata(physicalDeviceOrdinal, name) : []),
      ];
      for (const [layout, record] of sampled) this.#add(layout, record);
    }
    this.#writeRows({});
  }

  write({ events, dropped, clocks }: ProfileChunk): void {
    for (const event of events) this.#event(event);
    this.#addMetadata();
    for (const [physicalDeviceOrdinal, { deviceTicks, hostBeforeMs, hostAfterMs }] of clocks.entries()) {
      this.#add(CLOCK_CORRELATIONS, {
        flags: CLOCK_FLAG.deviceTick | CLOCK_FLAG.hostCpu | CLOCK_FLAG.hostBracket,
        physicalDeviceOrdinal,
        sampleId: ++this.#lastSampleId,
        deviceTick: deviceTicks,
        hostCpuTimestampNs: (ns(hostBeforeMs) + ns(hostAfterMs)) / 2n,
        hostTimeBeginNs: ns(hostBeforeMs),
        hostTimeEndNs: ns(hostAfterMs),
      });
    }
    this.#writeRows(dropped);
  }

  end(): void {
    this.#writer.record('session-end', 'session', { sessionId: SESSION_ID, name: this.#name });
    this.#writer.end();
  }

  /** `chunk`: the queue whose chunk it is, where records do not say theirs. */
  #add<Layout extends RecordLayout>(layout: Layout, record: Partial<RecordOf<Layout>>, chunk?: QueuePlace): void {
    const chunks = this.#rows.get(layout) ?? new Map<QueuePlace | undefined, Uint8Array[]>();
    this.#rows.set(layout, chunks);
    const rows = chunks.get(chunk);
    const bytes = layout.encode(record);
    if (rows === undefined) chunks.set(chunk, [bytes]);
    else rows.push(bytes);
  }

  /** Chunks in the order in which readers need them: what events name comes before the events. */
  #writeRows(dropped: ProfileChunk['dropped']): void {
    for (const layout of CHUNK_ORDER) {
      const data = DATA_OF.get(layout);
      let droppedCount = BigInt((data && dropped[data]) ?? 0);
      const chunks = [...(this.#rows.get(layout) ?? [])];
      // Whose records were lost nobody knows; a chunk of no queue would be one of a device that is not there.
      if (chunks.length === 0 && droppedCount > 0n) chunks.push([this.#queues.values().next().value, []]);
      for (const [place, payload] of chunks) {
        const header = { sessionId: SESSION_ID, name: this.#name, droppedCount, ...place };
        this.#writer.record('chunk', layout.contentType, header, payload);
        droppedCount = 0n;
      }
    }
    this.#rows = new Map();
  }

  #addMetadata(): void {
    for (const [commands, commandBufferId] of this.#commandBuffers.takeNew()) {
      const executableId = (executable: HalExecutable) => this.#executables.of(executable);
      this.#add(COMMAND_BUFFERS, { commandBufferId, mode: BigInt(commands.mode.bits), commandCategories: 3n });
      for (const operation of commandOperations(commands, executableId)) {
        this.#add(COMMAND_BUFFER_OPERATIONS, { commandBufferId, ...operation });
      }
    }
    for (const [executable, executableId] of this.#executables.takeNew()) {
      const { exportCount } = executable;
      this.#add(EXECUTABLES, { executableId, exportCount });
      for (let exportOrdinal = 0; exportOrdinal < exportCount; exportOrdinal++) {
        const { info } = executable.exportAt(exportOrdinal);
        const { name, bindingCount, constantCount, parameters, workgroupSize } = info;
        const counts = { bindingCount, constantCount, parameterCount: parameters.length };
        const record = { executableId, exportOrdinal, name, ...counts, workgroupSize: workgroupSize ?? [0, 0, 0] };
        this.#add(EXECUTABLE_EXPORTS, record);
        this.#add(EXECUTABLE_FUNCTIONS, record);
      }
    }
  }

  #event(event: ProfileEvent): void {
    switch (event.data) {
      case 'queue-events':
        this.#queueEvent(event);
        break;
      case 'host-execution':
        this.#hostExecution(event);
        break;
      case 'device-queue-events':
        this.#deviceQueueEvent(event);
        break;
      case 'dispatch-events':
        this.#dispatchEvent(event);
        break;
      case 'memory-events':
        this.#memoryEvent(event);
        break;
      case 'counters':
        this.#counterSample(event);
        break;
      case 'counter-ranges':
        this.#add(COUNTER_SAMPLES, this.#counterSets.ofRange(event));
        break;
      case 'device-metrics':
        this.#add(DEVICE_METRIC_SAMPLES, metricSample(event, ++this.#lastMetricSampleId));
        break;
      case 'executable-traces':
        this.#trace(event);
        break;
      case 'instruction-counts':
        this.#instructions.kernel(event, this.#executables.of(event.entry.executable));
    }
  }

  #queueEvent(event: Event<'queue-events'>): void {
    const { kind, operation, timeMs } = event;
    if (kind === 'submitted') this.#open.set(operation.id, this.#opened(event));
    const open = this.#open.get(operation.id);
    if (open === undefined) return;
    if (kind === 'ready') open.readyMs = timeMs;
    if (kind === 'started') this.#addQueueEvent(open, event.strategy);
    if (kind !== 'complete' && kind !== 'failed') return;
    // It failed before it began.
    if (open.queueEventId === undefined) this.#addQueueEvent(open, 'defer');
    this.#open.delete(operation.id);
  }

  #opened(submitted: QueueEvent): OpenOperation {
    const { operation, request, timeMs } = submitted;
    const { commands, allocation } = request ?? {};
    const allocationId = allocation === undefined ? 0n : this.#allocation(allocation, operation);
    return {
      place: this.#place(operation),
      type: typeOf(operation),
      submitted,
      readyMs: timeMs,
      commandBufferId: commands === undefined ? 0n : this.#commandBuffers.of(commands),
      allocationId,
      queueEventId: undefined,
    };
  }

  #allocation(allocation: object, { id }: OperationInfo): bigint {
    const known = this.#allocations.get(allocation) ?? { id: BigInt(this.#allocations.size + 1), submissionId: 0n };
    this.#allocations.set(allocation, { id: known.id, submissionId: BigInt(id) });
    return known.id;
  }

  #addQueueEvent(open: OpenOperation, strategy: QueueEvent['strategy']): void {
    const { place, type, submitted, readyMs, commandBufferId, allocationId } = open;
    const { operation, request, timeMs } = submitted;
    open.queueEventId = ++this.#lastEventId;
    this.#add(QUEUE_EVENTS, {
      type,
      flags: strategy === 'defer' ? QUEUE_FLAG.softwareDeferred : 0,
      dependencyStrategy: numberOf(DEPENDENCY_STRATEGIES, STRATEGY_NAMES[strategy ?? 'none']),
      eventId: open.queueEventId,
      hostTimeNs: ns(timeMs),
      readyHostTimeNs: ns(readyMs),
      submissionId: BigInt(operation.id),
      commandBufferId,
      allocationId,
      ...place,
      waitCount: request?.waitCount ?? 0,
      signalCount: request?.signalCount ?? 0,
      operationCount: request?.commands?.commands.length ?? 1,
      payloadLength: BigInt(request?.payloadBytes ?? 0),
    });
  }

  #hostExecution({ operation, request, startMs, endMs, failure }: Event<'host-execution'>): void {
    const place = this.#place(operation);
    const eventId = ++this.#lastEventId;
    const { commands, allocation, dispatch, payloadBytes = 0 } = request;
    this.#add(HOST_EXECUTION_EVENTS, {
      type: typeOf(operation),
      flags: commands === undefined ? 0 : HOST_EXECUTION_FLAG.commandBuffer,
      statusCode: failure?.statusValue ?? 0,
      eventId,
      submissionId: BigInt(operation.id),
      commandBufferId: commands === undefined ? 0n : this.#commandBuffers.of(commands),
      ...(dispatch !== undefined && {
        executableId: this.#executables.of(dispatch.entry.executable),
        exportOrdinal: dispatch.entry.ordinal,
        workgroupCount: dispatch.groups,
        workgroupSize: dispatch.workgroupSize,
      }),
      allocationId: allocation === undefined ? 0n : this.#allocation(allocation, operation),
      ...place,
      startHostTimeNs: ns(startMs),
      endHostTimeNs: ns(endMs),
      payloadLength: BigInt(payloadBytes),
      operationCount: commands?.commands.length ?? 1,
    });
    const queueEventId = this.#open.get(operation.id)?.queueEventId;
    if (queueEventId === undefined) this.#relate(place, 'host_execution_event', BigInt(operation.id), eventId);
    else this.#relate(place, 'host_execution_event', queueEventId, eventId, 'queue_event');
  }

  #deviceQueueEvent({ operation, startTicks, endTicks, kernelCount }: OperationTimes): void {
    const open = this.#open.get(operation.id);
    const place = this.#place(operation);
    const eventId = ++this.#lastEventId;
    this.#add(QUEUE_DEVICE_EVENTS, {
      type: typeOf(operation),
      eventId,
      submissionId: BigInt(operation.id),
      commandBufferId: open?.commandBufferId ?? 0n,
      ...place,
      operationCount: kernelCount,
      payloadLength: BigInt(open?.submitted.request?.payloadBytes ?? 0),
      startTick: startTicks,
      endTick: endTicks,
    });
    this.#relate(place, 'queue_device_event', BigInt(operation.id), eventId);
  }

  #dispatchEvent({ operation, kernel, startTicks, endTicks }: DispatchTimes): void {
    const { entry, groups, workgroupSize, commandIndex, commands } = kernel;
    const isRecorded = commands instanceof CommandBuffer;
    const place = this.#place(operation);
    const eventId = ++this.#lastEventId;
    const record = {
      flags:
        (isRecorded ? DISPATCH_FLAG.commandBuffer : 0) | (groups === undefined ? DISPATCH_FLAG.indirectParameters : 0),
      eventId,
      submissionId: BigInt(operation.id),
      commandBufferId: isRecorded ? this.#commandBuffers.of(commands) : 0n,
      executableId: this.#executables.of(entry.executable),
      ...(commandIndex !== undefined && { commandIndex }),
      exportOrdinal: entry.ordinal,
      workgroupCount: groups ?? [0, 0, 0],
      workgroupSize,
      startTick: startTicks,
      endTick: endTicks,
    };
    this.#add(DISPATCH_EVENTS, record, place);
    this.#lastDispatch = { operation, eventId };
    this.#relate(place, 'dispatch_event', BigInt(operation.id), eventId);
  }

  /** Its dispatch, if it is told of, was told of just before. */
  #counterSample({ operation, deviceOrdinal, kernel, counts, startTicks, endTicks }: Event<'counters'>): void {
    const { entry, commandIndex, commands } = kernel;
    const isRecorded = commands instanceof CommandBuffer;
    const isTold = this.#lastDispatch?.operation === operation;
    const record = {
      flags: (isTold ? COUNTER_SAMPLE_FLAG.dispatchEvent : 0) | (isRecorded ? COUNTER_SAMPLE_FLAG.commandOperation : 0),
      dispatchEventId: isTold ? this.#lastDispatch!.eventId : 0n,
      submissionId: BigInt(operation.id),
      commandBufferId: isRecorded ? this.#commandBuffers.of(commands) : 0n,
      ...(commandIndex !== undefined && { commandIndex }),
      executableId: this.#executables.of(entry.executable),
      exportOrdinal: entry.ordinal,
      ...this.#place(operation),
      startTick: startTicks,
      endTick: endTicks,
    };
    this.#add(COUNTER_SAMPLES, this.#counterSets.ofDispatch(deviceOrdinal, counts, record));
  }

  /** Told of behind its dispatch, as counters are; each trace has a chunk of its own. */
  #trace({ operation, kernel, trace, codeObjects }: Event<'executable-traces'>): void {
    const { entry, commandIndex, commands } = kernel;
    const isTold = this.#lastDispatch?.operation === operation;
    const place = this.#place(operation);
    const record = {
      format: numberOf(TRACE_FORMATS, 'wavewright_waves'),
      traceId: ++this.#lastTraceId,
      dispatchEventId: isTold ? this.#lastDispatch!.eventId : 0n,
      submissionId: BigInt(operation.id),
      commandBufferId: commands instanceof CommandBuffer ? this.#commandBuffers.of(commands) : 0n,
      ...(commandIndex !== undefined && { commandIndex }),
      executableId: this.#executables.of(entry.executable),
      exportOrdinal: entry.ordinal,
      ...place,
      data: encodeTraceData(trace, (pc) => filePlaceOf({ codeObjects }, pc)),
    };
    this.#add(EXECUTABLE_TRACES, record, { ...place });
  }

  #memoryEvent({ kind, user, id, params, sizeBytes, timeMs }: Event<'memory-events'>): void {
    const isQueue = typeof user !== 'string';
    const of = isQueue ? 'queue' : user;
    const queued = isQueue ? this.#allocations.get(user) : undefined;
    this.#add(MEMORY_EVENT_RECORDS, {
      type: numberOf(MEMORY_EVENTS, MEMORY_NAMES[of][kind]),
      flags: isQueue ? MEMORY_FLAG.queueOperation : 0,
      result: 0,
      eventId: ++this.#lastEventId,
      hostTimeNs: ns(timeMs),
      // Queue allocations have numbers of their own, as events of queues name them.
      allocationId: isQueue ? (queued?.id ?? 0n) : BigInt(id) + BUFFER_IDS,
      submissionId: queued?.submissionId ?? 0n,
      physicalDeviceOrdinal: params.deviceOrdinal,
      memoryType: BigInt(params.memoryType.bits),
      bufferUsage: BigInt(params.usage.bits),
      length: BigInt(sizeBytes),
      alignment: BigInt(params.minAlignmentBytes),
    });
  }

  #place({ queue }: OperationInfo): QueuePlace {
    return this.#queues.get(queue)!;
  }

  /** That a submission, or an event of a queue, led to an event. */
  #relate(place: QueuePlace, target: string, sourceId: bigint, targetId: bigint, source = 'queue_submission'): void {
    this.#add(EVENT_RELATIONSHIPS, {
      type: numberOf(RELATIONSHIPS, RELATIONSHIP_NAMES[`${source} ${target}`]!),
      relationshipId: ++this.#lastRelationshipId,
      sourceType: numberOf(ENDPOINTS, source),
      targetType: numberOf(ENDPOINTS, target),
      ...place,
      sourceId,
      targetId,
    });
  }
}
