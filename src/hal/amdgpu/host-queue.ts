/**
 * An HSA queue that is driven from the host: commands become packets, one epoch signal counts those that are
 * complete. Every packet has the barrier bit, so that they complete in order.
 */
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Queue } from '../../hsa/queues/queue.ts';
import { launchPacket } from '../../hsa/queues/queue-launch.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import type { Signal } from '../../hsa/signals/signal.ts';
import type { CommandDone, QueueBackend } from '../backend/backend.ts';
import { type BackendCommand, type DispatchCommand, transferOnHost } from '../backend/command.ts';
import { HalError, invalidArgument, type OperationInfo } from '../core/status.ts';
import { AmdgpuCode } from './code.ts';
import { type KernargBlock, KernargBlocks } from './kernarg-blocks.ts';
import { LaunchTemplate } from './kernel-launch.ts';

/** What the epoch signal starts with: it can be lowered for ever. */
const INITIAL_EPOCH_VALUE = 2n ** 62n;

export interface HostQueueOptions {
  readonly runtime: Runtime;
  readonly agent: Agent;
  /** Packets of the ring: a power of two. */
  readonly ringPackets: number;
}

/** A packet that is in the ring. */
interface InFlight {
  readonly epoch: bigint;
  readonly packetIndex: bigint;
  readonly kernarg: KernargBlock;
  readonly operation: OperationInfo;
  readonly done: CommandDone;
}

/** A packet that finds no room. */
interface Parked {
  readonly template: LaunchTemplate;
  readonly command: DispatchCommand;
  readonly operation: OperationInfo;
  readonly done: CommandDone;
}

export class HostQueue implements QueueBackend {
  readonly #options: HostQueueOptions;
  readonly #templates = new WeakMap<object, LaunchTemplate>();
  readonly #blocks: KernargBlocks;
  #queue: Queue;
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
    if (command.kind !== 'dispatch') {
      transferOnHost(command);
      done();
      return;
    }
    // Nothing to run, but in its order: its waits are over, so it is.
    if (command.groups.includes(0)) {
      done();
      return;
    }
    const parked = { template: this.#templateOf(command), command, operation, done };
    if (this.#parked.length > 0 || !this.#submit(parked)) this.#parked.push(parked);
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
  #submit({ template, command, operation, done }: Parked): boolean {
    if (this.#inFlight.length >= this.#options.ringPackets) return false;
    const kernarg = this.#blocks.take(template.launch.sizes.kernargSizeBytes);
    try {
      template.write(command, kernarg.bytes, this.#queue.address);
      const packetIndex = this.#queue.dispatch(launchPacket(template.launch, kernarg.address, this.#epochSignal));
      this.#epoch += 1n;
      this.#inFlight.push({ epoch: this.#epoch, packetIndex, kernarg, operation, done });
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
    for (const each of lost) {
      const other = () => new HalError('ABORTED', 'an operation before it ended the queue', { cause: error });
      this.#end(each, each.packetIndex === packetIndex ? error : other());
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
