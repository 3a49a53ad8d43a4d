/** Libraries and their users, compiled apart by clang from C, OpenCL C and HIP, linked when they are loaded, run on the emulator. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { CodeObjectReader, createRuntime, type KernelSymbol } from '../../src/hsa/index.ts';

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const isThere = spawnSync('clang-19', ['--version']).status === 0;
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-link-'));
after(() => rmSync(folder, { recursive: true }));

/** The kernel's code object calls the library, which calls back, has a stack of its own and recursion. */
const LIBRARY = `
EXTERN int base(int);
EXTERN DEVICE int twice(int x) { return 2 * base(x); }
EXTERN DEVICE int deep(int x) { volatile int a[500]; for (int i = 0; i < 500; i++) a[i] = i * x; return a[x & 255] + a[499]; }
EXTERN DEVICE int sum(int n) { return n < 1 ? twice(n) : n + sum(n - 1) - sum(n - 2) + sum(n - 2); }
`;
const USER = `
EXTERN DEVICE int twice(int);
EXTERN DEVICE int deep(int);
EXTERN DEVICE int sum(int);
EXTERN DEVICE int base(int x) { return x + 100; }
EXTERN KERNEL void k(GLOBAL int *out) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i] = twice(i) + 3 * deep(i) + 5 * sum(i & 7);
}
`;
const twice = (x: number): number => 2 * (x + 100);
const deep = (x: number): number => (x & 255) * x + 499 * x;
const sum = (n: number): number => (n < 1 ? twice(n) : n + sum(n - 1));
const EXPECTED = Array.from({ length: 64 }, (_, i) => twice(i) + 3 * deep(i) + 5 * sum(i & 7));

const COMMON = ['-nogpulib', '-mcode-object-version=5', '-Wno-unused-command-line-argument'];

interface Language {
  readonly name: string;
  readonly file: string;
  readonly prelude: string;
  readonly options: readonly string[];
}

const C: Language = {
  name: 'C',
  file: '.c',
  prelude: '#define EXTERN extern\n#define DEVICE\n#define GLOBAL\n#define KERNEL __attribute__((amdgpu_kernel))\n',
  options: ['-std=c17'],
};
const OPENCL: Language = {
  name: 'OpenCL C',
  file: '.cl',
  prelude: '#define EXTERN\n#define DEVICE\n#define GLOBAL global\n#define KERNEL kernel\n',
  options: ['-x', 'cl', '-cl-std=CL2.0'],
};
const HIP: Language = {
  name: 'HIP',
  file: '.hip',
  prelude:
    '#define EXTERN extern "C"\n#define DEVICE __attribute__((device))\n#define GLOBAL\n#define KERNEL __attribute__((global))\n',
  options: ['-x', 'hip', '--cuda-device-only', '-nogpuinc', '-fgpu-rdc', '--no-gpu-bundle-output'],
};

function compile(args: readonly string[]): void {
  const { status, stderr } = spawnSync('clang-19', [...args], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

let count = 0;

/** `object`: relocatable, what HIP does not give. */
function build(language: Language, source: string, processor: string, options: readonly string[], object = false) {
  const base = path.join(folder, `${count++}`);
  const input = `${base}${language.file}`;
  writeFileSync(
    input,
    language.prelude + (language === HIP ? source.replace('int base(int);', 'DEVICE int base(int);') : source),
  );
  const output = `${base}${object ? '.o' : '.co'}`;
  const target = ['--target=amdgcn-amd-amdhsa', `-mcpu=${processor}`];
  if (language === HIP) {
    compile([
      ...language.options,
      `--offload-arch=${processor}`,
      ...COMMON,
      ...options,
      '-c',
      input,
      '-o',
      `${base}.bc`,
    ]);
    compile([...target, ...COMMON, '-Wl,-z,undefs', `${base}.bc`, '-o', output]);
  } else {
    const how = object ? ['-c'] : ['-Wl,-z,undefs'];
    compile([...target, ...language.options, ...COMMON, ...options, ...how, input, '-o', output]);
  }
  return new CodeObjectReader(new Uint8Array(readFileSync(output)), path.basename(output));
}

function run(processor: string, readers: readonly CodeObjectReader[]): { values: number[]; kernel: KernelSymbol } {
  using runtime = createRuntime({ devices: [createEmulatedDevice({ processor, memorySizeBytes: 2 ** 28 })] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  for (const reader of readers) executable.loadCodeObject(agent, reader);
  executable.freeze();
  const kernel = executable.getSymbol('k.kd') as KernelSymbol;
  const [out, kernarg] = [
    runtime.cpuAgent.pool('fine-grained').allocate(256),
    runtime.cpuAgent.pool('kernarg').allocate(512),
  ];
  const argument = runtime.view(kernarg, 8);
  new DataView(argument.buffer, argument.byteOffset, 8).setBigUint64(0, out, true);
  const done = runtime.createSignal(1n);
  // The packet says nothing of private memory: what the calls need is up to the runtime.
  runtime.createQueue(agent).dispatch({
    ...{ kernel: kernel.kernelObject, kernarg, grid: [64], workgroup: [64], completionSignal: done },
  });
  done.waitSync('eq', 0n);
  const bytes = runtime.view(out, 256).slice();
  return { values: [...new Int32Array(bytes.buffer)], kernel };
}

if (!isThere) {
  test('linked code objects', { skip: isRequired ? false : 'no clang-19' }, () => assert.fail('no clang-19'));
} else {
  for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
    for (const language of [C, OPENCL, HIP]) {
      for (const level of ['-O0', '-O2']) {
        for (const visibility of ['default', 'protected']) {
          test(`${language.name}, ${level}, ${visibility}, ${processor}`, () => {
            const options = [level, `-fvisibility=${visibility}`];
            const user = build(language, USER, processor, options);
            const library = build(language, LIBRARY, processor, options);
            const { values, kernel } = run(processor, [user, library]);
            assert.deepEqual(values, EXPECTED);
            assert.deepEqual([...kernel.needs!.callees].sort(), ['base', 'deep', 'sum', 'twice']);
            assert.equal(kernel.needs!.isRecursive, true);
            assert.ok(kernel.needs!.isStackKnown || kernel.hardwareProblems.length > 0);
          });
        }
      }
    }
  }

  test('languages mix, relocatable objects and linked ones too', () => {
    const options = ['-O1', '-fvisibility=default'];
    for (const [user, library] of [
      [OPENCL, C],
      [HIP, OPENCL],
    ] as const) {
      const readers = [build(library, LIBRARY, 'gfx90a', options, true), build(user, USER, 'gfx90a', options)];
      assert.deepEqual(run('gfx90a', readers).values, EXPECTED);
    }
  });
}
