/** Compiles C, OpenCL C and HIP for GPUs with clang-19 and runs what is linked of them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import type { ExecutorName } from '../../src/emulator/emulator.ts';
import { CodeObjectReader, createRuntime, type Executable, type KernelSymbol } from '../../src/hsa/index.ts';

export const hasClang = spawnSync('clang-19', ['--version']).status === 0;

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-link-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

const COMMON = ['-nogpulib', '-mcode-object-version=5', '-Wno-unused-command-line-argument'];

export interface Language {
  readonly name: string;
  readonly file: string;
  /** Macros for what the languages spell differently. */
  readonly prelude: string;
  readonly options: readonly string[];
}

export const C: Language = {
  name: 'C',
  file: '.c',
  prelude: `#define EXTERN extern
#define DEVICE
#define GLOBAL
#define DECLARED extern
#define DEFINED
#define VARIABLE
#define IN_VARIABLE
#define CONSTANT const
#define KERNEL __attribute__((amdgpu_kernel))
`,
  options: ['-std=c17'],
};
/** Without what a run-time library has: types at run time, locks of static variables. */
const CPP_OPTIONS = ['-fno-rtti', '-fno-exceptions', '-fno-threadsafe-statics'];
export const CPP: Language = {
  name: 'C++',
  file: '.cpp',
  prelude: `#define EXTERN extern "C"
#define DEVICE
#define GLOBAL
#define DECLARED extern "C"
#define DEFINED extern "C"
#define VARIABLE
#define IN_VARIABLE
#define CONSTANT const
#define KERNEL __attribute__((amdgpu_kernel))
`,
  options: ['-std=c++17', ...CPP_OPTIONS],
};
export const OPENCL: Language = {
  name: 'OpenCL C',
  file: '.cl',
  prelude: `#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#define EXTERN
#define DEVICE
#define GLOBAL global
#define DECLARED extern
#define DEFINED
#define VARIABLE global
#define IN_VARIABLE global
#define CONSTANT constant
#define KERNEL kernel
`,
  options: ['-x', 'cl', '-cl-std=CL2.0'],
};
export const HIP: Language = {
  name: 'HIP',
  file: '.hip',
  prelude: `#define EXTERN extern "C"
#define DEVICE __attribute__((device))
#define GLOBAL
#define DECLARED extern "C"
#define DEFINED extern "C"
#define VARIABLE __attribute__((device))
#define IN_VARIABLE
#define CONSTANT __attribute__((device)) const
#define KERNEL __attribute__((global))
`,
  options: [
    '-x',
    'hip',
    '-std=c++17',
    '-fno-rtti',
    '--cuda-device-only',
    '-nogpuinc',
    '-fgpu-rdc',
    '--no-gpu-bundle-output',
  ],
};
export const LANGUAGES = [C, OPENCL, HIP];

function compile(args: readonly string[]): void {
  const { status, stderr } = spawnSync('clang-19', [...args], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

let count = 0;

/** `target`: processor with features. `isObject`: relocatable, not linked. */
export function build(
  language: Language,
  source: string,
  target: string,
  options: readonly string[],
  isObject = false,
): CodeObjectReader {
  const base = path.join(folder, `${count++}`);
  const input = `${base}${language.file}`;
  writeFileSync(input, language.prelude + source);
  const output = `${base}${isObject ? '.o' : '.co'}`;
  const how = isObject ? ['-c'] : ['-Wl,-z,undefs'];
  const common = ['--target=amdgcn-amd-amdhsa', `-mcpu=${target}`, ...COMMON];
  if (language === HIP) {
    const bitcode = `${base}.bc`;
    compile([...HIP.options, `--offload-arch=${target}`, ...COMMON, ...options, '-c', input, '-o', bitcode]);
    compile([...common, ...options, ...how, '-x', 'ir', bitcode, '-o', output]);
  } else {
    compile([...common, ...language.options, ...options, ...how, input, '-o', output]);
  }
  return new CodeObjectReader(new Uint8Array(readFileSync(output)), path.basename(output));
}

export interface RunOptions {
  readonly executor?: ExecutorName;
  readonly workItems?: number;
  /** Whether constructors run when the executable is frozen. */
  readonly constructors?: 'run' | 'none';
  /** Kernels without arguments that run before, in one work-item. */
  readonly before?: readonly string[];
  /** Arguments behind the address of the results. */
  readonly more?: (executable: Executable) => readonly bigint[];
}

/**
 * Kernel `k` of the linked code objects, with 64 numbers for results; the packet says nothing of private
 * memory.
 */
export function run(
  processor: string,
  readers: readonly CodeObjectReader[],
  { executor = 'jit', workItems = 64, before = [], constructors = 'run', more = () => [] }: RunOptions = {},
): { values: number[]; kernel: KernelSymbol } {
  const device = createEmulatedDevice({ processor, executor, compileThreshold: 0, memorySizeBytes: 2 ** 28 });
  using runtime = createRuntime({ devices: [device] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  for (const reader of readers) executable.loadCodeObject(agent, reader);
  executable.freeze({ constructors });
  const kernel = executable.getSymbol('k.kd') as KernelSymbol;
  // Read from memory, which is gone afterwards.
  assert.ok(kernel.needs);
  const [out, kernarg] = [
    runtime.cpuAgent.pool('fine-grained').allocate(256),
    runtime.cpuAgent.pool('kernarg').allocate(512),
  ];
  const argument = runtime.view(kernarg, 64);
  new BigUint64Array(argument.buffer, argument.byteOffset, 8).set([out, ...more(executable)]);
  const queue = runtime.createQueue(agent);
  const start = ({ kernelObject }: KernelSymbol, size: number) => {
    const done = runtime.createSignal(1n);
    queue.dispatch({ kernel: kernelObject, kernarg, grid: [size], workgroup: [size], completionSignal: done });
    done.waitSync('eq', 0n);
  };
  for (const name of before) start(executable.getSymbol(`${name}.kd`) as KernelSymbol, 1);
  start(kernel, workItems);
  const bytes = runtime.view(out, 256).slice();
  return { values: [...new Int32Array(bytes.buffer)], kernel };
}
