/**
 * Replays recordings: fresh things on given devices, in the order of the file. What the host did happens when
 * all has ended that had ended when it was recorded.
 */
import { WavewrightError } from '../../base/errors.ts';
import { HalError, type LogicalDevice } from '../../hal/index.ts';
import { CALLS } from './calls.ts';
import { OWN_CALLS } from './own-calls.ts';
import type { RecordedDevice, ReplayPlan, ReplayStep } from './plan.ts';
import { type ReplayOptions, type ReplayOutcome, ReplayRun } from './run.ts';

/**
 * Replays a plan. `devices`: one for each of `plan.devices`, with as many queues. Throws UNSUPPORTED for what
 * cannot be replayed, FAILED_PRECONDITION for devices that do not fit, DEADLINE_EXCEEDED where an operation
 * does not end that had, and what calls throw that had gone through.
 */
export async function executeReplay(
  plan: ReplayPlan,
  devices: readonly LogicalDevice[],
  options: ReplayOptions = {},
): Promise<ReplayOutcome> {
  const [finding] = plan.findings;
  if (finding !== undefined) {
    const more = plan.findings.length > 1 ? `, and ${plan.findings.length - 1} more` : '';
    const what = `record ${finding.ordinal}: ${finding.message}${more}`;
    throw new WavewrightError('UNSUPPORTED', what, { file: plan.file.name });
  }
  expectDevices(plan.devices, devices);
  const run = new ReplayRun(plan, devices, options);
  for (const each of plan.steps) {
    // Steps that wait for nothing follow each other at once, as the calls of the program did.
    const pending = step(run, each);
    if (pending !== undefined) await pending;
  }
  return run.finish();
}

function expectDevices(recorded: readonly RecordedDevice[], devices: readonly LogicalDevice[]): void {
  if (recorded.length !== devices.length) {
    const what = `a recording of ${recorded.length} devices on ${devices.length}`;
    throw new HalError('FAILED_PRECONDITION', what);
  }
  for (const [i, { queues, formats }] of recorded.entries()) {
    const device = devices[i]!;
    if (queues !== undefined && device.queues.length !== queues) {
      const what = `a recording of ${queues} queues on ${device.name}, which has ${device.queues.length}`;
      throw new HalError('FAILED_PRECONDITION', what, {
        hint: 'the parameter queues= of the URI says how many there are',
      });
    }
    if (formats === undefined || device.physicalDevices.length === formats.length) continue;
    const what = `a recording of ${formats.length} physical devices on ${device.name}`;
    throw new HalError('FAILED_PRECONDITION', `${what}, which has ${device.physicalDevices.length}`);
  }
}

function step(run: ReplayRun, each: ReplayStep): Promise<void> | undefined {
  const { name, record } = each;
  if (record.status !== 0) return undefined;
  const own = OWN_CALLS[name];
  const result =
    own === undefined
      ? CALLS[name]?.(run, record, each.payload as never) // reason: of the layout of the operation
      : own(run, record, each.payload as never); // reason: each takes what its record tells
  return result instanceof Promise ? result : undefined;
}
