/** What can be asked of pools and regions by number (hsa_amd_memory_pool_info_t, hsa_region_info_t). */
import { Agent } from '../objects/agent.ts';
import { expectHandle } from '../objects/handles.ts';
import { answer, type Questions, SEGMENT_GLOBAL, SEGMENT_GROUP } from '../objects/info-table.ts';
import { MemoryPool } from '../objects/memory-pool.ts';
import { HsaError } from '../objects/status.ts';

/** Numbers of the specification. */
export const MEMORY_POOL_INFO = {
  segment: 0,
  globalFlags: 1,
  size: 2,
  runtimeAllocAllowed: 5,
  runtimeAllocGranule: 6,
  runtimeAllocAlignment: 7,
  accessibleByAll: 15,
  allocMaxSize: 16,
  location: 17,
  runtimeAllocRecommendedGranule: 18,
} as const;

export const REGION_INFO = {
  segment: 0,
  globalFlags: 1,
  size: 2,
  allocMaxSize: 4,
  runtimeAllocAllowed: 5,
  runtimeAllocGranule: 6,
  runtimeAllocAlignment: 7,
  allocMaxPrivateWorkgroupSize: 8,
  hostAccessible: 0xa000,
  base: 0xa001,
  busWidth: 0xa002,
  maxClockFrequency: 0xa003,
} as const;

export const AGENT_MEMORY_POOL_INFO = { access: 0, linkHops: 1, linkInfo: 2 } as const;

/** hsa_amd_memory_pool_access_t. */
export const POOL_ACCESS = { neverAllowed: 0, allowedByDefault: 1, disallowedByDefault: 2 } as const;

/** hsa_amd_memory_pool_link_info_t of one hop; 0 for what the device does not know. */
export interface LinkInfo {
  readonly minLatency: number;
  readonly maxLatency: number;
  readonly minBandwidth: number;
  readonly maxBandwidth: number;
  readonly atomicSupport32: boolean;
  readonly atomicSupport64: boolean;
  readonly coherentSupport: boolean;
  /** hsa_amd_link_info_type_t. */
  readonly type: number;
  readonly numaDistance: number;
}

const isAllocatable = ({ memory }: MemoryPool): boolean => memory !== undefined;
/** The granule of a pool that hands out memory, 0 for the group pool. */
const granule = (pool: MemoryPool): number => (isAllocatable(pool) ? pool.granuleBytes : 0);
const maxSize = (pool: MemoryPool): number => (isAllocatable(pool) ? pool.sizeBytes : 0);

const COMMON: Questions<MemoryPool, number | bigint | boolean> = {
  [MEMORY_POOL_INFO.segment]: ({ kind }) => (kind === 'group' ? SEGMENT_GROUP : SEGMENT_GLOBAL),
  // Flags are those of the global segment; rocminfo asks others for them, too.
  [MEMORY_POOL_INFO.globalFlags]: ({ kind, flags }) => (kind === 'group' ? 0 : flags),
  [MEMORY_POOL_INFO.size]: ({ sizeBytes }) => sizeBytes,
  [MEMORY_POOL_INFO.runtimeAllocAllowed]: isAllocatable,
  [MEMORY_POOL_INFO.runtimeAllocGranule]: granule,
  [MEMORY_POOL_INFO.runtimeAllocAlignment]: granule,
};

const POOL: Questions<MemoryPool, number | bigint | boolean> = {
  ...COMMON,
  [MEMORY_POOL_INFO.accessibleByAll]: ({ location, kind }) => location === 'cpu' && kind !== 'group',
  [MEMORY_POOL_INFO.allocMaxSize]: maxSize,
  [MEMORY_POOL_INFO.location]: ({ location }) => (location === 'cpu' ? 0 : 1),
  [MEMORY_POOL_INFO.runtimeAllocRecommendedGranule]: granule,
};

const REGION: Questions<MemoryPool, number | bigint | boolean> = {
  ...COMMON,
  [REGION_INFO.allocMaxSize]: maxSize,
  [REGION_INFO.allocMaxPrivateWorkgroupSize]: () => 0,
  [REGION_INFO.hostAccessible]: isAllocatable,
  // Addresses do not begin at one place.
  [REGION_INFO.base]: () => 0n,
  [REGION_INFO.busWidth]: () => 0,
  [REGION_INFO.maxClockFrequency]: () => 0,
};

function expectPool(pool: MemoryPool, status: 'INVALID_MEMORY_POOL' | 'INVALID_REGION'): void {
  expectHandle(pool, MemoryPool, status);
  pool.allocations.lifetime.expect();
}

/**
 * hsa_amd_memory_pool_get_info. Throws INVALID_ARGUMENT for what the pool does not have, NOT_INITIALIZED
 * after shutting down.
 */
export function memoryPoolInfo(pool: MemoryPool, id: number): number | bigint | boolean {
  expectPool(pool, 'INVALID_MEMORY_POOL');
  return answer(POOL, id, pool, `the ${pool.kind} pool`);
}

/** hsa_region_get_info; errors as `memoryPoolInfo`. */
export function regionInfo(region: MemoryPool, id: number): number | bigint | boolean {
  expectPool(region, 'INVALID_REGION');
  return answer(REGION, id, region, `the ${region.kind} region`);
}

const PCIE = 2;
const LINK: LinkInfo = {
  minLatency: 0,
  maxLatency: 0,
  minBandwidth: 0,
  maxBandwidth: 0,
  atomicSupport32: true,
  atomicSupport64: true,
  coherentSupport: true,
  type: PCIE,
  numaDistance: 0,
};

interface Pair {
  readonly agent: Agent;
  readonly pool: MemoryPool;
}

/** Hops between an agent and a pool that it reaches. */
const hops = ({ agent, pool }: Pair): number =>
  agent.reaches(pool) && !agent.pools.includes(pool) && pool.memory !== undefined ? 1 : 0;

const PAIR: Questions<Pair, number | readonly LinkInfo[]> = {
  [AGENT_MEMORY_POOL_INFO.access]: ({ agent, pool }) => {
    if (!agent.reaches(pool)) return POOL_ACCESS.neverAllowed;
    const isGiven = pool.allocations.enforcesAccess && agent.kind === 'gpu' && !agent.pools.includes(pool);
    return isGiven ? POOL_ACCESS.disallowedByDefault : POOL_ACCESS.allowedByDefault;
  },
  [AGENT_MEMORY_POOL_INFO.linkHops]: hops,
  [AGENT_MEMORY_POOL_INFO.linkInfo]: (pair) => Array.from({ length: hops(pair) }, () => LINK),
};

/**
 * hsa_amd_agent_memory_pool_get_info. An agent that reaches memory may use it, but where the runtime enforces
 * access. Errors as `memoryPoolInfo`; INVALID_AGENT.
 */
export function agentMemoryPoolInfo(agent: Agent, pool: MemoryPool, id: number): number | readonly LinkInfo[] {
  expectHandle(agent, Agent, 'INVALID_AGENT');
  expectPool(pool, 'INVALID_MEMORY_POOL');
  if (pool.allocations.lifetime !== agent.lifetime) {
    throw new HsaError('INVALID_MEMORY_POOL', `the ${pool.kind} pool belongs to another runtime`);
  }
  return answer(PAIR, id, { agent, pool }, `agent ${agent.name} with the ${pool.kind} pool`);
}
