/**
 * The consuming side of a queue (HSA system architecture 1.2, sections 2.8 and 2.9): packets start in order;
 * one with the barrier bit waits for all earlier ones, a barrier packet holds back all later ones until its
 * signals allow. A packet stays in its slot until it and all earlier ones are complete, because kernels read
 * their own packet.
 *
 * A dispatch packet becomes a `KernelLaunch` in `#dispatch`, which checks all that it holds. `#reap` looks at
 * what the device made of it: a completion signal, or a fault, which ends the queue (`faults.ts` explains
 * it).
 */

import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { KERNEL_DESCRIPTOR_SIZE_BYTES } from '../../codeobject/kernel-descriptor.ts';
import { kernelName } from '../../codeobject/kernel-name.ts';
import type { Occupancy } from '../../codeobject/occupancy.ts';
import type { Device } from '../../device/device.ts';
import type { Fault } from '../../device/fault.ts';
import type { GuestAddress } from '../../device/guest-address.ts';
import type { Dispatch } from '../../device/launch.ts';
import type { GuestMemory } from '../../device/memory.ts';
import type { DispatchStatistics } from '../../device/statistics.ts';
import { addStatistics, NO_STATISTICS } from '../../device/statistics.ts';
import { checkLaunchSizes } from '../../launch/launch-sizes.ts';
import type { Agent } from '../objects/agent.ts';
import { AQL_PACKET_SIZE_BYTES, PACKET_TYPE } from '../objects/layouts.ts';
import type { ResidentKernel } from '../objects/resident-code.ts';
import { HsaError, statusError } from '../objects/status.ts';
import { completeSignal, conditionHolds, guestSignalWords, signalValue } from '../signals/signal.ts';
import { explainFault, faultError, sourceAt } from './faults.ts';
import {
  decodeBarrier,
  decodeBarrierValue,
  decodeHeader,
  decodeKernelDispatch,
  type Extent,
  type KernelDispatchPacket,
} from './packet.ts';
import { withinDevice } from './within-device.ts';

export interface QueueError {
  readonly error: WavewrightError;
  readonly packetIndex: bigint;
  readonly fault?: Fault;
  /** The name of the kernel that failed, where its executable is still there. */
  readonly kernel?: string;
}

/** A packet that is over, however it ended. */
export interface FinishedPacket {
  readonly packetIndex: bigint;
  readonly completionSignal: GuestAddress;
  /** Absent for a barrier packet. */
  readonly dispatch: Dispatch | undefined;
  /** The name of the kernel, where its executable was there when it started. */
  readonly kernel: string | undefined;
  /** In work-items; 0 for a barrier packet. */
  readonly gridSize: Extent;
  readonly workgroupSize: Extent;
  /** Of a workgroup; 0 for a barrier packet. */
  readonly ldsSizeBytes: number;
  /** What `kernel` is the name of. */
  readonly resident: ResidentKernel | undefined;
}

/** Of the kernel of a packet; undefined where that is not known. */
export function occupancyIn({
  resident,
  workgroupSize: [x, y, z],
  ldsSizeBytes,
}: Pick<FinishedPacket, 'resident' | 'workgroupSize' | 'ldsSizeBytes'>): Occupancy | undefined {
  return resident?.occupancy(x * y * z, ldsSizeBytes);
}

const NO_EXTENT: Extent = [0, 0, 0];

/** Who is told what comes of packets. */
export interface PacketListener {
  /** Called once at most, with what stopped the queue. */
  onError(error: QueueError): void;
  /** Called once for each packet that started. */
  onPacket?(packet: FinishedPacket): void;
}

/** What the processor needs to know of its queue. */
export interface PacketSource {
  readonly address: bigint;
  readonly ringAddress: bigint;
  readonly ring: Uint8Array<SharedArrayBuffer>;
  readonly sizePackets: number;
  readDispatchId: bigint;
  /** Whether a doorbell rang since the last call. */
  takeDoorbell(): boolean;
}

/** What takes packets out of a queue. */
export interface PacketConsumer {
  readonly statistics: DispatchStatistics;
  readonly running: boolean;
  /** Returns whether anything moved. */
  process(): boolean;
  stop(): void;
  describeWaves(): string[];
}

interface StartedPacket {
  readonly index: bigint;
  readonly completionSignal: GuestAddress;
  /** Absent for barrier packets, which are complete once started. */
  readonly dispatch: Dispatch | undefined;
  readonly packet?: KernelDispatchPacket<GuestAddress>;
  readonly kernel?: string | undefined;
  readonly resident?: ResidentKernel | undefined;
  /** The private memory that a work-item of the kernel got, for the hint of a fault in the stack. */
  readonly privateSizeBytes?: number;
  complete: boolean;
}

/** The packet's wish, raised to what a known kernel needs with all that it calls. */
const privateBytes = (kernel: ResidentKernel | undefined, packetBytes: number): number =>
  kernel?.privateBytesFor(packetBytes) ?? packetBytes;

export class PacketProcessor implements PacketConsumer {
  readonly #agent: Agent;
  readonly #device: Device;
  /**
   * All addresses that packets hold are looked up here, so that they lead nowhere that the GPU may not go.
   */
  readonly #memory: GuestMemory;
  readonly #queue: PacketSource;
  readonly #listener: PacketListener;
  readonly #words: Int32Array<SharedArrayBuffer>;
  /** Of an index, what says its slot. */
  readonly #slotMask: bigint;
  /** Packets that started and are not retired yet, oldest first. */
  readonly #started: StartedPacket[] = [];
  #next = 0n;
  #rung = false;
  #stopped = false;
  #statistics = NO_STATISTICS;

  constructor(agent: Agent, queue: PacketSource, listener: PacketListener) {
    this.#agent = agent;
    this.#device = agent.requireDevice();
    this.#memory = this.#device.memory;
    this.#queue = queue;
    this.#listener = listener;
    const { ring } = queue;
    this.#slotMask = BigInt(queue.sizePackets - 1);
    this.#words = new Int32Array(ring.buffer, ring.byteOffset, ring.byteLength / 4);
    for (let slot = 0; slot < queue.sizePackets; slot++) this.#setInvalid(slot);
  }

  /** Totals over all completed dispatches. */
  get statistics(): DispatchStatistics {
    return this.#statistics;
  }

  get running(): boolean {
    return this.#started.some(({ dispatch }) => dispatch?.state === 'running');
  }

  /**
   * Completes what the device finished, starts what may start; returns whether anything did. Never throws for
   * what a packet holds.
   */
  process(): boolean {
    if (this.#stopped) return false;
    let moved = this.#reap();
    // A kernel may hand over a packet of its own queue that was reserved and rung for before.
    this.#rung = this.#queue.takeDoorbell() || this.#rung || moved;
    // What is complete is looked for when nothing more starts: each look goes through all that has started.
    let hasStarted = true;
    while (this.#rung && !this.#stopped && hasStarted) {
      hasStarted = this.#startNext();
      if (!hasStarted) hasStarted = this.#reap();
      moved ||= hasStarted;
    }
    return moved;
  }

  /** Cancels what runs; nothing starts or completes any more. Idempotent. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    for (const packet of this.#started) {
      if (packet.dispatch === undefined || packet.complete) continue;
      packet.dispatch.cancel();
      this.#finish(packet);
    }
  }

  describeWaves(): string[] {
    const sourceOf = (pc: bigint): string | undefined => {
      const source = sourceAt(this.#agent, pc);
      return source && `${source.file}:${source.line}:${source.column}`;
    };
    return this.#started.flatMap(({ dispatch }) =>
      dispatch?.state === 'running' ? dispatch.describeWaves(sourceOf) : [],
    );
  }

  /** Returns whether a packet completed or failed. */
  #reap(): boolean {
    let moved = false;
    for (const packet of this.#started) {
      if (this.#stopped) return true;
      const { dispatch } = packet;
      if (packet.complete || dispatch === undefined || dispatch.state === 'running') continue;
      if (dispatch.state === 'complete') this.#complete(packet, dispatch.startTicks, dispatch.endTicks);
      else if (dispatch.fault !== undefined) this.#fail(packet, dispatch.fault);
      else
        this.#refuse(packet.index, dispatch.error ?? new HsaError('ERROR', 'the dispatch was cancelled', {}, 'USAGE'));
      moved = true;
    }
    while (this.#started[0]?.complete) {
      const { index } = this.#started.shift()!;
      this.#setInvalid(this.#slot(index));
      this.#queue.readDispatchId = index + 1n;
    }
    return moved;
  }

  #complete(packet: StartedPacket, startTicks: bigint, endTicks: bigint): void {
    packet.complete = true;
    this.#finish(packet);
    if (packet.completionSignal === 0n) return;
    try {
      completeSignal(this.#memory, packet.completionSignal, startTicks, endTicks);
    } catch (error) {
      // The signal was there when the packet started; since then its memory may be gone, or GPU code wrote to
      // it.
      this.#refuse(packet.index, error);
    }
  }

  #finish({ packet, kernel, resident, dispatch, index: packetIndex, completionSignal }: StartedPacket): void {
    if (dispatch !== undefined) this.#statistics = addStatistics(this.#statistics, dispatch.statistics);
    const { gridSize = NO_EXTENT, workgroupSize = NO_EXTENT, groupSegmentSizeBytes: ldsSizeBytes = 0 } = packet ?? {};
    const of = { packetIndex, completionSignal, dispatch, kernel, resident, gridSize, workgroupSize, ldsSizeBytes };
    this.#listener.onPacket?.(of);
  }

  #fail({ index: packetIndex, kernel, privateSizeBytes }: StartedPacket, found: Fault): void {
    this.stop();
    const fault = explainFault(found, this.#agent);
    this.#listener.onError({
      error: faultError(fault, this.#agent, { kernel, privateSizeBytes }),
      packetIndex,
      fault,
      ...(kernel !== undefined && { kernel }),
    });
  }

  /** Ends the queue with what a packet can be refused for; a defect of ours is thrown on. */
  #refuse(packetIndex: bigint, error: unknown): void {
    if (!(error instanceof WavewrightError)) throw error;
    this.stop();
    const place = { section: `AQL packet ${packetIndex}` };
    this.#listener.onError({ error: statusError('ERROR', error).within(place), packetIndex });
  }

  /** Returns whether the next packet started. */
  #startNext(): boolean {
    const slot = this.#slot(this.#next);
    const { type, barrier } = decodeHeader(Atomics.load(this.#words, slot * (AQL_PACKET_SIZE_BYTES / 4)));
    if (type === PACKET_TYPE.invalid || this.#started.length >= this.#queue.sizePackets) {
      this.#rung = type !== PACKET_TYPE.invalid;
      return false;
    }
    if (barrier && this.#started.length > 0) return false;
    try {
      const packet = this.#start(type, slot);
      if (packet === undefined) return false;
      this.#started.push(packet);
      this.#next += 1n;
      if (packet.dispatch === undefined) {
        const ticks = this.#device.clock();
        this.#complete(packet, ticks, ticks);
      }
      return true;
    } catch (error) {
      this.#refuse(this.#next, error);
      return false;
    }
  }

  /** `undefined`: a barrier packet whose signals do not allow it yet. */
  #start(type: number, slot: number): StartedPacket | undefined {
    const index = this.#next;
    const { ring } = this.#queue;
    const at = slot * AQL_PACKET_SIZE_BYTES;
    if (type === PACKET_TYPE.kernelDispatch) {
      const packet = decodeKernelDispatch(ring, at);
      const { completionSignal } = packet;
      this.#expectCompletion(completionSignal);
      const kernel = this.#agent.kernels.get(packet.kernelObject);
      const privateSizeBytes = privateBytes(kernel, packet.privateSegmentSizeBytes);
      const dispatch = this.#dispatch(packet, kernel, privateSizeBytes, slot);
      const name = kernel && kernelName(kernel);
      return {
        index,
        completionSignal,
        dispatch,
        packet,
        kernel: name,
        resident: kernel,
        privateSizeBytes,
        complete: false,
      };
    }
    if (type === PACKET_TYPE.barrierAnd || type === PACKET_TYPE.barrierOr) {
      const { dependencies, completionSignal } = decodeBarrier(ring, at);
      this.#expectCompletion(completionSignal);
      const done = dependencies.map((address) => signalValue(this.#memory, address) === 0n);
      const allowed =
        type === PACKET_TYPE.barrierAnd ? !done.includes(false) : done.length === 0 || done.includes(true);
      return allowed ? { index, completionSignal, dispatch: undefined, complete: false } : undefined;
    }
    if (type === PACKET_TYPE.vendor) {
      const { signal, condition, value, mask, completionSignal } = decodeBarrierValue(ring, at);
      this.#expectCompletion(completionSignal);
      const allowed = signal === 0n || conditionHolds(condition, signalValue(this.#memory, signal) & mask, value);
      return allowed ? { index, completionSignal, dispatch: undefined, complete: false } : undefined;
    }
    throw new HsaError(
      'INVALID_PACKET_FORMAT',
      `packet type ${type}, expected a kernel dispatch (2), a barrier-AND (3), a barrier-OR (5) or a barrier-value (0)`,
    );
  }

  /** Throws INVALID_SIGNAL where the packet could not complete its signal. */
  #expectCompletion(signal: GuestAddress): void {
    if (signal !== 0n) guestSignalWords(this.#memory, signal, 'write');
  }

  #dispatch(
    packet: KernelDispatchPacket<GuestAddress>,
    kernel: ResidentKernel | undefined,
    privateSegmentSizeBytes: number,
    slot: number,
  ): Dispatch {
    const { properties } = this.#device;
    const { dimensions, groupSegmentSizeBytes, kernelObject } = packet;
    if (dimensions === 0) {
      throw new HsaError('INCOMPATIBLE_ARGUMENTS', 'a kernel dispatch of 0 dimensions, expected 1 to 3');
    }
    const workgroupSize = usedExtent(packet.workgroupSize, dimensions, 'workgroup');
    const gridSize = usedExtent(packet.gridSize, dimensions, 'grid');
    const workItems = workgroupSize[0] * workgroupSize[1] * workgroupSize[2];
    if (workItems > properties.maxWorkgroupSize) {
      const what = `a workgroup of ${workgroupSize.join(' x ')} work-items`;
      throw new HsaError(
        'INVALID_ARGUMENT',
        `${what}, ${this.#device.name} takes at most ${properties.maxWorkgroupSize}`,
      );
    }
    const isAligned = kernelObject % 64n === 0n;
    if (!isAligned || this.#memory.guestView(kernelObject, KERNEL_DESCRIPTOR_SIZE_BYTES, 'read') === undefined) {
      const what = `no kernel descriptor at ${hex(kernelObject)}`;
      throw new HsaError('INVALID_CODE_OBJECT', `${what}: expected a 64-byte aligned one that the GPU may read`);
    }
    const sizes = { groupSegmentSizeBytes, privateSegmentSizeBytes };
    withinDevice(() => checkLaunchSizes(this.#device, kernel, sizes));
    if (kernel?.maxWorkgroupSize !== undefined && workItems > kernel.maxWorkgroupSize) {
      const what = `a workgroup of ${workItems} work-items`;
      throw new HsaError('OUT_OF_REGISTERS', `${what}, ${kernel.name} has registers for ${kernel.maxWorkgroupSize}`);
    }
    const launch = {
      workgroupSize,
      gridSize,
      entry: kernelObject,
      argumentsAddress: packet.kernargAddress,
      resources: { privateSizeBytes: privateSegmentSizeBytes, groupSizeBytes: groupSegmentSizeBytes },
      origin: {
        queueAddress: this.#queue.address,
        packetAddress: this.#queue.ringAddress + BigInt(slot * AQL_PACKET_SIZE_BYTES),
        index: this.#next,
      },
    };
    // The descriptor may ask for more than the packet.
    return withinDevice(() => this.#device.dispatch(launch));
  }

  #slot(index: bigint): number {
    return Number(index & this.#slotMask);
  }

  #setInvalid(slot: number): void {
    Atomics.store(this.#words, slot * (AQL_PACKET_SIZE_BYTES / 4), PACKET_TYPE.invalid);
  }
}

/** Sizes of the dimensions in use; a packet may leave the others 0 or 1. */
function usedExtent(sizes: Extent, dimensions: number, what: string): Extent {
  const checked: [number, number, number] = [1, 1, 1];
  for (let dimension = 0; dimension < 3; dimension++) {
    const size = sizes[dimension]!;
    const used = dimension < dimensions;
    if (used ? size === 0 : size > 1) {
      throw new HsaError(
        'INVALID_ARGUMENT',
        `${what} size ${size} in dimension ${dimension} of a ${dimensions}-dimensional dispatch, expected ${used ? 'at least 1' : '1'}`,
      );
    }
    if (used) checked[dimension] = size;
  }
  return checked;
}
