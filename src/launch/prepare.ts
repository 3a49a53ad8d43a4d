/**
 * One launch of a kernel, prepared: what it asks for is held against what the kernel takes and the device has
 * before anything is allocated; then come the arguments, the hidden ones last. Programs, constructors, single
 * dispatches and the kernels of a context are all launched so, whatever the queue is that they go into.
 *
 * The order is: `placeArguments`, `prepareLaunch`, memory of `sizes.kernargSizeBytes`, `writeArguments`,
 * `writeHidden`; then a queue's packet (`launchPacket` of `src/hsa/queues`) or a `KernelLaunch` for the
 * device itself. ARCHITECTURE.md, "From a launch to waves", has the whole way.
 */
import { WavewrightError } from '../base/errors.ts';
import { type HiddenArgumentValues, writeHiddenArguments } from '../codeobject/hidden-arguments.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Device } from '../device/device.ts';
import { checkLaunchSizes, type LaunchSizes } from './launch-sizes.ts';
import type { LaunchableKernel } from './launchable-kernel.ts';
import { askedPrivateBytes, type StackRequest } from './private-memory.ts';

export interface LaunchRequest extends StackRequest {
  /** Work-items in 1 to 3 dimensions. */
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
  /** Where the explicit arguments end, which matters for a kernel whose metadata does not list them. */
  readonly argumentsSizeBytes?: number;
  /** Group memory that the launch adds to the kernel's own. */
  readonly dynamicGroupSizeBytes?: number;
}

/** The part of a device that a launch is held against: its name, for errors, and its limits. */
export type LaunchTarget = Pick<Device, 'name' | 'properties'>;

export interface PreparedLaunch<Kernel = unknown> {
  readonly device: LaunchTarget;
  readonly kernel: Kernel & LaunchableKernel;
  /** As in the request; a dimension that is not there counts as 1. */
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
  /** What the packet or the `KernelLaunch` asks for, and how large the block of arguments is. */
  readonly sizes: Required<LaunchSizes>;
}

/** A dispatch packet counts work-items in 32 bits, those of a workgroup in 16. */
const MAX_GRID_SIZE = 2 ** 32 - 1;
const MAX_WORKGROUP_SIZE = 2 ** 16 - 1;
/** The segment has this size at least: kernels without arguments have one, too. */
const MIN_KERNARG_BYTES = 16;

/**
 * Throws USAGE for a grid or a workgroup that the kernel does not take, LIMIT_EXCEEDED for more memory than
 * the device has.
 */
export function prepareLaunch<Kernel extends LaunchableKernel>(
  device: LaunchTarget,
  kernel: Kernel,
  request: LaunchRequest,
): PreparedLaunch<Kernel> {
  const { grid, workgroup, argumentsSizeBytes = 0, dynamicGroupSizeBytes = 0 } = request;
  checkExtents(kernel, grid, workgroup);
  const sizes = {
    groupSegmentSizeBytes: kernel.groupSegmentSizeBytes + dynamicGroupSizeBytes,
    privateSegmentSizeBytes: askedPrivateBytes(kernel, request),
    kernargSizeBytes: Math.max(kernel.kernargSegmentSizeBytes, argumentsSizeBytes, MIN_KERNARG_BYTES),
  };
  checkLaunchSizes(device, kernel, sizes);
  return { device, kernel, grid, workgroup, sizes };
}

function checkExtents(kernel: LaunchableKernel, grid: readonly number[], workgroup: readonly number[]): void {
  const name = kernelName(kernel);
  const fail = (what: string): never => {
    throw new WavewrightError('USAGE', what);
  };
  checkExtent('a grid', grid, MAX_GRID_SIZE);
  checkExtent('a workgroup', workgroup, MAX_WORKGROUP_SIZE);
  const { metadata } = kernel;
  if (metadata === undefined) return;
  const size = workgroup.reduce((product, each) => product * each, 1);
  if (size > metadata.maxFlatWorkgroupSize) {
    fail(`a workgroup of ${size} work-items, kernel '${name}' takes at most ${metadata.maxFlatWorkgroupSize}`);
  }
  const required = metadata.reqdWorkgroupSize;
  if (required?.some((each, i) => each !== (workgroup[i] ?? 1))) {
    fail(`a workgroup of ${workgroup.join(' x ')}, kernel '${name}' must have ${required.join(' x ')}`);
  }
  if (metadata.uniformWorkgroupSize === 1 && grid.some((each, i) => each % (workgroup[i] ?? 1) !== 0)) {
    fail(`a grid of ${grid.join(' x ')} is no multiple of the workgroup, which kernel '${name}' was built for`);
  }
}

function checkExtent(what: string, sizes: readonly number[], maximum: number): void {
  if (sizes.length < 1 || sizes.length > 3) {
    throw new WavewrightError('USAGE', `${what} of ${sizes.length} dimensions, expected 1 to 3`);
  }
  if (sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= maximum)) return;
  const expected = `expected 1 to ${maximum} in each dimension`;
  throw new WavewrightError('USAGE', `${what} of ${sizes.join(' x ')} work-items, ${expected}`);
}

/**
 * Fills in the hidden arguments that the metadata lists. `segment`: of `sizes.kernargSizeBytes`;
 * `queueAddress`: that of the queue which the launch goes into; `values`: what the launch does not say.
 */
export function writeHidden(
  { device, kernel, grid, workgroup, sizes }: PreparedLaunch,
  segment: DataView,
  queueAddress: bigint,
  values: Partial<HiddenArgumentValues> = {},
): void {
  if (kernel.metadata === undefined) return;
  const { sharedApertureHi, privateApertureHi } = device.properties;
  const extent = (sizes: readonly number[]) => [sizes[0] ?? 1, sizes[1] ?? 1, sizes[2] ?? 1] as const;
  writeHiddenArguments(segment, kernel.metadata, {
    gridSize: extent(grid),
    workgroupSize: extent(workgroup),
    dims: grid.length > 2 || workgroup.length > 2 ? 3 : grid.length > 1 || workgroup.length > 1 ? 2 : 1,
    dynamicLdsSizeBytes: sizes.groupSegmentSizeBytes - kernel.groupSegmentSizeBytes,
    queuePtr: queueAddress,
    sharedBase: sharedApertureHi,
    privateBase: privateApertureHi,
    ...values,
  });
}
