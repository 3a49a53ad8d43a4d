/** How points were served: a part of every result. */
import type { Purpose } from '../machine/machine-code.ts';

/**
 * Where the registers of a payload came from, the most costly of them: `resident`: a counter's own, for as
 * long as the kernel runs; `dead` at the point; free in the `granule` that the kernel is launched with;
 * `grown`: the kernel is launched with more; `borrowed`: live registers, of which other registers keep the
 * contents meanwhile; `accumulator`: accumulation registers have what vector registers had, `memory`: private
 * memory has. `envelope`: a function is called, and what it may overwrite is kept in scratch memory.
 */
export type PointClass = 'resident' | 'dead' | 'granule' | 'grown' | 'borrowed' | 'accumulator' | 'memory' | 'envelope';
const CLASSES: readonly PointClass[] = [
  ...(['resident', 'dead', 'granule', 'grown', 'borrowed', 'accumulator', 'memory', 'envelope'] as const),
];

export interface KernelCoverage {
  readonly name: string;
  /** As launched before and after, without VCC and the like. */
  readonly sgprs: readonly [before: number, after: number];
  readonly vgprs: readonly [before: number, after: number];
  readonly agprs: readonly [before: number, after: number];
  /** Waves of a SIMD; undefined where it is not known. */
  readonly wavesPerSimd: readonly [before: number | undefined, after: number | undefined];
}

export interface Coverage {
  /** Hooks at places. */
  readonly requested: number;
  readonly served: Readonly<Record<PointClass, number>>;
  /** By reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Instructions of payloads, by what they are there for. */
  readonly payload: Readonly<Record<Purpose, number>>;
  /** Instructions that keep hazards apart between payloads and the code around them. */
  readonly nops: number;
  /**
   * Addresses of calls and jumps of which not all targets are known: code may be reached that has no hooks.
   */
  readonly unresolvedSites: readonly number[];
  /** Where code goes on with an address of old code, and entries whose code stayed: no hooks are there. */
  readonly pinned: readonly number[];
  readonly kept: readonly string[];
  readonly kernels: readonly KernelCoverage[];
  /** Of the code object. */
  readonly fileBytes: readonly [before: number, after: number];
}

export class CoverageCount {
  readonly served = Object.fromEntries(CLASSES.map((name) => [name, 0])) as Record<PointClass, number>; // reason: made of all
  readonly refused: Record<string, number> = {};
  readonly payload: Record<Purpose, number> = { body: 0, save: 0, wait: 0 };

  serve(by: PointClass, counts: Readonly<Record<Purpose, number>>): void {
    this.served[by]++;
    this.payload.body += counts.body;
    this.payload.save += counts.save;
    this.payload.wait += counts.wait;
  }

  refuse(reason: string): void {
    this.refused[reason] = (this.refused[reason] ?? 0) + 1;
  }

  get requested(): number {
    return [...Object.values(this.served), ...Object.values(this.refused)].reduce((sum, count) => sum + count, 0);
  }
}

/** Lines of text. */
export function pointCoverageText({
  requested,
  served,
  refused,
  nops,
  unresolvedSites,
  kernels,
  pinned,
  kept,
  fileBytes,
}: Coverage): string {
  const counts = (record: Readonly<Record<string, number>>): string =>
    Object.entries(record)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
  const total = Object.values(served).reduce((sum, count) => sum + count, 0);
  const lines = [
    `points: ${requested} requested, ${total} served${total > 0 ? ` (registers: ${counts(served)})` : ''}`,
    ...Object.entries(refused).map(([reason, count]) => `refused: ${count}: ${reason}`),
    ...(nops > 0 ? [`instructions between payloads and code that keep hazards apart: ${nops}`] : []),
    ...(unresolvedSites.length > 0
      ? [`calls and jumps with targets that are not known: ${unresolvedSites.length}`]
      : []),
    ...(pinned.length > 0 ? [`addresses of old code that code goes on with: ${pinned.length}`] : []),
    ...kept.map((name) => `keeps its code: ${name}`),
    ...kernels.map(({ name, sgprs, vgprs, agprs, wavesPerSimd }) => {
      const pair = ([before, after]: readonly (number | undefined)[]): string =>
        before === after ? `${before}` : `${before} to ${after}`;
      const accumulators = agprs[1] > agprs[0] ? ` ${pair(agprs)} AGPRs,` : '';
      return `kernel ${name}: ${pair(sgprs)} SGPRs, ${pair(vgprs)} VGPRs,${accumulators} ${pair(wavesPerSimd)} waves per SIMD`;
    }),
    `file: ${fileBytes[0]} to ${fileBytes[1]} bytes`,
  ];
  return lines.map((line) => `${line}\n`).join('');
}
