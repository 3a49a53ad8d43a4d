/** Profiling sessions: what they tell of operations and kernels, and what they refuse. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conformanceModule } from '../conformance/kernels.test-support.ts';
import { integersOf } from '../conformance/readback.test-support.ts';
import { conformanceCode, createRegistry } from '../conformance/subject.test-support.ts';
import { PROFILE_DATA, type ProfileChunk, type ProfileData, type ProfileEvent } from './profile-session.ts';

class Chunks {
  readonly chunks: ProfileChunk[] = [];
  readonly calls: string[] = [];
  begin(): void {
    this.calls.push('begin');
  }
  write(chunk: ProfileChunk): void {
    this.chunks.push(chunk);
    this.calls.push('write');
  }
  dropped(): void {
    this.calls.push('dropped');
  }
  end(): void {
    this.calls.push('end');
  }
  get events(): readonly ProfileEvent[] {
    return this.chunks.flatMap(({ events }) => events);
  }
  of<Data extends ProfileData>(data: Data): Extract<ProfileEvent, { data: Data }>[] {
    return this.events.filter((event): event is Extract<ProfileEvent, { data: Data }> => event.data === data);
  }
}

const TARGETS = [
  ['gfx90a', 'waits=barrier-value'],
  ['gfx90a', 'waits=barrier&ring=4&notifications=2&kernargs=8'],
  ['gfx1100', 'transfers=kernels'],
  ['gfx1201', 'waits=defer'],
];

for (const [target, parameters] of TARGETS) {
  test(`${target}, ${parameters}: each kernel has times of its device, in command buffers, too`, async () => {
    using registry = createRegistry();
    const device = await registry.open(`amdgpu?target=${target}&${parameters}`);
    using code = device.load(conformanceCode(target!));
    using total = device.allocate(4);
    await device.queue().fill({ target: total, pattern: Uint8Array.of(0) });
    const count = { entry: code.lookup('count_workgroups'), groups: 3, bindings: [total] };
    const usage = ['default', 'mapping', 'dispatch-indirect-parameters'] as const;
    using counts = device.allocate(12, { memoryType: 'host-local', usage });
    counts.write(Uint32Array.of(2, 1, 1));
    using program = device.record({}, (commands) =>
      commands
        .dispatch(count)
        .dispatch(count)
        .barrier()
        .dispatch({ ...count, groups: { from: counts } }),
    );
    await device.queue().dispatch(count);
    const sink = new Chunks();
    const session = await device.profile({ sink });
    assert.deepEqual(
      session.data,
      PROFILE_DATA.filter(
        (data) => !['counters', 'counter-ranges', 'instruction-counts', 'executable-traces'].includes(data),
      ),
      'its GPUs count nothing',
    );
    const before = device.sampleClock().deviceTicks;
    const first = device.queue(0).dispatch({ ...count, label: 'first' });
    const second = device.queue(1).dispatch({ ...count, waits: [first] });
    const third = device.queue(0).execute({ commands: program, waits: [second] });
    await device.queue(1).barrier({ waits: [third] });
    const after = device.sampleClock().deviceTicks;
    await session.end();
    assert.deepEqual(sink.calls, ['begin', 'write', 'write', 'end']);
    const kernels = sink.of('dispatch-events');
    assert.deepEqual(
      kernels.map(({ operation, kernel }) => [
        operation.id,
        kernel.entry.name,
        kernel.groups?.[0],
        kernel.commandIndex,
      ]),
      [
        [first.info.id, 'count_workgroups', 3, undefined],
        [second.info.id, 'count_workgroups', 3, undefined],
        [third.info.id, 'count_workgroups', 3, 0],
        [third.info.id, 'count_workgroups', 3, 1],
        [third.info.id, 'count_workgroups', 2, undefined],
      ],
    );
    let last = before;
    for (const { startTicks, endTicks } of kernels) {
      assert.ok(last <= startTicks && startTicks <= endTicks, 'one behind the other');
      last = endTicks;
    }
    assert.ok(last <= after);
    const ofThird = kernels.filter(({ operation }) => operation.id === third.info.id);
    assert.deepEqual(
      sink.of('device-queue-events').map(({ operation, kernelCount }) => [operation.id, kernelCount]),
      [first, second, third].map(({ info }) => [info.id, info === third.info ? 3 : 1]),
    );
    const whole = sink.of('device-queue-events').at(-1)!;
    assert.equal(whole.startTicks, ofThird[0]!.startTicks);
    assert.equal(whole.endTicks, ofThird.at(-1)!.endTicks);
    const ends = sink.of('queue-events').filter(({ kind }) => kind === 'complete');
    assert.equal(ends.length, 4);
    // Without a session nothing is told, and all goes on.
    await device.queue().dispatch(count);
    assert.equal(sink.of('dispatch-events').length, kernels.length);
    assert.deepEqual(await integersOf(device, total), [3 + 3 + 3 + 3 + 3 + 2 + 3]);
  });
}

test('one session at a time, on an idle device, of what it has; there may be too many events', async () => {
  using registry = createRegistry();
  const device = await registry.open('local');
  using code = device.load(conformanceModule());
  assert.equal(code.exportCount > 0, true);
  const sink = new Chunks();
  const unmeasured = { sink, data: ['dispatch-events'] } as const;
  await assert.rejects(device.profile(unmeasured), { status: 'UNIMPLEMENTED', message: /local does not measure/ });
  await assert.rejects(device.profile({ sink, capacity: 0 }), { status: 'INVALID_ARGUMENT' });
  const uncounted = { sink, data: ['counters'] } as const;
  await assert.rejects(device.profile(uncounted), { status: 'UNIMPLEMENTED', message: /local counts nothing/ });
  const unknown: unknown = ['metrics'];
  const odd = { sink, data: unknown as readonly ProfileData[] };
  await assert.rejects(device.profile(odd), { status: 'INVALID_ARGUMENT', message: /no 'metrics'/ });
  const gate = device.createSemaphore();
  const waiting = device.queue().barrier({ waits: [gate.at(1)] });
  await assert.rejects(device.profile({ sink }), { status: 'FAILED_PRECONDITION', message: /begins while/ });
  gate.signal(1);
  await waiting;
  assert.deepEqual(sink.calls, []);
  await using session = await device.profile({ sink, capacity: 5 });
  assert.deepEqual(session.data, ['queue-events', 'host-execution', 'memory-events']);
  await assert.rejects(device.profile({ sink }), { status: 'FAILED_PRECONDITION', message: /has a profiling session/ });
  const next = device.queue().barrier({ waits: [gate.at(2)] });
  await assert.rejects(session.end(), { status: 'FAILED_PRECONDITION', message: /ends while/ });
  gate.signal(2);
  await next;
  await device.queue().barrier();
  assert.deepEqual(sink.calls, ['begin', 'write', 'dropped'], 'said at once, and once');
  await session.flush();
  const [, { events, droppedCount, clocks }] = sink.chunks as [ProfileChunk, ProfileChunk];
  assert.deepEqual([events.length, droppedCount, clocks.length], [5, 3, 1]);
  assert.deepEqual(sink.chunks[1]!.dropped, { 'queue-events': 3 });
  assert.ok(clocks[0]!.deviceTicks > sink.chunks[0]!.clocks[0]!.deviceTicks);
});

test('what a sink does not take comes again, and a device may go before its session', async () => {
  using registry = createRegistry();
  const device = await registry.open('null');
  const sink = new Chunks();
  const session = await device.profile({ sink });
  const { write } = sink;
  sink.write = () => {
    throw new RangeError('full');
  };
  const { info } = device.queue().barrier();
  await device.queue().barrier();
  await assert.rejects(session.flush(), RangeError);
  await assert.rejects(session.end(), RangeError);
  sink.write = write;
  device[Symbol.dispose]();
  await session.end();
  await session.end();
  assert.deepEqual(sink.calls, ['begin', 'write', 'write', 'write', 'end']);
  const ids = sink.of('queue-events').map(({ operation }) => operation.id);
  assert.deepEqual([...new Set(ids)], [info.id, info.id + 1]);
  assert.equal(ids.length, 8, 'none twice');
});

test('a sink that throws at the begin or at the end leaves no session behind', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu?target=gfx90a');
  const full = (): void => {
    throw new RangeError('full');
  };
  for (const broken of ['begin', 'write'] as const) {
    const sink = Object.assign(new Chunks(), { [broken]: full });
    await assert.rejects(device.profile({ sink, capacity: 1 }), RangeError);
    await device.queue().barrier();
    assert.equal(sink.calls.includes('dropped'), false, 'nobody tells it anything');
  }
  const sink = new Chunks();
  const session = await device.profile({ sink });
  const { end } = sink;
  sink.end = full;
  await assert.rejects(session.end(), RangeError);
  await assert.rejects(device.profile({ sink }), { status: 'FAILED_PRECONDITION' });
  sink.end = end;
  await session.end();
  await (await device.profile({ sink })).end();
});

test('what was asked for, what the host did, and memory that came and went', async () => {
  using registry = createRegistry();
  const device = await registry.open('amdgpu?target=gfx90a');
  const sink = new Chunks();
  const session = await device.profile({ sink, data: ['queue-events', 'host-execution', 'memory-events'] });
  const queue = device.queue();
  const made = queue.alloca({ sizeBytes: 100 });
  const filled = queue.fill({ target: made.result, pattern: Uint8Array.of(1), waits: [made] });
  const failing = queue.hostCall({
    call: () => {
      throw new RangeError('no');
    },
    waits: [filled],
  });
  await assert.rejects(failing.then(), /no/);
  await queue.dealloca({ buffer: made.result });
  device.allocate(4096)[Symbol.dispose]();
  await session.end();
  const submitted = sink.of('queue-events').filter(({ kind }) => kind === 'submitted');
  assert.deepEqual(
    submitted.map(({ operation, request }) => [operation.kind, request?.payloadBytes, request?.waitCount]),
    [
      ['alloca', 100, 0],
      ['fill', 100, 1],
      ['host-call', undefined, 1],
      ['dealloca', 100, 0],
    ],
  );
  assert.equal(submitted[0]!.request!.allocation, made.result.allocation);
  const byHost = sink.of('host-execution');
  assert.deepEqual(
    byHost.map(({ operation, failure }) => [operation.id, failure?.status]),
    [
      [filled.info.id, undefined],
      [failing.info.id, 'UNKNOWN'],
    ],
  );
  for (const { startMs, endMs } of byHost) assert.ok(startMs <= endMs);
  const memory = sink.of('memory-events');
  const [first, , second] = memory;
  assert.deepEqual(
    memory.map(({ kind, user, id, sizeBytes }) => [kind, typeof user === 'string' ? user : 'queue', id, sizeBytes]),
    [
      ['allocate', 'queue', first!.id, 128],
      ['free', 'queue', first!.id, 128],
      ['allocate', 'buffer', second!.id, 4096],
      ['free', 'buffer', second!.id, 4096],
    ],
  );
  assert.notEqual(first!.id, second!.id);
  assert.equal(first!.user, made.result.allocation);
});
