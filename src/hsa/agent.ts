/** Agents: what can run code (hsa_agent_t; HSA runtime 1.2, section 2.3; spec/hsa.md section 1.4). */
import type { Device } from './device.ts';
import type { LoadedKernel } from './loaded-kernel.ts';
import type { MemoryPool, PoolKind } from './memory-pool.ts';
import { HsaError } from './status.ts';

export interface Isa {
  /** `amdgcn-amd-amdhsa--` and the target id. */
  readonly name: string;
  readonly targetId: string;
}

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

export class Agent {
  readonly kind: 'cpu' | 'gpu';
  /** Processor, e.g. `gfx90a`; `cpu` for the host. */
  readonly name: string;
  readonly isas: readonly Isa[];
  readonly info: AgentInfo;
  readonly pools: readonly MemoryPool[];
  /** What executes this agent's kernels; none for the CPU agent. */
  readonly device: Device | undefined;
  /** Kernels of frozen executables by kernel object, for what packets do not say of them. */
  readonly kernels = new Map<bigint, LoadedKernel>();

  constructor(pools: readonly MemoryPool[], device?: Device) {
    const properties = device?.properties;
    this.kind = properties === undefined ? 'cpu' : 'gpu';
    this.name = properties?.processor ?? 'cpu';
    this.isas =
      properties === undefined
        ? []
        : [{ name: `amdgcn-amd-amdhsa--${properties.targetId}`, targetId: properties.targetId }];
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
    this.device = device;
  }

  /**
   * The first pool of a kind; with `near` the first one that this GPU agent reaches, for devices with memories of their own.
   * Throws INVALID_MEMORY_POOL when the agent has none.
   */
  pool(kind: PoolKind, near?: Agent): MemoryPool {
    const memory = near?.requireDevice().memory;
    const pool = this.pools.find(
      (candidate) => candidate.kind === kind && (memory === undefined || candidate.memory === memory),
    );
    if (pool === undefined) throw new HsaError('INVALID_MEMORY_POOL', `agent ${this.name} has no ${kind} pool`);
    return pool;
  }

  /** The device behind a GPU agent. Throws INVALID_AGENT for the CPU agent. */
  requireDevice(): Device {
    if (this.device === undefined) throw new HsaError('INVALID_AGENT', `agent ${this.name} runs no kernels`);
    return this.device;
  }
}
