/** What a replay needs besides the recording, and what it refuses. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { conformanceCode, createRegistry } from '../../hal/conformance/subject.test-support.ts';
import { type HalFile, type LogicalDevice, memoryFile } from '../../hal/index.ts';
import { openHalFile } from '../../hal/tooling/node-file.ts';
import { MemoryFile } from '../format/all-payloads.test-support.ts';
import { readReplayFile } from '../format/file.ts';
import { operationName } from '../format/names.ts';
import { ReplayRecorder } from '../record/recorder.ts';
import type { RecorderOptions } from '../record/recorder-context.ts';
import { executeReplay } from './executor.ts';
import { planReplay } from './plan.ts';
import type { ReplayOptions } from './run.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-replay-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function record(run: (device: LogicalDevice) => unknown, options: RecorderOptions = {}, uri = 'local') {
  using registry = createRegistry();
  const target = new MemoryFile();
  const recorder = new ReplayRecorder(target, options);
  await run(recorder.wrap(await registry.open(uri), { uri }));
  recorder.close();
  return planReplay(readReplayFile(target.bytes));
}

async function replay(plan: ReturnType<typeof planReplay>, options: ReplayOptions = {}, uri = 'local') {
  using registry = createRegistry();
  return await executeReplay(plan, [await registry.open(uri)], { verifies: true, ...options });
}

/** The first bytes of a file, read by a queue, as the host sees them. */
const reads = (file: () => HalFile) => async (device: LogicalDevice) => {
  const target = device.allocate(8, { memoryType: 'host-local', usage: ['default', 'mapping'] });
  await device.queue().read({ file: file(), fileOffset: 2, target });
  target.read();
};

test('a file by its name is named, kept in part, kept as a whole, or refused', async () => {
  const name = path.join(folder, 'weights.bin');
  writeFileSync(
    name,
    Uint8Array.from({ length: 100 }, (_, i) => i),
  );
  const run = reads(() => openHalFile(name));
  const openFile = openHalFile;
  const named = await record(run);
  const digested = await record(run, { fileValidation: 'digest' });
  const ranges = await record(run, { filePolicy: 'capture-ranges' });
  const whole = await record(run, { filePolicy: 'capture-all' });
  await assert.rejects(record(run, { filePolicy: 'fail' }), { status: 'PERMISSION_DENIED' });
  assert.ok(whole.file.sizeBytes > ranges.file.sizeBytes);
  for (const plan of [named, digested]) {
    assert.deepEqual((await replay(plan, { openFile })).differences, []);
    await assert.rejects(replay(plan), { code: 'USAGE', message: /needs the file '.*weights\.bin'/ });
  }
  const moved = path.join(folder, 'moved');
  mkdirSync(moved);
  renameSync(name, path.join(moved, 'weights.bin'));
  await assert.rejects(replay(named, { openFile }), { code: 'IO' });
  const remaps = [[folder, moved]] as const;
  assert.deepEqual((await replay(named, { openFile, remaps })).differences, []);
  writeFileSync(path.join(moved, 'weights.bin'), new Uint8Array(100));
  for (const plan of [named, digested]) {
    await assert.rejects(replay(plan, { openFile, remaps }), {
      code: 'BAD_INPUT',
      message: /it is not the file of the recording/,
    });
  }
  rmSync(moved, { recursive: true });
  for (const plan of [ranges, whole]) assert.deepEqual((await replay(plan)).differences, []);
});

test('a file object of the program gives what it gave, also its failures', async () => {
  let calls = 0;
  const file = (): HalFile => ({
    read: async (_, bytes) => {
      if (++calls > 2) throw new RangeError('torn');
      bytes.fill(calls, 0, 4);
      return 4;
    },
    write: async () => 0,
  });
  const plan = await record(async (device) => {
    await reads(file)(device);
    await assert.rejects(Promise.resolve(reads(file)(device)), { message: /torn/ });
  });
  const { differences, comparedCount } = await replay(plan);
  assert.deepEqual([differences, comparedCount > 3], [[], true]);
});

test('signals of the host, host calls and bytes of mapped memory are replayed', async () => {
  const plan = await record(async (device) => {
    const gate = device.createSemaphore();
    const buffer = device.allocate(8, { memoryType: 'host-local', usage: ['default', 'mapping'] });
    const call = device.queue().hostCall({
      call: () => {
        using mapping = buffer.map('write');
        mapping.bytes[1] = 5;
        gate.signal(2);
      },
      waits: [gate.at(1)],
    });
    const copy = device.allocate(8);
    const copied = device.queue(1).copy({ source: buffer, target: copy, waits: [gate.at(2)] });
    {
      using mapping = buffer.map(['read', 'write']);
      mapping.bytes[0] = 9;
    }
    gate.signal(1);
    await Promise.all([call, copied]);
  });
  for (const order of ['recorded', 'parallel'] as const) {
    const { differences, buffers } = await replay(plan, { order });
    assert.deepEqual(differences, []);
    const contents = [...buffers.values()].map((buffer) => [...buffer.allocation.storage.bytes().subarray(0, 2)]);
    assert.deepEqual(contents, [
      [9, 5],
      [9, 5],
    ]);
  }
});

test('a device that does not fit is refused, and so is a recording with holes', async () => {
  const plan = await record((device) => device.queue().barrier());
  await assert.rejects(replay(plan, {}, 'local?queues=3'), {
    status: 'FAILED_PRECONDITION',
    message: /2 queues on local/,
  });
  await assert.rejects(executeReplay(plan, []), { status: 'FAILED_PRECONDITION' });
  const holes = { ...plan, findings: [{ ordinal: 3, message: 'a channel' }] };
  await assert.rejects(replay(holes), { code: 'UNSUPPORTED', message: 'recording: record 3: a channel' });
});

test('code for another GPU is refused, unless other code is given', async () => {
  const plan = await record((device) => device.load(conformanceCode('gfx90a')), {}, 'amdgpu');
  const uri = 'amdgpu?target=gfx1100';
  await assert.rejects(replay(plan, {}, uri), { status: 'INCOMPATIBLE' });
  const substitute: ReplayOptions['substitute'] = ({ executableId, format, exports }) => {
    assert.deepEqual([executableId, format.startsWith('gfx90a'), exports!.length > 3], [4, true, true]);
    return conformanceCode('gfx1100');
  };
  await replay(plan, { substitute }, uri);
});

test('a file that cannot be written ends the recording and not the program', async () => {
  using registry = createRegistry();
  let isFull = false;
  const append = (): void => {
    if (isFull) throw new RangeError('the disk is full');
  };
  const recorder = new ReplayRecorder({ append, restart: append });
  const device = recorder.wrap(await registry.open('local'));
  isFull = true;
  await device.queue().barrier();
  assert.throws(() => recorder.close(), /the disk is full/);
});

test('memory files are the same where their bytes are, and no replay writes to them', async () => {
  const contents = new Uint8Array(16);
  const plan = await record(async (device) => {
    const buffer = device.allocate(8, { memoryType: 'host-local', usage: ['default', 'mapping'] });
    buffer.write(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
    await device.queue().write({ source: buffer, file: memoryFile(contents), fileOffset: 4 });
    buffer.zero();
    await device.queue().read({ target: buffer, file: memoryFile(contents), fileOffset: 4 });
    buffer.read();
  });
  const before = contents.slice();
  const { differences } = await replay(plan);
  assert.deepEqual([differences, contents], [[], before]);
});

test('what a record of ours tells is held against its shape', async () => {
  const { file } = await record((device) => device.queue().hostCall({ call: () => {} }));
  const host = file.records.find(({ operation }) => operationName(operation) === 'device.queue_host_call')!;
  const text = '"queue":0';
  for (const [other, what] of [
    ['"queue":-', /device\.queue_host_call: what it tells is no JSON/],
    ['"queue":[', /is no JSON/],
    ['"quEue":0', /record \d+ at 0x[0-9a-f]+: device\.queue_host_call: 'queue' is undefined/],
  ] as const) {
    const payload = Uint8Array.from(host.payload);
    const at = Buffer.from(payload).indexOf(text);
    payload.set(Buffer.from(other), at);
    const records = file.records.map((each) => (each === host ? { ...each, payload } : each));
    assert.throws(() => planReplay({ ...file, records }), { code: 'BAD_INPUT', message: what });
  }
});
