/** Agents as data and as text. */

import { hex } from '../base/text.ts';
import type { Agent } from '../hsa/agent.ts';

export type AgentReport = ReturnType<typeof describeAgents>[number];

/** Sizes are in bytes; addresses and 64-bit values strings. */
export function describeAgents(agents: readonly Agent[]) {
  return agents.map(({ kind, name, device, isas, info, pools }) => ({
    kind,
    name,
    device: device?.name ?? null,
    vendor: info.vendor,
    profile: info.profile,
    isas: isas.map((isa) => isa.name),
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
    pools: pools.map((pool) => ({
      kind: pool.kind,
      segment: pool.kind === 'group' ? 'group' : 'global',
      flags: pool.flags,
      sizeBytes: pool.sizeBytes,
      granuleBytes: pool.granuleBytes,
      canAllocate: pool.memory !== undefined,
    })),
  }));
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB'] as const;

function size(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && value % 1024 === 0 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${value} ${UNITS[unit]}`;
}

function agentLines(agent: AgentReport): string[] {
  const rows: [label: string, value: string][] = [['vendor, profile', `${agent.vendor}, ${agent.profile}`]];
  for (const isa of agent.isas) rows.push(['instruction set', isa]);
  if (agent.kind === 'gpu') {
    rows.push(
      ['wavefront', `${agent.wavefrontSize} lanes`],
      ['compute units', `${agent.computeUnits}, each at most ${agent.maxWavesPerComputeUnit} waves`],
      ['workgroup', `at most ${agent.maxWorkgroupSize} work-items, ${size(agent.groupSegmentSizeBytes)} of LDS`],
      ['clock', `${agent.timestampFrequencyHz} ticks per second`],
      ['apertures', `shared ${agent.apertures?.shared}, private ${agent.apertures?.private}`],
    );
  }
  for (const { kind, sizeBytes, granuleBytes, canAllocate } of agent.pools) {
    rows.push([
      'pool',
      `${kind}, ${size(sizeBytes)}${canAllocate ? `, in steps of ${size(granuleBytes)}` : ', not for the host'}`,
    ]);
  }
  return rows.map(([label, value]) => `  ${label.padEnd(18)}${value}`);
}

export function formatAgents(agents: readonly AgentReport[]): string {
  return agents
    .map(
      (agent) =>
        `${agent.device ?? 'host'}: ${agent.kind.toUpperCase()} agent ${agent.name}\n${agentLines(agent).join('\n')}\n`,
    )
    .join('\n');
}
