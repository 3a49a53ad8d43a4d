/** Commands of one packet: dispatches, and transfers by kernels of the device library. */
import { AQL_PACKET_SIZE_BYTES } from '../../hsa/objects/layouts.ts';
import { encodeKernelDispatch } from '../../hsa/queues/packet.ts';
import type { DispatchedKernel } from '../backend/backend.ts';
import type { DispatchCommand } from '../backend/command.ts';
import type { LaunchTemplate } from './kernel-launch.ts';
import type { LibraryLaunch } from './library/device-library.ts';
import type { BatchPlace, PacketBatch } from './packets/packet-batch.ts';

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

  get kernel(): DispatchedKernel {
    const { entry, groups, workgroupSize } = this.#command;
    return { entry, groups, workgroupSize };
  }

  encode(place: BatchPlace, headers: Int32Array): void {
    const { address, offsetBytes, kernargs, queueAddress, completionSignal } = place;
    this.#template.write(this.#command, kernargs, offsetBytes, queueAddress);
    headers[0] = encodeKernelDispatch(packetOf(place), this.#template.packet(address, completionSignal), true);
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
    const { kernel, groups } = this.#launch;
    const { wavefrontSize, privateSegmentSizeBytes, groupSegmentSizeBytes, kernelObject } = kernel;
    const fields = {
      dimensions: 3,
      workgroupSize: [wavefrontSize, 1, 1],
      gridSize: [groups * wavefrontSize, 1, 1],
      privateSegmentSizeBytes,
      groupSegmentSizeBytes,
      kernelObject,
      kernargAddress: address,
      completionSignal,
    } as const;
    headers[0] = encodeKernelDispatch(packetOf(place), fields, true);
  }
}

const packetOf = (place: BatchPlace): Uint8Array => {
  const offset = place.packetOffset(0);
  return place.ring.subarray(offset, offset + AQL_PACKET_SIZE_BYTES);
};
