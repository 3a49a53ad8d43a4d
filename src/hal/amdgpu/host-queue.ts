/**
 * An HSA queue that is driven from the host: commands become packets, one epoch signal counts those that are
 * complete. Every packet has the barrier bit, so that they complete in order.
 */
import type { Agent } from '../../hsa/objects/agent.ts';
import { AQL_PACKET_SIZE_BYTES } from '../../hsa/objects/layouts.ts';
import type { Queue } from '../../hsa/queues/queue.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import type { Signal } from '../../hsa/signals/signal.ts';
import type { CommandDone, QueueBackend } from '../backend/backend.ts';
import { type BackendCommand, type DispatchCommand, type TransferCommand, transferOnHost } from '../backend/command.ts';
import { HalError, invalidArgument, type OperationInfo } from '../core/status.ts';
import type { StorageRange } from '../memory/buffer-ref.ts';
import { AmdgpuCode } from './code.ts';
import { type KernargBlock, KernargBlocks } from './kernarg-blocks.ts';
import { LaunchTemplate } from './kernel-launch.ts';
import type { DeviceLibrary } from './library/device-library.ts';
import { DispatchBatch, LibraryBatch, type PacketBatch } from './packet-batch.ts';

/** What the epoch signal starts with: it can be lowered for ever. */
const INITIAL_EPOCH_VALUE = 2n ** 62n;

export interface HostQueueOptions {
  readonly runtime: Runtime;
  readonly agent: Agent;
  /** Packets of the ring: a power of two. */
  readonly ringPackets: number;
  /** Does the transfers; without one the host does. */
  readonly library?: DeviceLibrary | undefined;
}

/** Packets that are in the ring. */
interface InFlight {
  readonly epoch: bigint;
  /** The first packet, and the one behind the last. */
  readonly start: bigint;
  readonly end: bigint;
  readonly kernarg: KernargBlock;
  readonly operation: OperationInfo;
  readonly done: CommandDone;
}

/** Packets that find no room. */
interface Parked {
  readonly batch: PacketBatch;
  readonly operation: OperationInfo;
  readonly done: CommandDone;
}

const headersOf = ({ ring }: Queue): Int32Array<SharedArrayBuffer> =>
  new Int32Array(ring.buffer, ring.byteOffset, ring.byteLength / 4);

export class HostQueue implements QueueBackend {
  readonly #options: HostQueueOptions;
  readonly #templates = new WeakMap<object, LaunchTemplate>();
  readonly #blocks: KernargBlocks;
  #queue: Queue;
  /** The ring's words: the first of each packet hands it over. */
  #headers: Int32Array<SharedArrayBuffer>;
  #epochSignal: Signal;
  /** The last epoch that was submitted; the first is 1. */
  #epoch = 0n;
  #inFlight: InFlight[] = [];
  #parked: Parked[] = [];
  #isDisposed = false;

  constructor(options: HostQueueOptions) {
    this.#options = options;
    this.#blocks = new KernargBlocks(options.runtime, options.agent);
    this.#epochSignal = this.#createSignal();
    this.#queue = this.#createQueue();
    this.#headers = headersOf(this.#queue);
  }

  #createQueue(): Queue {
    const { runtime, agent, ringPackets } = this.#options;
    return runtime.createQueue(agent, { sizePackets: ringPackets });
  }

  #createSignal(): Signal {
    const { runtime, agent } = this.#options;
    return runtime.createSignal(INITIAL_EPOCH_VALUE, agent);
  }

  /** Packets in the ring, and those that wait for room there. */
  get counts(): { readonly inFlight: number; readonly parked: number } {
    return { inFlight: this.#inFlight.length, parked: this.#parked.length };
  }

  begin(command: BackendCommand, operation: OperationInfo, done: CommandDone): void {
    const batch = command.kind === 'dispatch' ? this.#dispatch(command) : this.#transfer(command);
    // Nothing is left to run, and its waits are over.
    if (batch === undefined) done();
    else this.submit(batch, operation, done);
  }

  /** `done` is called when the last packet is complete. */
  submit(batch: PacketBatch, operation: OperationInfo, done: CommandDone): void {
    const parked = { batch, operation, done };
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
    return launch && new LibraryBatch(launch);
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
  #submit({ batch, operation, done }: Parked): boolean {
    const { packetCount } = batch;
    const queue = this.#queue;
    const start = queue.writeIndex;
    const end = start + BigInt(packetCount);
    if (queue.error !== undefined || end - queue.readDispatchId > BigInt(this.#options.ringPackets)) return false;
    const kernarg = this.#blocks.take(batch.kernargBytes);
    try {
      const packet = (index: number) => queue.packet(start + BigInt(index));
      const completionSignal = this.#epochSignal.address;
      const headers = new Int32Array(packetCount);
      batch.encode({ queueAddress: queue.address, kernarg, completionSignal, packet }, headers);
      // The queue has one producer: what lies behind the write index is nobody's until it moves.
      queue.storeWriteIndex(end);
      for (let i = 0; i < packetCount; i++) {
        const slot = Number((start + BigInt(i)) & BigInt(queue.sizePackets - 1));
        Atomics.store(this.#headers, (slot * AQL_PACKET_SIZE_BYTES) / 4, headers[i]!);
      }
      queue.ringDoorbell(end - 1n);
      this.#epoch += 1n;
      this.#inFlight.push({ epoch: this.#epoch, start, end, kernarg, operation, done });
    } catch (error) {
      this.#blocks.give(kernarg);
      throw error;
    }
    return true;
  }

  /** Ends what is complete and submits what waited for room. Returns whether anything happened. */
  drain(): boolean {
    const completed = INITIAL_EPOCH_VALUE - this.#epochSignal.load();
    const count = this.#inFlight.findIndex(({ epoch }) => epoch > completed);
    const ended = this.#inFlight.splice(0, count < 0 ? this.#inFlight.length : count);
    for (const each of ended) this.#end(each);
    const hasFailed = this.#queue.error !== undefined;
    if (hasFailed) this.#recover();
    return this.#unpark() || ended.length > 0 || hasFailed;
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

  #end({ kernarg, done }: InFlight, error?: unknown): void {
    this.#blocks.give(kernarg);
    done(error);
  }

  /**
   * A kernel or a packet failed, which ends an HSA queue: everything that is in it fails, and what comes
   * later has a queue of its own.
   */
  #recover(): void {
    const { error, packetIndex } = this.#queue.error!;
    const lost = this.#inFlight;
    this.#inFlight = [];
    this.#queue[Symbol.dispose]();
    this.#epochSignal[Symbol.dispose]();
    this.#epochSignal = this.#createSignal();
    this.#epoch = 0n;
    this.#queue = this.#createQueue();
    this.#headers = headersOf(this.#queue);
    for (const each of lost) {
      const other = () => new HalError('ABORTED', 'an operation before it ended the queue', { cause: error });
      this.#end(each, each.start <= packetIndex && packetIndex < each.end ? error : other());
    }
  }

  /** Stops what runs; nobody is told. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#queue[Symbol.dispose]();
    this.#epochSignal[Symbol.dispose]();
    for (const { kernarg } of this.#inFlight) this.#blocks.give(kernarg);
    this.#blocks[Symbol.dispose]();
    this.#parked = [];
    this.#inFlight = [];
  }
}
