/** What a caller gives a program to read and gets of what it writes, and how it ends one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, type WaveBody } from '../program.test-support.ts';
import { CallerStreams } from './standard-streams.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Reads five bytes at a time to the end, and writes each piece in brackets. */
const echo: WaveBody = function* (wave) {
  for (let size = -1; size !== 0; ) {
    let piece: Uint8Array = new Uint8Array();
    yield* wave.call('READ_FROM_STREAM', [0], function* (port) {
      yield* port.sendWords([[5n, 1n]]);
      [piece] = (yield* port.receiveBytes()) as [Uint8Array];
      yield* port.receiveWords();
    });
    size = piece.length;
    yield* wave.print(`[${text(piece)}]`);
  }
};

test('standard input is text, bytes, a source, or nothing; output without a taker is in the result', async () => {
  let left = 7;
  const source = {
    read: (into: Uint8Array) => {
      const size = Math.min(into.length, left, 2);
      left -= size;
      return into.fill(0x78, 0, size) && size;
    },
  };
  for (const [stdin, expected] of [
    ['1234567', '[12345][67][]'],
    [new TextEncoder().encode('é'), '[é][]'],
    [source, '[xxxxx][xx][]'],
    [undefined, '[]'],
  ] as const) {
    // What the program's set-up takes is undone here.
    const taken = { onStdout: undefined, onStderr: undefined };
    const { promise } = await run({
      start: echo,
      options: { ...(stdin !== undefined && { stdin }), ...(taken as object) },
    });
    const { output } = await promise;
    assert.deepEqual([text(output.stdout), text(output.stderr)], [expected, '']);
    assert.deepEqual(output.text, { stdout: expected, stderr: '' });
  }
});

test('output that a function takes is not in the result, and is there when the next kernel runs', async () => {
  const { promise, output } = await run({
    start: (wave) => wave.print('from main'),
    end: function* (wave) {
      assert.equal(output(), 'from main');
      yield* wave.print('!');
    },
  });
  assert.equal((await promise).output.stdout.length, 0);
  assert.equal(output(), 'from main!');
});

test('what is collected has a limit', () => {
  const streams = new CallerStreams({});
  streams.stdout(new Uint8Array(2 ** 28 - 1));
  streams.stderr(Uint8Array.of(1));
  assert.throws(() => streams.stderr(Uint8Array.of(1)), { code: 'LIMIT_EXCEEDED' });
});

test('a signal that was aborted before, or is by what the program writes, ends it with its reason', async () => {
  const reason = new Error('enough');
  const before = await run({ options: { signal: AbortSignal.abort(reason) } });
  await assert.rejects(before.promise, reason);
  assert.deepEqual(before.log, []);
  const controller = new AbortController();
  const during = await run({
    start: function* (wave) {
      yield* wave.print('x');
      for (;;) yield 'waiting';
    },
    options: { signal: controller.signal, onStdout: () => controller.abort(reason) },
  });
  await assert.rejects(during.promise, reason);
  assert.deepEqual([...during.device.memory.allocations.values()], []);
});

test('what a function throws that takes output ends the program', async () => {
  const { promise, device } = await run({
    start: (wave) => wave.print('x'),
    options: {
      onStdout: () => {
        throw new TypeError('no place');
      },
    },
  });
  await assert.rejects(promise, /no place/);
  assert.deepEqual([...device.memory.allocations.values()], []);
});
