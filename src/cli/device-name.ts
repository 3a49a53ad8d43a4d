import { WavewrightError } from '../base/errors.ts';
import type { CodeObjectImage } from '../codeobject/container.ts';
import { formatTargetId, parseTargetId } from '../codeobject/target-id.ts';
import type { Device } from '../hsa/device.ts';
import { PROCESSORS } from '../isa/amdgpu/targets.ts';

const HINT = `devices are ${PROCESSORS.map((processor) => `emulated:${processor}`).join(', ')}`;

/**
 * The device of --device, for example `emulated:gfx90a` or `emulated:gfx90a:xnack+`; without a name, or with `emulated` alone, the emulator for
 * the target of the first image that it can run. Throws NO_DEVICE for another kind of device or an unknown processor,
 * UNSUPPORTED for a processor that is not emulated.
 */
export async function openDevice(name: string | undefined, images: readonly CodeObjectImage[]): Promise<Device> {
  const [kind, ...rest] = (name ?? 'emulated').split(':');
  if (kind !== 'emulated') throw new WavewrightError('NO_DEVICE', `no device '${name}'`, { hint: HINT });
  const target = rest.length > 0 ? checkedTarget(rest.join(':')) : ownTarget(images);
  const { createEmulatedDevice } = await import('../devices/emulated/device.ts');
  return createEmulatedDevice(target);
}

function checkedTarget(text: string): string {
  try {
    return formatTargetId(parseTargetId(text));
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    throw new WavewrightError('NO_DEVICE', error.what, { hint: HINT, cause: error });
  }
}

function ownTarget(images: readonly CodeObjectImage[]): string {
  const image = images.find(({ target }) => PROCESSORS.includes(target.processor)) ?? images[0]!;
  return formatTargetId(image.target);
}
