/**
 * A user-mode queue: an `amd_queue_t` and a ring of AQL packets in device memory (HSA runtime 1.2, section
 * 2.5). Any code that knows the structures may produce packets; `dispatch` and `barrier` do it for host code.
 */

import { hex } from '../../base/text.ts';
import type { Device } from '../../device/device.ts';
import type { DispatchStatistics } from '../../device/statistics.ts';
import type { Agent } from '../objects/agent.ts';
import { expectHandle } from '../objects/handles.ts';
import { MAX_QUEUE_SIZE_PACKETS } from '../objects/info-table.ts';
import {
  AQL_PACKET_SIZE_BYTES,
  QUEUE,
  QUEUE_PROFILING,
  QUEUE_PROPERTIES,
  SIGNAL,
  SIGNAL_KIND,
} from '../objects/layouts.ts';
import { HSA_STATUS, HsaError, withStatus } from '../objects/status.ts';
import {
  expectSignals,
  type LoadOrder,
  type MemoryOrder,
  type Progress,
  type Signal,
  type StoreOrder,
} from '../signals/signal.ts';
import { type Extent, encodeBarrier, encodeBarrierValue, encodeKernelDispatch } from './packet.ts';
import type { BarrierOptions, BarrierValueOptions, DispatchOptions } from './packet-options.ts';
import {
  type FinishedPacket,
  type PacketConsumer,
  type PacketListener,
  PacketProcessor,
  type PacketSource,
  type QueueError,
} from './packet-processor.ts';

/** hsa_queue_type_t, in its order. */
export const QUEUE_TYPES = ['multi', 'single', 'cooperative'] as const;
export type QueueType = (typeof QUEUE_TYPES)[number];

/** hsa_amd_queue_priority_t, in its order. */
export const QUEUE_PRIORITIES = ['low', 'normal', 'high'] as const;
export type QueuePriority = (typeof QUEUE_PRIORITIES)[number];

export interface QueueOptions {
  /**
   * Who writes packets: many at once, one at a time; or kernels whose workgroups wait for each other. Default
   * `multi`.
   */
  type?: QueueType;
  /** Private memory of a work-item that the queue should keep. A hint: a dispatch gets what it needs. */
  privateSegmentSizeBytes?: number;
  /** Group memory of a workgroup. A hint, too. */
  groupSegmentSizeBytes?: number;
  /** Packets of the ring: a power of two from 1 to 131,072. Default 64. */
  sizePackets?: number;
  /** Called once, when a packet or a kernel fails; the queue is inactive then. */
  onError?: (error: QueueError, queue: Queue) => void;
  /** Called when a packet is over, however it ended. */
  onPacket?: (packet: FinishedPacket, queue: Queue) => void;
}

/** What a queue has of its runtime. */
export interface QueueOwner {
  readonly agent: Agent;
  readonly device: Device;
  readonly id: number;
  readonly runtime: Progress;
  onError(queue: Queue, error: QueueError): void;
  onDispose(queue: Queue): void;
  /** A queue's priority changed. */
  onPriority?(): void;
}

/** Private memory of a lane that a queue can be asked for, and what stands for no wish. */
const MAX_PRIVATE_BYTES = 262_128;
const NO_WISH = 0xffff_ffff;
/**
 * Behind the queue structure: the doorbell signal, the word it rings, the inactive signal; the ring starts on
 * the next page.
 */
const DOORBELL_SIGNAL = QUEUE.sizeBytes;
const DOORBELL = DOORBELL_SIGNAL + SIGNAL.sizeBytes;
const INACTIVE_SIGNAL = DOORBELL + 64;
const RING = 4096;
const NEVER_RUNG = -1n;

export class Queue implements Disposable {
  readonly agent: Agent;
  readonly id: number;
  readonly type: QueueType;
  readonly sizePackets: number;
  /** Address of the `amd_queue_t`. */
  readonly address: bigint;
  readonly ringAddress: bigint;
  /** Live view of the packets. */
  readonly ring: Uint8Array<SharedArrayBuffer>;
  readonly #device: Device;
  readonly #owner: QueueOwner;
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #headers: Int32Array<SharedArrayBuffer>;
  readonly #processor: PacketConsumer;
  #doorbellSeen = NEVER_RUNG;
  #error: QueueError | undefined;
  #priority: QueuePriority = 'normal';
  #computeUnitMask: Uint32Array;
  #isDisposed = false;

  /** Use `Runtime.createQueue`. */
  constructor(
    owner: QueueOwner,
    options: QueueOptions,
    createConsumer = (queue: PacketSource, listener: PacketListener): PacketConsumer =>
      new PacketProcessor(owner.agent, queue, listener),
  ) {
    const { agent, device, id } = owner;
    const sizePackets = options.sizePackets ?? 64;
    if (!Number.isInteger(sizePackets) || sizePackets < 1 || (sizePackets & (sizePackets - 1)) !== 0) {
      throw new HsaError('INVALID_ARGUMENT', `a queue of ${sizePackets} packets, expected a power of two`);
    }
    if (sizePackets > MAX_QUEUE_SIZE_PACKETS) {
      throw new HsaError(
        'OUT_OF_RESOURCES',
        `a queue of ${sizePackets} packets, the maximum is ${MAX_QUEUE_SIZE_PACKETS}`,
      );
    }
    const { type = 'multi' } = options;
    checkOptions(options, device);
    const sizeBytes = RING + sizePackets * AQL_PACKET_SIZE_BYTES;
    this.agent = agent;
    this.id = id;
    this.type = type;
    this.#computeUnitMask = allComputeUnits(agent);
    this.sizePackets = sizePackets;
    this.address = withStatus('INVALID_QUEUE_CREATION', () =>
      device.memory.allocate(sizeBytes, { label: `queue ${id}` }),
    );
    this.ringAddress = this.address + BigInt(RING);
    const bytes = device.memory.view(this.address, sizeBytes);
    this.ring = bytes.subarray(RING);
    this.#headers = new Int32Array(bytes.buffer, bytes.byteOffset + RING, (sizePackets * AQL_PACKET_SIZE_BYTES) / 4);
    this.#device = device;
    this.#owner = owner;
    this.#words = new BigInt64Array(bytes.buffer, bytes.byteOffset, RING / 8);
    this.#initialize(new DataView(bytes.buffer, bytes.byteOffset, RING));
    const { onPacket } = options;
    this.#processor = createConsumer(this, {
      onError: (error) => {
        this.#error = error;
        const status = error.error instanceof HsaError ? error.error.hsaStatus : HSA_STATUS.ERROR.value;
        Atomics.store(this.#words, (INACTIVE_SIGNAL + SIGNAL.value) / 8, BigInt(status));
        owner.onError(this, error);
        options.onError?.(error, this);
      },
      ...(onPacket && { onPacket: (packet) => onPacket(packet, this) }),
    });
  }

  #initialize(data: DataView): void {
    const { properties } = this.#device;
    const set32 = (offset: number, value: number) => data.setUint32(offset, value, true);
    const set64 = (offset: number, value: bigint) => data.setBigInt64(offset, value, true);
    set32(QUEUE.type, QUEUE_TYPES.indexOf(this.type));
    set32(QUEUE.features, 1);
    set64(QUEUE.baseAddress, this.ringAddress);
    set64(QUEUE.doorbellSignal, this.address + BigInt(DOORBELL_SIGNAL));
    set32(QUEUE.sizePackets, this.sizePackets);
    set64(QUEUE.id, BigInt(this.id));
    set32(QUEUE.groupApertureHi, properties.sharedApertureHi);
    set32(QUEUE.privateApertureHi, properties.privateApertureHi);
    set32(QUEUE.maxComputeUnitId, properties.computeUnitCount - 1);
    set32(QUEUE.maxWaveId, properties.maxWavesPerComputeUnit - 1);
    set32(QUEUE.readDispatchIdFieldOffset, QUEUE.readDispatchId);
    set32(QUEUE.properties, QUEUE_PROPERTIES);
    set64(QUEUE.inactiveSignal, this.address + BigInt(INACTIVE_SIGNAL));
    set64(DOORBELL_SIGNAL + SIGNAL.kind, SIGNAL_KIND.doorbell);
    set64(DOORBELL_SIGNAL + SIGNAL.value, this.address + BigInt(DOORBELL));
    set64(DOORBELL_SIGNAL + SIGNAL.queuePtr, this.address);
    set64(DOORBELL, NEVER_RUNG);
    set64(INACTIVE_SIGNAL + SIGNAL.kind, SIGNAL_KIND.user);
  }

  /** Throws NOT_INITIALIZED after the runtime was shut down, INVALID_QUEUE after the queue was destroyed. */
  expectLive(): void {
    this.#owner.runtime.lifetime.expect();
    if (this.#isDisposed) throw new HsaError('INVALID_QUEUE', `queue ${this.id} was destroyed`);
  }

  /** The structure in memory, for as long as it is the queue's. */
  get #liveWords(): BigInt64Array<SharedArrayBuffer> {
    this.expectLive();
    return this.#words;
  }

  /** The index of the next packet to reserve. */
  get writeIndex(): bigint {
    return this.loadWriteIndex();
  }

  loadWriteIndex(_order?: LoadOrder): bigint {
    return Atomics.load(this.#liveWords, QUEUE.writeDispatchId / 8);
  }

  /** Reserves packets up to `index`; for queues with one producer. */
  storeWriteIndex(index: bigint, _order?: StoreOrder): void {
    Atomics.store(this.#liveWords, QUEUE.writeDispatchId / 8, index);
  }

  /** Stores `index` if the write index is `expected`; returns what it was. */
  casWriteIndex(expected: bigint, index: bigint, _order?: MemoryOrder): bigint {
    return Atomics.compareExchange(this.#liveWords, QUEUE.writeDispatchId / 8, expected, index);
  }

  /** Reserves `count` packets: returns the index of the first. */
  addWriteIndex(count: bigint, _order?: MemoryOrder): bigint {
    return Atomics.add(this.#liveWords, QUEUE.writeDispatchId / 8, count);
  }

  /** All packets with a lower index are complete; throws once the queue or the runtime is gone. */
  loadReadIndex(_order?: LoadOrder): bigint {
    return Atomics.load(this.#liveWords, QUEUE.readDispatchId / 8);
  }

  /** Which of several queues the runtime looks at first. */
  get priority(): QueuePriority {
    return this.#priority;
  }

  /** hsa_amd_queue_set_priority. Throws INVALID_ARGUMENT for another word. */
  set priority(priority: QueuePriority) {
    this.expectLive();
    if (!QUEUE_PRIORITIES.includes(priority)) {
      throw new HsaError('INVALID_ARGUMENT', `queue priority '${priority}', expected low, normal or high`);
    }
    this.#priority = priority;
    this.#owner.onPriority?.();
  }

  /** Bit n for compute unit n, in words of 32. */
  get computeUnitMask(): Uint32Array {
    this.expectLive();
    return this.#computeUnitMask.slice();
  }

  /**
   * hsa_amd_queue_cu_set_mask; no words: all compute units. Bits of compute units that do not exist are left
   * out. Throws INVALID_ARGUMENT when none is left.
   */
  setComputeUnitMask(mask: Uint32Array): void {
    this.expectLive();
    expectHandle(mask, Uint32Array, 'INVALID_ARGUMENT');
    const all = allComputeUnits(this.agent);
    const wanted = mask.length === 0 ? all : all.map((word, i) => word & (mask[i] ?? 0));
    if (wanted.every((word) => word === 0)) {
      throw new HsaError(
        'INVALID_ARGUMENT',
        `a mask without any of the ${this.agent.info.computeUnitCount} compute units`,
      );
    }
    this.#computeUnitMask = wanted;
  }

  /**
   * Whether the queue asks for times in completion signals (hsa_amd_profiling_set_profiler_enabled). They are
   * written in any case.
   */
  get isProfiled(): boolean {
    return (Number(this.#liveWords[QUEUE.properties >> 3]! >> 32n) & QUEUE_PROFILING) !== 0;
  }

  set isProfiled(isEnabled: boolean) {
    const bit = BigInt(QUEUE_PROFILING) << 32n;
    if (isEnabled) Atomics.or(this.#liveWords, QUEUE.properties >> 3, bit);
    else Atomics.and(this.#liveWords, QUEUE.properties >> 3, ~bit);
  }

  /**
   * Address of the word that a producer stores a packet's index into (hsa_amd_queue_get_info, doorbell id).
   */
  get doorbellAddress(): bigint {
    this.expectLive();
    return this.address + BigInt(DOORBELL);
  }

  /** All packets with a lower index are complete, their slots free. */
  get readDispatchId(): bigint {
    return Atomics.load(this.#words, QUEUE.readDispatchId / 8);
  }

  set readDispatchId(index: bigint) {
    Atomics.store(this.#words, QUEUE.readDispatchId / 8, index);
  }

  /** Tells the packet processor that the packet `index` is ready; several producers may ring in any order. */
  ringDoorbell(index: bigint): void {
    Atomics.store(this.#liveWords, DOORBELL / 8, index);
  }

  takeDoorbell(): boolean {
    const value = Atomics.load(this.#words, DOORBELL / 8);
    const rang = value !== this.#doorbellSeen;
    this.#doorbellSeen = value;
    return rang;
  }

  /** The 64 bytes of the packet `index`, see `packet.ts` for their contents. */
  packet(index: bigint): Uint8Array<SharedArrayBuffer> {
    const offset = Number(index & BigInt(this.sizePackets - 1)) * AQL_PACKET_SIZE_BYTES;
    return this.ring.subarray(offset, offset + AQL_PACKET_SIZE_BYTES);
  }

  /**
   * Writes a kernel dispatch packet and rings the doorbell; waits for a free slot. Returns the packet's
   * index. Throws INVALID_SIGNAL, INVALID_ARGUMENT.
   */
  dispatch(options: DispatchOptions): bigint {
    const dimensions = Math.max(options.grid.length, options.workgroup.length);
    if (dimensions < 1 || dimensions > 3) {
      throw new HsaError('INVALID_ARGUMENT', `a dispatch of ${dimensions} dimensions, expected 1 to 3`);
    }
    const fields = {
      dimensions,
      workgroupSize: extent(options.workgroup, 0xffff, 'workgroup'),
      gridSize: extent(options.grid, 0xffff_ffff, 'grid'),
      privateSegmentSizeBytes: segment(options.privateSegmentSizeBytes, 'private'),
      groupSegmentSizeBytes: segment(options.groupSegmentSizeBytes, 'group'),
      kernelObject: options.kernel,
      kernargAddress: options.kernarg ?? 0n,
      completionSignal: this.#addressOf(options.completionSignal),
    };
    return this.#submit((packet) => encodeKernelDispatch(packet, fields, options.barrier ?? true));
  }

  /** As `dispatch`, for a barrier-AND or barrier-OR packet. */
  barrier(options: BarrierOptions): bigint {
    const count = options.dependencies.length;
    if (count < 1 || count > 5) {
      throw new HsaError('INVALID_ARGUMENT', `a barrier packet with ${count} dependencies, expected 1 to 5`);
    }
    const fields = {
      dependencies: options.dependencies.map((signal) => this.#addressOf(signal)),
      completionSignal: this.#addressOf(options.completionSignal),
    };
    return this.#submit((packet) => encodeBarrier(packet, fields, options.mode, options.barrier ?? true));
  }

  /**
   * As `dispatch`, for AMD's packet that waits until `(signal & mask) condition value`; by default until the
   * signal is 0.
   */
  barrierValue(options: BarrierValueOptions): bigint {
    const fields = {
      signal: this.#addressOf(options.signal),
      condition: options.condition ?? 'eq',
      value: options.value ?? 0n,
      mask: options.mask ?? -1n,
      completionSignal: this.#addressOf(options.completionSignal),
    };
    return this.#submit((packet) => encodeBarrierValue(packet, fields, options.barrier ?? true));
  }

  /** As `dispatch`, for the 64 bytes of any packet. */
  submitPacket(bytes: Uint8Array): bigint {
    if (bytes.length !== AQL_PACKET_SIZE_BYTES) {
      throw new HsaError(
        'INVALID_PACKET_FORMAT',
        `a packet of ${bytes.length} bytes, expected ${AQL_PACKET_SIZE_BYTES}`,
      );
    }
    return this.#submit((packet) => {
      packet.set(bytes.subarray(4), 4);
      return new DataView(bytes.buffer, bytes.byteOffset, 4).getInt32(0, true);
    });
  }

  /**
   * Of a signal in a packet, 0 for none. Throws INVALID_SIGNAL for one that the queue's device could not use.
   */
  #addressOf(signal: Signal | undefined): bigint {
    if (signal === undefined) return 0n;
    expectSignals(this.#owner.runtime, [signal]);
    if (signal.memory === this.#device.memory) return signal.address;
    throw new HsaError('INVALID_SIGNAL', `signal ${hex(signal.address)} is in the memory of another device`);
  }

  #submit(encode: (packet: Uint8Array) => number): bigint {
    this.expectLive();
    if (this.#error !== undefined) throw this.#error.error;
    const index = this.addWriteIndex(1n);
    while (index - this.readDispatchId >= BigInt(this.sizePackets)) {
      if (this.#owner.runtime.progress() === 'idle' && index - this.readDispatchId >= BigInt(this.sizePackets)) {
        throw (
          this.error?.error ??
          new HsaError('OUT_OF_RESOURCES', `queue ${this.id} is full and none of its packets can start`)
        );
      }
    }
    const packet = this.packet(index);
    const headerAndSetup = encode(packet);
    Atomics.store(
      this.#headers,
      Number(index & BigInt(this.sizePackets - 1)) * (AQL_PACKET_SIZE_BYTES / 4),
      headerAndSetup,
    );
    this.ringDoorbell(index);
    return index;
  }

  /** Whether a kernel runs. */
  get running(): boolean {
    return this.#processor.running;
  }

  /** Why the queue is inactive, if a packet or a kernel failed. */
  get error(): QueueError | undefined {
    return this.#error;
  }

  /** Totals over all completed dispatches of this queue. */
  get statistics(): DispatchStatistics {
    return this.#processor.statistics;
  }

  /**
   * Completes and starts what can be; `Runtime.progress` does it for all queues. Returns whether anything
   * did.
   */
  process(): boolean {
    return this.#processor.process();
  }

  /** Cancels what runs; nothing starts or completes any more (`hsa_queue_inactivate`). Idempotent. */
  inactivate(): void {
    this.#processor.stop();
  }

  /** One line per resident wave, for reports of hangs. */
  describeWaves(): string[] {
    return this.#processor.describeWaves();
  }

  /** Stops what runs, then frees the structure and the ring. Idempotent. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.inactivate();
    this.#owner.onDispose(this);
    this.#device.releaseQueue?.(this.address);
    this.#device.memory.free(this.address);
  }
}

function extent(sizes: readonly number[], maximum: number, what: string): Extent {
  for (const size of sizes) {
    if (!Number.isInteger(size) || size < 1 || size > maximum) {
      throw new HsaError('INVALID_ARGUMENT', `${what} size ${size}, expected 1 to ${maximum}`);
    }
  }
  return [sizes[0] ?? 1, sizes[1] ?? 1, sizes[2] ?? 1];
}

/** A packet has 32 bits for the size. */
function segment(sizeBytes: number | undefined, what: string): number {
  if (sizeBytes === undefined) return 0;
  if (Number.isInteger(sizeBytes) && sizeBytes >= 0 && sizeBytes <= 0xffff_ffff) return sizeBytes;
  throw new HsaError('INVALID_ARGUMENT', `a dispatch with ${sizeBytes} bytes of ${what} memory`);
}

/**
 * Throws INVALID_QUEUE_CREATION, INVALID_ARGUMENT and OUT_OF_RESOURCES for what no queue of the device can
 * have.
 */
function checkOptions(options: QueueOptions, device: Device): void {
  const { type = 'multi', privateSegmentSizeBytes = NO_WISH, groupSegmentSizeBytes = NO_WISH } = options;
  if (!QUEUE_TYPES.includes(type)) throw new HsaError('INVALID_ARGUMENT', `queue type '${type}'`);
  for (const size of [privateSegmentSizeBytes, groupSegmentSizeBytes]) {
    if (Number.isInteger(size) && size >= 0 && size <= NO_WISH) continue;
    throw new HsaError('INVALID_ARGUMENT', `a queue with segments of ${size} bytes`);
  }
  const check = (what: string, size: number, maximum: number): void => {
    if (size === NO_WISH || size <= maximum) return;
    throw new HsaError('OUT_OF_RESOURCES', `a queue with ${size} bytes of ${what} memory, the maximum is ${maximum}`);
  };
  check('private', privateSegmentSizeBytes, MAX_PRIVATE_BYTES);
  check('group', groupSegmentSizeBytes, device.properties.ldsSizeBytes);
}

function allComputeUnits({ info }: Agent): Uint32Array {
  const count = info.computeUnitCount;
  return Uint32Array.from({ length: Math.ceil(count / 32) }, (_, i) => 2 ** Math.min(32, count - 32 * i) - 1);
}
