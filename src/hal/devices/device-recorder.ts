/**
 * A recorder as a wrapper of any device: it passes calls on and tells of each, so that they can be made once
 * more on another device. What it does not see is what the host does to mapped memory.
 */
import { CommandBuffer } from '../commands/command-buffer.ts';
import type { CommandRecorder } from '../commands/recorder.ts';
import { Semaphore, Timepoint } from '../core/semaphore.ts';
import { invalidArgument } from '../core/status.ts';
import { ExecutableExport, HalExecutable, type VariableOrigin, variableOf } from '../executables/executable.ts';
import { type BufferAllocation, HalBuffer } from '../memory/buffer.ts';
import { HalPool } from '../memory/pools/pool.ts';
import type { HalQueue } from '../queues/queue.ts';
import { Submission } from '../queues/submission.ts';
import type { LogicalDevice } from './logical-device.ts';

const DEVICE_METHODS: ReadonlySet<PropertyKey> = new Set<keyof LogicalDevice>([
  'allocate',
  'createEvent',
  'createPool',
  'createSemaphore',
  'importBuffer',
  'load',
  'record',
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

/** A call of a program that went through. */
export interface RecordedCall {
  /** The index of the queue; undefined for a call of the device. */
  readonly queue: number | undefined;
  readonly method: string;
  /** Bytes are copied when the call is made, buffers and semaphores are those of the call. */
  readonly args: readonly unknown[];
  readonly result: unknown;
}

type Method = (...args: readonly unknown[]) => unknown;

/** What a program did inside of a function that it gave to a recorder of commands. */
class RecordedBody {
  readonly calls: { readonly method: string; readonly args: readonly unknown[] }[] = [];
}

/** Memory that a program imports by its address: a part of what a recorded call made. */
class ImportedRange {
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
 * A device that does what `device` does. `tell` is called for each call that makes something or gives a queue
 * something to do, behind it; what throws is told of nobody.
 */
export function recordDevice(device: LogicalDevice, tell: (call: RecordedCall) => void): LogicalDevice {
  const allocations = new Set<BufferAllocation>();
  const record =
    (target: object, method: string, queue: number | undefined) =>
    (...args: readonly unknown[]): unknown => {
      const bodies = new Map<unknown, RecordedBody>();
      const kept = args.map((arg) => snapshot(arg, method === 'record' ? bodies : undefined));
      if (method === 'importBuffer') kept[0] = importedRange(kept[0], allocations);
      const passed = args.map((arg) => bodyOf(arg, bodies.get(arg)));
      const result = call(target, method, passed);
      const made = result instanceof Submission ? result.result : result;
      if (made instanceof HalBuffer) allocations.add(made.allocation);
      tell({ queue, method, args: kept, result });
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
  return wrap(device, DEVICE_METHODS, undefined, {
    queues,
    queue: (index?: number) => recorded(device.queue(index)),
    queuesOf: (ordinal: number) => device.queuesOf(ordinal).map(recorded),
    queueFamilies: device.queueFamilies.map((family) => ({ ...family, queues: family.queues.map(recorded) })),
  });
}

/** Of a range of a device that a recorded call made; anything else stays what it is. */
function importedRange(source: unknown, allocations: ReadonlySet<BufferAllocation>): unknown {
  if (!isPlain(source)) return source;
  const { address, sizeBytes } = source;
  if (typeof address !== 'bigint' || typeof sizeBytes !== 'number') return source;
  for (const owner of allocations) {
    const start = owner.state === 'committed' ? owner.storage.address : undefined;
    if (start === undefined || address < start) continue;
    const offsetBytes = Number(address - start);
    if (offsetBytes + sizeBytes <= owner.sizeBytes) return new ImportedRange(owner, offsetBytes, sizeBytes);
  }
  return source;
}

// reason: names of methods come from the lists above, or from calls that were made by them
const call = (target: object, method: string, args: readonly unknown[]): unknown =>
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
          call(
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
    const target = queue === undefined ? this.#device : this.#device.queue(queue);
    const made = call(
      target,
      method,
      args.map((arg) => this.of(arg)),
    );
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
          call(
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
