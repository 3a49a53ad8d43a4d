/**
 * Queues (iree/hal/queue.h): operations on buffers, dispatches, calls of the host. Nothing orders them but
 * semaphores: what waits for nothing may begin at once, and what was submitted later may end sooner.
 */
import type { QueueBackend } from '../backend/backend.ts';
import type { BackendCommand } from '../backend/command.ts';
import { type DeviceOperation, ordersOnDevice, WAIT_STRATEGIES, type WaitStrategy } from '../backend/order.ts';
import type { Topology } from '../backend/topology.ts';
import { type BindingTable, CommandBuffer } from '../commands/command-buffer.ts';
import { executesPrograms } from '../commands/program-backend.ts';
import { PreparedDispatch, type QueueDispatch } from '../commands/queue-dispatch.ts';
import type { FlagInput } from '../core/flag-set.ts';
import { ALLOCA_FLAGS, type AllocaFlag, HOST_CALL_FLAGS, type HostCallFlag, PLACEMENT_FLAGS } from '../core/flags.ts';
import type { HalEvent } from '../core/hal-event.ts';
import { type Timepoint, timepointsOf } from '../core/semaphore.ts';
import { HalError, invalidArgument, type OperationInfo } from '../core/status.ts';
import type { HalAllocator } from '../memory/allocator.ts';
import { BufferAllocation, checkPattern, HalBuffer } from '../memory/buffer.ts';
import { type BufferParams, resolveParams } from '../memory/buffer-params.ts';
import {
  type BufferRange,
  bufferRange,
  checkUse,
  type DirectRef,
  rangesOverlap,
  storageOf,
} from '../memory/buffer-ref.ts';
import type { HalPool } from '../memory/pools/pool.ts';
import type { Retained } from '../memory/retained.ts';
import { CommandBufferRun } from './command-buffer-run.ts';
import { type HalFile, readFile, writeFile } from './file-transfer.ts';
import type { Scheduler } from './scheduler.ts';
import type { OrderOptions, Submission, Work } from './submission.ts';

/** What a queue has of its device. */
export interface HalQueueOwner {
  readonly device: object;
  readonly scheduler: Scheduler;
  readonly allocator: HalAllocator;
  readonly topology: Topology;
}

export interface QueueAlloca extends BufferParams, OrderOptions {
  readonly sizeBytes: number;
  /** Where the memory comes from. Default: the device, each time. */
  readonly pool?: HalPool;
  /** `allow-pool-wait-frontier`: the pool's memory may be waited for whose dealloca was submitted. */
  readonly flags?: FlagInput<AllocaFlag>;
}

export interface QueueFill extends OrderOptions {
  readonly target: DirectRef;
  /** 1, 2 or 4 bytes. */
  readonly pattern: Uint8Array;
}

export interface QueueCopy extends OrderOptions {
  readonly source: DirectRef;
  /** Of the same size. */
  readonly target: DirectRef;
}

export interface QueueUpdate extends OrderOptions {
  /** Taken when `update` is called. */
  readonly contents: ArrayBufferView;
  /** From its beginning on; what is behind the contents stays. */
  readonly target: DirectRef;
}

export interface QueueRead extends OrderOptions {
  readonly file: HalFile;
  readonly fileOffset?: number;
  readonly target: DirectRef;
}

export interface QueueWrite extends OrderOptions {
  readonly source: DirectRef;
  readonly file: HalFile;
  readonly fileOffset?: number;
}

export interface QueueExecute extends OrderOptions {
  readonly commands: CommandBuffer;
  /** Default: none. */
  readonly bindings?: BindingTable;
}

/** What a host call gets. */
export interface HostCallContext {
  readonly queue: HalQueue;
  /** What the call signals at its end; none for one that nobody waits for. */
  readonly signals: readonly Timepoint[];
}

export interface QueueHostCall extends OrderOptions {
  /** The operation ends when the promise does, and fails when it rejects. */
  readonly call: (context: HostCallContext) => unknown;
  /** `non-blocking`: its signals are given before the call, and what it throws does not matter. */
  readonly flags?: FlagInput<HostCallFlag>;
}

export class HalQueue {
  readonly name: string;
  readonly deviceOrdinal: number;
  readonly ordinal: number;
  readonly backend: QueueBackend;
  /** Operations that have begun, by how their waits were resolved. */
  readonly strategyCounts: Record<WaitStrategy, number>;
  readonly #owner: HalQueueOwner;
  readonly #eventWaits = new WeakMap<OperationInfo, HalEvent>();

  /** Use `LogicalDevice.queues`. */
  constructor(owner: HalQueueOwner, backend: QueueBackend, name: string, ordinals: readonly [number, number]) {
    this.#owner = owner;
    this.backend = backend;
    this.name = name;
    [this.deviceOrdinal, this.ordinal] = ordinals;
    // reason: there is an entry for each name
    this.strategyCounts = Object.fromEntries(WAIT_STRATEGIES.map((each) => [each, 0])) as typeof this.strategyCounts;
  }

  /** What of the host an operation waits for that has begun and that no driver has. */
  hostWaitOf(operation: OperationInfo): string {
    const event = this.#eventWaits.get(operation);
    return event === undefined ? (HOST_WAITS[operation.kind] ?? 'the host') : `event '${event.label}'`;
  }

  /** Packets by which its queue waited for others so far. */
  get waitPacketCount(): number {
    return ordersOnDevice(this.backend) ? this.backend.waitPacketCount : 0;
  }

  /**
   * A buffer at once, and its memory at the end of the operation. Throws INVALID_ARGUMENT for no bytes and
   * for memory that the device or the pool does not have, OUT_OF_RANGE for a physical device that there is
   * not, RESOURCE_EXHAUSTED for more than they ever give. The operation fails with RESOURCE_EXHAUSTED; with a
   * pool it waits until others give memory back, which may be for ever, and fails only where that was
   * submitted already and `flags` do not allow to wait for it.
   */
  alloca({ sizeBytes, pool, flags = [], ...options }: QueueAlloca): Submission<HalBuffer> {
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 1) {
      throw invalidArgument(`an alloca of ${sizeBytes} bytes, expected at least 1`);
    }
    const { allocator, device } = this.#owner;
    if (pool !== undefined && pool.device !== device)
      throw invalidArgument(`'${pool.label}' belongs to another device`);
    const { deviceOrdinal = pool?.deviceOrdinal ?? this.deviceOrdinal } = options;
    const plan = (pool ?? allocator).plan(resolveParams({ ...options, deviceOrdinal }), sizeBytes);
    const wishes = ALLOCA_FLAGS.set(flags);
    const isLong = wishes.has('indeterminate-lifetime');
    const placed = PLACEMENT_FLAGS.set(isLong ? ['asynchronous', 'indeterminate-lifetime'] : 'asynchronous');
    const placement = { device, deviceOrdinal, queue: this, flags: placed };
    const allocation = new BufferAllocation(plan.params, placement, sizeBytes);
    const buffer = new HalBuffer(allocation, 0, sizeBytes);
    const mayWait = wishes.has('allow-pool-wait-frontier');
    const body = (operation: OperationInfo): Body => ({
      subject: { payloadBytes: sizeBytes, allocation },
      run: (done) => {
        if (pool === undefined) {
          allocation.commit(allocator.storage(plan, allocation));
          done();
          return;
        }
        pool.reserve({ sizeBytes, operation, mayWait, abort: options.abort }, (found) =>
          done(found instanceof HalError ? found : errorOf(() => allocation.commit(found))),
        );
      },
    });
    return this.#submit('alloca', options, [], body, buffer);
  }

  /**
   * Gives the memory of an `alloca` back, in the order that semaphores say. For another buffer it is a
   * barrier. Throws FAILED_PRECONDITION the second time.
   */
  dealloca({ buffer, ...options }: OrderOptions & { readonly buffer: HalBuffer }): Submission {
    const { allocation } = bufferRange(buffer).buffer;
    const isTransient = buffer.placement.flags.has('asynchronous');
    if (buffer.placement.device !== this.#owner.device)
      throw invalidArgument(`'${buffer.label}' belongs to another device`);
    const subject = { payloadBytes: allocation.sizeBytes, allocation };
    if (!isTransient) return this.#submit('dealloca', options, [], { subject, run: (done) => done() });
    allocation.beginDealloca();
    const restore = () => allocation.cancelDealloca();
    return this.#submit('dealloca', options, [], {
      subject,
      run: (done) => {
        allocation.decommit();
        done();
      },
      onSkipped: restore,
      onFailed: restore,
    });
  }

  /** Throws INVALID_ARGUMENT, OUT_OF_RANGE, PERMISSION_DENIED. */
  fill({ target, pattern, ...options }: QueueFill): Submission {
    const range = this.#range(target, 'transfer-target', 'write');
    checkPattern(pattern, [1, 2, 4], range.buffer.offsetBytes + range.offsetBytes, range.sizeBytes);
    const repeated = pattern.slice();
    return this.#command('fill', options, [range], () => ({
      kind: 'fill',
      target: storageOf(range),
      pattern: repeated,
    }));
  }

  /** Throws INVALID_ARGUMENT also for ranges that overlap, or have two sizes. */
  copy({ source, target, ...options }: QueueCopy): Submission {
    const from = this.#range(source, 'transfer-source', 'read');
    const to = this.#range(target, 'transfer-target', 'write');
    if (from.sizeBytes !== to.sizeBytes) {
      throw invalidArgument(`a copy of ${from.sizeBytes} bytes to ${to.sizeBytes} bytes`);
    }
    if (rangesOverlap(from, to))
      throw invalidArgument(`a copy of '${from.buffer.label}' to a range that rangesOverlap it`);
    return this.#command('copy', options, [from, to], () => ({
      kind: 'copy',
      source: storageOf(from),
      target: storageOf(to),
    }));
  }

  update({ contents, target, ...options }: QueueUpdate): Submission {
    const whole = this.#range(target, 'transfer-target', 'write');
    const { buffer, byteOffset, byteLength } = contents;
    if (byteLength > whole.sizeBytes) {
      throw new HalError('OUT_OF_RANGE', `${byteLength} bytes of contents for a range of ${whole.sizeBytes}`);
    }
    const range = { ...whole, sizeBytes: byteLength };
    const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice();
    return this.#command('update', options, [range], () => ({
      kind: 'update',
      target: storageOf(range),
      contents: bytes,
    }));
  }

  /** As many bytes of a file as the target has; the operation fails with OUT_OF_RANGE where the file ends. */
  read({ file, fileOffset = 0, target, ...options }: QueueRead): Submission {
    const range = this.#range(target, 'transfer-target', 'write');
    return this.#submit('read', options, [range.buffer.allocation], (info) => ({
      subject: { payloadBytes: range.sizeBytes },
      run: (done) => {
        // It begins in a turn of the device, which lets it go on to its end.
        const begin = (command: BackendCommand) =>
          new Promise<void>((resolve, reject) => {
            const end = (error?: unknown) => (error === undefined ? resolve() : reject(error));
            this.#owner.scheduler.post(() => {
              const failure = errorOf(() => this.backend.begin(command, info, end));
              if (failure !== undefined) reject(failure);
            });
          });
        readFile(file, fileOffset, storageOf(range), begin).then(() => done(), done);
      },
    }));
  }

  write({ source, file, fileOffset = 0, ...options }: QueueWrite): Submission {
    const range = this.#range(source, 'transfer-source', 'read');
    return this.#submit('write', options, [range.buffer.allocation], {
      subject: { payloadBytes: range.sizeBytes },
      run: (done) => {
        writeFile(file, fileOffset, storageOf(range)).then(() => done(), done);
      },
    });
  }

  /**
   * Throws INVALID_ARGUMENT where bindings, constants or sizes are not what the code takes, and for buffers
   * that the queue's physical device does not reach.
   */
  dispatch(options: QueueDispatch & OrderOptions): Submission {
    const prepared = new PreparedDispatch(options, this.#owner.device);
    this.#owner.topology.expectReach(this.deviceOrdinal, prepared.ranges);
    const info = this.#info('dispatch', options.label ?? options.entry.name);
    const run: Work['run'] = (done, order) => this.#begin(prepared.resolve(), info, done, order);
    // Counts and arguments in memory are read by the host, when all that may write them is over.
    const subject = { dispatch: prepared };
    const body = prepared.isIndirect ? { run, subject } : ({ run, subject, kind: 'dispatch' } as const);
    return this.#submitWork(info, options, [prepared], body, undefined);
  }

  /**
   * Begins all operations of the device that may begin now, before it returns: packets are in the queues of
   * GPUs then, and are not held for the next turn. Nothing else needs it, and nothing ends by it.
   */
  flush(): void {
    this.#owner.scheduler.flush();
  }

  /**
   * Runs a command buffer with buffers in its slots. Throws INVALID_ARGUMENT, OUT_OF_RANGE and
   * PERMISSION_DENIED for buffers that do not fit or that kernels do not reach from this queue,
   * FAILED_PRECONDITION for a one-shot program's second run.
   */
  execute({ commands, bindings = [], ...options }: QueueExecute): Submission {
    if (!(commands instanceof CommandBuffer)) throw invalidArgument('an execution without a command buffer');
    if (commands.device !== this.#owner.device) throw invalidArgument(`'${commands.label}' belongs to another device`);
    const table = commands.bind(bindings);
    this.#owner.topology.expectReach(this.deviceOrdinal, commands.dispatchedWith(table));
    commands.beginExecution();
    const bound = table.filter((range) => range !== undefined).map(({ buffer }) => buffer.allocation);
    const named = { label: commands.label, ...options };
    return this.#submit('execute', named, [...bound, commands], (info) => ({
      kind: 'execute',
      subject: { commands },
      run: (done, order) => {
        const post = (callback: () => void) => this.#owner.scheduler.post(callback);
        const whenSet = (event: HalEvent, callback: () => void): void => {
          this.#eventWaits.set(info, event);
          event.onSet(() => {
            this.#eventWaits.delete(info);
            post(callback);
          });
        };
        const execution = { info, post, whenSet, done, order };
        const { backend } = this;
        if (executesPrograms(backend)) backend.execute(commands, table, execution);
        else new CommandBufferRun(commands, table, { backend, ...execution }).run();
      },
    }));
  }

  /** Calls the host, in the order that semaphores say. */
  hostCall({ call, flags = [], ...options }: QueueHostCall): Submission {
    if (typeof call !== 'function') throw invalidArgument('a host call without a function');
    const isBlocking = !HOST_CALL_FLAGS.set(flags).has('non-blocking');
    const signals = isBlocking ? timepointsOf(options.signals ?? []) : [];
    return this.#submit('host-call', options, [], {
      run: (done) => {
        const invoke = async () => call({ queue: this, signals });
        if (isBlocking) {
          invoke().then(
            () => done(),
            (error) => done(error ?? new HalError('UNKNOWN', 'it threw nothing')),
          );
        } else {
          done();
          invoke().catch(() => {});
        }
      },
    });
  }

  /** Nothing but waits and signals. */
  barrier(options: OrderOptions = {}): Submission {
    return this.#submit('barrier', options, [], (info) => ({
      kind: 'barrier',
      run: (done, order) => {
        const { backend } = this;
        if (order !== undefined && order.sources.length > 0 && ordersOnDevice(backend)) {
          backend.barrier(order, info, done);
        } else done();
      },
    }));
  }

  #begin(command: BackendCommand, info: OperationInfo, ...[done, order]: Parameters<Work['run']>): void {
    const { backend } = this;
    if (ordersOnDevice(backend)) backend.begin(command, info, done, order);
    else backend.begin(command, info, done);
  }

  #range(ref: DirectRef, usage: 'transfer-source' | 'transfer-target', access: 'read' | 'write'): BufferRange {
    const range = bufferRange(ref);
    checkUse(range, this.#owner.device, usage, access);
    return range;
  }

  #info(kind: string, label?: string): OperationInfo {
    return { id: this.#owner.scheduler.takeId(), kind, queue: this.name, label };
  }

  #command(
    kind: string,
    options: OrderOptions,
    ranges: readonly BufferRange[],
    command: () => BackendCommand,
  ): Submission {
    const resources = ranges.map(({ buffer }) => buffer.allocation);
    return this.#submit(kind, options, resources, (info) => ({
      kind: 'transfer',
      subject: { payloadBytes: ranges.at(-1)!.sizeBytes },
      run: (done, order) => this.#begin(command(), info, done, order),
    }));
  }

  #submit<Result = void>(
    kind: string,
    options: OrderOptions,
    resources: readonly Retained[],
    body: Body | ((info: OperationInfo) => Body),
    result?: Result,
  ): Submission<Result> {
    const info = this.#info(kind, options.label);
    // reason: operations without a result have the type void
    return this.#submitWork(info, options, resources, typeof body === 'function' ? body(info) : body, result as Result);
  }

  #submitWork<Result>(
    info: OperationInfo,
    options: OrderOptions,
    resources: readonly Retained[],
    { kind, subject, run, onSkipped, onFailed }: Body,
    result: Result,
  ): Submission<Result> {
    const waits = timepointsOf(options.waits ?? NONE);
    const signals = timepointsOf(options.signals ?? NONE);
    const { backend, strategyCounts } = this;
    const isOrdered = kind !== undefined && ordersOnDevice(backend) && backend.orders(kind);
    const orderedBy = isOrdered ? backend : undefined;
    const how = { abort: options.abort, subject, orderedBy, strategyCounts, run, onSkipped, onFailed };
    const work = { info, waits, signals, resources, ...how };
    return this.#owner.scheduler.submit(work, result);
  }
}

/** What is thrown, if anything is. */
function errorOf(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

const NONE: readonly [] = [];

/** By kind of operation. */
const HOST_WAITS: Readonly<Record<string, string>> = {
  'host-call': 'the promise of its function',
  read: 'its file',
  write: 'its file',
};

/** `kind`: as what its device may order it. */
type Body = Pick<Work, 'run' | 'subject' | 'onSkipped' | 'onFailed'> & { readonly kind?: DeviceOperation };
