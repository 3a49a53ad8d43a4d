/** The drivers of the HAL that ship, on emulated GPUs. */
import { countedClock, type HostClock } from '../base/host-clock.ts';
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
import { dispatchCounters } from './dispatch-counters.ts';
import { instructionReader } from './instruction-reader.ts';

export * from '../hal/index.ts';

export interface EmulatedAgentsOptions {
  /** Processors of the GPUs, one for each; a URI's `target` replaces them all. Default: one `gfx90a`. */
  readonly processors?: readonly string[];
  /** Memory of each. Default 256 MiB. */
  readonly memorySizeBytes?: number;
  /** As `createEmulatedDevice` takes them: `nodeThreads` of wavewright/node. */
  readonly threads?: Parameters<typeof createEmulatedDevice>[0]['threads'];
  readonly workers?: number;
  /**
   * Counts instructions by class for the profiles of a device, which takes a tenth of the time of kernels.
   * Default: only in all, which costs nothing.
   */
  readonly countsInstructions?: boolean;
  /**
   * Counts the executions of each instruction, their active lanes and the branches that are taken, for
   * `instruction-counts`: kernels take up to twice as long. Default: not at all.
   */
  readonly countsEachInstruction?: boolean;
  /** As `countsEachInstruction`, and what lanes access, which makes accesses many times slower. */
  readonly countsEachAccess?: boolean;
  /** Traces what each wave executes, for `executable-traces`; implies `countsEachInstruction`. */
  readonly tracesWaves?: boolean;
  /** By which GPUs go, as `createEmulatedDevice` takes it. */
  readonly now?: HostClock;
  /** For compressed bundles. */
  readonly decompress?: AgentProvider['decompress'];
}

const DEFAULT_MEMORY_BYTES = 2 ** 28;

/** Emulated GPUs for `amdgpuDriver`. */
export function emulatedAgents(options: EmulatedAgentsOptions = {}): AgentProvider {
  const {
    processors = ['gfx90a'],
    memorySizeBytes = DEFAULT_MEMORY_BYTES,
    threads,
    workers,
    now,
    decompress,
    countsInstructions = false,
    countsEachAccess = false,
    tracesWaves = false,
    countsEachInstruction = countsEachAccess || tracesWaves,
  } = options;
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
          counters: dispatchCounters({
            classes: countsInstructions,
            instructions: countsEachInstruction,
            accesses: countsEachAccess,
          }),
          ...(countsEachInstruction && { instructions: instructionReader(processor, countsEachAccess) }),
          ...(tracesWaves && { tracesWaves }),
          open: () =>
            createEmulatedDevice({
              ...settings,
              countsClasses: countsInstructions,
              countsPcs: countsEachInstruction,
              countsAccesses: countsEachAccess,
              tracesWaves,
              ...(threads !== undefined && { threads }),
              ...(workers !== undefined && { workers }),
              ...(now !== undefined && { now }),
            }),
        };
      });
    },
  };
}

export interface HalOptions extends Omit<EmulatedAgentsOptions, 'now'>, AmdgpuDriverOptions {
  /**
   * `counted`: time goes on by what is done and not by the host's clock, so that results, profiles and what
   * kernels read of their clock are the same in every run. Not with `workers`. Default `host`.
   */
  readonly clock?: 'host' | 'counted';
}

/** A registry with the drivers `amdgpu` (emulated GPUs), `local` and `null`. */
export function createHal({
  visibleDevices,
  createRuntime,
  clock = 'host',
  ...options
}: HalOptions = {}): DriverRegistry {
  const now = clock === 'counted' ? countedClock() : undefined;
  const agents = emulatedAgents({ ...options, ...(now !== undefined && { now }) });
  const drivers = [amdgpuDriver(agents, { visibleDevices, createRuntime }), localDriver(), nullDriver()];
  return now === undefined ? new DriverRegistry(...drivers) : DriverRegistry.withClock(now, ...drivers);
}
