/** Devices that run code for NVIDIA GPUs, as data and as text. */
import { WavewrightError } from '../../base/errors.ts';
import type { Device } from '../../device/device.ts';
import type { CudaGpu, CudaMachine } from '../../devices/cuda-native/index.ts';
import { cudaIndex } from '../arguments/cuda-device.ts';

export type NvptxDeviceReport = ReturnType<typeof describeNvptxDevice>;
export type CudaGpuReport = ReturnType<typeof describeCudaGpu>;

export function describeNvptxDevice({ name, properties }: Pick<Device, 'name' | 'properties'>) {
  const { processor, wavefrontSize, maxWorkgroupSize, ldsSizeBytes, maxPrivateSizeBytes } = properties;
  return {
    ...{ name, processor, warpSize: wavefrontSize, maxBlockThreads: maxWorkgroupSize },
    ...{ sharedBytesPerBlock: ldsSizeBytes, localBytesPerThread: maxPrivateSizeBytes },
    ...{ memorySizeBytes: properties.memorySizeBytes, timestampFrequencyHz: properties.timestampFrequencyHz },
  };
}

/** The same with what a real one has besides. */
export function describeCudaGpu(gpu: CudaGpu, { library, driverVersion }: CudaMachine) {
  const { productName, computeCapability, hasWatchdog, properties } = gpu;
  const multiprocessors = properties.computeUnitCount;
  return {
    ...describeNvptxDevice(gpu),
    ...{ productName, computeCapability, multiprocessors, hasWatchdog, driverVersion, library },
  };
}

type Rows = readonly (readonly [label: string, text: string])[];

const formatRows = (headline: string, rows: Rows): string =>
  [headline, ...rows.map(([label, text]) => `  ${label.padEnd(18)}${text}`), ''].join('\n');

const commonRows = (report: NvptxDeviceReport): Rows => [
  ['warp', `${report.warpSize} threads`],
  ['block', `at most ${report.maxBlockThreads} threads, ${report.sharedBytesPerBlock} bytes of shared memory`],
  ['local memory', `at most ${report.localBytesPerThread} bytes of a thread`],
  ['memory', `${report.memorySizeBytes} bytes`],
  ['clock', `${report.timestampFrequencyHz} ticks per second`],
];

export const formatNvptxDevice = (report: NvptxDeviceReport): string =>
  formatRows(`${report.name}: virtual NVIDIA GPU`, [
    ['runs', `PTX for ${report.processor} and earlier`],
    ...commonRows(report),
  ]);

export const formatCudaGpu = (report: CudaGpuReport): string =>
  formatRows(`${report.name}: ${report.productName}`, [
    ['runs', `cubins for ${report.processor}, PTX for it and earlier ones`],
    ['capability', `${report.computeCapability}, ${report.multiprocessors} multiprocessors`],
    ...commonRows(report),
    ['driver', `CUDA ${report.driverVersion}, ${report.library}`],
    ['time limit', report.hasWatchdog ? "the system's watchdog ends kernels that take long" : 'none'],
  ]);

/** The GPU of that name, or all of them for `cuda`; none is opened. Throws NO_DEVICE. */
export async function describeCudaGpus(name: string): Promise<readonly CudaGpuReport[]> {
  const index = name === 'cuda' ? undefined : cudaIndex(name);
  const { describeCudaMachine } = await import('../../devices/cuda-native/index.ts');
  const machine = await describeCudaMachine();
  const gpus = machine.gpus.filter((_, i) => i === (index ?? i));
  if (gpus.length > 0) return gpus.map((gpu) => describeCudaGpu(gpu, machine));
  throw new WavewrightError('NO_DEVICE', `no device '${name}', only cuda:0 to cuda:${machine.gpus.length - 1}`);
}
