/**
 * Attributes by number: each of the specification is answered with the right kind of value, any other one is
 * refused.
 */
import assert from 'node:assert/strict';
import {
  AGENT_MEMORY_POOL_INFO,
  agentMemoryPoolInfo,
  MEMORY_POOL_INFO,
  memoryPoolInfo,
  REGION_INFO,
  regionInfo,
} from '../memory/memory-info.ts';
import { AGENT_INFO, agentInfo, CACHE_INFO, cacheInfo } from '../objects/agent-info.ts';
import { EXTENSION } from '../objects/extensions.ts';
import { isaCompatible, isaFromName } from '../objects/isa.ts';
import {
  ISA_INFO,
  isaExceptionPolicies,
  isaInfo,
  isaRoundMethod,
  WAVEFRONT_INFO,
  wavefrontInfo,
} from '../objects/isa-info.ts';
import { SYSTEM_INFO } from '../objects/system-info.ts';
import { refused, type Subject, withRuntime } from './subject.test-support.ts';

const UNKNOWN = 0x7fff;

function conformSystemAndAgents(subject: Subject): void {
  withRuntime(subject, 'system information', ({ runtime }) => {
    for (const id of Object.values(SYSTEM_INFO)) assert.notEqual(runtime.systemInfo(id), undefined);
    assert.equal(runtime.systemInfo(SYSTEM_INFO.versionMajor), 1);
    assert.equal(runtime.systemInfo(SYSTEM_INFO.signalMaxWait), 0xffff_ffff_ffff_ffffn);
    const [first, second] = [runtime.systemInfo(SYSTEM_INFO.timestamp), runtime.systemInfo(SYSTEM_INFO.timestamp)];
    assert.ok((first as bigint) <= (second as bigint));
    assert.throws(() => runtime.systemInfo(UNKNOWN), refused('INVALID_ARGUMENT'));
    const bits = runtime.systemInfo(SYSTEM_INFO.extensions) as Uint8Array;
    assert.equal(bits.length, 128);
    assert.equal(bits[EXTENSION.amdLoader >> 3]! & (1 << (EXTENSION.amdLoader & 7)), 2);
    assert.equal(runtime.extensionMinor(EXTENSION.amdLoader, 1), 3);
    assert.equal(runtime.extensionMinor(EXTENSION.amdLoader, 2), undefined);
    assert.equal(runtime.extensionMinor(EXTENSION.images, 1), undefined);
  });

  withRuntime(subject, 'agent information', ({ runtime, agent, device }) => {
    const { cpuAgent } = runtime;
    for (const each of runtime.agents) {
      for (const id of Object.values(AGENT_INFO)) {
        if (id === AGENT_INFO.isa && each === cpuAgent) continue;
        assert.notEqual(agentInfo(each, id), undefined);
      }
      assert.throws(() => agentInfo(each, UNKNOWN), refused('INVALID_ARGUMENT'));
    }
    assert.throws(() => agentInfo(cpuAgent, AGENT_INFO.isa), refused('INVALID_ARGUMENT'));
    const { properties } = device;
    const expected = new Map<number, unknown>([
      [AGENT_INFO.name, properties.processor],
      [AGENT_INFO.vendorName, 'AMD'],
      [AGENT_INFO.feature, 1],
      [AGENT_INFO.profile, 0],
      [AGENT_INFO.wavefrontSize, properties.wavefrontSize],
      [AGENT_INFO.workgroupMaxSize, properties.maxWorkgroupSize],
      [AGENT_INFO.queueMaxSize, 131_072],
      [AGENT_INFO.node, 1],
      [AGENT_INFO.device, 1],
      [AGENT_INFO.isa, agent.isas[0]],
      [AGENT_INFO.computeUnitCount, properties.computeUnitCount],
      [AGENT_INFO.nearestCpu, cpuAgent],
      [AGENT_INFO.timestampFrequency, BigInt(properties.timestampFrequencyHz)],
    ]);
    for (const [id, value] of expected) assert.deepEqual(agentInfo(agent, id), value, `0x${id.toString(16)}`);
    assert.match(agentInfo(agent, AGENT_INFO.uuid) as string, /^GPU-[0-9a-f]{16}$|^GPU-XX$/);
    assert.deepEqual([agentInfo(cpuAgent, AGENT_INFO.device), agentInfo(cpuAgent, AGENT_INFO.feature)], [0, 0]);
    const free = agentInfo(agent, AGENT_INFO.memoryAvailable) as bigint;
    agent.pool('coarse-grained').allocate(4096);
    assert.equal(free - (agentInfo(agent, AGENT_INFO.memoryAvailable) as bigint), 4096n);
    const counters = agentInfo(agent, AGENT_INFO.clockCounters);
    assert.deepEqual(Object.keys(counters).toSorted(), ['cpu', 'gpu', 'system', 'systemFrequencyHz']);
    for (const cache of agent.caches) {
      assert.equal(cacheInfo(cache, CACHE_INFO.nameLength), cache.name.length);
      assert.equal(cacheInfo(cache, CACHE_INFO.size), cache.sizeBytes);
      assert.throws(() => cacheInfo(cache, UNKNOWN), refused('INVALID_ARGUMENT'));
    }
  });
}

function conformIsasAndPools(subject: Subject): void {
  withRuntime(subject, 'instruction sets and waves', ({ agent }) => {
    const isa = agent.isas[0]!;
    for (const id of Object.values(ISA_INFO)) assert.notEqual(isaInfo(isa, id), undefined);
    assert.equal(isaInfo(isa, ISA_INFO.nameLength), isa.name.length + 1);
    assert.deepEqual(isaInfo(isa, ISA_INFO.profiles), [true, false]);
    assert.throws(() => isaInfo(isa, UNKNOWN), refused('INVALID_ARGUMENT'));
    assert.deepEqual(isaFromName(isa.name), isa);
    assert.throws(() => isaFromName('amdgcn-amd-amdhsa--gfx0'), refused('INVALID_ISA_NAME'));
    assert.throws(() => isaFromName(''), refused('INVALID_ISA_NAME'));
    assert.equal(isaCompatible(isa, isa), true);
    assert.equal(isaCompatible(isaFromName('amdgcn-amd-amdhsa--gfx803'), isa), false);
    assert.deepEqual([isaExceptionPolicies(isa), isaRoundMethod(isa)], [0, 1]);
    for (const size of isa.wavefrontSizes) assert.equal(wavefrontInfo(isa, size, WAVEFRONT_INFO.size), size);
    assert.throws(() => wavefrontInfo(isa, 48, WAVEFRONT_INFO.size), refused('INVALID_WAVEFRONT'));
    assert.throws(() => wavefrontInfo(isa, isa.wavefrontSizes[0]!, 1), refused('INVALID_ARGUMENT'));
  });

  withRuntime(subject, 'pools, regions and their agents', ({ runtime, agent }) => {
    const { cpuAgent } = runtime;
    for (const pool of [...cpuAgent.pools, ...agent.pools]) {
      for (const id of Object.values(MEMORY_POOL_INFO)) assert.notEqual(memoryPoolInfo(pool, id), undefined);
      for (const id of Object.values(REGION_INFO)) assert.notEqual(regionInfo(pool, id), undefined);
      assert.throws(() => memoryPoolInfo(pool, UNKNOWN), refused('INVALID_ARGUMENT'));
      assert.throws(() => regionInfo(pool, UNKNOWN), refused('INVALID_ARGUMENT'));
    }
    const [system, own, group] = [cpuAgent.pool('kernarg'), agent.pool('coarse-grained'), agent.pool('group')];
    const values = (...ids: number[]) => [system, own].map((pool) => ids.map((id) => memoryPoolInfo(pool, id)));
    const { segment, globalFlags, accessibleByAll, location, runtimeAllocAllowed } = MEMORY_POOL_INFO;
    assert.deepEqual(values(segment, globalFlags, accessibleByAll, location, runtimeAllocAllowed), [
      [0, 3, true, 0, true],
      [0, 4, false, 1, true],
    ]);
    assert.deepEqual([memoryPoolInfo(group, segment), memoryPoolInfo(group, runtimeAllocAllowed)], [3, false]);
    assert.equal(memoryPoolInfo(group, globalFlags), 0);
    assert.deepEqual(agent.regions.slice(0, agent.pools.length), agent.pools);
    assert.ok(agent.regions.includes(system));
    const pair = (id: number) => [agentMemoryPoolInfo(agent, own, id), agentMemoryPoolInfo(agent, system, id)];
    assert.deepEqual(pair(AGENT_MEMORY_POOL_INFO.access), [1, 1]);
    assert.deepEqual(pair(AGENT_MEMORY_POOL_INFO.linkHops), [0, 1]);
    assert.deepEqual(
      pair(AGENT_MEMORY_POOL_INFO.linkInfo).map((links) => (links as readonly unknown[]).length),
      [0, 1],
    );
    assert.equal(agentMemoryPoolInfo(cpuAgent, group, AGENT_MEMORY_POOL_INFO.access), 0);
    assert.throws(() => agentMemoryPoolInfo(agent, own, UNKNOWN), refused('INVALID_ARGUMENT'));
  });
}

export function conformInfo(subject: Subject): void {
  conformSystemAndAgents(subject);
  conformIsasAndPools(subject);
}
