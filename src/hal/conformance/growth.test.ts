/**
 * What long programs keep: objects, memory of the process after garbage collection, memory of the GPU, at a
 * tenth, at half and at the end of the work. `WAVEWRIGHT_SCALE=full` does a million dispatches and a million
 * signals, counts all objects of the HAL, and prints what it found.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { IS_FULL_SCALE } from '../../../test/scale.ts';
import type { Device } from '../../device/device.ts';
import { amdgpuDriver } from '../amdgpu/index.ts';
import { CommandBuffer } from '../commands/command-buffer.ts';
import { Semaphore, Timepoint } from '../core/semaphore.ts';
import { HalError } from '../core/status.ts';
import { DriverRegistry } from '../devices/driver.ts';
import { LogicalDevice } from '../devices/logical-device.ts';
import { BufferAllocation } from '../memory/buffer.ts';
import { nullDriver } from '../null/index.ts';
import { Submission } from '../queues/submission.ts';
import { failureOf } from './cts.test-support.ts';
import { conformanceCode, testAgents } from './subject.test-support.ts';

const CLASSES = [BufferAllocation, CommandBuffer, HalError, LogicalDevice, Semaphore, Submission, Timepoint];
/** Operations that are submitted before the host waits for them. */
const BATCH = 250;
/** Code that V8 compiles, and its feedback, is memory of the process, too. */
const MAX_HEAP_GROWTH_BYTES = 2 ** 21;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** GPU memory that is given out, by address. */
const gpuMemory = new Map<bigint, number>();

/** Counts what a device gives out. */
function counted(device: Device): Device {
  const { memory } = device;
  const [allocate, free] = [memory.allocate.bind(memory), memory.free.bind(memory)];
  const watched: Pick<typeof memory, 'allocate' | 'free'> = {
    allocate: (sizeBytes, options) => {
      const address = allocate(sizeBytes, options);
      gpuMemory.set(address, sizeBytes);
      return address;
    },
    free: (address) => {
      free(address);
      gpuMemory.delete(address);
    },
  };
  Object.assign(memory, watched);
  return device;
}

function createRegistry(): DriverRegistry {
  const list = (target: string) =>
    testAgents()
      .list(target)
      .map((source) => ({ ...source, open: async () => counted(await source.open()) }));
  return new DriverRegistry(amdgpuDriver({ list }), nullDriver());
}

/** What programs were given. */
let given: WeakRef<object>[] = [];

/** Remembers something that must be gone when the program has let it go. */
function watch<T extends object>(object: T): T {
  given.push(new WeakRef(object));
  return object;
}

interface Usage {
  /** Of what programs were given; at full scale all objects of CLASSES. */
  readonly objectCount: number;
  readonly heapBytes: number;
  readonly gpuBytes: number;
}

async function usage(): Promise<Usage> {
  // What promises hold goes at the next turn.
  await new Promise((resolve) => setTimeout(resolve));
  collectGarbage();
  given = given.filter((each) => each.deref() !== undefined);
  // What `deref` gave lives until the next turn.
  await new Promise((resolve) => setTimeout(resolve));
  collectGarbage();
  const objects = IS_FULL_SCALE ? CLASSES.map((each) => queryObjects(each, { format: 'count' })) : [given.length];
  const objectCount = objects.reduce((sum, each) => sum + each, 0);
  const { heapUsed, external } = process.memoryUsage();
  const gpuBytes = [...gpuMemory.values()].reduce((sum, each) => sum + each, 0);
  return { objectCount, heapBytes: heapUsed + external, gpuBytes };
}

/** Runs work in parts of at most BATCH, and compares what is kept at its end with what was at a tenth. */
async function grows(context: TestContext, count: number, run: (first: number, count: number) => Promise<void>) {
  const marks = [count / 10, count / 2, count];
  assert.ok(marks[0]! >= BATCH || count < BATCH, 'a tenth has as many operations at once as the rest');
  const found: Usage[] = [];
  given = [];
  for (let done = 0; done < count; ) {
    const part = Math.min(BATCH, (marks[found.length] ?? count) - done);
    await run(done, part);
    done += part;
    if (done === marks[found.length]) found.push(await usage());
  }
  const [tenth, , end] = found as [Usage, Usage, Usage];
  if (IS_FULL_SCALE) {
    for (const key of ['objectCount', 'heapBytes', 'gpuBytes'] as const) {
      context.diagnostic(`${key}: ${found.map((each) => each[key]).join(', ')}`);
    }
  }
  assert.equal(end.objectCount, tenth.objectCount);
  assert.equal(end.gpuBytes, tenth.gpuBytes);
  const growth = end.heapBytes - tenth.heapBytes;
  assert.ok(growth <= MAX_HEAP_GROWTH_BYTES, `${growth} bytes more after ${count} than after ${count / 10}`);
}

const DISPATCHES = IS_FULL_SCALE ? 1_000_000 : 5000;
test(`${DISPATCHES} dispatches keep nothing`, async (context) => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  using code = device.load(conformanceCode('gfx90a'));
  using total = device.allocate(4, { memoryType: 'host-local', usage: ['default', 'mapping'] });
  const dispatch = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
  await grows(context, DISPATCHES, async (_, count) => {
    const waits = Array.from({ length: count }, (_, i) => watch(device.queue(i % 2).dispatch(dispatch)));
    await device.queue().barrier({ waits });
  });
  assert.deepEqual([...new Uint32Array(total.read().buffer)], [DISPATCHES]);
});

const SIGNALS = IS_FULL_SCALE ? 1_000_000 : 20_000;
test(`${SIGNALS} signals keep nothing, nor does who waited and gave up`, async (context) => {
  using registry = createRegistry();
  const device = await registry.open('null');
  const timeline = device.createSemaphore();
  const { signal: abort } = new AbortController();
  await grows(context, SIGNALS, async (first, count) => {
    const other = watch(device.createSemaphore());
    for (let i = 1; i <= count; i++) {
      const [waits, signals] = [[timeline.at(first + i - 1)], [timeline.at(first + i)]];
      watch(device.queue(i % 2).barrier({ waits, signals, abort }));
      if (i % 10 === 0) other.wait(i, { abort }).catch(() => {});
    }
    await assert.rejects(timeline.wait(first + count + 1, { timeoutMs: 0 }));
    await timeline.wait(first + count, { abort });
    other.signal(count);
  });
  assert.deepEqual([timeline.query(), timeline.waiterCount], [SIGNALS, 0]);
});

const EXECUTIONS = IS_FULL_SCALE ? 100_000 : 2500;
test(`${EXECUTIONS} executions of command buffers keep nothing`, async (context) => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu');
  using code = device.load(conformanceCode('gfx90a'));
  using total = device.allocate(8, { memoryType: 'host-local', usage: ['default', 'mapping'] });
  const dispatch = { entry: code.lookup('count_workgroups'), groups: 1 };
  const event = device.createEvent();
  using inner = device.record({ slots: 1 }, (commands) => commands.dispatch({ ...dispatch, bindings: [{ slot: 0 }] }));
  using program = device.record({ slots: ['total', 'mark'] }, (commands) =>
    commands
      .execute(inner, [{ slot: 'total' }])
      .setEvent(event)
      .waitEvents(event)
      .resetEvent(event)
      .fill({ target: { slot: 'mark' }, pattern: Uint8Array.of(1) }),
  );
  const bindings = { total: total.subspan(0, 4), mark: total.subspan(4) };
  await grows(context, EXECUTIONS, async (_, count) => {
    const waits = Array.from({ length: count }, () => watch(device.queue().execute({ commands: program, bindings })));
    await device.queue(1).barrier({ waits });
    using once = device.record({ mode: 'one-shot' }, (commands) => commands.fill({ target: total, pattern: EMPTY }));
    assert.equal(once.executions, 0);
  });
  assert.deepEqual([...new Uint32Array(total.read().buffer)], [EXECUTIONS, 0x01010101]);
});

const EMPTY = Uint8Array.of(0);
const FAILURES = IS_FULL_SCALE ? 100_000 : 2500;
test(`${FAILURES} failures and allocations of queues keep nothing`, async (context) => {
  using registry = createRegistry();
  // The HSA runtime remembers the last 4096 places where memory was freed, for reports of faults.
  const device = await registry.open(IS_FULL_SCALE ? 'amdgpu' : 'null');
  await grows(context, FAILURES, async (_, count) => {
    const gate = watch(device.createSemaphore());
    const abort = new AbortController();
    const ends: PromiseLike<unknown>[] = [];
    for (let i = 0; i < count; i++) {
      const memory = device.queue().alloca({ sizeBytes: 64, waits: [gate.at(i % 2)], abort: abort.signal });
      const fill = device.queue(1).fill({ target: memory.result, pattern: EMPTY, waits: [memory] });
      const end = device.queue().dealloca({ buffer: memory.result, waits: [fill] });
      for (const each of [memory, memory.result, fill, end]) watch(each);
      ends.push(i % 2 === 0 ? end : failureOf(end));
    }
    await device.queue().barrier();
    abort.abort();
    await Promise.all(ends);
  });
  assert.equal(device.allocator.statistics.liveCount, 0);
});

const DEVICES = IS_FULL_SCALE ? 2500 : 20;
test(`${DEVICES} devices that are closed keep nothing`, async (context) => {
  using registry = createRegistry();
  await grows(context, DEVICES, async (_, count) => {
    for (let i = 0; i < count; i++) {
      const device = watch(await registry.open('amdgpu'));
      using code = device.load(conformanceCode('gfx90a'));
      const buffer = device.allocate(4);
      const pool = device.createPool({ kind: 'tlsf', slabBytes: 4096 });
      await device.queue().alloca({ pool, sizeBytes: 4 });
      await device.queue().dispatch({ entry: code.lookup('count_workgroups'), groups: 1, bindings: [buffer] });
      device[Symbol.dispose]();
    }
  });
});
