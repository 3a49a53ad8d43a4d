/** Packets that go into a ring together: all of them or none, and the last one ends them. */
import { encodeKernelDispatch } from '../../hsa/queues/packet.ts';
import type { DispatchCommand } from '../backend/command.ts';
import type { KernargRing } from './kernarg-ring.ts';
import type { LaunchTemplate } from './kernel-launch.ts';
import type { LibraryLaunch } from './library/device-library.ts';

/** Where a batch goes. */
export interface BatchPlace {
  readonly queueAddress: bigint;
  /** The memory in which its arguments lie: where in it, and where for the GPU. */
  readonly kernargs: Pick<KernargRing, 'bytes' | 'data'>;
  readonly offsetBytes: number;
  readonly address: bigint;
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
    const { address, offsetBytes, kernargs, queueAddress, completionSignal } = place;
    this.#template.write(this.#command, kernargs, offsetBytes, queueAddress);
    headers[0] = encodeKernelDispatch(place.packet(0), this.#template.packet(address, completionSignal), true);
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
    const { address, offsetBytes, kernargs, completionSignal } = place;
    this.#launch.write(kernargs.bytes.subarray(offsetBytes, offsetBytes + this.kernargBytes), address);
    headers[0] = encodeLibraryLaunch(place.packet(0), this.#launch, { kernarg: address, completionSignal });
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
