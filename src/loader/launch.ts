/** One kernel of a program, as it is to be launched. */
import { WavewrightError } from '../base/errors.ts';
import type { KernelSymbol } from '../hsa/executable-symbol.ts';

export type Extent = readonly [number, number, number];

export interface Launch {
  readonly kernel: KernelSymbol;
  /** Workgroups, and work-items of each, in x, y, z. */
  readonly blocks: Extent;
  readonly threads: Extent;
  /** Explicit arguments, from the start of the kernarg segment. */
  readonly argumentsSizeBytes: number;
  readonly writeArguments: (data: DataView) => void;
}

/** The kernel's name without the suffix of its descriptor. */
export function kernelName(kernel: KernelSymbol): string {
  return kernel.name.replace(/\.kd$/, '');
}

/**
 * Throws BAD_INPUT when the kernel does not take the arguments of the start-up code, USAGE when it does not take that many
 * work-items.
 */
export function checkLaunch({ kernel, threads, argumentsSizeBytes }: Launch): void {
  const name = kernelName(kernel);
  const { metadata, kernargSegmentSizeBytes } = kernel;
  if (metadata === undefined) throw new WavewrightError('BAD_INPUT', `the metadata does not list kernel '${name}'`);
  if (kernargSegmentSizeBytes < argumentsSizeBytes) {
    const what = `kernel '${name}' takes ${kernargSegmentSizeBytes} bytes of arguments, expected at least ${argumentsSizeBytes}`;
    throw new WavewrightError('BAD_INPUT', what);
  }
  if (threads[0] * threads[1] * threads[2] > metadata.maxFlatWorkgroupSize) {
    const what = `${threads.join(' x ')} threads, kernel '${name}' takes at most ${metadata.maxFlatWorkgroupSize}`;
    throw new WavewrightError('USAGE', what);
  }
}
