/** Emulated AMD GPUs. */
import { WavewrightError } from '../../base/errors.ts';
import { processorNamed } from '../../codeobject/processors.ts';
import type { Device } from '../../device/device.ts';
import { AmdgpuEmulator, type AmdgpuEmulatorOptions } from './amdgpu/emulator.ts';
import { type DeviceLanguage, EmulatedDevice, type EmulatorDeviceOptions } from './emulated-device.ts';
import { DescriptorCache, launchOf } from './kernel-abi.ts';

export interface EmulatedDeviceOptions extends EmulatorDeviceOptions {
  /** As LLVM names it: `gfx90a`. */
  readonly processor: string;
}

/**
 * The processor's target id: features that a code object may choose are set as the emulated device has them.
 */
export function emulatedTargetId(processor: string): string {
  const known = processorNamed(processor);
  return `${processor}${known?.sramecc ? ':sramecc+' : ''}${known?.xnack ? ':xnack-' : ''}`;
}

/** Throws UNSUPPORTED for a processor without instruction tables. */
function amdgpuLanguage(options: AmdgpuEmulatorOptions): DeviceLanguage {
  const emulator = new AmdgpuEmulator(options);
  const descriptors = new DescriptorCache(emulator);
  const { processor, waveSizes } = emulator.target;
  return {
    ...{ emulator, name: `emulated:${processor}`, processor, targetId: emulatedTargetId(processor) },
    wavefrontSize: waveSizes[0]!,
    launch: (device, launch) => launchOf(emulator, device, launch, descriptors),
  };
}

/**
 * Throws UNSUPPORTED for a processor without instruction tables. Kernels run on several threads where there
 * are `threads` (in Node: nodeThreads); `close` ends them.
 */
export function createEmulatedDevice(options: EmulatedDeviceOptions): Device {
  if (typeof options?.processor !== 'string') {
    throw new WavewrightError('USAGE', 'a device without a processor', { hint: "for example { processor: 'gfx90a' }" });
  }
  const { processor, ...others } = options;
  return new EmulatedDevice(others, (emulatorOptions) => amdgpuLanguage({ ...emulatorOptions, processor }));
}
