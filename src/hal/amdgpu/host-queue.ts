/**
 * An HSA queue that is driven from the host: commands become packets, one epoch signal counts those that are
 * complete. Every batch of packets begins behind all earlier ones, so that they complete in order. What finds
 * no room in one of the rings (packets, arguments, notifications) is parked, and goes on when something ends.
 */
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Queue } from '../../hsa/queues/queue.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import type { Signal } from '../../hsa/signals/signal.ts';
import type { CommandDone, QueueBackend } from '../backend/backend.ts';
import { type BackendCommand, type DispatchCommand, type TransferCommand, transferOnHost } from '../backend/command.ts';
import { HalError, invalidArgument, type OperationInfo } from '../core/status.ts';
import type { StorageRange } from '../memory/buffer-ref.ts';
import { AqlRing } from './aql-ring.ts';
import { AmdgpuCode } from './code.ts';
import { KERNARG_BLOCK_BYTES, KernargRing, type KernargSpan } from './kernarg-ring.ts';
import { LaunchTemplate } from './kernel-launch.ts';
import type { DeviceLibrary } from './library/device-library.ts';
import { NotificationRing } from './notification-ring.ts';
import { DispatchBatch, LibraryBatch, type PacketBatch } from './packet-batch.ts';

/** What the epoch signal starts with: it can be lowered for ever. */
const INITIAL_EPOCH_VALUE = 2n ** 62n;

/** How much of a queue can be in flight; what is above is parked. */
export interface RingSizes {
  /** AQL packets: a power of two. */
  readonly packets: number;
  /** Submissions whose end nobody was told of. */
  readonly notifications: number;
  /** Blocks of 64 bytes for arguments. */
  readonly kernargBlocks: number;
}

export interface HostQueueOptions {
  readonly runtime: Runtime;
  readonly agent: Agent;
  readonly rings: RingSizes;
  /** Does the transfers; without one the host does. */
  readonly library?: DeviceLibrary | undefined;
}

/** Packets that were submitted together: parked first, then in the rings. */
interface Submitted {
  readonly batch: PacketBatch;
  readonly operation: OperationInfo;
  readonly done: CommandDone;
  /** What the epoch signal counts when it is complete. */
  epoch: number;
  /** The first packet, and the one behind the last. */
  start: number;
  end: number;
  /** Up to where the ring of arguments is free when it is complete. */
  kernargEnd: number;
}

export class HostQueue implements QueueBackend {
  readonly #options: HostQueueOptions;
  readonly #templates = new WeakMap<object, LaunchTemplate>();
  readonly #inFlight: NotificationRing<Submitted>;
  /** Allocated for the first packets. */
  #kernargs: KernargRing | undefined;
  #ring: AqlRing;
  #epochSignal: Signal;
  /** The last epoch that was submitted; the first is 1. */
  #epoch = 0;
  /** For the first words of the packets of one batch. */
  #headers = new Int32Array(8);
  #parked: Submitted[] = [];
  #isDisposed = false;

  constructor(options: HostQueueOptions) {
    this.#options = options;
    this.#inFlight = new NotificationRing(options.rings.notifications);
    this.#epochSignal = this.#createSignal();
    this.#ring = new AqlRing(this.#createQueue());
  }

  #createQueue(): Queue {
    const { runtime, agent, rings } = this.#options;
    return runtime.createQueue(agent, { sizePackets: rings.packets });
  }

  #createSignal(): Signal {
    const { runtime, agent } = this.#options;
    return runtime.createSignal(INITIAL_EPOCH_VALUE, agent);
  }

  /** Whether anything is in the rings or parked. */
  get isBusy(): boolean {
    return this.#inFlight.size > 0 || this.#parked.length > 0;
  }

  begin(command: BackendCommand, operation: OperationInfo, done: CommandDone): void {
    const batch = command.kind === 'dispatch' ? this.#dispatch(command) : this.#transfer(command);
    // Nothing is left to run, and its waits are over.
    if (batch === undefined) done();
    else this.submit(batch, operation, done);
  }

  /** `done` is called when the last packet is complete. */
  submit(batch: PacketBatch, operation: OperationInfo, done: CommandDone): void {
    const parked = { batch, operation, done, epoch: 0, start: 0, end: 0, kernargEnd: 0 };
    if (this.#parked.length > 0 || !this.#submit(parked)) this.#parked.push(parked);
  }

  #dispatch(command: DispatchCommand): PacketBatch | undefined {
    if (command.groups.includes(0)) return undefined;
    return new DispatchBatch(this.#templateOf(command), command);
  }

  /** Memory of other GPUs is the host's to copy. */
  #transfer(command: TransferCommand): PacketBatch | undefined {
    const { library } = this.#options;
    const ranges = command.kind === 'copy' ? [command.source, command.target] : [command.target];
    if (library === undefined || !ranges.every((range) => this.#reaches(range))) {
      transferOnHost(command);
      return undefined;
    }
    const launch = library.transfer(command);
    if (launch === undefined || launch.kernargBytes <= this.#options.rings.kernargBlocks * KERNARG_BLOCK_BYTES) {
      return launch && new LibraryBatch(launch);
    }
    // Contents that no ring holds.
    transferOnHost(command);
    return undefined;
  }

  #reaches({ storage: { address } }: StorageRange): boolean {
    return address !== undefined && this.#options.agent.requireDevice().memory.find(address) !== undefined;
  }

  /** The last one of the kernel, where it fits. */
  #templateOf(command: DispatchCommand): LaunchTemplate {
    const kernel = this.#kernelOf(command);
    const last = this.#templates.get(kernel);
    if (last?.fits(command)) return last;
    const template = new LaunchTemplate(this.#options.agent.requireDevice(), kernel, command);
    this.#templates.set(kernel, template);
    return template;
  }

  #kernelOf({ entry }: DispatchCommand) {
    const { code } = entry.executable;
    if (code instanceof AmdgpuCode) return code.kernel(this.#options.agent, entry.ordinal);
    throw invalidArgument(`'${entry.name}' is no kernel of a code object`);
  }

  /** Returns whether there was room; nothing has changed where there was none. */
  #submit(submitted: Submitted): boolean {
    const { batch } = submitted;
    const { packetCount, kernargBytes } = batch;
    const ring = this.#ring;
    if (this.#inFlight.isFull || ring.queue.error !== undefined || !ring.hasRoom(packetCount)) return false;
    const { runtime, agent, rings } = this.#options;
    this.#kernargs ??= new KernargRing(runtime, agent, rings.kernargBlocks);
    const kernarg = this.#kernargs.reserve(kernargBytes);
    if (kernarg === undefined) return false;
    try {
      this.#encode(batch, kernarg);
    } catch (error) {
      this.#kernargs.cancel(kernarg, kernargBytes);
      throw error;
    }
    submitted.start = ring.writeIndex;
    submitted.end = submitted.start + packetCount;
    submitted.epoch = ++this.#epoch;
    submitted.kernargEnd = kernarg.end;
    ring.publish(this.#headers, packetCount);
    this.#inFlight.push(submitted);
    return true;
  }

  #encode(batch: PacketBatch, { offsetBytes, address }: KernargSpan): void {
    const ring = this.#ring;
    if (this.#headers.length < batch.packetCount) this.#headers = new Int32Array(2 * batch.packetCount);
    const place = {
      queueAddress: ring.queue.address,
      kernargs: this.#kernargs!,
      offsetBytes,
      address,
      completionSignal: this.#epochSignal.address,
      packet: (index: number) => ring.packet(index),
    };
    batch.encode(place, this.#headers);
  }

  /** Ends what is complete and submits what waited for room. Returns whether anything happened. */
  drain(): boolean {
    if (!this.isBusy) return false;
    const completed = Number(INITIAL_EPOCH_VALUE - this.#epochSignal.load());
    let hasMoved = false;
    for (let first = this.#inFlight.first; first !== undefined && first.epoch <= completed; ) {
      this.#inFlight.shift();
      this.#kernargs!.release(first.kernargEnd);
      first.done();
      hasMoved = true;
      first = this.#inFlight.first;
    }
    if (this.#ring.queue.error !== undefined) {
      this.#recover();
      hasMoved = true;
    }
    return (this.#parked.length > 0 && this.#unpark()) || hasMoved;
  }

  #unpark(): boolean {
    let count = 0;
    for (const parked of this.#parked) {
      try {
        if (!this.#submit(parked)) break;
      } catch (error) {
        parked.done(error);
      }
      count++;
    }
    this.#parked.splice(0, count);
    return count > 0;
  }

  /**
   * A kernel or a packet failed, which ends an HSA queue: everything that is in it fails, and what comes
   * later has a queue of its own.
   */
  #recover(): void {
    const { error, packetIndex } = this.#ring.queue.error!;
    const lost = this.#inFlight.takeAll();
    this.#ring.queue[Symbol.dispose]();
    this.#epochSignal[Symbol.dispose]();
    this.#epochSignal = this.#createSignal();
    this.#epoch = 0;
    this.#ring = new AqlRing(this.#createQueue());
    this.#kernargs!.release(lost.at(-1)!.kernargEnd);
    for (const { start, end, done } of lost) {
      const other = () => new HalError('ABORTED', 'an operation before it ended the queue', { cause: error });
      done(start <= packetIndex && packetIndex < end ? error : other());
    }
  }

  /** Stops what runs; nobody is told. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#ring.queue[Symbol.dispose]();
    this.#epochSignal[Symbol.dispose]();
    this.#kernargs?.[Symbol.dispose]();
    this.#parked = [];
    this.#inFlight.takeAll();
  }
}
