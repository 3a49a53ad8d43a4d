/** Pools under queues of every driver: whose memory it is, and when the next one has it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededIntegers } from '../core/random.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { PoolOptions } from '../memory/pools/pool-shape.ts';
import { failureOf } from './cts.test-support.ts';
import { contentsOf } from './readback.test-support.ts';
import { createRegistry, onSubjects } from './subject.test-support.ts';

const KINDS: readonly PoolOptions[] = [
  { kind: 'pass-through', maxBytes: 4096 },
  { kind: 'tlsf', slabBytes: 2048, maxBytes: 4096 },
  { kind: 'fixed-block', blockBytes: 600, blockCount: 4 },
];

/** A pool of one block, and the buffer that has it. */
async function fullPool(device: LogicalDevice) {
  const pool = device.createPool({ kind: 'fixed-block', blockBytes: 256, blockCount: 1, label: 'one' });
  const buffer = await device.queue(0).alloca({ pool, sizeBytes: 256 });
  return { pool, buffer };
}

for (const options of KINDS) {
  onSubjects(`${options.kind}: buffers of a pool are buffers`, async ({ device, load }) => {
    const before = device.allocator.statistics;
    using code = load();
    const pool = device.createPool(options);
    const [first, second] = [device.queue(0), device.queue(1)];
    const [a, b] = await Promise.all([first, second].map((queue) => queue.alloca({ pool, sizeBytes: 100 })));
    await first.fill({ target: b!, pattern: Uint8Array.of(9) });
    await second.update({ target: a!, contents: Int32Array.of(1, 2, 3, 4) });
    await first.dispatch({ entry: code.lookup('write_constants'), groups: 1, constants: [5, 6, 7, 8], bindings: [a!] });
    const isRun = device.physicalDevices[0]!.executes;
    const contents = new Int32Array((await contentsOf(device, a!)).buffer, 0, 4);
    assert.deepEqual([...contents], isRun ? [5, 6, 7, 8] : [1, 2, 3, 4]);
    assert.deepEqual(new Set(await contentsOf(device, b!)), new Set([9]));
    await second.dealloca({ buffer: a! });
    assert.equal(a!.state, 'released');
    b![Symbol.dispose]();
    const { reserveCount, releaseCount, reservedBytes } = pool.statistics;
    assert.deepEqual([reserveCount, releaseCount, reservedBytes], [2, 2, 0]);
    assert.equal(device.trim(), pool.kind === 'pass-through' ? 0 : options.kind === 'tlsf' ? 2048 : 768 * 4);
    assert.deepEqual([device.allocator.statistics.liveBytes, device.trim()], [before.liveBytes, 0]);
  });

  for (const seed of [1, 2, 3]) {
    onSubjects(
      `${options.kind}: random programs keep their bytes, seed ${seed}`,
      async ({ device }) => storm(device, options, seed),
      {
        parameters: `seed=${seed}`,
      },
    );
  }
}

/** More buffers than fit, on all queues at once: each has its own bytes from its fill to its dealloca. */
async function storm(device: LogicalDevice, options: PoolOptions, seed: number): Promise<void> {
  const random = seededIntegers(seed);
  const before = device.allocator.statistics.liveBytes;
  const pool = device.createPool(options);
  const queue = () => device.queue(random(device.queues.length));
  const flags = 'allow-pool-wait-frontier';
  const results = Array.from({ length: 60 }, async (_, i) => {
    const sizeBytes = 1 + random(600);
    using copy = device.allocate(sizeBytes);
    const alloca = queue().alloca({ pool, sizeBytes, flags });
    const fill = queue().fill({ target: alloca.result, pattern: Uint8Array.of(i), waits: [alloca] });
    const between = queue().barrier({ waits: [fill] });
    const out = queue().copy({ source: alloca.result, target: copy, waits: [between] });
    const end = queue().dealloca({ buffer: alloca.result, waits: [out] });
    await end;
    const wrong = (await contentsOf(device, copy)).findIndex((byte) => byte !== i);
    assert.equal(wrong, -1, `seed ${seed}: buffer ${i}`);
  });
  await Promise.all(results);
  const statistics = pool.statistics;
  assert.deepEqual([statistics.reserveCount, statistics.releaseCount, statistics.parkedCount], [60, 60, 0]);
  assert.ok(statistics.exhaustedCount + statistics.overBudgetCount > 0, 'the pool was full at times');
  assert.ok(statistics.waitCount > 0);
  assert.ok(statistics.peakReservedBytes <= 4096);
  assert.equal(statistics.reuseCount > 0, options.kind !== 'pass-through');
  pool[Symbol.dispose]();
  assert.equal(device.allocator.statistics.liveBytes, before);
}

onSubjects('memory that is about to come back is waited for with a flag, and refused without', async ({ device }) => {
  const { pool, buffer } = await fullPool(device);
  const gate = device.createSemaphore({ label: 'gate' });
  const other = device.queue(1);
  const dealloca = device.queue(0).dealloca({ buffer, waits: [gate.at(1)] });
  const refused = await failureOf(other.alloca({ pool, sizeBytes: 1 }));
  assert.equal(refused.status, 'RESOURCE_EXHAUSTED');
  assert.match(refused.message, /1 bytes of 'one', which has given 256 of 256; 1 buffers are about to be given back/);
  const waiting = other.alloca({ pool, sizeBytes: 1, flags: 'allow-pool-wait-frontier' });
  await other.barrier();
  assert.equal(waiting.state, 'running');
  assert.equal(buffer.state, 'deallocating');
  gate.signal(1);
  const next = await waiting;
  assert.equal(dealloca.state, 'complete');
  await other.fill({ target: next, pattern: Uint8Array.of(1) });
  assert.deepEqual([...(await contentsOf(device, next))], [1]);
  const { waitCount, reuseCount, exhaustedCount } = pool.statistics;
  assert.deepEqual([waitCount, reuseCount, exhaustedCount], [1, 1, 2]);
});

onSubjects('a dealloca that does not happen gives no memory', async ({ device }) => {
  const { pool, buffer } = await fullPool(device);
  const abort = new AbortController();
  const never = device.createSemaphore();
  const dealloca = device.queue().dealloca({ buffer, waits: [never.at(1)], abort: abort.signal });
  abort.abort(new Error('stop'));
  assert.equal((await failureOf(dealloca)).status, 'CANCELLED');
  // Nothing is about to come back now, so that the next one waits.
  const next = device.queue(1).alloca({ pool, sizeBytes: 1 });
  await device.queue(1).barrier();
  assert.equal(next.state, 'running');
  await device.queue().fill({ target: buffer, pattern: Uint8Array.of(1) });
  await device.queue().dealloca({ buffer });
  assert.equal((await next).state, 'committed');
});

onSubjects('a full pool parks requests until memory comes back, and says so', async ({ device }) => {
  const { pool, buffer } = await fullPool(device);
  const done = device.createSemaphore();
  const next = device.queue(1).alloca({ pool, sizeBytes: 256, signals: [done.at(1)] });
  assert.throws(() => done.waitSync(1), {
    status: 'FAILED_PRECONDITION',
    message: /would never end: no device has work: alloca .* waits for memory of 'one'$/m,
  });
  assert.deepEqual(
    device.explainStall().operations.map(({ operation, blockers }) => [operation.kind, ...blockers]),
    [['alloca', { kind: 'host', what: "memory of 'one'" }]],
  );
  assert.deepEqual([pool.statistics.exhaustedCount, pool.statistics.parkedCount, done.value], [1, 1, 0]);
  buffer[Symbol.dispose]();
  done.waitSync(1);
  assert.equal(next.result.state, 'committed');
  assert.deepEqual(device.explainStall().operations, []);
});

onSubjects('what waits for memory is cancelled: by its signal, by its pool, by its device', async ({ device }) => {
  const { pool, buffer } = await fullPool(device);
  const abort = new AbortController();
  const alloca = (signal?: AbortSignal) =>
    device.queue(1).alloca({ pool, sizeBytes: 1, ...(signal && { abort: signal }) });
  const [first, second] = [alloca(abort.signal), alloca()];
  await device.queue().barrier();
  abort.abort(new Error('no more'));
  const aborted = await failureOf(first);
  assert.deepEqual([aborted.status, aborted.operation?.kind], ['CANCELLED', 'alloca']);
  assert.match(aborted.message, /no more/);
  assert.equal(second.state, 'running');
  pool[Symbol.dispose]();
  assert.match((await failureOf(second)).message, /'one' is disposed/);
  assert.throws(alloca, { status: 'INVALID_ARGUMENT', message: /'one' is disposed/ });
  // What is in use stays until it is given back.
  await device.queue().fill({ target: buffer, pattern: Uint8Array.of(3) });
  await device.queue().dealloca({ buffer });
  assert.equal(pool.statistics.committedBytes, 0);
  const last = await fullPool(device);
  const third = device.queue().alloca({ pool: last.pool, sizeBytes: 1 });
  await device.queue().barrier();
  await device[Symbol.asyncDispose]();
  assert.equal((await failureOf(third)).status, 'CANCELLED');
});

onSubjects('TLSF takes another slab rather than waiting, up to its budget', async ({ device }) => {
  using pool = device.createPool({ kind: 'tlsf', slabBytes: 1024, maxBytes: 2048 });
  const gate = device.createSemaphore();
  const first = await device.queue().alloca({ pool, sizeBytes: 1024 });
  device.queue().dealloca({ buffer: first, waits: [gate.at(1)] });
  await device.queue(1).alloca({ pool, sizeBytes: 1024 });
  assert.deepEqual([pool.statistics.slabCount, pool.statistics.waitCount], [2, 0]);
  assert.equal((await failureOf(device.queue(1).alloca({ pool, sizeBytes: 1 }))).status, 'RESOURCE_EXHAUSTED');
  assert.equal(pool.statistics.overBudgetCount, 1);
  for (const sizeBytes of [1025, 2 ** 31, 2 ** 32 - 1]) {
    assert.throws(() => device.queue().alloca({ pool, sizeBytes }), { status: 'RESOURCE_EXHAUSTED' });
  }
  assert.throws(() => device.queue().alloca({ pool, sizeBytes: 0 }), { status: 'INVALID_ARGUMENT' });
  gate.signal(1);
});

onSubjects('memory that an operation has in its hands is nobody else’s until it is over', async ({ device }) => {
  const { pool, buffer } = await fullPool(device);
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const file = {
    sizeBytes: 256,
    read: async (_offset: number, bytes: Uint8Array) => {
      await opened;
      bytes.fill(7);
      return bytes.length;
    },
    write: () => assert.fail(),
  };
  const read = device.queue().read({ file, target: buffer });
  await device.queue().barrier();
  // It does not wait for the read, which is the program's mistake.
  await device.queue().dealloca({ buffer });
  assert.equal(buffer.state, 'released');
  const next = device.queue(1).alloca({ pool, sizeBytes: 256 });
  await device.queue(1).barrier();
  assert.equal(next.state, 'running');
  open();
  await read;
  assert.equal((await next).state, 'committed');
});

onSubjects('memory that is mapped is nobody else’s until the mapping ends', async ({ device }) => {
  const params = { memoryType: 'host-local', usage: ['default', 'mapping'] } as const;
  using pool = device.createPool({ kind: 'fixed-block', blockBytes: 64, blockCount: 1, ...params });
  const buffer = await device.queue().alloca({ pool, sizeBytes: 64, ...params });
  const mapping = buffer.map('write');
  await device.queue().dealloca({ buffer });
  const next = device.queue().alloca({ pool, sizeBytes: 64, ...params });
  await device.queue().barrier();
  assert.equal(next.state, 'running');
  mapping[Symbol.dispose]();
  (await next).write(Uint8Array.of(1, 2));
  assert.deepEqual([...next.result.read({ sizeBytes: 2 })], [1, 2]);
});

test('pools belong to one device', async () => {
  using registry = createRegistry();
  const [here, there] = [await registry.open('local'), await registry.open('null')];
  const pool = here.createPool({ kind: 'tlsf' });
  assert.throws(() => there.queue().alloca({ pool, sizeBytes: 1 }), {
    status: 'INVALID_ARGUMENT',
    message: /'tlsf pool' belongs to another device/,
  });
});
