/** Things of one device as records name them: each has a number, and a record that says how it came to be. */

import { timepointsOf } from '../../hal/core/semaphore.ts';
import type { HostWatch } from '../../hal/devices/device-recorder.ts';
import { type HalExecutable, variableOf } from '../../hal/executables/executable.ts';
import {
  BUFFER_USAGE,
  type BufferParams,
  type CommandBuffer,
  type CommandRef,
  type DirectRef,
  HalBuffer,
  HalError,
  type HalEvent,
  type HalPool,
  type LogicalDevice,
  type PoolOptions,
  type Semaphore,
  type WaitInput,
} from '../../hal/index.ts';
import type { BufferAllocation } from '../../hal/memory/buffer.ts';
import { type ResolvedParams, resolveParams } from '../../hal/memory/buffer-params.ts';
import { bufferRange } from '../../hal/memory/buffer-ref.ts';
import { EXTERNAL_HOST_ALLOCATION } from '../format/names.ts';
import type { BufferRefRecord, TimepointRecord } from '../format/payload-kinds.ts';
import type { PayloadLayout, PayloadOf } from '../format/payload-layout.ts';
import {
  ALLOCATE_BUFFER,
  BUFFER_OBJECT,
  COMMAND_BUFFER_OBJECT,
  EVENT_OBJECT,
  IMPORT_BUFFER,
  SEMAPHORE_OBJECT,
} from '../format/payloads.ts';
import type { RecorderContext } from './recorder-context.ts';

/** Any queue. */
export const ANY_QUEUE = 2n ** 64n - 1n;
/** Transfers and dispatches. */
const ALL_CATEGORIES = 3;

export class ThingRecords {
  readonly context: RecorderContext;
  readonly device: LogicalDevice;
  readonly deviceId: number;
  readonly #allocatorId: number;
  #watch: HostWatch | undefined;

  constructor(context: RecorderContext, device: LogicalDevice) {
    this.context = context;
    this.device = device;
    const { writer, ids } = context;
    this.deviceId = ids.take(device);
    this.#allocatorId = ids.take();
    const { deviceId } = this;
    writer.object({ deviceId, objectId: deviceId, objectType: 'device' });
    writer.object({ deviceId, objectId: this.#allocatorId, objectType: 'allocator' });
  }

  /** What tells of the things that others made. */
  set watch(watch: HostWatch) {
    this.#watch = watch;
  }

  /** One bit for each queue of a physical device. */
  affinityOf(deviceOrdinal: number): bigint {
    const bits = this.device.queues.map((queue, i) => (queue.deviceOrdinal === deviceOrdinal ? 1n << BigInt(i) : 0n));
    return bits.reduce((all, bit) => all | bit, 0n);
  }

  /** What a device makes: the call, then the thing. */
  create<Layout extends PayloadLayout>(
    operation: string,
    type: 'command_buffer' | 'event' | 'semaphore' | 'executable_cache' | 'file',
    thing: unknown,
    layout: Layout,
    payload: Partial<PayloadOf<Layout>>,
  ): number {
    const { deviceId } = this;
    const { writer, ids } = this.context;
    const id = ids.take(thing);
    const made = { deviceId, objectId: deviceId, relatedObjectId: id, objectType: 'device' } as const;
    writer.operation(operation, made, layout, payload);
    writer.object({ deviceId, objectId: id, objectType: type }, layout, payload);
    return id;
  }

  allocated(buffer: HalBuffer, params: BufferParams): void {
    const payload = this.#allocationPayload(resolveParams(params), buffer.sizeBytes);
    this.allocatorCall('allocator.allocate_buffer', buffer, ALLOCATE_BUFFER, payload);
  }

  #allocationPayload({ minAlignmentBytes, usage, memoryType, access, deviceOrdinal }: ResolvedParams, size: number) {
    return {
      allocationSize: size,
      queueAffinity: this.affinityOf(deviceOrdinal),
      minAlignment: minAlignmentBytes,
      usage: usage.bits,
      type: memoryType.bits,
      access: access.bits,
    };
  }

  /** A buffer that came by its allocator. */
  allocatorCall<Layout extends PayloadLayout>(
    operation: string,
    buffer: HalBuffer,
    layout: Layout,
    payload: Partial<PayloadOf<Layout>>,
  ): void {
    const relatedObjectId = this.context.ids.take(buffer.allocation);
    const header = { deviceId: this.deviceId, objectId: this.#allocatorId, relatedObjectId };
    this.context.writer.operation(operation, { ...header, objectType: 'allocator' }, layout, payload);
    this.bufferObject(buffer);
  }

  /** Memory of the host, with its bytes. */
  imported(buffer: HalBuffer, params: BufferParams, contents: Uint8Array): void {
    this.allocatorCall('allocator.import_buffer', buffer, IMPORT_BUFFER, {
      ...this.#allocationPayload(resolveParams(params), buffer.sizeBytes),
      externalType: EXTERNAL_HOST_ALLOCATION,
      data: contents,
    });
  }

  /** What a buffer became. */
  bufferObject({ allocation, memoryType, usage, access, placement }: HalBuffer): void {
    const objectId = this.context.ids.of(allocation)!;
    this.context.writer.object({ deviceId: this.deviceId, objectId, objectType: 'buffer' }, BUFFER_OBJECT, {
      allocationSize: allocation.sizeBytes,
      byteLength: allocation.sizeBytes,
      queueAffinity: this.affinityOf(placement.deviceOrdinal),
      placementFlags: placement.flags.bits,
      memoryType: memoryType.bits,
      allowedUsage: usage.bits,
      allowedAccess: access.bits,
    });
  }

  /** Throws INVALID_ARGUMENT for a buffer whose memory is not there and that no recorded call made. */
  bufferId(buffer: HalBuffer): number {
    const { allocation } = buffer;
    const known = this.context.ids.of(allocation);
    if (known !== undefined) return known;
    const variable = variableOf(buffer);
    const whole = new HalBuffer(allocation, 0, allocation.sizeBytes);
    if (variable === undefined) this.imported(whole, paramsOf(allocation), contentsOf(allocation));
    else {
      const { executable, name, deviceOrdinal } = variable;
      const id = this.context.ids.take(allocation);
      const header = { deviceId: this.deviceId, objectId: this.executableId(executable), relatedObjectId: id };
      this.context.writer.own('executable.variable', header, { name, deviceOrdinal });
    }
    this.#watch!.watch(whole);
    return this.context.ids.of(allocation)!;
  }

  ref(ref: DirectRef): BufferRefRecord {
    const { buffer, offsetBytes, sizeBytes } = bufferRange(ref);
    return { bufferId: this.bufferId(buffer), offset: buffer.offsetBytes + offsetBytes, length: sizeBytes, slot: 0 };
  }

  /** A buffer, or what a slot will have; `slots`: their names. */
  commandRef(ref: CommandRef, slots: readonly string[]): BufferRefRecord {
    if (!('slot' in ref)) return this.ref(ref);
    const slot = typeof ref.slot === 'number' ? ref.slot : slots.indexOf(ref.slot);
    return { bufferId: 0, offset: ref.offsetBytes ?? 0, length: ref.sizeBytes, slot };
  }

  semaphoreId(semaphore: Semaphore): number {
    const known = this.context.ids.of(semaphore);
    if (known !== undefined) return known;
    const id = this.semaphore(semaphore, semaphore.value);
    this.#watch!.watch(semaphore);
    if (semaphore.failure !== undefined) this.failed(id, semaphore.failure);
    return id;
  }

  /** One that is there from now on. */
  semaphore(semaphore: Semaphore, initialValue: number): number {
    const payload = { queueAffinity: ANY_QUEUE, initialValue, flags: BigInt(semaphore.flags.bits) };
    return this.create('device.create_semaphore', 'semaphore', semaphore, SEMAPHORE_OBJECT, payload);
  }

  failed(objectId: number, { status, what }: HalError): void {
    this.context.writer.own('semaphore.fail', { deviceId: this.deviceId, objectId }, { status, message: what });
  }

  timepoints(list: readonly WaitInput[] = []): TimepointRecord[] {
    return timepointsOf(list).map(({ semaphore, value }) => ({ semaphoreId: this.semaphoreId(semaphore), value }));
  }

  event(event: HalEvent): void {
    this.create('device.create_event', 'event', event, EVENT_OBJECT, { queueAffinity: ANY_QUEUE });
  }

  eventId(event: HalEvent): number {
    if (this.context.ids.of(event) === undefined) this.event(event);
    return this.context.ids.of(event)!;
  }

  /** Throws INVALID_ARGUMENT for code that was loaded before. */
  executableId(executable: HalExecutable): number {
    return this.#idOf(executable, 'code');
  }

  poolId(pool: HalPool): number {
    return this.#idOf(pool, 'a pool');
  }

  commandBufferId(commands: CommandBuffer): number {
    return this.#idOf(commands, `'${commands.label}'`);
  }

  #idOf(thing: unknown, what: string): number {
    const id = this.context.ids.of(thing);
    if (id !== undefined) return id;
    throw new HalError('INVALID_ARGUMENT', `${what} that was made without the recorder cannot be recorded`, {
      hint: 'wrap the device before anything is made',
    });
  }

  pool(pool: HalPool, options: PoolOptions): void {
    const relatedObjectId = this.context.ids.take(pool);
    this.context.writer.own('device.create_pool', { deviceId: this.deviceId, relatedObjectId }, options);
  }

  commandBuffer(commands: CommandBuffer): number {
    return this.create('device.create_command_buffer', 'command_buffer', commands, COMMAND_BUFFER_OBJECT, {
      mode: commands.mode.bits,
      commandCategories: ALL_CATEGORIES,
      queueAffinity: ANY_QUEUE,
      bindingCapacity: commands.slots.length,
    });
  }
}

/** What an allocation was made with, as far as it is known later. */
const paramsOf = ({ params }: BufferAllocation): BufferParams => ({
  ...params,
  usage: BUFFER_USAGE.ofBits(params.usage.bits),
});

/** Throws FAILED_PRECONDITION where there is no memory. */
const contentsOf = (allocation: BufferAllocation): Uint8Array =>
  allocation.storage.bytes().slice(0, allocation.sizeBytes);
