/** A real server, workers and coordinators as processes of their own, for tests that end them. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { KeyedCase } from '../../src/fleet/case.ts';
import { readReport } from '../../src/fleet/report.ts';
import type { Verdict } from '../../src/fleet/verdict.ts';

export const ROOT = path.resolve(import.meta.dirname, '../..');
const LAUNCHER = path.join(ROOT, 'bin/wavewright.js');
const PATIENCE_MS = 100_000;
const POLL_MS = 20;

export const SERVER = ['valkey-server', 'redis-server'].find((each) => spawnSync(each, ['--version']).status === 0);

export const example = (name: string): string => path.join(ROOT, 'examples', name);

/** Waits until something is so. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<NonNullable<T>> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found) return found as NonNullable<T>;
    assert.ok(performance.now() < endMs, `${what} in ${patienceMs} ms`);
    await pause(POLL_MS);
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

export class Server {
  readonly port: number;
  readonly #folder: string;
  readonly #options: readonly string[];
  #process: ChildProcess | undefined;
  #client: Redis | undefined;

  static async start(folder: string, ...options: readonly string[]): Promise<Server> {
    const server = new Server(await freePort(), mkdtempSync(path.join(folder, 'server-')), options);
    await server.restart();
    return server;
  }

  private constructor(port: number, folder: string, options: readonly string[]) {
    [this.port, this.#folder, this.#options] = [port, folder, options];
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** A client of the tests. */
  get client(): Redis {
    if (this.#client) return this.#client;
    this.#client = new Redis({ port: this.port, maxRetriesPerRequest: null, retryStrategy: () => 50 });
    this.#client.on('error', () => undefined);
    return this.#client;
  }

  async restart(): Promise<void> {
    const place = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.#folder, '--save', ''];
    const safe = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];
    this.#process = spawn(SERVER!, [...place, ...safe, ...this.#options], { stdio: 'ignore' });
    await until(
      'the server answers',
      () =>
        new Promise((resolve) => {
          const probe = new Redis({ port: this.port, lazyConnect: true, retryStrategy: () => null });
          probe.on('error', () => undefined);
          probe
            .ping()
            .then(
              () => resolve(true),
              (error) => resolve(/NOAUTH/.test(String(error))),
            )
            .finally(() => probe.disconnect());
        }),
    );
  }

  /** `isForgotten`: nothing of what it had is there when it comes back. */
  async kill(isForgotten = false): Promise<void> {
    await end(this.#process);
    if (isForgotten)
      for (const name of readdirSync(this.#folder)) rmSync(path.join(this.#folder, name), { recursive: true });
  }

  async close(): Promise<void> {
    this.#client?.disconnect();
    await this.kill();
  }
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** A command of ours in a process of its own. */
export class Command {
  readonly #child: ChildProcess;
  stdout = '';
  stderr = '';

  constructor(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(process.execPath, [LAUNCHER, ...argv], {
      ...{ stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env['PATH'], ...env } },
    });
    this.#child.stdout?.on('data', (data) => (this.stdout += data));
    this.#child.stderr?.on('data', (data) => (this.stderr += data));
  }

  get pid(): number {
    return this.#child.pid!;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The exit status, or the signal; what does not end is ended. */
  async ended(patienceMs = PATIENCE_MS): Promise<number | string> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs);
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'close');
    clearTimeout(timer);
    return this.#child.exitCode ?? this.#child.signalCode!;
  }

  kill(): Promise<void> {
    return end(this.#child);
  }

  /** Process ids of what it has started. */
  children(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => parentOf(pid) === this.pid);
  }
}

const parentOf = (pid: number): number => Number(statOf(pid)?.[1]);

/** Fields of proc(5) behind the name. */
function statOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  } catch {
    return undefined;
  }
}

/** What a test uses, ended with it. */
export class Rig implements AsyncDisposable {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'wavewright-fleet-'));
  readonly #commands: Command[] = [];
  readonly #servers: Server[] = [];

  async server(...options: readonly string[]): Promise<Server> {
    const server = await Server.start(this.folder, ...options);
    this.#servers.push(server);
    return server;
  }

  command(argv: readonly string[], env?: Readonly<Record<string, string>>): Command {
    const command = new Command(argv, env);
    this.#commands.push(command);
    return command;
  }

  /** Runs one case at a time, and misses a lease of a second. */
  worker(server: Server, ...options: readonly string[]): Command {
    const own = ['worker', `--queue=${server.url}`, '--jobs=1', '--lease=1', `--cache=${this.file('cache')}`];
    return this.command([...own, ...options]);
  }

  coordinator(server: Server, cases: string, ...options: readonly string[]): Command {
    const own = ['test', `--queue=${server.url}`, `--report=${this.file('report.jsonl')}`, '--campaign=c'];
    return this.command([...own, ...options, cases]);
  }

  file(name: string): string {
    return path.join(this.folder, name);
  }

  /** A file of cases. */
  cases(lines: readonly object[], name = 'cases.jsonl'): string {
    const file = this.file(name);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#commands.map((command) => command.kill()));
    await Promise.all(this.#servers.map((server) => server.close()));
    rmSync(this.folder, { recursive: true });
  }
}

/** What a report says: verdicts by name; how many cases have none, how many have several. */
export async function tally(report: string) {
  const cases = new Map<string, KeyedCase>();
  const verdicts = new Map<string, Verdict>();
  let [doubled, isWhole] = [0, false];
  for await (const entry of readReport(report)) {
    if (entry.kind === 'case') cases.set(entry.key, entry);
    if (entry.kind === 'verdict') {
      if (verdicts.has(entry.name)) doubled++;
      verdicts.set(entry.name, entry.verdict);
    }
    isWhole ||= entry.kind === 'footer';
  }
  const outcomes: Record<string, number> = {};
  for (const { o } of verdicts.values()) outcomes[o] = (outcomes[o] ?? 0) + 1;
  return { lost: cases.size - verdicts.size, doubled, isWhole, outcomes, verdicts };
}

/** A process that runs cases takes less until it is ready. */
const START_S = 2;

/** Whether a process that runs cases has used so much CPU time that its case has begun. */
export function burns(pid: number | undefined): boolean {
  const TICKS_PER_S = 100;
  const fields = pid === undefined ? undefined : statOf(pid);
  return fields !== undefined && Number(fields[11]) + Number(fields[12]) > START_S * TICKS_PER_S;
}

export const ORACLES_REQUIRED = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] === '1';
export const FLEET_TEST = { skip: SERVER === undefined && !ORACLES_REQUIRED, timeout: 300_000 };

export const HELLO = example('hello/hello.gfx90a.co');
export const EXITS = example('checks/exit-early.gfx90a.co');
export const LOOPS = example('checks/infinite-loop.gfx90a.co');

/** A case that takes seconds of its program's own time, and ends by its limit. */
export const endless = (name: string, timeout: number) => ({ image: LOOPS, name, timeout });

/** Cases of which every fifth fails. */
export const mixed = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    ...{ image: i % 5 === 4 ? EXITS : HELLO, name: `case ${String(i).padStart(3, '0')}`, args: [`${i}`] },
  }));

export const doneJobs = (server: Server) => server.client.zcard('ww:ww-c:completed');

/** How often workers began a job, over all that are done. */
export async function beginnings(server: Server): Promise<number> {
  const ids = await server.client.zrange('ww:ww-c:completed', '0', '-1');
  const counts = await Promise.all(ids.map((id) => server.client.hget(`ww:ww-c:${id}`, 'ats')));
  return counts.reduce((sum, count) => sum + Number(count), 0);
}

/** Nothing is lost or doubled, and so many came to what they should. */
export async function expectWhole(report: string, outcomes: Readonly<Record<string, number>>) {
  const found = await tally(report);
  assert.deepEqual([found.lost, found.doubled, found.isWhole], [0, 0, true]);
  assert.deepEqual(found.outcomes, outcomes);
  return found;
}
