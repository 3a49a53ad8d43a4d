/** Packets that go into a ring together: all of them or none, and the last one ends them. */
import { type Extent, encodeKernelDispatch } from '../../hsa/queues/packet.ts';
import type { DispatchCommand } from '../backend/command.ts';
import type { KernargBlock } from './kernarg-blocks.ts';
import type { LaunchTemplate } from './kernel-launch.ts';
import type { LibraryLaunch } from './library/device-library.ts';

/** Where a batch goes. */
export interface BatchPlace {
  readonly queueAddress: bigint;
  readonly kernarg: KernargBlock;
  /** Of the last packet. */
  readonly completionSignal: bigint;
  /** The 64 bytes of a packet of the batch, counted from 0; its first four are left alone. */
  packet(index: number): Uint8Array;
}

export interface PacketBatch {
  /** At least 1. */
  readonly packetCount: number;
  /** At least 1. */
  readonly kernargBytes: number;
  /**
   * Fills packets and arguments in. `headers`: takes the first word of each packet, which is stored when all
   * is there.
   */
  encode(place: BatchPlace, headers: Int32Array): void;
}

const extent = ([x = 1, y = 1, z = 1]: readonly number[]): Extent => [x, y, z];

/** A dispatch, in a packet that waits for all earlier ones. */
export class DispatchBatch implements PacketBatch {
  readonly packetCount = 1;
  readonly kernargBytes: number;
  readonly #template: LaunchTemplate;
  readonly #command: DispatchCommand;

  constructor(template: LaunchTemplate, command: DispatchCommand) {
    this.kernargBytes = template.launch.sizes.kernargSizeBytes;
    this.#template = template;
    this.#command = command;
  }

  encode(place: BatchPlace, headers: Int32Array): void {
    const { kernarg, queueAddress, completionSignal } = place;
    this.#template.write(this.#command, kernarg.bytes, queueAddress);
    const { kernel, grid, workgroup, sizes } = this.#template.launch;
    const { privateSegmentSizeBytes, groupSegmentSizeBytes } = sizes;
    const fields = {
      dimensions: 3,
      workgroupSize: extent(workgroup),
      gridSize: extent(grid),
      privateSegmentSizeBytes,
      groupSegmentSizeBytes,
      kernelObject: kernel.kernelObject,
      kernargAddress: kernarg.address,
      completionSignal,
    };
    headers[0] = encodeKernelDispatch(place.packet(0), fields, true);
  }
}

/** A kernel of the device library, as `DispatchBatch`. */
export class LibraryBatch implements PacketBatch {
  readonly packetCount = 1;
  readonly kernargBytes: number;
  readonly #launch: LibraryLaunch;

  constructor(launch: LibraryLaunch) {
    this.kernargBytes = launch.kernargBytes;
    this.#launch = launch;
  }

  encode(place: BatchPlace, headers: Int32Array): void {
    const { kernarg, completionSignal } = place;
    this.#launch.write(kernarg.bytes, kernarg.address);
    headers[0] = encodeLibraryLaunch(place.packet(0), this.#launch, { kernarg: kernarg.address, completionSignal });
  }
}

/** Returns the first word of the packet. `kernarg`: where its arguments lie. */
export function encodeLibraryLaunch(
  packet: Uint8Array,
  { kernel, groups }: LibraryLaunch,
  { kernarg, completionSignal, barrier = true }: { kernarg: bigint; completionSignal: bigint; barrier?: boolean },
): number {
  const { wavefrontSize, privateSegmentSizeBytes, groupSegmentSizeBytes, kernelObject } = kernel;
  const fields = {
    dimensions: 3,
    workgroupSize: [wavefrontSize, 1, 1],
    gridSize: [groups * wavefrontSize, 1, 1],
    privateSegmentSizeBytes,
    groupSegmentSizeBytes,
    kernelObject,
    kernargAddress: kernarg,
    completionSignal,
  } as const;
  return encodeKernelDispatch(packet, fields, barrier);
}
