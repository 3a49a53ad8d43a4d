/** The calls of one device, and what the host does to what they made, as records. */
import { WavewrightError } from '../../base/errors.ts';
import { callByName, type HostWatch, ImportedRange, type RecordedBody } from '../../hal/devices/device-recorder.ts';
import type { HalExecutable } from '../../hal/executables/executable.ts';
import {
  type BufferParams,
  type CallRecorder,
  type CodeLoadOptions,
  type CommandBuffer,
  HAL_STATUS,
  HalBuffer,
  HalError,
  type HalEvent,
  type HalFile,
  type HalPool,
  type HostCallContext,
  type ImportParams,
  type LogicalDevice,
  type OrderOptions,
  type PoolOptions,
  type RecordedCall,
  type Semaphore,
} from '../../hal/index.ts';
import type { HeldBytes } from '../../hal/memory/buffer.ts';
import type { Submission } from '../../hal/queues/submission.ts';
import { BUFFER_RANGE_DATA } from '../format/payloads.ts';
import { recordCommands } from './command-records.ts';
import { contentsNote } from './contents-note.ts';
import { ExecutableRecords } from './executable-records.ts';
import { FileRecords, type FileUser } from './file-records.ts';
import { QueueRecords } from './queue-records.ts';
import type { RecorderContext } from './recorder-context.ts';
import { ThingRecords } from './thing-records.ts';

type PassedCall = Parameters<NonNullable<CallRecorder['pass']>>[0];

/** An operation between its call and its end. */
interface PendingUser extends FileUser {
  submission: Submission<unknown> | undefined;
  file: HalFile | undefined;
  /** What is not followed any more when the operation has ended. */
  forget?: () => void;
}

/** Operations by the methods of queues and devices, for calls that threw. */
const OPERATIONS: Readonly<Record<string, string>> = {
  alloca: 'device.queue_alloca',
  barrier: 'device.queue_execute',
  copy: 'device.queue_copy',
  dealloca: 'device.queue_dealloca',
  dispatch: 'device.queue_dispatch',
  execute: 'device.queue_execute',
  fill: 'device.queue_fill',
  hostCall: 'device.queue_host_call',
  read: 'device.queue_read',
  update: 'device.queue_update',
  write: 'device.queue_write',
  allocate: 'allocator.allocate_buffer',
  importBuffer: 'allocator.import_buffer',
  load: 'executable_cache.prepare_executable',
  record: 'device.create_command_buffer',
  createPool: 'device.create_pool',
  createSemaphore: 'device.create_semaphore',
};
const DISCARD_WRITE = 6;

export class DeviceRecords implements CallRecorder {
  readonly #context: RecorderContext;
  readonly #device: LogicalDevice;
  readonly #things: ThingRecords;
  readonly #files: FileRecords;
  readonly #queues: QueueRecords;
  readonly #executables: ExecutableRecords;
  /** Of the call that is being made. */
  #user: PendingUser = { operation: undefined, submission: undefined, file: undefined };
  /** Operations of which it matters whether they have begun. */
  readonly #waiting = new Map<Submission<unknown>, number>();
  readonly #operations = new WeakMap<Submission<unknown>, number>();
  #watch: HostWatch | undefined;
  /** Whether something has ended since the host was last known to know. */
  #hasNews = false;
  #isOver = false;

  constructor(context: RecorderContext, device: LogicalDevice, uri: string) {
    this.#context = context;
    this.#device = device;
    this.#things = new ThingRecords(context, device);
    this.#files = new FileRecords(this.#things);
    this.#queues = new QueueRecords(this.#things, this.#files);
    this.#executables = new ExecutableRecords(this.#things);
    const formats = device.physicalDevices.map(({ formats: [format] }) => format ?? 'none');
    const { deviceId } = this.#things;
    context.writer.own('note.device', { deviceId }, { uri, queues: device.queues.length, formats });
  }

  begin(watch: HostWatch): void {
    this.#watch = watch;
    this.#things.watch = watch;
  }

  /** Functions and files are replaced by those that tell what they do. */
  pass({ queue, args }: PassedCall): readonly unknown[] {
    this.#noteStarted();
    const [options] = args;
    if (this.#isOver || queue === undefined) return args;
    const user: PendingUser = { operation: undefined, submission: undefined, file: undefined };
    this.#user = user;
    if (typeof options !== 'object' || options === null) return args;
    const passed: Record<string, unknown> = { ...options };
    const { abort, file, call } = passed;
    if (abort instanceof AbortSignal) this.#followAbort(abort, user);
    if (isFile(file)) {
      user.file = file;
      passed['file'] = this.#files.watched(file, user);
    }
    if (typeof call === 'function') passed['call'] = this.#watchedCall(call as HostFunction, user); // reason: as above
    return [passed, ...args.slice(1)];
  }

  #followAbort(abort: AbortSignal, user: PendingUser): void {
    if (abort.aborted) return;
    const tell = (): void => {
      this.#noteStarted();
      const state = user.submission?.state;
      if (state !== 'waiting' && state !== 'ready') return;
      this.#own('device.abort_operation', { operation: user.operation });
    };
    abort.addEventListener('abort', tell);
    user.forget = () => abort.removeEventListener('abort', tell);
  }

  #watchedCall(call: HostFunction, user: PendingUser): HostFunction {
    const end = (error?: { readonly thrown: unknown }): void => {
      this.#watch?.views.flush();
      const failure = error && { failure: failureOf(error.thrown) };
      this.#own('device.host_call_end', { operation: user.operation, ...failure });
    };
    return async (context) => {
      this.#own('device.host_call_begin', { operation: user.operation });
      try {
        const result = await call(context);
        end();
        return result;
      } catch (error) {
        end({ thrown: error });
        throw error;
      }
    };
  }

  #own(name: string, told: unknown, objectId = 0): void {
    if (!this.#isOver) this.#context.writer.own(name, { deviceId: this.#things.deviceId, objectId }, told);
  }

  tell({ queue, method, args, result }: RecordedCall): void {
    if (this.#isOver) return;
    if (queue === undefined) {
      this.#noteStarted();
      callByName(this.#calls, method, [result, ...args]);
      return;
    }
    const submission = result as Submission<unknown>; // reason: what queues give
    const { file } = this.#user;
    const options = { ...(args[0] as OrderOptions | undefined), ...(file && { file }) };
    if (options.abort !== undefined) {
      this.#own('note.operation', { abort: options.abort.aborted ? 'before' : 'later' });
    }
    const ordinal = this.#queues.operation(queue, method, options, submission);
    this.#user.operation = ordinal;
    this.#user.submission = submission;
    this.#operations.set(submission, ordinal);
    const { forget } = this.#user;
    if (forget !== undefined) submission.then(forget, forget);
    if (options.abort !== undefined || 'pool' in options) this.#waiting.set(submission, ordinal);
  }

  /** Before whatever the host does: who has begun cannot be aborted, and has its place at a pool. */
  #noteStarted(): void {
    for (const [submission, operation] of this.#waiting) {
      if (submission.state === 'waiting' || submission.state === 'ready') continue;
      this.#waiting.delete(submission);
      if (submission.state === 'running') this.#own('note.operation_started', { operation });
    }
  }

  threw({ method }: PassedCall, error: unknown): void {
    const operation = OPERATIONS[method];
    if (this.#isOver || operation === undefined) return;
    const status = error instanceof HalError ? error.statusValue : HAL_STATUS.UNKNOWN.value;
    const { deviceId } = this.#things;
    this.#context.writer.operation(operation, { deviceId, objectId: deviceId, objectType: 'device', status });
  }

  /** What is submitted from now on may count on what has ended. */
  known(): void {
    if (!this.#hasNews) return;
    this.#hasNews = false;
    this.#own('note.host_waited', {});
  }

  ended(submission: Submission<unknown>, failure: HalError | undefined): void {
    const operation = this.#operations.get(submission);
    this.#hasNews = true;
    this.#own('note.operation_ended', { operation, status: failure?.statusValue ?? 0 });
  }

  seen({ allocation, offsetBytes: offset, bytes, access }: HeldBytes): void {
    if (this.#isOver || !this.#context.options.keepsContents || !access.has('read')) return;
    const objectId = this.#context.ids.of(allocation);
    if (objectId === undefined) return;
    const header = { deviceId: this.#things.deviceId, objectId };
    contentsNote(this.#context.writer, 'note.contents', header, { offset, bytes });
  }

  readonly #calls = {
    allocate: (buffer: HalBuffer, _sizeBytes: number, params: BufferParams = {}): void =>
      this.#things.allocated(buffer, params),
    importBuffer: (buffer: HalBuffer, source: unknown, params: ImportParams = {}): void =>
      this.#imported(buffer, source, params),
    createEvent: (event: HalEvent): void => this.#things.event(event),
    createPool: (pool: HalPool, options: PoolOptions): void => this.#things.pool(pool, options),
    createSemaphore: (semaphore: Semaphore): void => void this.#things.semaphore(semaphore, semaphore.value),
    load: (executable: HalExecutable, code: unknown, options: CodeLoadOptions = {}): void =>
      this.#executables.loaded(executable, code, options),
    record: (commands: CommandBuffer, _options: unknown, body: RecordedBody): void =>
      recordCommands(this.#things, commands, body),
    trim: (): void => {
      const { deviceId } = this.#things;
      this.#context.writer.operation('device.trim', { deviceId, objectId: deviceId, objectType: 'device' });
    },
    signal: (_: undefined, semaphore: Semaphore, value: number): void =>
      this.#own('semaphore.signal', { value }, this.#context.ids.of(semaphore)),
    fail: (_: undefined, semaphore: Semaphore, failure: HalError): void =>
      this.#things.failed(this.#context.ids.of(semaphore)!, failure),
    hostWrite: (_: undefined, { allocation, offsetBytes }: HalBuffer, bytes: Uint8Array): void => {
      const objectId = this.#context.ids.of(allocation)!;
      const header = { deviceId: this.#things.deviceId, objectId, objectType: 'buffer' } as const;
      this.#context.writer.operation('buffer.unmap_range', header, BUFFER_RANGE_DATA, {
        byteOffset: offsetBytes,
        byteLength: bytes.length,
        memoryAccess: DISCARD_WRITE,
        data: bytes,
      });
    },
    close: (_: undefined, how: 'at once' | 'when idle'): void => this.#own('device.close', { how }),
    dispose: (_: undefined, thing: unknown): void => {
      const key = thing instanceof HalBuffer ? thing.allocation : thing;
      this.#own('note.released', {}, this.#context.ids.of(key));
    },
  };

  #imported(buffer: HalBuffer, source: unknown, { onRelease: _, ...params }: ImportParams): void {
    if (source instanceof Uint8Array) this.#things.imported(buffer, params, source);
    else if (source instanceof ImportedRange) {
      const { owner, offsetBytes, sizeBytes } = source;
      const { deviceId } = this.#things;
      const relatedObjectId = this.#context.ids.take(buffer.allocation);
      const header = { deviceId, objectId: this.#context.ids.of(owner)!, relatedObjectId };
      this.#context.writer.own('device.import_range', header, { offsetBytes, sizeBytes, params });
    } else {
      this.#context.ids.take(buffer.allocation);
      const { deviceId } = this.#things;
      this.#context.writer.unsupported('allocator.import_buffer', { deviceId, objectType: 'allocator' });
    }
  }

  /** What buffers hold that are there; nothing is recorded any more. */
  end(): void {
    this.#watch?.views.flush();
    if (this.#context.options.keepsContents && !this.#device.isClosed) this.#noteContents();
    this.#isOver = true;
  }

  #noteContents(): void {
    for (const allocation of this.#watch?.allocations.keys() ?? []) {
      const objectId = this.#context.ids.of(allocation);
      if (allocation.state !== 'committed' || objectId === undefined) continue;
      const bytes = allocation.storage.bytes().subarray(0, allocation.sizeBytes);
      const header = { deviceId: this.#things.deviceId, objectId };
      contentsNote(this.#context.writer, 'note.contents', header, { offset: 0, bytes });
    }
  }
}

type HostFunction = (context: HostCallContext) => unknown;

const isFile = (value: unknown): value is HalFile =>
  typeof value === 'object' && value !== null && 'read' in value && 'write' in value;

/** What a host call threw, so that a replay throws the same. */
function failureOf(error: unknown): object {
  if (error instanceof HalError) return { status: error.status, message: error.what };
  if (error instanceof WavewrightError) return { status: null, code: error.code, message: error.what };
  return { status: null, message: error instanceof Error ? error.message : String(error) };
}
