import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import type { Allocation } from '../../device/memory.ts';
import { NO_STATISTICS } from '../../device/statistics.ts';
import { CodeObjectReader } from '../executables/loaded-code-object.ts';
import { PACKET_TYPE } from '../objects/layouts.ts';
import { HsaError } from '../objects/status.ts';
import { FakeDevice, FakeFault, type KernelBody } from '../runtime/fake-device.test-support.ts';
import { buildImage } from '../runtime/image.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { FAULT_REASON, faultReason } from './faults.ts';
import { decodeBarrier, decodeKernelDispatch, encodeBarrier, encodeHeader, encodeKernelDispatch } from './packet.ts';
import type { QueueError } from './packet-processor.ts';

function setUp(options: { sizePackets?: number } = {}) {
  const device = new FakeDevice();
  const runtime = createRuntime({ devices: [device] });
  const errors: QueueError[] = [];
  const queue = runtime.createQueue(runtime.gpuAgents[0]!, { ...options, onError: (error) => errors.push(error) });
  const log: string[] = [];
  /** A kernel that logs its start and end, `steps` slices apart. */
  const kernel = (name: string, steps = 1) =>
    device.addKernel(function* () {
      log.push(`${name}+`);
      for (let step = 0; step < steps; step++) yield 'running';
      log.push(`${name}-`);
    });
  const run = () => {
    for (let turn = 0; turn < 100; turn++) runtime.progress();
  };
  return { device, runtime, queue, errors, log, kernel, run };
}

const idle: KernelBody = function* () {};
const one = { grid: [1], workgroup: [1] };

test('a dispatch packet tells the kernel where its packet, its queue and its arguments are', () => {
  const { device, runtime, queue } = setUp();
  const kernel = device.addKernel(function* ({ launch, memory }) {
    const dispatched = decodeKernelDispatch(memory.view(launch.origin!.packetAddress, 64));
    assert.deepEqual(dispatched.gridSize, [100, 3, 1]);
    yield 'running';
    assert.equal(memory.data(launch.origin!.queueAddress, 256).getUint32(64, true), 0x1_0000);
    assert.equal(memory.data(launch.origin!.queueAddress, 256).getUint32(68, true), 0x2_0000);
  });
  const kernarg = runtime.cpuAgent.pool('kernarg').allocate(64);
  const completionSignal = runtime.createSignal(1n);
  const index = queue.dispatch({
    kernel,
    grid: [100, 3],
    workgroup: [64, 1],
    kernarg,
    completionSignal,
    groupSegmentSizeBytes: 512,
    privateSegmentSizeBytes: 256,
  });
  assert.equal(index, 0n);
  assert.equal(completionSignal.waitSync('eq', 0n), 0n);
  assert.deepEqual(device.launches[0], {
    workgroupSize: [64, 1, 1],
    gridSize: [100, 3, 1],
    entry: kernel,
    argumentsAddress: kernarg,
    resources: { privateSizeBytes: 256, groupSizeBytes: 512 },
    origin: { queueAddress: queue.address, packetAddress: queue.ringAddress, index: 0n },
  });
  assert.ok(completionSignal.startTicks > 0n && completionSignal.endTicks > completionSignal.startTicks);
  assert.deepEqual(queue.statistics, { ...NO_STATISTICS, instructions: 7, workgroups: 1, waves: 1 });
});

test('the header of a dispatch has the barrier bit and system-scope fences', () => {
  assert.equal(encodeHeader(PACKET_TYPE.kernelDispatch, true), 0x1502);
  assert.equal(encodeHeader(PACKET_TYPE.kernelDispatch, false), 0x1402);
});

test('a packet stays in its slot while its kernel runs and becomes INVALID when it retires', () => {
  const { device, runtime, queue } = setUp();
  const kernel = device.addKernel(function* () {
    yield 'running';
    yield 'running';
  });
  assert.equal(queue.packet(0n)[0], PACKET_TYPE.invalid);
  queue.dispatch({ kernel, ...one });
  runtime.progress();
  assert.equal(queue.packet(0n)[0], PACKET_TYPE.kernelDispatch);
  assert.equal(queue.readDispatchId, 0n);
  assert.ok(queue.running);
  assert.deepEqual(queue.describeWaves(), ['workgroup 0,0,0 wave 0: fake']);
  runtime.progress();
  runtime.progress();
  assert.equal(queue.packet(0n)[0], PACKET_TYPE.invalid);
  assert.equal(queue.readDispatchId, 1n);
  assert.ok(!queue.running);
});

test('the barrier bit makes a kernel wait for all earlier ones, without it kernels overlap', () => {
  const ordered = setUp();
  ordered.queue.dispatch({ kernel: ordered.kernel('a'), ...one });
  ordered.queue.dispatch({ kernel: ordered.kernel('b'), ...one });
  ordered.run();
  assert.deepEqual(ordered.log, ['a+', 'a-', 'b+', 'b-']);
  const overlapping = setUp();
  overlapping.queue.dispatch({ kernel: overlapping.kernel('a'), ...one });
  overlapping.queue.dispatch({ kernel: overlapping.kernel('b'), ...one, barrier: false });
  overlapping.run();
  assert.deepEqual(overlapping.log, ['a+', 'b+', 'a-', 'b-']);
});

test('packets retire in order also when a later kernel ends first', () => {
  const { runtime, queue, kernel, log } = setUp();
  const done = [runtime.createSignal(1n), runtime.createSignal(1n)] as const;
  queue.dispatch({ kernel: kernel('long', 5), ...one, completionSignal: done[0] });
  queue.dispatch({ kernel: kernel('short'), ...one, barrier: false, completionSignal: done[1] });
  done[1].waitSync('eq', 0n);
  assert.deepEqual(log, ['long+', 'short+', 'short-']);
  assert.equal(done[0].load(), 1n);
  assert.equal(queue.readDispatchId, 0n);
  done[0].waitSync('eq', 0n);
  assert.equal(queue.readDispatchId, 2n);
});

test('a barrier-AND holds back later packets until all its signals are 0, a barrier-OR until one is', () => {
  for (const mode of ['all', 'any'] as const) {
    const { runtime, queue, kernel, log, run } = setUp();
    const dependencies = [runtime.createSignal(1n), runtime.createSignal(2n)] as const;
    const completionSignal = runtime.createSignal(1n);
    queue.barrier({ dependencies, mode, completionSignal });
    queue.dispatch({ kernel: kernel('after'), ...one, barrier: false });
    run();
    assert.deepEqual([log, completionSignal.load()], [[], 1n]);
    dependencies[1].store(0n);
    run();
    assert.equal(completionSignal.load(), mode === 'any' ? 0n : 1n, mode);
    dependencies[0].store(0n);
    run();
    assert.equal(completionSignal.load(), 0n);
    assert.deepEqual(log, ['after+', 'after-']);
  }
});

test('one queue waits for another through a signal', () => {
  const { runtime, queue, kernel, log } = setUp();
  const second = runtime.createQueue(runtime.gpuAgents[0]!);
  const produced = runtime.createSignal(1n);
  const done = runtime.createSignal(1n);
  queue.barrier({ dependencies: [produced], mode: 'all' });
  queue.dispatch({ kernel: kernel('consumer'), ...one, completionSignal: done });
  second.dispatch({ kernel: kernel('producer', 3), ...one, completionSignal: produced });
  done.waitSync('eq', 0n);
  assert.deepEqual(log, ['producer+', 'producer-', 'consumer+', 'consumer-']);
});

test('a full queue makes the producer wait; more packets than slots all run, in order', () => {
  const { queue, kernel, log, run } = setUp({ sizePackets: 4 });
  for (let index = 0; index < 20; index++) queue.dispatch({ kernel: kernel(String(index), 0), ...one });
  run();
  assert.deepEqual(log, Array.from({ length: 20 }, (_, index) => [`${index}+`, `${index}-`]).flat());
  assert.equal(queue.readDispatchId, 20n);
});

test('a ring of one packet runs a kernel without the barrier bit once', () => {
  const { queue, kernel, log, run } = setUp({ sizePackets: 1 });
  queue.dispatch({ kernel: kernel('a', 5), ...one, barrier: false });
  run();
  assert.deepEqual(log, ['a+', 'a-']);
});

test('the structure in memory is an amd_queue_t that other producers can use', () => {
  const { runtime, queue, kernel, log, run } = setUp();
  const bytes = runtime.view(queue.address, 4096);
  const data = new DataView(bytes.buffer, bytes.byteOffset);
  assert.deepEqual([data.getUint32(0, true), data.getUint32(4, true), data.getUint32(24, true)], [0, 1, 64]);
  assert.equal(data.getBigUint64(8, true), queue.ringAddress);
  assert.equal(data.getUint32(136, true), 128);
  // As generated code does it: the doorbell is a plain 64-bit store through the signal's pointer.
  const signal = runtime.view(data.getBigUint64(16, true), 64);
  const doorbell = new DataView(signal.buffer, signal.byteOffset);
  assert.equal(doorbell.getBigInt64(0, true), -1n);
  const target = runtime.view(doorbell.getBigUint64(8, true), 8);
  queue.dispatch({ kernel: kernel('a'), ...one });
  const rung = new DataView(target.buffer, target.byteOffset);
  assert.equal(rung.getBigInt64(0, true), 0n);
  rung.setBigInt64(0, -1n, true);
  run();
  assert.deepEqual(log, []);
  rung.setBigInt64(0, 0n, true);
  run();
  assert.deepEqual(log, ['a+', 'a-']);
  assert.equal(data.getBigUint64(56, true), 1n);
  assert.equal(data.getBigUint64(128, true), 1n);
});

test('a completed signal writes its event id to its mailbox', () => {
  const { runtime, queue, kernel, run } = setUp();
  const completionSignal = runtime.createSignal(1n);
  const mailbox = runtime.createSignal(0n);
  const words = runtime.view(completionSignal.address, 64);
  const data = new DataView(words.buffer, words.byteOffset);
  data.setBigUint64(16, mailbox.address + 8n, true);
  data.setUint32(24, 77, true);
  queue.dispatch({ kernel: kernel('a'), ...one, completionSignal });
  run();
  assert.equal(mailbox.load(), 77n);
});

test('the reason of a fault tells unmapped, read-only and code apart', () => {
  const nearest = { address: 0x1000n, sizeBytes: 16, label: 'x' };
  const reason = (access: 'read' | 'write' | 'execute', address: bigint, nearestAllocation: Allocation = nearest) =>
    faultReason(new FakeFault({ kind: 'memory', message: '', address, access, nearestAllocation }).fault);
  assert.equal(reason('write', 0x1000n, { ...nearest, access: 'none' }), FAULT_REASON.pageNotPresent);
  assert.equal(reason('write', 0x1000n), FAULT_REASON.readOnly);
  assert.equal(reason('write', 0x1010n), FAULT_REASON.pageNotPresent);
  assert.equal(reason('read', 0x100fn), FAULT_REASON.pageNotPresent);
  assert.equal(reason('execute', 0x1000n), FAULT_REASON.noExecute);
});

test('a full queue whose packets can never start is an error, not a hang', () => {
  const { runtime, queue } = setUp({ sizePackets: 1 });
  queue.barrier({ dependencies: [runtime.createSignal(1n)], mode: 'all' });
  assert.throws(() => queue.barrier({ dependencies: [runtime.createSignal(0n)], mode: 'all' }), /is full/);
});

test('producers may ring the doorbell in any order', () => {
  const { queue, kernel, log, run } = setUp();
  const first = queue.addWriteIndex(1n);
  const second = queue.addWriteIndex(1n);
  const write = (index: bigint, name: string) => {
    const packet = queue.packet(index);
    const fields = {
      dimensions: 1,
      workgroupSize: [1, 1, 1],
      gridSize: [1, 1, 1],
      privateSegmentSizeBytes: 0,
      groupSegmentSizeBytes: 0,
      kernelObject: kernel(name),
      kernargAddress: 0n,
      completionSignal: 0n,
    } as const;
    new DataView(packet.buffer, packet.byteOffset).setUint32(0, encodeKernelDispatch(packet, fields, false), true);
    queue.ringDoorbell(index);
  };
  write(second, 'second');
  run();
  assert.deepEqual(log, []);
  write(first, 'first');
  run();
  assert.deepEqual(log, ['first+', 'second+', 'first-', 'second-']);
});

test('packets round-trip', () => {
  const packet = new Uint8Array(64);
  const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
  const u32 = fc.nat(0xffff_ffff);
  const u16 = fc.nat(0xffff);
  fc.assert(
    fc.property(
      fc.record(
        {
          dimensions: fc.integer({ min: 0, max: 3 }),
          workgroupSize: fc.tuple(u16, u16, u16),
          gridSize: fc.tuple(u32, u32, u32),
          privateSegmentSizeBytes: u32,
          groupSegmentSizeBytes: u32,
          kernelObject: u64,
          kernargAddress: u64,
          completionSignal: u64,
        },
        { noNullPrototype: true },
      ),
      (fields) => {
        new DataView(packet.buffer).setUint32(0, encodeKernelDispatch(packet, fields, true), true);
        assert.deepEqual(decodeKernelDispatch(packet), fields);
      },
    ),
  );
  fc.assert(
    fc.property(
      fc.array(
        u64.filter((address) => address !== 0n),
        { maxLength: 5 },
      ),
      u64,
      (dependencies, signal) => {
        const fields = { dependencies, completionSignal: signal };
        new DataView(packet.buffer).setUint32(0, encodeBarrier(packet, fields, 'any', false), true);
        assert.deepEqual(decodeBarrier(packet), fields);
      },
    ),
  );
});

interface Refusal {
  readonly status: string;
  readonly message: RegExp;
  readonly change: (data: DataView) => void;
}

const refusals: Record<string, Refusal> = {
  'no dimensions': {
    status: 'INCOMPATIBLE_ARGUMENTS',
    message: /0 dimensions/,
    change: (data) => data.setUint16(2, 0, true),
  },
  'too much group memory': {
    status: 'INVALID_ALLOCATION',
    message: /65537 bytes of group memory.*65536/,
    change: (data) => data.setUint32(28, 65_537, true),
  },
  'no kernel object': {
    status: 'INVALID_CODE_OBJECT',
    message: /no kernel descriptor at 0x0/,
    change: (data) => data.setBigUint64(32, 0n, true),
  },
  'a kernel object that is not aligned': {
    status: 'INVALID_CODE_OBJECT',
    message: /64-byte aligned/,
    change: (data) => data.setBigUint64(32, data.getBigUint64(32, true) + 8n, true),
  },
  'an unknown packet type': {
    status: 'INVALID_PACKET_FORMAT',
    message: /packet type 9/,
    change: (data) => data.setUint8(0, 9),
  },
  'a workgroup that is too large': {
    status: 'INVALID_ARGUMENT',
    message: /1025 x 1 x 1 work-items.*1024/,
    change: (data) => data.setUint16(4, 1025, true),
  },
  'an empty grid': {
    status: 'INVALID_ARGUMENT',
    message: /grid size 0 in dimension 0/,
    change: (data) => data.setUint32(12, 0, true),
  },
  'a size in an unused dimension': {
    status: 'INVALID_ARGUMENT',
    message: /workgroup size 2 in dimension 1/,
    change: (data) => data.setUint16(6, 2, true),
  },
  'a completion signal that is none': {
    status: 'INVALID_SIGNAL',
    message: /no signal at 0x40/,
    change: (data) => data.setBigUint64(56, 0x40n, true),
  },
};

for (const [what, { status, message, change }] of Object.entries(refusals)) {
  test(`${what} stops the queue with ${status}, once`, () => {
    const { device, runtime, queue, errors, run } = setUp();
    const kernel = device.addKernel(idle);
    queue.dispatch({ kernel, ...one });
    const packet = queue.packet(0n);
    change(new DataView(packet.buffer, packet.byteOffset, 64));
    run();
    assert.equal(errors.length, 1);
    const { error } = errors[0]!;
    assert.ok(error instanceof HsaError);
    assert.equal(error.status, status);
    assert.match(error.message, message);
    assert.equal(device.launches.length, 0);
    assert.throws(
      () => queue.dispatch({ kernel, ...one }),
      (thrown: unknown) => thrown === error,
    );
    const signal = runtime.createSignal(1n);
    assert.throws(
      () => signal.waitSync('eq', 0n),
      (thrown: unknown) => thrown === error,
    );
    const words = runtime.view(queue.address, 4096);
    const inactive = new DataView(words.buffer, words.byteOffset).getBigUint64(192, true);
    const value = new DataView(runtime.view(inactive, 64).buffer, runtime.view(inactive, 64).byteOffset).getBigInt64(
      8,
      true,
    );
    assert.equal(value, BigInt(error.hsaStatus));
  });
}

test('a workgroup that has not enough registers on a compute unit stops the queue with OUT_OF_REGISTERS', () => {
  const { device, runtime, errors, queue, run } = setUp();
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  executable.loadCodeObject(agent, new CodeObjectReader(buildImage({ kernels: [{ name: 'k', vgprGranules: 63 }] })));
  executable.freeze();
  device.kernels.k = idle;
  const kernel = executable.getSymbol('k.kd').address;
  // 512 VGPRs: one wave on each of the four SIMDs of gfx90a.
  queue.dispatch({ kernel, grid: [1024], workgroup: [256] });
  run();
  assert.equal(errors.length, 0);
  queue.dispatch({ kernel, grid: [1024], workgroup: [257] });
  run();
  assert.match(errors[0]!.error.message, /257 work-items, k\.kd has registers for 256/);
  assert.ok(errors[0]!.error instanceof HsaError && errors[0]!.error.hsaStatus === 45);
});

test('what the device refuses stops the queue with that error', () => {
  const { runtime, queue, errors, run } = setUp();
  queue.dispatch({ kernel: runtime.cpuAgent.pool('kernarg').allocate(64), ...one });
  run();
  assert.equal(errors[0]?.error.code, 'UNSUPPORTED');
  assert.match(errors[0]!.error.message, /AQL packet 0: the fake device has no body/);
});

test('a memory fault is an event with agent, address and reason, and stops the queue', () => {
  const { device, runtime, queue, errors, kernel, log } = setUp();
  const fault = device.addKernel(function* () {
    yield 'running';
    throw new FakeFault({ kind: 'memory', message: 'load from 0x10', address: 0x10n, access: 'read' });
  });
  const events: unknown[] = [];
  const remove = runtime.onSystemEvent((event) => events.push([event.agent.name, event.address, event.reason]));
  const signal = runtime.createSignal(1n);
  queue.dispatch({ kernel: fault, ...one });
  queue.dispatch({ kernel: kernel('never'), ...one, completionSignal: signal });
  assert.throws(
    () => signal.waitSync('eq', 0n),
    (error: unknown) =>
      error instanceof HsaError && error.hsaStatus === 43 && error.message === 'load from 0x10; agent 1 (gfx90a)',
  );
  assert.deepEqual(events, [['gfx90a', 0x10n, 1]]);
  assert.equal(errors[0]?.fault?.address, 0x10n);
  assert.deepEqual(log, []);
  remove();
});

test('a fault of an instruction that is not implemented is UNSUPPORTED and no memory event', () => {
  const { device, runtime, queue, errors, run } = setUp();
  runtime.onSystemEvent(() => assert.fail('no memory fault happened'));
  const kernel = device.addKernel(function* () {
    yield 'running';
    throw new FakeFault({ kind: 'unsupported', message: "unsupported instruction 'v_foo'" });
  });
  queue.dispatch({ kernel, ...one });
  run();
  assert.equal(errors[0]?.error.code, 'UNSUPPORTED');
});

test('an inactive queue cancels its kernels and starts nothing', () => {
  const { queue, kernel, log, run } = setUp();
  queue.dispatch({ kernel: kernel('a', 50), ...one });
  queue.dispatch({ kernel: kernel('b'), ...one });
  queue.process();
  queue.inactivate();
  run();
  assert.deepEqual(log, []);
  assert.equal(queue.readDispatchId, 0n);
});

test('bad arguments are refused with what was expected', () => {
  const { runtime, queue } = setUp();
  const agent = runtime.gpuAgents[0]!;
  const cases: [() => unknown, RegExp][] = [
    [() => runtime.createQueue(agent, { sizePackets: 3 }), /3 packets, expected a power of two/],
    [() => runtime.createQueue(agent, { sizePackets: 2 ** 18 }), /maximum is 131072/],
    [() => runtime.createQueue(runtime.cpuAgent), /agent cpu runs no kernels/],
    [() => queue.dispatch({ kernel: 0n, grid: [], workgroup: [] }), /0 dimensions/],
    [() => queue.dispatch({ kernel: 0n, grid: [0], workgroup: [1] }), /grid size 0/],
    [() => queue.dispatch({ kernel: 0n, grid: [1], workgroup: [65_536] }), /workgroup size 65536/],
    [() => queue.barrier({ dependencies: [], mode: 'all' }), /0 dependencies/],
    [() => createRuntime({ devices: [] }), /at least one device/],
  ];
  for (const [call, message] of cases) {
    assert.throws(call, (error: unknown) => error instanceof WavewrightError && message.test(error.message));
  }
});

test('any 64 bytes as a packet end in a queue error or a run, never in anything else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), (bytes) => {
      const { queue, errors, run } = setUp();
      queue.packet(queue.addWriteIndex(1n)).set(bytes);
      queue.ringDoorbell(0n);
      run();
      const harmless = [PACKET_TYPE.invalid, PACKET_TYPE.barrierAnd, PACKET_TYPE.barrierOr].some(
        (type) => type === bytes[0],
      );
      if (!harmless) assert.equal(errors.length, 1);
    }),
    { numRuns: 100 },
  );
});

test('disposing the runtime frees its queues', () => {
  const { device, runtime, queue } = setUp();
  runtime[Symbol.dispose]();
  assert.equal(device.memory.find(queue.address), undefined);
});
