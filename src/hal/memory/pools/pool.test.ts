/** Pools of memory that is addresses only: sizes of any order, against what was given out before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUFFER_USAGE, MEMORY_TYPES } from '../../core/flags.ts';
import { seededIntegers } from '../../core/random.ts';
import { HalError } from '../../core/status.ts';
import { HalAllocator, type StorageRequest } from '../allocator.ts';
import { resolveParams } from '../buffer-params.ts';
import type { BufferStorage } from '../storage.ts';
import { HalPool, type PoolOwner } from './pool.ts';
import type { PoolOptions } from './pool-shape.ts';

const HEAP = {
  memoryType: MEMORY_TYPES.set(['optimal', 'device-local']),
  usage: BUFFER_USAGE.set(['default', 'concurrent']),
  maxAllocationBytes: 2 ** 40,
  minAlignmentBytes: 64,
  isSlow: false,
};
const TOTAL_BYTES = 2 ** 44;

/** A device without bytes. `turn` runs what was posted. */
function createWorld() {
  let next = 2 ** 20;
  let liveBytes = 0;
  const posted: (() => void)[] = [];
  const allocate = ({ sizeBytes, alignmentBytes }: StorageRequest): BufferStorage => {
    if (liveBytes + sizeBytes > TOTAL_BYTES) throw new HalError('RESOURCE_EXHAUSTED', 'the device is full');
    const address = Math.ceil(next / alignmentBytes) * alignmentBytes;
    next = address + sizeBytes;
    liveBytes += sizeBytes;
    return { sizeBytes, address: BigInt(address), bytes: () => assert.fail(), free: () => (liveBytes -= sizeBytes) };
  };
  const device = {};
  const allocator = new HalAllocator(device, {
    heaps: [HEAP],
    physicalDevices: [{}],
    allocate,
    imports: [],
    importMemory: () => assert.fail(),
  });
  const owner: PoolOwner = { device, allocator, post: (callback) => posted.push(callback), forget: () => {} };
  const turn = (): void => {
    for (const callback of posted.splice(0)) callback();
  };
  return { create: (options: PoolOptions) => new HalPool(owner, options), turn, liveBytes: () => liveBytes };
}

type World = ReturnType<typeof createWorld>;

interface Given {
  readonly storage: BufferStorage;
  readonly start: number;
  readonly end: number;
}

const operation = { id: 1, kind: 'alloca', queue: 'test' };

/** Takes and gives at random; parked requests are part of it. Returns what was parked at most. */
function exercise(world: World, pool: HalPool, maxRequest: number, seed: number): number {
  const random = seededIntegers(seed);
  const alignment = pool.heap.minAlignmentBytes;
  const given: Given[] = [];
  let mostParked = 0;
  const settle = (sizeBytes: number) => (storage: BufferStorage | HalError) => {
    assert.ok(!(storage instanceof HalError), String(storage));
    const start = Number(storage.address!);
    const end = start + sizeBytes;
    assert.equal(storage.sizeBytes, sizeBytes);
    assert.equal(start % alignment, 0);
    for (const other of given) assert.ok(end <= other.start || other.end <= start, `seed ${seed}: no overlap`);
    given.push({ storage, start, end });
  };
  const give = (): void => {
    const [{ storage }] = given.splice(random(given.length), 1) as [Given];
    storage.free();
  };
  const borders = [1, 255, 256, 257, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 257, 2 ** 32 - 1, maxRequest];
  for (let step = 0; step < 600; step++) {
    if (random(100) < (step % 200 < 100 ? 70 : 30) || given.length === 0) {
      const sizeBytes = Math.min(random(2) === 0 ? borders[random(borders.length)]! : 1 + random(2 ** 31), maxRequest);
      pool.plan(resolveParams(), sizeBytes);
      pool.reserve({ sizeBytes, operation, mayWait: true, abort: undefined }, settle(sizeBytes));
    } else give();
    if (random(4) === 0) world.turn();
    if (random(50) === 0) pool.trim();
    const { committedBytes, budgetBytes, reservationCount, reservedBytes, freeBytes, parkedCount } = pool.statistics;
    mostParked = Math.max(mostParked, parkedCount);
    assert.ok(committedBytes <= budgetBytes);
    assert.equal(world.liveBytes(), committedBytes);
    assert.equal(reservedBytes + freeBytes, committedBytes);
    assert.equal(reservationCount, given.length);
  }
  for (world.turn(); given.length > 0; world.turn()) give();
  return mostParked;
}

const KINDS: readonly (readonly [PoolOptions, number])[] = [
  [{ kind: 'pass-through', maxBytes: 2 ** 34 }, 2 ** 34],
  [{ kind: 'pass-through' }, 2 ** 32],
  [{ kind: 'tlsf', slabBytes: 2 ** 32, maxBytes: 2 ** 34 }, 2 ** 32],
  [{ kind: 'tlsf', slabBytes: 2 ** 31, minAlignmentBytes: 2 ** 16 }, 2 ** 31],
  [{ kind: 'tlsf', maxBytes: 2 ** 25 }, 2 ** 24],
  [{ kind: 'fixed-block', blockBytes: 2 ** 32 - 1, blockCount: 7 }, 2 ** 32],
  [{ kind: 'fixed-block', blockBytes: 1, blockCount: 1 }, 256],
];

for (const [options, maxRequest] of KINDS) {
  test(`${JSON.stringify(options)}: nothing overlaps, everything comes back`, () => {
    for (let seed = 1; seed <= 5; seed++) {
      const world = createWorld();
      const pool = world.create(options);
      const mostParked = exercise(world, pool, maxRequest, seed);
      const isBounded = options.maxBytes !== undefined || options.kind === 'fixed-block';
      assert.equal(mostParked > 0, isBounded);
      const { reservedBytes, parkedCount, reserveCount, releaseCount, freshCount, reuseCount } = pool.statistics;
      assert.deepEqual([reservedBytes, parkedCount, reserveCount - releaseCount], [0, 0, 0]);
      assert.equal(freshCount + reuseCount, reserveCount);
      assert.equal(reuseCount > 0, options.kind !== 'pass-through');
      pool.trim();
      assert.equal(world.liveBytes(), 0);
    }
  });
}

test('what does not go together is refused by name', () => {
  const { create } = createWorld();
  const refused = (options: unknown, message: RegExp) =>
    assert.throws(() => create(options as PoolOptions), { status: 'INVALID_ARGUMENT', message });
  refused({ kind: 'heap' }, /no pool of kind 'heap'/);
  refused({ kind: 'tlsf', slabBytes: 0 }, /slabBytes of a pool is 0/);
  refused({ kind: 'tlsf', slabBytes: 1.5 }, /slabBytes of a pool is 1.5/);
  refused({ kind: 'tlsf', slabBytes: 2 ** 41, minAlignmentBytes: 4096 }, /takes 2199023255552 bytes at once/);
  refused({ kind: 'tlsf', slabBytes: 2 ** 40, minAlignmentBytes: 1 }, /expected at most 4294967295 times 64/);
  refused({ kind: 'tlsf', slabBytes: 512, maxBytes: 511 }, /takes 512 bytes at once, with a budget of 511/);
  refused({ kind: 'pass-through', maxBytes: 255 }, /takes 256 bytes at once/);
  refused({ kind: 'fixed-block', blockBytes: 256 }, /blockCount of a pool is undefined/);
  refused({ kind: 'fixed-block', blockBytes: 2 ** 32, blockCount: 2 ** 10 }, /takes 4398046511104 bytes at once/);
  refused({ kind: 'tlsf', usage: 'mapping' }, /no memory of type/);
  refused({ kind: 'tlsf', minAlignmentBytes: 3 }, /power of two/);
  const pool = create({ kind: 'tlsf', slabBytes: 4096, label: 'small' });
  const planned = (params: object, sizeBytes: number) => () => pool.plan(resolveParams(params), sizeBytes);
  assert.throws(planned({}, 4097), { status: 'RESOURCE_EXHAUSTED', message: /of 'small' gives 4096 at most/ });
  assert.throws(planned({}, 2 ** 32 - 1), { status: 'RESOURCE_EXHAUSTED' });
  assert.throws(planned({ minAlignmentBytes: 512 }, 1), {
    status: 'INVALID_ARGUMENT',
    message: /'small', which has 256/,
  });
  assert.throws(planned({ usage: 'concurrent' }, 1), { status: 'INVALID_ARGUMENT', message: /'small' has no memory/ });
});

test('a device without memory fails the request and leaves the pool as it was', () => {
  const world = createWorld();
  const pool = world.create({ kind: 'pass-through' });
  const results: (BufferStorage | HalError)[] = [];
  const request = { sizeBytes: 2 ** 40, operation, mayWait: true, abort: undefined };
  for (let i = 0; i < 17; i++) pool.reserve(request, (result) => results.push(result));
  const last = results.at(-1);
  assert.ok(last instanceof HalError && last.status === 'RESOURCE_EXHAUSTED');
  assert.equal(pool.statistics.reservationCount, 16);
  for (const result of results) if (!(result instanceof HalError)) result.free();
  assert.deepEqual([pool.statistics.committedBytes, world.liveBytes()], [0, 0]);
});
