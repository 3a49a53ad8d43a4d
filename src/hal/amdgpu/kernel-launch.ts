/** A dispatch as a launch: its arguments in their places, held against what kernel and device take. */
import type { KernelSymbol } from '../../hsa/executables/kernel-symbol.ts';
import {
  type BufferArgument,
  type LaunchArgument,
  type PlacedArguments,
  placeArguments,
  writeArguments,
} from '../../launch/kernel-arguments.ts';
import { type LaunchTarget, type PreparedLaunch, prepareLaunch, writeHidden } from '../../launch/prepare.ts';
import { bindingAddresses, type DispatchCommand } from '../backend/command.ts';
import { constantWords } from './code.ts';

interface Binding extends BufferArgument {
  readonly address: bigint;
}

export interface ReadyLaunch {
  readonly launch: PreparedLaunch<KernelSymbol>;
  readonly placed: PlacedArguments<Binding>;
}

/** Throws USAGE and LIMIT_EXCEEDED where kernel or device do not take the launch. */
export function readyLaunch(target: LaunchTarget, kernel: KernelSymbol, command: DispatchCommand): ReadyLaunch {
  const { workgroupSize, groups, dynamicGroupSizeBytes } = command;
  const placed = placeArguments(kernel, argumentsOf(command));
  const launch = prepareLaunch(target, kernel, {
    grid: groups.map((count, i) => count * workgroupSize[i]!),
    workgroup: workgroupSize,
    argumentsSizeBytes: placed.argumentsSizeBytes,
    dynamicGroupSizeBytes,
  });
  return { launch, placed };
}

/** Bindings and constants in the order in which the code has its parameters. */
function argumentsOf(command: DispatchCommand): LaunchArgument<Binding>[] {
  const { entry, constants } = command;
  const addresses = bindingAddresses(command);
  const bytes = new Uint8Array(constants.buffer, constants.byteOffset, constants.byteLength);
  let binding = 0;
  let word = 0;
  return entry.info.parameters.map((parameter) => {
    if (parameter.kind === 'binding') {
      const address = addresses[binding]!;
      return { kind: 'buffer', text: `binding ${binding++}`, address };
    }
    const start = 4 * word;
    const text = `constant ${word}`;
    word += constantWords(parameter);
    return { kind: 'value', text, bytes: bytes.subarray(start, start + parameter.sizeBytes) };
  });
}

/** Fills in the block of arguments; `queueAddress`: of the queue that the packet goes into. */
export function writeBlock({ launch, placed }: ReadyLaunch, block: Uint8Array, queueAddress: bigint): void {
  const segment = new DataView(block.buffer, block.byteOffset, block.byteLength);
  writeArguments(segment, placed, {
    address: ({ address }) => address,
    functionAddress: () => 0n,
  });
  writeHidden(launch, segment, queueAddress);
}
