/**
 * What profiles cost: CPU time of kernels with each family of data, in turns with the same kernels without.
 *
 *     node bench/profile.ts [--rounds=N] [--families=off,dispatch-events] [--kernels=nbody,sha256]
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { PacketProfile } from '../src/hal/index.ts';
import { dispatchCounters } from '../src/hal-drivers/dispatch-counters.ts';
import { instructionReader } from '../src/hal-drivers/instruction-reader.ts';
import { ProfileFileSink } from '../src/profile/session-file.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { rounds: { ...text, default: '5' }, families: text, kernels: text } });
const PROCESSOR = 'gfx90a';
const NAMES = ['sha256', 'gather', 'matmul4x4', 'mfma16', 'mandelbrot', 'collatz', 'nbody', 'histogram', 'bitonic'];

/** What the device counts, and what the profile holds. */
const FAMILIES = {
  off: { counts: {}, data: undefined },
  'dispatch-events': { counts: {}, data: ['dispatch-events'] },
  counters: { counts: { countsClasses: true }, data: ['dispatch-events', 'counters'] },
  'instruction-counts': { counts: { countsPcs: true }, data: ['dispatch-events', 'instruction-counts'] },
  'executable-traces': { counts: { tracesWaves: true }, data: ['dispatch-events', 'executable-traces'] },
  'access-counts': { counts: { countsAccesses: true }, data: ['dispatch-events', 'instruction-counts'] },
} as const;

function runnerOf({ counts, data }: (typeof FAMILIES)[keyof typeof FAMILIES]): KernelRunner {
  const device = createEmulatedDevice({ processor: PROCESSOR, ...counts });
  if (data === undefined) return new KernelRunner(device);
  const sink = new ProfileFileSink({ append: () => {}, restart: () => {} });
  const reader = 'countsClasses' in counts ? undefined : instructionReader(PROCESSOR, true);
  const counters = dispatchCounters({ classes: 'countsClasses' in counts, instructions: false, accesses: false });
  const tracesWaves = 'tracesWaves' in counts;
  const options = { device, sink, data, counters, tracesWaves, now: () => performance.now() };
  return new KernelRunner(device, new PacketProfile({ ...options, instructions: reader }));
}

const chosen = Object.entries(FAMILIES).filter(([name]) => values.families?.split(',').includes(name) ?? true);
const names = values.kernels?.split(',') ?? NAMES;
const totals = new Map<string, number>();
console.log(['kernel', ...chosen.map(([name]) => name)].join('\t'));
for (const benchmark of KERNELS.filter(({ name }) => names.includes(name))) {
  const { name, kernel = name } = benchmark;
  const file = `examples/kernels/${name}.${PROCESSOR}.co`;
  const image = { name: file, bytes: readFileSync(file) };
  const runs = chosen.map(([family, how]) => {
    const runner = runnerOf(how);
    const run = runner.prepare(image, kernel, benchmark.launch('full'));
    for (let i = 0; i < 2; i++) run();
    return { family, run, runner, cpuMs: 0 };
  });
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const each of runs) each.cpuMs += each.run().cpuMs;
  }
  console.log([name, ...runs.map(({ cpuMs }) => (cpuMs / runs[0]!.cpuMs).toFixed(2))].join('\t'));
  for (const { family, cpuMs } of runs) totals.set(family, (totals.get(family) ?? 0) + cpuMs);
  for (const { runner } of runs) runner[Symbol.dispose]();
}
console.log(['all', ...[...totals.values()].map((cpuMs) => (cpuMs / totals.get('off')!).toFixed(2))].join('\t'));
