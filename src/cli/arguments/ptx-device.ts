/** Devices that run PTX: `ptx:sm_80`. */
import { WavewrightError } from '../../base/errors.ts';
import type { Device } from '../../device/device.ts';
import { PTX_PROCESSORS } from '../../devices/emulated/ptx/processors.ts';
import type { NvptxImage } from '../../nvptx/images.ts';
import { type PickedImage, pickPtx, runsOn } from '../../nvptx/pick.ts';
import type { DeviceOptions } from './device-options.ts';

const HINT = `devices for PTX are ${PTX_PROCESSORS.map((each) => `ptx:${each}`).join(', ')}; cuda:0 is a real GPU`;
const LAST = PTX_PROCESSORS.at(-1)!;

/** What runs of images that a file has, and the device for it: that of --device, or the first that can. */
export function choosePtx(
  device: string | undefined,
  images: readonly NvptxImage[],
): { readonly name: string; readonly picked: readonly PickedImage[] } {
  if (device !== undefined && device !== 'ptx') return { name: device, picked: pickPtx(images, processorOf(device)) };
  const picked = pickPtx(images, LAST);
  const first = PTX_PROCESSORS.find((each) => picked.every((one) => runsOn(one.processor, each)));
  return { name: `ptx:${first ?? LAST}`, picked };
}

/** Throws NO_DEVICE. */
function processorOf(name: string): string {
  const [kind, processor = PTX_PROCESSORS[0]!, ...rest] = name.split(':');
  if (kind === 'ptx' && rest.length === 0 && PTX_PROCESSORS.includes(processor)) return processor;
  throw new WavewrightError('NO_DEVICE', `no device '${name}' for PTX`, { hint: HINT });
}

/** `open`: a device that is open already, and is returned when it is the same. Throws NO_DEVICE. */
export async function openPtxDevice(
  name: string,
  { workers, countsClasses = false, countsPcs = false, memorySizeBytes, findings, open }: DeviceOptions,
): Promise<Device> {
  const processor = processorOf(name);
  const unsupported = findings?.check !== undefined ? '--check' : countsPcs ? '--pc-counts' : undefined;
  if (unsupported !== undefined) throw new WavewrightError('UNSUPPORTED', `${unsupported} for PTX`);
  if (open?.name === `ptx:${processor}`) return open;
  const [{ createPtxDevice }, { nodeThreads }, { keepCodeInFolder }] = await Promise.all([
    import('../../devices/emulated/ptx-device.ts'),
    import('../../devices/emulated/node-threads.ts'),
    import('./code-folder.ts'),
  ]);
  keepCodeInFolder();
  const size = memorySizeBytes === undefined ? {} : { memorySizeBytes };
  const threads = { threads: nodeThreads, ...(workers !== undefined && { workers }) };
  return createPtxDevice({ processor, countsClasses, ...size, ...threads });
}
