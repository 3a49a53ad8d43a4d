import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import { EmulatorMemory } from '../memory.ts';
import { answerMemory, type MemoryQuestion, RemoteMemory } from './remote-memory.ts';

function setUp(workers = 1) {
  const memory = new EmulatorMemory(0x7f00, 2 ** 28);
  const questions: MemoryQuestion[] = [];
  const remote = new RemoteMemory(memory.memory, memory.windowHi, workers, (question) => {
    questions.push(question);
    return JSON.parse(JSON.stringify(answerMemory(memory, question)));
  });
  return { memory, remote, questions };
}

test('memory of a worker is accounted for by the main thread', () => {
  const { memory, remote } = setUp();
  const offset = remote.allocate(5000, { label: 'scratch' });
  assert.deepEqual(memory.find(offset + 4999)?.label, 'scratch');
  assert.deepEqual(remote.find(offset + 4999), { ...remote.find(offset), offset, sizeBytes: 5000, label: 'scratch' });
  remote.free(offset);
  assert.equal(memory.find(offset), undefined);
  assert.throws(
    () => remote.allocate(2 ** 30),
    (error) => error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED',
  );
});

test('the state of waves is used again without a question, up to a limit', () => {
  const { memory, remote, questions } = setUp(4);
  const options = { label: 'wave state', uninitialized: true, permissions: 0 };
  const offset = remote.allocate(10_000, options);
  remote.free(offset);
  assert.equal(remote.allocate(10_000, options), offset);
  assert.equal(questions.length, 1);
  remote.free(offset);
  assert.notEqual(remote.allocate(20_000, options), offset);
  const large = remote.allocate(2 ** 24, options);
  remote.free(large);
  assert.equal(memory.find(offset), undefined, 'the oldest is given back');
  assert.ok(memory.find(large));
});

test('regions are looked up once until they may be others', () => {
  const { memory, remote, questions } = setUp();
  const offset = memory.allocate(100, { label: 'code' });
  assert.equal(remote.find(offset)?.label, 'code');
  assert.equal(remote.find(offset + 99)?.label, 'code');
  assert.equal(questions.length, 1);
  memory.free(offset);
  remote.forget();
  assert.equal(remote.find(offset), undefined);
});
