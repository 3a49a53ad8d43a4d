/** Agents as data and as text. */

import { hex } from '../../base/text.ts';
import { MEMORY_POOL_INFO, memoryPoolInfo } from '../../hsa/memory/memory-info.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import { AGENT_INFO, agentInfo } from '../../hsa/objects/agent-info.ts';
import type { Isa } from '../../hsa/objects/isa.ts';
import { ISA_INFO, isaInfo } from '../../hsa/objects/isa-info.ts';
import type { MemoryPool } from '../../hsa/objects/memory-pool.ts';
import { SYSTEM_INFO, systemInfo } from '../../hsa/objects/system-info.ts';

export type AgentReport = ReturnType<typeof describeAgents>[number];

/** What is the same for all agents; a value of all ones, as the longest wait, is a string. */
export function describeSystem() {
  return {
    version: `${systemInfo(SYSTEM_INFO.versionMajor)}.${systemInfo(SYSTEM_INFO.versionMinor)}`,
    extensionVersion: `${systemInfo(SYSTEM_INFO.extVersionMajor)}.${systemInfo(SYSTEM_INFO.extVersionMinor)}`,
    timestampFrequencyHz: Number(systemInfo(SYSTEM_INFO.timestampFrequency)),
    signalMaxWait: String(systemInfo(SYSTEM_INFO.signalMaxWait)),
    machineModel: 'large',
    endianness: 'little',
    xnackEnabled: systemInfo(SYSTEM_INFO.xnackEnabled),
  };
}

export type SystemReport = ReturnType<typeof describeSystem>;

function describeIsa(isa: Isa) {
  return {
    name: isa.name,
    wavefrontSizes: [...isa.wavefrontSizes],
    fastF16: isaInfo(isa, ISA_INFO.fastF16Operation),
    workgroupMaxSize: isaInfo(isa, ISA_INFO.workgroupMaxSize),
    workgroupMaxDimensions: isaInfo(isa, ISA_INFO.workgroupMaxDim),
    gridMaxSize: Number(isaInfo(isa, ISA_INFO.gridMaxSize)),
    gridMaxDimensions: isaInfo(isa, ISA_INFO.gridMaxDim),
  };
}

/** Sizes are in bytes; addresses and 64-bit values strings; what a device does not know is 0, as in HSA. */
export function describeAgents(agents: readonly Agent[]) {
  return agents.map((agent) => ({
    ...describeAgent(agent),
    ...describeBoard(agent),
    pools: agent.pools.map(describePool),
  }));
}

/** What rocminfo says of the board. */
function describeBoard(agent: Agent) {
  const number = (id: number): number => Number(agentInfo(agent, id));
  return {
    uuid: String(agentInfo(agent, AGENT_INFO.uuid)),
    productName: String(agentInfo(agent, AGENT_INFO.productName)),
    node: agent.node,
    chipId: number(AGENT_INFO.chipId),
    asicRevision: number(AGENT_INFO.asicRevision),
    pci: { location: number(AGENT_INFO.bdfId), domain: number(AGENT_INFO.domain) },
    maxClockMhz: number(AGENT_INFO.maxClockFrequency),
    simdsPerComputeUnit: number(AGENT_INFO.simdsPerCu),
    shaderEngines: number(AGENT_INFO.shaderEngines),
    shaderArraysPerEngine: number(AGENT_INFO.shaderArraysPerSe),
    cachelineSizeBytes: number(AGENT_INFO.cachelineSize),
    caches: agent.caches.map((cache) => ({ name: cache.name, level: cache.level, sizeBytes: cache.sizeBytes })),
    sdmaEngines: number(AGENT_INFO.sdmaEngines),
  };
}

function describeAgent(agent: Agent) {
  const { kind, name, device, isas, info } = agent;
  return {
    kind,
    name,
    device: device?.name ?? null,
    vendor: info.vendor,
    profile: info.profile,
    isas: isas.map((isa) => isa.name),
    instructionSets: isas.map(describeIsa),
    features: kind === 'gpu' ? ['kernel-dispatch'] : [],
    defaultFloatRounding: 'near',
    fastF16: agentInfo(agent, AGENT_INFO.fastF16Operation),
    queues: {
      max: Number(agentInfo(agent, AGENT_INFO.queuesMax)),
      minSizePackets: Number(agentInfo(agent, AGENT_INFO.queueMinSize)),
      maxSizePackets: Number(agentInfo(agent, AGENT_INFO.queueMaxSize)),
      type: 'multiple producers',
    },
    workgroupMaxDimensions: agentInfo(agent, AGENT_INFO.workgroupMaxDim),
    gridMaxSize: Number(agentInfo(agent, AGENT_INFO.gridMaxSize)),
    gridMaxDimensions: agentInfo(agent, AGENT_INFO.gridMaxDim),
    fbarriersPerWorkgroup: Number(agentInfo(agent, AGENT_INFO.fbarrierMaxSize)),
    wavefrontSize: info.wavefrontSize,
    computeUnits: info.computeUnitCount,
    maxWavesPerComputeUnit: info.maxWavesPerComputeUnit,
    maxWorkgroupSize: info.maxWorkgroupSize,
    groupSegmentSizeBytes: info.groupSegmentSizeBytes,
    timestampFrequencyHz: info.timestampFrequencyHz,
    apertures:
      device === undefined
        ? null
        : {
            shared: hex(BigInt(device.properties.sharedApertureHi) << 32n),
            private: hex(BigInt(device.properties.privateApertureHi) << 32n),
          },
  };
}

const describePool = (pool: MemoryPool) => ({
  kind: pool.kind,
  segment: pool.kind === 'group' ? 'group' : 'global',
  flags: pool.flags,
  sizeBytes: pool.sizeBytes,
  granuleBytes: pool.granuleBytes,
  alignmentBytes: Number(memoryPoolInfo(pool, MEMORY_POOL_INFO.runtimeAllocAlignment)),
  canAllocate: pool.memory !== undefined,
  accessibleByAll: memoryPoolInfo(pool, MEMORY_POOL_INFO.accessibleByAll),
});

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB'] as const;

function size(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && value % 1024 === 0 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${value} ${UNITS[unit]}`;
}

function agentLines(agent: AgentReport): string[] {
  const rows: [label: string, value: string][] = [
    ['vendor, profile', `${agent.vendor}, ${agent.profile}`],
    ['product, uuid', `${agent.productName}, ${agent.uuid}`],
    ['node', String(agent.node)],
  ];
  for (const { name, wavefrontSizes } of agent.instructionSets) {
    rows.push(['instruction set', `${name}, waves of ${wavefrontSizes.join(' or ')} lanes`]);
  }
  if (agent.kind === 'gpu') {
    rows.push(
      ['wavefront', `${agent.wavefrontSize} lanes`],
      ['compute units', `${agent.computeUnits}, each at most ${agent.maxWavesPerComputeUnit} waves`],
      [
        'on the chip',
        `${agent.shaderEngines} shader engines of ${agent.shaderArraysPerEngine} arrays, ${agent.simdsPerComputeUnit} SIMDs per compute unit`,
      ],
      ['workgroup', `at most ${agent.maxWorkgroupSize} work-items, ${size(agent.groupSegmentSizeBytes)} of LDS`],
      ['grid', `at most ${agent.gridMaxSize} work-items, in each dimension too`],
      ['queues', `${agent.queues.minSizePackets} to ${agent.queues.maxSizePackets} packets each`],
      ['caches', agent.caches.map(({ name, sizeBytes }) => `${name} ${size(sizeBytes)}`).join(', ') || 'none'],
      ['clock', `${agent.timestampFrequencyHz} ticks per second`],
      ['apertures', `shared ${agent.apertures?.shared}, private ${agent.apertures?.private}`],
    );
  }
  if (agent.maxClockMhz > 0) rows.push(['clock rate', `at most ${agent.maxClockMhz} MHz`]);
  for (const { kind, sizeBytes, granuleBytes, canAllocate } of agent.pools) {
    rows.push([
      'pool',
      `${kind}, ${size(sizeBytes)}${canAllocate ? `, in steps of ${size(granuleBytes)}` : ', not for the host'}`,
    ]);
  }
  return rows.map(([label, value]) => `  ${label.padEnd(18)}${value}`);
}

export function formatAgents(system: SystemReport, agents: readonly AgentReport[]): string {
  const { version, extensionVersion, timestampFrequencyHz, xnackEnabled } = system;
  const first = `HSA ${version}, AMD extensions ${extensionVersion}: 64-bit, little-endian, ${timestampFrequencyHz} ticks per second, XNACK ${xnackEnabled ? 'on' : 'off'}\n\n`;
  return (
    first +
    agents
      .map(
        (agent) =>
          `${agent.device ?? 'host'}: ${agent.kind.toUpperCase()} agent ${agent.name}\n${agentLines(agent).join('\n')}\n`,
      )
      .join('\n')
  );
}
