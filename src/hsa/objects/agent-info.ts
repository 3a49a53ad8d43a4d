/** What can be asked of an agent by number (hsa_agent_info_t, hsa_amd_agent_info_t), and of its caches. */

import type { BoardProperties } from '../../device/properties.ts';
import { Agent, type Cache } from './agent.ts';
import { extensionBits } from './extensions.ts';
import { expectHandle } from './handles.ts';
import {
  answer,
  FBARRIER_MAX_SIZE,
  GRID_MAX_DIM,
  GRID_MAX_SIZE,
  MACHINE_MODEL_LARGE,
  MAX_QUEUE_SIZE_PACKETS,
  PROFILES,
  type Questions,
  ROUNDING_MODES,
} from './info-table.ts';
import type { Isa } from './isa.ts';
import { SYSTEM_FREQUENCY_HZ, systemTimestamp } from './system-info.ts';

/** Numbers of the specification. */
export const AGENT_INFO = {
  name: 0,
  vendorName: 1,
  feature: 2,
  machineModel: 3,
  profile: 4,
  defaultFloatRoundingMode: 5,
  wavefrontSize: 6,
  workgroupMaxDim: 7,
  workgroupMaxSize: 8,
  gridMaxDim: 9,
  gridMaxSize: 10,
  fbarrierMaxSize: 11,
  queuesMax: 12,
  queueMinSize: 13,
  queueMaxSize: 14,
  queueType: 15,
  node: 16,
  device: 17,
  cacheSize: 18,
  isa: 19,
  extensions: 20,
  versionMajor: 21,
  versionMinor: 22,
  baseProfileDefaultFloatRoundingModes: 23,
  fastF16Operation: 24,
  chipId: 0xa000,
  cachelineSize: 0xa001,
  computeUnitCount: 0xa002,
  maxClockFrequency: 0xa003,
  driverNodeId: 0xa004,
  maxAddressWatchPoints: 0xa005,
  bdfId: 0xa006,
  memoryWidth: 0xa007,
  memoryMaxFrequency: 0xa008,
  productName: 0xa009,
  maxWavesPerCu: 0xa00a,
  simdsPerCu: 0xa00b,
  shaderEngines: 0xa00c,
  shaderArraysPerSe: 0xa00d,
  hdpFlush: 0xa00e,
  domain: 0xa00f,
  cooperativeQueues: 0xa010,
  uuid: 0xa011,
  asicRevision: 0xa012,
  svmDirectHostAccess: 0xa013,
  cooperativeComputeUnitCount: 0xa014,
  memoryAvailable: 0xa015,
  timestampFrequency: 0xa016,
  asicFamilyId: 0xa107,
  ucodeVersion: 0xa108,
  sdmaUcodeVersion: 0xa109,
  sdmaEngines: 0xa10a,
  sdmaXgmiEngines: 0xa10b,
  iommuSupport: 0xa110,
  xccCount: 0xa111,
  driverUid: 0xa112,
  nearestCpu: 0xa113,
  memoryProperties: 0xa114,
  aqlExtensions: 0xa115,
  scratchLimitMax: 0xa116,
  scratchLimitCurrent: 0xa117,
  clockCounters: 0xa118,
} as const;

/**
 * hsa_amd_clock_counters_t: device, host and system clock at about the same time, and the ticks per second of
 * the last.
 */
export interface ClockCounters {
  readonly gpu: bigint;
  readonly cpu: bigint;
  readonly system: bigint;
  readonly systemFrequencyHz: bigint;
}

export type AgentInfoValue =
  | number
  | bigint
  | string
  | boolean
  | readonly number[]
  | readonly bigint[]
  | Uint8Array
  | Isa
  | Agent
  | ClockCounters;

const CPU_DEVICE = 0;
const GPU_DEVICE = 1;
const KERNEL_DISPATCH = 1;
const CACHE_LEVELS = 4;
const ONE_COPY_ENGINE = 1;
const CACHELINE_BYTES = 64;
const UUID_DIGITS = 16;

const board = ({ device }: Agent): BoardProperties => device?.properties.board ?? {};
const isGpu = ({ kind }: Agent): boolean => kind === 'gpu';
/** The value for a GPU agent, 0 for the CPU agent. */
const gpu = <T>(agent: Agent, value: T): T | 0 => (isGpu(agent) ? value : 0);

function cacheSizes({ caches }: Agent): number[] {
  return Array.from({ length: CACHE_LEVELS }, (_, i) => caches.find(({ level }) => level === i + 1)?.sizeBytes ?? 0);
}

const QUESTIONS: Questions<Agent, AgentInfoValue> = {
  [AGENT_INFO.name]: ({ name }) => name,
  [AGENT_INFO.vendorName]: ({ info }) => info.vendor,
  [AGENT_INFO.feature]: (agent) => gpu(agent, KERNEL_DISPATCH),
  [AGENT_INFO.machineModel]: () => MACHINE_MODEL_LARGE,
  [AGENT_INFO.profile]: ({ info }) => PROFILES[info.profile],
  [AGENT_INFO.defaultFloatRoundingMode]: () => ROUNDING_MODES.near,
  [AGENT_INFO.wavefrontSize]: ({ info }) => info.wavefrontSize,
  [AGENT_INFO.workgroupMaxDim]: ({ info }) => [info.maxWorkgroupSize, info.maxWorkgroupSize, info.maxWorkgroupSize],
  [AGENT_INFO.workgroupMaxSize]: ({ info }) => info.maxWorkgroupSize,
  [AGENT_INFO.gridMaxDim]: (agent) => (isGpu(agent) ? GRID_MAX_DIM : [0, 0, 0]),
  [AGENT_INFO.gridMaxSize]: (agent) => gpu(agent, GRID_MAX_SIZE),
  [AGENT_INFO.fbarrierMaxSize]: (agent) => gpu(agent, FBARRIER_MAX_SIZE),
  // As many as memory holds.
  [AGENT_INFO.queuesMax]: (agent) => gpu(agent, 0xffff_ffff),
  [AGENT_INFO.queueMinSize]: (agent) => gpu(agent, 1),
  [AGENT_INFO.queueMaxSize]: (agent) => gpu(agent, MAX_QUEUE_SIZE_PACKETS),
  [AGENT_INFO.queueType]: () => 0,
  [AGENT_INFO.node]: ({ node }) => node,
  [AGENT_INFO.device]: (agent) => (isGpu(agent) ? GPU_DEVICE : CPU_DEVICE),
  [AGENT_INFO.cacheSize]: cacheSizes,
  [AGENT_INFO.isa]: ({ isas }) => isas[0],
  [AGENT_INFO.extensions]: () => extensionBits(),
  [AGENT_INFO.versionMajor]: () => 1,
  [AGENT_INFO.versionMinor]: () => 1,
  [AGENT_INFO.baseProfileDefaultFloatRoundingModes]: () => 1 << ROUNDING_MODES.near,
  [AGENT_INFO.fastF16Operation]: isGpu,
  [AGENT_INFO.chipId]: (agent) => board(agent).chipId ?? 0,
  [AGENT_INFO.cachelineSize]: (agent) => board(agent).cachelineSizeBytes ?? CACHELINE_BYTES,
  [AGENT_INFO.computeUnitCount]: ({ info }) => info.computeUnitCount,
  [AGENT_INFO.maxClockFrequency]: (agent) => board(agent).maxClockMhz ?? 0,
  [AGENT_INFO.driverNodeId]: ({ node }) => node,
  [AGENT_INFO.maxAddressWatchPoints]: () => 0,
  // A bus for each, so that programs can tell them apart.
  [AGENT_INFO.bdfId]: (agent) => board(agent).pciLocation ?? gpu(agent, agent.node << 8),
  [AGENT_INFO.memoryWidth]: (agent) => board(agent).memoryWidthBits ?? 0,
  [AGENT_INFO.memoryMaxFrequency]: (agent) => board(agent).memoryClockMhz ?? 0,
  [AGENT_INFO.productName]: (agent) => board(agent).productName ?? agent.device?.name ?? 'host',
  [AGENT_INFO.maxWavesPerCu]: ({ info }) => info.maxWavesPerComputeUnit,
  [AGENT_INFO.simdsPerCu]: (agent) => board(agent).simdsPerComputeUnit ?? gpu(agent, 1),
  [AGENT_INFO.shaderEngines]: (agent) => board(agent).shaderEngineCount ?? gpu(agent, 1),
  [AGENT_INFO.shaderArraysPerSe]: (agent) => board(agent).shaderArraysPerEngine ?? gpu(agent, 1),
  // Two addresses: nothing has to be flushed.
  [AGENT_INFO.hdpFlush]: () => [0n, 0n],
  [AGENT_INFO.domain]: (agent) => board(agent).pciDomain ?? 0,
  [AGENT_INFO.cooperativeQueues]: isGpu,
  [AGENT_INFO.uuid]: (agent) =>
    board(agent).uuid ?? (isGpu(agent) ? `GPU-${agent.node.toString(16).padStart(UUID_DIGITS, '0')}` : 'CPU-XX'),
  [AGENT_INFO.asicRevision]: (agent) => board(agent).asicRevision ?? 0,
  [AGENT_INFO.svmDirectHostAccess]: () => false,
  [AGENT_INFO.cooperativeComputeUnitCount]: ({ info }) => info.computeUnitCount,
  [AGENT_INFO.memoryAvailable]: ({ pools }) => {
    const [pool] = pools;
    return pool?.memory === undefined ? 0n : BigInt(pool.sizeBytes - pool.allocations.usedBytes(pool.memory));
  },
  [AGENT_INFO.timestampFrequency]: ({ info }) => BigInt(info.timestampFrequencyHz),
  [AGENT_INFO.asicFamilyId]: () => 0,
  [AGENT_INFO.ucodeVersion]: () => 0,
  [AGENT_INFO.sdmaUcodeVersion]: () => 0,
  [AGENT_INFO.sdmaEngines]: (agent) => gpu(agent, ONE_COPY_ENGINE),
  [AGENT_INFO.sdmaXgmiEngines]: () => 0,
  [AGENT_INFO.iommuSupport]: () => 0,
  [AGENT_INFO.xccCount]: (agent) => board(agent).xccCount ?? gpu(agent, 1),
  [AGENT_INFO.driverUid]: ({ node }) => node,
  [AGENT_INFO.nearestCpu]: ({ nearestCpu }) => nearestCpu,
  [AGENT_INFO.memoryProperties]: () => new Uint8Array(8),
  [AGENT_INFO.aqlExtensions]: () => new Uint8Array(8),
  // Of a wave's private memory no part is kept by a queue.
  [AGENT_INFO.scratchLimitMax]: () => 0n,
  [AGENT_INFO.scratchLimitCurrent]: () => 0n,
  [AGENT_INFO.clockCounters]: ({ device }) => {
    const ns = systemTimestamp();
    return { gpu: device?.clock() ?? 0n, cpu: ns, system: ns, systemFrequencyHz: BigInt(SYSTEM_FREQUENCY_HZ) };
  },
};

/**
 * hsa_agent_get_info. Arrays of characters are strings, bit sets are bytes. Throws INVALID_ARGUMENT for what
 * the agent does not have, NOT_INITIALIZED when its runtime was shut down.
 */
export function agentInfo(agent: Agent, id: number): AgentInfoValue {
  expectHandle(agent, Agent, 'INVALID_AGENT');
  agent.lifetime.expect();
  return answer(QUESTIONS, id, agent, `agent ${agent.name}`);
}

/** Numbers of the specification (hsa_cache_info_t). */
export const CACHE_INFO = { nameLength: 0, name: 1, level: 2, size: 3 } as const;

const CACHE_QUESTIONS: Questions<Cache, number | string> = {
  [CACHE_INFO.nameLength]: ({ name }) => name.length,
  [CACHE_INFO.name]: ({ name }) => name,
  [CACHE_INFO.level]: ({ level }) => level,
  [CACHE_INFO.size]: ({ sizeBytes }) => sizeBytes,
};

/** hsa_cache_get_info. Throws INVALID_ARGUMENT for another number, INVALID_CACHE for null. */
export function cacheInfo(cache: Cache, id: number): number | string {
  expectHandle(cache, Object, 'INVALID_CACHE');
  return answer(CACHE_QUESTIONS, id, cache, `cache ${cache.name}`);
}
