/**
 * Signals, groups, queues, executables and the runtime itself: settings, and errors by state and by foreign
 * objects.
 */
import assert from 'node:assert/strict';
import { EXECUTABLE_INFO, executableInfo } from '../executables/executable-info.ts';
import { refused, type Subject, withRuntime } from './subject.test-support.ts';

const U64 = (value: bigint) => BigInt.asIntN(64, value);

function conformSignalValues(subject: Subject): void {
  withRuntime(subject, 'operations of signals in every order', ({ runtime }) => {
    const signal = runtime.createSignal(5n);
    for (const order of ['relaxed', 'screlease'] as const) {
      signal.store(5n, order);
      signal.silentStore(6n, order);
    }
    for (const order of ['relaxed', 'scacquire'] as const) assert.equal(signal.load(order), 6n);
    for (const order of ['relaxed', 'scacquire', 'screlease', 'scacq_screl'] as const) {
      signal.store(0b1100n);
      signal.and(0b0110n, order);
      signal.or(0b0001n, order);
      signal.xor(0b1001n, order);
      assert.equal(signal.load(), 0b1100n);
      signal.add(U64(2n ** 63n - 1n), order);
      signal.subtract(1n, order);
      assert.equal(signal.load(), U64(0b1100n + 2n ** 63n - 2n), 'arithmetic wraps');
      assert.equal(signal.exchange(1n, order), U64(0b1100n + 2n ** 63n - 2n));
      assert.deepEqual([signal.compareAndSwap(2n, 3n, order), signal.load()], [1n, 1n]);
      assert.deepEqual([signal.compareAndSwap(1n, 3n, order), signal.load()], [1n, 3n]);
    }
    for (const [condition, value] of [
      ['eq', 3n],
      ['ne', 4n],
      ['lt', 4n],
      ['gte', 3n],
    ] as const) {
      assert.equal(signal.waitSync(condition, value), 3n);
    }
    for (const [condition, value] of [
      ['eq', 4n],
      ['ne', 3n],
      ['lt', 3n],
      ['gte', 4n],
    ] as const) {
      assert.equal(signal.waitSync(condition, value, { timeoutMs: 0 }), 3n, 'a hint of no time');
    }
  });

  withRuntime(subject, 'consumers of signals', ({ runtime, agent }) => {
    const signal = runtime.createSignal(0n, runtime.cpuAgent, agent);
    assert.deepEqual(signal.consumers, [runtime.cpuAgent, agent]);
  });
}

function conformSignalWaits(subject: Subject): void {
  withRuntime(subject, 'handlers and waits for every condition', ({ runtime }) => {
    const held = { eq: 5n, ne: 4n, lt: 6n, gte: 5n } as const;
    const missed = { eq: 4n, ne: 5n, lt: 5n, gte: 6n } as const;
    const conditions = Object.keys(held) as (keyof typeof held)[];
    const signal = runtime.createSignal(5n);
    const seen: string[] = [];
    for (const condition of conditions) {
      runtime.onSignal({ signal, condition, value: held[condition] }, (value) => {
        seen.push(`${condition} ${value}`);
        return false;
      });
      runtime.onSignal({ signal, condition, value: missed[condition] }, () => assert.fail(condition));
    }
    const waits = (values: typeof held | typeof missed) =>
      conditions.map((condition) => ({ signal, condition, value: values[condition] }));
    assert.equal(runtime.waitAll(waits(held)), true);
    assert.equal(runtime.waitAll([...waits(held), waits(missed)[2]!], { timeoutMs: 0 }), false);
    assert.equal(runtime.waitAny(waits(missed), { timeoutMs: 0 }), undefined);
    assert.equal(runtime.waitAny([...waits(missed), ...waits(held)]), conditions.length);
    runtime.progress();
    assert.deepEqual(seen, ['eq 5', 'ne 5', 'lt 5', 'gte 5']);
    signal[Symbol.dispose]();
    runtime.progress();
  });

  withRuntime(subject, 'groups of signals', ({ runtime, agent }) => {
    const [first, second] = [runtime.createSignal(1n), runtime.createSignal(2n)];
    const group = runtime.createSignalGroup([first, second], [agent]);
    assert.deepEqual(group.waitAny(['eq', 'gte'], [0n, 2n]), { signal: second, value: 2n });
    assert.equal(group.waitAny(['eq', 'eq'], [0n, 0n], { timeoutMs: 0 }), undefined);
  });
}

function conformQueues(subject: Subject): void {
  withRuntime(subject, 'what queues can be asked for', ({ runtime, agent }) => {
    for (const type of ['multi', 'single', 'cooperative'] as const) {
      using queue = runtime.createQueue(agent, { type, sizePackets: 64, privateSegmentSizeBytes: 0xffff_ffff });
      assert.equal(queue.type, type);
    }
  });

  withRuntime(subject, 'indices of queues in every order', ({ runtime, agent }) => {
    const queue = runtime.createQueue(agent, { sizePackets: 64 });
    for (const order of ['relaxed', 'scacquire', 'screlease', 'scacq_screl'] as const) {
      const start = queue.loadWriteIndex();
      assert.equal(queue.addWriteIndex(3n, order), start);
      assert.equal(queue.casWriteIndex(start, 7n, order), start + 3n);
      assert.equal(queue.casWriteIndex(start + 3n, start, order), start + 3n);
    }
    queue.storeWriteIndex(2n, 'screlease');
    assert.deepEqual(
      [queue.loadWriteIndex('scacquire'), queue.writeIndex, queue.loadReadIndex('relaxed')],
      [2n, 2n, 0n],
    );
  });

  withRuntime(subject, 'settings of queues', ({ runtime, agent }) => {
    const queue = runtime.createQueue(agent);
    assert.equal(queue.priority, 'normal');
    queue.priority = 'high';
    assert.equal(queue.priority, 'high');
    const all = queue.computeUnitMask;
    const count = all.reduce((sum, word) => sum + word.toString(2).replaceAll('0', '').length, 0);
    assert.equal(count, agent.info.computeUnitCount);
    queue.setComputeUnitMask(Uint32Array.of(1, 0xffff_ffff, 0xffff_ffff, 0xffff_ffff, 1));
    assert.equal(queue.computeUnitMask[0], 1);
    queue.setComputeUnitMask(new Uint32Array(0));
    assert.deepEqual(queue.computeUnitMask, all);
    assert.equal(queue.isProfiled, true);
    queue.isProfiled = false;
    assert.equal(queue.isProfiled, false);
    queue.isProfiled = true;
    assert.equal(queue.isProfiled, true);
    assert.equal(runtime.view(queue.doorbellAddress, 8).length, 8);
  });

  withRuntime(subject, 'a queue of higher priority goes first', ({ runtime, agent }) => {
    const order: string[] = [];
    const [low, high] = [runtime.createQueue(agent), runtime.createQueue(agent)];
    high.priority = 'high';
    const done = [low, high].map((queue, i) => {
      const signal = runtime.createSignal(1n);
      const gate = runtime.createSignal(0n);
      queue.barrier({ dependencies: [gate], mode: 'all', completionSignal: signal });
      return { signal, name: i === 0 ? 'low' : 'high' };
    });
    runtime.progress();
    for (const { signal, name } of done.toSorted((a, b) => Number(a.signal.endTicks - b.signal.endTicks))) {
      assert.equal(signal.load(), 0n);
      order.push(name);
    }
    const [first, second] = [done[1]!.signal.endTicks, done[0]!.signal.endTicks];
    assert.ok(first <= second, `${order}`);
  });
}

function conformLives(subject: Subject): void {
  withRuntime(subject, 'executables before and after freezing', ({ runtime, agent }) => {
    const executable = runtime.createExecutable({ profile: 'full', rounding: 'near' });
    const info = () => Object.values(EXECUTABLE_INFO).map((id) => executableInfo(executable, id));
    assert.deepEqual(info(), [1, 0, 2]);
    assert.throws(() => executableInfo(executable, 9), refused('INVALID_ARGUMENT'));
    executable.defineVariable(agent, 'x', 0x1000n);
    assert.throws(() => executable.defineVariable(agent, 'x', 0x2000n), refused('VARIABLE_ALREADY_DEFINED'));
    executable.defineProgramVariable('x', 0x3000n);
    assert.throws(() => executable.defineProgramVariable('x', 0n), refused('VARIABLE_ALREADY_DEFINED'));
    assert.throws(() => executable.defineVariable(agent, '', 0n), refused('INVALID_ARGUMENT'));
    assert.deepEqual([...executable.programVariables], [['x', 0x3000n]]);
    assert.deepEqual(executable.validate(), []);
    executable.freeze();
    assert.deepEqual(info(), [1, 1, 2]);
    assert.throws(() => executable.defineProgramVariable('z', 0n), refused('FROZEN_EXECUTABLE'));
  });

  withRuntime(subject, 'a runtime ends with its last user, and everything with it', ({ device, runtime, agent }) => {
    const [signal, queue, executable] = [
      runtime.createSignal(1n),
      runtime.createQueue(agent),
      runtime.createExecutable(),
    ];
    const pool = agent.pool('coarse-grained');
    const address = pool.allocate(64);
    const group = runtime.createSignalGroup([signal], [agent]);
    assert.equal(runtime.retain(), runtime);
    runtime[Symbol.dispose]();
    assert.equal(signal.load(), 1n, 'it was retained');
    runtime[Symbol.dispose]();
    assert.throws(() => signal.load(), refused('NOT_INITIALIZED'));
    for (const each of [queue.address, address, signal.address]) assert.equal(device.memory.find(each), undefined);
    for (const each of [group, executable, queue, signal]) each[Symbol.dispose]();
    runtime[Symbol.dispose]();
  });
}

export function conformObjects(subject: Subject): void {
  conformSignalValues(subject);
  conformSignalWaits(subject);
  conformQueues(subject);
  conformLives(subject);
}
