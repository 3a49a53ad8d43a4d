/**
 * The native device, `hsa:N`: against a library of our own that has the ABI of libhsa-runtime64.so.1 and
 * records calls, and against the real one where it is installed, which must say that there is no device on a
 * machine without a GPU.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { WavewrightError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/device.ts';
import { openNativeDevice, startDevice } from '../../src/devices/hsa-native/index.ts';
import { HsaLibrary, LIBRARY_VARIABLE } from '../../src/devices/hsa-native/library.ts';
import { conform } from '../../src/hsa/conformance/suite.test-support.ts';
import { AGENT_INFO, agentInfo } from '../../src/hsa/objects/agent-info.ts';
import { HsaError } from '../../src/hsa/objects/status.ts';
import { createRuntime, type Runtime } from '../../src/hsa/runtime/runtime.ts';
import { buildHsaMock } from './hsa-mock/build.ts';
import { MockLibraries } from './mock-library.ts';

const libraries = new MockLibraries();
const mock = buildHsaMock(libraries);
const library = await HsaLibrary.open({ path: mock });
const inspector = new library.ffi.DynamicLibrary(mock).getFunctions({
  hsa_mock_calls: { arguments: [], return: 'pointer' },
  hsa_mock_allocations: { arguments: [], return: 'uint64' },
});

/** What was called since the last time. */
const calls = (): string[] => library.ffi.toString(inspector.hsa_mock_calls())!.split('\n').slice(0, -1);

conform({ name: 'mock of hsa:0', open: () => startDevice(library, 0), lacks: ['execution', 'faults'] });

function withDevice(run: (device: Device, runtime: Runtime) => void): void {
  const device = startDevice(library, 0);
  const runtime = createRuntime({ devices: [device] });
  try {
    run(device, runtime);
  } finally {
    runtime[Symbol.dispose]();
    device.close();
  }
}

/** A kernel object that begins with this word. */
function kernelObject(runtime: Runtime, word = 0): bigint {
  const address = runtime.gpuAgents[0]!.pool('coarse-grained').allocate(64);
  new DataView(runtime.view(address, 4).buffer, runtime.view(address, 4).byteOffset).setUint32(0, word, true);
  return address;
}

test('packets reach the library, results and times come back', () => {
  withDevice((device, runtime) => {
    calls();
    const agent = runtime.gpuAgents[0]!;
    const queue = runtime.createQueue(agent);
    const pool = runtime.cpuAgent.pool('kernarg');
    const [out, kernarg] = [pool.allocate(4096), pool.allocate(16)];
    const bytes = runtime.view(kernarg, 16);
    const data = new DataView(bytes.buffer, bytes.byteOffset, 16);
    data.setBigUint64(0, out, true);
    data.setUint32(8, 7, true);
    const done = runtime.createSignal(1n);
    const kernel = kernelObject(runtime);
    queue.dispatch({ kernel, grid: [8, 4], workgroup: [4, 4], kernarg, completionSignal: done });
    assert.equal(done.waitSync('eq', 0n), 0n);
    const result = runtime.view(out, 4 * 32);
    assert.deepEqual(
      [...new Uint32Array(result.buffer, result.byteOffset, 32)],
      Array.from({ length: 32 }, (_, i) => 7 + i),
    );
    assert.ok(done.startTicks > 0n && done.endTicks >= done.startTicks);
    assert.ok(done.endTicks <= device.clock() + 1n);
    assert.deepEqual([queue.statistics.workgroups, queue.statistics.waves], [2, 2]);
    const made = calls();
    for (const name of [
      'queue_create',
      'amd_profiling_set_profiler_enabled',
      'signal_create',
      'doorbell',
      'amd_profiling_get_dispatch_time',
    ]) {
      assert.ok(made.includes(name), name);
    }
    queue[Symbol.dispose]();
    assert.ok(calls().includes('queue_destroy'));
  });
  assert.equal(inspector.hsa_mock_allocations(), 0n, 'all memory was given back');
});

test('more dispatches than the ring of the library holds', () => {
  withDevice((_, runtime) => {
    const queue = runtime.createQueue(runtime.gpuAgents[0]!, { sizePackets: 4096 });
    const done = runtime.createSignal(5000n);
    const kernel = kernelObject(runtime);
    for (let i = 0; i < 5000; i++)
      queue.dispatch({ kernel, grid: [1], workgroup: [1], barrier: false, completionSignal: done });
    assert.equal(done.waitSync('eq', 0n), 0n);
  });
});

test('a packet that never ends keeps its slot and those behind it', () => {
  withDevice((_, runtime) => {
    const queue = runtime.createQueue(runtime.gpuAgents[0]!, { sizePackets: 4096 });
    const done = runtime.createSignal(2000n);
    const launch = { grid: [1], workgroup: [1], barrier: false };
    queue.dispatch({ kernel: kernelObject(runtime, 0xb10c), ...launch });
    const kernel = kernelObject(runtime);
    for (let i = 0; i < 2000; i++) queue.dispatch({ kernel, ...launch, completionSignal: done });
    assert.equal(done.waitSync('eq', 0n, { timeoutMs: 20 }), 2000n - 1023n);
    queue.inactivate();
  });
});

test('what the library says of a dispatch ends its queue, and others go on', () => {
  withDevice((_, runtime) => {
    const agent = runtime.gpuAgents[0]!;
    const [bad, good] = [runtime.createQueue(agent), runtime.createQueue(agent)];
    const [never, done] = [runtime.createSignal(1n), runtime.createSignal(1n)];
    const launch = { grid: [1], workgroup: [1] };
    bad.dispatch({ kernel: kernelObject(runtime, 0xdead), ...launch, completionSignal: never });
    good.dispatch({ kernel: kernelObject(runtime), ...launch, completionSignal: done });
    assert.equal(done.waitSync('eq', 0n), 0n);
    assert.throws(
      () => never.waitSync('eq', 0n),
      (error: unknown) => error instanceof HsaError && error.status === 'ILLEGAL_INSTRUCTION',
    );
    assert.equal(good.error, undefined);
  });
});

test('code keeps its place until the device is closed', () => {
  withDevice((device) => {
    const before = inspector.hsa_mock_allocations();
    const [code, data] = [device.memory.allocate(4096), device.memory.allocate(4096)];
    device.publishCode({ address: code, sizeBytes: 4096, name: 'code', symbols: [] });
    device.withdrawCode(code);
    for (const address of [code, data]) device.memory.free(address);
    assert.equal(inspector.hsa_mock_allocations(), before + 1n);
    assert.equal(device.memory.find(code), undefined);
  });
  assert.equal(inspector.hsa_mock_allocations(), 0n);
});

test('a queue that is inactivated ends what never ends', () => {
  withDevice((_, runtime) => {
    const queue = runtime.createQueue(runtime.gpuAgents[0]!);
    const done = runtime.createSignal(1n);
    queue.dispatch({ kernel: kernelObject(runtime, 0xb10c), grid: [1], workgroup: [1], completionSignal: done });
    assert.equal(done.waitSync('eq', 0n, { timeoutMs: 10 }), 1n);
    queue.inactivate();
    assert.equal(runtime.progress(), 'idle');
    assert.equal(done.load(), 1n);
  });
});

test('agents have what the library knows of the board', () => {
  withDevice((device, runtime) => {
    const agent = runtime.gpuAgents[0]!;
    const ask = (id: number) => agentInfo(agent, id);
    assert.deepEqual(
      [ask(AGENT_INFO.productName), ask(AGENT_INFO.uuid), ask(AGENT_INFO.chipId), ask(AGENT_INFO.cacheSize)],
      ['Mock Instinct', 'GPU-0123456789abcdef', 0x740f, [16_384, 8_388_608, 0, 0]],
    );
    const { targetId, computeUnitCount, ldsSizeBytes, sharedApertureHi, timestampFrequencyHz } = device.properties;
    assert.deepEqual([targetId, computeUnitCount, ldsSizeBytes], ['gfx90a:sramecc+:xnack-', 104, 65_536]);
    assert.deepEqual([sharedApertureHi, timestampFrequencyHz], [0x1234, 100_000_000]);
  });
});

const isNoDevice = (pattern: RegExp) => (error: unknown) =>
  error instanceof WavewrightError && error.code === 'NO_DEVICE' && pattern.test(error.message);

/** With variables that the library reads. */
function withEnvironment(variables: Record<string, string>, run: () => void): void {
  Object.assign(process.env, variables);
  try {
    run();
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
}

test('no runtime, no driver, no GPU, no such GPU: no device, and why', async () => {
  await assert.rejects(openNativeDevice({ path: '/none/libhsa.so' }), isNoDevice(/\/none\/libhsa\.so/));
  const environment = { [LIBRARY_VARIABLE]: '/nowhere/libhsa.so' };
  await assert.rejects(openNativeDevice({ environment }), isNoDevice(/\/nowhere\/libhsa\.so/));
  await assert.rejects(openNativeDevice({ path: 'libm.so.6' }), isNoDevice(/hsa_init@ROCR_1/));
  const unversioned = buildHsaMock(libraries, false);
  await assert.rejects(openNativeDevice({ path: unversioned }), isNoDevice(/hsa_init@ROCR_1/));
  const device = await openNativeDevice({ environment: { [LIBRARY_VARIABLE]: mock } });
  assert.equal(device.name, 'hsa:0');
  device.close();
  assert.throws(() => startDevice(library, 1), isNoDevice(/'hsa:1'.*hsa:0 to hsa:0/));
  withEnvironment({ HSA_MOCK_GPUS: '0' }, () => assert.throws(() => startDevice(library, 0), isNoDevice(/has no GPU/)));
  withEnvironment({ HSA_MOCK_GPUS: '2' }, () => startDevice(library, 1).close());
  withEnvironment({ HSA_MOCK_INIT: '0x1008' }, () => {
    assert.throws(() => startDevice(library, 0), isNoDevice(/hsa_init: OUT_OF_RESOURCES/));
  });
});

const launcher = new URL('../../bin/wavewright.js', import.meta.url).pathname;
const wavewright = (variables: Record<string, string>, ...args: string[]) =>
  spawnSync(process.execPath, [launcher, ...args], { encoding: 'utf8', env: { ...process.env, ...variables } });

test('the command line names the device, without warnings of Node', () => {
  const { status, stdout, stderr } = wavewright({ [LIBRARY_VARIABLE]: mock }, 'info', '--device=hsa:0');
  assert.deepEqual([status, stderr], [0, '']);
  assert.match(stdout, /hsa:0: GPU agent gfx90a/);
  const refused = wavewright({ [LIBRARY_VARIABLE]: mock, HSA_MOCK_GPUS: '0' }, 'info', '--device=hsa:0');
  assert.equal(refused.status, 5);
  assert.match(refused.stderr, /NO_DEVICE/);
});

const isInstalled = spawnSync('dpkg', ['-s', 'libhsa-runtime64-1'], { encoding: 'utf8' }).stdout.includes(
  'install ok installed',
);
const skip = !isInstalled
  ? 'libhsa-runtime64-1 is not installed'
  : existsSync('/dev/kfd')
    ? 'there is a GPU driver'
    : false;

test('the real runtime on a machine without a GPU', { skip }, () => {
  const { status, stderr } = wavewright({}, 'info', '--device=hsa:0');
  assert.equal(status, 5, stderr);
  assert.match(stderr, /libhsa-runtime64\.so\.1/);
  assert.match(stderr, /no \/dev\/kfd/);
});
