/** What a program does on one device, done once more on another one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { conformanceModule } from '../conformance/kernels.test-support.ts';
import { contentsOf } from '../conformance/readback.test-support.ts';
import { conformanceCode, createRegistry } from '../conformance/subject.test-support.ts';
import { DeviceReplay, type RecordedCall, recordDevice } from './device-recorder.ts';
import type { LogicalDevice } from './logical-device.ts';

/** Transfers, a dispatch and a program that loops, on two queues. Returns what it wrote to. */
async function pipeline(device: LogicalDevice, code: unknown) {
  const [first, second] = device.queues;
  const timeline = device.createSemaphore({ label: 'timeline' });
  const numbers = Int32Array.of(1, 2, 3, 4);
  const { result: input } = first!.alloca({ sizeBytes: 32, signals: [timeline.at(1)] });
  const written = first!.update({ target: input, contents: numbers, waits: [timeline.at(1)] });
  numbers.fill(99);
  const output = device.allocate(32, { usage: ['default', 'dispatch-indirect-parameters'] });
  const scale = { entry: device.load(code).lookup('scale_and_offset'), groups: 1, constants: [10, 5] };
  const bindings = [input.subspan(0, 16), output];
  second!.dispatch({ ...scale, bindings, waits: [written], signals: [timeline.at(2)] });
  const program = device.record({ slots: ['out'] }, (commands) => {
    commands.copy({
      source: { buffer: input, sizeBytes: 16 },
      target: { slot: 'out', offsetBytes: 16, sizeBytes: 16 },
    });
    commands.barrier().while({ slot: 'out', sizeBytes: 4 }, (body) => {
      body.update({ contents: Int32Array.of(0), target: { slot: 'out' } });
    });
  });
  await first!.execute({ commands: program, bindings: { out: output }, waits: [timeline.at(2)] });
  return output;
}

/** All calls at once: operations wait for each other as they did. */
async function replayedAtOnce(calls: readonly RecordedCall[], device: LogicalDevice): Promise<DeviceReplay> {
  const replay = new DeviceReplay(device);
  await Promise.all(calls.map((call) => replay.run(call)));
  return replay;
}

async function replayed(calls: readonly RecordedCall[], device: LogicalDevice): Promise<DeviceReplay> {
  const replay = new DeviceReplay(device);
  for (const call of calls) await replay.run(call);
  return replay;
}

test('recorded calls give the same bytes on another device', async () => {
  using registry = createRegistry();
  for (const [uri, code] of [
    ['amdgpu?target=gfx90a', conformanceCode('gfx90a')],
    ['local', conformanceModule()],
  ] as const) {
    const calls: RecordedCall[] = [];
    const device = await registry.open(uri);
    const output = await pipeline(
      recordDevice(device, (call) => calls.push(call)),
      code,
    );
    const bytes = await contentsOf(device, output);
    assert.deepEqual([...new Int32Array(bytes.buffer)], [0, 25, 35, 45, 1, 2, 3, 4]);
    assert.deepEqual(
      calls.map(({ queue, method }) => `${queue ?? 'device'} ${method}`),
      [
        'device createSemaphore',
        '0 alloca',
        '0 update',
        'device allocate',
        'device load',
        '1 dispatch',
        'device record',
        '0 execute',
      ],
    );
    const other = await registry.open(`${uri}${uri.includes('?') ? '&' : '?'}seed=3`);
    for (const run of [replayed, replayedAtOnce]) {
      const replay = await run(calls, other);
      assert.notEqual(replay.of(output), output);
      assert.deepEqual(await contentsOf(other, replay.of(output)), bytes);
    }
  }
});

test('what no recorded call made is refused by name', async () => {
  using registry = createRegistry();
  const calls: RecordedCall[] = [];
  const device = await registry.open('local');
  const recorded = recordDevice(device, (call) => calls.push(call));
  const unknown = device.allocate(4);
  await recorded.queues[0]!.fill({ target: unknown, pattern: Uint8Array.of(1) });
  assert.throws(() => recorded.queues[0]!.fill({ target: unknown, pattern: Uint8Array.of(1, 2, 3) }));
  assert.equal(calls.length, 1, 'a call that throws is none');
  const replay = new DeviceReplay(await registry.open('null'));
  assert.throws(() => replay.run(calls[0]!), {
    status: 'INVALID_ARGUMENT',
    message: /a HalBuffer that no recorded call/,
  });
});

test('memory that comes from outside, by bytes or by address, is there once more', async () => {
  using registry = createRegistry();
  const calls: RecordedCall[] = [];
  const local = await registry.open('local');
  const recorded = recordDevice(local, (call) => calls.push(call));
  const own = new SharedArrayBuffer(8);
  new Uint8Array(own).fill(3);
  const imported = recorded.importBuffer(own, { usage: ['default', 'mapping'] });
  await recorded.queue(1).fill({ target: imported.subspan(0, 4), pattern: Uint8Array.of(9) });
  const replay = await replayed(calls, await registry.open('local?seed=1'));
  assert.deepEqual([...replay.of(imported).read()], [9, 9, 9, 9, 3, 3, 3, 3]);
  new Uint8Array(own).fill(0);
  assert.deepEqual([...replay.of(imported).read()], [9, 9, 9, 9, 3, 3, 3, 3], 'it has its own memory');

  calls.length = 0;
  const gpu = await registry.open('amdgpu');
  const recordedGpu = recordDevice(gpu, (call) => calls.push(call));
  const other = await registry.open('amdgpu');
  other.allocate(1000);
  const owner = recordedGpu.allocate(64, { usage: ['default', 'sharing-export'] });
  using exported = owner.export();
  const part = recordedGpu.importBuffer({ address: exported.address! + 32n, sizeBytes: 16 });
  await recordedGpu.queuesOf(0)[0]!.fill({ target: owner, pattern: Uint8Array.of(1) });
  await recordedGpu.queue().fill({ target: part, pattern: Uint8Array.of(2) });
  const second = await replayed(calls, other);
  assert.deepEqual(await contentsOf(other, second.of(owner)), await contentsOf(gpu, owner));
  const foreign = gpu.allocate(64, { usage: ['default', 'sharing-export'] });
  using foreignMemory = foreign.export();
  calls.length = 0;
  recordedGpu.importBuffer({ address: foreignMemory.address!, sizeBytes: 64 });
  await assert.rejects(replayed(calls, await registry.open('amdgpu')), { status: 'INVALID_ARGUMENT' });
});

test('variables of code are those of the code that stands for it', async () => {
  using registry = createRegistry();
  const calls: RecordedCall[] = [];
  const source = '.data\n.globl number\n.type number,@object\nnumber: .long 5\n.size number, 4\n';
  const code = assembleFile(source, { processor: 'gfx90a', file: 'number.s' });
  const recorded = recordDevice(await registry.open('amdgpu'), (call) => calls.push(call));
  const loaded = recorded.load(code);
  const variable = loaded.variable('number');
  await recorded.queue().fill({ target: variable, pattern: Uint8Array.of(7) });
  const other = await registry.open('amdgpu?queues=3');
  const replay = await replayed(calls, other);
  assert.deepEqual(await contentsOf(other, replay.of(loaded).variable('number')), new Uint8Array(4).fill(7));
});
