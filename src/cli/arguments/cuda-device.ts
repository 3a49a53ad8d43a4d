/** Real NVIDIA GPUs: `cuda:0`. */
import { WavewrightError } from '../../base/errors.ts';
import type { Device } from '../../device/device.ts';
import type { DeviceOptions } from './device-options.ts';

export const isCudaName = (name: string | undefined): boolean => /^cuda(?::|$)/.test(name ?? '');

/** `cuda` is the first one. Throws NO_DEVICE. */
export function cudaIndex(name: string): number {
  const [, digits = '0'] = /^cuda(?::(\d{1,4}))?$/.exec(name) ?? [undefined, ''];
  if (digits !== '') return Number(digits);
  throw new WavewrightError('NO_DEVICE', `no device '${name}'`, { hint: 'NVIDIA GPUs are cuda:0, cuda:1 and so on' });
}

/**
 * `open`: a device that is open already, and is returned when it is the same. Throws NO_DEVICE, UNSUPPORTED
 * for what emulated devices alone can do.
 */
export async function openCuda(name: string, { countsPcs, findings, open }: DeviceOptions): Promise<Device> {
  const index = cudaIndex(name);
  const unsupported = findings?.check !== undefined ? '--check' : countsPcs ? '--pc-counts' : undefined;
  if (unsupported !== undefined) throw new WavewrightError('UNSUPPORTED', `${unsupported} on cuda:${index}`);
  if (open?.name === `cuda:${index}`) return open;
  return await onCuda(name, ({ openCudaDevice }) => openCudaDevice({ index }));
}

/** Throws NO_DEVICE where the machine has no such GPU; none is opened. */
export async function expectCuda(name: string): Promise<void> {
  const index = cudaIndex(name);
  await onCuda(name, ({ expectCudaGpu }) => expectCudaGpu({ index }));
}

type CudaNative = typeof import('../../devices/cuda-native/index.ts');

async function onCuda<Result>(name: string, use: (native: CudaNative) => Promise<Result>): Promise<Result> {
  try {
    return await use(await import('../../devices/cuda-native/index.ts'));
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code !== 'NO_DEVICE') throw error;
    throw new WavewrightError('NO_DEVICE', `no device '${name}': ${error.what}`, { ...error.context, cause: error });
  }
}
