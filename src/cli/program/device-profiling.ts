/** Profiles of devices for commands, by IREE's flags. */
import { WavewrightError } from '../../base/errors.ts';
import type { LogicalDevice, ProfileData, ProfileSession } from '../../hal/index.ts';
import { BundleFile } from '../process/bundle-file.ts';

/** IREE's families of data; those without a value are not there. */
const MODES: Readonly<Record<string, ProfileData | 'always' | undefined>> = {
  'queue-events': 'queue-events',
  'host-execution': 'host-execution',
  'device-queue-events': 'device-queue-events',
  'dispatch-events': 'dispatch-events',
  'memory-events': 'memory-events',
  'executable-metadata': 'always',
  counters: undefined,
  'executable-traces': undefined,
  'device-metrics': undefined,
  'command-region-events': undefined,
  'counter-ranges': undefined,
};

/** `verbs`: what descriptions begin with, where not all verbs of a command take the options. */
export const deviceProfilingOptions = (verbs = '') =>
  ({
    'device-profiling-mode': {
      kind: 'text',
      placeholder: 'FAMILY[,FAMILY]',
      aliases: ['device_profiling_mode'],
      description: `${verbs}what a profile holds: queue-events, device-queue-events, dispatch-events, host-execution, memory-events`,
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
  }) as const;

export interface DeviceProfilingOptions {
  readonly 'device-profiling-mode'?: string | undefined;
  readonly 'device-profiling-output'?: string | undefined;
  readonly 'device-profiling-filter-export'?: string | undefined;
}

/**
 * Runs with a profile, if one is asked for. Throws USAGE for options that do not go together, UNSUPPORTED for
 * families that are not there, IO.
 */
export async function withProfile<T>(
  device: LogicalDevice,
  options: DeviceProfilingOptions,
  run: () => Promise<T>,
): Promise<T> {
  const file = options['device-profiling-output'];
  const data = familiesOf(options['device-profiling-mode']);
  const kernel = options['device-profiling-filter-export'];
  if (file === undefined) {
    if (data === undefined && kernel === undefined) return run();
    throw new WavewrightError('USAGE', 'a profile needs a file: --device-profiling-output=FILE');
  }
  const { ProfileFileSink } = await import('../../profile/session-file.ts');
  using bundle = new BundleFile(file);
  const session: ProfileSession = await device.profile({
    sink: new ProfileFileSink(bundle),
    ...(data !== undefined && { data }),
    ...(kernel !== undefined && { filter: { kernel } }),
    capacity: CAPACITY,
  });
  const flush = setInterval(() => void session.flush().catch(() => {}), FLUSH_INTERVAL_MS);
  try {
    return await run();
  } finally {
    clearInterval(flush);
    await session.end();
  }
}

const CAPACITY = 2 ** 20;
const FLUSH_INTERVAL_MS = 500;

function familiesOf(text: string | undefined): ProfileData[] | undefined {
  if (text === undefined) return undefined;
  return text.split(',').flatMap((name) => {
    const family = name.trim();
    if (!Object.hasOwn(MODES, family)) {
      throw new WavewrightError('USAGE', `--device-profiling-mode: no family '${family}'`, {
        hint: `families: ${Object.keys(MODES).join(', ')}`,
      });
    }
    const data = MODES[family];
    if (data === undefined) throw new WavewrightError('UNSUPPORTED', `profiles have no ${family}`);
    return data === 'always' ? [] : [data];
  });
}
