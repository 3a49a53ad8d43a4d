/** Recordings of devices for commands, by IREE's flags. */
import { type DeviceUri, formatDeviceUri, type LogicalDevice, parseDeviceUri } from '../../hal/index.ts';
import { FILE_POLICIES, FILE_VALIDATIONS } from '../../replay/record/recorder-context.ts';
import { BundleFile } from '../process/bundle-file.ts';

/** `verbs`: what descriptions begin with, where not all verbs of a command take the options. */
export const deviceReplayOptions = (verbs = '') =>
  ({
    'device-replay-output': {
      kind: 'text',
      placeholder: 'FILE',
      aliases: ['device_replay_output'],
      description: `${verbs}records what the device is told to do (.ireereplay), for wavewright replay`,
    },
    'device-replay-file-policy': {
      kind: 'choice',
      choices: FILE_POLICIES,
      default: 'reference',
      aliases: ['device_replay_file_policy'],
      description: `${verbs}files that queues read by name: named in the recording, or kept there`,
    },
    'device-replay-file-validation': {
      kind: 'choice',
      choices: FILE_VALIDATIONS,
      default: 'identity',
      aliases: ['device_replay_file_validation'],
      description: `${verbs}how a replay knows that a named file is the same`,
    },
  }) as const;

export interface DeviceReplayOptions {
  readonly 'device-replay-output'?: string | undefined;
  readonly 'device-replay-file-policy': (typeof FILE_POLICIES)[number];
  readonly 'device-replay-file-validation': (typeof FILE_VALIDATIONS)[number];
}

/** Parts of a run that recordings name, as iree-run-module does. */
export type RunScope = <T>(name: 'init' | 'execute' | 'deinit', run: () => T | Promise<T>) => Promise<T>;

/** A device, as a command opened it. */
export interface OpenedDevice {
  readonly device: LogicalDevice;
  readonly uri: string;
  /** Of emulated GPUs, where the URI names none. */
  readonly processor: string | undefined;
}

/** Runs with a device that is recorded, if that is asked for. Throws IO. */
export async function withRecording<T>(
  { device, uri, processor }: OpenedDevice,
  options: DeviceReplayOptions,
  run: (device: LogicalDevice, scope: RunScope) => Promise<T>,
): Promise<T> {
  const output = options['device-replay-output'];
  if (output === undefined) return run(device, async (_, inner) => inner());
  const { ReplayRecorder } = await import('../../replay/record/recorder.ts');
  using file = new BundleFile(output);
  const recorder = new ReplayRecorder(file, {
    filePolicy: options['device-replay-file-policy'],
    fileValidation: options['device-replay-file-validation'],
  });
  const scope: RunScope = async (name, inner) => {
    recorder.scopeBegin(name);
    try {
      return await inner();
    } finally {
      recorder.scopeEnd(name);
    }
  };
  try {
    return await run(recorder.wrap(device, { uri: withTarget(uri, processor) }), scope);
  } finally {
    recorder.close();
  }
}

/** A URI that opens the same emulated GPU wherever it is replayed. */
function withTarget(uri: string, processor: string | undefined): string {
  const parsed: DeviceUri = parseDeviceUri(uri);
  if (processor === undefined || parsed.parameters.has('target') || !uri.startsWith('amdgpu')) return uri;
  return formatDeviceUri({ ...parsed, parameters: new Map([...parsed.parameters, ['target', processor]]) });
}
