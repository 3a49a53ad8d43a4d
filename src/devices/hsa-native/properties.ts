/** What the library says of agents, as the Device contract has it. */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { BoardProperties } from '../../device/properties.ts';
import { MEMORY_POOL_INFO } from '../../hsa/memory/memory-info.ts';
import { AGENT_INFO } from '../../hsa/objects/agent-info.ts';
import { ISA_INFO } from '../../hsa/objects/isa-info.ts';
import type { HsaLibrary } from './library.ts';

const GPU = 1;
const SEGMENT_GLOBAL = 0n;
const SEGMENT_GROUP = 3n;
const FINE_GRAINED = 2n;
const KERNARG = 1n;

interface Pool {
  readonly handle: bigint;
  readonly sizeBytes: number;
}

export class AgentQueries {
  readonly #library: HsaLibrary;

  constructor(library: HsaLibrary) {
    this.#library = library;
  }

  agents(): bigint[] {
    const { call } = this.#library;
    return this.#library.handles((callback) => call.hsa_iterate_agents(callback, 0n), 'hsa_iterate_agents');
  }

  isGpu(agent: bigint): boolean {
    return this.number(agent, AGENT_INFO.device) === GPU;
  }

  name(agent: bigint): string {
    return this.text(agent, AGENT_INFO.name) ?? '';
  }

  /** The target id of the first instruction set, which is the exact one. */
  targetId(agent: bigint): string {
    const { call } = this.#library;
    const [isa] = this.#library.handles(
      (callback) => call.hsa_agent_iterate_isas(agent, callback, 0n),
      'hsa_agent_iterate_isas',
    );
    const name =
      isa === undefined ? undefined : this.#library.text((out) => call.hsa_isa_get_info_alt(isa, ISA_INFO.name, out));
    return name?.replace(/^.*--/, '') ?? this.name(agent);
  }

  wavefrontSize(agent: bigint): 32 | 64 {
    return this.#required(agent, AGENT_INFO.wavefrontSize) === 32 ? 32 : 64;
  }

  computeUnitCount(agent: bigint): number {
    return this.#required(agent, AGENT_INFO.computeUnitCount);
  }

  maxWorkgroupSize(agent: bigint): number {
    return this.#required(agent, AGENT_INFO.workgroupMaxSize);
  }

  maxWavesPerComputeUnit(agent: bigint): number {
    return this.#required(agent, AGENT_INFO.maxWavesPerCu);
  }

  /** Ticks per second of the GPU's clock; the system's where the library is too old to know. */
  timestampFrequency(agent: bigint): bigint {
    const { call } = this.#library;
    return (
      this.#library.info((out) => call.hsa_agent_get_info(agent, AGENT_INFO.timestampFrequency, out), 8) ??
      this.#library.info((out) => call.hsa_system_get_info(3, out), 8) ??
      1_000_000_000n
    );
  }

  groupSegmentBytes(agent: bigint): number {
    return Number(this.#pools(agent).find(({ segment }) => segment === SEGMENT_GROUP)?.sizeBytes ?? 0);
  }

  /**
   * The pool of the host whose memory both sides see at once; not the one for kernel arguments where there is
   * another.
   */
  fineGrainedPool(agent: bigint): Pool | undefined {
    const pools = this.#pools(agent).filter(
      ({ segment, flags }) => segment === SEGMENT_GLOBAL && (flags & FINE_GRAINED) !== 0n,
    );
    return pools.find(({ flags }) => (flags & KERNARG) === 0n) ?? pools[0];
  }

  #pools(agent: bigint): (Pool & { readonly segment: bigint; readonly flags: bigint })[] {
    const { call } = this.#library;
    const iterate = (callback: bigint) => call.hsa_amd_agent_iterate_memory_pools(agent, callback, 0n);
    return this.#library.handles(iterate, 'hsa_amd_agent_iterate_memory_pools').map((handle) => {
      const ask = (id: number, sizeBytes: 4 | 8) =>
        this.#library.info((out) => call.hsa_amd_memory_pool_get_info(handle, id, out), sizeBytes);
      return {
        handle,
        segment: ask(MEMORY_POOL_INFO.segment, 4) ?? -1n,
        flags: ask(MEMORY_POOL_INFO.globalFlags, 4) ?? 0n,
        sizeBytes: Number(ask(MEMORY_POOL_INFO.size, 8) ?? 0n),
      };
    });
  }

  /** Undefined where the library does not know it. */
  number(agent: bigint, id: number): number | undefined {
    const value = this.#library.info((out) => this.#library.call.hsa_agent_get_info(agent, id, out), 4);
    return value === undefined ? undefined : Number(value);
  }

  text(agent: bigint, id: number): string | undefined {
    return this.#library.text((out) => this.#library.call.hsa_agent_get_info(agent, id, out));
  }

  /** The sizes of level 1 to 4. */
  cacheSizes(agent: bigint): number[] {
    const sizes = new Uint32Array(4);
    const status = this.#library.call.hsa_agent_get_info(agent, AGENT_INFO.cacheSize, new Uint8Array(sizes.buffer));
    return status === 0 ? [...sizes] : [];
  }

  #required(agent: bigint, id: number): number {
    const value = this.number(agent, id);
    if (value !== undefined) return value;
    throw new WavewrightError('NO_DEVICE', `${this.#library.path} does not know agent information ${hex(id)}`);
  }
}

/** Everything that the library knows of the board. */
export function boardOf(queries: AgentQueries, agent: bigint): BoardProperties {
  const numbers = {
    chipId: AGENT_INFO.chipId,
    asicRevision: AGENT_INFO.asicRevision,
    pciLocation: AGENT_INFO.bdfId,
    pciDomain: AGENT_INFO.domain,
    maxClockMhz: AGENT_INFO.maxClockFrequency,
    memoryClockMhz: AGENT_INFO.memoryMaxFrequency,
    memoryWidthBits: AGENT_INFO.memoryWidth,
    simdsPerComputeUnit: AGENT_INFO.simdsPerCu,
    shaderEngineCount: AGENT_INFO.shaderEngines,
    shaderArraysPerEngine: AGENT_INFO.shaderArraysPerSe,
    xccCount: AGENT_INFO.xccCount,
    cachelineSizeBytes: AGENT_INFO.cachelineSize,
  };
  const known = Object.entries(numbers).flatMap(([key, id]) => {
    const value = queries.number(agent, id);
    return value === undefined ? [] : [[key, value] as const];
  });
  const productName = queries.text(agent, AGENT_INFO.productName);
  const uuid = queries.text(agent, AGENT_INFO.uuid);
  const caches = queries
    .cacheSizes(agent)
    .flatMap((sizeBytes, i) => (sizeBytes > 0 ? [{ name: `L${i + 1}`, level: i + 1, sizeBytes }] : []));
  return {
    ...Object.fromEntries(known),
    ...(productName !== undefined && { productName }),
    ...(uuid !== undefined && { uuid }),
    caches,
  };
}
