import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused } from '../conformance/subject.test-support.ts';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { buildImage, IMAGE_BASE, IMAGE_DATA } from '../runtime/image.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { CODE_OBJECT_STORAGE, LOADED_CODE_OBJECT_INFO, loadedCodeObjectInfo } from './executable-info.ts';
import { CodeObjectReader } from './loaded-code-object.ts';

const R_AMDGPU_ABS64 = 3;

function setUp() {
  const devices = [new FakeDevice(2 ** 22), new FakeDevice(2 ** 22)] as const;
  const runtime = createRuntime({ devices });
  return { runtime, agents: runtime.gpuAgents, executable: runtime.createExecutable() };
}

const data = Uint8Array.from({ length: 64 }, (_, i) => i);
const image = (): CodeObjectReader => new CodeObjectReader(buildImage({ data }), 'a.co');

test('the host sees the bytes that the device uses, up to the end of the segment', () => {
  const { runtime, agents, executable } = setUp();
  const loaded = executable.loadCodeObject(agents[0]!, image());
  const at = loaded.loadDelta + BigInt(IMAGE_DATA);
  const bytes = runtime.loader.queryHostAddress(at + 3n);
  assert.deepEqual([...bytes.subarray(0, 61)], [...data.subarray(3)]);
  bytes[0] = 99;
  assert.equal(runtime.view(at + 3n, 1)[0], 99, 'the same memory');
  const [segment] = runtime.loader.querySegmentDescriptors();
  assert.equal(bytes.length, Number(segment!.address + BigInt(segment!.sizeBytes) - at) - 3);
  for (const address of [loaded.address - 1n, loaded.address + BigInt(loaded.sizeBytes), 0n]) {
    assert.throws(() => runtime.loader.queryHostAddress(address), refused('INVALID_ARGUMENT'));
  }
});

test('segment descriptors and loaded code objects say where everything came from', () => {
  const { runtime, agents, executable } = setUp();
  const reader = image();
  const loaded = executable.loadCodeObject(agents[0]!, reader);
  const [segment] = runtime.loader.querySegmentDescriptors();
  assert.deepEqual([segment!.agent, segment!.executable, segment!.codeObject], [agents[0], executable, loaded]);
  assert.equal(segment!.storage, reader.bytes);
  const info = LOADED_CODE_OBJECT_INFO;
  const ask = (id: number) => loadedCodeObjectInfo(loaded, id);
  assert.deepEqual([ask(info.executable), ask(info.agent), ask(info.kind)], [executable, agents[0], 2]);
  assert.deepEqual(
    [ask(info.codeObjectStorageType), ask(info.codeObjectStorageMemoryBase)],
    [CODE_OBJECT_STORAGE.memory, reader.bytes],
  );
  assert.equal(ask(info.codeObjectStorageMemorySize), reader.bytes.length);
  assert.deepEqual([ask(info.loadBase), ask(info.loadSize)], [loaded.address, loaded.sizeBytes]);
  assert.equal(ask(info.loadDelta), loaded.address - BigInt(IMAGE_BASE));
  assert.deepEqual([ask(info.uri), ask(info.uriLength)], [loaded.uri, loaded.uri.length]);
  assert.throws(() => ask(info.codeObjectStorageFile), refused('INVALID_ARGUMENT'), 'no file is open');
  assert.throws(() => ask(99), refused('INVALID_ARGUMENT'));
  const file = new CodeObjectReader(reader.bytes, 'a.co', 'file:///a.co');
  const fromFile = executable.loadCodeObject(agents[1]!, file);
  assert.equal(loadedCodeObjectInfo(fromFile, info.codeObjectStorageType), CODE_OBJECT_STORAGE.file);
  reader[Symbol.dispose]();
  assert.equal((ask(info.codeObjectStorageMemoryBase) as Uint8Array).length, file.bytes.length, 'what is loaded stays');
});

test('a program variable has one address for all agents; what an agent defines comes first', () => {
  const { runtime, agents, executable } = setUp();
  const user = (): CodeObjectReader =>
    new CodeObjectReader(
      buildImage({
        data: new Uint8Array(16),
        symbols: [{ name: 'shared' }],
        relocations: [{ dataOffset: 8, type: R_AMDGPU_ABS64, symbol: 'shared', addend: 4n }],
      }),
    );
  const loaded = agents.map((agent) => executable.loadCodeObject(agent, user()));
  executable.defineProgramVariable('shared', 0x5000n);
  executable.defineVariable(agents[1]!, 'shared', 0x6000n);
  executable.freeze();
  const stored = loaded.map((each) => {
    const bytes = each.view(BigInt(IMAGE_DATA + 8), 8, 'the place');
    return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  });
  assert.deepEqual(stored, [0x5004n, 0x6004n]);
  runtime[Symbol.dispose]();
});
