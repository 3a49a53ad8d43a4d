/** The device for code that was built for NVIDIA GPUs, and what of the code it runs. */
import { WavewrightError } from '../../base/errors.ts';
import type { Device } from '../../device/device.ts';
import type { NvptxImage } from '../../nvptx/images.ts';
import { noPtx, type PickedImage, pickForGpu } from '../../nvptx/pick.ts';
import { isCudaName, openCuda } from './cuda-device.ts';
import type { DeviceOptions } from './device-options.ts';
import { choosePtx, openPtxDevice } from './ptx-device.ts';

export interface NvptxChoice {
  readonly device: Device;
  readonly picked: readonly PickedImage[];
}

/**
 * The device of --device: a virtual one that runs PTX, or a GPU. Without a name a virtual one for the PTX;
 * machine code alone goes to the first GPU, as with LLVM's loaders. Throws NO_DEVICE, UNSUPPORTED where no
 * image fits.
 */
export async function openNvptxDevice(
  name: string | undefined,
  images: readonly NvptxImage[],
  options: DeviceOptions,
): Promise<NvptxChoice> {
  if (name !== undefined && isCudaName(name)) return pickOn(await openCuda(name, options), images, options);
  if (name === undefined && isMachineCode(images)) {
    return pickOn(await onFirstGpu(images, () => openCuda('cuda:0', options)), images, options);
  }
  const { name: ptxName, picked } = choosePtx(name, images);
  return { device: await openPtxDevice(ptxName, options), picked };
}

/** Whether a GPU alone can run it. */
export const isMachineCode = (images: readonly NvptxImage[]): boolean =>
  images.every(({ kind }) => kind !== 'ptx') && images.some(({ kind }) => kind === 'cubin');

function pickOn(device: Device, images: readonly NvptxImage[], { open }: DeviceOptions): NvptxChoice {
  try {
    return { device, picked: pickForGpu(images, device.properties.processor, device.name) };
  } catch (error) {
    if (device !== open) device.close();
    throw error;
  }
}

/** Throws UNSUPPORTED, with what to build instead, where that says that there is no GPU. */
export async function onFirstGpu<Result>(images: readonly NvptxImage[], use: () => Promise<Result>): Promise<Result> {
  try {
    return await use();
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code !== 'NO_DEVICE') throw error;
    throw noPtx(images, ` (${error.what})`);
  }
}
