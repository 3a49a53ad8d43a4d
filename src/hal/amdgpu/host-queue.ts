/**
 * An HSA queue that is driven from the host: commands become packets, one epoch signal counts those that are
 * complete. Every batch of packets ends behind all earlier ones, so that they complete in order. What finds
 * no room in one of the rings (packets, arguments, notifications) is parked, and goes on when something ends.
 */
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Queue } from '../../hsa/queues/queue.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import type { Signal } from '../../hsa/signals/signal.ts';
import type { CommandDone } from '../backend/backend.ts';
import {
  type BackendCommand,
  type DispatchCommand,
  type TransferCommand,
  transferOnHost,
  type UpdateCommand,
} from '../backend/command.ts';
import type { CommandBuffer } from '../commands/command-buffer.ts';
import type { Execution, ProgramBackend } from '../commands/program-backend.ts';
import { MAX_UPDATE_BYTES } from '../commands/recorder.ts';
import type { BoundTable } from '../commands/resolve.ts';
import { HalError, type OperationInfo } from '../core/status.ts';
import { AqlRing } from './aql-ring.ts';
import { kernelOf } from './code.ts';
import { KERNARG_BLOCK_BYTES, KernargRing, type KernargSpan } from './kernarg-ring.ts';
import { LaunchTemplate } from './kernel-launch.ts';
import type { DeviceLibrary } from './library/device-library.ts';
import { NotificationRing } from './notification-ring.ts';
import { DispatchBatch, LibraryBatch } from './packet-batch.ts';
import type { PacketBatch } from './packets/packet-batch.ts';
import type { CommandProgram } from './program/program.ts';
import { ProgramExecution, type ProgramQueue } from './program/program-execution.ts';
import type { ProgramCache } from './programs.ts';

/** What the epoch signal starts with: it can be lowered for ever. */
const INITIAL_EPOCH_VALUE = 2n ** 62n;

/** Of a batch that needs no arguments in the ring. */
const NO_KERNARGS: KernargSpan = { offsetBytes: 0, address: 0n, end: -1 };

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
  readonly programs: ProgramCache;
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

export class HostQueue implements ProgramBackend, ProgramQueue {
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
    if (command.kind !== 'dispatch') {
      this.#transfer(command, operation, done);
      return;
    }
    // Nothing is to run, and its waits are over.
    if (command.groups.includes(0)) done();
    else this.submit(new DispatchBatch(this.#templateOf(command), command), operation, done);
  }

  /** `done` is called when the last packet is complete. */
  submit(batch: PacketBatch, operation: OperationInfo, done: CommandDone): void {
    const parked = { batch, operation, done, epoch: 0, start: 0, end: 0, kernargEnd: 0 };
    if (this.#parked.length > 0 || !this.#submit(parked)) this.#parked.push(parked);
  }

  /** Memory of other GPUs is the host's to copy. */
  #transfer(command: TransferCommand, operation: OperationInfo, done: CommandDone): void {
    const { library } = this.#options;
    const ranges = command.kind === 'copy' ? [command.source, command.target] : [command.target];
    const areReached = ranges.every(({ storage: { address } }) => address !== undefined && this.reaches(address));
    if (library === undefined || !areReached || (command.kind === 'update' && this.#maxContentsBytes === 0)) {
      transferOnHost(command);
      done();
    } else if (command.kind === 'update' && command.contents.length > this.#maxContentsBytes) {
      this.#update(command, operation, done);
    } else {
      const launch = library.transfer(command);
      if (launch === undefined) done();
      else this.submit(new LibraryBatch(launch), operation, done);
    }
  }

  /** Contents travel with the arguments, whose ring has little room: piece by piece. */
  #update({ contents, target }: UpdateCommand, operation: OperationInfo, done: CommandDone): void {
    let offset = 0;
    const next = (error?: unknown): void => {
      if (error !== undefined || offset >= contents.length) {
        done(error);
        return;
      }
      const piece = contents.subarray(offset, offset + this.#maxContentsBytes);
      const range = { ...target, offsetBytes: target.offsetBytes + offset, sizeBytes: piece.length };
      offset += piece.length;
      try {
        this.#transfer({ kind: 'update', contents: piece, target: range }, operation, next);
      } catch (failure) {
        done(failure);
      }
    };
    next();
  }

  /** Of an update that one kernel does. */
  get #maxContentsBytes(): number {
    return Math.min(MAX_UPDATE_BYTES, this.limits.kernargBytes - KERNARG_BLOCK_BYTES);
  }

  reaches(address: bigint): boolean {
    return this.#options.agent.requireDevice().memory.find(address) !== undefined;
  }

  get library(): DeviceLibrary | undefined {
    return this.#options.library;
  }

  get limits() {
    const { packets, kernargBlocks } = this.#options.rings;
    return { packets, kernargBytes: kernargBlocks * KERNARG_BLOCK_BYTES };
  }

  programOf(commands: CommandBuffer): CommandProgram {
    return this.#options.programs.programOf(commands);
  }

  execute(commands: CommandBuffer, table: BoundTable, execution: Execution): void {
    new ProgramExecution(commands, table, this, execution).run();
  }

  /** The last one of the kernel, where it fits. */
  #templateOf(command: DispatchCommand): LaunchTemplate {
    const kernel = kernelOf(command, this.#options.agent);
    const last = this.#templates.get(kernel);
    if (last?.fits(command)) return last;
    const template = new LaunchTemplate(this.#options.agent.requireDevice(), kernel, command);
    this.#templates.set(kernel, template);
    return template;
  }

  /** Returns whether there was room; nothing has changed where there was none. */
  #submit(submitted: Submitted): boolean {
    const { batch } = submitted;
    const { packetCount, kernargBytes } = batch;
    const ring = this.#ring;
    if (this.#inFlight.isFull || ring.queue.error !== undefined || !ring.hasRoom(packetCount)) return false;
    const { runtime, agent, rings } = this.#options;
    const kernargs = this.#kernargs ?? new KernargRing(runtime, agent, rings.kernargBlocks);
    this.#kernargs = kernargs;
    // A program may have all its arguments in memory of its own.
    const kernarg = kernargBytes === 0 ? NO_KERNARGS : kernargs.reserve(kernargBytes);
    if (kernarg === undefined) return false;
    try {
      this.#encode(batch, kernarg);
    } catch (error) {
      if (kernarg !== NO_KERNARGS) kernargs.cancel(kernarg, kernargBytes);
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
      ring: ring.queue.ring,
      ringAddress: ring.queue.ringAddress,
      packetOffset: (index: number) => ring.packetOffset(index),
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
      this.#releaseKernargs(first);
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

  #releaseKernargs({ kernargEnd }: Submitted): void {
    if (kernargEnd !== NO_KERNARGS.end) this.#kernargs!.release(kernargEnd);
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
    for (const each of lost) this.#releaseKernargs(each);
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
