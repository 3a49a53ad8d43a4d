import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ControlBlock, WORKER_STATES } from './control.ts';

test('claims give every workgroup to one thread, in order', () => {
  fc.assert(
    fc.property(
      fc.nat(1000),
      fc.nat(5000),
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 20 }),
      (first, size, workers, counts) => {
        const control = new ControlBlock(workers);
        const team = workers - 1;
        control.claims(team).open({ first, end: first + size });
        // Another thread's view of the same words.
        const others = new ControlBlock(workers, control.buffer).claims(team);
        let next = first;
        for (let i = 0; control.claims(team).left > 0; i++) {
          const taken = others.take(counts[i % counts.length]!);
          assert.equal(taken.first, next);
          assert.ok(taken.end > taken.first && taken.end - taken.first <= counts[i % counts.length]!);
          next = taken.end;
        }
        assert.equal(next, first + size);
        assert.deepEqual(others.take(7), { first: next, end: next });
      },
    ),
  );
});

test('a job is begun by the worker or taken back by the main thread, not both', () => {
  const control = new ControlBlock(2);
  const words = control.worker(1);
  const ofWorker = new ControlBlock(2, control.buffer).worker(1);
  words.assign(3);
  assert.ok(!ofWorker.take(2, WORKER_STATES.running), 'an earlier job');
  assert.ok(ofWorker.take(3, WORKER_STATES.running));
  assert.ok(!words.take(3, WORKER_STATES.idle));
  ofWorker.residents = [64, 128];
  ofWorker.finish({ what: 'ever ü' });
  assert.equal(words.state, WORKER_STATES.finished);
  assert.deepEqual(words.residents, [64, 128]);
  assert.deepEqual(words.outcome(), { what: 'ever ü' });
  assert.equal(control.worker(0).state, WORKER_STATES.idle);
});

test('a question is answered once', () => {
  const control = new ControlBlock(1);
  const words = control.worker(0);
  let asked = 0;
  const answer = (): void =>
    words.answer((question) => {
      asked++;
      return { was: question };
    });
  answer();
  assert.equal(asked, 0);
  assert.deepEqual(control.worker(0).ask([1], answer), { was: [1] });
  answer();
  assert.equal(asked, 1);
});

test('texts of any length and kind pass, shortened', () => {
  const control = new ControlBlock(1);
  const words = control.worker(0);
  for (const character of ['a', 'ü', '\u0001', '\ud800', '😀', '"']) {
    const text = character.repeat(3000);
    const answer = (): void => words.answer((question) => ({ label: text, question }));
    const { label, question } = control.worker(0).ask({ label: text }, answer) as {
      readonly label: string;
      readonly question: { readonly label: string };
    };
    for (const received of [label, question.label]) {
      assert.equal(received.length, 1000);
      assert.ok(received.startsWith(text.slice(0, 997)) && received.endsWith('...'));
    }
    words.finish({ error: text });
    assert.deepEqual(words.outcome(), { error: `${text.slice(0, 997)}...` });
  }
});

test('a thread has passed an epoch when it ran no code at some time since', () => {
  const control = new ControlBlock(1);
  const words = control.worker(0);
  const epoch = control.beginEpoch();
  for (const state of [WORKER_STATES.idle, WORKER_STATES.asleep, WORKER_STATES.finished, -3]) {
    words.state = state;
    assert.ok(words.hasPassed(epoch), `${state}`);
  }
  words.state = WORKER_STATES.running;
  assert.ok(!words.hasPassed(epoch));
  words.ask('may I', () => {
    assert.ok(words.hasPassed(epoch), 'it waits for an answer');
    words.answer(() => 'yes');
  });
  assert.ok(!words.hasPassed(epoch));
  words.pass(control.epoch);
  assert.ok(words.hasPassed(epoch));
  assert.ok(!words.hasPassed(control.beginEpoch()));
  // Epochs wrap.
  words.pass(2 ** 31 - 1);
  assert.ok(words.hasPassed(2 ** 31 - 2));
  assert.ok(!words.hasPassed(-(2 ** 31)));
});
