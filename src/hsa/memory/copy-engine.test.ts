import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { CodeObjectReader } from '../executables/loaded-code-object.ts';
import { readCodeObjectFile } from '../executables/node-code-object-reader.ts';
import { HSA_STATUS, HsaError } from '../objects/status.ts';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { buildImage, IMAGE_BASE } from '../runtime/image.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';

function setUp() {
  const device = new FakeDevice();
  const runtime = createRuntime({ devices: [device] });
  const agent = runtime.gpuAgents[0]!;
  const allocate = (sizeBytes: number) => agent.pool('coarse-grained').allocate(sizeBytes, { label: 'test memory' });
  return { device, runtime, agent, allocate };
}

const refused = (status: string) => (error: unknown) => error instanceof HsaError && error.status === status;

test('fill writes dwords, copy moves bytes, also between overlapping ranges', () => {
  const { runtime, allocate } = setUp();
  const memory = allocate(64);
  runtime.fill(memory + 4n, 0x01020304, 2);
  assert.deepEqual([...runtime.view(memory, 16)], [0, 0, 0, 0, 4, 3, 2, 1, 4, 3, 2, 1, 0, 0, 0, 0]);
  runtime.copy(memory, memory + 3n, 8);
  assert.deepEqual([...runtime.view(memory, 8)], [0, 4, 3, 2, 1, 4, 3, 2]);
  runtime.fill(memory, 1, 0);
  runtime.copy(memory, 0n, 0);
  assert.throws(() => runtime.fill(memory + 2n, 1, 1), refused('INVALID_ARGUMENT'));
  assert.throws(() => runtime.fill(memory, 1, 1 << 20), refused('INVALID_ARGUMENT'));
  assert.throws(() => runtime.fill(memory, 1, -1), refused('INVALID_ARGUMENT'));
  assert.throws(() => runtime.copy(memory, 0x1000n, 8), refused('INVALID_ARGUMENT'));
});

test('a copy waits for its dependencies, completes its signal with times, and lets others pass', () => {
  const { runtime, allocate } = setUp();
  const [a, b, c] = [allocate(8), allocate(8), allocate(8)];
  runtime.view(a, 8).fill(7);
  const [gate, first, second] = [runtime.createSignal(1n), runtime.createSignal(1n), runtime.createSignal(1n)];
  runtime.copyAsync({ destination: c, source: b, sizeBytes: 8, dependencies: [first, gate], completionSignal: second });
  runtime.copyAsync({ destination: b, source: a, sizeBytes: 8, completionSignal: first });
  runtime.progress();
  assert.deepEqual([first.load(), second.load()], [0n, 1n]);
  gate.store(0n);
  assert.equal(second.waitSync('eq', 0n), 0n);
  assert.deepEqual([...runtime.view(c, 8)], new Array(8).fill(7));
  assert.ok(second.endTicks >= second.startTicks && second.startTicks > first.endTicks);
});

test('a copy that cannot be done any more makes its signal negative, and disturbs nothing else', () => {
  const { runtime, agent, allocate } = setUp();
  const [gone, kept] = [allocate(8), allocate(8)];
  const [gate, failed, done] = [runtime.createSignal(1n), runtime.createSignal(1n), runtime.createSignal(1n)];
  const copy = { destination: kept, sizeBytes: 8, dependencies: [gate] };
  runtime.copyAsync({ ...copy, source: gone, completionSignal: failed });
  runtime.copyAsync({ ...copy, source: kept, completionSignal: done });
  agent.pool('coarse-grained').free(gone);
  gate.store(0n);
  assert.equal(done.waitSync('eq', 0n), 0n);
  assert.equal(failed.load(), BigInt(-HSA_STATUS.INVALID_ARGUMENT.value));
  assert.equal(runtime.failure, undefined);
  // Without a signal, waits that can never end say it.
  const lost = allocate(8);
  gate.store(1n);
  runtime.copyAsync({ ...copy, source: lost });
  agent.pool('coarse-grained').free(lost);
  gate.store(0n);
  assert.throws(() => gate.waitSync('eq', 5n), /an asynchronous copy: .* not inside one allocation/);
});

test('rows of no bytes take no time, however many there are', () => {
  const { runtime, allocate } = setUp();
  const place = { address: allocate(8), pitchBytes: 0 };
  const completionSignal = runtime.createSignal(1n);
  runtime.copyRectAsync({ destination: place, source: place, range: [0, 2 ** 40, 1], completionSignal });
  assert.equal(completionSignal.waitSync('eq', 0n), 0n);
  const odd = { destination: { ...place, pitchBytes: 1.5 }, source: place, range: [1, 2, 1] } as const;
  assert.throws(() => runtime.copyRectAsync(odd), refused('INVALID_ARGUMENT'));
});

test('bad copies are refused when they are submitted', () => {
  const { runtime, allocate } = setUp();
  const memory = allocate(64);
  const copy = { destination: memory, source: memory, sizeBytes: 8 };
  assert.throws(() => runtime.copyAsync({ ...copy, source: 64n }), refused('INVALID_ARGUMENT'));
  assert.throws(() => runtime.copyAsync({ ...copy, sizeBytes: 1.5 }), refused('INVALID_ARGUMENT'));
  const place = { address: memory, pitchBytes: 8 };
  const rect = { destination: place, source: place };
  assert.throws(() => runtime.copyRectAsync({ ...rect, range: [9, 1, 1] }), refused('INVALID_ARGUMENT'));
  assert.throws(() => runtime.copyRectAsync({ ...rect, range: [8, 2, 2] }), refused('INVALID_ARGUMENT'));
  assert.throws(() => runtime.copyRectAsync({ ...rect, range: [8, 9, 1000] }), refused('INVALID_ARGUMENT'));
});

test('a box is copied between pitches', () => {
  const { runtime, allocate } = setUp();
  const [from, to] = [allocate(64), allocate(64)];
  runtime.view(from, 64).set(Array.from({ length: 64 }, (_, i) => i));
  runtime.copyRectAsync({
    source: { address: from + 1n, pitchBytes: 8, sliceBytes: 32 },
    destination: { address: to, pitchBytes: 3, sliceBytes: 6 },
    range: [3, 2, 2],
  });
  runtime.progress();
  assert.deepEqual([...runtime.view(to, 13)], [1, 2, 3, 9, 10, 11, 33, 34, 35, 41, 42, 43, 0]);
});

test('an address is explained by its allocation', () => {
  const { runtime, agent, allocate } = setUp();
  const base = allocate(100);
  assert.deepEqual(runtime.memory.pointerInfo(base + 50n), {
    ...{ type: 'hsa', base, sizeBytes: 100, label: 'test memory', agents: [agent], owner: agent, globalFlags: 4 },
  });
  assert.deepEqual(runtime.memory.pointerInfo(16n), { type: 'unknown' });
});

test('loaded code objects are found by address, with their segments and where they came from', () => {
  const { runtime, agent } = setUp();
  const executable = runtime.createExecutable();
  const bytes = buildImage();
  const loaded = executable.loadCodeObject(agent, new CodeObjectReader(bytes, 'a.co'));
  assert.equal(loaded.uri, `memory://0#offset=0x0&size=${bytes.length}`);
  const { loader } = runtime;
  assert.equal(loader.queryExecutable(loaded.address + 5n), executable);
  assert.throws(() => loader.queryExecutable(loaded.address - 1n), refused('INVALID_ARGUMENT'));
  assert.deepEqual(
    loader.querySegmentDescriptors().map(({ codeObject, offset, address }) => [codeObject, offset, address]),
    [[loaded, 0, BigInt(IMAGE_BASE) + loaded.loadDelta]],
  );
  executable[Symbol.dispose]();
  assert.deepEqual([loader.executables, loader.querySegmentDescriptors()], [[], []]);
});

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-reader-'));
after(() => rmSync(folder, { recursive: true }));

test('a reader takes a file or a part of one', () => {
  const file = path.join(folder, 'bundle');
  writeFileSync(file, Uint8Array.of(1, 2, 3, 4, 5));
  const whole = readCodeObjectFile(file);
  assert.deepEqual([[...whole.bytes], whole.name], [[1, 2, 3, 4, 5], file]);
  assert.match(whole.uri, /^file:\/\/.*\/bundle$/);
  const part = readCodeObjectFile(file, { offset: 1, sizeBytes: 3 });
  assert.deepEqual([...part.bytes], [2, 3, 4]);
  assert.match(part.uri, /\/bundle#offset=0x1&size=3$/);
  for (const range of [{ offset: 5 }, { offset: -1 }, { sizeBytes: 6 }, { sizeBytes: 0 }]) {
    assert.throws(() => readCodeObjectFile(file, range), refused('INVALID_ARGUMENT'));
  }
  assert.throws(() => readCodeObjectFile(path.join(folder, 'none')), refused('INVALID_FILE'));
  assert.throws(() => readCodeObjectFile(folder), refused('INVALID_FILE'));
});
