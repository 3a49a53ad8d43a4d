/** Profiles of devices for commands, by IREE's flags. */
import { concatenate } from '../../base/concatenate.ts';
import { WavewrightError } from '../../base/errors.ts';
import type { LogicalDevice, ProfileData, ProfileSession } from '../../hal/index.ts';
import type { BundleTarget } from '../../profile/format/bundle.ts';
import { BundleFile } from '../process/bundle-file.ts';
import type { CountedDetails } from './hal-device.ts';

/** With `instruction-counts`, what the device counts of each access, too. */
const ACCESS_COUNTS = 'access-counts';

/** IREE's families of data, and two of our own; those without a value are not there. */
const MODES: Readonly<Record<string, ProfileData | 'always' | undefined>> = {
  'queue-events': 'queue-events',
  'host-execution': 'host-execution',
  'device-queue-events': 'device-queue-events',
  'dispatch-events': 'dispatch-events',
  'memory-events': 'memory-events',
  'executable-metadata': 'always',
  counters: 'counters',
  'instruction-counts': 'instruction-counts',
  [ACCESS_COUNTS]: 'instruction-counts',
  'executable-traces': 'executable-traces',
  'device-metrics': 'device-metrics',
  'counter-ranges': 'counter-ranges',
  'command-region-events': undefined,
};

/** `verbs`: what descriptions begin with, where not all verbs of a command take the options. */
const profileFileOptions = (verbs: string, families: string) =>
  ({
    'device-profiling-mode': {
      kind: 'text',
      placeholder: 'FAMILY[,FAMILY]',
      aliases: ['device_profiling_mode'],
      description: `${verbs}what a profile holds: ${families}`,
    },
    'device-profiling-output': {
      kind: 'text',
      placeholder: 'FILE',
      aliases: ['device_profiling_output'],
      description: `${verbs}writes a profile (.ireeprof); without a mode it holds all that the device tells`,
    },
    'device-profiling-filter-export': {
      kind: 'text',
      placeholder: 'GLOB',
      aliases: ['device_profiling_filter_export'],
      description: `${verbs}dispatch-events of these kernels only; * is any characters`,
    },
    'device-profiling-counter': {
      kind: 'list',
      placeholder: 'NAME',
      aliases: ['device_profiling_counter'],
      description: `${verbs}a counter of counters and counter-ranges; without any, all`,
    },
  }) as const;

const KERNEL_FAMILIES =
  'dispatch-events, counters, counter-ranges, device-metrics, instruction-counts, access-counts, executable-traces';

/** `verbs` as above. */
export const deviceProfilingOptions = (verbs = '') =>
  ({
    ...profileFileOptions(
      verbs,
      `queue-events, device-queue-events, host-execution, memory-events, ${KERNEL_FAMILIES}`,
    ),
    'print-device-statistics': {
      kind: 'flag',
      aliases: ['print_device_statistics'],
      description: `${verbs}prints durations of kernels and operations at the end, in place of a profile`,
    },
  }) as const;

const {
  'device-profiling-output': _file,
  'print-device-statistics': _print,
  ...contents
} = deviceProfilingOptions('record: ');
/** What is to be in a profile, of a command that says elsewhere where it goes. */
export const PROFILE_CONTENTS_OPTIONS = contents;

/** Of commands whose kernels are launched below the HAL (`packet-profiling.ts`). */
export const PACKET_PROFILING_OPTIONS = profileFileOptions('', KERNEL_FAMILIES);

/** Of programs, whose copies are told of, too. */
export const APPLICATION_PROFILING_OPTIONS = profileFileOptions('', `host-execution, ${KERNEL_FAMILIES}`);

export type ProfileFileOptions = Omit<DeviceProfilingOptions, 'print-device-statistics'>;

export interface DeviceProfilingOptions {
  readonly 'device-profiling-mode'?: string | undefined;
  readonly 'device-profiling-output'?: string | undefined;
  readonly 'device-profiling-filter-export'?: string | undefined;
  readonly 'device-profiling-counter'?: readonly string[] | undefined;
  readonly 'print-device-statistics': boolean;
}

/**
 * Runs with a profile, if one is asked for; `print` gets its statistics. Throws USAGE for options that do
 * not go together, UNSUPPORTED for families that are not there, IO.
 */
export async function withProfile<T>(
  device: LogicalDevice,
  options: DeviceProfilingOptions,
  [print, run]: readonly [print: (text: string) => void, run: () => Promise<T>],
): Promise<T> {
  const file = options['device-profiling-output'];
  const data = familiesOf(options['device-profiling-mode']);
  const kernel = options['device-profiling-filter-export'];
  const isPrinted = options['print-device-statistics'];
  if (file === undefined && !isPrinted) {
    if (data === undefined && kernel === undefined && options['device-profiling-counter'] === undefined) return run();
    throw usage('a profile needs a file: --device-profiling-output=FILE');
  }
  if (file !== undefined && isPrinted) {
    throw usage(
      '--print-device-statistics is in place of --device-profiling-output: `profile statistics` prints a file',
    );
  }
  const { ProfileFileSink } = await import('../../profile/session-file.ts');
  using bundle = file === undefined ? new BundleMemory() : new BundleFile(file);
  const filter = kernel === undefined ? {} : { filter: { kernel } };
  const counters = options['device-profiling-counter'];
  const families = data ?? (isPrinted ? lightFamilies(device) : undefined);
  const sink = new ProfileFileSink(bundle);
  const session = await device.profile({
    sink,
    ...(families && { data: families }),
    ...filter,
    ...(counters && { counters }),
    capacity: CAPACITY,
  });
  const result = await flushedRun(session, run);
  if (!(bundle instanceof BundleMemory)) return result;
  const [{ Profile }, { statisticsText }] = await Promise.all([
    import('../../profile/profile.ts'),
    import('../../profile/reports/statistics.ts'),
  ]);
  print(statisticsText(Profile.read(bundle.bytes)));
  return result;
}

/** What devices are to count of each kernel, which they do from the start or not at all. */
export function countedBy(options: ProfileFileOptions): CountedDetails {
  const data = familiesOf(options['device-profiling-mode']) ?? [];
  return {
    countsInstructions: data.includes('counters') || data.includes('counter-ranges'),
    countsEachInstruction: data.includes('instruction-counts'),
    tracesWaves: data.includes('executable-traces'),
    countsEachAccess: namesOf(options['device-profiling-mode']).includes(ACCESS_COUNTS),
  };
}

const usage = (what: string): WavewrightError => new WavewrightError('USAGE', what);

/** What IREE calls lightweight statistics: kernels, and operations that ran some. */
const lightFamilies = (device: LogicalDevice): ProfileData[] =>
  device.queueFamilies.some(({ capabilities }) => capabilities.includes('dispatch-times'))
    ? ['device-queue-events', 'dispatch-events']
    : ['host-execution'];

/** What a session keeps goes to its sink while the program runs, and all the rest at the end. */
async function flushedRun<T>(session: ProfileSession, run: () => Promise<T>): Promise<T> {
  // What fails to be written now is written, or told, at the end.
  const flush = setInterval(() => void session.flush().catch(() => {}), FLUSH_INTERVAL_MS);
  try {
    return await run();
  } finally {
    clearInterval(flush);
    await session.end();
  }
}

class BundleMemory implements BundleTarget, Disposable {
  readonly #parts: Uint8Array[] = [];

  append(bytes: Uint8Array): void {
    this.#parts.push(bytes);
  }

  restart(bytes: Uint8Array): void {
    this.#parts[0] = bytes;
  }

  get bytes(): Uint8Array {
    return concatenate(this.#parts);
  }

  [Symbol.dispose](): void {}
}

const CAPACITY = 2 ** 20;
const FLUSH_INTERVAL_MS = 500;

/** Throws USAGE for an unknown family, UNSUPPORTED for one that is not there. */
export function familiesOf(text: string | undefined): ProfileData[] | undefined {
  if (text === undefined) return undefined;
  const found = namesOf(text).flatMap((family) => {
    if (!Object.hasOwn(MODES, family)) {
      throw new WavewrightError('USAGE', `--device-profiling-mode: no family '${family}'`, {
        hint: `families: ${Object.keys(MODES).join(', ')}`,
      });
    }
    const data = MODES[family];
    if (data === undefined) throw new WavewrightError('UNSUPPORTED', `profiles have no ${family}`);
    if (data === 'always') return [];
    // Traces name instructions, whose text stands beside their counts.
    return data === 'executable-traces' ? [data, 'instruction-counts' as const] : [data];
  });
  return [...new Set(found)];
}

const namesOf = (mode: string | undefined): string[] => mode?.split(',').map((name) => name.trim()) ?? [];
