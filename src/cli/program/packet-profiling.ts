/** Profiles of kernels that a command launches below the HAL, by the flags of IREE. */
import { WavewrightError } from '../../base/errors.ts';
import type { Device } from '../../device/device.ts';
import type { ApplicationObserver, ApplicationWatcher } from '../../exec/observer.ts';
import type { TracedCall } from '../../exec/trace-ring.ts';
import type { PacketProfile, PacketProfileOptions } from '../../hal/index.ts';
import type { DeviceOptions } from '../arguments/device-options.ts';
import { countedBy, familiesOf, type ProfileFileOptions } from './device-profiling.ts';

/** What a device counts for a profile. */
export function countsForProfile(
  options: ProfileFileOptions,
): Pick<DeviceOptions, 'countsClasses' | 'countsPcs' | 'countsAccesses' | 'tracesWaves'> {
  const { countsInstructions, countsEachInstruction, countsEachAccess, tracesWaves } = countedBy(options);
  return {
    ...(countsInstructions && { countsClasses: true }),
    ...(countsEachInstruction && { countsPcs: true }),
    ...(countsEachAccess && { countsAccesses: true }),
    ...(tracesWaves && { tracesWaves: true }),
  };
}

/**
 * The profile that options ask for, if any: an observer of launches, which completes it when all kernels are
 * over. Throws USAGE for options that need a file, IO, UNSUPPORTED for what packets do not tell of.
 */
export const openPacketProfile = async (
  device: Device,
  options: ProfileFileOptions,
  resources: DisposableStack,
): Promise<PacketProfile | undefined> => (await packetProfileMaker(options, resources))?.(device);

/**
 * As `openPacketProfile`, before there is a device. What packets do not tell of is refused with the device.
 */
async function packetProfileMaker(
  options: ProfileFileOptions,
  resources: DisposableStack,
  host: Pick<PacketProfileOptions, 'hasTransfers' | 'now'> = { now: () => performance.now() },
): Promise<((device: Device) => PacketProfile) | undefined> {
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
  const {
    countsInstructions = false,
    countsEachInstruction = false,
    countsEachAccess = false,
    tracesWaves = false,
  } = countedBy(options);
  const bundle = resources.use(new BundleFile(file));
  return (device) =>
    new PacketProfile({
      device,
      sink: new ProfileFileSink(bundle),
      ...{ data, counterNames, kernels, tracesWaves },
      counters: dispatchCounters({
        classes: countsInstructions,
        instructions: countsEachInstruction,
        accesses: countsEachAccess,
      }),
      instructions: countsEachInstruction
        ? instructionReader(device.properties.processor, countsEachAccess)
        : undefined,
      ...host,
    });
}

const DWORD_BYTES = 4;
const NS_PER_MS = 1e6;
const millisecondsOf = (ns: bigint): number => Number(ns) / NS_PER_MS;

/** What a profile is told of an application. */
export type ProfileWatcher = ApplicationWatcher &
  Required<Pick<ApplicationObserver, 'onDevice' | 'onCall' | 'onLostCalls'>>;

/** A profile of the first application that gets a device. */
export class ApplicationProfile implements Disposable {
  readonly #make: ((device: Device) => PacketProfile) | undefined;
  readonly #resources: DisposableStack;
  #profile: PacketProfile | undefined;
  #isTaken = false;

  private constructor(make: ((device: Device) => PacketProfile) | undefined, resources: DisposableStack) {
    this.#make = make;
    this.#resources = resources;
  }

  /** Throws as `openPacketProfile`. */
  static async open(options: ProfileFileOptions): Promise<ApplicationProfile> {
    const resources = new DisposableStack();
    // What the application tells has times of CLOCK_MONOTONIC.
    const host = { hasTransfers: true, now: () => millisecondsOf(process.hrtime.bigint()) };
    return new ApplicationProfile(await packetProfileMaker(options, resources, host), resources);
  }

  /** What the first application gets. */
  take(): ProfileWatcher | undefined {
    const make = this.#make;
    if (make === undefined || this.#isTaken) return undefined;
    this.#isTaken = true;
    return {
      onDevice: (device) => {
        this.#profile = make(device);
      },
      onLoaded: (...loaded) => this.#profile?.onLoaded(...loaded),
      onLaunch: () => {},
      onPacket: (packet) => this.#profile?.onPacket(packet),
      onCall: (call) => this.#addCall(call),
      onLostCalls: (count) => this.#profile?.onLostTransfers(count),
      onUnloading: () => this.#profile?.flush(),
      onFinished: () => this.#profile?.onFinished(),
    };
  }

  /** Calls that move memory before they return; `copy` is what a call asked for that may have waited. */
  #addCall({ name, beginNs, endNs, b }: TracedCall): void {
    const times = { startMs: millisecondsOf(beginNs), endMs: millisecondsOf(endNs) };
    if (name === 'copy' || name === 'hsa_memory_copy') {
      this.#profile?.onTransfer({ kind: 'copy', ...times, sizeBytes: Number(b) });
    } else if (name === 'hsa_amd_memory_fill') {
      this.#profile?.onTransfer({ kind: 'fill', ...times, sizeBytes: Number(b) * DWORD_BYTES });
    }
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }
}
