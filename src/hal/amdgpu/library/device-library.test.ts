/** The kernels of the device library, on a processor of each target that it was built for. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { processorNamed } from '../../../codeobject/processors.ts';
import { createEmulatedDevice } from '../../../devices/emulated/index.ts';
import { createRuntime, type Runtime } from '../../../hsa/runtime/runtime.ts';
import { TARGET_PROCESSORS } from '../../../isa/amdgpu/encoding/targets.ts';
import { seededIntegers } from '../../core/random.ts';
import { type DeviceLibrary, type LibraryLaunch, loadLibrary } from './device-library.ts';
import { LIBRARY_TARGETS, libraryImage, libraryTarget } from './library-image.ts';

const DATA = path.resolve(import.meta.dirname, '../../../../test/data/hal-library');

test('the module holds the code objects that were built', async () => {
  for (const target of LIBRARY_TARGETS) {
    const built = readFileSync(path.join(DATA, `library.${target}.co`));
    assert.deepEqual(Buffer.from(await libraryImage(target)), built, target);
  }
});

test('every processor that is emulated has a library: its own, else the generic one', async () => {
  for (const processor of TARGET_PROCESSORS) {
    const target = libraryTarget(processor);
    const generic = processorNamed(processor)!.generic?.name;
    assert.ok(target === processor || target === generic, processor);
  }
  assert.equal(libraryTarget('gfx90a'), 'gfx90a');
  assert.equal(libraryTarget('gfx906'), 'gfx9-generic');
  assert.equal(libraryTarget('gfx1103'), 'gfx11-generic');
  await assert.rejects(libraryImage('gfx803'), { status: 'INCOMPATIBLE', message: /not built for gfx803/ });
});

const MEMORY_BYTES = 8192;
const ROUNDS = 24;

interface Bench {
  readonly runtime: Runtime;
  readonly library: DeviceLibrary;
  readonly memory: bigint;
  readonly bytes: Uint8Array;
}

async function benchOf(processor: string): Promise<Bench & Disposable> {
  const runtime = createRuntime({ devices: [createEmulatedDevice({ processor, memorySizeBytes: 2 ** 22 })] });
  const agent = runtime.gpuAgents[0]!;
  const library = loadLibrary(runtime, await libraryImage(processor)).get(agent)!;
  const memory = agent.pool('coarse-grained').allocate(MEMORY_BYTES);
  const bytes = runtime.view(memory, MEMORY_BYTES);
  return { runtime, library, memory, bytes, [Symbol.dispose]: () => runtime[Symbol.dispose]() };
}

/** Runs it on a queue of its own, to its end. */
function run({ runtime }: Bench, launch: LibraryLaunch | undefined): void {
  if (launch === undefined) return;
  const agent = runtime.gpuAgents[0]!;
  const kernarg = agent.pool('coarse-grained').allocate(launch.kernargBytes);
  launch.write(runtime.view(kernarg, launch.kernargBytes), kernarg);
  using queue = runtime.createQueue(agent);
  using signal = runtime.createSignal(1n);
  const { kernelObject, wavefrontSize } = launch.kernel;
  queue.dispatch({
    kernel: kernelObject,
    grid: [launch.groups * wavefrontSize],
    workgroup: [wavefrontSize],
    kernarg,
    completionSignal: signal,
  });
  signal.waitSync('eq', 0n);
  assert.equal(queue.error, undefined);
  agent.pool('coarse-grained').free(kernarg);
}

for (const [index, target] of LIBRARY_TARGETS.entries()) {
  test(`${target}: transfers write their range and nothing else`, async () => {
    const processor = TARGET_PROCESSORS.findLast((each) => libraryTarget(each) === target)!;
    using bench = await benchOf(processor);
    const { library, memory, bytes } = bench;
    const pick = seededIntegers(index);
    for (let round = 0; round < ROUNDS; round++) {
      const patternBytes = [1, 2, 4, 8][round % 4]!;
      const sizeBytes = patternBytes * pick(round % 3 === 0 ? 40 : 3000 / patternBytes);
      const offset = patternBytes * pick(64);
      const sourceOffset = 4096 + pick(64);
      for (let i = 0; i < MEMORY_BYTES; i++) bytes[i] = pick(256);
      const expected = bytes.slice();
      const pattern = Uint8Array.from({ length: patternBytes }, () => pick(256));
      for (let i = 0; i < sizeBytes; i++) expected[offset + i] = pattern[i % patternBytes]!;
      run(bench, library.fill(memory + BigInt(offset), sizeBytes, pattern));
      assert.deepEqual(bytes.slice(), expected, `a fill of ${sizeBytes} at ${offset}`);
      expected.copyWithin(offset, sourceOffset, sourceOffset + sizeBytes);
      run(bench, library.copy(memory + BigInt(sourceOffset), memory + BigInt(offset), sizeBytes));
      assert.deepEqual(bytes.slice(), expected, `a copy of ${sizeBytes} from ${sourceOffset} to ${offset}`);
      const contents = Uint8Array.from({ length: sizeBytes }, () => pick(256));
      expected.set(contents, sourceOffset);
      run(bench, library.update(memory + BigInt(sourceOffset), contents));
      assert.deepEqual(bytes.slice(), expected, `an update of ${sizeBytes} at ${sourceOffset}`);
    }
  });
}

test('times of dispatches are collected from their completion signals', async () => {
  for (const processor of ['gfx90a', 'gfx1100']) {
    using bench = await benchOf(processor);
    const { runtime, library, memory, bytes } = bench;
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const count = 70;
    const ticksAt = 4096;
    const sources = 2048;
    const signals = Array.from({ length: count }, (_, i) => {
      const signal = runtime.createSignal(0n);
      const words = new BigInt64Array(
        runtime.view(signal.address, 64).buffer,
        runtime.view(signal.address, 64).byteOffset,
      );
      words.set([BigInt(1000 + i), BigInt(2000 + 3 * i)], 4);
      view.setBigUint64(sources + 16 * i, signal.address, true);
      view.setBigUint64(sources + 16 * i + 8, memory + BigInt(ticksAt + 16 * i), true);
      return signal;
    });
    const write = (kernarg: Uint8Array) => {
      const words = new DataView(kernarg.buffer, kernarg.byteOffset);
      words.setBigUint64(0, memory + BigInt(sources), true);
      words.setUint32(8, count, true);
    };
    run(bench, { kernel: library.kernel('timestamp_harvest_dispatch_records'), groups: 1, kernargBytes: 16, write });
    const ticks = signals.map((_, i) => [0, 8].map((at) => Number(view.getBigUint64(ticksAt + 16 * i + at, true))));
    assert.deepEqual(
      ticks,
      signals.map((_, i) => [1000 + i, 2000 + 3 * i]),
    );
    assert.deepEqual([...bytes.subarray(ticksAt + 16 * count)], Array(MEMORY_BYTES - ticksAt - 16 * count).fill(0));
    for (const signal of signals) signal[Symbol.dispose]();
  }
});
