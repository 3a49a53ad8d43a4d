/** All recordings of a target, without the name of their source. */
import type { Recording } from '../../test/semantics/recorded.ts';
import { controlRecordings } from './control-states.ts';
import { exchangeRecordings } from './exchange-states.ts';
import { encodingVariants, type Job, jobOf } from './jobs.ts';
import { matrixRecordings } from './matrix-states.ts';
import { memoryRecordings } from './memory-states.ts';
import { expectedState } from './model.ts';
import { scalarMemoryRecordings } from './scalar-memory-states.ts';
import type { Generated } from './state-builder.ts';

interface Plan {
  readonly processor: string;
  readonly waveSize: 32 | 64;
}

export const PLANS: readonly Plan[] = [
  { processor: 'gfx90a', waveSize: 64 },
  { processor: 'gfx942', waveSize: 64 },
  { processor: 'gfx1100', waveSize: 32 },
];

/**
 * Accuracy by CDNA3 ISA 12.8: 1 ulp for f32, 2^29 ulp for f64; f16 is within 0.51 ulp, so at most the next
 * number.
 */
const APPROXIMATE = /^v_(rcp|rcp_iflag|rsq|sqrt|exp|log|sin|cos)_(f16|f32|f64)$/;

export function toleranceOf({ encoding }: Job): Recording['tolerance'] {
  const type = APPROXIMATE.exec(encoding.row.name)?.[2] as 'f16' | 'f32' | 'f64' | undefined;
  return type && { type, ulp: type === 'f64' ? 2 ** 29 : 1 };
}

/** What acts on a whole mask of 64 lanes needs them. */
export const waveSizeOf = (name: string, planned: 32 | 64): 32 | 64 =>
  /_(save|wr)exec_b64$|^v_permlane64/.test(name) ? 64 : planned;

export function* generate(processor: string): Generator<Generated> {
  const plan = PLANS.find((candidate) => candidate.processor === processor)!;
  // Forms of an instruction whose fields turn out to be the same.
  const earlier = new Set<string>();
  for (const { encoding, target, variant } of encodingVariants(processor)) {
    const job = jobOf(encoding, target, waveSizeOf(encoding.row.name, plan.waveSize), variant);
    const form = `${job.recording.code} ${job.recording.mode}`;
    const after = earlier.has(form) ? undefined : expectedState(job);
    if (!after) continue;
    earlier.add(form);
    const tolerance = toleranceOf(job);
    const file = encoding.format.name.toLowerCase().replaceAll('_', '-');
    yield { file, recording: { ...job.recording, ...(tolerance && { tolerance }), after } };
  }
  yield* memoryRecordings(processor, plan.waveSize);
  yield* exchangeRecordings(processor, plan.waveSize);
  yield* scalarMemoryRecordings(processor, plan.waveSize);
  yield* matrixRecordings(processor, plan.waveSize);
  yield* controlRecordings(processor, plan.waveSize);
}
