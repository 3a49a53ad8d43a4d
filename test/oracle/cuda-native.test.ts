/**
 * The native device `cuda:N`, against a library of our own that has the ABI of libcuda.so.1, is as strict as
 * a driver about order, handles and sizes, and says what was not given back.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WavewrightError } from '../../src/base/errors.ts';
import { CUDA_LIBRARY_VARIABLE, openCudaDevice, startCudaDevice } from '../../src/devices/cuda-native/index.ts';
import { CudaLibrary } from '../../src/devices/cuda-native/library.ts';
import type { ParsedArgument } from '../../src/launch/argument-text.ts';
import { runProgram } from '../../src/loader/program.ts';
import type { RunOptions } from '../../src/loader/run-options.ts';
import { cubinWith } from '../../src/nvptx/containers.test-support.ts';
import { type PtxRunRequest, runPtxKernel } from '../../src/ptx-host/run-kernel.ts';
import { buildCudaMock, buildForHost } from './cuda-mock/build.ts';
import { MockLibraries } from './mock-library.ts';

const libraries = new MockLibraries();
const mock = buildCudaMock(libraries);
const library = await CudaLibrary.open({ path: mock });
const inspector = new library.ffi.DynamicLibrary(mock).getFunctions({
  cuda_mock_calls: { arguments: [], return: 'pointer' },
  cuda_mock_violations: { arguments: [], return: 'pointer' },
  cuda_mock_live: { arguments: [], return: 'pointer' },
});
const told = (what: keyof typeof inspector): string => library.ffi.toString(inspector[what]())!;

const NOTHING_LEFT = 'contexts 0, modules 0, device 0, pinned 0, streams 0, events 0, links 0';

/** Nothing is left, and nothing was done at which a driver would have waited for a kernel. */
function expectClean(): void {
  assert.deepEqual([told('cuda_mock_live'), told('cuda_mock_violations')], [NOTHING_LEFT, '']);
}

/** What the library reads; run with it. */
async function withEnvironment<T>(variables: Record<string, string>, run: () => T | Promise<T>): Promise<T> {
  Object.assign(process.env, variables);
  try {
    return await run();
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
}

const header = '.version 6.3\n.target sm_70\n.address_size 64\n';
const kernelText = (name: string, parameters: string): string =>
  `${header}.visible .entry ${name}(${parameters})\n{\n  ret;\n}\n`;
const SAXPY = kernelText('saxpy', '.param .u64 y, .param .u64 x, .param .f32 a, .param .s32 n');

const THREADS = 256;
const buffer = (text: string, bytes: Uint8Array, sizeBytes = bytes.length): ParsedArgument => ({
  ...{ kind: 'buffer', elements: undefined, text, contents: bytes, sizeBytes, output: text },
});
const value = (bytes: ArrayBufferView): ParsedArgument => ({
  ...{ kind: 'value', text: 'value', bytes: new Uint8Array(bytes.buffer) },
});
const floats = (at: (i: number) => number): Float32Array => Float32Array.from({ length: THREADS }, (_, i) => at(i));
const bytesOf = (values: ArrayBufferView): Uint8Array => new Uint8Array(values.buffer);

const saxpyRequest = (text = SAXPY): Omit<PtxRunRequest, 'device'> => ({
  ...{ texts: [{ text, name: 'saxpy.ptx' }], kernel: 'saxpy', grid: [THREADS], workgroup: [64] },
  args: [
    buffer('y', bytesOf(floats(() => 0.5))),
    buffer('x', bytesOf(floats((i) => i))),
    value(Float32Array.of(2)),
    value(Int32Array.of(THREADS)),
  ],
});

test('a kernel gets its arguments, and its memory comes back, the same for each run', async () => {
  {
    using device = startCudaDevice(library, 0);
    told('cuda_mock_calls');
    const { outputs, runs, kernel, statistics } = await runPtxKernel({ device, ...saxpyRequest(), repeat: 3 });
    const sums = floats((i) => 2 * i + 0.5);
    assert.deepEqual(new Float32Array(outputs[0]!.bytes.buffer), sums);
    assert.deepEqual([runs.length, kernel.registerCount, statistics.workgroups, statistics.waves], [3, 24, 12, 24]);
    assert.ok(runs.every(({ durationNs }) => durationNs >= 0));
    const calls = told('cuda_mock_calls').split('\n');
    assert.equal(calls.filter((name) => name === 'cuLaunchKernel').length, 3);
    // What no file fills is zero, though the driver gives out memory with garbage in it.
    const { args, ...request } = saxpyRequest();
    const empty = buffer('y', new Uint8Array(), 4 * THREADS);
    const fresh = await runPtxKernel({ device, ...request, args: [empty, ...args.slice(1)] });
    const doubled = floats((i) => 2 * i);
    assert.deepEqual(new Float32Array(fresh.outputs[0]!.bytes.buffer), doubled);
  }
  expectClean();
});

const isNoDevice = (pattern: RegExp) => (error: unknown) =>
  error instanceof WavewrightError && error.code === 'NO_DEVICE' && pattern.test(error.message);

test('no driver, no GPU, no such GPU: no device, and why', async () => {
  await assert.rejects(
    openCudaDevice({ path: '/none/libcuda.so' }),
    isNoDevice(/no CUDA driver: .*\/none\/libcuda\.so/),
  );
  const environment = { [CUDA_LIBRARY_VARIABLE]: '/nowhere/libcuda.so' };
  await assert.rejects(openCudaDevice({ environment }), isNoDevice(/\/nowhere\/libcuda\.so/));
  await assert.rejects(openCudaDevice({ path: 'libm.so.6' }), isNoDevice(/cuInit/));
  assert.throws(() => startCudaDevice(library, 1), isNoDevice(/'cuda:1'.*GPUs cuda:0 to cuda:0/));
  await withEnvironment({ CUDA_MOCK_GPUS: '' }, () => {
    assert.throws(() => startCudaDevice(library, 0), isNoDevice(/no GPU \(CUDA_ERROR_NO_DEVICE \(100\)/));
  });
  for (const [result, name] of [
    [803, /SYSTEM_DRIVER_MISMATCH/],
    [34, /STUB_LIBRARY/],
    [999, /UNKNOWN/],
  ] as const) {
    await withEnvironment({ CUDA_MOCK_INIT: String(result) }, () => {
      assert.throws(() => startCudaDevice(library, 0), isNoDevice(name));
    });
  }
  await withEnvironment({ CUDA_MOCK_GPUS: '75,90' }, () => {
    using device = startCudaDevice(library, 1);
    assert.deepEqual([device.name, device.properties.processor], ['cuda:1', 'sm_90']);
  });
  expectClean();
});

const launcherOf = (name: string): string => new URL(`../../bin/${name}.js`, import.meta.url).pathname;
function wavewright(args: readonly string[], variables: Record<string, string> = {}, name = 'wavewright') {
  const report = path.join(libraries.folder, 'report');
  writeFileSync(report, '');
  const env = { ...process.env, [CUDA_LIBRARY_VARIABLE]: mock, CUDA_MOCK_REPORT: report, ...variables };
  const { status, stdout, stderr } = spawnSync(process.execPath, [launcherOf(name), ...args], {
    encoding: 'utf8',
    env,
  });
  return { status, stdout, stderr, left: readFileSync(report, 'utf8').trim() };
}
const file = (name: string, contents: string | Uint8Array): string => {
  const place = path.join(libraries.folder, name);
  writeFileSync(place, contents);
  return place;
};

const SAXPY_ARGUMENTS = [
  ...['--kernel=saxpy', '--grid=256', '--workgroup=64'],
  ...['--arg=inout:y', '--arg=in:x', '--arg=f32:2', '--arg=i32:256'].map((text) =>
    text.replace(/(inout|in):/, (kind) => kind + path.join(libraries.folder, '/')),
  ),
];

test('dispatch on the command line', () => {
  const ptx = file('saxpy.ptx', SAXPY);
  const y = file('y', bytesOf(floats(() => 0.5)));
  file('x', bytesOf(floats((i) => i)));
  const run = wavewright(['dispatch', ptx, '--device=cuda:0', '--time', ...SAXPY_ARGUMENTS]);
  assert.deepEqual([run.status, run.stderr, run.left], [0, '', NOTHING_LEFT]);
  assert.match(run.stdout, /median: .* us, 8 waves; the device counts no instructions\n$/);
  assert.deepEqual(
    new Float32Array(Uint8Array.from(readFileSync(y)).buffer),
    floats((i) => 2 * i + 0.5),
  );
  const none = wavewright(['dispatch', ptx, '--device=cuda:0', ...SAXPY_ARGUMENTS], { CUDA_MOCK_GPUS: '' });
  assert.equal(none.status, 5);
  assert.match(none.stderr, /no device 'cuda:0'.*NO_DEVICE\]\nhint: .*--device=ptx:sm_70 runs PTX without a GPU/);
});

const saxpyCubin = (processor: number): Uint8Array =>
  cubinWith(
    [
      {
        name: 'saxpy',
        parameters: [
          [0, 8],
          [8, 8],
          [16, 4],
          [20, 4],
        ],
      },
    ],
    processor,
  );

test('machine code runs like PTX, where it is for the GPU', async () => {
  using device = startCudaDevice(library, 0);
  const { texts: _, ...request } = saxpyRequest();
  const run = (processor: number) =>
    runPtxKernel({ device, ...request, texts: [], cubins: [{ name: 'saxpy.cubin', bytes: saxpyCubin(processor) }] });
  const { outputs } = await run(80);
  assert.deepEqual(
    new Float32Array(outputs[0]!.bytes.buffer),
    floats((i) => 2 * i + 0.5),
  );
  await assert.rejects(run(90), isError('UNSUPPORTED', /^saxpy\.cubin: .*CUDA_ERROR_NO_BINARY_FOR_GPU \(209\)/));
});

const isError = (code: string, pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof WavewrightError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, pattern);
  return true;
};

/** A launch of one thread of a kernel whose one argument is a word. */
const wordRequest = (kernel: string, word: number): Omit<PtxRunRequest, 'device'> => ({
  ...{ texts: [{ text: kernelText(kernel, '.param .u32 word'), name: 'k.ptx' }], grid: [1], workgroup: [1] },
  args: [value(Uint32Array.of(word))],
});

test('what the driver says of PTX: its log, versions, processors', async () => {
  const refusals: readonly (readonly [text: string, code: string, pattern: RegExp])[] = [
    [SAXPY.replace('ret;', 'bogus;'), 'BAD_INPUT', /CUDA_ERROR_INVALID_PTX.*\n.*line 6; error {3}: Not a name/],
    [SAXPY.replace('6.3', '8.8'), 'UNSUPPORTED', /CUDA_ERROR_UNSUPPORTED_PTX_VERSION \(222\)/],
    [SAXPY.replace('sm_70', 'sm_90'), 'UNSUPPORTED', /CUDA_ERROR_NO_BINARY_FOR_GPU \(209\)/],
    [SAXPY.replace('.u64 y', '.u64'), 'BAD_INPUT', /saxpy\.ptx/],
  ];
  {
    using device = startCudaDevice(library, 0);
    for (const [text, code, pattern] of refusals) {
      await assert.rejects(runPtxKernel({ device, ...saxpyRequest(text) }), isError(code, pattern));
    }
    await withEnvironment({ CUDA_MOCK_FAIL: 'cuModuleLoadDataEx=221' }, async () => {
      const isNoCompiler = isError('UNSUPPORTED', /JIT_COMPILER_NOT_FOUND/);
      await assert.rejects(runPtxKernel({ device, ...saxpyRequest() }), isNoCompiler);
    });
  }
  expectClean();
});

test('several texts are linked by the driver', async () => {
  const other = { text: kernelText('nap', '.param .u32 word'), name: 'nap.ptx' };
  {
    using device = startCudaDevice(library, 0);
    const request = saxpyRequest();
    const { outputs } = await runPtxKernel({ device, ...request, texts: [other, ...request.texts] });
    assert.equal(new Float32Array(outputs[0]!.bytes.buffer)[3], 6.5);
    const twice = runPtxKernel({ device, ...request, texts: [other, other] });
    await assert.rejects(twice, isError('BAD_INPUT', /nap\.ptx: .*\n.*Multiple definition of 'nap'/));
  }
  expectClean();
});

test('launches that do not fit are refused before the driver sees them', async () => {
  {
    using device = startCudaDevice(library, 0);
    const refused = (change: Partial<PtxRunRequest>, code: string, pattern: RegExp) =>
      assert.rejects(runPtxKernel({ device, ...wordRequest('nap', 0), ...change }), isError(code, pattern));
    await refused({ grid: [100], workgroup: [64] }, 'USAGE', /a grid of 100 is no multiple of the workgroup/);
    await refused({ grid: [2048], workgroup: [2048] }, 'USAGE', /up to 1024|2048/);
    await refused({ grid: [1, 1, 128], workgroup: [1, 1, 128] }, 'USAGE', /blocks of 1024 x 1024 x 64/);
    await refused({ grid: [1, 65_536], workgroup: [1, 1] }, 'USAGE', /at most 2147483647 x 65535 x 65535/);
    await refused({ dynamicSharedSizeBytes: 167_937 }, 'LIMIT_EXCEEDED', /cuda:0 has 167936/);
    await refused({ stackSizeBytes: 524_289 }, 'LIMIT_EXCEEDED', /cuda:0 has at most 524288/);
    await refused({ args: [] }, 'USAGE', /0 arguments/);
    await refused({ kernel: 'other' }, 'BAD_INPUT', /there is no kernel 'other'/);
    const wanted = { kind: 'function', text: 'fn:nap', name: 'nap' } as const;
    await refused({ args: [wanted] }, 'UNSUPPORTED', /fn:nap: CUDA does not tell the addresses/);
  }
  expectClean();
});

test('shared memory beyond what blocks have without being asked, and a stack', async () => {
  const text = kernelText('shared', '.param .u64 out');
  const args = [buffer('out', new Uint8Array(4))];
  {
    using device = startCudaDevice(library, 0);
    told('cuda_mock_calls'); // What earlier tests called while they waited could fill the list.
    const request = { device, texts: [{ text, name: 'shared.ptx' }], args, grid: [1], workgroup: [1] };
    for (const sizeBytes of [0, 40_000, 48 * 1024, 160_000]) {
      const { outputs } = await runPtxKernel({ ...request, dynamicSharedSizeBytes: sizeBytes, stackSizeBytes: 4096 });
      assert.equal(new Uint32Array(outputs[0]!.bytes.buffer)[0], sizeBytes);
    }
    assert.equal(told('cuda_mock_calls').match(/cuCtxSetLimit/g)?.length, 1);
  }
  expectClean();
});

test('a fault names what happened, and the GPU is of no use afterwards', async () => {
  for (const [result, pattern] of [
    [700, /access to memory that is not there: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)/],
    [702, /CUDA_ERROR_LAUNCH_TIMEOUT \(702\).*watchdog/],
    [710, /CUDA_ERROR_ASSERT/],
    [714, /CUDA_ERROR_HARDWARE_STACK_ERROR/],
    [715, /CUDA_ERROR_ILLEGAL_INSTRUCTION/],
    [716, /CUDA_ERROR_MISALIGNED_ADDRESS/],
    [717, /CUDA_ERROR_INVALID_ADDRESS_SPACE/],
    [718, /CUDA_ERROR_INVALID_PC/],
    [719, /CUDA_ERROR_LAUNCH_FAILED/],
  ] as const) {
    {
      using device = startCudaDevice(library, 0);
      await assert.rejects(runPtxKernel({ device, ...wordRequest('fault', result) }), isError('GPU_FAULT', pattern));
      const again = runPtxKernel({ device, ...saxpyRequest() });
      await assert.rejects(again, isError('GPU_FAULT', /cuda:0 is of no use: kernel 'fault' ended with CUDA_ERROR/));
    }
    expectClean();
  }
  {
    using device = startCudaDevice(library, 0);
    const { args, ...request } = saxpyRequest();
    const outside = [args[0]!, value(BigUint64Array.of(4096n)), ...args.slice(2)];
    await assert.rejects(runPtxKernel({ device, ...request, args: outside }), isError('GPU_FAULT', /ILLEGAL_ADDRESS/));
  }
  expectClean();
});

test('memory that is not there', async () => {
  {
    using device = startCudaDevice(library, 0);
    await withEnvironment({ CUDA_MOCK_MEMORY: '1500' }, async () => {
      const isExhausted = isError('LIMIT_EXCEEDED', /1024 bytes of GPU memory: CUDA_ERROR_OUT_OF_MEMORY/);
      await assert.rejects(runPtxKernel({ device, ...saxpyRequest() }), isExhausted);
    });
  }
  expectClean();
});

const programs = {
  P20: buildForHost(libraries, 'cuda-mock/program.c'),
  P19: buildForHost(libraries, 'cuda-mock/program.c', ['-DRPC_GENERATION=19']),
};
const PROGRAM = `${header}
.visible .global .align 8 .u64 __init_array_start;
.visible .global .align 8 .u64 __init_array_end;
.visible .global .align 8 .u64 __fini_array_start;
.visible .global .align 8 .u64 __fini_array_end;
.visible .const .align 8 .u64 __init_array_object_second_0123_201 = second;
.visible .const .align 8 .u64 __init_array_object_first_0123_101 = first;
.visible .const .align 8 .u64 __fini_array_object_last_0123_65535 = last;
.visible .global .align 8 .b8 __llvm_rpc_client[552];
.visible .entry _begin(.param .u32 argc, .param .u64 argv, .param .u64 envp)
{
  ret;
}
.visible .entry _start(.param .u32 argc, .param .u64 argv, .param .u64 envp, .param .u64 result)
{
  ret;
}
.visible .entry _end(.param .u32 status)
{
  ret;
}
`;
const OLD_PROGRAM = PROGRAM.replace(
  /.*__llvm_rpc_client.*/,
  '.visible .const .u64 __llvm_libc_rpc_client;\n.visible .global .align 8 .b8 rpc_client[552];',
);

interface ProgramRunCase extends Partial<RunOptions> {
  readonly text?: string;
  readonly host?: string;
}

/** Runs the program with these arguments on the stand-in. */
function runOnMock(words: readonly string[], { text = PROGRAM, host = programs.P20, ...options }: ProgramRunCase = {}) {
  return withEnvironment({ CUDA_MOCK_KERNELS: host }, async () => {
    using device = startCudaDevice(library, 0);
    const image = new TextEncoder().encode(text);
    return await runProgram(image, { device, args: ['prog', ...words], env: { A: 'b' }, name: 'prog.ptx', ...options });
  });
}

const PRINTED = ['first 1', 'second 2', 'last 3', ''].join('\n');

test('a program: constructors, RPC while kernels run, memory, results of all threads', async () => {
  const memory = await runOnMock(['memory']);
  assert.equal(memory.output.text.stdout, PRINTED.replace('last', 'xxx 2 A=b\nlast'));
  const counts = memory.statistics.rpc.map(({ opcode, conversations }) => [opcode, conversations]);
  assert.deepEqual(
    counts.filter(([name]) => name === 'MALLOC' || name === 'FREE'),
    [
      ['MALLOC', 21],
      ['FREE', 21],
    ],
  );
  const status = await runOnMock(['status'], { threads: [3, 1, 1], blocks: [2, 1, 1] });
  assert.deepEqual([status.status, status.ended, status.output.text.stdout], [7, 'exit', PRINTED]);
  assert.equal((await runOnMock(['barrier'], { threads: [4, 2, 1] })).status, 8);
  assert.equal((await runOnMock(['abort'])).status, 134);
  assert.equal((await runOnMock(['nap'])).status, 0);
  const old = await runOnMock(['memory'], { text: OLD_PROGRAM, host: programs.P19 });
  assert.deepEqual([old.generation, old.output.text.stdout], ['P19', memory.output.text.stdout]);
  expectClean();
});

test('exit ends a program also where other threads go on', async () => {
  const result = await runOnMock(['exit'], { threads: [2, 1, 1] });
  assert.deepEqual([result.status, result.ended], [5, 'exit']);
  expectClean();
});

test('a driver without memory for kernels that run: malloc is refused by name, the rest works', async () => {
  const path = buildCudaMock(libraries, 'BEFORE_CUDA_11_2');
  const old = await CudaLibrary.open({ path });
  await withEnvironment({ CUDA_MOCK_KERNELS: programs.P20 }, async () => {
    using device = startCudaDevice(old, 0);
    const image = new TextEncoder().encode(PROGRAM);
    const run = (word: string) => runProgram(image, { device, args: ['prog', word], name: 'prog.ptx' });
    assert.equal((await run('status')).status, 1);
    await assert.rejects(run('memory'), isError('UNSUPPORTED', /lacks cuMemAllocAsync, which came with CUDA 11\.2/));
  });
});

/** Every function of the driver that a run calls, with the results that it may have. */
test('whatever call fails: a clear error, nothing is left', async () => {
  told('cuda_mock_calls');
  await runOnMock(['memory']);
  {
    using device = startCudaDevice(library, 0);
    await runPtxKernel({ device, ...saxpyRequest() });
  }
  const called = [...new Set(told('cuda_mock_calls').split('\n'))].filter((name) => name !== '');
  // What gives back cannot give back where it fails, and a query that always fails says that the GPU is gone.
  // Nor does a kernel end that waits for an answer to malloc.
  const lasting = /Free|Destroy|Unload|Release|MemAllocAsync/;
  const cases = called
    .filter((each) => !lasting.test(each))
    .flatMap((name) => [1, 2, 999].map((result) => [name, result] as const));
  // The end of a kernel is recorded behind it.
  for (const [name, result, at = 1] of [...cases, ['cuEventRecord', 1, 2] as const]) {
    await withEnvironment({ CUDA_MOCK_FAIL: `${name}=${result}@${at}` }, async () => {
      const failure = await attempt().catch((error: unknown) => error);
      assert.ok(failure === undefined || failure instanceof WavewrightError, `${name}: ${failure}`);
    });
    const [left, violations] = [told('cuda_mock_live'), told('cuda_mock_violations')];
    assert.deepEqual([left, violations], [NOTHING_LEFT, ''], `${name} fails with ${result}`);
  }

  async function attempt(): Promise<void> {
    {
      using device = startCudaDevice(library, 0);
      await runPtxKernel({ device, ...saxpyRequest() });
    }
    await runOnMock(['memory']);
  }
});

test('a kernel that does not end: a time limit, what CUDA cannot do, and nothing that waits for it', () => {
  const spin = file('spin.ptx', kernelText('spin', ''));
  const launch = ['dispatch', spin, '--device=cuda:0', '--grid=1', '--workgroup=1', '--timeout=0.3'];
  const dispatched = wavewright(launch);
  assert.equal(dispatched.status, 124);
  assert.match(
    dispatched.stderr,
    /kernel 'spin' did not end within 0\.3 s \[TIMEOUT\]\n.*CUDA stops no single kernel: /,
  );
  // Nothing was freed: the end of the process does that.
  assert.equal(dispatched.left, 'contexts 1, modules 1, device 0, pinned 1, streams 2, events 2, links 0');
  const program = file('prog.ptx', PROGRAM);
  const env = { CUDA_MOCK_KERNELS: programs.P20 };
  const ran = wavewright(['run', '--device=cuda:0', '--timeout=1', program, 'spin'], env);
  assert.equal(ran.status, 124, ran.stderr);
  assert.match(ran.stderr, /the time limit of 1 s ran out in kernel '_start'.*\n.*CUDA stops no single kernel/);
  assert.doesNotMatch(ran.left, /waits for a kernel/);
  const left = wavewright(['run', '--device=cuda:0', '--threads=2', program, 'exit', 'spinning'], env);
  assert.deepEqual([left.status, left.stderr], [5, '']);
  assert.doesNotMatch(left.left, /waits for a kernel/);
});

test('programs on the command line: run, the names of the loaders of LLVM, batches', () => {
  const hello = path.resolve(import.meta.dirname, '../../examples/hello/hello.sm_70.ptx');
  const source = path.resolve(import.meta.dirname, '../../examples/hello/hello.c');
  const env = { CUDA_MOCK_KERNELS: buildForHost(libraries, source) };
  const run = wavewright(['run', '--device=cuda:0', '--stats', hello, 'GPU'], env);
  assert.deepEqual([run.status, run.stdout, run.left], [0, 'Hello, GPU, from lane 0 of 1 (argc=2)\n', NOTHING_LEFT]);
  assert.match(run.stderr, /_start +[\d.]+ ms, 1 waves, 1 workgroups\n/);
  const cubin = file('hello.cubin', cubinWith(START_UP, 80, { __llvm_rpc_client: 552 }));
  const loaded = wavewright([cubin, 'cubin'], env, 'nvptx-loader');
  const printed = 'Hello, cubin, from lane 0 of 1 (argc=2)\n';
  assert.deepEqual([loaded.status, loaded.stdout, loaded.stderr, loaded.left], [0, printed, '', NOTHING_LEFT]);
  const none = wavewright(['run', cubin], { ...env, CUDA_MOCK_GPUS: '' });
  assert.equal(none.status, 4);
  assert.match(none.stderr, /machine code for NVIDIA GPUs alone \(sm_80\), no PTX \(no device 'cuda:0': /);
  const other = wavewright(['run', cubin], { ...env, CUDA_MOCK_GPUS: '90' });
  assert.match(other.stderr, /hello\.cubin: it has machine code for sm_80; cuda:0 is sm_90 \[UNSUPPORTED\]/);
  const batch = wavewright(['test', '--jobs=1', '--timeout=20', '--run=--device=cuda:0', hello, spinList()], env);
  assert.equal(batch.status, 1, batch.stderr);
  assert.match(batch.stdout, /PASS .*hello\.sm_70\.ptx.*\nFAIL .*saxpy\.ptx.*status 3/s);
});

/** A list for `test` with what is no program. */
const spinList = (): string => file('list', `${file('saxpy.ptx', SAXPY)}\n`);

const START_UP = [
  ['_begin', 3],
  ['_start', 4],
  ['_end', 1],
].map(([name, count]) => ({
  name: String(name),
  parameters: Array.from({ length: Number(count) }, (_, i) => [8 * i, i === 0 ? 4 : 8] as const),
}));

test('info lists the GPUs', () => {
  const all = wavewright(['info', '--device=cuda'], { CUDA_MOCK_GPUS: '75,90' });
  assert.equal(all.status, 0, all.stderr);
  assert.match(all.stdout, /^cuda:0: Mock GPU 0\n {2}runs +cubins for sm_75, .*\ncuda:1: Mock GPU 1\n.* 9\.0, 108 /s);
  const json = wavewright(['info', '--device=cuda:0', '--format=json']);
  const { device } = JSON.parse(json.stdout) as { device: Record<string, unknown> };
  assert.deepEqual([device['computeCapability'], device['driverVersion']], ['8.0', '12.8']);
  const none = wavewright(['info', '--device=cuda'], { CUDA_MOCK_GPUS: '' });
  assert.equal(none.status, 5);
  assert.match(none.stderr, /no GPU \(CUDA_ERROR_NO_DEVICE/);
});
