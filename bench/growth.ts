/**
 * `node bench/growth.ts [WHAT...]`: how cost grows with work, for `waves`, `dispatches`, `length` and
 * `allocations` (default: all). Thread CPU time, which contains V8's compilation where that is synchronous,
 * and memory.
 */
import { assembledImage, kernelSource } from '../src/bench/assembled-kernel.ts';
import { SAMPLE_MS, timed } from '../src/bench/sampling.ts';
import { EmulatorMemory } from '../src/emulator/machine/memory.ts';
import { StateMemory } from '../src/emulator/machine/state-memory.ts';
import { CodeObjectReader, createEmulatedDevice, createRuntime, type KernelSymbol } from '../src/index.ts';

const PROCESSOR = 'gfx90a';
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`;

/** Loads a kernel; the result runs it on a grid of so many waves, each a workgroup. */
function loaded(body: string, compileThreshold?: number) {
  const device = createEmulatedDevice({
    processor: PROCESSOR,
    ...(compileThreshold !== undefined && { compileThreshold }),
  });
  const runtime = createRuntime({ devices: [device] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  executable.loadCodeObject(agent, new CodeObjectReader(assembledImage(kernelSource('kernel', body), 'growth').bytes));
  executable.freeze();
  const kernel = (executable.getSymbol('kernel.kd') as KernelSymbol).kernelObject;
  const queue = runtime.createQueue(agent);
  const done = runtime.createSignal(0n);
  return (waves: number): void => {
    done.store(1n);
    queue.dispatch({ kernel, grid: [64 * waves], workgroup: [64], completionSignal: done });
    done.waitSync('lt', 1n);
  };
}

const SMALL = Array.from({ length: 20 }, (_, i) => `v_add_u32 v${1 + (i % 8)}, v0, v${1 + ((i * 3) % 8)}\n`).join('');

function measureWaves(): void {
  print('CPU nanoseconds for each wave          empty kernel   20 instructions');
  const kernels = [loaded(''), loaded(SMALL)];
  for (const run of kernels) run(100_000);
  for (const waves of [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]) {
    const cells = kernels.map((run) => {
      let [cpuMs, repeats] = [0, 0];
      for (; cpuMs < SAMPLE_MS; repeats++) cpuMs += timed(() => run(waves)).cpuMs;
      return ((cpuMs * 1e6) / (repeats * waves)).toFixed(0).padStart(15);
    });
    print(`${`${waves}`.padStart(10)} waves${' '.repeat(19)}${cells.join('')}`);
  }
}

function measureDispatches(): void {
  print('\ndispatches of one wave       CPU for each    memory of the process');
  const run = loaded(SMALL);
  let before = 0;
  for (const count of [1_000, 10_000, 50_000, 100_000]) {
    const { cpuMs } = timed(() => {
      for (; before < count; before++) run(1);
    });
    print(
      `${`${count}`.padStart(10)} in all ${cpuMs.toFixed(0).padStart(12)} ms more ${megabytes(process.memoryUsage().rss).padStart(12)}`,
    );
  }
}

/** Instructions in one block, or in blocks of 8 that end in a conditional branch. */
const mix = (count: number, blocks: boolean): string =>
  `${Array.from({ length: count }, (_, i) => {
    const [a, b, c] = [1 + (i % 23), 1 + ((i * 7) % 23), 1 + ((i * 5) % 23)];
    if (blocks && i % 8 === 7) return `s_cbranch_scc1 .Lnext${i}\n.Lnext${i}:\n`;
    switch (i % 6) {
      case 0:
        return `v_add_u32 v${a}, v${b}, v${c}\n`;
      case 1:
        return `v_fma_f32 v${a}, v${b}, v${c}, v${a}\n`;
      case 2:
        return `v_xor_b32 v${a}, 0x1234, v${b}\n`;
      case 3:
        return `v_lshlrev_b32 v${a}, 3, v${b}\n`;
      case 4:
        return `s_add_u32 s${8 + (i % 16)}, s${8 + ((i * 3) % 16)}, s9\n`;
      default:
        return `v_mul_f32 v${a}, v${b}, v${c}\n`;
    }
  }).join('')}`;

function measureLength(): void {
  print('\ncompile, microseconds of CPU for each instruction');
  print('  instructions    one block    blocks of 8      memory');
  loaded(mix(2_000, false), 1)(4);
  for (const count of [100, 1_000, 10_000, 50_000]) {
    const cells = [false, true].map((blocks) => {
      const run = loaded(mix(count, blocks), 1);
      const { cpuMs } = timed(() => run(4));
      return ((cpuMs * 1000) / count).toFixed(1).padStart(13);
    });
    print(
      `${`${count}`.padStart(14)}${cells.join('  ')} ${megabytes(process.resourceUsage().maxRSS * 1024).padStart(12)}`,
    );
  }
}

function measureAllocations(): void {
  print('\nmicroseconds for each allocation      allocate      free (in any order)');
  for (const count of [1_000, 10_000, 100_000]) {
    const memory = new EmulatorMemory(0x7f00, new StateMemory());
    const live: number[] = [];
    const allocating = timed(() => {
      for (let i = 0; i < count; i++) live.push(memory.allocate(64 + ((i * 7919) % 8000)));
    });
    const freeing = timed(() => {
      for (let i = 0; i < count; i++) memory.free(live[(i * 7919) % count]!);
    });
    const cells = [allocating, freeing].map(({ cpuMs }) => ((cpuMs * 1000) / count).toFixed(2).padStart(12));
    print(`${`${count}`.padStart(10)} allocations ${' '.repeat(10)}${cells.join('  ')}`);
  }
}

const MEASUREMENTS = {
  waves: measureWaves,
  dispatches: measureDispatches,
  length: measureLength,
  allocations: measureAllocations,
};
const chosen = process.argv.slice(2);
for (const [name, measure] of Object.entries(MEASUREMENTS)) if (chosen.length === 0 || chosen.includes(name)) measure();
