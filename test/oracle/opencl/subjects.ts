/** All sources of `test/data/opencl` and `test/data/hip` that can be built here, and how. */
import type { Language, Target } from './compilers.ts';
import { CONVERSION_FUNCTIONS } from './conversion-functions.ts';
import { HAS_DEVICE_LIBRARIES } from './device-libraries.ts';
import { GROUP_FUNCTIONS } from './group-functions.ts';
import { HIP } from './hip.ts';
import { INTEGER_FUNCTIONS } from './integer-functions.ts';
import { SUBJECTS } from './launches.ts';
import { MATH } from './math.ts';
import { type Build, EXACT, type Subject } from './subject.ts';
import { WMMA } from './wmma.ts';

export const ALL_SUBJECTS: readonly Subject[] = [
  ...SUBJECTS,
  WMMA,
  ...HIP,
  ...(HAS_DEVICE_LIBRARIES ? [MATH, INTEGER_FUNCTIONS, GROUP_FUNCTIONS, CONVERSION_FUNCTIONS] : []),
];

export const languagesOf = ({ source, languages }: Subject): readonly Language[] =>
  languages ?? (source.endsWith('.cl') ? ['OpenCL C', 'C'] : ['C']);

/** Those for a target, the first one before all others. */
export const buildsOf = ({ builds = [{ flags: EXACT }] }: Subject, target: Target): readonly Build[] =>
  builds.filter(
    ({ processors, waveSize = target.waveSize }) =>
      waveSize === target.waveSize && (processors?.includes(target.processor) ?? true),
  );
