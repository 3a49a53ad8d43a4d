/** What a program gets of its host, and how much of it: ports, memory, commands, time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENT_OFFSET, DATA_OFFSET, exit, run, type Wave } from './program.test-support.ts';
import type { Spin } from './rpc/client.test-support.ts';
import { GENERATIONS } from './rpc/protocol/generation.ts';

test('a program without an RPC client runs without a server', async () => {
  const { promise } = await run({
    image: { symbols: [], relocations: [] },
    start: function* (wave) {
      wave.result(9);
      yield 'waiting';
    },
    end: function* () {},
  });
  const { status, ended, generation, statistics } = await promise;
  assert.deepEqual([status, ended, generation, statistics.rpc], [9, 'return', 'none', []]);
});

test('there is a port for all that a grid can hold up to 4096, and for every wave where the generation has so many', async () => {
  for (const [name, blocks, expected] of [
    ['P19', 1, 4 * 64],
    ['P20', 15, 15 * 4 * 64],
    ['P20', 17, 4096],
    ['P20', 2500, 4096],
    ['P23', 2500, 10_000],
    ['P23', 5000, 16_384],
  ] as const) {
    const { promise, device } = await run({
      generation: GENERATIONS[name],
      start: function* (wave) {
        const client = device.published[0]!.address + DATA_OFFSET + BigInt(CLIENT_OFFSET);
        assert.equal(wave.memory.data(client, 4).getUint32(0, true), expected);
        yield* exit(wave, 0n);
      },
      options: { blocks: [blocks, 1, 1], threads: [256, 1, 1] },
    });
    assert.equal((await promise).status, 0);
  }
});

test('the doorbell of P23 is null: the client does not ring, the server looks by itself', async () => {
  const generation = GENERATIONS.P23;
  const { promise, device } = await run({
    generation,
    start: function* (wave) {
      const client = device.published[0]!.address + DATA_OFFSET + BigInt(CLIENT_OFFSET);
      const doorbell = wave.memory.data(client, 16).getBigUint64(8, true);
      assert.ok(wave.memory.view(doorbell, 64).every((byte) => byte === 0));
      yield* wave.print('served');
      wave.result(4);
    },
  });
  assert.equal((await promise).status, 4);
});

test('malloc ends at the limit of the heap; what is freed can be had again', async () => {
  const { promise } = await run({
    start: function* (wave) {
      const allocate = function* (size: bigint) {
        let address = 0n;
        yield* wave.call('MALLOC', [0], function* (port) {
          yield* port.sendWords([[size]]);
          [address] = (yield* port.receiveWords()) as [bigint];
        });
        return address;
      };
      const first = yield* allocate(9000n);
      assert.ok(first !== 0n);
      assert.equal(yield* allocate(2000n), 0n);
      yield* wave.call('FREE', [0], (port) => port.sendWords([[first]]));
      assert.ok((yield* allocate(10_000n)) !== 0n);
    },
    options: { limits: { heapBytes: 10_000 } },
  });
  assert.equal((await promise).status, 0);
});

test('commands go to the given function, and nowhere without one', async () => {
  const system = (wave: Wave) =>
    wave.call('SYSTEM', [0, 3], function* (port) {
      yield* port.sendBytes(['exit 3\0', 'x\0'].map((command) => new TextEncoder().encode(command)));
      const [first, second] = (yield* port.receiveWords()).map((value) => BigInt.asIntN(64, value));
      wave.result(Number(first === second ? first! & 0x7fn : second!));
    });
  const without = await run({ start: system });
  assert.equal((await without.promise).status, 0x7f);
  const commands: string[] = [];
  const given = await run({
    start: system,
    options: { system: (command) => 10 + commands.push(command) },
  });
  assert.equal((await given.promise).status, 12);
  assert.deepEqual(commands, ['exit 3', 'x']);
});

test('other waves go on while a command runs, and its end is the answer', async () => {
  let end: ((status: number) => void) | undefined;
  const { promise, output } = await run({
    start: function* (wave) {
      let done = false;
      const command = wave.call('SYSTEM', [0], function* (port) {
        yield* port.sendBytes([new TextEncoder().encode('x\0')]);
        wave.result(Number((yield* port.receiveWords())[0]));
        done = true;
      });
      const others = (function* (): Spin {
        for (let turn = 0; turn < 3; turn++) yield* wave.print(`${turn}`);
        assert.ok(!done);
        end!(7);
      })();
      let waves = [command, others];
      while (waves.length > 0) {
        waves = waves.filter((one) => !one.next().done);
        yield 'waiting';
      }
    },
    options: {
      system: () =>
        new Promise((resolve) => {
          end = resolve;
        }),
    },
  });
  assert.equal((await promise).status, 7);
  assert.equal(output(), '012');
});

test('a command that nobody waits for any more is told so', async () => {
  const signals: AbortSignal[] = [];
  let nowMs = 0;
  const { promise } = await run({
    start: (wave) =>
      wave.call('SYSTEM', [0], function* (port) {
        yield* port.sendBytes([new TextEncoder().encode('x\0')]);
        yield* port.receiveWords();
      }),
    options: {
      timeoutMs: 20,
      clock: () => nowMs,
      system: (_command, signal) => {
        signals.push(signal);
        nowMs = 20;
        return new Promise(() => undefined);
      },
    },
  });
  await assert.rejects(promise, { code: 'TIMEOUT' });
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true],
  );
});

test('an abort signal ends a program that would run for ever', async () => {
  const { promise, device } = await run({
    start: function* () {
      for (;;) yield 'waiting';
    },
    options: { signal: AbortSignal.timeout(20) },
  });
  await assert.rejects(promise, { name: 'TimeoutError' });
  assert.deepEqual([...device.memory.allocations.values()], []);
});

test('what was served is counted by opcode', async () => {
  const { promise } = await run({ start: (wave) => wave.print('x') });
  const { rpc, loadMs } = (await promise).statistics;
  assert.deepEqual(
    rpc.map(({ opcode, conversations }) => [opcode, conversations]),
    [
      ['EXIT', 1],
      ['WRITE_TO_STDOUT', 1],
    ],
  );
  assert.ok(loadMs > 0 && rpc.every(({ durationMs }) => durationMs >= 0));
});
