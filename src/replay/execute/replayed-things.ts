/** What a replay made so far, by the numbers of the recording. */
import { WavewrightError } from '../../base/errors.ts';
import { CommandBuffer } from '../../hal/commands/command-buffer.ts';
import { HalEvent } from '../../hal/core/hal-event.ts';
import { Semaphore } from '../../hal/core/semaphore.ts';
import { LogicalDevice as Device } from '../../hal/devices/logical-device.ts';
import { HalExecutable } from '../../hal/executables/executable.ts';
import type { CommandRef, HalBuffer, LogicalDevice, Timepoint } from '../../hal/index.ts';
import { HalBuffer as Buffer } from '../../hal/memory/buffer.ts';
import { HalPool } from '../../hal/memory/pools/pool.ts';
import type { BufferRefRecord, TimepointRecord } from '../format/payload-kinds.ts';
import { ReplayedFile } from './replayed-files.ts';

/** Kinds of things, and what errors call them. */
const KINDS = {
  buffer: Buffer,
  'command buffer': CommandBuffer,
  device: Device,
  event: HalEvent,
  executable: HalExecutable,
  file: ReplayedFile,
  pool: HalPool,
  semaphore: Semaphore,
} as const;
type Kind = keyof typeof KINDS;

export class ReplayedThings {
  readonly #made = new Map<number, object>();
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  set(id: number, thing: object): void {
    this.#made.set(id, thing);
  }

  /** The thing of any kind; undefined where there is none. */
  find(id: number): object | undefined {
    return this.#made.get(id);
  }

  /** All buffers that were made, by their numbers. */
  get buffers(): ReadonlyMap<number, HalBuffer> {
    return new Map([...this.#made].filter((entry): entry is [number, Buffer] => entry[1] instanceof Buffer));
  }

  /** Throws BAD_INPUT where there is none, or another kind of thing. */
  of<K extends Kind>(kind: K, id: number): InstanceType<(typeof KINDS)[K]> {
    const found = this.#made.get(id);
    // reason: the class of the kind
    if (found instanceof KINDS[kind]) return found as InstanceType<(typeof KINDS)[K]>;
    throw new WavewrightError('BAD_INPUT', `no ${kind} has the number ${id}`, { file: this.#file });
  }

  device(id: number): LogicalDevice {
    return this.of('device', id);
  }

  /** Gives back what belongs to the replay. */
  release(): void {
    for (const thing of this.#made.values()) {
      if (!(thing instanceof Device) && Symbol.dispose in thing) (thing as Disposable)[Symbol.dispose]();
    }
  }

  ref({ bufferId, offset, length }: BufferRefRecord) {
    const buffer = this.of('buffer', bufferId);
    return { buffer, offsetBytes: offset, ...(length !== undefined && { sizeBytes: length }) };
  }

  /** Undefined for a slot of a table that has no buffer. */
  optionalRef(ref: BufferRefRecord) {
    return ref.bufferId === 0 ? undefined : this.ref(ref);
  }

  commandRef(ref: BufferRefRecord): CommandRef {
    if (ref.bufferId !== 0) return this.ref(ref);
    const { slot, offset, length } = ref;
    return { slot, offsetBytes: offset, ...(length !== undefined && { sizeBytes: length }) };
  }

  timepoints(list: readonly TimepointRecord[]): Timepoint[] {
    return list.map(({ semaphoreId, value }) => this.of('semaphore', semaphoreId).at(value));
  }
}
