/**
 * The HAL on the native device, whose library is the one of our own: everything but what kernels compute, and
 * afterwards all memory and all queues were given back to it.
 */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { startDevice } from '../../src/devices/hsa-native/index.ts';
import { HsaLibrary } from '../../src/devices/hsa-native/library.ts';
import { amdgpuDriver, uuidOf } from '../../src/hal/amdgpu/index.ts';
import { runSuite } from '../../src/hal/conformance/cts-run.test-support.ts';
import { conformanceCode, type Subject } from '../../src/hal/conformance/subject.test-support.ts';
import { DriverRegistry } from '../../src/hal/devices/driver.ts';
import { buildHsaMock } from './hsa-mock/build.ts';
import { MockLibraries } from './mock-library.ts';

const mock = buildHsaMock(new MockLibraries());
const library = await HsaLibrary.open({ path: mock });
const inspector = new library.ffi.DynamicLibrary(mock).getFunctions({
  hsa_mock_calls: { arguments: [], return: 'pointer' },
  hsa_mock_allocations: { arguments: [], return: 'uint64' },
});
/** What was called, in its order; the library keeps 64 KiB of it between two questions. */
const calls: string[] = [];
const collect = (): void => void calls.push(...library.ffi.toString(inspector.hsa_mock_calls())!.split('\n'));

const subject: Subject = {
  name: 'mock of hsa:0',
  uri: 'amdgpu://0',
  tags: ['code-objects', 'native'],
  code: () => conformanceCode('gfx90a'),
};
const createRegistry = (): DriverRegistry => {
  const source = { uuid: uuidOf('mock'), name: 'mock', open: () => startDevice(library, 0) };
  return new DriverRegistry(amdgpuDriver({ list: () => [source] }));
};

beforeEach(() => collect());
for (const axis of [
  { name: '' },
  { name: 'by slots', isIndirect: true, groups: /^(?:CommandBuffer|Dispatch|Transient)/ },
]) {
  runSuite(subject, axis, createRegistry());
}

test('dispatches reach the library, and results come back', async () => {
  collect();
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  using code = device.load(conformanceCode('gfx90a'));
  const host = { memoryType: 'host-local', usage: ['default', 'mapping'] } as const;
  using output = device.allocate(16, host);
  // The library stores to the first argument: the second one, plus the number of the work-item.
  const dispatch = { entry: code.lookup('write_constants'), groups: 4, constants: [40, 0, 0, 0], bindings: [output] };
  const one = device.createSemaphore();
  device.queue().dispatch({ ...dispatch, waits: [one.at(1)], signals: [one.at(2)] });
  device.queue(1).barrier({ signals: [one.at(1)] });
  await one.at(2);
  assert.deepEqual([...new Uint32Array(output.read().buffer)], [40, 41, 42, 43]);
});

// Behind the hooks of the suites, which close their devices.
after(() => {
  collect();
  const count = (name: string): number => calls.filter((each) => each === name).length;
  assert.equal(inspector.hsa_mock_allocations(), 0n, 'all memory was given back');
  assert.ok(count('queue_create') > 0);
  assert.equal(count('queue_create'), count('queue_destroy'));
  assert.equal(count('init'), count('shut_down'));
});
