/** Where the wall time of the first thing a user runs goes. */
import { spawnSync } from 'node:child_process';

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;

function wallMs(args: readonly string[], samples: number): number {
  const times: number[] = [];
  for (let i = 0; i < samples; i++) {
    const start = performance.now();
    const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
    if (status !== 0) throw new Error(`node ${args.join(' ')} ended with status ${status}`);
    times.push(performance.now() - start);
  }
  return median(times);
}

/** Medians in milliseconds: an empty Node process, reading the image and showing it, running it, and what running adds to Node. */
export function measureHello(samples: number): { node: number; inspect: number; run: number; 'over node': number } {
  const image = 'examples/hello/hello.gfx90a.co';
  const node = wallMs(['-e', '0'], samples);
  const inspect = wallMs(['bin/wavewright.js', 'readobj', image], samples);
  const run = wallMs(['bin/wavewright.js', 'run', image, 'world'], samples);
  return { node, inspect, run, 'over node': run - node };
}
