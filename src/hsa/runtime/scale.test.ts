/**
 * Many of everything at once, checked against models. `WAVEWRIGHT_SCALE=full` runs the sizes that the runtime
 * is meant for (a minute); the sizes otherwise are for every day.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { IS_FULL_SCALE } from '../../../test/scale.ts';
import { assembledImage, kernelSource } from '../../bench/assembled-kernel.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { refused as refusedAs } from '../conformance/subject.test-support.ts';
import { CodeObjectReader } from '../executables/loaded-code-object.ts';
import { AGENT_INFO, agentInfo } from '../objects/agent-info.ts';
import type { MemoryPool } from '../objects/memory-pool.ts';
import { HsaError } from '../objects/status.ts';
import { encodeKernelDispatch } from '../queues/packet.ts';
import type { AdderTask, ProducerTask } from '../queues/producer.test-support.ts';
import type { Signal } from '../signals/signal.ts';
import { FakeDevice } from './fake-device.test-support.ts';
import { createRuntime } from './runtime.ts';

/** Numbers from 0 to n - 1, the same in every run. */
function randomNumbers(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** What ran: when it began and ended, in steps of one clock. */
interface Span {
  readonly queue: number;
  readonly order: number;
  begin: number;
  end: number;
  /** Must have ended before this one begins, besides what holds for earlier packets of the queue. */
  readonly after: readonly Span[];
}

test('100 queues with packets in random order and a web of dependencies do what the model allows', () => {
  const [queueCount, packetsPerQueue] = [100, IS_FULL_SCALE ? 10_000 : 100];
  const random = randomNumbers(1);
  const device = new FakeDevice(2 ** 26);
  using runtime = createRuntime({ devices: [device] });
  const agent = runtime.gpuAgents[0]!;
  const queues = Array.from({ length: queueCount }, () => runtime.createQueue(agent));
  const spans: Span[] = [];
  let clock = 0;
  const kernel = device.addKernel(function* ({ launch }) {
    const span = spans[Number(launch.argumentsAddress)]!;
    span.begin = ++clock;
    for (let turns = random(3); turns > 0; turns--) yield 'running';
    span.end = ++clock;
  });
  /**
   * Of each queue: what the next kernel must wait for, and what ran since its last packet with a barrier bit.
   */
  const gates: Span[][] = queues.map(() => []);
  const open: Span[][] = queues.map(() => []);
  let watched: { readonly span: Span; readonly signal: Signal }[] = [];
  const all = runtime.createSignal(0n);
  let submitted = 0;
  const left = queues.map(() => packetsPerQueue);
  for (let remaining = queueCount * packetsPerQueue; remaining > 0; remaining--) {
    let at = random(queueCount);
    while (left[at] === 0) at = (at + 1) % queueCount;
    left[at]!--;
    const queue = queues[at]!;
    if (watched.length > 4 && random(4) === 0) {
      const chosen = Array.from({ length: 1 + random(5) }, () => watched[random(watched.length)]!);
      const isBarrier = random(2) === 0;
      queue.barrier({ dependencies: chosen.map(({ signal }) => signal), mode: 'all', barrier: isBarrier });
      gates[at]!.push(...chosen.map(({ span }) => span), ...(isBarrier ? open[at]! : []));
      if (isBarrier) open[at] = [];
    }
    const barrier = random(2) === 0;
    const span = {
      queue: at,
      order: submitted,
      begin: 0,
      end: 0,
      after: [...gates[at]!, ...(barrier ? open[at]! : [])],
    };
    spans.push(span);
    if (barrier) open[at] = [];
    open[at]!.push(span);
    gates[at] = [];
    const isWatched = random(10) === 0;
    const completionSignal = isWatched ? runtime.createSignal(1n) : all;
    if (!isWatched) all.add(1n);
    queue.dispatch({ kernel, grid: [1], workgroup: [1], kernarg: BigInt(submitted), barrier, completionSignal });
    submitted++;
    if (isWatched) watched.push({ span, signal: completionSignal });
    if (watched.length > 400) {
      for (const { signal } of watched.slice(0, 200)) signal.waitSync('eq', 0n);
      watched = watched.slice(200);
    }
  }
  for (const { signal } of watched) signal.waitSync('eq', 0n);
  all.waitSync('eq', 0n);
  const last = queues.map(() => 0);
  for (const span of spans) {
    assert.ok(span.begin > last[span.queue]!, `packet ${span.order} starts after the earlier ones of its queue`);
    last[span.queue] = span.begin;
    assert.ok(span.end > span.begin, `packet ${span.order} ran`);
    for (const earlier of span.after) {
      assert.ok(earlier.end < span.begin, `packet ${span.order} of queue ${span.queue} waits for ${earlier.order}`);
    }
  }
  assert.equal(clock, 2 * queueCount * packetsPerQueue, 'each packet ran once');
});

/** Runs a task of `producer.test-support.ts`; resolves when the thread has ended. */
function inThread(task: ProducerTask | AdderTask): Promise<void> {
  const worker = new Worker(new URL('../queues/producer.test-support.ts', import.meta.url), { workerData: task });
  return new Promise((resolve, reject) => worker.on('exit', () => resolve()).on('error', reject));
}

test('producers in other threads fill one queue: every packet runs once, in the order of its producer', async () => {
  const [producerCount, packetsEach] = [4, IS_FULL_SCALE ? 100_000 : 2000];
  const device = new FakeDevice(2 ** 22);
  using runtime = createRuntime({ devices: [device] });
  const queue = runtime.createQueue(runtime.gpuAgents[0]!, { sizePackets: 128 });
  const seen = new Array<number>(producerCount).fill(0);
  const kernelObject = device.addKernel(function* ({ launch: { argumentsAddress: kernargAddress } }) {
    const [producer, number] = [Number(kernargAddress >> 32n), Number(kernargAddress & 0xffff_ffffn)];
    assert.equal(number, seen[producer], `producer ${producer}`);
    seen[producer] = number + 1;
    yield 'running';
  });
  const done = runtime.createSignal(BigInt(producerCount * packetsEach));
  const packet = new Uint8Array(64);
  const one = [1, 1, 1] as const;
  const header = encodeKernelDispatch(
    packet,
    {
      ...{ dimensions: 1, workgroupSize: one, gridSize: one, privateSegmentSizeBytes: 0, groupSegmentSizeBytes: 0 },
      ...{ kernelObject, kernargAddress: 0n, completionSignal: done.address },
    },
    true,
  );
  const offsetOf = (address: bigint): number => device.memory.view(address, 8).byteOffset;
  const threads = seen.map((_, producer) =>
    inThread({
      ...{ buffer: device.memory.buffer, packet, header, producer, count: packetsEach },
      ...{ queueOffset: offsetOf(queue.address), ringOffset: offsetOf(queue.ringAddress) },
      ...{ doorbellOffset: offsetOf(queue.doorbellAddress), sizePackets: queue.sizePackets },
    }),
  );
  await done.wait('eq', 0n);
  await Promise.all(threads);
  assert.deepEqual(seen, new Array(producerCount).fill(packetsEach));
  assert.equal(queue.loadReadIndex(), BigInt(producerCount * packetsEach));
});

test('a storm of signals: threads add to one, handlers and waits for many see every change that holds', async () => {
  const [threadCount, additions, signalCount] = [4, IS_FULL_SCALE ? 2_000_000 : 50_000, IS_FULL_SCALE ? 10_000 : 500];
  const device = new FakeDevice(2 ** 24);
  using runtime = createRuntime({ devices: [device] });
  const sum = runtime.createSignal(0n);
  const signalOffset = device.memory.view(sum.address, 8).byteOffset;
  const addends = Array.from({ length: threadCount }, (_, i) => BigInt(i % 2 === 0 ? i + 1 : -i - 1));
  const expected = addends.reduce((total, addend) => total + addend * BigInt(additions), 0n);
  const threads = addends.map((addend) =>
    inThread({ buffer: device.memory.buffer, signalOffset, addend, count: additions }),
  );
  const random = randomNumbers(2);
  const signals = Array.from({ length: signalCount }, () => runtime.createSignal(3n));
  const calls = new Map<Signal, number>();
  for (const signal of signals) {
    runtime.onSignal({ signal, condition: 'lt', value: 3n }, (value) => {
      calls.set(signal, (calls.get(signal) ?? 0) + 1);
      signal.subtract(1n);
      return value > 0n;
    });
  }
  // Each is set off once, in random order; its handler then runs for 2, 1 and 0.
  const order = signals.map((signal) => ({ signal, key: random(2 ** 30) })).toSorted((a, b) => a.key - b.key);
  for (const { signal } of order) {
    signal.subtract(1n);
    if (random(8) === 0) runtime.progress();
  }
  assert.ok(runtime.waitAll(signals.map((signal) => ({ signal, condition: 'eq', value: -1n }))));
  assert.deepEqual([...new Set(calls.values())], [3]);
  assert.equal(calls.size, signalCount);
  await Promise.all(threads);
  assert.equal(sum.load(), expected);
  for (const signal of signals) signal[Symbol.dispose]();
});

test('a storm of allocations keeps what pools promise', () => {
  const operations = IS_FULL_SCALE ? 200_000 : 4000;
  const random = randomNumbers(3);
  const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });
  using runtime = createRuntime({ devices: [device] });
  const pools = [...runtime.cpuAgent.pools, runtime.gpuAgents[0]!.pool('coarse-grained')];
  const available = (): bigint => agentInfo(runtime.gpuAgents[0]!, AGENT_INFO.memoryAvailable) as bigint;
  const before = available();
  /** In the order of their addresses. */
  const live: { address: bigint; sizeBytes: number; pool: MemoryPool; mark: number }[] = [];
  let [bytes, refused] = [0, 0];
  const check = ({ address, sizeBytes, mark }: (typeof live)[number]): void => {
    const view = runtime.view(address, sizeBytes);
    assert.deepEqual([view[0], view[sizeBytes - 1]], [mark, mark], 'nobody else wrote there');
  };
  for (let n = 0; n < operations; n++) {
    if (live.length > 0 && random(100) < 48) {
      const [gone] = live.splice(random(live.length), 1);
      check(gone!);
      gone!.pool.free(gone!.address);
      bytes -= gone!.sizeBytes;
      assert.throws(() => gone!.pool.free(gone!.address), refusedAs('INVALID_ALLOCATION'));
      assert.equal(runtime.memory.pointerInfo(gone!.address).type, 'unknown');
      continue;
    }
    const sizeBytes = 1 + random(2 ** (4 + random(18)));
    const alignmentBytes = 2 ** (12 + random(5));
    const pool = pools[random(pools.length)]!;
    let address: bigint;
    try {
      address = pool.allocate(sizeBytes, { alignmentBytes });
    } catch (error) {
      assert.ok(error instanceof HsaError && error.status === 'OUT_OF_RESOURCES', String(error));
      refused++;
      continue;
    }
    assert.equal(address % BigInt(alignmentBytes), 0n);
    const at = live.findIndex((other) => other.address > address);
    const [below, above] = at < 0 ? [live.at(-1), undefined] : [live[at - 1], live[at]];
    if (below) assert.ok(below.address + BigInt(below.sizeBytes) <= address, 'apart from the one below');
    if (above) assert.ok(address + BigInt(sizeBytes) <= above.address, 'apart from the one above');
    const view = runtime.view(address, sizeBytes);
    assert.ok(view[0] === 0 && view[sizeBytes >> 1] === 0 && view[sizeBytes - 1] === 0, 'zero');
    const mark = 1 + random(255);
    view[0] = mark;
    view[sizeBytes - 1] = mark;
    live.splice(at < 0 ? live.length : at, 0, { address, sizeBytes, pool, mark });
    bytes += sizeBytes;
    assert.deepEqual(runtime.memory.pointerInfo(address + BigInt(sizeBytes - 1)).base, address);
    if (n % 50 === 0) assert.equal(before - available(), BigInt(bytes));
  }
  assert.ok(refused < operations / 10, `${refused} of ${operations} found no room`);
  for (const each of live) {
    check(each);
    each.pool.free(each.address);
  }
  assert.equal(available(), before);
});

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Bytes of the heap that are still in use. */
function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('dispatches leave nothing behind', () => {
  const count = IS_FULL_SCALE ? 1_000_000 : 20_000;
  // A wave has 150 KiB of state: device memory would not be enough for those of a hundred dispatches.
  const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 24 });
  using runtime = createRuntime({ devices: [device] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  executable.loadCodeObject(agent, new CodeObjectReader(assembledImage(kernelSource('empty', ''), 'empty').bytes));
  executable.freeze();
  const kernel = executable.getSymbol('empty.kd').address;
  const queue = runtime.createQueue(agent);
  const run = (dispatches: number): void => {
    using done = runtime.createSignal(BigInt(dispatches));
    for (let i = 0; i < dispatches; i++) queue.dispatch({ kernel, grid: [1], workgroup: [1], completionSignal: done });
    done.waitSync('eq', 0n);
  };
  run(10_000);
  const [heap, available] = [heapBytes(), agentInfo(agent, AGENT_INFO.memoryAvailable)];
  run(count);
  // Less than 16 bytes for each.
  assert.ok(heapBytes() - heap < 16 * count, `${heapBytes() - heap} bytes more than before`);
  assert.equal(agentInfo(agent, AGENT_INFO.memoryAvailable), available);
  assert.equal(queue.statistics.workgroups, 10_000 + count);
  device.close();
});
