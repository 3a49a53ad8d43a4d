/** Who freed memory, as a fault names it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';

test('of memory that the host freed the line is known, of memory that the program of the GPU freed there is none', () => {
  using runtime = createRuntime({ devices: [new FakeDevice(2 ** 22)] });
  const pool = runtime.gpuAgents[0]!.pool('coarse-grained');
  const freedBy = (options?: { isByHost: boolean }): string | undefined => {
    const address = pool.allocate(4096);
    const allocation = { address, sizeBytes: 4096, label: 'test' };
    pool.free(address, options);
    return pool.allocations.freedBy(allocation);
  };
  assert.match(freedBy()!, /memory-pool\.test\.ts/);
  assert.equal(freedBy({ isByHost: false }), undefined);
});
