/**
 * A recorder as a wrapper of any device: it passes calls on and tells of each, and of what the host does to
 * semaphores and to mapped memory, so that all of it can be done once more on another device.
 */
import { CommandBuffer } from '../commands/command-buffer.ts';
import type { CommandRecorder } from '../commands/recorder.ts';
import { MEMORY_ACCESS } from '../core/flags.ts';
import { Semaphore, Timepoint } from '../core/semaphore.ts';
import { type HalError, invalidArgument, type OperationInfo } from '../core/status.ts';
import { ExecutableExport, HalExecutable, type VariableOrigin, variableOf } from '../executables/executable.ts';
import { ExecutableCache, type ExecutableCacheOptions } from '../executables/executable-cache.ts';
import { type BufferAllocation, HalBuffer, type HeldBytes } from '../memory/buffer.ts';
import { HalPool } from '../memory/pools/pool.ts';
import type { HalQueue, HostCallContext } from '../queues/queue.ts';
import { Submission } from '../queues/submission.ts';
import { HostViews } from './host-views.ts';
import type { LogicalDevice } from './logical-device.ts';

const DEVICE_METHODS: ReadonlySet<PropertyKey> = new Set<keyof LogicalDevice>([
  'allocate',
  'createEvent',
  'createPool',
  'createSemaphore',
  'importBuffer',
  'load',
  'record',
  'trim',
]);
const QUEUE_METHODS: ReadonlySet<PropertyKey> = new Set<keyof HalQueue>([
  'alloca',
  'barrier',
  'copy',
  'dealloca',
  'dispatch',
  'execute',
  'fill',
  'hostCall',
  'read',
  'update',
  'write',
]);

/** A call of a program that went through, or what its host did to something that such a call made. */
export interface RecordedCall {
  /** The index of the queue; undefined for a call of the device, and for what the host did. */
  readonly queue: number | undefined;
  /** What the host did: a key of `HOST_ACTIONS`. */
  readonly method: string;
  /** Bytes are copied when the call is made, buffers and semaphores are those of the call. */
  readonly args: readonly unknown[];
  readonly result: unknown;
}

type Method = (...args: readonly unknown[]) => unknown;
type PassedCall = Pick<RecordedCall, 'queue' | 'method' | 'args'>;

/** Who records calls. */
export interface CallRecorder {
  tell(call: RecordedCall): void;
  /** Before a call: what it gets in place of its arguments. */
  pass?(call: PassedCall): readonly unknown[];
  /** The call threw. */
  threw?(call: PassedCall, error: unknown): void;
  /** An operation has ended, and nobody who waits for it knows yet. */
  ended?(submission: Submission<unknown>, failure: HalError | undefined): void;
  /** The host looks at bytes. */
  seen?(held: HeldBytes): void;
  /** The host knows of operations that have ended. */
  known?(): void;
  /** Before all else: for what calls use that others made. */
  begin?(watch: HostWatch): void;
}

/** What a program did inside of a function that it gave to a recorder of commands. */
export class RecordedBody {
  readonly calls: { readonly method: string; readonly args: readonly unknown[] }[] = [];
}

/** Memory that a program imports by its address: a part of what a recorded call made. */
export class ImportedRange {
  readonly owner: BufferAllocation;
  readonly offsetBytes: number;
  readonly sizeBytes: number;

  constructor(owner: BufferAllocation, offsetBytes: number, sizeBytes: number) {
    this.owner = owner;
    this.offsetBytes = offsetBytes;
    this.sizeBytes = sizeBytes;
  }
}

/**
 * What the host does without a queue, by the methods of `RecordedCall`: signals and failures of semaphores,
 * bytes that it wrote to mapped memory, what it disposes, and that it closes the device.
 */
export const HOST_ACTIONS = {
  close: () => {},
  signal: (semaphore: Semaphore, value: number) => semaphore.signal(value),
  fail: (semaphore: Semaphore, failure: HalError) => semaphore.fail(failure),
  hostWrite: (buffer: HalBuffer, bytes: Uint8Array) => buffer.write(bytes),
  dispose: (thing: Disposable) => thing[Symbol.dispose](),
} as const;

/** What recorded calls made is watched here: what the host does to it is told as a call. */
export class HostWatch {
  readonly allocations = new Map<BufferAllocation, HalBuffer>();
  readonly views: HostViews;
  readonly #recorder: CallRecorder;
  /** Operations of recorded queues: what they signal is no action of the host. */
  readonly #operations = new WeakSet<OperationInfo>();

  constructor(recorder: CallRecorder) {
    this.#recorder = recorder;
    this.views = new HostViews(({ allocation, offsetBytes, bytes }) => {
      const whole = this.allocations.get(allocation);
      if (whole !== undefined) this.tell('hostWrite', whole.subspan(offsetBytes, bytes.length), bytes);
    });
  }

  /** Something that the host does. */
  tell(method: keyof typeof HOST_ACTIONS, ...args: readonly unknown[]): void {
    if (method !== 'hostWrite') this.views.flush();
    this.#recorder.tell({ queue: undefined, method, args, result: undefined });
  }

  /** Something that a recorded call made, or that it uses and others made. */
  watch(made: unknown): void {
    if (made instanceof Submission) {
      this.#operations.add(made.info);
      const [end] = made.timepoints;
      end.semaphore.observer = { signalled: () => {}, failed: () => {}, known: () => this.#recorder.known?.() };
      end.semaphore.onReached(end.value, (failure) => {
        this.views.refresh();
        this.#recorder.ended?.(made, failure);
      });
      this.watch(made.result);
    } else if (made instanceof Semaphore) this.#watchSemaphore(made);
    else if (made instanceof HalBuffer) this.#watchBuffer(made);
    else if (made instanceof HalExecutable || made instanceof CommandBuffer || made instanceof HalPool)
      made.onDispose = () => this.tell('dispose', made);
  }

  #watchSemaphore(semaphore: Semaphore): void {
    const isOwn = (operation: OperationInfo | undefined) => operation !== undefined && this.#operations.has(operation);
    semaphore.observer = {
      signalled: (_, value, operation) => {
        if (!isOwn(operation)) this.tell('signal', semaphore, value);
      },
      failed: (_, failure, operation) => {
        if (!isOwn(operation)) this.tell('fail', semaphore, failure);
      },
      known: () => this.#recorder.known?.(),
    };
  }

  #watchBuffer(buffer: HalBuffer): void {
    const { allocation } = buffer;
    if (this.allocations.has(allocation)) return;
    this.allocations.set(allocation, buffer);
    allocation.observer = {
      held: (held) => {
        this.views.flush();
        this.#recorder.seen?.(held);
        return this.views.add(held);
      },
      disposed: () => {
        this.tell('dispose', buffer);
        this.views.forget(allocation);
        this.allocations.delete(allocation);
      },
    };
  }

  /** Memory of the host that a device works on: the host may write to it at any time. */
  share(buffer: HalBuffer): void {
    const { allocation, sizeBytes } = buffer;
    const bytes = allocation.storage.bytes().subarray(0, sizeBytes);
    this.views.add({ allocation, offsetBytes: 0, bytes, access: MEMORY_ACCESS.set('write') });
  }
}

/**
 * A device that does what `device` does. `tell` is called for each call that makes something or gives a queue
 * something to do, behind it, and for what the host does to what calls made; what throws is told of nobody,
 * unless `tell` is a recorder that asks for it.
 */
export function recordDevice(device: LogicalDevice, tell: CallRecorder | CallRecorder['tell']): LogicalDevice {
  const recorder = typeof tell === 'function' ? { tell } : tell;
  const watch = new HostWatch(recorder);
  recorder.begin?.(watch);
  const record =
    (target: object, method: string, queue: number | undefined) =>
    (...args: readonly unknown[]): unknown => {
      watch.views.flush();
      const bodies = new Map<unknown, RecordedBody>();
      const kept = args.map((arg) => snapshot(arg, method === 'record' ? bodies : undefined));
      const isHostImport = method === 'importBuffer' && isBytes(args[0]);
      if (method === 'importBuffer') kept[0] = importedRange(kept[0], watch.allocations);
      const passed = recorder.pass?.({ queue, method, args }) ?? args;
      let result: unknown;
      try {
        result = callByName(
          target,
          method,
          passed.map((arg) => withRecordedQueue(bodyOf(arg, bodies.get(arg)))),
        );
      } catch (error) {
        recorder.threw?.({ queue, method, args: kept }, error);
        throw error;
      }
      recorder.tell({ queue, method, args: kept, result });
      watch.watch(result);
      if (isHostImport && result instanceof HalBuffer) watch.share(result);
      return result;
    };
  const wrap = <T extends object>(target: T, methods: ReadonlySet<PropertyKey>, queue?: number, more: object = {}): T =>
    new Proxy(target, {
      get: (_, key) => {
        if (methods.has(key)) return record(target, String(key), queue);
        const found: unknown = Reflect.get(Object.hasOwn(more, key) ? more : target, key);
        return typeof found === 'function' ? found.bind(target) : found;
      },
    });
  const queues = device.queues.map((queue, index) => wrap(queue, QUEUE_METHODS, index));
  const recorded = (queue: HalQueue): HalQueue => queues[device.queues.indexOf(queue)]!;
  // What is called by a queue may use that queue, too.
  const withRecordedQueue = (arg: unknown): unknown => {
    if (!isPlain(arg) || typeof arg['call'] !== 'function') return arg;
    const { call: invoke, ...rest } = arg;
    const inner = invoke as Method; // reason: it is a function
    return { ...rest, call: (context: HostCallContext) => inner({ ...context, queue: recorded(context.queue) }) };
  };
  const wrapped = wrap(device, DEVICE_METHODS, undefined, {
    queues,
    queue: (index?: number) => recorded(device.queue(index)),
    queuesOf: (ordinal: number) => device.queuesOf(ordinal).map(recorded),
    queueFamilies: device.queueFamilies.map((family) => ({ ...family, queues: family.queues.map(recorded) })),
    [Symbol.dispose]: () => {
      watch.tell('close', 'at once');
      device[Symbol.dispose]();
    },
    [Symbol.asyncDispose]: () => {
      watch.tell('close', 'when idle');
      return device[Symbol.asyncDispose]();
    },
    createExecutableCache: (options: ExecutableCacheOptions = {}) =>
      new ExecutableCache((code, how) => wrapped.load(code, how), options),
  });
  return wrapped;
}

const isBytes = (value: unknown): boolean =>
  ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;

/** Of a range of a device that a recorded call made; anything else stays what it is. */
function importedRange(source: unknown, allocations: ReadonlyMap<BufferAllocation, HalBuffer>): unknown {
  if (!isPlain(source)) return source;
  const { address, sizeBytes } = source;
  if (typeof address !== 'bigint' || typeof sizeBytes !== 'number') return source;
  for (const owner of allocations.keys()) {
    const start = owner.state === 'committed' ? owner.storage.address : undefined;
    if (start === undefined || address < start) continue;
    const offsetBytes = Number(address - start);
    if (offsetBytes + sizeBytes <= owner.sizeBytes) return new ImportedRange(owner, offsetBytes, sizeBytes);
  }
  return source;
}

/** For recorders: the method of a recorded call. */
// reason: names of methods come from the lists above, or from calls that were made by them
export const callByName = (target: object, method: string, args: readonly unknown[]): unknown =>
  (target as Readonly<Record<string, Method>>)[method]!(...args);

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** A copy of what the caller may change. `bodies`: functions get one, which their calls go into. */
function snapshot(value: unknown, bodies?: Map<unknown, RecordedBody>): unknown {
  // Whoever takes bytes takes any view of them.
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value.slice(0));
  if (Array.isArray(value)) return value.map((each) => snapshot(each));
  if (isPlain(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, snapshot(each)]));
  if (typeof value !== 'function' || bodies === undefined) return value;
  const body = new RecordedBody();
  bodies.set(value, body);
  return body;
}

/** A function of the program that also writes down what it does with its recorder of commands. */
function bodyOf(arg: unknown, body: RecordedBody | undefined): unknown {
  if (body === undefined) return arg;
  return (recorder: CommandRecorder): void => {
    const wrapped: object = new Proxy(recorder, {
      get: (target, method) => {
        const found: unknown = Reflect.get(target, method, target);
        if (typeof found !== 'function') return found;
        return (...args: readonly unknown[]) => {
          const bodies = new Map<unknown, RecordedBody>();
          body.calls.push({ method: String(method), args: args.map((each) => snapshot(each, bodies)) });
          callByName(
            target,
            String(method),
            args.map((each) => bodyOf(each, bodies.get(each))),
          );
          return wrapped;
        };
      },
    });
    (arg as Method)(wrapped); // reason: only functions have bodies
  };
}

/** Makes recorded calls once more, on another device with as many queues. */
export class DeviceReplay {
  readonly #device: LogicalDevice;
  /** What the other device made, by what the first one did. */
  readonly #made = new Map<unknown, unknown>();
  readonly #buffers = new Map<BufferAllocation, HalBuffer>();

  constructor(device: LogicalDevice) {
    this.#device = device;
  }

  /** Throws what the call throws, INVALID_ARGUMENT for a thing that no recorded call made. */
  run({ queue, method, args, result }: RecordedCall): unknown {
    const passed = args.map((arg) => this.of(arg));
    if (queue === undefined && Object.hasOwn(HOST_ACTIONS, method)) return callByName(HOST_ACTIONS, method, passed);
    const target = queue === undefined ? this.#device : this.#device.queue(queue);
    const made = callByName(target, method, passed);
    this.#keep(result, made);
    if (result instanceof Submission && made instanceof Submission) this.#keep(result.result, made.result);
    return made;
  }

  #keep(first: unknown, made: unknown): void {
    this.#made.set(first, made);
    if (first instanceof HalBuffer && made instanceof HalBuffer) this.#buffers.set(first.allocation, made);
  }

  /** A variable of code is what the program found in it, and no call made. */
  #variable(allocation: BufferAllocation, { executable, name, deviceOrdinal }: VariableOrigin): HalBuffer {
    const made = this.of(executable).variable(name, deviceOrdinal);
    this.#buffers.set(allocation, made);
    return made;
  }

  /** What stands for a value of the recording on this device: `replay.of(buffer)`. */
  of<Value>(value: Value): Value;
  of(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
    const made = this.#made.get(value);
    if (made !== undefined) return made;
    if (value instanceof Timepoint) return this.of(value.semaphore).at(value.value);
    if (value instanceof ExecutableExport) return this.of(value.executable).exportAt(value.ordinal);
    if (value instanceof HalBuffer) {
      const whole = this.#buffers.get(value.allocation);
      if (whole !== undefined) return whole.subspan(value.offsetBytes, value.sizeBytes);
      const variable = variableOf(value);
      if (variable !== undefined)
        return this.#variable(value.allocation, variable).subspan(value.offsetBytes, value.sizeBytes);
    }
    if (value instanceof ImportedRange) {
      const owner = this.#buffers.get(value.owner);
      if (owner === undefined) throw invalidArgument('memory that no recorded call made cannot be imported');
      const { address = 0n } = owner.allocation.storage;
      return { address: address + BigInt(value.offsetBytes), sizeBytes: value.sizeBytes };
    }
    if (UNKNOWN.some((kind) => value instanceof kind)) {
      throw invalidArgument(`a ${value.constructor.name} that no recorded call made cannot be replayed`);
    }
    if (value instanceof RecordedBody) {
      return (recorder: object): void => {
        for (const { method, args } of value.calls) {
          callByName(
            recorder,
            method,
            args.map((arg) => this.of(arg)),
          );
        }
      };
    }
    if (Array.isArray(value)) return value.map((each) => this.of(each));
    if (isPlain(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.of(each)]));
    return value;
  }
}

/** Things that belong to one device. */
const UNKNOWN = [HalBuffer, Semaphore, Submission, HalExecutable, CommandBuffer, HalPool];
