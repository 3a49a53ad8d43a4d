import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import { MemoryFileSystem } from '../host/memory-file-system.ts';
import { StreamTable } from '../host/streams.ts';
import { bytes, setUp, text } from './bench.test-support.ts';
import type { ClientPort, Spin } from './client.test-support.ts';
import { GENERATIONS, type Generation } from './protocol/generation.ts';
import { clientStruct, rpcLayout } from './protocol/layout.ts';
import type { OpcodeName } from './protocol/opcodes.ts';
import { RpcServer, type ServerHost } from './server.ts';

const laneSet = (laneCount: number) =>
  fc
    .uniqueArray(fc.nat(laneCount - 1), { minLength: 1, maxLength: laneCount })
    .map((lanes) => lanes.sort((a, b) => a - b));
/** Sizes around the borders of packets: 56 bytes in the first, 64 in the others. */
const streamSize = fc.oneof(fc.nat(300), fc.constantFrom(0, 1, 55, 56, 57, 119, 120, 121, 184, 185));
const configuration = fc.record({
  generation: fc.constantFrom(...Object.values(GENERATIONS)),
  laneCount: fc.constantFrom(32 as const, 64 as const),
});

test('the buffer and the client struct have the layout of each generation', () => {
  // Offsets and totals printed by programs compiled with the upstream headers.
  const shape = (name: Generation['name'], ports: number, lanes: number) => {
    const { mailboxA, mailboxB, headers, packets, sizeBytes } = rpcLayout(GENERATIONS[name], ports, lanes);
    return [mailboxA, mailboxB, headers, packets, sizeBytes];
  };
  assert.deepEqual(shape('P19', 4096, 32), [0, 16_384, 32_768, 98_304, 8_486_912]);
  assert.deepEqual(shape('P20', 4096, 64), [0, 16_384, 32_768, 98_304, 16_875_520]);
  assert.deepEqual(shape('P23', 4096, 64), [64, 16_448, 32_832, 98_368, 16_875_584]);
  assert.deepEqual(shape('P23', 16_384, 32), [64, 65_600, 131_136, 393_280, 33_947_712]);
  assert.deepEqual(shape('P19', 1, 32).slice(0, 4), [0, 4, 8, 24]);
  assert.deepEqual(shape('P23', 1, 32).slice(0, 4), [64, 68, 72, 88]);
  const struct = (name: Generation['name']) => {
    const generation = GENERATIONS[name];
    const data = clientStruct(generation, rpcLayout(generation, 4096, 64), 0x7000n);
    const words = new BigUint64Array(data.buffer);
    assert.ok(words.subarray(name === 'P23' ? 6 : 5).every((word) => word === 0n));
    return [data.length, ...words.subarray(0, name === 'P23' ? 6 : 5)];
  };
  assert.deepEqual(struct('P20'), [552, 4096n, 0x7000n, 0x7000n + 16_384n, 0x7000n + 32_768n, 0x7000n + 98_304n]);
  assert.deepEqual(struct('P23'), [
    2096,
    4096n,
    0x7000n,
    0x7040n,
    0x7040n + 16_384n,
    0x7040n + 32_768n,
    0x7040n + 98_304n,
  ]);
});

test('text of any lanes and sizes arrives in lane order, the reply is what was written', () => {
  const scenario = configuration.chain((config) =>
    laneSet(config.laneCount).chain((lanes) =>
      fc.record({
        config: fc.constant(config),
        lanes: fc.constant(lanes),
        sizes: fc.array(streamSize, { minLength: lanes.length, maxLength: lanes.length }),
        newline: fc.boolean(),
      }),
    ),
  );
  fc.assert(
    fc.property(scenario, ({ config, lanes, sizes, newline }) => {
      const bench = setUp(config);
      const texts = sizes.map((size, index) => String.fromCharCode(65 + (index % 26)).repeat(size));
      const extra = newline ? 1n : 0n;
      bench.run(
        bench.call(newline ? 'WRITE_TO_STDOUT_NEWLINE' : 'WRITE_TO_STDOUT', lanes, function* (port) {
          yield* port.sendBytes(texts.map(bytes));
          assert.deepEqual(
            yield* port.receiveWords(),
            sizes.map((size) => BigInt(size) + extra),
          );
        }),
      );
      assert.equal(bench.out.stdout, texts.map((string) => string + (newline ? '\n' : '')).join(''));
    }),
    { numRuns: 60 },
  );
});

test('waves on several ports are served in turns, none is lost, ports are used again', () => {
  fc.assert(
    fc.property(
      configuration,
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 8 }),
      fc.nat(1000),
      (config, waves, portCount, seed) => {
        const bench = setUp({ ...config, portCount });
        const spins = Array.from({ length: waves }, (_, wave) =>
          bench.call(
            'WRITE_TO_STDOUT',
            [wave % config.laneCount],
            function* (port) {
              yield* port.sendBytes([bytes(`${wave} ${'x'.repeat((wave * 37) % 200)}\n`)]);
              yield* port.receiveWords();
            },
            wave * seed,
          ),
        );
        bench.run(...spins);
        const lines = bench.out.stdout
          .trimEnd()
          .split('\n')
          .map((line) => Number(line.split(' ')[0]));
        assert.deepEqual(
          lines.sort((a, b) => a - b),
          Array.from({ length: waves }, (_, wave) => wave),
        );
      },
    ),
    { numRuns: 40 },
  );
});

test('a port far behind a busy one is served', () => {
  const bench = setUp({ portCount: 100 });
  let done = false;
  const busy = (function* (): Spin {
    while (!done) {
      yield* bench.call('NOOP', [0], function* (port) {
        yield* port.sendWords([[0n]]);
      });
      yield 'waiting';
    }
  })();
  const late = (function* (): Spin {
    for (let turn = 0; turn < 5; turn++) yield 'waiting';
    yield* bench.call(
      'WRITE_TO_STDOUT',
      [0],
      function* (port) {
        yield* port.sendBytes([bytes('late')]);
        yield* port.receiveWords();
      },
      99,
    );
    done = true;
  })();
  bench.run(busy, late);
  assert.equal(bench.out.stdout, 'late');
});

test('the last of 16384 ports is served, with its own packets', () => {
  const bench = setUp({ generation: GENERATIONS.P23, portCount: 16_384 });
  const write = (name: string, from: number) =>
    bench.call(
      'WRITE_TO_STDOUT',
      [0, 63],
      function* (port) {
        assert.equal(port.index, from);
        yield* port.sendBytes([bytes(name), bytes('x'.repeat(100))]);
        assert.deepEqual(yield* port.receiveWords(), [BigInt(name.length), 100n]);
      },
      from,
    );
  bench.run(write('last ', 16_383), write('first ', 0));
  assert.equal(bench.out.stdout, `first ${'x'.repeat(100)}last ${'x'.repeat(100)}`);
});

test('a slow conversation does not hold up another port', () => {
  const bench = setUp();
  let released = false;
  const slow = bench.call('WRITE_TO_STDOUT', [0], function* (port) {
    yield* port.send((packet) => packet.setBigUint64(0, 100n, true));
    while (!released) yield 'waiting';
    yield* port.send(() => undefined);
    yield* port.receiveWords();
  });
  const quick = bench.call('WRITE_TO_STDOUT', [3], function* (port) {
    yield* port.sendBytes([bytes('quick')]);
    yield* port.receiveWords();
    released = true;
  });
  bench.run(slow, quick);
  assert.equal(bench.out.stdout.slice(0, 5), 'quick');
  assert.equal(bench.out.stdout.length, 105);
});

test('a read that waits for input holds up no other port, and a second one of the stream comes after it', () => {
  const input = ['wai', 'ting', 'waiting', 'a\nsecond', 'waiting', '!\n'];
  const turns = input.flatMap((given) => (given === 'waiting' ? Array<string>(5).fill(given) : [given]));
  let printed = 0;
  const bench = setUp({
    read: (into) => {
      const given = printed < 3 ? 'waiting' : turns.shift();
      if (given === 'waiting') return given;
      into.set(bytes(given ?? ''));
      return given?.length ?? 0;
    },
  });
  const lines: [number, string][] = [];
  const gets = (wave: number) =>
    bench.call('READ_FGETS', [1, 40], function* (port) {
      yield* port.sendWords([
        [100n, 1n],
        [100n, 1n],
      ]);
      for (const line of yield* port.receiveBytes()) lines.push([wave, text(line)]);
    });
  const prints = (function* (): Spin {
    for (; printed < 10; printed++) {
      yield* bench.call('WRITE_TO_STDOUT', [0], function* (port) {
        yield* port.sendBytes([bytes('p')]);
        yield* port.receiveWords();
      });
    }
  })();
  bench.run(gets(0), gets(1), prints);
  assert.equal(bench.out.stdout, 'pppppppppp');
  assert.deepEqual(lines, [
    [0, 'waitinga\n\0'],
    [0, 'second!\n\0'],
    [1, ''],
    [1, ''],
  ]);
});

test('a poll does not count conversations that wait for the host', () => {
  const bench = setUp({ read: () => 'waiting' });
  bench
    .call('READ_FGETS', [0], function* (port) {
      yield* port.sendWords([[100n, 1n]]);
      yield* port.receiveBytes();
    })
    .next();
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(bench.server.poll(), 0);
    assert.equal(bench.server.waitingForHost, 1);
  }
});

test('stdout and stderr keep their order, also within one turn', () => {
  const bench = setUp();
  const write = (name: OpcodeName, string: string) =>
    bench.call(name, [0], function* (port) {
      yield* port.sendBytes([bytes(string)]);
      yield* port.receiveWords();
    });
  bench.run(write('WRITE_TO_STDOUT', 'a'), write('WRITE_TO_STDERR', 'b'), write('WRITE_TO_STDOUT', 'c'));
  assert.deepEqual(bench.out.order, ['out:a', 'err:b', 'out:c']);
});

test('one turn collects the output of all ports into one write', () => {
  const bench = setUp();
  const lanes = Array.from({ length: 64 }, (_, lane) => lane);
  bench.run(
    ...[0, 1, 2].map((wave) =>
      bench.call('WRITE_TO_STDOUT', lanes, function* (port) {
        yield* port.sendBytes(lanes.map(() => bytes(String(wave))));
        yield* port.receiveWords();
      }),
    ),
  );
  assert.deepEqual(bench.out.order, [`out:${'0'.repeat(64)}${'1'.repeat(64)}${'2'.repeat(64)}`]);
});

test('NOOP and FREE give the port back without a reply', () => {
  const bench = setUp({ portCount: 1 });
  bench.allocated.set(0x40n, { sizeBytes: 1, alignmentBytes: 1 });
  const plain = function* (port: ClientPort): Spin {
    yield* port.sendWords([[0x40n], [0n]]);
  };
  bench.run(bench.call('NOOP', [1, 2], plain), bench.call('FREE', [1, 2], plain), bench.call('NOOP', [1, 2], plain));
  assert.equal(bench.allocated.size, 0);
});

test('EXIT ends the program with the status of the first active lane, and nothing is served after it', () => {
  for (const generation of Object.values(GENERATIONS)) {
    const bench = setUp({ generation });
    bench.run(
      bench.call('EXIT', [5, 9], function* (port) {
        yield* port.send(() => undefined);
        yield* port.receive(() => undefined);
        yield* port.sendWords([[0xffff_ffff_0000_0101n], [7n]]);
      }),
    );
    assert.deepEqual(bench.host.termination, { kind: 'exit', status: 0x101 });
  }
});

test('what another wave asks in the same turn as EXIT is not served', () => {
  const bench = setUp();
  const exit = bench.call('EXIT', [0], function* (port) {
    yield* port.send(() => undefined);
    yield* port.receive(() => undefined);
    yield* port.sendWords([[3n]]);
  });
  const late = (function* (): Spin {
    yield 'waiting';
    yield* bench.call('WRITE_TO_STDOUT', [0], function* (port) {
      yield* port.sendBytes([bytes('late')]);
    });
  })();
  // Makes port 1 one of those that every poll looks at.
  const other = bench.call('NOOP', [0], function* (port) {
    yield* port.sendWords([[0n]]);
  });
  bench.run(exit, other, late);
  assert.deepEqual(bench.host.termination, { kind: 'exit', status: 3 });
  assert.equal(bench.server.poll(), 0);
  assert.equal(bench.out.stdout, '');
});

test('ABORT ends the program', () => {
  const bench = setUp();
  bench.run(
    bench.call('ABORT', [0], function* (port) {
      yield* port.send(() => undefined);
      yield* port.receive(() => undefined);
      yield* port.send(() => undefined);
    }),
  );
  assert.deepEqual(bench.host.termination, { kind: 'abort' });
});

test('MALLOC answers every lane, slabs are aligned to 2 MiB, exhaustion and nonsense give 0', () => {
  const bench = setUp();
  const slab = 2n << 20n;
  bench.run(
    bench.call('MALLOC', [0, 1, 2, 3, 4], function* (port) {
      yield* port.sendWords([[slab], [100n], [0n], [1n << 40n], [1n << 63n]]);
      const addresses = yield* port.receiveWords();
      assert.deepEqual(bench.allocated.get(addresses[0]!), { sizeBytes: 2 ** 21, alignmentBytes: 2 ** 21 });
      assert.deepEqual(bench.allocated.get(addresses[1]!), { sizeBytes: 100, alignmentBytes: 4096 });
      assert.deepEqual(addresses.slice(2), [0n, 0n, 0n]);
    }),
  );
});

test("LLVM's own test requests are served under the numbers of each generation", () => {
  const numbers = {
    P19: [0x8001, 0x8002, 0x8003],
    P20: [0x8001, 0x8002, 0x8003, 0x6300_8000, 0x6300_8001, 0x6300_8002],
    P23: [0x6300_8000, 0x6300_8001, 0x6300_8002],
  };
  for (const [name, opcodes] of Object.entries(numbers)) {
    const generation = GENERATIONS[name as Generation['name']];
    for (const [index, opcode] of opcodes.entries()) {
      const bench = setUp({ generation });
      bench.run(
        (function* () {
          const port = yield* bench.client.open(opcode, [0, 2]);
          if (index % 3 === 0) {
            yield* port.sendWords([[41n], [7n]]);
            assert.deepEqual(yield* port.receiveWords(), [42n, 8n]);
          } else if (index % 3 === 1) {
            let counter = 0n;
            const send = function* () {
              counter++;
              yield* port.sendWords([[counter], [counter]]);
            };
            const receive = function* () {
              [counter] = (yield* port.receiveWords()) as [bigint];
            };
            yield* port.sendWords([[1n], [1n]]);
            for (const step of [send, receive, send, receive, send, send, receive, receive, send]) yield* step();
            assert.equal(counter, 9n);
          } else {
            const streams = [bytes('abc'.repeat(70)), new Uint8Array()];
            yield* port.sendBytes(streams);
            assert.deepEqual(yield* port.receiveBytes(), streams);
          }
          port.close();
        })(),
      );
    }
  }
});

const protocolErrors: Record<string, { opcode: number; words: bigint[]; code: string; message: RegExp }> = {
  'an unknown opcode': {
    opcode: 0x6300_0063,
    words: [],
    code: 'RPC_PROTOCOL',
    message: /^RPC port 2: .*opcode 0x63000063/,
  },
  'an opcode of another class': { opcode: 0x6e00_0000, words: [], code: 'RPC_PROTOCOL', message: /opcode 0x6e000000/ },
  'freeing what was not allocated': {
    opcode: 0x6300_000b,
    words: [64n],
    code: 'RPC_PROTOCOL',
    message: /^RPC port 2, FREE, lane 0: not allocated/,
  },
  'closing what is not open': {
    opcode: 0x6300_0009,
    words: [4096n],
    code: 'RPC_PROTOCOL',
    message: /^RPC port 2, CLOSE_FILE, lane 0: no open stream has the handle 0x1000/,
  },
  'a stream of 2^60 bytes': {
    opcode: 0x6300_0002,
    words: [1n << 60n],
    code: 'LIMIT_EXCEEDED',
    message: /^RPC port 2, WRITE_TO_STDOUT, lane 0: the client sends 1152921504606846976 bytes/,
  },
  'calling the host where nothing is': {
    opcode: 0x6300_000c,
    words: [0n],
    code: 'UNSUPPORTED',
    message: /^RPC port 2, HOST_CALL, lane 0: .* at 0x0, and none/,
  },
};

for (const [what, { opcode, words, code, message }] of Object.entries(protocolErrors)) {
  test(`${what} is ${code} with port and opcode`, () => {
    const bench = setUp();
    const talk = function* (): Spin {
      const port = yield* bench.client.open(opcode, [0], 2);
      yield* port.sendWords([words]);
      yield* port.sendWords([words]);
    };
    assert.throws(
      () => bench.run(talk()),
      (error: unknown) => error instanceof WavewrightError && error.code === code && message.test(error.message),
    );
  });
}

test('a client that ends inside a conversation is found out', () => {
  const bench = setUp();
  bench.run(
    (function* () {
      const port = yield* bench.client.open(0x6300_0002, [0]);
      yield* port.send((packet) => packet.setBigUint64(0, 100n, true));
    })(),
  );
  assert.throws(() => bench.server.expectIdle('_start'), /RPC port 0, WRITE_TO_STDOUT: _start ended in the middle/);
  bench.server.expectIdle('_start');
});

test('any bytes in mailboxes, headers and packets end in a reply or a WavewrightError', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.values(GENERATIONS)),
      fc.uint8Array({ minLength: 72, maxLength: 72 }),
      fc.nat(29),
      (generation, noise, opcode) => {
        const layout = rpcLayout(generation, 1, 32);
        const buffer = new Uint8Array(new SharedArrayBuffer(layout.sizeBytes));
        const files = new MemoryFileSystem();
        const streams = new StreamTable({ stdin: { read: () => 0 }, stdout: () => undefined, stderr: () => undefined });
        const host: ServerHost = {
          streams,
          fileSystem: files,
          printf: generation.printf,
          terminated: false,
          terminate: () => undefined,
          allocate: () => 0n,
          free: () => undefined,
        };
        const server = new RpcServer(generation, layout, buffer, host);
        const data = new DataView(buffer.buffer);
        for (let lane = 0; lane < 32; lane++) buffer.set(noise.subarray(8), layout.packets + 64 * lane);
        data.setUint32(layout.headers + 8, generation.opcodeClass + opcode, true);
        buffer.set(noise.subarray(0, 8), layout.headers);
        try {
          for (let turn = 0; turn < 8; turn++) {
            data.setInt32(layout.mailboxB, data.getInt32(layout.mailboxA, true) ^ 1, true);
            server.poll();
          }
        } catch (error) {
          if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
        }
      },
    ),
    { numRuns: 500 },
  );
});
