/** What a program does on one device, done once more on another one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conformanceModule } from '../conformance/kernels.test-support.ts';
import { contentsOf } from '../conformance/readback.test-support.ts';
import { conformanceCode, createRegistry } from '../conformance/subject.test-support.ts';
import { DeviceReplay, type RecordedCall, recordDevice } from './device-recorder.ts';
import type { LogicalDevice } from './logical-device.ts';

/** Transfers, a dispatch and a program that loops, on two queues. Returns what it wrote to. */
async function pipeline(device: ReturnType<typeof recordDevice>, code: unknown) {
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
    const replay = await replayed(calls, other);
    assert.notEqual(replay.of(output), output);
    assert.deepEqual(await contentsOf(other, replay.of(output)), bytes);
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
