/** The physical devices of a logical one, and how they are connected. */
import { invalidArgument } from '../core/status.ts';
import type { BufferRange } from '../memory/buffer-ref.ts';

/** One of the devices that make up a logical device. */
export interface PhysicalDeviceInfo {
  /** `GPU-` and 16 hexadecimal digits for GPUs. */
  readonly uuid: string;
  /** What it is called: `gfx942 (emulated)`. */
  readonly name: string;
  /** Formats of executables that it takes: target ids, or `host`. */
  readonly formats: readonly string[];
  readonly computeUnitCount: number;
  readonly maxWorkgroupSize: number;
  readonly memorySizeBytes: number;
  /** Ticks of its clock in a second. */
  readonly clockFrequencyHz: number;
  /** Whether dispatches run code, and not nothing in its place. */
  readonly executes: boolean;
}

/** How a physical device gets at what belongs to another one. */
export interface DeviceLink {
  /** Ordinals in the logical device: whose kernels and copies these are, and whose memory. */
  readonly from: number;
  readonly to: number;
  /** IREE's link class: `same-die` shares the memory, copies over a `host-staged` one go through the host. */
  readonly linkClass: 'same-die' | 'host-staged';
  /** Whether kernels read and write the other's memory. */
  readonly isPeerAddressable: boolean;
}

export class Topology {
  readonly devices: readonly PhysicalDeviceInfo[];
  /** One for each ordered pair of different devices. */
  readonly links: readonly DeviceLink[];
  /** By `from`: ordinals whose memory kernels do not reach. */
  readonly #unreached: readonly ReadonlySet<number>[];

  constructor(devices: readonly PhysicalDeviceInfo[], links: readonly DeviceLink[]) {
    this.devices = devices;
    this.links = links;
    this.#unreached = devices.map((_, ordinal) => {
      const closed = links.filter(({ from, isPeerAddressable }) => from === ordinal && !isPeerAddressable);
      return new Set(closed.map(({ to }) => to));
    });
  }

  /** Throws INVALID_ARGUMENT where kernels of a device do not reach a range. */
  expectReach(ordinal: number, ranges: Iterable<BufferRange>): void {
    const unreached = this.#unreached[ordinal]!;
    if (unreached.size === 0) return;
    for (const { buffer } of ranges) {
      const { label, placement } = buffer;
      if (!unreached.has(placement.deviceOrdinal)) continue;
      const where = `'${label}' lies in the memory of ${this.#nameOf(placement.deviceOrdinal)}`;
      throw invalidArgument(`${where}, which kernels of ${this.#nameOf(ordinal)} do not reach`, {
        hint: `copy it to a buffer with deviceOrdinal: ${ordinal}, or dispatch on a queue of its device`,
      });
    }
  }

  #nameOf(ordinal: number): string {
    return `physical device ${ordinal} (${this.devices[ordinal]!.uuid})`;
  }
}
