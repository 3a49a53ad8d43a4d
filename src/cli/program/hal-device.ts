/** Devices of the HAL for commands: by URI, or those that a file's code is for. */
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import type { DriverRegistry } from '../../hal/index.ts';
import type { HalOptions } from '../../hal-drivers/index.ts';
import { TARGET_PROCESSORS } from '../../isa/amdgpu/encoding/targets.ts';
import { loadEmulator, MEMORY_OPTION, openImages, WORKERS_OPTION } from '../arguments/device-name.ts';

/** IREE's name for the driver of AMD GPUs, which is what files are for. */
const DEFAULT_URI = 'amdgpu';

export const HAL_DEVICE_OPTIONS = {
  device: {
    kind: 'text',
    placeholder: 'URI',
    default: DEFAULT_URI,
    description:
      'the device, for example amdgpu, amdgpu://0?target=gfx942 or null; without a target it is that of FILE',
  },
  gpus: {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max: 8,
    default: 1,
    description: 'GPUs that are emulated; amdgpu is all of them as one device, amdgpu://0,1 two of them',
  },
  workers: WORKERS_OPTION,
  memory: MEMORY_OPTION,
} as const;

export interface HalDeviceOptions {
  readonly gpus: number;
  readonly workers: number | undefined;
  readonly memory: number;
}

/** What emulated GPUs count of kernels besides what is always there. */
export type CountedDetails = Pick<
  HalOptions,
  'countsInstructions' | 'countsEachInstruction' | 'countsEachAccess' | 'tracesWaves'
>;

/** A registry with all drivers; `processor`: of emulated GPUs whose URI names none. */
export async function openHal(
  options: HalDeviceOptions,
  processor = 'gfx90a',
  counted: CountedDetails = {},
): Promise<DriverRegistry> {
  const [{ createHal }, { nodeThreads }] = await Promise.all([import('../../hal-drivers/index.ts'), loadEmulator()]);
  return createHal({
    processors: Array.from({ length: options.gpus }, () => processor),
    ...(options.workers !== undefined && { workers: options.workers }),
    memorySizeBytes: options.memory,
    ...counted,
    threads: nodeThreads,
    decompress: nodeDecompress,
  });
}

/** The processor that code in a file is for; undefined where it is emulated on none. */
export function processorOf(file: string): string | undefined {
  const targets = openImages(file).map(({ target }) => target.processor);
  return targets.find((processor) => TARGET_PROCESSORS.includes(processor));
}
