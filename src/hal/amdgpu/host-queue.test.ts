/** Queues of GPUs: full rings, and what becomes of operations behind a fault. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { integersOf } from '../conformance/readback.test-support.ts';
import { conformanceCode, createRegistry } from '../conformance/subject.test-support.ts';
import { HalError } from '../core/status.ts';

const COUNT = 200;

/** Packets, notifications, blocks of arguments: each is too small for what is submitted somewhere. */
for (const rings of ['ring=1', 'ring=4&notifications=2&kernargs=8', 'notifications=1', 'kernargs=5', '']) {
  test(`${COUNT} dispatches go through rings of ${rings || 'the usual sizes'}`, async () => {
    using registry = createRegistry();
    const device = await registry.open(`amdgpu?${rings}`);
    using code = device.load(conformanceCode('gfx90a'));
    using total = device.allocate(4);
    const entry = code.lookup('count_workgroups');
    const all = Array.from({ length: COUNT }, () => device.queue().dispatch({ entry, groups: 3, bindings: [total] }));
    device.progress();
    assert.equal(all.at(-1)!.state, 'running', 'the driver has all of them');
    await device.queue(1).barrier({ waits: all });
    assert.deepEqual(await integersOf(device, total), [3 * COUNT]);
    assert.equal(device.allocator.statistics.liveCount, 1);
  });
}

test('a fault fails its operation, and nothing that does not wait for it', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu?ring=4');
  using code = device.load(conformanceCode('gfx90a'));
  using total = device.allocate(4);
  const [queue, other] = [device.queue(0), device.queue(1)];
  const counts = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
  const fault = { entry: code.lookup('store_at'), groups: 1, constants: [0, 0] };
  const before = queue.dispatch(counts);
  const bad = queue.dispatch(fault);
  const behind = queue.dispatch(counts);
  const elsewhere = other.dispatch(counts);
  const parked = Array.from({ length: 4 }, () => queue.dispatch(counts));
  const failures = await Promise.all(
    [before, bad, behind, elsewhere, ...parked].map((each) =>
      each.then(
        () => 'complete',
        (error: unknown) => (error instanceof HalError ? [error.status, error.origin.name] : error),
      ),
    ),
  );
  const all = Array<unknown>(failures.length).fill('complete').with(1, ['ABORTED', 'HsaError']);
  assert.deepEqual(failures, all);
  assert.deepEqual(await integersOf(device, total), [all.length - 1], 'each ran once');
});

test('arguments that no ring of blocks holds fail their dispatch by name', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu?kernargs=1');
  using code = device.load(readFileSync(path.resolve(import.meta.dirname, '../../../examples/kernels/vadd.gfx90a.co')));
  using numbers = device.allocate(256);
  const entry = code.lookup('vadd');
  const vadd = { entry, groups: 1, workgroupSize: 64, bindings: [numbers, numbers, numbers], constants: [64] };
  await assert.rejects(Promise.resolve(device.queue().dispatch(vadd)), {
    status: 'RESOURCE_EXHAUSTED',
    message: /bytes of arguments do not fit in a ring of 1 blocks of 64/,
  });
});

test('code for another GPU is refused with both names', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu?target=gfx942');
  assert.throws(() => device.load(conformanceCode('gfx90a'), { name: 'mine.co' }), {
    status: 'INCOMPATIBLE',
    message: /gfx90a.*gfx942|gfx942.*gfx90a/,
  });
  assert.throws(() => device.load(new Uint8Array(10)), { status: 'INVALID_ARGUMENT' });
  assert.throws(() => device.load('text'), { status: 'INVALID_ARGUMENT' });
});

test('devices by ordinal, UUID and list', async () => {
  using registry = createRegistry(2);
  const [first, second] = await registry.devices();
  const opened = await registry.open(second!.uri);
  assert.deepEqual([opened.name, opened.physicalDevices[0]!.uuid], [second!.uri, second!.uuid]);
  assert.equal((await registry.open('amdgpu:1')).name, second!.uri);
  assert.equal((await registry.open(`amdgpu://${first!.uuid},0`)).name, first!.uri);
  await assert.rejects(registry.open('amdgpu:2'), { status: 'INVALID_ARGUMENT', message: /there are 2 devices/ });
  await assert.rejects(registry.open('amdgpu?ring=3'), { status: 'INVALID_ARGUMENT', message: /a power of two/ });
});
