/**
 * What a launch takes of a device, held against what the device has. Each way to a device does this before
 * anything is allocated: `prepareLaunch` for launches of the host, the packet processor for packets, which
 * GPU code may have written, and the emulated device for what the kernel descriptor adds.
 */
import { WavewrightError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Device } from '../device/device.ts';

export interface LaunchSizes {
  /** Group memory of a workgroup, that which the kernel itself asks for included. */
  readonly groupSegmentSizeBytes: number;
  /** Private memory of a work-item. */
  readonly privateSegmentSizeBytes: number;
  readonly kernargSizeBytes?: number;
}

/** What errors say of the kernel, where it is known. */
interface SizedKernel {
  readonly name: string;
  /** Its own, without what the launch adds. */
  readonly groupSegmentSizeBytes: number;
}

/** Throws LIMIT_EXCEEDED, with the sizes and the limit. */
export function checkLaunchSizes(
  { name: deviceName, properties }: Pick<Device, 'name' | 'properties'>,
  kernel: SizedKernel | undefined,
  { groupSegmentSizeBytes, privateSegmentSizeBytes, kernargSizeBytes = 0 }: LaunchSizes,
): void {
  const { ldsSizeBytes, maxPrivateSizeBytes } = properties;
  // NaN is refused with what is too large.
  if (!(groupSegmentSizeBytes <= ldsSizeBytes)) {
    const own = kernel?.groupSegmentSizeBytes;
    const parts = own === undefined ? '' : ` (${own} of its own, ${groupSegmentSizeBytes - own} with the launch)`;
    refuse(kernel, `${groupSegmentSizeBytes} bytes of group memory${parts}`, `${deviceName} has ${ldsSizeBytes}`);
  }
  if (!(privateSegmentSizeBytes <= maxPrivateSizeBytes)) {
    const what = `${privateSegmentSizeBytes} bytes of private memory for each work-item`;
    refuse(kernel, what, `${deviceName} has at most ${maxPrivateSizeBytes}`);
  }
  if (!(kernargSizeBytes <= LIMITS.kernargBytes)) {
    refuse(kernel, `${kernargSizeBytes} bytes of arguments`, `at most ${LIMITS.kernargBytes} are supported`);
  }
}

function refuse(kernel: SizedKernel | undefined, what: string, limit: string): never {
  const name = kernel === undefined ? 'the kernel' : `kernel '${kernelName(kernel)}'`;
  throw new WavewrightError('LIMIT_EXCEEDED', `${name} asks for ${what}, ${limit}`);
}
