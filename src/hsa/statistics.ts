/** Sums of what dispatches did. */
import type { DispatchStatistics, TierInstructions } from './device.ts';

export const NO_STATISTICS: DispatchStatistics = {
  instructions: 0,
  tiers: { reference: 0, handlers: 0, regions: 0, loops: 0 },
  workgroups: 0,
  waves: 0,
};

/** `a` plus `b`, or with `factor` -1 minus. */
export function addStatistics(a: DispatchStatistics, b: DispatchStatistics, factor = 1): DispatchStatistics {
  return {
    instructions: a.instructions + factor * b.instructions,
    tiers: {
      reference: a.tiers.reference + factor * b.tiers.reference,
      handlers: a.tiers.handlers + factor * b.tiers.handlers,
      regions: a.tiers.regions + factor * b.tiers.regions,
      loops: a.tiers.loops + factor * b.tiers.loops,
    },
    workgroups: a.workgroups + factor * b.workgroups,
    waves: a.waves + factor * b.waves,
  };
}

/** Shares of the tiers that ran anything, in percent: `1.2% handlers, 98.8% regions`; empty when nothing ran. */
export function tierShares(tiers: TierInstructions): string {
  const total = Object.values(tiers).reduce((sum, count) => sum + count, 0);
  return Object.entries(tiers)
    .filter(([, count]) => count > 0)
    .map(([tier, count]) => `${((count / total) * 100).toFixed(1)}% ${tier}`)
    .join(', ');
}
