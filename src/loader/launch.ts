/** Kernels of a program with their grids and arguments, prepared as `src/launch` prepares all launches. */
import { WavewrightError } from '../base/errors.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Device } from '../device/device.ts';
import type { Extent } from '../hsa/queues/packet.ts';
import { type PreparedLaunch, prepareLaunch } from '../launch/prepare.ts';
import { askedPrivateBytes, type StackRequest, UNKNOWN_STACK_BYTES } from '../launch/private-memory.ts';
import type { ProgramKernel } from './loaded-program.ts';
import type { Generation } from './rpc/protocol/generation.ts';

export const ONE: Extent = [1, 1, 1];

export interface ProgramLaunch {
  readonly kernel: ProgramKernel;
  /** Workgroups, and work-items of each, in x, y, z. */
  readonly blocks: Extent;
  readonly threads: Extent;
  /** Explicit arguments, from the start of the kernarg segment. */
  readonly argumentsSizeBytes: number;
  readonly writeArguments: (data: DataView) => void;
}

/**
 * Private memory of a work-item, as it is launched: `stackSizeBytes` at least; by default what the kernel
 * needs, or as much as is usual where the compiler could not know.
 */
export function scratchSizeBytes(kernel: ProgramKernel, stackSizeBytes: number | undefined): number {
  return askedPrivateBytes(kernel, stackRequest(kernel, stackSizeBytes));
}

/** A kernel without private memory has no stack, whatever was asked for. */
const stackRequest = ({ dynamicCallstack }: ProgramKernel, stackSizeBytes: number | undefined): StackRequest => ({
  stackSizeBytes: stackSizeBytes ?? (dynamicCallstack ? UNKNOWN_STACK_BYTES : 0),
  stackUsers: 'with-stack',
});

/**
 * Throws BAD_INPUT when the kernel does not take the arguments of the start-up code, USAGE when it does not
 * take that many work-items, LIMIT_EXCEEDED for more memory than the device has.
 */
export function prepareProgramLaunch(
  device: Device,
  { kernel, blocks, threads, argumentsSizeBytes }: ProgramLaunch,
  stackSizeBytes: number | undefined,
): PreparedLaunch<ProgramKernel> {
  const name = kernelName(kernel);
  const { metadata, kernargSegmentSizeBytes } = kernel;
  if (metadata === undefined) throw new WavewrightError('BAD_INPUT', `the metadata does not list kernel '${name}'`);
  if (kernargSegmentSizeBytes < argumentsSizeBytes) {
    const what = `kernel '${name}' takes ${kernargSegmentSizeBytes} bytes of arguments, expected at least ${argumentsSizeBytes}`;
    throw new WavewrightError('BAD_INPUT', what);
  }
  const grid = blocks.map((count, dimension) => count * threads[dimension]!);
  const dimensions = grid[2] !== 1 ? 3 : grid[1] !== 1 ? 2 : 1;
  return prepareLaunch(device, kernel, {
    grid: grid.slice(0, dimensions),
    workgroup: threads.slice(0, dimensions),
    ...stackRequest(kernel, stackSizeBytes),
  });
}

/** The upstream loaders of LLVM up to 22 have so many ports. */
const UPSTREAM_PORT_COUNT = 4096;

/**
 * RPC ports of a program whose main runs on this grid. Lanes of a wave that diverge may hold a port each, and
 * one for each lane of each wave is all that can ever be held: where that is less than upstream has, the
 * buffer is smaller. There is one for every wave at least, where the generation allows so many.
 */
export function defaultPortCount(
  generation: Generation,
  start: ProgramKernel,
  { blocks = ONE, threads = ONE }: { readonly blocks?: Extent; readonly threads?: Extent },
): number {
  const { wavefrontSize } = start;
  const workgroups = blocks[0] * blocks[1] * blocks[2];
  const waves = workgroups * Math.ceil((threads[0] * threads[1] * threads[2]) / wavefrontSize);
  return Math.min(generation.maxPorts, Math.max(waves, Math.min(UPSTREAM_PORT_COUNT, waves * wavefrontSize)));
}
