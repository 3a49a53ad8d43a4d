/**
 * Another GPU with the memory and the emulator of a device: kernels of all take turns, as those of several
 * queues do.
 */
import type { AdvanceResult, Device, PublishedCode } from '../device/device.ts';
import type { Dispatch, KernelLaunch } from '../device/launch.ts';
import type { DeviceMemory } from '../device/memory.ts';
import type { DeviceProperties } from '../device/properties.ts';

export class SiblingDevice implements Device {
  readonly #first: Device;

  constructor(first: Device) {
    this.#first = first;
  }

  get name(): string {
    return this.#first.name;
  }

  get properties(): DeviceProperties {
    return this.#first.properties;
  }

  get memory(): DeviceMemory {
    return this.#first.memory;
  }

  clock(): bigint {
    return this.#first.clock();
  }

  publishCode(code: PublishedCode): void {
    this.#first.publishCode(code);
  }

  withdrawCode(address: bigint): void {
    this.#first.withdrawCode(address);
  }

  dispatch(launch: KernelLaunch): Dispatch {
    return this.#first.dispatch(launch);
  }

  releaseQueue(address: bigint): void {
    this.#first.releaseQueue?.(address);
  }

  /** The first one works for all. */
  advance(): AdvanceResult {
    return 'idle';
  }

  /** What there is to close is the first one's. */
  close(): void {}

  [Symbol.dispose](): void {
    this.close();
  }
}
