/** Parts of a run that no server deals out: every machine takes its own from the same list. */
import { WavewrightError } from '../base/errors.ts';
import type { KeyedCase } from './case.ts';

/** One part of a run. */
export interface Shard {
  /** From 1 on. */
  readonly index: number;
  readonly count: number;
}

const MAX_SHARDS = 1_000_000;

export const shardText = ({ index, count }: Shard): string => `${index}/${count}`;

/** `2/8`; undefined where the text is none. */
export function parseShard(text: string): Shard | undefined {
  const [, index, count] = /^([1-9]\d{0,6})\/([1-9]\d{0,6})$/.exec(text)?.map(Number) ?? [];
  if (index === undefined || count === undefined || index > count || count > MAX_SHARDS) return undefined;
  return { index, count };
}

/** What systems set for each process of an array, in the order in which they are asked: inner ones first. */
interface ShardSource {
  readonly system: string;
  readonly index: string;
  readonly count: string;
  /** What the first process has as index. */
  readonly first: (env: Environment) => number;
  readonly step?: (env: Environment) => number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const SOURCES: readonly ShardSource[] = [
  { system: 'Bazel', index: 'TEST_SHARD_INDEX', count: 'TEST_TOTAL_SHARDS', first: () => 0 },
  {
    system: 'Slurm',
    index: 'SLURM_ARRAY_TASK_ID',
    count: 'SLURM_ARRAY_TASK_COUNT',
    first: (env) => number(env, 'SLURM_ARRAY_TASK_MIN', 'Slurm'),
    step: (env) => (env['SLURM_ARRAY_TASK_STEP'] === undefined ? 1 : number(env, 'SLURM_ARRAY_TASK_STEP', 'Slurm')),
  },
  { system: 'GitLab CI', index: 'CI_NODE_INDEX', count: 'CI_NODE_TOTAL', first: () => 1 },
  { system: 'Kubernetes', index: 'JOB_COMPLETION_INDEX', count: 'WAVEWRIGHT_SHARDS', first: () => 0 },
];

/** The part that --shard names; `auto` asks the environment. Throws USAGE. */
export function shardOf(text: string, env: Environment): Shard {
  if (text === 'auto') return shardFromEnvironment(env);
  const shard = parseShard(text);
  if (shard) return shard;
  throw new WavewrightError('USAGE', `--shard takes I/N with 1 <= I <= N <= ${MAX_SHARDS}, or auto, not '${text}'`);
}

/** Tells Bazel that the process knows of parts. Throws IO. */
export function announceShard(env: Environment): void {
  const file = env['TEST_SHARD_STATUS_FILE'];
  if (file === undefined || env['TEST_SHARD_INDEX'] === undefined) return;
  try {
    process.getBuiltinModule('node:fs').writeFileSync(file, '');
  } catch (cause) {
    throw new WavewrightError('IO', 'cannot be written (TEST_SHARD_STATUS_FILE)', { file, cause });
  }
}

function shardFromEnvironment(env: Environment): Shard {
  const source = SOURCES.find(({ index }) => env[index] !== undefined);
  if (!source) {
    const names = SOURCES.map(({ system, index, count }) => `${index} and ${count} (${system})`);
    throw new WavewrightError('USAGE', '--shard=auto finds no variable that says which part this is', {
      hint: `it asks for ${names.join(', ')}`,
    });
  }
  const { system, first, step } = source;
  const count = number(env, source.count, system);
  const distance = number(env, source.index, system) - first(env);
  const index = distance / (step?.(env) ?? 1) + 1;
  const shard = parseShard(`${index}/${count}`);
  if (shard) return shard;
  const what = `${source.index}=${env[source.index]} and ${source.count}=${env[source.count]} of ${system} name no part`;
  const hint = system === 'Slurm' ? 'an array with gaps cannot be dealt out: use --array=1-N' : undefined;
  throw new WavewrightError('USAGE', what, hint === undefined ? {} : { hint });
}

function number(env: Environment, name: string, system: string): number {
  const text = env[name];
  if (text !== undefined && /^\d{1,9}$/.test(text)) return Number(text);
  const state = text === undefined ? 'is not set' : `is '${text}', which is no number`;
  const hint = name === 'WAVEWRIGHT_SHARDS' ? { hint: 'set it to the completions of the job' } : {};
  throw new WavewrightError('USAGE', `--shard=auto: ${name} ${state}, with ${system}`, hint);
}

/** The cases of a part: of all, sorted by name, every `count`th. Parts differ by one case at most. */
export function dealOut(all: readonly KeyedCase[], { index, count }: Shard): KeyedCase[] {
  const compare = (a: KeyedCase, b: KeyedCase) => order(a.case.name, b.case.name) || order(a.key, b.key);
  return [...all].sort(compare).filter((_, position) => position % count === index - 1);
}

/** By UTF-16 units: the same on every machine, whatever its language. */
export const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
