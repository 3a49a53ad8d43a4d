import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import { EmulatorMemory } from '../machine/memory.ts';
import { StateMemory } from '../machine/state-memory.ts';
import { answerMemory, type MemoryQuestion, RemoteMemory, RemoteState } from './remote-memory.ts';

function setUp(workers = 1) {
  const state = new StateMemory();
  const memory = new EmulatorMemory(0x7f00, state, 2 ** 28);
  const questions: MemoryQuestion[] = [];
  const ask = (question: MemoryQuestion): unknown => {
    questions.push(question);
    return JSON.parse(JSON.stringify(answerMemory({ state, memory }, question)));
  };
  const remote = new RemoteMemory(memory.memory, memory.windowHi, workers, ask);
  return { state, memory, remote, remoteState: new RemoteState(state.memory, workers, ask), questions };
}

test('memory of a worker is accounted for by the main thread', () => {
  const { memory, remote } = setUp();
  const offset = remote.allocate(5000, { label: 'scratch' });
  assert.deepEqual(memory.find(offset + 4999)?.label, 'scratch');
  remote.free(offset);
  assert.equal(memory.find(offset), undefined);
  assert.throws(
    () => remote.allocate(2 ** 30),
    (error) => error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED',
  );
});

test('the state of waves, and LDS, are used again without a question, up to a limit', () => {
  const { state, memory, remote, remoteState, questions } = setUp(4);
  const options = { label: 'LDS', uninitialized: true, isTransient: true, permissions: 0 };
  const takers = [
    {
      take: (size: number) => remoteState.allocate(size, 'a kernel'),
      free: (offset: number) => remoteState.free(offset),
      used: () => state.usedBytes,
    },
    {
      take: (size: number) => remote.allocate(size, options),
      free: (offset: number) => remote.free(offset),
      used: () => memory.usage.bytes,
    },
  ];
  for (const { take, free, used } of takers) {
    questions.length = 0;
    const offset = take(10_000);
    free(offset);
    assert.equal(take(10_000), offset);
    assert.equal(questions.length, 1);
    free(offset);
    assert.notEqual(take(20_000), offset);
    const before = used();
    const large = take(2 ** 24);
    free(large);
    assert.equal(used(), before + 2 ** 24 - 12_288, 'the oldest is given back');
  }
});

test('code is looked up once until it may be elsewhere', () => {
  const { memory, remote, questions } = setUp();
  const offset = memory.allocate(100, { label: 'code' });
  assert.deepEqual(remote.code(offset), { offset, sizeBytes: 100 });
  assert.deepEqual(remote.code(offset + 99), { offset, sizeBytes: 100 });
  assert.equal(questions.length, 1);
  memory.free(offset);
  remote.forget();
  assert.equal(remote.code(offset), undefined);
});
