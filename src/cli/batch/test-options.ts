/** The options of commands that run cases, and what they make of them. */
import { type CaseDefaults, MAX_RETRIES, MAX_TIMEOUT_SECONDS } from '../../fleet/cases-file.ts';
import { MEMORY_OPTION, WORKERS_OPTION } from '../arguments/device-name.ts';
import type { OptionTable, OptionValues } from '../arguments/options.ts';
import { CAMPAIGN_OPTIONS } from '../arguments/queue-options.ts';
import { PACKET_PROFILING_OPTIONS } from '../program/device-profiling.ts';
import { HOOK_OPTION, TOOL_OPTION } from '../program/tool-options.ts';
import { CHILD_WRAPPER_OPTION } from './process-channel.ts';

const MAX_JOBS = 256;
const DEFAULT_TIMEOUT_SECONDS = 300;

/** Options of commands that run cases. */
export const TEST_OPTIONS = {
  jobs: {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max: MAX_JOBS,
    description: 'programs that run at once; by default as many as the machine has cores, with --queue none',
  },
  workers: {
    ...WORKERS_OPTION,
    description: 'threads that run the workgroups of each program; by default the cores that --jobs leaves',
  },
  memory: { ...MEMORY_OPTION, description: 'memory of the emulated device of each program' },
  timeout: {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: MAX_TIMEOUT_SECONDS,
    default: DEFAULT_TIMEOUT_SECONDS,
    description:
      'time limit of each program: what its thread takes, and at most ten times that by the clock on the wall',
  },
  retries: {
    kind: 'integer',
    placeholder: 'N',
    min: 0,
    max: MAX_RETRIES,
    default: 0,
    description: 'run a program that failed again up to N times',
  },
  filter: { kind: 'text', placeholder: 'TEXT', description: 'only programs whose path contains TEXT' },
  junit: { kind: 'text', placeholder: 'FILE', description: 'write the results to FILE as JUnit XML' },
  isolation: {
    kind: 'choice',
    choices: ['thread', 'process'],
    default: 'thread',
    description: 'where programs run: processes cost more, and survive programs that end them or take all memory',
  },
  'child-wrapper': CHILD_WRAPPER_OPTION,
  shard: {
    kind: 'text',
    placeholder: 'I/N',
    description: 'run part I of N, from 1 on, dealt out by name; auto asks Bazel, Slurm, GitLab CI or Kubernetes',
  },
  report: {
    kind: 'text',
    placeholder: 'FILE',
    description: 'write cases and verdicts to FILE as JSON Lines, for `wavewright merge`',
  },
  sqlite: {
    kind: 'text',
    placeholder: 'FILE',
    description: 'write cases and verdicts to FILE as a database of SQLite',
  },
  ...CAMPAIGN_OPTIONS,
  run: {
    kind: 'list',
    placeholder: 'OPTION',
    description: 'an option of `wavewright run` for every program, for example --run=--sandbox; may be repeated',
  },
  tool: TOOL_OPTION,
  hook: HOOK_OPTION,
  ...PACKET_PROFILING_OPTIONS,
  'device-profiling-output': {
    ...PACKET_PROFILING_OPTIONS['device-profiling-output'],
    placeholder: 'FOLDER',
    description: 'writes a profile of each program to FOLDER/NAME.ireeprof',
  },
  format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how the results are printed' },
} as const satisfies OptionTable;

export type TestOptions = OptionValues<typeof TEST_OPTIONS>;

/**
 * Whether cases need keys and names that are the same on every machine: those that share a run know its cases
 * by what does not depend on the machine.
 */
export const needsKeys = ({ shard, report, sqlite, queue }: TestOptions): boolean =>
  [shard, report, sqlite, queue].some((each) => each !== undefined);

/** What cases have where they say nothing else. */
export const defaultsOf = (options: TestOptions): CaseDefaults => ({
  options: caseOptions(options),
  timeout: options.timeout,
  retries: options.retries,
});

/** Options of `run` that belong to each case. */
function caseOptions({ memory, run = [], tool = [], hook = [] }: TestOptions): string[] {
  return [
    ...(memory === MEMORY_OPTION.default ? [] : [`--memory=${memory}`]),
    ...run,
    ...tool.map((text) => `--tool=${text}`),
    ...hook.map((text) => `--hook=${text}`),
  ];
}
