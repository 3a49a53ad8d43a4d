/** Dispatches as launches: arguments in their places, held against what kernel and device take. */
import type { KernelSymbol } from '../../hsa/executables/kernel-symbol.ts';
import type { KernelDispatchPacket } from '../../hsa/queues/packet.ts';
import { type BufferArgument, type LaunchArgument, placeArguments } from '../../launch/kernel-arguments.ts';
import { type LaunchTarget, type PreparedLaunch, prepareLaunch, writeHidden } from '../../launch/prepare.ts';
import type { DispatchCommand } from '../backend/command.ts';
import { rangeAddress } from '../memory/buffer-ref.ts';
import { constantWords } from './code.ts';
import type { KernargRing } from './kernarg-ring.ts';

type Shape = Pick<DispatchCommand, 'groups' | 'workgroupSize' | 'dynamicGroupSizeBytes'>;

/** Where a parameter lies in the block of arguments, and what of the dispatch it is. */
interface Place {
  readonly kind: 'binding' | 'constant';
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** The binding, or the byte of the constants. */
  readonly index: number;
}

/**
 * What dispatches of one kernel and shape have in common: everything but bindings and constants. Programs
 * dispatch the same shape many times, so it is worked out once.
 */
export class LaunchTemplate {
  readonly launch: PreparedLaunch<KernelSymbol>;
  readonly #shape: Shape;
  /** Whether each dispatch has a block of arguments of its own. */
  readonly #isCustom: boolean;
  readonly #places: readonly Place[];
  /** The block with all that is not the dispatch's own. */
  readonly #block: Uint8Array;
  #queueAddress: bigint | undefined;
  readonly #packet: KernelDispatchPacket & { kernargAddress: bigint; completionSignal: bigint };

  /** Throws USAGE and LIMIT_EXCEEDED where kernel or device do not take the launch. */
  constructor(target: LaunchTarget, kernel: KernelSymbol, command: DispatchCommand) {
    const { workgroupSize, groups, dynamicGroupSizeBytes, customArguments } = command;
    this.#shape = { workgroupSize, groups, dynamicGroupSizeBytes };
    this.#isCustom = customArguments !== undefined;
    const { places, argumentsSizeBytes } =
      customArguments === undefined
        ? placeArguments(kernel, argumentsOf(command))
        : { places: [], argumentsSizeBytes: customArguments.length };
    this.launch = prepareLaunch(target, kernel, {
      grid: groups.map((count, i) => count * workgroupSize[i]!),
      workgroup: workgroupSize,
      argumentsSizeBytes,
      dynamicGroupSizeBytes,
    });
    this.#places = places.map(({ argument, offsetBytes, sizeBytes }) => {
      const isBinding = argument.kind === 'buffer';
      return { kind: isBinding ? 'binding' : 'constant', offsetBytes, sizeBytes, index: Number(argument.text) };
    });
    this.#block = new Uint8Array(this.launch.sizes.kernargSizeBytes);
    const { privateSegmentSizeBytes, groupSegmentSizeBytes } = this.launch.sizes;
    this.#packet = {
      dimensions: 3,
      workgroupSize,
      gridSize: [groups[0] * workgroupSize[0], groups[1] * workgroupSize[1], groups[2] * workgroupSize[2]],
      privateSegmentSizeBytes,
      groupSegmentSizeBytes,
      kernelObject: kernel.kernelObject,
      kernargAddress: 0n,
      completionSignal: 0n,
    };
  }

  fits({ workgroupSize, groups, dynamicGroupSizeBytes, customArguments }: DispatchCommand): boolean {
    const shape = this.#shape;
    return (
      this.#isCustom === (customArguments !== undefined) &&
      shape.dynamicGroupSizeBytes === dynamicGroupSizeBytes &&
      shape.groups.every((count, i) => count === groups[i]) &&
      shape.workgroupSize.every((size, i) => size === workgroupSize[i])
    );
  }

  /** Where the pointers of the bindings go, in their order. */
  get bindingOffsets(): readonly number[] {
    return this.#places.filter(({ kind }) => kind === 'binding').map(({ offsetBytes }) => offsetBytes);
  }

  /** A block of arguments without the bindings and the queue's address. */
  withConstants({ constants, customArguments }: DispatchCommand): Uint8Array {
    const block = this.#block.slice();
    writeHidden(this.launch, new DataView(block.buffer), 0n);
    if (customArguments !== undefined) block.set(customArguments);
    const bytes = new Uint8Array(constants.buffer, constants.byteOffset, constants.byteLength);
    for (const { kind, offsetBytes, sizeBytes, index } of this.#places) {
      if (kind === 'constant') block.set(bytes.subarray(index, index + sizeBytes), offsetBytes);
    }
    return block;
  }

  /** Fills in the block of arguments; `queueAddress`: of the queue that the packet goes into. */
  write(
    { bindings, constants, customArguments }: DispatchCommand,
    { bytes, data }: Pick<KernargRing, 'bytes' | 'data'>,
    start: number,
    queueAddress: bigint,
  ): void {
    if (this.#queueAddress !== queueAddress) {
      writeHidden(this.launch, new DataView(this.#block.buffer), queueAddress);
      this.#queueAddress = queueAddress;
    }
    bytes.set(this.#block, start);
    if (customArguments !== undefined) bytes.set(customArguments, start);
    for (const { kind, offsetBytes, sizeBytes, index } of this.#places) {
      const at = start + offsetBytes;
      if (kind === 'binding') data.setBigUint64(at, rangeAddress(bindings[index]!), true);
      else if (sizeBytes === 4) data.setUint32(at, constants[index / 4]!, true);
      else bytes.set(new Uint8Array(constants.buffer, constants.byteOffset + index, sizeBytes), at);
    }
  }

  /** The fields of its packet, in an object that the next one uses again. */
  packet(kernargAddress: bigint, completionSignal: bigint): KernelDispatchPacket {
    this.#packet.kernargAddress = kernargAddress;
    this.#packet.completionSignal = completionSignal;
    return this.#packet;
  }
}

/**
 * Bindings and constants in the order in which the code has its parameters; the text of each is its index, of
 * a constant that of its first byte.
 */
function argumentsOf({ entry, constants }: DispatchCommand): LaunchArgument<BufferArgument>[] {
  const bytes = new Uint8Array(constants.buffer, constants.byteOffset, constants.byteLength);
  let binding = 0;
  let word = 0;
  return entry.info.parameters.map((parameter) => {
    if (parameter.kind === 'binding') return { kind: 'buffer', text: String(binding++) };
    const start = 4 * word;
    word += constantWords(parameter);
    return { kind: 'value', text: String(start), bytes: bytes.subarray(start, start + parameter.sizeBytes) };
  });
}
