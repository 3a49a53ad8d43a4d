/**
 * What profiles and recordings cost: CPU time of kernels with each family of data, in turns with the same
 * kernels without; and what traces and recordings take in a file.
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
import { LaunchRecorder } from '../src/replay/launches/launch-recorder.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { rounds: { ...text, default: '5' }, families: text, kernels: text } });
const PROCESSOR = 'gfx90a';
const WARM_UPS = 2;
const NAMES = ['sha256', 'gather', 'matmul4x4', 'mfma16', 'mandelbrot', 'collatz', 'nbody', 'histogram', 'bitonic'];

/** What the device counts, and what the profile holds. */
const FAMILIES = {
  off: { counts: {}, data: undefined },
  'dispatch-events': { counts: {}, data: ['dispatch-events'] },
  counters: { counts: { countsClasses: true }, data: ['dispatch-events', 'counters'] },
  'instruction-counts': { counts: { countsPcs: true }, data: ['dispatch-events', 'instruction-counts'] },
  'executable-traces': { counts: { tracesWaves: true }, data: ['dispatch-events', 'executable-traces'] },
  'access-counts': { counts: { countsAccesses: true }, data: ['dispatch-events', 'instruction-counts'] },
  recording: { counts: {}, data: 'launches' },
} as const;

/** Counts what is written. */
class SizeTarget {
  bytes = 0;
  append({ length }: Uint8Array): void {
    this.bytes += length;
  }
  restart(): void {}
}

function runnerOf({ counts, data }: (typeof FAMILIES)[keyof typeof FAMILIES], target: SizeTarget): KernelRunner {
  const device = createEmulatedDevice({ processor: PROCESSOR, ...counts });
  if (data === undefined) return new KernelRunner(device);
  if (data === 'launches') return new KernelRunner(device, new LaunchRecorder(target));
  const sink = new ProfileFileSink(target);
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
    const target = new SizeTarget();
    const runner = runnerOf(how, target);
    const run = runner.prepare(image, kernel, benchmark.launch('full'));
    for (let i = 0; i < WARM_UPS; i++) run();
    return { family, run, runner, target, cpuMs: 0 };
  });
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const each of runs) each.cpuMs += each.run().cpuMs;
  }
  console.log([name, ...runs.map(({ cpuMs }) => (cpuMs / runs[0]!.cpuMs).toFixed(2))].join('\t'));
  for (const { family, runner, target } of runs) {
    const { instructions } = runner.statistics;
    if (family === 'executable-traces')
      console.log(`\t${((1000 * target.bytes) / instructions).toFixed(3)} bytes for 1,000 instructions`);
    const launches = Number(values.rounds) + WARM_UPS;
    if (family === 'recording') console.log(`\t${Math.round(target.bytes / launches)} bytes a launch`);
  }
  for (const { family, cpuMs } of runs) totals.set(family, (totals.get(family) ?? 0) + cpuMs);
  for (const { runner } of runs) runner[Symbol.dispose]();
}
console.log(['all', ...[...totals.values()].map((cpuMs) => (cpuMs / totals.get('off')!).toFixed(2))].join('\t'));
