/**
 * IREE's conformance suite for HAL drivers (iree/hal/cts), as data: a group for each of its suites, a body
 * for each name. What has no body says why.
 */
import assert from 'node:assert/strict';
import type { CommandRecorder, CommandRef } from '../commands/recorder.ts';
import { seededIntegers } from '../core/random.ts';
import type { Semaphore } from '../core/semaphore.ts';
import { HalError } from '../core/status.ts';
import { formatDeviceUri, parseDeviceUri } from '../core/uri.ts';
import type { DriverRegistry } from '../devices/driver.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { ProfileChunk, ProfileEvent, ProfileOptions } from '../devices/profile-session.ts';
import type { ExecutableExport, HalExecutable } from '../executables/executable.ts';
import type { HalBuffer } from '../memory/buffer.ts';
import type { HalPool } from '../memory/pools/pool.ts';
import type { PoolOptions } from '../memory/pools/pool-shape.ts';
import type { HalQueue } from '../queues/queue.ts';
import { contentsOf } from './readback.test-support.ts';
import type { Subject, SubjectTag } from './subject.test-support.ts';

export interface WorldOptions extends Pick<World, 'subject' | 'registry' | 'device' | 'isIndirect'> {
  /** Of the device. */
  readonly uri: string;
  /** The suite's kernels on the device. */
  readonly code: () => HalExecutable;
}

/** What a body works with. Buffers that it makes are disposed behind it. */
export class World {
  readonly subject: Subject;
  readonly registry: DriverRegistry;
  readonly device: LogicalDevice;
  /** Whether command buffers name buffers by slots. */
  readonly isIndirect: boolean;
  readonly #uri: string;
  readonly #code: () => HalExecutable;
  readonly #resources = new DisposableStack();

  constructor({ subject, registry, uri, device, code, isIndirect }: WorldOptions) {
    this.subject = subject;
    this.registry = registry;
    this.device = device;
    this.isIndirect = isIndirect;
    this.#uri = uri;
    this.#code = code;
  }

  /** Another device by the URI of this one, with further parameters; it is closed behind the body. */
  async open(further: Readonly<Record<string, string>> = {}): Promise<LogicalDevice> {
    const uri = parseDeviceUri(this.#uri);
    const parameters = new Map([...uri.parameters, ...Object.entries(further)]);
    return this.#resources.use(await this.registry.open(formatDeviceUri({ ...uri, parameters })));
  }

  get queue(): HalQueue {
    return this.device.queue(0);
  }

  get otherQueue(): HalQueue {
    return this.device.queue(1);
  }

  get code(): HalExecutable {
    return this.#code();
  }

  entry(name: string): ExecutableExport {
    return this.#code().lookup(name);
  }

  semaphore(initialValue = 0): Semaphore {
    return this.device.createSemaphore({ initialValue });
  }

  /** Device memory. */
  buffer(sizeBytes: number): HalBuffer {
    const usage = ['default', 'dispatch-indirect-parameters'] as const;
    return this.#resources.use(this.device.allocate(sizeBytes, { usage }));
  }

  /** Memory that the host maps. */
  mapped(sizeBytes: number): HalBuffer {
    const params = { memoryType: 'host-local', usage: ['default', 'mapping'] } as const;
    return this.#resources.use(this.device.allocate(sizeBytes, params));
  }

  pool(options: PoolOptions): HalPool {
    return this.#resources.use(this.device.createPool(options));
  }

  async filled(contents: ArrayBufferView): Promise<HalBuffer> {
    const buffer = this.buffer(contents.byteLength);
    await this.queue.update({ target: buffer, contents });
    return buffer;
  }

  contents(buffer: HalBuffer): Promise<Uint8Array<ArrayBuffer>> {
    return contentsOf(this.device, buffer);
  }

  async expect(buffer: HalBuffer, expected: ArrayBufferView): Promise<void> {
    const [found, wanted] = [await this.contents(buffer), bytesOf(expected)];
    // A difference is shown; looking for it element by element takes long where there is none.
    if (Buffer.compare(found, wanted) !== 0) assert.deepEqual(found, wanted);
  }

  /** Records commands on buffers, directly or by slots, and executes them. */
  async commands(
    buffers: Readonly<Record<string, HalBuffer>>,
    build: (
      recorder: CommandRecorder,
      ref: (name: string, offsetBytes?: number, sizeBytes?: number) => CommandRef,
    ) => void,
  ): Promise<void> {
    const slots = this.isIndirect ? Object.keys(buffers) : [];
    using program = this.device.record({ slots }, (recorder) =>
      build(recorder, (name, offsetBytes = 0, sizeBytes = buffers[name]!.sizeBytes - offsetBytes) =>
        this.isIndirect ? { slot: name, offsetBytes, sizeBytes } : { buffer: buffers[name]!, offsetBytes, sizeBytes },
      ),
    );
    await this.queue.execute({ commands: program, bindings: this.isIndirect ? buffers : {} });
  }

  /** What a session of its own is told of what `run` does. */
  async profiled(
    options: Omit<ProfileOptions, 'sink'>,
    run: () => PromiseLike<unknown>,
  ): Promise<readonly ProfileEvent[]> {
    const events: ProfileEvent[] = [];
    const sink = { write: (chunk: ProfileChunk) => void events.push(...chunk.events) };
    const session = await this.device.profile({ ...options, sink });
    await run();
    await session.end();
    return events;
  }

  dispose(): void {
    this.#resources.dispose();
  }
}

export type Body = (world: World) => unknown;

/** A body, a body with what it needs, or why there is none. */
export type Group = Readonly<
  Record<string, Body | { readonly needs: readonly SubjectTag[]; readonly body: Body } | string>
>;

/** Bodies that need kernels to run. */
export const executing = (body: Body) => ({ needs: ['execution'] as const, body });

/** Bodies that need a device that measures when kernels run. */
export const measuring = (body: Body) => ({ needs: ['execution', 'code-objects'] as const, body });

/** Bodies that need kernels as code of GPUs, with faults of their own. */
export const faulting = (body: Body) => ({ needs: ['execution', 'faults'] as const, body });

export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Bytes that differ by place and seed. */
export function someBytes(count: number, seed = 1): Uint8Array {
  const random = seededIntegers(seed);
  return Uint8Array.from({ length: count }, () => random(256));
}

export const repeated = (pattern: readonly number[], count: number): Uint8Array =>
  Uint8Array.from({ length: count }, (_, i) => pattern[i % pattern.length]!);

/** `whole` with other bytes from a place on. */
export function replaced(whole: Uint8Array, offset: number, part: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(whole);
  copy.set(part, offset);
  return copy;
}

/** The failure of what is awaited. */
export async function failureOf(operation: PromiseLike<unknown>): Promise<HalError> {
  const error = await operation.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HalError, 'it failed with a HalError');
  return error;
}
