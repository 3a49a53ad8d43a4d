/** Programs that are recorded as they run, and replayed on devices of their own. */
import { createRegistry, type Subject, withParameters } from '../../hal/conformance/subject.test-support.ts';
import { type DriverRegistry, LocalModule, type LogicalDevice } from '../../hal/index.ts';
import { MemoryFile } from '../format/all-payloads.test-support.ts';
import { readReplayFile } from '../format/file.ts';
import { ReplayRecorder } from '../record/recorder.ts';
import { executeReplay } from './executor.ts';
import { planReplay } from './plan.ts';
import type { ReplayOptions, ReplayOutcome } from './run.ts';

/** A registry whose devices are recorded. */
export const recordedRegistry = (registry: DriverRegistry, recorder: ReplayRecorder): DriverRegistry =>
  new Proxy(registry, {
    get: (target, key) => {
      if (key === 'open') {
        return async (uri: string, ...more: []) => recorder.wrap(await target.open(uri, ...more), { uri });
      }
      const found: unknown = Reflect.get(target, key, target);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });

/** What `run` does with a registry, as a file. */
export async function recorded(registry: DriverRegistry, run: (registry: DriverRegistry) => unknown) {
  const target = new MemoryFile();
  const recorder = new ReplayRecorder(target);
  await run(recordedRegistry(registry, recorder));
  recorder.close();
  return target.bytes;
}

/** The functions of a subject whose code no file can hold. */
export const substituteOf =
  ({ code }: Pick<Subject, 'code'>): NonNullable<ReplayOptions['substitute']> =>
  ({ pieces }) => {
    if (pieces.some(({ length }) => length > 0)) return undefined;
    const found = code();
    return found instanceof LocalModule ? found : undefined;
  };

/** Replays a file on fresh devices, and holds all against the recording. */
export async function replayed(
  subject: Pick<Subject, 'code'>,
  bytes: Uint8Array,
  options: ReplayOptions = {},
  parameters = '',
): Promise<ReplayOutcome> {
  using registry = createRegistry(2);
  const plan = planReplay(readReplayFile(bytes));
  const devices: LogicalDevice[] = [];
  for (const { uri } of plan.devices) devices.push(await registry.open(withParameters(uri!, parameters)));
  return await executeReplay(plan, devices, { verifies: true, substitute: substituteOf(subject), ...options });
}
