/** A kernel with its parameters and buffers in device memory, ready to be dispatched. */
import type { Device } from '../device/device.ts';
import { guestAddress } from '../device/guest-address.ts';
import type { Dispatch } from '../device/launch.ts';
import type { FileBuffer, ParsedArgument } from '../launch/argument-text.ts';
import { placeArguments, writeArguments } from '../launch/kernel-arguments.ts';
import { type PreparedLaunch, prepareLaunch } from '../launch/prepare.ts';
import { type ArgumentMemory, argumentMemory, type NvptxExecutable, type PtxKernel } from './executable.ts';

export interface PtxKernelUse {
  /** Threads in 1 to 3 dimensions. */
  readonly grid: readonly number[];
  /** Threads of a block. */
  readonly workgroup: readonly number[];
  readonly args: readonly ParsedArgument[];
  /** Shared memory beyond that of the kernel and of `local` arguments. */
  readonly dynamicSharedSizeBytes?: number;
  /** Private memory of a thread, at least. */
  readonly stackSizeBytes?: number | undefined;
}

/** `using` frees its memory; nothing of it may run any more. */
export class PreparedKernel implements Disposable {
  readonly memory: ArgumentMemory;
  readonly buffers: readonly { readonly argument: FileBuffer; readonly address: bigint }[];
  readonly #device: Device;
  readonly #kernel: PtxKernel;
  readonly #launch: PreparedLaunch;
  readonly #parameters: bigint;
  readonly #resources: DisposableStack;
  readonly #memoryBytes: number;

  /**
   * Buffers hold what is in them to begin with. Throws USAGE for what does not fit the kernel,
   * LIMIT_EXCEEDED.
   */
  constructor(device: Device, executable: NvptxExecutable, kernel: PtxKernel, use: PtxKernelUse) {
    const memory = argumentMemory(device);
    using resources = new DisposableStack();
    const { args, dynamicSharedSizeBytes = 0, ...sizes } = use;
    const placed = placeArguments(kernel, args);
    const dynamicGroupSizeBytes = placed.localSizeBytes + dynamicSharedSizeBytes;
    const launch = prepareLaunch(device, kernel, { ...sizes, ...placed, dynamicGroupSizeBytes });
    const { kernargSizeBytes } = launch.sizes;
    // Arguments are handed over by the host.
    const parameters = device.memory.allocate(kernargSizeBytes, { label: 'kernel parameters' });
    resources.defer(() => device.memory.free(parameters));
    const buffers: { readonly argument: FileBuffer; readonly address: bigint }[] = [];
    const segment = device.memory.view(parameters, kernargSizeBytes);
    writeArguments(new DataView(segment.buffer, segment.byteOffset, kernargSizeBytes), placed, {
      address: (argument) => {
        const address = memory.allocate(argument.sizeBytes, `argument ${argument.text}`);
        resources.defer(() => memory.free(address));
        memory.write(address, argument.contents);
        buffers.push({ argument, address });
        return address;
      },
      functionAddress: (name) => executable.addressOf(name),
    });
    const sizeBytes = buffers.reduce((sum, { argument }) => sum + argument.sizeBytes, kernargSizeBytes);
    [this.#device, this.#kernel, this.#launch, this.#parameters] = [device, kernel, launch, parameters];
    [this.memory, this.buffers, this.#memoryBytes, this.#resources] = [memory, buffers, sizeBytes, resources.move()];
  }

  /** Device memory of parameters and buffers. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  start(): Dispatch {
    const { grid, workgroup, sizes } = this.#launch;
    return this.#device.dispatch({
      ...{ entry: this.#kernel.entry, argumentsAddress: guestAddress(this.#parameters) },
      ...{ gridSize: triple(grid), workgroupSize: triple(workgroup) },
      resources: { privateSizeBytes: sizes.privateSegmentSizeBytes, groupSizeBytes: sizes.groupSegmentSizeBytes },
    });
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }
}

const triple = (sizes: readonly number[]): readonly [number, number, number] => [
  ...([sizes[0] ?? 1, sizes[1] ?? 1, sizes[2] ?? 1] as const),
];
