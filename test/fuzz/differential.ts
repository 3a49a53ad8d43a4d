/**
 * One program on two machines: what the host prints, and what the emulator prints at some optimisation
 * levels.
 */
import { type Device, type RunOptions, WavewrightError } from '../../src/index.ts';
import type { Level } from './build-targets.ts';
import { type Outcome, Output, runImage } from './run-image.ts';
import type { Toolchain } from './toolchain.ts';

export interface Subject {
  readonly name: string;
  readonly text: string;
  readonly levels: readonly Level[];
  /** Work-items; their lines may come in any order. Absent: one, and a plain main on the host. */
  readonly threads?: RunOptions['threads'];
}

export interface Limits {
  readonly hostMs: number;
  readonly deviceMs: number;
}

export interface Comparison {
  /** Why there was nothing to compare. */
  readonly skipped?: 'too long on the host' | 'the compiler fails';
  readonly instructions: number;
  /** One for each level that gave something else. */
  readonly disagreements: readonly string[];
}

export const STACK_BYTES = 65_536;

const sortedLines = ({ stdout, ...rest }: Outcome): Outcome => ({
  ...rest,
  stdout: stdout.split('\n').sort().join('\n'),
});

/** The first thing in which they differ. */
export function differenceOf(host: Outcome, device: Outcome): string | undefined {
  if (host.status !== device.status) return `status ${device.status}, on the host ${host.status}`;
  for (const stream of ['stderr', 'stdout'] as const) {
    if (host[stream] === device[stream]) continue;
    const [ours, theirs] = [device[stream].split('\n'), host[stream].split('\n')];
    const at = theirs.findIndex((line, i) => line !== ours[i]);
    return `${stream} line ${at + 1}: ${JSON.stringify(ours[at])}, on the host ${JSON.stringify(theirs[at])}`;
  }
  return undefined;
}

export async function compare(
  toolchain: Toolchain,
  device: Device,
  subject: Subject,
  limits: Limits,
): Promise<Comparison> {
  const { name, threads, levels } = subject;
  const source = toolchain.source(name, subject.text);
  const grid = threads && { grid: ['1 1 1', ...threads].join(' ') };
  const host = await toolchain.onHost(source, { timeoutMs: limits.hostMs, ...grid });
  if (host === undefined) return { skipped: 'too long on the host', instructions: 0, disagreements: [] };
  const disagreements: string[] = [];
  let instructions = 0;
  for (const level of levels) {
    const bytes = await toolchain.forDevice(source, level, device.properties.processor);
    if (bytes === undefined) return { skipped: 'the compiler fails', instructions, disagreements };
    const found = await difference(bytes, host, { device, threads, timeoutMs: limits.deviceMs }, (count) => {
      instructions += count;
    });
    if (found !== undefined) disagreements.push(`${name} -${level}: ${found}`);
  }
  return { instructions, disagreements };
}

async function difference(
  bytes: Uint8Array,
  host: Outcome,
  { device, threads, timeoutMs }: { device: Device; threads: Subject['threads']; timeoutMs: number },
  count: (instructions: number) => void,
): Promise<string | undefined> {
  try {
    const run = { device, timeoutMs, stackSizeBytes: STACK_BYTES, ...(threads && { threads }) };
    const { kernels, ...outcome } = await runImage(bytes, run, new Output());
    for (const { statistics } of kernels) count(Number(statistics.instructions));
    return threads === undefined ? differenceOf(host, outcome) : differenceOf(sortedLines(host), sortedLines(outcome));
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

/** Works through `items` with `count` of them at a time; `work` is told which of the `count` it is. */
export async function inParallel<T>(
  items: Iterable<T>,
  count: number,
  work: (item: T, worker: number) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const run = async (_: unknown, worker: number): Promise<void> => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value, worker);
  };
  await Promise.all(Array.from({ length: count }, run));
}
