/** Profiles of kernels that a command launches below the HAL, by the flags of IREE. */
import { WavewrightError } from '../../base/errors.ts';
import type { Device } from '../../device/device.ts';
import type { PacketProfile } from '../../hal/index.ts';
import type { DeviceOptions } from '../arguments/device-options.ts';
import { countedBy, familiesOf, type ProfileFileOptions } from './device-profiling.ts';

/** What a device counts for a profile. */
export function countsForProfile(
  options: ProfileFileOptions,
): Pick<DeviceOptions, 'countsClasses' | 'countsPcs' | 'countsAccesses'> {
  const { countsInstructions, countsEachInstruction, countsEachAccess } = countedBy(options);
  return {
    ...(countsInstructions && { countsClasses: true }),
    ...(countsEachInstruction && { countsPcs: true }),
    ...(countsEachAccess && { countsAccesses: true }),
  };
}

/**
 * The profile that options ask for, if any: an observer of launches, which completes it when all kernels are
 * over. Throws USAGE for options that need a file, IO, UNSUPPORTED for what packets do not tell of.
 */
export async function openPacketProfile(
  device: Device,
  options: ProfileFileOptions,
  resources: DisposableStack,
): Promise<PacketProfile | undefined> {
  const file = options['device-profiling-output'];
  const data = familiesOf(options['device-profiling-mode']);
  const counterNames = options['device-profiling-counter'];
  const kernels = options['device-profiling-filter-export'];
  if (file === undefined) {
    if (data === undefined && counterNames === undefined && kernels === undefined) return undefined;
    throw new WavewrightError('USAGE', 'a profile needs a file: --device-profiling-output=FILE');
  }
  const [{ PacketProfile }, { dispatchCounters }, { instructionReader }, { ProfileFileSink }, { BundleFile }] =
    await Promise.all([
      import('../../hal/index.ts'),
      import('../../hal-drivers/dispatch-counters.ts'),
      import('../../hal-drivers/instruction-reader.ts'),
      import('../../profile/session-file.ts'),
      import('../process/bundle-file.ts'),
    ]);
  const { countsInstructions = false, countsEachInstruction = false, countsEachAccess = false } = countedBy(options);
  const { processor } = device.properties;
  const bundle = resources.use(new BundleFile(file));
  return new PacketProfile({
    device,
    sink: new ProfileFileSink(bundle),
    ...{ data, counterNames, kernels },
    counters: dispatchCounters({
      classes: countsInstructions,
      instructions: countsEachInstruction,
      accesses: countsEachAccess,
    }),
    instructions: countsEachInstruction ? instructionReader(processor, countsEachAccess) : undefined,
    now: () => performance.now(),
  });
}
