/**
 * Errors of the functions of signals and queues. Those that differ only in the memory order stand together.
 */
import type { Agent } from '../objects/agent.ts';
import {
  agentErrors,
  NULL,
  type Objects,
  operationErrors,
  queueErrors,
  type Refusals,
  signalErrors,
  type World,
} from './world.test-support.ts';

export function signalFunctions(world: World): Record<string, Refusals> {
  const { own, gone, other, ended } = world;
  const wait = (signal: Objects['signal']) => ({ signal, condition: 'eq', value: 1n }) as const;
  const unknown = { ...wait(own.signal), condition: 'x' as 'eq' };
  return {
    'hsa_signal_create, hsa_amd_signal_create': {
      ...agentErrors(world, ({ runtime }, agent) => runtime.createSignal(0n, agent)),
      INVALID_ARGUMENT: [() => own.runtime.createSignal(0n, own.agent, own.agent)],
    },
    'hsa_signal_load_{relaxed,scacquire}': operationErrors(world, (signal) => signal.load()),
    'hsa_signal_store_{relaxed,screlease,release}': operationErrors(world, (signal) => signal.store(0n)),
    hsa_signal_silent_store_relaxed: operationErrors(world, (signal) => signal.silentStore(0n)),
    hsa_signal_add_relaxed: operationErrors(world, (signal) => signal.add(1n)),
    hsa_signal_subtract_relaxed: operationErrors(world, (signal) => signal.subtract(1n)),
    ...Object.fromEntries(
      (['and', 'or', 'xor', 'exchange'] as const).map((operation) => [
        `hsa_signal_${operation}_*`,
        operationErrors(world, (signal) => signal[operation](1n)),
      ]),
    ),
    'hsa_signal_cas_*': operationErrors(world, (signal) => signal.compareAndSwap(0n, 1n)),
    'hsa_signal_wait_{relaxed,acquire,scacquire}': {
      ...operationErrors(world, (signal) => signal.waitSync('eq', 1n)),
      INVALID_ARGUMENT: [() => own.signal.waitSync('x' as 'eq', 1n)],
    },
    hsa_amd_signal_wait_any: {
      ...signalErrors(world, ({ runtime }, signal) => runtime.waitAny([wait(signal)])),
      INVALID_ARGUMENT: [() => own.runtime.waitAny([]), () => own.runtime.waitAny([unknown])],
    },
    hsa_amd_signal_wait_all: {
      ...signalErrors(world, ({ runtime }, signal) => runtime.waitAll([wait(signal)])),
      INVALID_ARGUMENT: [() => own.runtime.waitAll([]), () => own.runtime.waitAll([unknown])],
    },
    hsa_signal_group_create: {
      ...signalErrors(world, ({ runtime, agent }, signal) => runtime.createSignalGroup([signal], [agent])),
      INVALID_AGENT: [NULL, other.agent].map((agent) => () => own.runtime.createSignalGroup([own.signal], [agent])),
      INVALID_ARGUMENT: [
        () => own.runtime.createSignalGroup([], [own.agent]),
        () => own.runtime.createSignalGroup([own.signal], []),
      ],
    },
    hsa_signal_group_wait_any_scacquire: {
      INVALID_SIGNAL_GROUP: [() => gone.signals.waitAny(['eq'], [1n])],
      INVALID_ARGUMENT: [() => own.signals.waitAny([], []), () => own.signals.waitAny(['eq'], [1n, 1n])],
      NOT_INITIALIZED: [() => ended.signals.waitAny(['eq'], [1n])],
    },
    hsa_amd_signal_async_handler: {
      ...signalErrors(world, ({ runtime }, signal) => runtime.onSignal(wait(signal), () => false)),
      INVALID_ARGUMENT: [
        () => own.runtime.onSignal(wait(own.signal), NULL),
        () => own.runtime.onSignal(unknown, () => false),
      ],
    },
    hsa_amd_profiling_get_dispatch_time: {
      ...signalErrors(world, ({ runtime }, signal) => runtime.dispatchTime(signal)),
      INVALID_AGENT: [NULL, other.agent, own.cpu].map((agent) => () => own.runtime.dispatchTime(own.signal, agent)),
    },
    hsa_amd_profiling_convert_tick_to_system_domain: agentErrors(
      world,
      ({ runtime }, agent) => runtime.convertTick(agent, 0n),
      { gpu: true },
    ),
  };
}

export function queueFunctions(world: World): Record<string, Refusals> {
  const { own, gone, other, ended } = world;
  const creates = (create: (objects: Objects, agent: Agent, options?: object) => unknown): Refusals => ({
    ...agentErrors(world, create, { gpu: true }),
    INVALID_ARGUMENT: [
      ...[0, 3, -64, 1.5, Number.NaN].map((sizePackets) => ({ sizePackets })),
      ...[-1, 2 ** 32, 0.5].map((privateSegmentSizeBytes) => ({ privateSegmentSizeBytes })),
      { groupSegmentSizeBytes: -1 },
      { type: 'x' },
    ].map((options) => () => create(own, own.agent, options)),
    OUT_OF_RESOURCES: [
      { sizePackets: 2 ** 18 },
      { privateSegmentSizeBytes: 262_129 },
      { groupSegmentSizeBytes: 2 ** 20 },
    ].map((options) => () => create(own, own.agent, options)),
  });
  const submits = (submit: (queue: Objects['queue'], signal?: Objects['signal']) => unknown): Refusals => ({
    ...queueErrors(world, (queue) => submit(queue)),
    INVALID_SIGNAL: [NULL, gone.signal, other.signal].map((signal) => () => submit(own.queue, signal)),
  });
  const launch = { kernel: 0n, grid: [1], workgroup: [1] };
  const dependent = (signal: Objects['signal'], completionSignal?: Objects['signal']) => ({
    ...{ dependencies: [signal], mode: 'all' as const },
    ...(completionSignal !== undefined && { completionSignal }),
  });
  return {
    hsa_queue_create: creates(({ runtime }, agent, options) => runtime.createQueue(agent, options)),
    hsa_amd_queue_intercept_create: creates(({ runtime }, agent, options) =>
      runtime.createInterceptQueue(agent, options),
    ),
    hsa_amd_queue_intercept_register: {
      INVALID_ARGUMENT: [() => own.intercepted.register(NULL)],
      INVALID_QUEUE: [() => gone.intercepted.register(() => {})],
      NOT_INITIALIZED: [() => ended.intercepted.register(() => {})],
    },
    'hsa_queue_load_read_index_{relaxed,scacquire}': queueErrors(world, (queue) => queue.loadReadIndex()),
    'hsa_queue_load_write_index_{relaxed,scacquire}': queueErrors(world, (queue) => queue.loadWriteIndex()),
    'hsa_queue_store_write_index_{relaxed,release,screlease}': queueErrors(world, (queue) => queue.storeWriteIndex(0n)),
    'hsa_queue_cas_write_index_{relaxed,scacquire,screlease,scacq_screl}': queueErrors(world, (queue) =>
      queue.casWriteIndex(0n, 0n),
    ),
    'hsa_queue_add_write_index_{relaxed,scacquire,screlease,scacq_screl}': queueErrors(world, (queue) =>
      queue.addWriteIndex(0n),
    ),
    'the doorbell': queueErrors(world, (queue) => queue.ringDoorbell(0n)),
    hsa_amd_queue_set_priority: {
      ...queueErrors(world, (queue) => {
        queue.priority = 'high';
      }),
      INVALID_ARGUMENT: ['urgent', NULL].map((priority) => () => {
        own.queue.priority = priority as 'high';
      }),
    },
    hsa_amd_queue_cu_set_mask: {
      ...queueErrors(world, (queue) => queue.setComputeUnitMask(Uint32Array.of(1))),
      INVALID_ARGUMENT: [NULL, Uint32Array.of(0), Uint8Array.of(1) as never].map(
        (mask) => () => own.queue.setComputeUnitMask(mask),
      ),
    },
    hsa_amd_queue_cu_get_mask: queueErrors(world, (queue) => queue.computeUnitMask),
    hsa_amd_queue_get_info: queueErrors(world, (queue) => queue.doorbellAddress),
    hsa_amd_profiling_set_profiler_enabled: queueErrors(world, (queue) => {
      queue.isProfiled = true;
    }),
    'kernel dispatch packets': {
      ...submits((queue, completionSignal) =>
        queue.dispatch({ ...launch, ...(completionSignal !== undefined && { completionSignal }) }),
      ),
      INVALID_ARGUMENT: [
        { grid: [], workgroup: [] },
        { grid: [1, 1, 1, 1] },
        { grid: [0] },
        { grid: [2 ** 32] },
        { workgroup: [0] },
        { workgroup: [2 ** 16] },
      ].map((wrong) => () => own.queue.dispatch({ ...launch, ...wrong })),
    },
    'barrier packets': {
      ...submits((queue, signal) => queue.barrier(signal === undefined ? dependent(own.signal) : dependent(signal))),
      INVALID_ARGUMENT: [0, 6].map(
        (count) => () => own.queue.barrier({ dependencies: Array(count).fill(own.signal), mode: 'all' }),
      ),
    },
    'completion of barrier packets': submits((queue, signal) => queue.barrier(dependent(own.signal, signal))),
    'barrier-value packets': submits((queue, signal) => queue.barrierValue(signal === undefined ? {} : { signal })),
    'other packets': {
      ...queueErrors(world, (queue) => queue.submitPacket(new Uint8Array(64))),
      INVALID_PACKET_FORMAT: [() => own.queue.submitPacket(new Uint8Array(63))],
    },
  };
}
