/**
 * The suite's bodies, each again and again, with another call of the HSA runtime that fails: memory, signals,
 * queues, executables. Whatever a body makes of it, it ends, somebody is told of the failure, no queue
 * and no code is lost, and nothing is left when the device is closed. A few bodies and calls are
 * drawn; `WAVEWRIGHT_SEED` draws others, `WAVEWRIGHT_SCALE=full` runs all.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { IS_FULL_SCALE, SEED } from '../../../test/scale.ts';
import { Executable } from '../../hsa/executables/executable.ts';
import { Queue } from '../../hsa/queues/queue.ts';
import { amdgpuDriver } from '../amdgpu/index.ts';
import { seededIntegers } from '../core/random.ts';
import { formatStall } from '../core/stall.ts';
import { DriverRegistry, type OpenOptions } from '../devices/driver.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { HalExecutable } from '../executables/executable.ts';
import type { QueueEvent } from '../queues/scheduler.ts';
import { World } from './cts.test-support.ts';
import { type SuiteBody, suiteBodies } from './cts-run.test-support.ts';
import { FailingCalls } from './failing-calls.test-support.ts';
import { SUBJECTS, type Subject, testAgents, withParameters } from './subject.test-support.ts';

/** Bodies that are drawn of each way. */
const DRAWN = 12;
/** Until which a body ends whatever fails; the longest takes a tenth of it. */
const LIMIT_MS = 20_000;

const WAYS: readonly { readonly target: string; readonly parameters: string; readonly isIndirect: boolean }[] = [
  { target: 'gfx90a', parameters: '', isIndirect: false },
  { target: 'gfx90a', parameters: 'waits=barrier&ring=4&notifications=2&kernargs=8', isIndirect: true },
  { target: 'gfx1100', parameters: 'transfers=kernels', isIndirect: true },
];

interface Trial {
  readonly subject: Subject;
  readonly way: (typeof WAYS)[number];
  readonly body: SuiteBody;
}

/** Whether an error is `origin`, follows from it, or is what an assertion says of one that does. */
function comesFrom(error: unknown, origin: Error): boolean {
  if (error === origin) return true;
  if (!(error instanceof Error)) return false;
  if (error instanceof assert.AssertionError && comesFrom(error.actual, origin)) return true;
  return comesFrom(error.cause, origin);
}

/** The error that a body ends with, or none. Fails where it does not end. */
async function outcomeOf(run: () => unknown, device: LogicalDevice): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const tell = () => reject(new RangeError(`it does not end\n${formatStall(device.explainStall())}`));
    timer = setTimeout(tell, LIMIT_MS);
  });
  try {
    await Promise.race([Promise.resolve().then(run), late]);
    return undefined;
  } catch (error) {
    if (error instanceof RangeError && /it does not end/.test(error.message)) throw error;
    return error;
  } finally {
    clearTimeout(timer);
  }
}

/** What a body that ended early has submitted may need code; what waits for nobody is left. */
async function settled(opened: readonly LogicalDevice[]): Promise<void> {
  const isBusy = () => opened.some(({ isClosed, pendingCounts }) => !isClosed && pendingCounts.running > 0);
  for (let turn = 0; turn < 100 && isBusy(); turn++) await new Promise((resolve) => setTimeout(resolve));
}

/** Queues and executables end with their runtime: who lost one has it while the device is open. */
function expectNoneLost({ live }: FailingCalls, opened: readonly LogicalDevice[], parameters: string): void {
  const open = opened.filter(({ isClosed }) => !isClosed);
  const queueCount = open.reduce((sum, { queues }) => sum + queues.length, 0);
  const found = [...live];
  assert.ok(found.filter((each) => each instanceof Queue).length <= queueCount, 'a queue is lost');
  const libraryCount = parameters.includes('transfers=kernels') ? open.length : 0;
  assert.equal(found.filter((each) => each instanceof Executable).length, libraryCount, 'executables');
}

interface Outcome {
  readonly calls: readonly string[];
  /** Allocations that ended with their devices: of buffers that a body left behind. */
  readonly leftCount: number;
}

/** Knows its devices, and what failed on them. */
class WatchedRegistry extends DriverRegistry {
  readonly opened: LogicalDevice[] = [];
  readonly failures: unknown[] = [];

  override async open(uri: string, options: OpenOptions = {}): Promise<LogicalDevice> {
    const onEvent = ({ failure }: QueueEvent) => failure && this.failures.push(failure);
    const device = await super.open(uri, { ...options, onEvent });
    this.opened.push(device);
    return device;
  }
}

/** Runs a body on a device of its own; `whole`: what it did without a failure. */
async function runFailing(
  { subject, way: { parameters, isIndirect }, body: { run } }: Trial,
  failing = -1,
  whole?: Outcome,
): Promise<Outcome> {
  const watched = new FailingCalls();
  using registry = new WatchedRegistry(amdgpuDriver(testAgents(), { createRuntime: watched.createRuntime }));
  const { failures, opened } = registry;
  const uri = withParameters(subject.uri, parameters);
  const device = await registry.open(uri);
  let loaded: HalExecutable | undefined;
  const code = (): HalExecutable => {
    loaded ??= device.load(subject.code());
    return loaded;
  };
  watched.arm(failing);
  const world = new World({ subject, registry, uri, device, code, isIndirect });
  failures.push(await outcomeOf(() => run(world), device));
  const { calls } = watched;
  watched.arm(-1);
  if (calls[failing] !== undefined) {
    const texts = failures.filter((each) => each !== undefined).map(String);
    assert.ok(
      failures.some((each) => comesFrom(each, watched.error)),
      `nobody was told, but of: ${texts.join('; ')}`,
    );
  } else assert.equal(failures.at(-1), undefined);
  const liveCount = opened.reduce((sum, { allocator }) => sum + allocator.statistics.liveCount, 0);
  world.dispose();
  loaded?.[Symbol.dispose]();
  await settled(opened);
  expectNoneLost(watched, opened, parameters);
  registry[Symbol.dispose]();
  const left = [...watched.live];
  const names = left.filter((each) => typeof each === 'object').map((each) => each?.constructor.name);
  assert.deepEqual(names, [], 'what is left');
  const most = liveCount + (whole?.leftCount ?? left.length);
  assert.ok(left.length <= most, `${left.length} allocations are left, more than ${most} buffers`);
  return { calls, leftCount: left.length };
}

/** Runs a body with each of some of its calls failing. Returns what is wrong, by call. */
async function problemsOf(
  trial: Trial,
  choose: (count: number) => readonly number[],
): Promise<{ readonly failed: number; readonly problems: readonly string[] }> {
  const { name } = trial.body;
  const problems: string[] = [];
  const tell = (what: string) => (error: unknown) => void problems.push(`${name}${what}: ${error}`);
  const whole = await runFailing(trial).catch(tell(''));
  if (whole === undefined) return { failed: 0, problems };
  const { calls } = whole;
  const chosen = choose(calls.length);
  for (const failing of chosen) {
    const what = `, call ${failing} (${calls[failing]}) of ${calls.length}`;
    await runFailing(trial, failing, whole).catch(tell(what));
  }
  return { failed: chosen.length, problems };
}

for (const way of WAYS) {
  const subject = SUBJECTS.find(({ name }) => name === way.target)!;
  const name = `${way.target}: bodies end where an HSA call fails, with '${way.parameters}'`;
  test(name, { timeout: IS_FULL_SCALE ? undefined : 120_000 }, async (context: TestContext) => {
    const random = seededIntegers(SEED);
    const all = suiteBodies(subject).filter(({ skip }) => skip === false);
    const bodies = IS_FULL_SCALE ? all : Array.from({ length: DRAWN }, () => all[random(all.length)]!);
    const choose = (count: number): readonly number[] => {
      if (IS_FULL_SCALE) return Array.from({ length: count }, (_, i) => i);
      return count === 0 ? [] : [random(count)];
    };
    const found: Awaited<ReturnType<typeof problemsOf>>[] = [];
    for (const body of bodies) found.push(await problemsOf({ subject, way, body }, choose));
    const count = found.reduce((sum, { failed }) => sum + failed, 0);
    context.diagnostic(`${bodies.length} bodies, ${count} calls failed`);
    assert.equal(found.flatMap(({ problems }) => problems).join('\n'), '');
    assert.ok(count >= bodies.length / 2, `only ${count} calls failed`);
  });
}
