/** Memory and signals that two runtimes of one device share by handle. */
import assert from 'node:assert/strict';
import type { Device } from '../../device/device.ts';
import { createRuntime, type Runtime } from '../runtime/runtime.ts';
import { refused, type Subject, withRuntime } from './subject.test-support.ts';

/** Another runtime of the device, as another program part would make it. */
const another = (device: Device): Runtime => createRuntime({ devices: [device] });

function conformSharedMemory(subject: Subject): void {
  withRuntime(subject, 'shared memory', ({ device, runtime, agent }) => {
    using other = another(device);
    const pool = agent.pool('coarse-grained');
    const address = pool.allocate(5000);
    runtime.view(address, 1)[0] = 7;
    const handle = runtime.ipc.createMemoryHandle(address, 5000);
    assert.equal(handle.length, 32);
    assert.deepEqual(runtime.ipc.createMemoryHandle(address, 8192), handle, 'whole pages are the same allocation');
    handle[0]! ^= 1;
    assert.throws(() => other.ipc.attachMemory(handle, 5000), refused('INVALID_ARGUMENT'), 'a handle is a copy');
    handle[0]! ^= 1;
    const [first, second] = [
      other.ipc.attachMemory(handle, 5000, other.gpuAgents),
      other.ipc.attachMemory(handle, 8192),
    ];
    assert.deepEqual([first, second], [address, address]);
    assert.equal(other.view(first, 1)[0], 7);
    assert.deepEqual(
      [runtime, other].map(({ memory }) => memory.pointerInfo(address).type),
      ['hsa', 'ipc'],
    );
    assert.throws(() => other.gpuAgents[0]!.pool('coarse-grained').free(address), refused('INVALID_ALLOCATION'));
    pool.free(address);
    assert.equal(other.view(first, 1)[0], 7, 'it lives as long as someone uses it');
    assert.throws(() => pool.free(address), refused('INVALID_ALLOCATION'));
    assert.throws(() => runtime.ipc.createMemoryHandle(address, 5000), refused('INVALID_ARGUMENT'));
    other.ipc.detachMemory(first);
    const third = other.ipc.attachMemory(handle, 5000);
    for (const each of [second, third]) other.ipc.detachMemory(each);
    assert.throws(() => other.ipc.detachMemory(first), refused('INVALID_ARGUMENT'));
    assert.equal(device.memory.find(address), undefined);
    assert.throws(() => other.ipc.attachMemory(handle, 5000), refused('INVALID_ARGUMENT'), 'nobody uses it any more');
  });
}

function conformSharedSignals(subject: Subject): void {
  withRuntime(subject, 'a shared signal', ({ device, runtime, agent }) => {
    using other = another(device);
    const signal = runtime.ipc.createSignal(2n, agent);
    const handle = runtime.ipc.createSignalHandle(signal);
    const attached = other.ipc.attachSignal(handle);
    assert.equal(attached.address, signal.address);
    assert.equal(attached.load(), 2n, 'attaching leaves it as it is');
    const queue = runtime.createQueue(agent);
    queue.barrierValue({ completionSignal: signal });
    while (runtime.progress() !== 'idle');
    assert.equal(attached.waitSync('eq', 1n), 1n);
    assert.throws(() => runtime.createQueue(agent).barrierValue({ signal: attached }), refused('INVALID_SIGNAL'));
    signal[Symbol.dispose]();
    signal[Symbol.dispose]();
    attached.store(5n);
    const again = other.ipc.attachSignal(other.ipc.createSignalHandle(attached));
    attached[Symbol.dispose]();
    assert.equal(again.load(), 5n);
    again[Symbol.dispose]();
    assert.equal(device.memory.find(again.address), undefined);
    assert.throws(() => other.ipc.attachSignal(handle), refused('INVALID_ARGUMENT'));
  });

  withRuntime(subject, 'what a runtime shared or attached goes with the last of them', ({ device, runtime, agent }) => {
    const other = another(device);
    const address = agent.pool('coarse-grained').allocate(64);
    const signal = runtime.ipc.createSignal(3n);
    const [memoryHandle, signalHandle] = [
      runtime.ipc.createMemoryHandle(address, 64),
      runtime.ipc.createSignalHandle(signal),
    ];
    for (let i = 0; i < 3; i++) other.ipc.attachMemory(memoryHandle, 64);
    const attached = other.ipc.attachSignal(signalHandle);
    runtime[Symbol.dispose]();
    signal[Symbol.dispose]();
    assert.equal(attached.load(), 3n);
    assert.equal(other.view(address, 1)[0], 0);
    other[Symbol.dispose]();
    attached[Symbol.dispose]();
    for (const each of [address, signal.address]) assert.equal(device.memory.find(each), undefined);
  });
}

export function conformIpc(subject: Subject): void {
  conformSharedMemory(subject);
  conformSharedSignals(subject);
}
