/**
 * An HSA queue that is driven from the host: commands become packets, one epoch signal counts those that are
 * complete. Every batch of packets ends behind all earlier ones, so that they complete in order. What finds
 * no room in one of the rings (packets, arguments, notifications) is parked, and goes on when something ends.
 */
import type { Agent } from '../../hsa/objects/agent.ts';
import { BARRIER_BIT } from '../../hsa/objects/layouts.ts';
import type { QueueError } from '../../hsa/queues/packet-processor.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import type { CommandDone } from '../backend/backend.ts';
import {
  type BackendCommand,
  type DispatchCommand,
  type TransferCommand,
  transferOnHost,
  type UpdateCommand,
} from '../backend/command.ts';
import type { DeviceOperation, DeviceOrder, OrderedBackend, WaitStrategy } from '../backend/order.ts';
import type { CommandBuffer } from '../commands/command-buffer.ts';
import type { Execution, ProgramBackend } from '../commands/program-backend.ts';
import { MAX_UPDATE_BYTES } from '../commands/recorder.ts';
import type { BoundTable } from '../commands/resolve.ts';
import type { SignalSource } from '../core/pending-signals.ts';
import type { QueueStanding, RingName } from '../core/stall.ts';
import { HalError, type OperationInfo } from '../core/status.ts';
import type { DispatchCounter } from './agents.ts';
import { AqlRing } from './aql-ring.ts';
import { kernelOf } from './code.ts';
import { KERNARG_BLOCK_BYTES, KernargRing, type KernargSpan } from './kernarg-ring.ts';
import { LaunchTemplate } from './kernel-launch.ts';
import { KernelMeter, type MeasuredKernel } from './kernel-meter.ts';
import type { DeviceLibrary } from './library/device-library.ts';
import { NotificationRing } from './notification-ring.ts';
import { type Axis, CountingAxis, SignalingAxis } from './order/axis.ts';
import { isWithin, merged, openWaits } from './order/open-waits.ts';
import { standingsOf } from './order/queue-standings.ts';
import { type Frontier, type RingPlace, Submitted, type SubmittedOptions } from './order/submitted.ts';
import { maxWaits, WaitBatch } from './order/wait-batch.ts';
import type { CrossQueueStrategy } from './order/wait-strategy.ts';
import { DispatchBatch, LibraryBatch } from './packet-batch.ts';
import type { PacketBatch } from './packets/packet-batch.ts';
import type { CommandProgram } from './program/program.ts';
import { ProgramExecution, type ProgramQueue } from './program/program-execution.ts';
import type { ProgramCache } from './programs.ts';

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
  /** How it waits for other queues. */
  readonly waits: CrossQueueStrategy;
  /** Of each kernel that is measured. */
  readonly counters?: readonly DispatchCounter[] | undefined;
}

/** An HSA queue, and what others wait for it by. */
interface OpenQueue {
  readonly ring: AqlRing;
  readonly axis: Axis;
}

type Entry = Submitted<HostQueue>;
type Options = Omit<SubmittedOptions, 'operation' | 'done'>;

export class HostQueue implements ProgramBackend, OrderedBackend, ProgramQueue {
  readonly #options: HostQueueOptions;
  readonly #templates = new WeakMap<object, LaunchTemplate>();
  readonly #inFlight: NotificationRing<Entry>;
  /** Allocated for the first packets. */
  #kernargs: KernargRing | undefined;
  /** Made anew for the next packets where a fault ended it. */
  #open: OpenQueue | undefined;
  /** What its packets have waited for so far. */
  #frontier: Frontier = new Map();
  readonly #meter: KernelMeter;
  #waitPacketCount = 0;
  #activity = 0;
  /** The operation whose packets were published last. */
  #lastOperation: OperationInfo | undefined;
  /** For the first words of the packets of one batch. */
  #headers = new Int32Array(8);
  #parked: Entry[] = [];
  #isDisposed = false;

  /** Throws where the runtime has no queue or signal for it. */
  constructor(options: HostQueueOptions) {
    this.#options = options;
    this.#meter = new KernelMeter(options.counters);
    this.#inFlight = new NotificationRing(options.rings.notifications);
    this.#opened();
  }

  #opened(): OpenQueue {
    if (this.#open !== undefined) return this.#open;
    const { runtime, agent, rings } = this.#options;
    const axis = this.#createAxis();
    try {
      const onPacket = this.#meter.packetEnded.bind(this.#meter);
      this.#open = { ring: new AqlRing(runtime.createQueue(agent, { sizePackets: rings.packets, onPacket })), axis };
    } catch (error) {
      axis.close();
      throw error;
    }
    return this.#open;
  }

  /** Times are those of signals, which each submission needs one of then. */
  #createAxis(): Axis {
    const { runtime, agent, waits } = this.#options;
    const keepsTimes = this.#meter.tell !== undefined;
    if (waits !== 'barrier' && !keepsTimes) return new CountingAxis({ runtime, agent });
    return new SignalingAxis({ runtime, agent }, { keepsTimes });
  }

  /** Tells when each kernel ran from now on, if anybody; only while nothing is in the queue. */
  measure(tell: ((times: MeasuredKernel) => void) | undefined): void {
    this.#meter.tell = tell;
    if (this.#open === undefined) return;
    const { ring, axis } = this.#open;
    this.#open = { ring, axis: this.#createAxis() };
    this.#frontier = new Map();
    axis.close();
  }

  /** Whether anything is in the rings or parked. */
  get isBusy(): boolean {
    return this.#inFlight.size > 0 || this.#parked.length > 0;
  }

  get activity(): number {
    return this.#activity;
  }

  standings(): ReadonlyMap<OperationInfo, QueueStanding> {
    const axis = this.#open?.axis;
    const position = { completedEpoch: axis?.completed ?? 0, submittedEpoch: axis?.submitted ?? 0 };
    const { entries } = this.#inFlight;
    return standingsOf({ position, inFlight: entries, parked: this.#parked, fullRing: this.#fullRing() });
  }

  /** Where the first that is parked has no room. */
  #fullRing(): RingName | undefined {
    const [parked] = this.#parked;
    if (parked === undefined) return undefined;
    if (this.#inFlight.isFull) return 'notifications';
    if (parked.batch === undefined && openWaits(parked, this.#frontier) === undefined) return undefined;
    if (!this.#opened().ring.hasRoom(parked.batch?.packetCount ?? 1)) return 'packets';
    return parked.batch === undefined ? undefined : 'arguments';
  }

  get waitPacketCount(): number {
    return this.#waitPacketCount;
  }

  orders(operation: DeviceOperation): boolean {
    return operation !== 'transfer' || this.#options.library !== undefined;
  }

  /** Signals of an HSA runtime are seen by agents that share their memory. */
  resolveWaits(sources: readonly SignalSource[]): WaitStrategy | undefined {
    const { waits, runtime, agent } = this.#options;
    const memory = agent.requireDevice().memory;
    let strategy: WaitStrategy = 'inline';
    for (const source of sources) {
      if (!(source instanceof Submitted) || !(source.queue instanceof HostQueue)) return undefined;
      if (source.queue === this || isWithin(source, this.#frontier)) continue;
      const other = source.queue.#options;
      if (waits === 'defer' || other.runtime !== runtime || other.agent.requireDevice().memory !== memory)
        return undefined;
      strategy = waits;
    }
    return strategy;
  }

  begin(command: BackendCommand, operation: OperationInfo, done: CommandDone, order?: DeviceOrder): void {
    if (command.kind !== 'dispatch') {
      this.#transfer(command, operation, done, order);
      return;
    }
    // Nothing is to run, so that its end is that of its waits.
    if (command.groups.includes(0)) this.barrier(order, operation, done);
    else this.#submitWhole(new DispatchBatch(this.#templateOf(command), command), operation, done, order);
  }

  barrier(order: DeviceOrder | undefined, operation: OperationInfo, done: CommandDone): void {
    const marker = this.waitFor(order, operation, done);
    marker?.whenPublished(() => order!.issued(marker));
  }

  /** `done` is called when all that `order` names is over; what is submitted later begins behind that. */
  waitFor(order: DeviceOrder | undefined, operation: OperationInfo, done: CommandDone): Entry | undefined {
    if (order !== undefined && order.sources.length > 0) {
      return this.#enqueue({ sources: order.sources, isMarker: true, order }, operation, done);
    }
    done();
    return undefined;
  }

  /** All packets of an operation, behind what it waits for. */
  #submitWhole(batch: PacketBatch, operation: OperationInfo, done: CommandDone, order?: DeviceOrder): void {
    if (order !== undefined && order.sources.length > 0) {
      const failed = (error?: unknown): void => (error === undefined ? undefined : done(error));
      this.#enqueue({ sources: order.sources, order }, operation, failed);
    }
    const submitted = this.submit(batch, operation, done, order);
    if (order !== undefined) submitted.whenPublished(() => order.issued(submitted));
  }

  /** `done` is called when the last packet is complete; with a failure of `order` it does not run. */
  submit(batch: PacketBatch, operation: OperationInfo, done: CommandDone, order?: DeviceOrder): Entry {
    return this.#enqueue({ batch, order }, operation, done);
  }

  #enqueue(options: Options, operation: OperationInfo, done: CommandDone): Entry {
    const entry = new Submitted<HostQueue>(this, { ...options, operation, done });
    if (this.#parked.length > 0 || !this.#publish(entry)) this.#parked.push(entry);
    return entry;
  }

  /** Memory of other GPUs is the host's to copy. */
  #transfer(command: TransferCommand, operation: OperationInfo, done: CommandDone, order?: DeviceOrder): void {
    const { library } = this.#options;
    const ranges = command.kind === 'copy' ? [command.source, command.target] : [command.target];
    const areReached = ranges.every(({ storage: { address } }) => address !== undefined && this.reaches(address));
    if (library === undefined || !areReached || (command.kind === 'update' && this.#maxContentsBytes === 0)) {
      this.#onHost(command, operation, done, order);
    } else if (command.kind === 'update' && command.contents.length > this.#maxContentsBytes) {
      this.#update(command, operation, done, order);
    } else {
      const launch = library.transfer(command);
      if (launch === undefined) this.barrier(order, operation, done);
      else this.#submitWhole(new LibraryBatch(launch), operation, done, order);
    }
  }

  #onHost(command: TransferCommand, operation: OperationInfo, done: CommandDone, order?: DeviceOrder): void {
    this.waitFor(order, operation, (error) => {
      if (error === undefined) transferOnHost(command);
      done(error);
    });
  }

  /** Contents travel with the arguments, whose ring has little room: piece by piece. */
  #update({ contents, target }: UpdateCommand, operation: OperationInfo, done: CommandDone, order?: DeviceOrder): void {
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
    this.waitFor(order, operation, next);
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
    // Who measures kernels of a program has each of them in a submission of its own.
    const most = this.#meter.tell === undefined ? packets : 1;
    return { packets: most, kernargBytes: kernargBlocks * KERNARG_BLOCK_BYTES };
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
  #publish(entry: Entry): boolean {
    if (entry.failure !== undefined) {
      entry.end(entry.failure);
      return true;
    }
    return entry.batch === undefined ? this.#publishWaits(entry) : this.#publishBatch(entry, entry.batch);
  }

  /** Packets for what is not known to be over, as many as are needed now. */
  #publishWaits(entry: Entry): boolean {
    const kind = this.#options.waits === 'barrier-value' ? 'barrier-value' : 'barrier';
    const most = maxWaits(kind, this.#options.rings.packets);
    for (;;) {
      const open = openWaits(entry, this.#frontier);
      if (open === undefined) return false;
      if (open.length === 0 && !entry.isMarker) {
        entry.end();
        return true;
      }
      const waits = open.slice(0, most);
      const isLast = waits.length === open.length;
      const part = isLast ? entry : new Submitted<HostQueue>(this, { operation: entry.operation, done: () => {} });
      const batch = new WaitBatch(kind, waits);
      const frontier = waits.length === 0 ? this.#frontier : merged(this.#frontier, waits);
      if (!this.#publishBatch(part, batch, frontier)) return false;
      if (waits.length > 0) this.#waitPacketCount += batch.packetCount;
      if (isLast) return true;
    }
  }

  /** `frontier`: of the queue behind the batch. */
  #publishBatch(entry: Entry, batch: PacketBatch, frontier = this.#frontier): boolean {
    if (this.#inFlight.isFull) return false;
    const { ring, axis } = this.#opened();
    if (ring.queue.error !== undefined || !ring.hasRoom(batch.packetCount)) return false;
    const kernarg = this.#reserveKernargs(batch);
    if (kernarg === undefined) return false;
    try {
      this.#encode(batch, kernarg);
    } catch (error) {
      if (kernarg !== NO_KERNARGS) this.#kernargs!.cancel(kernarg, batch.kernargBytes);
      throw error;
    }
    // What is behind another operation begins behind its end: a fault loses nothing but its own.
    if (entry.operation !== this.#lastOperation) this.#headers[0]! |= BARRIER_BIT;
    this.#lastOperation = entry.operation;
    const start = ring.writeIndex;
    const end = start + batch.packetCount;
    ring.publish(this.#headers, batch.packetCount);
    this.#inFlight.push(entry);
    this.#frontier = frontier;
    entry.publish({ axis, epoch: axis.submit(), batch, start, end, kernargEnd: kernarg.end, frontier });
    return true;
  }

  /** A program may have all its arguments in memory of its own. */
  #reserveKernargs({ kernargBytes }: PacketBatch): KernargSpan | undefined {
    if (kernargBytes === 0) return NO_KERNARGS;
    const { runtime, agent, rings } = this.#options;
    this.#kernargs ??= new KernargRing(runtime, agent, rings.kernargBlocks);
    return this.#kernargs.reserve(kernargBytes);
  }

  #encode(batch: PacketBatch, { offsetBytes, address }: KernargSpan): void {
    const { ring, axis } = this.#opened();
    if (this.#headers.length < batch.packetCount) this.#headers = new Int32Array(2 * batch.packetCount);
    const place = {
      queueAddress: ring.queue.address,
      kernargs: this.#kernargs!,
      offsetBytes,
      address,
      completionSignal: axis.reserve(),
      ring: ring.queue.ring,
      ringAddress: ring.queue.ringAddress,
      packetOffset: (index: number) => ring.packetOffset(index),
    };
    batch.encode(place, this.#headers);
  }

  /** Ends what is complete and submits what waited for room. Returns whether anything happened. */
  drain(): boolean {
    if (!this.isBusy) return false;
    let hasMoved = this.#retire();
    const error = this.#open?.ring.queue.error;
    if (error !== undefined || this.#inFlight.first?.isStuck === true) {
      this.#restart(error);
      hasMoved = true;
    }
    return (this.#parked.length > 0 && this.#unpark()) || hasMoved;
  }

  /** Ends what is complete, up to an epoch. */
  #retire(last = Number.POSITIVE_INFINITY): boolean {
    if (this.#open === undefined) return false;
    const completed = Math.min(last, this.#open.axis.poll());
    let hasMoved = false;
    for (;;) {
      const first = this.#inFlight.first;
      if (first === undefined || first.place!.epoch > completed) return hasMoved;
      // What it waited for is over, too: whoever looks is told so first.
      for (const { isOver, queue, place } of first.sources as readonly Entry[]) {
        if (!isOver && queue !== this) queue.#retire(place!.epoch);
      }
      this.#inFlight.shift();
      this.#activity++;
      const { place, operation } = first;
      this.#meter.ended(operation, place!.batch.kernel, place!.axis.takeTimes(place!.epoch));
      this.#withdraw(first);
      first.end();
      hasMoved = true;
    }
  }

  #withdraw(entry: Entry): void {
    const { kernargEnd } = entry.place!;
    if (kernargEnd !== NO_KERNARGS.end) this.#kernargs!.release(kernargEnd);
    entry.withdraw();
  }

  #unpark(): boolean {
    let count = 0;
    for (const parked of this.#parked) {
      try {
        if (!this.#publish(parked)) break;
      } catch (error) {
        parked.end(error);
      }
      count++;
    }
    this.#parked.splice(0, count);
    return count > 0;
  }

  /**
   * A new HSA queue in place of one that a fault ended, or that waits for packets which such an end took
   * away. The operation that failed fails, and what must not run; nothing else has begun, and goes on in the
   * new queue.
   */
  #restart(fault: QueueError | undefined): void {
    const lost = this.#inFlight.takeAll();
    const { ring, axis } = this.#open!;
    this.#open = undefined;
    this.#frontier = new Map();
    ring.queue[Symbol.dispose]();
    axis.lose();
    axis.close();
    const places = lost.map((entry) => entry.place!);
    for (const entry of lost) this.#withdraw(entry);
    if (fault !== undefined) failOperation(lost, places, fault);
    const isLive = (entry: Entry): boolean => {
      if (entry.failure !== undefined) entry.end(entry.failure);
      return !entry.isOver;
    };
    this.#parked = [...lost.filter(isLive), ...this.#parked];
  }

  /** Stops what runs; nobody is told. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#open?.ring.queue[Symbol.dispose]();
    for (const entry of this.#inFlight.takeAll()) entry.withdraw();
    this.#open?.axis.lose();
    this.#open?.axis.close();
    this.#kernargs?.[Symbol.dispose]();
    this.#parked = [];
  }
}

/** The packets that the fault is in, and all others of their operation. */
function failOperation(lost: readonly Entry[], places: readonly RingPlace[], { error, packetIndex }: QueueError): void {
  const index = places.findIndex(({ start, end }) => start <= packetIndex && packetIndex < end);
  const operation = lost[index]?.operation;
  lost[index]?.end(error);
  for (const entry of lost) {
    if (operation !== undefined && entry.operation !== operation) continue;
    entry.end(new HalError('ABORTED', 'an operation before it ended the queue', { cause: error }));
  }
}
