/** Logical devices of several emulated GPUs: where memory lies, who reaches it, and work spread over them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../device/device.ts';
import { contentsOf, integersOf } from '../conformance/readback.test-support.ts';
import { conformanceCode, createRegistry, testAgents } from '../conformance/subject.test-support.ts';
import { DriverRegistry } from '../devices/driver.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { ProfileEvent } from '../devices/profile-session.ts';
import { amdgpuDriver } from './index.ts';

const COUNT = 256;
const BYTES = 4 * COUNT;
const integers = (start: number): Int32Array => Int32Array.from({ length: COUNT }, (_, i) => start + i);

/** On each GPU `3 * i` for its share of integers, all collected in memory of the first GPU. */
async function spread(device: LogicalDevice): Promise<number[]> {
  using code = device.load(conformanceCode(device.physicalDevices[0]!.formats[1]!));
  const gpuCount = device.physicalDevices.length;
  using all = device.allocate(gpuCount * BYTES, { label: 'all' });
  const ends = device.physicalDevices.map((_, gpu) => {
    const timeline = device.createSemaphore({ label: `GPU ${gpu}` });
    const at = (value: number) => [timeline.at(value)];
    const [copies, compute] = device.queuesOf(gpu);
    const memory = copies!.alloca({ sizeBytes: BYTES });
    const input = memory.result;
    const output = compute!.alloca({ sizeBytes: BYTES, signals: at(1) }).result;
    const contents = integers(gpu * COUNT);
    copies!.update({ target: input, contents, waits: [memory, ...at(1)], signals: at(2) });
    const dispatch = { entry: code.lookup('mix'), groups: COUNT / 64, workgroupSize: 64, constants: [3, COUNT] };
    compute!.dispatch({ ...dispatch, bindings: [input, output], waits: at(2), signals: at(3) });
    // The first GPU's queue takes what another GPU made.
    const target = all.subspan(gpu * BYTES, BYTES);
    device.queue().copy({ source: output, target, waits: at(3), signals: at(4) });
    copies!.dealloca({ buffer: input, waits: at(4) });
    return copies!.dealloca({ buffer: output, waits: at(4) });
  });
  return integersOf(device, all, ends);
}

for (const target of ['gfx90a', 'gfx1100']) {
  for (const gpuCount of [2, 4]) {
    test(`${target}: work spread over ${gpuCount} GPUs gives right results`, {
      timeout: 20_000,
    }, async () => {
      await using registry = createRegistry(gpuCount);
      const expected = Array.from({ length: gpuCount * COUNT }, (_, i) => 3 * i);
      for (let seed = 0; seed < 4; seed++) {
        const device = await registry.open(`amdgpu?target=${target}&seed=${seed}`);
        assert.equal(device.queues.length, 2 * gpuCount);
        assert.deepEqual(await spread(device), expected, `seed ${seed}`);
        assert.equal(device.allocator.statistics.liveCount, 0);
        await device[Symbol.asyncDispose]();
      }
    });
  }
}

test('paths name GPUs in their order; the description has the links', async () => {
  using registry = createRegistry(3);
  const [first, second, third] = testAgents(3)
    .list('')
    .map(({ uuid }) => uuid);
  const uuidsOf = async (uri: string): Promise<string[]> =>
    (await registry.open(uri)).physicalDevices.map(({ uuid }) => uuid);
  assert.deepEqual(await uuidsOf('amdgpu://2,0'), [third, first]);
  assert.deepEqual(await uuidsOf(`amdgpu://${second},${first},1`), [second, first]);
  const device = await registry.open('amdgpu://1,2?queues=1');
  const { name, devices, links } = device.describe();
  assert.equal(name, `amdgpu://${second},${third}`);
  assert.deepEqual(
    devices.map(({ queues }) => queues),
    [[`${name}/queue:0`], [`${name}/queue:1`]],
  );
  const link = { linkClass: 'host-staged', isPeerAddressable: false };
  assert.deepEqual(links, [
    { from: 0, to: 1, ...link },
    { from: 1, to: 0, ...link },
  ]);
  assert.throws(() => device.queuesOf(2), { status: 'OUT_OF_RANGE', message: /physical device 2.* has 2/ });
  assert.throws(() => device.allocate(4, { deviceOrdinal: 2 }), { status: 'OUT_OF_RANGE' });
  assert.throws(() => device.queue().alloca({ sizeBytes: 4, deviceOrdinal: -1 }), { status: 'OUT_OF_RANGE' });
  const many = await registry.open('amdgpu?queues=40&ring=16');
  assert.equal(many.queues.length, 120);
  await many.queue(119).barrier({ waits: [many.queue(0).barrier()] });
  await assert.rejects(registry.open('amdgpu?queues=1025'), { status: 'INVALID_ARGUMENT', message: /queues=1025/ });
});

test('memory of another GPU is refused where a kernel would use it, with where it lies', async () => {
  using registry = createRegistry(2);
  const device = await registry.open('amdgpu');
  using code = device.load(conformanceCode('gfx90a'));
  const [near, far] = [device.queuesOf(0)[0]!, device.queuesOf(1)[0]!];
  using input = device.allocate(BYTES, { label: 'input' });
  using output = device.allocate(BYTES, { label: 'output', deviceOrdinal: 1 });
  using own = device.allocate(BYTES, { deviceOrdinal: 1 });
  const dispatch = { entry: code.lookup('scale_and_offset'), groups: 1, constants: [1, 1] };
  const refused = (label: string, at: number, from: number) => ({
    status: 'INVALID_ARGUMENT',
    message: RegExp(`'${label}' lies in the memory of physical device ${at} \\(GPU-.* device ${from} \\(GPU-`),
  });
  assert.throws(() => far.dispatch({ ...dispatch, bindings: [input, output] }), refused('input', 0, 1));
  assert.throws(() => near.dispatch({ ...dispatch, bindings: [input, output] }), refused('output', 1, 0));
  // Host-local memory is the GPU's, too, and an alloca has the place that it asks for before it has memory.
  using host = device.allocate(BYTES, { memoryType: 'host-local', label: 'host' });
  assert.throws(() => far.dispatch({ ...dispatch, bindings: [host, own] }), refused('host', 0, 1));
  const { result: later } = near.alloca({ sizeBytes: BYTES, deviceOrdinal: 1, label: 'later' });
  assert.throws(() => near.dispatch({ ...dispatch, bindings: [later, input] }), refused('later', 1, 0));

  using recorded = device.record({}, (commands) => commands.dispatch({ ...dispatch, bindings: [own, output] }));
  using outer = device.record({}, (commands) => commands.execute(recorded));
  for (const commands of [recorded, outer]) assert.throws(() => near.execute({ commands }), refused('output', 1, 0));
  await far.execute({ commands: outer });
  using slots = device.record({ slots: ['in', 'out'] }, (commands) => {
    commands.dispatch({ ...dispatch, bindings: [{ slot: 'in' }, { slot: 'out' }] });
  });
  const mixed = { commands: slots, bindings: { in: own, out: input } };
  assert.throws(() => far.execute(mixed), refused('input', 0, 1));
  assert.equal(slots.executions, 0);
  await far.execute({ ...mixed, bindings: { in: own, out: output } });
});

test('copies and group counts go from one GPU to another, also from command buffers', async () => {
  using registry = createRegistry(2);
  const device = await registry.open('amdgpu');
  using code = device.load(conformanceCode('gfx90a'));
  const queue = device.queuesOf(1)[0]!;
  const usage = ['default', 'dispatch-indirect-parameters'] as const;
  using counts = device.allocate(12, { usage });
  using ids = queue.alloca({ sizeBytes: 16 }).result;
  using back = device.allocate(16);
  const write = queue.update({ target: counts, contents: Int32Array.of(4, 1, 1) });
  await queue.barrier({ waits: [write] });
  using program = device.record({}, (commands) => {
    const entry = code.lookup('write_workgroup_ids');
    commands.dispatch({ entry, groups: { from: counts }, bindings: [ids] });
    commands.barrier().copy({ source: ids, target: back });
  });
  await queue.execute({ commands: program });
  assert.deepEqual(await integersOf(device, back), [0, 1, 2, 3]);
});

test('a kernel that faults ends what its GPU did in that queue; other GPUs go on', async () => {
  using registry = createRegistry(2);
  const device = await registry.open('amdgpu');
  using code = device.load(conformanceCode('gfx90a'));
  const [near, far] = [device.queuesOf(0)[0]!, device.queuesOf(1)[0]!];
  using small = device.allocate(4, { deviceOrdinal: 1 });
  using whole = device.allocate(BYTES);
  const entry = code.lookup('write_workgroup_ids');
  const lost = far.dispatch({ entry, groups: 2 ** 20, bindings: [small], label: 'too far' });
  await assert.rejects(async () => lost, /too far/);
  await near.dispatch({ entry, groups: COUNT, bindings: [whole] });
  assert.deepEqual(await integersOf(device, whole), [...integers(0)]);
  await far.dispatch({ entry, groups: 1, bindings: [small] });
});

test('semaphores order work of several logical devices', async () => {
  using registry = createRegistry(2);
  const [one, two] = [await registry.open('amdgpu://0'), await registry.open('amdgpu://1')];
  const timeline = one.createSemaphore({ label: 'across' });
  using a = one.allocate(4);
  using b = two.allocate(4, { memoryType: 'host-local', usage: ['transfer', 'mapping'] });
  const late = two.queue().fill({ target: b, pattern: Uint8Array.of(7), waits: [timeline.at(1)] });
  assert.throws(() => two.queue().copy({ source: a, target: b }), /belongs to another device/);
  await one.queue().fill({ target: a, pattern: Uint8Array.of(5), signals: [timeline.at(1)] });
  await late;
  assert.deepEqual([...b.read()], [7, 7, 7, 7]);
  assert.deepEqual([...(await contentsOf(one, a))], [5, 5, 5, 5]);
});

/** GPUs that are watched: those that are open, and the memory that they gave out. */
function watched(targets: readonly string[]) {
  const open = new Set<Device>();
  const addresses = new Set<bigint>();
  const watch = (device: Device): Device => {
    open.add(device);
    const { memory } = device;
    const [allocate, free, close] = [memory.allocate.bind(memory), memory.free.bind(memory), device.close.bind(device)];
    const kept: Pick<typeof memory, 'allocate' | 'free'> = {
      allocate: (...request) => {
        const address = allocate(...request);
        addresses.add(address);
        return address;
      },
      free: (address) => {
        free(address);
        addresses.delete(address);
      },
    };
    Object.assign(memory, kept);
    const closes = (): void => {
      open.delete(device);
      close();
    };
    return Object.assign(device, { close: closes });
  };
  const sources = targets.map((target, index) => testAgents(index + 1).list(target)[index]!);
  const list = () => sources.map((source) => ({ ...source, open: async () => watch(await source.open()) }));
  return { open, addresses, registry: new DriverRegistry(amdgpuDriver({ list })) };
}

test('all GPUs and all memory are given back', async () => {
  const { open, addresses, registry } = watched(['gfx90a', 'gfx90a']);
  const device = await registry.open('amdgpu');
  for (let i = 0; i < 3; i++) await spread(device);
  const kept = addresses.size;
  await spread(device);
  assert.deepEqual([open.size, addresses.size], [2, kept]);
  await device[Symbol.asyncDispose]();
  assert.deepEqual([open.size, addresses.size], [0, 0]);
});

test('a device that is closed while its GPUs work gives everything back and fails the work', async () => {
  const { open, addresses, registry } = watched(['gfx1100', 'gfx1100', 'gfx1100']);
  const device = await registry.open('amdgpu');
  const entry = device.load(conformanceCode('gfx1100')).lookup('write_workgroup_ids');
  const sizeBytes = 2 ** 20;
  const ends = device.physicalDevices.map((_, gpu) => {
    const [queue] = device.queuesOf(gpu);
    const memory = queue!.alloca({ sizeBytes });
    return queue!.dispatch({ entry, groups: sizeBytes / 4, bindings: [memory.result], waits: [memory] });
  });
  while (device.pendingCounts.running < ends.length) device.progress();
  device[Symbol.dispose]();
  for (const end of ends) await assert.rejects(async () => end, { status: 'CANCELLED' });
  assert.deepEqual([open.size, addresses.size], [0, 0]);
});

test('GPUs of several ISAs are no logical device, and none of them stays open', async () => {
  const { open, registry } = watched(['gfx90a', 'gfx90a', 'gfx1100']);
  await assert.rejects(registry.open('amdgpu'), {
    status: 'INCOMPATIBLE',
    message: /GPU-[\da-f]{16} is gfx90a.* and GPU-[\da-f]{16} is gfx1100$/,
  });
  assert.equal(open.size, 0);
  await using device = await registry.open('amdgpu://0,1');
  assert.equal(device.physicalDevices.length, 2);
});

test('several GPUs in one profile', async () => {
  using registry = createRegistry(2);
  const device = await registry.open('amdgpu?target=gfx90a');
  using code = device.load(conformanceCode('gfx90a'));
  const ordinals = [0, 1];
  const totals = ordinals.map((deviceOrdinal) => device.allocate(4, { deviceOrdinal }));
  const events: ProfileEvent[] = [];
  const names: string[] = [];
  const session = await device.profile({
    data: ['dispatch-events'],
    sink: {
      begin: ({ devices }) => void names.push(...devices.map(({ uuid }) => uuid)),
      write: (chunk) => {
        assert.equal(chunk.clocks.length, 2);
        events.push(...chunk.events);
      },
    },
  });
  const entry = code.lookup('count_workgroups');
  for (const ordinal of ordinals) {
    await device.queuesOf(ordinal)[0]!.dispatch({ entry, groups: 1, bindings: [totals[ordinal]!] });
  }
  await session.end();
  assert.deepEqual(
    names,
    device.physicalDevices.map(({ uuid }) => uuid),
  );
  assert.deepEqual(
    events.map((event) => event.data === 'dispatch-events' && event.deviceOrdinal),
    ordinals,
  );
  for (const total of totals) total[Symbol.dispose]();
});
