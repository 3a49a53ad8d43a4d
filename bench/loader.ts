/**
 * The loader: RPC conversations per second and a storm of allocations in CPU time, of one thread and of two,
 * what a small program costs in a batch and by itself in wall time; medians.
 * `node bench/loader.ts [SAMPLES]`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packageFile } from '../src/base/node-package-file.ts';
import { median } from '../src/bench/sampling.ts';
import { readInput } from '../src/cli/process/input.ts';
import { createEmulatedDevice, type Device, runProgram } from '../src/index.ts';
import { nodeThreads } from '../src/node.ts';

const SAMPLES = Number(process.argv[2] ?? 5);
const STORM = packageFile('examples/checks/storm.gfx90a.co');
const BATCH_PROGRAMS = 500;
const BATCH_IMAGES = ['hello/hello', 'hello/hello-p19', 'hello/hello-p22', 'checks/constructors', 'checks/storm'];
const STARTS = 10;

const storm = readInput(STORM);

/** Of the program with so many rounds and work-items, in CPU time of all threads. */
async function storms(device: Device, rounds: number, blocks: number, threads: number): Promise<string> {
  const samples: { cpuSeconds: number; conversations: number }[] = [];
  for (let sample = 0; sample <= SAMPLES; sample++) {
    const before = process.cpuUsage();
    const { status, statistics } = await runProgram(storm, {
      device,
      args: ['storm', String(rounds)],
      blocks: [blocks, 1, 1],
      threads: [threads, 1, 1],
    });
    if (status !== 0) throw new Error(`storm ended with ${status}`);
    const { user, system } = process.cpuUsage(before);
    // The first run compiles.
    if (sample === 0) continue;
    samples.push({
      cpuSeconds: (user + system) / 1e6,
      conversations: statistics.rpc.reduce((sum, { conversations }) => sum + conversations, 0),
    });
  }
  const cpuSeconds = median(samples.map((sample) => sample.cpuSeconds));
  const perSecond = median(samples.map((sample) => sample.conversations / sample.cpuSeconds));
  return `${Math.round(perSecond)} conversations/s, ${cpuSeconds.toFixed(2)} s`;
}

/** Wall time of a command, in seconds. */
function commandSeconds(...argv: string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [packageFile('bin/wavewright.js'), ...argv], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${argv[0]} ended with ${status}: ${stderr}`);
  return (performance.now() - start) / 1000;
}

const inline = createEmulatedDevice({ processor: 'gfx90a', workers: 1 });
console.log(`one work-item, 20000 allocations: ${await storms(inline, 20_000, 1, 1)}`);
console.log(`one wave, 500 allocations of 64 work-items: ${await storms(inline, 500, 1, 64)}`);
console.log(`8 blocks of one, 5000 allocations each: ${await storms(inline, 5000, 8, 1)}`);
console.log(`2048 blocks of 64, 4 allocations each: ${await storms(inline, 4, 2048, 64)}`);
inline.close();

// Half of the workgroups run in a worker, which the server on the main thread answers.
const crossing = createEmulatedDevice({ processor: 'gfx90a', workers: 2, threads: nodeThreads, workersAtOnce: true });
console.log(`two threads: 8 blocks of one, 5000 allocations each: ${await storms(crossing, 5000, 8, 1)}`);
console.log(`two threads: 2048 blocks of 64, 4 allocations each: ${await storms(crossing, 4, 2048, 64)}`);
crossing.close();

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-bench-'));
try {
  const list = path.join(folder, 'list');
  const images = BATCH_IMAGES.map((name) => packageFile(`examples/${name}.gfx90a.co`));
  const names = Array.from({ length: BATCH_PROGRAMS }, (_, i) => images[i % images.length]);
  writeFileSync(list, `${names.join('\n')}\n`);
  const batch: number[] = [];
  const single: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) {
    batch.push(commandSeconds('test', '--jobs=1', list) / BATCH_PROGRAMS);
    for (let start = 0; start < STARTS; start++) single.push(commandSeconds('run', images[start % images.length]!));
  }
  const ms = (seconds: readonly number[]) => `${(median(seconds) * 1000).toFixed(1)} ms`;
  console.log(`a small program, wall: ${ms(batch)} in a batch of ${BATCH_PROGRAMS}, ${ms(single)} started by itself`);
} finally {
  rmSync(folder, { recursive: true });
}
