/**
 * Native programs on the emulator against what they stand on, in one run: launches of an empty kernel by a
 * program in C against those from TypeScript, hipMemcpy against memcpy, and the start of a HIP program
 * against the same with a library that has no GPU. `node bench/exec.ts` needs gcc, and for the last two
 * Debian's HIP. Times are of the clock on the wall: two processes work together.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { assembledImage, kernelSource } from '../src/bench/assembled-kernel.ts';
import { median } from '../src/bench/sampling.ts';
import { CodeObjectReader, createEmulatedDevice, createRuntime, type KernelSymbol } from '../src/index.ts';

const ROOT = path.join(import.meta.dirname, '..');
const LIBRARY = path.join(ROOT, 'native/hsa/x86-64/libhsa-runtime64.so.1');
const HIP = '/usr/lib/x86_64-linux-gnu/libamdhip64.so.5';
const PROCESSOR = 'gfx90a';
/** As launches.c has them. */
const [WAITED, PIPELINED, QUEUE_PACKETS, RUNS] = [2000, 20_000, 4096, 5];
const STARTS = 5;

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-bench-exec-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

const medianUs = (count: number, run: () => void): number => {
  run();
  const samples = Array.from({ length: RUNS }, () => {
    const begin = performance.now();
    run();
    return ((performance.now() - begin) * 1000) / count;
  });
  return median(samples);
};

/** A program of bench/exec, built by gcc. */
function build(name: string, ...flags: string[]): string {
  const file = path.join(folder, name);
  const include = `-I${path.join(ROOT, 'native/hsa')}`;
  execFileSync('gcc', ['-std=gnu11', '-O2', include, '-o', file, path.join(ROOT, `bench/exec/${name}.c`), ...flags]);
  return file;
}

const launcher = (...command: string[]): string[] => [path.join(ROOT, 'bin/wavewright.js'), 'exec', ...command];
/** What a program under `exec` prints: a name and a number on each line. */
function measured(...command: string[]): ReadonlyMap<string, number> {
  const text = execFileSync(process.execPath, launcher(...command), { encoding: 'utf8' });
  return new Map([...text.matchAll(/^(\S+) (\d+)$/gm)].map(([, name, value]) => [name!, Number(value)]));
}

function launchesFromTypeScript(code: Uint8Array): { readonly waitedUs: number; readonly pipelinedUs: number } {
  using runtime = createRuntime({ devices: [createEmulatedDevice({ processor: PROCESSOR })] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  executable.loadCodeObject(agent, new CodeObjectReader(code));
  executable.freeze();
  const kernel = (executable.getSymbol('empty.kd') as KernelSymbol).kernelObject;
  const queue = runtime.createQueue(agent, { sizePackets: QUEUE_PACKETS });
  const completionSignal = runtime.createSignal(0n);
  const launch = { kernel, grid: [1], workgroup: [1] };
  const waitedUs = medianUs(WAITED, () => {
    for (let i = 0; i < WAITED; i++) {
      completionSignal.store(1n);
      queue.dispatch({ ...launch, completionSignal });
      completionSignal.waitSync('eq', 0n);
    }
  });
  const pipelinedUs = medianUs(PIPELINED, () => {
    completionSignal.store(1n);
    for (let i = 1; i < PIPELINED; i++) queue.dispatch(launch);
    queue.dispatch({ ...launch, completionSignal });
    completionSignal.waitSync('eq', 0n);
  });
  return { waitedUs, pipelinedUs };
}

function report(what: string, us: number, against: string, otherUs: number): void {
  const ratio = (us / otherUs).toFixed(2);
  console.log(`${what.padEnd(44)} ${us.toFixed(1).padStart(9)} us, ${ratio} x ${against} (${otherUs.toFixed(1)} us)`);
}

const { bytes } = assembledImage(kernelSource('empty', ''), 'empty');
const code = path.join(folder, 'empty.co');
writeFileSync(code, bytes);
const typescript = launchesFromTypeScript(bytes);
const launches = measured(build('launches', LIBRARY), code, 'empty.kd');
for (const name of ['waited-active', 'waited-blocked']) {
  report(`launch, ${name}`, launches.get(name)! / 1000, 'TypeScript', typescript.waitedUs);
}
report('launch, pipelined', launches.get('pipelined')! / 1000, 'TypeScript', typescript.pipelinedUs);

/** A library that HIP can load, in which nothing works. */
function stub(): string {
  const place = path.join(folder, 'stub');
  const source = path.join(folder, 'stub.c');
  const names = readFileSync(path.join(ROOT, 'test/oracle/hsa-program/exports.txt'), 'utf8').trim().split('\n');
  writeFileSync(source, names.map((name) => `int ${name}(void) { return 0x1000; }\n`).join(''));
  execFileSync('mkdir', [place]);
  const map = `-Wl,-soname,libhsa-runtime64.so.1,-version-script=${path.join(ROOT, 'native/hsa/exports.map')}`;
  execFileSync('gcc', ['-shared', '-fPIC', map, '-o', path.join(place, 'libhsa-runtime64.so.1'), source]);
  return place;
}

/** Until the end of a program, whatever it says, the least of some times. */
function wholeUs(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
  const once = (): number => {
    const begin = performance.now();
    spawnSync(command, args, { env });
    return (performance.now() - begin) * 1000;
  };
  return Math.min(...Array.from({ length: STARTS }, once));
}

if (existsSync(HIP)) {
  const copies = measured(build('copies', HIP));
  for (const name of ['to-device', 'to-host']) {
    report(`hipMemcpy of 64 MiB, ${name}`, copies.get(name)!, 'memcpy', copies.get('memcpy')!);
  }
  const vadd = path.join(ROOT, 'test/data/hip-programs/vadd');
  const without = wholeUs(vadd, [], { ...process.env, LD_LIBRARY_PATH: stub() });
  report('vadd, start to end', wholeUs(process.execPath, launcher(vadd)), 'with a stub', without);
} else console.log(`no ${HIP}: hipMemcpy and vadd were not measured`);
