/**
 * What the safety oracles share: iterations that one seed decides, counts, findings with a command that
 * repeats them, and a command line.
 *
 *     node test/fuzz/NAME.ts [--target=all|gfx90a,...] [--seconds=N | --iterations=N] [--seed=S]
 *       [--findings=N] [--ignore=REGEX]
 */
import { writeSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { WavewrightError } from '../../src/base/errors.ts';
import { Random } from './random.ts';

export const ORACLE_TARGETS = ['gfx90a', 'gfx942', 'gfx1030', 'gfx1100', 'gfx1200'] as const;

/**
 * `difference`: executors disagree; `escape`: bytes changed, or were seen, that no GPU code may reach;
 * `internal`: INTERNAL, or an error that is no WavewrightError; `hang`: host work took longer than its bound.
 */
export type FindingKind = 'difference' | 'escape' | 'internal' | 'hang';

interface Finding {
  readonly kind: FindingKind;
  readonly target: string;
  readonly seed: number;
  readonly text: string;
}

/** Ends an iteration that found something. */
export class Found extends Error {
  readonly kind: FindingKind;

  constructor(kind: FindingKind, text: string) {
    super(text);
    this.kind = kind;
  }
}

/** Counts of one run of an oracle. */
export class Tally {
  executions = 0;
  instructions = 0;
  readonly faults = new Map<string, number>();
  readonly refusals = new Map<string, number>();
  /** What else an oracle wants to see happen, so that one that tests nothing is noticed. */
  readonly events = new Map<string, number>();
  readonly findings: Finding[] = [];
  /** What an iteration is about to do, for the text of what goes wrong. */
  doing = '';

  fault(kind: string): void {
    count(this.faults, kind);
  }

  event(name: string, times = 1): void {
    this.events.set(name, (this.events.get(name) ?? 0) + times);
  }

  /** An error of the product: bad input is told by its code; a defect is a finding. */
  refused(error: unknown): void {
    if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
    count(this.refusals, error.code);
  }

  found(kind: FindingKind): number {
    return this.findings.filter((finding) => finding.kind === kind).length;
  }

  toString(): string {
    const list = (counts: ReadonlyMap<string, number>) =>
      [...counts].map(([name, number]) => `${name} ${number}`).join(', ') || 'none';
    const kinds = { difference: 'differences', escape: 'escapes', internal: 'INTERNAL', hang: 'hangs' } as const;
    const found = Object.entries(kinds).map(([kind, name]) => `${this.found(kind as FindingKind)} ${name}`); // reason: keys of the object above
    const numbers = `${this.executions} executions, ${this.instructions} instructions`;
    return `${numbers}; faults: ${list(this.faults)}; refusals: ${list(this.refusals)}; ${list(this.events)}; ${found.join(', ')}`;
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** What an oracle runs on one target. */
export interface Subject extends Disposable {
  /** One iteration; throws `Found`, or what is unexpected. */
  iterate(random: Random, tally: Tally): void;
}

export interface Oracle {
  readonly name: string;
  /**
   * Iterations that one subject lives for: what it keeps decoded and compiled stays small, and seeds repeat
   * from where it began.
   */
  readonly lifetime: number;
  /** An iteration that takes longer is out of control. */
  readonly stuckMs: number;
  create(target: string): Subject;
}

export interface OracleOptions {
  readonly targets: readonly string[];
  /** Of each target. */
  readonly iterations?: number;
  /** Of all targets together. */
  readonly seconds?: number;
  readonly seed: number;
  /** Ends after so many. */
  readonly findings?: number;
  /** Findings that are known: counted, and nothing else. */
  readonly ignore?: RegExp | undefined;
  readonly report?: (text: string) => void;
  /** Told before each iteration. */
  readonly onIteration?: (target: string, seed: number) => void;
}

/** Runs an oracle; iteration number n of a target has the seed `seed + n`. */
export function runOracle(oracle: Oracle, options: OracleOptions): Tally {
  const tally = new Tally();
  const { seed, findings = 10, report = () => {} } = options;
  for (const target of options.targets) {
    const endMs = performance.now() + ((options.seconds ?? Number.POSITIVE_INFINITY) * 1000) / options.targets.length;
    let subject: Subject | undefined;
    let born = seed;
    const iterations = options.iterations ?? Number.POSITIVE_INFINITY;
    for (let number = 0; number < iterations && performance.now() < endMs; number++) {
      if (tally.findings.length >= findings) break;
      const own = (seed + number) >>> 0;
      options.onIteration?.(target, own);
      if (subject === undefined) born = own;
      subject ??= oracle.create(target);
      const finding = iterate(oracle, subject, own, tally);
      if (finding && options.ignore?.test(finding.text)) tally.event('ignored findings');
      else if (finding) {
        tally.findings.push({ ...finding, target, seed: own });
        report(`${finding.kind} on ${target}, seed ${own}: ${finding.text}\n${repeat(oracle, target, born, own)}`);
      }
      // What is left after a finding, or after an error, is no fresh ground.
      if (!finding && tally.doing !== REFUSED && (number + 1) % oracle.lifetime !== 0) continue;
      subject[Symbol.dispose]();
      subject = undefined;
    }
    subject?.[Symbol.dispose]();
  }
  return tally;
}

function repeat({ name }: Oracle, target: string, born: number, own: number): string {
  const command = (from: number, iterations: number) =>
    `node test/fuzz/${name}.ts --target=${target} --seed=${from} --iterations=${iterations}`;
  const alone = `  repeat: ${command(own, 1)}`;
  return born === own ? alone : `${alone}\n  with what ran before: ${command(born, own - born + 1)}`;
}

/** What an iteration was doing that ended early, by an error of the product that is no defect. */
const REFUSED = 'was refused';

function iterate(
  oracle: Oracle,
  subject: Subject,
  seed: number,
  tally: Tally,
): Pick<Finding, 'kind' | 'text'> | undefined {
  const cpu = process.cpuUsage();
  tally.doing = '';
  try {
    subject.iterate(new Random(seed), tally);
  } catch (error) {
    if (error instanceof WavewrightError && error.code !== 'INTERNAL') {
      tally.refused(error);
      tally.doing = REFUSED;
      return undefined;
    }
    const text = error instanceof Found ? error.message : error instanceof Error ? error.stack : String(error);
    return { kind: error instanceof Found ? error.kind : 'internal', text: `${text}\n  ${tally.doing}` };
  }
  // CPU time of all threads: a loaded machine makes nothing hang. What sleeps for ever is the watchdog's.
  const { user, system } = process.cpuUsage(cpu);
  const durationMs = (user + system) / 1000;
  if (durationMs < oracle.stuckMs) return undefined;
  return { kind: 'hang', text: `the iteration took ${Math.round(durationMs)} ms of CPU: ${tally.doing}` };
}

/**
 * Seconds of the process's CPU, and of the clock, after which an iteration that has not come back is given
 * up, with the process.
 */
const WATCHDOG_CPU_SECONDS = 60;
const WATCHDOG_SECONDS = 900;
const WATCHDOG = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
let [seen, sinceMs, sinceCpuMs] = [-1, performance.now(), cpuMs()];
setInterval(() => {
  const now = Atomics.load(workerData.words, 0);
  if (now !== seen) [seen, sinceMs, sinceCpuMs] = [now, performance.now(), cpuMs()];
  if (performance.now() < sinceMs + workerData.limitMs && cpuMs() < sinceCpuMs + workerData.cpuLimitMs) return;
  const [, target, seed] = workerData.words;
  const name = workerData.targets[target];
  writeSync(2, 'hang on ' + name + ', seed ' + (seed >>> 0) + ': the iteration did not come back\\n  repeat: node test/fuzz/' +
    workerData.name + '.ts --target=' + name + ' --seed=' + (seed >>> 0) + ' --iterations=1\\n');
  process.kill(process.pid, 'SIGKILL');
}, 500);`;

/** Tells where an iteration hangs that never comes back; returns what is to be told of each iteration. */
function watch(
  name: string,
  targets: readonly string[],
): { tell: (target: string, seed: number) => void; end(): void } {
  const words = new Int32Array(new SharedArrayBuffer(12));
  const workerData = {
    words,
    name,
    targets,
    limitMs: WATCHDOG_SECONDS * 1000,
    cpuLimitMs: WATCHDOG_CPU_SECONDS * 1000,
  };
  const worker = new Worker(WATCHDOG, { eval: true, workerData });
  worker.unref();
  const tell = (target: string, seed: number): void => {
    words[1] = targets.indexOf(target);
    words[2] = seed;
    Atomics.add(words, 0, 1);
  };
  return { tell, end: () => void worker.terminate() };
}

/** The command line, when `meta` is that of the file that was started. */
export function oracleMain(oracle: Oracle, meta: ImportMeta): void {
  if (!meta.main) return;
  const { values } = parseArgs({
    options: {
      target: { type: 'string', default: 'all' },
      seconds: { type: 'string' },
      iterations: { type: 'string' },
      seed: { type: 'string', default: '1' },
      findings: { type: 'string', default: '10' },
      ignore: { type: 'string' },
    },
  });
  const targets = values.target === 'all' ? ORACLE_TARGETS : values.target.split(',');
  const { seconds, iterations } = values;
  const seed = Number(values.seed);
  const startMs = performance.now();
  const { tell, end } = watch(oracle.name, targets);
  const tally = runOracle(oracle, {
    targets,
    seed,
    findings: Number(values.findings),
    ignore: values.ignore === undefined ? undefined : new RegExp(values.ignore),
    ...(iterations !== undefined && { iterations: Number(iterations) }),
    ...(iterations === undefined && { seconds: Number(seconds ?? 10) }),
    // At once, in case that the process does not survive.
    report: (text) => writeSync(2, `${text} (after ${((performance.now() - startMs) / 1000).toFixed(1)} s)\n`),
    onIteration: tell,
  });
  end();
  console.log(`${path.basename(meta.filename)} --target=${targets.join(',')} --seed=${seed}: ${tally}`);
  process.exitCode = tally.findings.length > 0 ? 1 : 0;
}
