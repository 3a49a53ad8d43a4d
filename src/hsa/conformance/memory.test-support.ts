/**
 * Allocations, access, pointers, locks, copies: what they do, and every error that the specification names.
 */
import assert from 'node:assert/strict';
import {
  AGENT_MEMORY_POOL_INFO,
  agentMemoryPoolInfo,
  MEMORY_POOL_INFO,
  memoryPoolInfo,
} from '../memory/memory-info.ts';
import type { Agent } from '../objects/agent.ts';
import type { MemoryPool } from '../objects/memory-pool.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { refused, type Subject, withRuntime } from './subject.test-support.ts';

function conformAllocations(subject: Subject): void {
  withRuntime(subject, 'allocations of pools', ({ runtime, agent }) => {
    const pool = agent.pool('coarse-grained');
    const address = pool.allocate(100, { flags: 4 });
    assert.equal(address % BigInt(memoryPoolInfo(pool, MEMORY_POOL_INFO.runtimeAllocAlignment)), 0n);
    assert.deepEqual([...runtime.view(address, 100)], new Array(100).fill(0));
    for (const size of [0, -1, 1.5, Number.NaN]) assert.throws(() => pool.allocate(size), refused('INVALID_ARGUMENT'));
    assert.throws(() => pool.allocate(8, { flags: 8 }), refused('INVALID_ARGUMENT'));
    assert.throws(() => pool.allocate(8, { alignmentBytes: 24 }), refused('INVALID_ARGUMENT'));
    assert.throws(() => pool.allocate(pool.sizeBytes + 1), refused('INVALID_ALLOCATION'));
    assert.throws(() => agent.pool('group').allocate(8), refused('INVALID_ALLOCATION'));
    pool.free(0n);
    pool.free(address);
    for (const wrong of [address, address + 1n, 16n])
      assert.throws(() => pool.free(wrong), refused('INVALID_ALLOCATION'));
  });

  withRuntime(subject, 'access of agents', ({ runtime, agent }) => {
    const { memory, cpuAgent } = runtime;
    const address = cpuAgent.pool('fine-grained').allocate(64);
    memory.allowAccess([agent], address);
    assert.deepEqual(memory.pointerInfo(address).agents, [agent]);
    assert.equal(memory.pointerInfo(address).owner, cpuAgent);
    memory.allowAccess([cpuAgent], address);
    assert.deepEqual(memory.pointerInfo(address).agents, []);
    assert.throws(() => memory.allowAccess([], address), refused('INVALID_ARGUMENT'));
    assert.throws(() => memory.allowAccess([agent], address + 1n), refused('INVALID_ALLOCATION'));
    const device = subject.open();
    using other = createRuntime({ devices: [device] });
    assert.throws(() => memory.allowAccess([other.gpuAgents[0]!], address), refused('INVALID_AGENT'));
    device.close();
  });
}

function conformEnforcedAccess(subject: Subject): void {
  withRuntime(
    subject,
    'access that cannot be enforced is refused',
    ({ device }) => {
      assert.throws(() => createRuntime({ devices: [device], enforcesAccess: true }), refused('NOT_SUPPORTED'));
    },
    { without: 'access' },
  );

  withRuntime(
    subject,
    'access that is enforced',
    ({ device }) => {
      const options = { devices: [device], enforcesAccess: true };
      using runtime = createRuntime(options);
      const { memory, cpuAgent } = runtime;
      const agent = runtime.gpuAgents[0]!;
      const [system, own] = [cpuAgent.pool('fine-grained'), agent.pool('coarse-grained')];
      const access = (each: Agent, pool: MemoryPool) => agentMemoryPoolInfo(each, pool, AGENT_MEMORY_POOL_INFO.access);
      assert.deepEqual([access(agent, system), access(agent, own), access(cpuAgent, system)], [2, 1, 1]);
      const users = (address: bigint) => memory.pointerInfo(address).agents;
      const [shared, mine] = [system.allocate(64), own.allocate(64)];
      /** What kernels may do. */
      const mayUse = (address: bigint) => device.memory.find(address)?.access === undefined;
      const seen = () => [shared, mine].map((address) => [users(address), mayUse(address)]);
      assert.deepEqual(seen(), [
        [[], false],
        [[agent], true],
      ]);
      for (const address of [shared, mine]) memory.allowAccess([agent], address);
      assert.deepEqual(seen(), [
        [[agent], true],
        [[agent], true],
      ]);
      for (const address of [shared, mine]) memory.allowAccess([cpuAgent], address);
      assert.deepEqual(seen(), [
        [[], false],
        [[agent], true],
      ]);
      memory.migrate(shared, own);
      assert.deepEqual([users(shared), mayUse(shared)], [[agent], true]);
      memory.migrate(shared, system);
      assert.deepEqual([users(shared), mayUse(shared)], [[], false]);
      const other = createRuntime({ devices: [device] });
      other.ipc.attachMemory(runtime.ipc.createMemoryHandle(shared, 64), 64, [other.cpuAgent]);
      assert.equal(mayUse(shared), false);
      other.ipc.attachMemory(runtime.ipc.createMemoryHandle(shared, 64), 64, other.gpuAgents);
      assert.equal(mayUse(shared), true);
      other[Symbol.dispose]();
      const [everyone, host] = [memory.lock(new Uint8Array(8)), memory.lock(new Uint8Array(8), [cpuAgent])];
      assert.deepEqual(
        [everyone, host].map(({ agentAddress }) => mayUse(agentAddress)),
        [true, false],
      );
    },
    { needs: ['access'] },
  );
}

function conformPointers(subject: Subject): void {
  withRuntime(subject, 'migration', ({ runtime, agent }) => {
    const { memory, cpuAgent } = runtime;
    const [system, own, group] = [cpuAgent.pool('fine-grained'), agent.pool('coarse-grained'), agent.pool('group')];
    const address = system.allocate(64);
    assert.deepEqual([memory.canMigrate(system, own), memory.canMigrate(system, group)], [true, false]);
    memory.migrate(address, own);
    assert.deepEqual([memory.pointerInfo(address).owner, memory.pointerInfo(address).base], [agent, address]);
    assert.throws(() => memory.migrate(address, group), refused('INVALID_MEMORY_POOL'));
    assert.throws(() => memory.migrate(16n, own), refused('INVALID_ALLOCATION'));
    memory.assignAgent(address, agent, 'rw');
    assert.throws(() => memory.assignAgent(16n, agent, 'ro'), refused('INVALID_ALLOCATION'));
    assert.throws(() => memory.assignAgent(address, agent, 'x' as 'ro'), refused('INVALID_ARGUMENT'));
  });

  withRuntime(subject, 'pointers, user data, deallocation', ({ runtime, agent }) => {
    const { memory } = runtime;
    const pool = agent.pool('coarse-grained');
    const address = pool.allocate(200);
    memory.setPointerUserData(address, { mine: 1 });
    assert.deepEqual(memory.pointerInfo(address + 199n).userData, { mine: 1 });
    assert.deepEqual(memory.pointerInfo(16n), { type: 'unknown' });
    assert.throws(() => memory.setPointerUserData(address + 1n, 0), refused('INVALID_ALLOCATION'));
    const freed: bigint[] = [];
    memory.onDeallocate(address + 8n, (at) => freed.push(at));
    const remove = memory.onDeallocate(address, () => assert.fail('it was removed'));
    assert.deepEqual([remove(), remove()], [true, false]);
    assert.throws(() => memory.onDeallocate(16n, () => {}), refused('INVALID_ALLOCATION'));
    pool.free(address);
    assert.deepEqual(freed, [address + 8n]);
    pool.free(pool.allocate(200));
    assert.equal(freed.length, 1, 'a callback is for one allocation');
  });
}

function conformLocks(subject: Subject): void {
  withRuntime(subject, 'locked host memory', ({ runtime, agent }) => {
    const { memory } = runtime;
    const host = Uint8Array.of(1, 2, 3, 4);
    const { agentAddress } = memory.lock(host, [agent]);
    assert.deepEqual(memory.pointerInfo(agentAddress).type, 'locked');
    assert.equal(memory.pointerInfo(agentAddress).hostBytes, host);
    assert.deepEqual([...runtime.view(agentAddress, 4)], [1, 2, 3, 4]);
    host[0] = 9;
    runtime.view(agentAddress, 4)[3] = 8;
    runtime.progress();
    assert.deepEqual(
      [[...host], [...runtime.view(agentAddress, 4)]],
      [
        [9, 2, 3, 8],
        [9, 2, 3, 8],
      ],
    );
    runtime.view(agentAddress, 4)[1] = 7;
    memory.unlock(host);
    assert.deepEqual([...host], [9, 7, 3, 8]);
    assert.throws(() => memory.unlock(host), refused('INVALID_ARGUMENT'));
    assert.throws(() => memory.lock(new Uint8Array(0)), refused('INVALID_ARGUMENT'));
    assert.throws(() => memory.lock(host, []), refused('INVALID_ARGUMENT'));
    const device = subject.open();
    using other = createRuntime({ devices: [device] });
    assert.throws(() => memory.lock(host, other.gpuAgents), refused('INVALID_AGENT'));
    assert.throws(() => memory.lock(host, [agent], other.cpuAgent.pools[0]), refused('INVALID_MEMORY_POOL'));
    device.close();
  });
}

function conformCopies(subject: Subject): void {
  withRuntime(subject, 'copies, engines, fill', ({ runtime, agent }) => {
    const pool = agent.pool('coarse-grained');
    const [from, to] = [pool.allocate(64), pool.allocate(64)];
    const { cpuAgent } = runtime;
    runtime.fill(from, 0x0102_0304, 4);
    const [gate, done] = [runtime.createSignal(1n), runtime.createSignal(1n)];
    const copy = { destination: to, source: from, sizeBytes: 16 };
    const agents = { destinationAgent: agent, sourceAgent: cpuAgent };
    assert.equal(runtime.copyEngineStatus(agent, cpuAgent), 1);
    runtime.copyAsync({ ...copy, ...agents, engine: 1, dependencies: [gate], completionSignal: done });
    assert.throws(() => runtime.copyEngineStatus(agent, cpuAgent), refused('OUT_OF_RESOURCES'));
    assert.throws(() => runtime.copyEngineStatus(agent, agent), refused('INVALID_AGENT'));
    runtime.progress();
    assert.deepEqual([runtime.view(to, 1)[0], done.load()], [0, 1n]);
    gate.store(0n);
    assert.equal(done.waitSync('lt', 1n), 0n);
    assert.deepEqual([...runtime.view(to, 4)], [4, 3, 2, 1]);
    const { startNs, endNs } = runtime.dispatchTime(done);
    assert.ok(startNs <= endNs);
    runtime.copiesAreTimed = false;
    const untimed = runtime.createSignal(1n);
    runtime.copyAsync({ ...copy, completionSignal: untimed });
    untimed.waitSync('eq', 0n);
    assert.deepEqual([untimed.startTicks, untimed.endTicks], [0n, 0n]);
    assert.throws(() => runtime.copyAsync({ ...copy, engine: 2 }), refused('INVALID_ARGUMENT'));
    assert.throws(() => runtime.copyAsync({ ...copy, source: 16n }), refused('INVALID_ARGUMENT'));
    assert.throws(() => runtime.copyAsync({ ...copy, sizeBytes: -1 }), refused('INVALID_ARGUMENT'));
    done[Symbol.dispose]();
    assert.throws(() => runtime.copyAsync({ ...copy, completionSignal: done }), refused('INVALID_SIGNAL'));
    assert.throws(() => runtime.fill(from + 2n, 0, 1), refused('INVALID_ARGUMENT'));
    assert.throws(() => runtime.convertTick(cpuAgent, 0n), refused('INVALID_AGENT'));
  });
}

export function conformMemory(subject: Subject): void {
  conformAllocations(subject);
  conformEnforcedAccess(subject);
  conformPointers(subject);
  conformLocks(subject);
  conformCopies(subject);
}
