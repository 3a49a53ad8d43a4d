/**
 * Every opcode in storms of waves: all generations, both lane widths, random lanes, sizes and interleavings.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Bench, bytes, setUp, text } from './bench.test-support.ts';
import type { Spin } from './client.test-support.ts';
import { CONVERSATIONS, Random } from './conformance.test-support.ts';
import { dispatched } from './dispatch.ts';
import { GENERATIONS } from './protocol/generation.ts';
import { OPCODES } from './protocol/opcodes.ts';
import type { ConversationRecord } from './server.ts';
import { formatConversation } from './trace.ts';

/** Steps waves and the server in random order until all waves are done. */
function storm(bench: Bench, random: Random, waves: Spin[]): void {
  const running = [...waves];
  for (let idle = 0; running.length > 0; ) {
    const at = random.below(running.length);
    if (running[at]!.next().done) running.splice(at, 1);
    const served = random.below(3) === 0 ? bench.server.poll() : 0;
    idle = served > 0 ? 0 : idle + 1;
    assert.ok(idle < 100_000, 'the conversations hang');
  }
  while (bench.server.poll() > 0);
}

test('the suite has a row for every opcode', () => {
  const covered = new Set(CONVERSATIONS.flatMap(([opcodes]) => opcodes));
  const missing = Object.keys(OPCODES).filter((name) => !covered.has(name));
  assert.deepEqual(missing, []);
});

const SEEDS = 6;
/** What can go on next to others: the end of the program cannot. */
const STORMY = CONVERSATIONS.filter(([opcodes]) => !opcodes.includes('EXIT') && !opcodes.includes('ABORT'));

for (const generation of Object.values(GENERATIONS)) {
  for (const laneCount of [32, 64] as const) {
    for (const [row, [opcodes, talk]] of CONVERSATIONS.entries()) {
      test(`${generation.name} | ${laneCount} lanes | ${opcodes.join(', ')}`, () => {
        for (let seed = 0; seed < SEEDS; seed++) {
          const bench = setUp({ generation, laneCount, portCount: 1 });
          const random = new Random(1 + 977 * seed + row);
          // The first, the last and all lanes, then any.
          const all = Array.from({ length: laneCount }, (_, lane) => lane);
          const lanes = [[0], [laneCount - 1], all][seed] ?? random.lanes(laneCount);
          bench.run(talk({ bench, random, lanes, id: seed }));
          bench.server.expectIdle('the client');
        }
      });
    }

    test(`${generation.name}, ${laneCount} lanes: storms of waves on few and on many ports`, () => {
      fc.assert(
        fc.property(
          fc.integer(),
          fc.integer({ min: 1, max: 40 }),
          fc.constantFrom(1, 2, 3, 8, 64),
          (seed, waves, portCount) => {
            const bench = setUp({ generation, laneCount, portCount });
            const random = new Random(seed);
            const spins = Array.from({ length: waves }, (_, id) => {
              const [, talk] = random.pick(STORMY);
              return talk({ bench, random: new Random(seed + 7919 * id), lanes: random.lanes(laneCount), id });
            });
            storm(bench, random, spins);
            bench.server.expectIdle('the clients');
          },
        ),
        { numRuns: 15 },
      );
    });
  }
}

test("a user's opcode is served, also in place of one of the library", () => {
  const own = 0x7500_0001;
  const bench = setUp({
    server: {
      opcodes: new Map([
        [
          own,
          function* (port) {
            const streams = yield* port.receiveStreams();
            yield* port.sendStreams(streams.map((stream) => stream.toReversed()));
          },
        ],
        [
          0x6300_0000 + OPCODES.SYSTEM,
          function* (port) {
            yield* port.receiveStrings();
            yield* port.reply(port.perLane((lane) => lane));
          },
        ],
      ]),
    },
  });
  bench.run(
    (function* () {
      const port = yield* bench.client.open(own, [1, 40]);
      yield* port.sendBytes([bytes('abc'), bytes('x'.repeat(100))]);
      assert.deepEqual((yield* port.receiveBytes()).map(text), ['cba', 'x'.repeat(100)]);
      port.close();
    })(),
    bench.call('SYSTEM', [3, 5], function* (port) {
      yield* port.sendBytes([bytes('true\0'), bytes('false\0')]);
      assert.deepEqual(yield* port.receiveWords(), [3n, 5n]);
    }),
  );
  assert.deepEqual(
    bench.server.statistics.map(({ opcode, conversations }) => [opcode, conversations]),
    [
      ['SYSTEM', 1],
      ['0x75000001', 1],
    ],
  );
});

test('rpc::dispatch: pointees go there, arguments follow, what is not const comes back, then the result', () => {
  const opcode = 0x7500_0002;
  const seen: string[] = [];
  // int f(const char *name, char *const in, int *inout, long x)
  const handler = dispatched(
    {
      parameters: [
        { kind: 'pointer' },
        { kind: 'pointer', isConst: true },
        { kind: 'pointer' },
        { kind: 'value', sizeBytes: 8 },
      ],
      resultSizeBytes: 4,
    },
    ([name, input, inout, x], lane) => {
      seen.push(`${lane} ${text(name!)} ${input && text(input)} ${x![0]}`);
      if (inout) inout[0]! += 1;
      return Uint8Array.of(lane, 1);
    },
  );
  const bench = setUp({ generation: GENERATIONS.P23, server: { opcodes: new Map([[opcode, handler]]) } });
  const lanes = [2, 63];
  bench.run(
    (function* () {
      const port = yield* bench.client.open(opcode, lanes);
      const tokens: bigint[][] = [];
      const pointees = [
        [bytes('one'), bytes('y'.repeat(130))],
        [bytes('in'), new Uint8Array()],
        [Uint8Array.of(7, 8, 9, 10), Uint8Array.of(1, 2, 3, 4)],
      ];
      for (const streams of pointees) {
        yield* port.sendBytes(streams);
        tokens.push(yield* port.receiveWords());
      }
      assert.equal(tokens[1]![1], 0n);
      // 4 x 8 bytes without a size word: one packet.
      yield* port.sendWords(lanes.map((_, index) => [...tokens.map((words) => words[index]!), 5n]));
      assert.deepEqual((yield* port.receiveBytes()).map(text), ['one', 'y'.repeat(130)]);
      assert.deepEqual(yield* port.receiveBytes(), [Uint8Array.of(8, 8, 9, 10), Uint8Array.of(2, 2, 3, 4)]);
      assert.deepEqual(
        (yield* port.receiveWords()).map((word) => word & 0xffff_ffffn),
        [0x102n, 0x13fn],
      );
      port.close();
    })(),
  );
  assert.deepEqual(seen, ['2 one in 5', `63 ${'y'.repeat(130)} undefined 5`]);
  bench.server.expectIdle('the client');
});

test('arguments of rpc::dispatch that fill several packets', () => {
  const handler = dispatched(
    {
      parameters: [
        { kind: 'value', sizeBytes: 64 },
        { kind: 'value', sizeBytes: 40 },
      ],
      resultSizeBytes: 70,
    },
    ([a, b]) => Uint8Array.of(...a!.subarray(0, 35), ...b!.subarray(0, 35)),
  );
  const bench = setUp({ server: { opcodes: new Map([[9, handler]]) } });
  bench.run(
    (function* () {
      const port = yield* bench.client.open(9, [0]);
      const fill = (value: number) => (packet: DataView) =>
        new Uint8Array(packet.buffer, packet.byteOffset, 64).fill(value);
      yield* port.send(fill(1));
      yield* port.send(fill(2));
      const result: number[] = [];
      for (const count of [64, 6]) {
        yield* port.receive((packet) => result.push(...new Uint8Array(packet.buffer, packet.byteOffset, count)));
      }
      assert.deepEqual(result, [...Array(35).fill(1), ...Array(35).fill(2)]);
      port.close();
    })(),
  );
});

test('conversations are recorded and read as text', () => {
  const records: ConversationRecord[] = [];
  const bench = setUp({ server: { onConversation: (record) => records.push(record) } });
  bench.run(
    bench.call('WRITE_TO_STDOUT', [0, 1, 2, 5], function* (port) {
      yield* port.sendBytes([bytes('a'), bytes('a'), bytes('a'), bytes('a')]);
      yield* port.receiveWords();
    }),
  );
  bench.run(
    bench.call('FSEEK', [3], function* (port) {
      yield* port.sendWords([[0x1001n, -5n, 2n]]);
      yield* port.receiveWords();
    }),
  );
  bench.run(
    bench.call('REMOVE', [0, 1, 2, 3, 4], function* (port) {
      yield* port.sendBytes(['a', 'b', 'c', 'd', 'e'].map((name) => bytes(`${name}\0`)));
      yield* port.receiveWords();
    }),
  );
  bench.run(
    (function* () {
      const port = yield* bench.client.open(0x8001, [9]);
      yield* port.sendWords([[41n, 7n]]);
      yield* port.receiveWords();
      port.close();
    })(),
  );
  const own: ConversationRecord = {
    port: 7,
    opcode: '0x75000001',
    lanes: [0, 1],
    steps: [{ from: 'client', kind: 'packet', packets: [1, 1].map((value) => new Uint8Array(64).fill(value, 0, 1)) }],
  };
  assert.equal(formatConversation(own), 'port 7 0x75000001 lanes 0-1: < word0=0x1 word1=0x0');
  assert.deepEqual(records.map(formatConversation), [
    'port 0 WRITE_TO_STDOUT lanes 0-2,5: < bytes="a" > written=1',
    'port 0 FSEEK lane 3: < stream=0x1001 offset=-5 whence=2 > result=-1',
    'port 0 REMOVE lanes 0-4: [0] < path="a" > result=-1  [1] < path="b" > result=-1  [2] < path="c" > result=-1  ' +
      '[3] < path="d" > result=-1  and 1 more lanes',
    'port 0 TEST_INCREMENT lane 9: < value=41 > result=42',
  ]);
});

test('mailbox words and lane masks that no client writes are protocol violations', () => {
  for (const [what, scribble, message] of [
    [
      'mailbox',
      (data: DataView, mailboxB: number) => data.setUint32(mailboxB, 7, true),
      /^RPC port 0: the mailbox words are 0x0 and 0x7/,
    ],
    [
      'lanes',
      (data: DataView, _b: number, headers: number) => data.setBigUint64(headers, 0n, true),
      /^RPC port 0: NOOP for lanes 0x0 of a wave of 32/,
    ],
    [
      'wide',
      (data: DataView, _b: number, headers: number) => data.setBigUint64(headers, 1n << 32n, true),
      /NOOP for lanes 0x100000000 of a wave of 32/,
    ],
  ] as const) {
    const bench = setUp({ laneCount: 32, portCount: 1 });
    const [port] = [bench.client.open(0x6300_0000, [0])];
    const opened = port.next();
    assert.ok(opened.done, what);
    opened.value.sendWords([[0n]]).next();
    const base = 4096;
    scribble(new DataView(bench.buffer), base + 4, base + 8);
    assert.throws(() => bench.server.poll(), { message });
  }
});
