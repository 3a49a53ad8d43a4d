/** Agents: what can run code (hsa_agent_t; HSA runtime 1.2, section 2.3). */
import type { Device } from '../../device/device.ts';
import { agentIsa, type Isa } from './isa.ts';
import type { Lifetime } from './lifetime.ts';
import type { MemoryPool, PoolKind } from './memory-pool.ts';
import type { ResidentCode, ResidentKernel } from './resident-code.ts';
import { HsaError } from './status.ts';

export interface AgentInfo {
  readonly vendor: 'AMD' | 'CPU';
  readonly profile: 'base' | 'full';
  /** 0 for the CPU agent, as all figures of kernel execution. */
  readonly wavefrontSize: number;
  readonly computeUnitCount: number;
  readonly maxWavesPerComputeUnit: number;
  readonly maxWorkgroupSize: number;
  readonly groupSegmentSizeBytes: number;
  readonly timestampFrequencyHz: number;
}

/** hsa_cache_t. */
export interface Cache {
  readonly name: string;
  readonly level: number;
  readonly sizeBytes: number;
}

export interface AgentOptions {
  readonly lifetime: Lifetime;
  /** Position among the agents of the runtime. */
  readonly node: number;
  readonly pools: readonly MemoryPool[];
  /** Pools of other agents that this one reaches. */
  readonly systemPools?: readonly MemoryPool[];
  /** None for the CPU agent. */
  readonly device?: Device;
  /** The CPU agent, for a GPU agent. */
  readonly nearestCpu?: Agent;
}

export class Agent {
  readonly kind: 'cpu' | 'gpu';
  /** Processor, e.g. `gfx90a`; `cpu` for the host. */
  readonly name: string;
  readonly isas: readonly Isa[];
  readonly info: AgentInfo;
  readonly pools: readonly MemoryPool[];
  /** Its own pools and those of system memory that it reaches (hsa_agent_iterate_regions). */
  readonly regions: readonly MemoryPool[];
  /** Nearest first; none for the emulator, which has no caches. */
  readonly caches: readonly Cache[];
  readonly node: number;
  readonly nearestCpu: Agent;
  readonly lifetime: Lifetime;
  /** What executes this agent's kernels; none for the CPU agent. */
  readonly device: Device | undefined;
  /**
   * Kernels by kernel object, for what packets do not say of them. Freezing an executable enters its kernels
   * here, disposing it removes them.
   */
  readonly kernels = new Map<bigint, ResidentKernel>();
  /** The code objects of frozen executables, which fault reports ask for source lines. */
  readonly codeObjects = new Set<ResidentCode>();

  constructor({ lifetime, node, pools, systemPools = [], device, nearestCpu }: AgentOptions) {
    const properties = device?.properties;
    this.kind = properties === undefined ? 'cpu' : 'gpu';
    this.name = properties?.processor ?? 'cpu';
    this.isas = properties === undefined ? [] : [agentIsa(properties)];
    this.info = {
      vendor: properties === undefined ? 'CPU' : 'AMD',
      profile: properties === undefined ? 'full' : 'base',
      wavefrontSize: properties?.wavefrontSize ?? 0,
      computeUnitCount: properties?.computeUnitCount ?? 0,
      maxWavesPerComputeUnit: properties?.maxWavesPerComputeUnit ?? 0,
      maxWorkgroupSize: properties?.maxWorkgroupSize ?? 0,
      groupSegmentSizeBytes: properties?.ldsSizeBytes ?? 0,
      timestampFrequencyHz: properties?.timestampFrequencyHz ?? 0,
    };
    this.pools = pools;
    this.regions = [...pools, ...systemPools];
    this.caches = properties?.board?.caches ?? [];
    this.node = node;
    this.nearestCpu = nearestCpu ?? this;
    this.lifetime = lifetime;
    this.device = device;
  }

  /**
   * The first pool of a kind; with `near` the first one that this GPU agent reaches, for devices with
   * memories of their own. Throws INVALID_MEMORY_POOL when the agent has none.
   */
  pool(kind: PoolKind, near?: Agent): MemoryPool {
    const memory = near?.requireDevice().memory;
    const pool = this.pools.find(
      (candidate) => candidate.kind === kind && (memory === undefined || candidate.memory === memory),
    );
    if (pool === undefined) throw new HsaError('INVALID_MEMORY_POOL', `agent ${this.name} has no ${kind} pool`);
    return pool;
  }

  /**
   * Whether the agent can use the pool's memory: its own, and system memory that its device is connected to.
   */
  reaches(pool: MemoryPool): boolean {
    if (pool.memory === undefined) return this.pools.includes(pool);
    return this.device === undefined || this.device.memory === pool.memory;
  }

  /** The device behind a GPU agent. Throws INVALID_AGENT for the CPU agent. */
  requireDevice(): Device {
    if (this.device === undefined) throw new HsaError('INVALID_AGENT', `agent ${this.name} runs no kernels`);
    return this.device;
  }
}
