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
import { type PtxRunRequest, runPtxKernel } from '../../src/ptx-host/run-kernel.ts';
import { buildCudaMock } from './cuda-mock/build.ts';
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
    assert.deepEqual(
      new Float32Array(outputs[0]!.bytes.buffer),
      floats((i) => 2 * i + 0.5),
    );
    assert.deepEqual([runs.length, kernel.registerCount, statistics.workgroups, statistics.waves], [3, 24, 12, 24]);
    assert.ok(runs.every(({ durationNs }) => durationNs >= 0));
    const calls = told('cuda_mock_calls').split('\n');
    assert.equal(calls.filter((name) => name === 'cuLaunchKernel').length, 3);
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

const launcher = new URL('../../bin/wavewright.js', import.meta.url).pathname;
function wavewright(args: readonly string[], variables: Record<string, string> = {}) {
  const report = path.join(libraries.folder, 'report');
  writeFileSync(report, '');
  const env = { ...process.env, [CUDA_LIBRARY_VARIABLE]: mock, CUDA_MOCK_REPORT: report, ...variables };
  const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, ...args], { encoding: 'utf8', env });
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
