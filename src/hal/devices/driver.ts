/** Drivers and their registry (iree/hal/driver.h, driver_registry.h): devices by URI. */
import type { HostClock } from '../../base/host-clock.ts';
import { HostLoop } from '../core/host-loop.ts';
import type { StallReport } from '../core/stall.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { type DeviceUri, parseDeviceUri } from '../core/uri.ts';
import type { QueueEvent } from '../queues/scheduler.ts';
import type { LogicalDevice, StallWatch } from './logical-device.ts';

/** A physical device as a driver lists it. */
export interface DeviceInfo {
  /** What opens it: `amdgpu://GPU-0e12ab34cd56ef78`. */
  readonly uri: string;
  readonly name: string;
  readonly uuid: string;
}

/** What a program says to every device that it opens. */
export interface OpenOptions {
  /** Called for what happens to operations; it must not submit any. */
  readonly onEvent?: (event: QueueEvent) => void;
  /**
   * Called when operations are there and nothing begins or ends for as long as the parameter `stall` of the
   * URI says (milliseconds; 10,000 without it, 0: never). With `stall` and without it nobody would be told:
   * that is refused as INVALID_ARGUMENT.
   */
  readonly onStall?: (report: StallReport) => void;
}

/** How long nothing may begin or end for who gives `onStall` and says nothing else. */
const DEFAULT_STALL_MS = 10_000;

/** The parameter `stall` of all drivers: milliseconds. -1: not given. */
export const STALL_PARAMETER = { kind: 'integer', min: 0, max: 2 ** 31 - 1, default: -1 } as const;

export function watchOf(stall: number, { onStall }: OpenOptions): StallWatch | undefined {
  if (onStall === undefined) {
    if (stall <= 0) return undefined;
    throw invalidArgument(`parameter stall=${stall}: nobody is told`, { hint: 'open the device with onStall' });
  }
  const limitMs = stall < 0 ? DEFAULT_STALL_MS : stall;
  return limitMs === 0 ? undefined : { limitMs, tell: onStall };
}

export interface DriverContext extends OpenOptions {
  readonly loop: HostLoop;
}

export interface Driver {
  /** What URIs begin with. */
  readonly name: string;
  readonly fullName: string;
  /** Devices that are there now; none is no error. */
  devices(): readonly DeviceInfo[] | Promise<readonly DeviceInfo[]>;
  /** Throws INVALID_ARGUMENT and NOT_FOUND for a path or parameters that name nothing. */
  open(uri: DeviceUri, context: DriverContext): LogicalDevice | Promise<LogicalDevice>;
}

/** `using` closes all devices that it opened. */
export class DriverRegistry implements Disposable, AsyncDisposable {
  #loop = new HostLoop();
  readonly #drivers = new Map<string, Driver>();
  readonly #opened = new Set<LogicalDevice>();

  constructor(...drivers: readonly Driver[]) {
    for (const driver of drivers) this.register(driver);
  }

  /** One whose devices go by another time than the host's: counted, runs are the same again. */
  static withClock(now: HostClock, ...drivers: readonly Driver[]): DriverRegistry {
    const registry = new DriverRegistry(...drivers);
    registry.#loop = new HostLoop(now);
    return registry;
  }

  /** Of all devices, so that one can wait for another. */
  get loop(): HostLoop {
    return this.#loop;
  }

  /** Throws ALREADY_EXISTS for a name that has a driver. */
  register(driver: Driver): this {
    if (this.#drivers.has(driver.name)) {
      throw new HalError('ALREADY_EXISTS', `driver '${driver.name}' is registered already`);
    }
    this.#drivers.set(driver.name, driver);
    return this;
  }

  get drivers(): readonly Driver[] {
    return [...this.#drivers.values()];
  }

  /** The devices of all drivers. */
  async devices(): Promise<DeviceInfo[]> {
    const lists = await Promise.all(this.drivers.map((driver) => driver.devices()));
    return lists.flat();
  }

  /** Throws NOT_FOUND with the devices that there are, INVALID_ARGUMENT for text that is no URI. */
  async open(uri: string, options: OpenOptions = {}): Promise<LogicalDevice> {
    const parsed = parseDeviceUri(uri);
    const driver = this.#drivers.get(parsed.driver);
    if (driver === undefined) {
      const devices = (await this.devices()).map((device) => device.uri);
      throw new HalError('NOT_FOUND', `no driver '${parsed.driver}'`, {
        hint: `drivers: ${[...this.#drivers.keys()].join(', ') || 'none'}; devices: ${devices.join(', ') || 'none'}`,
        code: 'NO_DEVICE',
      });
    }
    const device = await driver.open(parsed, { ...options, loop: this.loop });
    // Programs open devices again and again: those that are closed need not be closed once more.
    for (const each of this.#opened) if (each.isClosed) this.#opened.delete(each);
    this.#opened.add(device);
    return device;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#opened].map((device) => device[Symbol.asyncDispose]()));
  }

  [Symbol.dispose](): void {
    for (const device of this.#opened) device[Symbol.dispose]();
  }
}
