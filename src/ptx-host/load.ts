/** Loads code for NVIDIA GPUs on whatever device: what that does not need is not loaded either. */
import type { Device } from '../device/device.ts';
import type { NvptxCode, NvptxExecutable, NvptxLoadOptions } from './executable.ts';

/**
 * Throws BAD_INPUT for what is no PTX and what the driver refuses, UNSUPPORTED by name for what is not
 * implemented, LIMIT_EXCEEDED.
 */
export async function loadExecutable(
  device: Device,
  code: NvptxCode,
  options: NvptxLoadOptions = {},
): Promise<NvptxExecutable> {
  const { driver } = device;
  if (driver) {
    const { DriverExecutable } = await import('./driver-executable.ts');
    return new DriverExecutable(driver, code, options);
  }
  const { PtxExecutable } = await import('./ptx-executable.ts');
  return new PtxExecutable(device, code.texts, options);
}
