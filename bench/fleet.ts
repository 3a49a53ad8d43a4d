/**
 * What a queue costs: empty cases through a real server, with one worker and one coordinator as processes of
 * their own; CPU time of each in ms a case, and what the server keeps. `node bench/fleet.ts [CASES...]
 * [--batch=N]`, by default 20,000 with 1 and with 16 cases a job.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { RunPlan } from '../src/cli/batch/plan.ts';
import { BlobCache } from '../src/fleet/queue/blob-cache.ts';
import { openBlobStore } from '../src/fleet/queue/blob-store.ts';
import { Campaigns } from '../src/fleet/queue/campaign.ts';
import { CaseFeed } from '../src/fleet/queue/case-feed.ts';
import { QueueConnection } from '../src/fleet/queue/connection.ts';
import { Coordinator } from '../src/fleet/queue/coordinator.ts';
import { FleetWorker } from '../src/fleet/queue/fleet-worker.ts';
import { cutsFor } from '../src/fleet/queue/job.ts';
import { parseQueueUrl } from '../src/fleet/queue/queue-url.ts';
import { secondOf } from '../src/fleet/report.ts';

const PORT = 7390;
const US_PER_MS = 1000;
const MIB = 2 ** 20;
const words = process.argv.slice(2);
const option = (name: string): string | undefined =>
  words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const onNews = (text: string) => process.stderr.write(`${text}\n`);

const connect = () =>
  QueueConnection.open({ address: parseQueueUrl(`redis://127.0.0.1:${PORT}`, false), timeoutMs: 60_000, onNews });

function cpuMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / US_PER_MS;
}

/** Until its parent ends it: CPU time on request. */
async function work(folder: string): Promise<void> {
  await using connection = await connect();
  const result = {
    outcome: 'passed',
    status: 0,
    durationMs: 0,
    attempts: 1,
    cases: [],
    stdout: '',
    stderr: '',
  } as const;
  const worker = new FleetWorker({
    ...{ connection, campaigns: new Campaigns(connection), blobs: 'queue', version: 'bench', jobs: 1, leaseMs: 30_000 },
    cache: new BlobCache(path.join(folder, 'cache'), MIB),
    openLane: () => ({ run: async ({ name }) => ({ name, ...result }), [Symbol.dispose]: () => undefined }),
    check: () => undefined,
    onNews,
  });
  const before = process.cpuUsage();
  const stop = new AbortController();
  process.on('SIGTERM', () => stop.abort());
  await worker.run(stop.signal, { drainMs: 1000 });
  process.stdout.write(JSON.stringify({ ms: cpuMs(before) }));
  process.exit();
}

async function coordinate(folder: string, count: number, batch: number): Promise<void> {
  await using connection = await connect();
  const campaigns = new Campaigns(connection);
  const image = path.join(folder, 'image');
  const [before, startMs] = [process.cpuUsage(), performance.now()];
  const shared = { image, options: [], env: {}, timeout: 60, retries: 0 };
  const plan = new RunPlan(true);
  async function* read() {
    for (let i = 0; i < count; i++) {
      yield plan.add({ kind: 'case', case: { ...shared, name: `case[seed=${i}]`, args: [`${i}`] } })!;
    }
  }
  const record = {
    ...{ name: `bench${count}x${batch}`, version: 'bench', began: secondOf(new Date()) },
    ...{ blobs: 'queue', keepsLogs: false, keepS: 1 },
  };
  await campaigns.create(record);
  let [verdicts, firstMs, readMs] = [0, 0, 0];
  const coordinator = new Coordinator({
    ...{ connection, campaigns, record, feed: new CaseFeed(read()), store: openBlobStore('queue', connection) },
    cut: (cases) => cutsFor(cases, batch, new Map()),
    onRead: () => {
      readMs = performance.now() - startMs;
      return plan.whole;
    },
    onVerdict: () => {
      if (verdicts++ === 0) firstMs = performance.now() - startMs;
    },
    onLook: () => undefined,
    ...{ onNews, signal: new AbortController().signal },
  });
  await coordinator.run();
  const wallMs = performance.now() - startMs;
  const residentMib = process.memoryUsage.rss() / MIB;
  process.stdout.write(JSON.stringify({ ms: cpuMs(before), wallMs, firstMs, readMs, verdicts, residentMib }));
  process.exit();
}

interface Said {
  readonly ms: number;
  readonly wallMs: number;
  readonly firstMs: number;
  /** When all cases had been read. */
  readonly readMs: number;
  readonly verdicts: number;
  readonly residentMib: number;
}

function start(...argv: readonly string[]): { readonly child: ChildProcess; readonly said: Promise<Said> } {
  const child = spawn(process.execPath, [import.meta.filename, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout?.on('data', (data) => (text += data));
  return { child, said: once(child, 'close').then(() => JSON.parse(text)) };
}

/** A line of the table. */
async function measureQueue(count: number, batch: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-bench-'));
  writeFileSync(path.join(folder, 'image'), 'no program');
  const place = ['--port', `${PORT}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  const server = spawn('redis-server', [...place, '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'], {
    stdio: 'ignore',
  });
  await pause(500);
  const worker = start('--role=worker', `--folder=${folder}`);
  await pause(1500);
  const coordinator = await start('--role=coordinator', `--folder=${folder}`, `${count}`, `--batch=${batch}`).said;
  worker.child.kill('SIGTERM');
  const { ms } = await worker.said;
  const connection = await connect();
  const info = await connection.redis.info();
  const value = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  const brokerMs = (value('used_cpu_sys') + value('used_cpu_user')) * 1000;
  const of = (total: number) => (total / count).toFixed(3);
  const row = [count, batch, coordinator.verdicts, of(ms), of(brokerMs), of(coordinator.ms)];
  row.push(of(ms + brokerMs + coordinator.ms), `${(coordinator.wallMs / 1000).toFixed(1)} s`);
  row.push(...[coordinator.firstMs, coordinator.readMs].map((ms) => `${(ms / 1000).toFixed(2)} s`));
  row.push(`${Math.round(value('used_memory_peak') / MIB)} MiB`);
  row.push(`${Math.round(value('aof_current_size') / MIB)} MiB`, `${Math.round(coordinator.residentMib)} MiB`);
  console.log(`| ${row.join(' | ')} |`);
  connection.redis.disconnect();
  server.kill();
  await once(server, 'exit');
  rmSync(folder, { recursive: true });
}

const counts = words.filter((word) => !word.startsWith('--')).map(Number);
const batch = option('batch');
if (option('role') === 'worker') await work(option('folder')!);
else if (option('role') === 'coordinator') await coordinate(option('folder')!, counts[0]!, Number(batch));
else {
  console.log(
    '| cases | a job | verdicts | worker | server | coordinator | sum | time | first | read | memory | disk | coordinator |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|---|---|---|');
  for (const count of counts.length > 0 ? counts : [20_000]) {
    for (const each of batch === undefined ? [1, 16] : [Number(batch)]) await measureQueue(count, each);
  }
  process.exit();
}
