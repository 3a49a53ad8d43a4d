/** Waits of operations by each strategy: which was taken, what comes of it, and what a failure leaves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WAIT_STRATEGIES } from '../../backend/order.ts';
import { contentsOf, integersOf } from '../../conformance/readback.test-support.ts';
import { conformanceCode, createRegistry } from '../../conformance/subject.test-support.ts';
import { HalError } from '../../core/status.ts';
import type { LogicalDevice } from '../../devices/logical-device.ts';
import type { QueueEvent } from '../../queues/scheduler.ts';
import { crossQueueStrategy } from './wait-strategy.ts';

/** Target, parameter, and the strategy between queues that it comes to. */
const CASES = [
  ['gfx90a', 'auto', 'barrier-value'],
  ['gfx942', 'auto', 'barrier-value'],
  ['gfx1100', 'auto', 'barrier'],
  ['gfx1201', 'auto', 'defer'],
  ['gfx90a', 'barrier-value', 'barrier-value'],
  ['gfx90a', 'barrier', 'barrier'],
  ['gfx942', 'barrier', 'barrier'],
  ['gfx90a', 'defer', 'defer'],
  ['gfx1100', 'defer', 'defer'],
] as const;

const RINGS = ['', '&ring=1&notifications=1', '&ring=4&notifications=2&kernargs=8'];
const LINKS = 12;

/** Operations by strategy, and packets that wait, of all queues. */
function taken(device: LogicalDevice) {
  const of = (strategy: (typeof WAIT_STRATEGIES)[number]): number =>
    device.queues.reduce((sum, { strategyCounts }) => sum + strategyCounts[strategy], 0);
  const [none, inline, barrier, value, defer] = WAIT_STRATEGIES.map(of) as [number, number, number, number, number];
  const counts = { none, inline, barrier, 'barrier-value': value, defer };
  return { ...counts, packets: device.queues.reduce((sum, { waitPacketCount }) => sum + waitPacketCount, 0) };
}

/** Two buffers through which dispatches on two queues go in turn. Returns what is in them at the end. */
async function pingPong(device: LogicalDevice, target: string): Promise<Uint8Array> {
  using code = device.load(conformanceCode(target));
  using both = device.allocate(512);
  const parts = [both.subspan(0, 256), both.subspan(256, 256)];
  const timeline = device.createSemaphore();
  await device.queue().update({ target: both, contents: Uint8Array.from({ length: 512 }, (_, i) => i) });
  for (let i = 0; i < LINKS; i++) {
    const bindings = [parts[i % 2]!, parts[(i + 1) % 2]!];
    const order = { waits: [timeline.at(i)], signals: [timeline.at(i + 1)] };
    const dispatch = { entry: code.lookup('mix'), groups: 1, workgroupSize: 64, constants: [i + 3, 64], bindings };
    device.queue(i % 2).dispatch({ ...dispatch, ...order });
  }
  await timeline.at(LINKS);
  return contentsOf(device, both);
}

for (const [target, parameter, strategy] of CASES) {
  test(`${target}, waits=${parameter}: queues wait for each other by ${strategy}, in rings of any size`, async () => {
    using registry = createRegistry();
    const found: Uint8Array[] = [];
    for (const rings of RINGS) {
      const events: QueueEvent[] = [];
      const uri = `amdgpu?target=${target}&waits=${parameter}${rings}`;
      const device = await registry.open(uri, { onEvent: (event) => events.push(event) });
      const copies = taken(device);
      found.push(await pingPong(device, target));
      const { [strategy]: count, packets, inline } = taken(device);
      const isDeferred = strategy === 'defer';
      // What wants no reaching is reached: the first wait, for 0.
      assert.deepEqual([count - copies[strategy], packets, inline], [LINKS - 1, isDeferred ? 0 : LINKS - 1, 1], uri);
      const dispatches = events.filter(({ kind, operation }) => kind === 'started' && operation.kind === 'dispatch');
      assert.deepEqual(
        dispatches.map((event) => event.strategy),
        ['inline', ...Array<string>(LINKS - 1).fill(strategy)],
      );
    }
    for (const each of found) assert.deepEqual(each, found[0]);
    const device = await registry.open(`amdgpu?target=${target}&waits=defer&queues=3`);
    assert.deepEqual(await pingPong(device, target), found[0]);
  });
}

/** What becomes of operations. */
const outcomesOf = (all: readonly PromiseLike<unknown>[]): Promise<string[]> =>
  Promise.all(
    all.map((each) =>
      each.then(
        () => 'complete',
        (error: unknown) => {
          assert.ok(error instanceof HalError);
          const labels = error.chain.map((link) => (link instanceof HalError ? link.operation?.label : link.name));
          return labels.join(' <- ');
        },
      ),
    ),
  );

for (const waits of ['barrier-value', 'barrier', 'defer']) {
  for (const rings of RINGS) {
    test(`waits=${waits}${rings}: who waits for what fails, fails with its chain, and all others run once`, async () => {
      using registry = createRegistry();
      const device = await registry.open(`amdgpu?queues=3&waits=${waits}${rings}`);
      using code = device.load(conformanceCode('gfx90a'));
      using total = device.allocate(4);
      const [first, second, third] = device.queues as [(typeof device.queues)[0], ...typeof device.queues];
      const count = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
      const before = first!.dispatch({ ...count, label: 'before' });
      const bad = first!.dispatch({ entry: code.lookup('store_at'), groups: 1, constants: [0, 0], label: 'bad' });
      const survivor = first!.dispatch({ ...count, label: 'survivor' });
      const early = second!.dispatch({ ...count, waits: [before] });
      const far = second!.dispatch({ ...count, waits: [bad], label: 'far' });
      const behind = second!.dispatch({ ...count, label: 'behind' });
      const later = second!.dispatch({ ...count, waits: [survivor, behind] });
      const farther = third!.dispatch({ ...count, waits: [far, survivor], label: 'farther' });
      const back = first!.dispatch({ ...count, waits: [farther], label: 'back' });
      const near = first!.dispatch({ ...count, waits: [bad], label: 'near' });
      const end = third!.dispatch({ ...count, waits: [later, early] });
      const all = [before, bad, survivor, early, far, behind, later, farther, back, near, end];
      const expected = Array<string>(all.length).fill('complete');
      expected[1] = 'bad <- HsaError';
      expected[4] = 'far <- bad <- HsaError';
      expected[7] = 'farther <- far <- bad <- HsaError';
      expected[8] = 'back <- farther <- far <- bad <- HsaError';
      expected[9] = 'near <- bad <- HsaError';
      assert.deepEqual(await outcomesOf(all), expected);
      const completeCount = expected.filter((each) => each === 'complete').length;
      assert.deepEqual(await integersOf(device, total), [completeCount]);
      assert.deepEqual(device.pendingCounts, { waiting: 0, running: 0 });
    });
  }
}

test('barriers, programs and transfers by kernels wait on the device, too', async () => {
  for (const [waits, ring] of [
    ['barrier-value', 4096],
    ['barrier', 4096],
    ['barrier', 2],
  ] as const) {
    using registry = createRegistry();
    const device = await registry.open(`amdgpu?waits=${waits}&ring=${ring}&transfers=kernels`);
    using code = device.load(conformanceCode('gfx90a'));
    using data = device.allocate(64);
    const [one, other] = [device.queue(0), device.queue(1)];
    const count = { entry: code.lookup('count_workgroups'), groups: 1 };
    using program = device.record({ slots: ['total'] }, (commands) => {
      for (let i = 0; i < 3; i++) commands.dispatch({ ...count, bindings: [{ slot: 'total' }] }).barrier();
    });
    const bindings = { total: data.subspan(0, 4) };
    const begun = one.dispatch({ ...count, bindings: [bindings.total] });
    const run = other.execute({ commands: program, bindings, waits: [begun] });
    const barrier = one.barrier({ waits: [run] });
    const empty = other.dispatch({ ...count, groups: 0, bindings: [bindings.total], waits: [barrier] });
    const fill = other.fill({ target: data.subspan(4, 4), pattern: Uint8Array.of(7), waits: [empty] });
    const copy = one.copy({ source: data.subspan(0, 8), target: data.subspan(8, 8), waits: [fill] });
    const update = other.update({ target: data.subspan(0, 4), contents: Uint8Array.of(9, 0, 0, 0), waits: [copy] });
    await update;
    assert.deepEqual(
      await integersOf(device, data, [update]).then((all) => all.slice(0, 4)),
      [9, 0x07070707, 4, 0x07070707],
    );
    const { defer, packets, inline } = taken(device);
    // In a small ring some sources are over before there is room for who waits for them.
    if (ring > 2) assert.deepEqual([defer, packets, inline], [0, 5, 2], `waits=${waits}`);
  }
});

test('what a queue waited for already needs no packets', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu?queues=3');
  using code = device.load(conformanceCode('gfx90a'));
  using total = device.allocate(4);
  const count = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
  const [one, other, third] = [0, 1, 2].map((i) => device.queue(i));
  const first = [1, 2, 3].map(() => one!.dispatch(count));
  const second = other!.dispatch({ ...count, waits: [first[2]!] });
  const again = other!.dispatch({ ...count, waits: first });
  // Behind the second queue it is behind the first one, too.
  const last = third!.dispatch({ ...count, waits: [second] });
  const after = third!.dispatch({ ...count, waits: [...first, second] });
  for (const each of [again, last, after]) await each;
  // When their turn came, `again` and `after` had nothing left to wait for.
  const { packets, 'barrier-value': values } = taken(device);
  assert.deepEqual([packets, values], [2, 4]);
});

test('queues of several GPUs, and of several devices, leave waits to the host', async () => {
  using registry = createRegistry(2);
  const both = await registry.open('amdgpu');
  const single = await registry.open('amdgpu:0');
  using code = both.load(conformanceCode('gfx90a'));
  using total = both.allocate(4);
  const entry = code.lookup('count_workgroups');
  const first = both.queue(0).dispatch({ entry, groups: 1, bindings: [total] });
  const far = both.queuesOf(1)[0]!.barrier({ waits: [first] });
  await single.queue().barrier({ waits: [first, far] });
  assert.deepEqual([far.state, taken(both).defer, taken(single).defer], ['complete', 1, 1]);
});

test('what a processor has not is refused by name', async () => {
  using registry = createRegistry();
  const refused = { status: 'INCOMPATIBLE', message: /waits=barrier-value: gfx1100 has no such packets/ };
  await assert.rejects(registry.open('amdgpu?target=gfx1100&waits=barrier-value'), refused);
  await assert.rejects(registry.open('amdgpu?waits=never'), {
    message: /expected auto, barrier-value, barrier, defer/,
  });
  const processors = ['gfx908', 'gfx90a', 'gfx942', 'gfx950', 'gfx1030', 'gfx1100', 'gfx1101', 'gfx1201'];
  assert.deepEqual(
    processors.map((each) => crossQueueStrategy('auto', each)),
    ['defer', 'barrier-value', 'barrier-value', 'barrier-value', 'defer', 'barrier', 'defer', 'defer'],
  );
});
