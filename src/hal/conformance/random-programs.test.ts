/**
 * Random programs of operations on several queues against a sequential model: bytes, files, and which
 * operations fail, by aborts, host calls and faults. A seed names a program, another one the schedule; a
 * program that differs is made small.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IS_FULL_SCALE } from '../../../test/scale.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { HalQueue, QueueCopy } from '../queues/queue.ts';
import { randomProgram, shrink } from './random-program.test-support.ts';
import { differences } from './random-run.test-support.ts';
import { createRegistry, SUBJECTS, type Subject, withParameters } from './subject.test-support.ts';

/** Steps of a program at most. */
const SIZE = 24;

interface Run {
  readonly subject: string;
  readonly gpus: number;
  /** Programs; 130,000 together at full scale. */
  readonly count: number;
}

const RUNS: readonly Run[] = [
  { subject: 'null', gpus: 1, count: IS_FULL_SCALE ? 30_000 : 300 },
  { subject: 'local', gpus: 1, count: IS_FULL_SCALE ? 30_000 : 400 },
  { subject: 'gfx90a', gpus: 1, count: IS_FULL_SCALE ? 20_000 : 250 },
  { subject: 'gfx942', gpus: 1, count: IS_FULL_SCALE ? 5000 : 50 },
  { subject: 'gfx1100', gpus: 1, count: IS_FULL_SCALE ? 20_000 : 100 },
  { subject: 'gfx1201', gpus: 1, count: IS_FULL_SCALE ? 5000 : 50 },
  { subject: 'gfx90a', gpus: 2, count: IS_FULL_SCALE ? 10_000 : 100 },
  { subject: 'gfx1100', gpus: 2, count: IS_FULL_SCALE ? 10_000 : 50 },
];
/** Programs on one device, whose schedule has one seed. */
const BATCH = IS_FULL_SCALE ? 250 : 25;

/** In turn: how queues of GPUs wait for each other, and their rings. */
const GPU_SCHEDULES = [
  'ring=1',
  'waits=barrier&transfers=kernels&queues=4',
  'waits=defer',
  'waits=barrier&ring=4&notifications=2',
];

/** Schedules in turn: the first submitted first, then by seed. */
function scheduleOf({ tags }: Subject, first: number): string {
  const turn = first / BATCH;
  if (turn % 5 === 0) return '';
  return [`seed=${first}`, tags.includes('code-objects') ? GPU_SCHEDULES[(turn % 5) - 1] : '']
    .filter(Boolean)
    .join('&');
}

for (const { subject: name, gpus, count } of RUNS) {
  const subject = SUBJECTS.find((each) => each.name === name)!;
  const where = gpus === 1 ? name : `${gpus} x ${name}`;
  test(`${where}: ${count} random programs do what the model does`, async () => {
    for (let first = 0; first < count; first += BATCH) {
      using registry = createRegistry(gpus);
      const schedule = scheduleOf(subject, first);
      const uri = gpus === 1 ? subject.uri : subject.uri.replace('//0', '');
      const device = await registry.open(withParameters(uri, schedule));
      const code = device.load(subject.code());
      const storeAt = subject.tags.includes('faults') ? code.lookup('store_at') : undefined;
      const runner = { device, mix: code.lookup('mix'), storeAt };
      for (let seed = first; seed < Math.min(count, first + BATCH); seed++) {
        const program = randomProgram(seed, SIZE);
        const found = await differences(runner, program);
        if (found.length === 0) continue;
        const small = await shrink(program, async (candidate) => (await differences(runner, candidate)).length > 0);
        const what = `${where}, seed ${seed}, schedule '${schedule}'`;
        assert.fail(`${what}: ${found.join('; ')}\n${JSON.stringify(small.steps, undefined, 1)}`);
      }
    }
  });
}

/** A device whose queues do something else for a copy. */
function withCopies(
  device: LogicalDevice,
  copy: (queue: HalQueue, options: QueueCopy) => ReturnType<HalQueue['copy']>,
) {
  const bound = <T extends object>(whole: T, changes: object): T =>
    new Proxy(whole, {
      get: (target, key) => {
        const value = Reflect.get(changes, key) ?? Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const queues = device.queues.map((queue) => bound(queue, { copy: (options: QueueCopy) => copy(queue, options) }));
  return bound(device, { queues, queuesOf: () => queues });
}

type BufferSlice = Extract<QueueCopy['source'], { readonly buffer: unknown }>;

const DEFECTS = {
  'copies that do not wait for their last wait': (queue: HalQueue, { waits = [], ...options }: QueueCopy) =>
    queue.copy({ ...options, waits: waits.slice(0, -2) }),
  'copies from the start of their source': (queue: HalQueue, { source, ...options }: QueueCopy) =>
    queue.copy({ ...options, source: { ...(source as BufferSlice), offsetBytes: 0 } }),
} as const;

test('a planted defect is found, and the program that shows it becomes small', async () => {
  for (const [name, copy] of Object.entries(DEFECTS)) {
    using registry = createRegistry();
    const opened = await registry.open('local');
    const subject = SUBJECTS.find((each) => each.name === 'local')!;
    const runner = { device: withCopies(opened, copy), mix: opened.load(subject.code()).lookup('mix') };
    const fails = async (candidate: ReturnType<typeof randomProgram>) =>
      (await differences(runner, candidate)).length > 0;
    let seed = 0;
    while (!(await fails(randomProgram(seed, SIZE)))) seed++;
    const small = await shrink(randomProgram(seed, SIZE), fails);
    assert.ok(small.steps.length <= 3, `${name}: ${JSON.stringify(small.steps, undefined, 1)}`);
    assert.ok(
      small.steps.some(({ kind }) => kind === 'copy'),
      name,
    );
  }
});
