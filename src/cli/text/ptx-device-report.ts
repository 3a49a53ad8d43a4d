/** A device that runs PTX, as data and as text. */
import type { Device } from '../../device/device.ts';

export type PtxDeviceReport = ReturnType<typeof describePtxDevice>;

export function describePtxDevice({ name, properties }: Device) {
  const { processor, wavefrontSize, maxWorkgroupSize, ldsSizeBytes, maxPrivateSizeBytes } = properties;
  return {
    ...{ name, processor, warpSize: wavefrontSize, maxBlockThreads: maxWorkgroupSize },
    ...{ sharedBytesPerBlock: ldsSizeBytes, localBytesPerThread: maxPrivateSizeBytes },
    ...{ memorySizeBytes: properties.memorySizeBytes, timestampFrequencyHz: properties.timestampFrequencyHz },
  };
}

export function formatPtxDevice(report: PtxDeviceReport): string {
  const rows = [
    ['runs', `PTX for ${report.processor} and earlier`],
    ['warp', `${report.warpSize} threads`],
    ['block', `at most ${report.maxBlockThreads} threads, ${report.sharedBytesPerBlock} bytes of shared memory`],
    ['local memory', `at most ${report.localBytesPerThread} bytes of a thread`],
    ['memory', `${report.memorySizeBytes} bytes`],
    ['clock', `${report.timestampFrequencyHz} ticks per second`],
  ];
  return [
    `${report.name}: virtual NVIDIA GPU`,
    ...rows.map(([label = '', text]) => `  ${label.padEnd(18)}${text}`),
    '',
  ].join('\n');
}
