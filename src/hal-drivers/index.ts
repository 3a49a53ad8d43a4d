/** The drivers of the HAL that ship, on emulated GPUs. */
import { processorNamed } from '../codeobject/processors.ts';
import { createEmulatedDevice } from '../devices/emulated/index.ts';
import {
  type AgentProvider,
  type AmdgpuDriverOptions,
  amdgpuDriver,
  DriverRegistry,
  HalError,
  localDriver,
  nullDriver,
  uuidOf,
} from '../hal/index.ts';
import { TARGET_PROCESSORS } from '../isa/amdgpu/encoding/targets.ts';

export * from '../hal/index.ts';

export interface EmulatedAgentsOptions {
  /** Processors of the GPUs, one for each; a URI's `target` replaces them all. Default: one `gfx90a`. */
  readonly processors?: readonly string[];
  /** Memory of each. Default 256 MiB. */
  readonly memorySizeBytes?: number;
  /** As `createEmulatedDevice` takes them: `nodeThreads` of wavewright/node. */
  readonly threads?: Parameters<typeof createEmulatedDevice>[0]['threads'];
  readonly workers?: number;
  /** For compressed bundles. */
  readonly decompress?: AgentProvider['decompress'];
}

const DEFAULT_MEMORY_BYTES = 2 ** 28;

/** Emulated GPUs for `amdgpuDriver`. */
export function emulatedAgents(options: EmulatedAgentsOptions = {}): AgentProvider {
  const { processors = ['gfx90a'], memorySizeBytes = DEFAULT_MEMORY_BYTES, threads, workers, decompress } = options;
  return {
    ...(decompress !== undefined && { decompress }),
    list: (target) => {
      if (target !== '' && (processorNamed(target) === undefined || !TARGET_PROCESSORS.includes(target))) {
        throw new HalError('NOT_FOUND', `no processor '${target}' is emulated`, {
          hint: `emulated are ${TARGET_PROCESSORS.join(', ')}`,
          code: 'NO_DEVICE',
        });
      }
      return processors.map((own, index) => {
        const processor = target === '' ? own : target;
        const settings = { processor, index, memorySizeBytes };
        return {
          uuid: uuidOf(`emulated ${processor} ${index}`),
          name: `${processor} (emulated)`,
          open: () =>
            createEmulatedDevice({
              ...settings,
              ...(threads !== undefined && { threads }),
              ...(workers !== undefined && { workers }),
            }),
        };
      });
    },
  };
}

export interface HalOptions extends EmulatedAgentsOptions, AmdgpuDriverOptions {}

/** A registry with the drivers `amdgpu` (emulated GPUs), `local` and `null`. */
export const createHal = ({ visibleDevices, ...options }: HalOptions = {}): DriverRegistry =>
  new DriverRegistry(amdgpuDriver(emulatedAgents(options), { visibleDevices }), localDriver(), nullDriver());
