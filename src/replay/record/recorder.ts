/**
 * Records what programs do with HAL devices as a file (iree/hal/replay/recorder.h). Devices are wrapped; all
 * of them write to one file, in the order in which their program called.
 */
import type { BundleTarget } from '../../base/bundle-target.ts';
import { WavewrightError } from '../../base/errors.ts';
import { type LogicalDevice, recordDevice } from '../../hal/index.ts';
import { ReplayWriter } from '../format/file.ts';
import { REPLAY_SCOPE } from '../format/payloads.ts';
import { DeviceRecords } from './device-records.ts';
import { ObjectIds } from './object-ids.ts';
import type { RecorderContext, RecorderOptions } from './recorder-context.ts';

export interface WrapOptions {
  /** What opens such a device: `amdgpu://0?target=gfx90a`. Default: its name. */
  readonly uri?: string;
}

/** `using` closes it; `close` throws what went wrong with the file. */
export class ReplayRecorder implements Disposable {
  readonly #context: RecorderContext;
  readonly #target: TerminalTarget;
  readonly #devices: DeviceRecords[] = [];
  #isClosed = false;

  /** `target` is the file from its start on. Throws what its writing throws. */
  constructor(target: BundleTarget, options: RecorderOptions = {}) {
    const { filePolicy = 'reference', fileValidation = 'identity', keepsContents = true } = options;
    this.#target = new TerminalTarget(target);
    const writer = new ReplayWriter(this.#target);
    writer.session();
    this.#context = { writer, ids: new ObjectIds(), options: { filePolicy, fileValidation, keepsContents } };
  }

  /** A device that does what `device` does. Throws USAGE for one that was closed. */
  wrap(device: LogicalDevice, { uri = device.name }: WrapOptions = {}): LogicalDevice {
    this.#expectOpen();
    const records = new DeviceRecords(this.#context, device, uri);
    this.#devices.push(records);
    return recordDevice(device, records);
  }

  /** A part of the program begins, whose time `replay benchmark` can tell; parts may lie in each other. */
  scopeBegin(name: string): void {
    this.#scope('replay.scope_begin', name);
  }

  scopeEnd(name: string): void {
    this.#scope('replay.scope_end', name);
  }

  #scope(operation: string, name: string): void {
    this.#expectOpen();
    if (name === '') throw new WavewrightError('USAGE', 'a scope without a name');
    this.#context.writer.operation(operation, {}, REPLAY_SCOPE, { name });
  }

  #expectOpen(): void {
    if (this.#isClosed) throw new WavewrightError('USAGE', 'the recorder is closed');
  }

  /**
   * Nothing more is recorded, and the file knows its length. Throws what the first failed write threw: the
   * file is not complete then. Idempotent.
   */
  close(): void {
    if (!this.#isClosed) {
      for (const device of this.#devices) device.end();
      this.#isClosed = true;
      this.#context.writer.end();
    }
    this.#target.expectWhole();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A failed write ends the file, and not the program that is recorded. */
class TerminalTarget implements BundleTarget {
  readonly #target: BundleTarget;
  #failure: { readonly error: unknown } | undefined;

  constructor(target: BundleTarget) {
    this.#target = target;
  }

  append(bytes: Uint8Array): void {
    this.#attempt(() => this.#target.append(bytes));
  }

  restart(bytes: Uint8Array): void {
    this.#attempt(() => this.#target.restart(bytes));
  }

  #attempt(write: () => void): void {
    if (this.#failure !== undefined) return;
    try {
      write();
    } catch (error) {
      this.#failure = { error };
    }
  }

  expectWhole(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
