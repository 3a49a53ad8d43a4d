/** Programs that try to get at the host by what they send: each attempt by name, and how it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { MemoryFileSystem } from './host/memory-file-system.ts';
import { CLIENT_OFFSET, DATA_OFFSET, run, type Wave, type WaveBody } from './program.test-support.ts';
import type { ClientPort, Spin } from './rpc/client.test-support.ts';
import type { OpcodeName } from './rpc/protocol/opcodes.ts';
import type { RunOptions } from './run-options.ts';

const text = (string: string) => new TextEncoder().encode(`${string}\0`);

/** One packet of words from lane 0, then whatever comes back. */
const sends =
  (name: OpcodeName, ...words: bigint[]): WaveBody =>
  (wave) =>
    wave.call(name, [0], function* (port) {
      yield* port.sendWords([words]);
      yield* port.receiveWords();
    });

function* opens(wave: Wave, path: string): Spin<bigint> {
  let handle = 0n;
  yield* wave.call('OPEN_FILE', [0], function* (port) {
    yield* port.sendBytes([text(path)]);
    yield* port.send((packet) => new Uint8Array(packet.buffer, packet.byteOffset, 64).set(text('w')));
    [handle] = (yield* port.receiveWords()) as [bigint];
  });
  return handle;
}

const ALL_LANES = Array.from({ length: 64 }, (_, lane) => lane);

/** Several waves of one kernel. */
const together = (...bodies: WaveBody[]): WaveBody =>
  function* (wave) {
    let waves = bodies.map((body) => body(wave));
    while (waves.length > 0) {
      waves = waves.filter((one) => !one.next().done);
      yield 'waiting';
    }
  };

/**
 * Writes to the shared buffer itself, through the pointer in the client struct: 1 mailbox A, 2 mailbox B, 3
 * headers.
 */
const scribbles =
  (pointer: number, value: bigint): WaveBody =>
  (wave) =>
    wave.call('NOOP', [0], function* (port: ClientPort) {
      const image = [...wave.memory.allocations.values()].find(({ label }) => label.includes('prog.co'))!.address;
      const struct = wave.memory.data(image + DATA_OFFSET + BigInt(CLIENT_OFFSET), 64);
      const at = struct.getBigUint64(8 * pointer, true);
      wave.memory.data(at, 8).setBigUint64(0, value, true);
      yield* port.sendWords([[0n]]);
      yield 'waiting';
    });

interface Attempt {
  readonly start: WaveBody;
  readonly options?: Partial<RunOptions>;
  /** Code and message of the error, or the status that the program goes on to. */
  readonly ends: readonly [code: string, message: RegExp] | number;
}

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  'a handle that was never given': {
    start: sends('CLOSE_FILE', 4096n),
    ends: ['RPC_PROTOCOL', /CLOSE_FILE, lane 0: no open stream has the handle 0x1000/],
  },
  'the next handle, guessed': {
    *start(wave) {
      const handle = yield* opens(wave, 'mine');
      yield* sends('CLOSE_FILE', handle + 4n)(wave);
    },
    ends: ['RPC_PROTOCOL', /no open stream/],
  },
  'a handle that was closed': {
    *start(wave) {
      const handle = yield* opens(wave, 'mine');
      yield* sends('CLOSE_FILE', handle)(wave);
      yield* sends('CLOSE_FILE', handle)(wave);
    },
    ends: ['RPC_PROTOCOL', /no open stream/],
  },
  'a host pointer as a stream': {
    start: sends('FTELL', 0x7fff_dead_bee0n),
    ends: ['RPC_PROTOCOL', /FTELL, lane 0: no open stream has the handle 0x7fffdeadbee0/],
  },
  'null as a stream': { start: sends('FEOF', 0n), ends: ['RPC_PROTOCOL', /no open stream has the handle 0x0/] },
  'a descriptor as a stream': { start: sends('FEOF', 4n), ends: ['RPC_PROTOCOL', /no open stream has the handle 0x4/] },
  'reading from standard output': {
    start: (wave) =>
      wave.call('READ_FROM_STREAM', [0], function* (port) {
        yield* port.sendWords([[100n, 2n]]);
        assert.deepEqual(yield* port.receiveBytes(), [new Uint8Array()]);
        assert.deepEqual(yield* port.receiveWords(), [0n]);
      }),
    ends: 0,
  },
  'reading 2^64 - 1 bytes from the end of a file': {
    start: (wave) =>
      wave.call('READ_FROM_STREAM', [0], function* (port) {
        yield* port.sendWords([[2n ** 64n - 1n, 1n]]);
        assert.deepEqual(yield* port.receiveBytes(), [new Uint8Array()]);
        yield* port.receiveWords();
      }),
    ends: 0,
  },
  'reading an endless file': {
    start: sends('READ_FROM_STREAM', 2n ** 62n, 1n),
    options: { stdin: { read: (into) => into.length } },
    ends: ['LIMIT_EXCEEDED', /READ_FROM_STREAM, lane 0: one read of more than \d+ bytes/],
  },
  'reading an endless line': {
    start: sends('READ_FGETS', 2n ** 62n, 1n),
    options: { stdin: { read: (into) => into.length } },
    ends: ['LIMIT_EXCEEDED', /READ_FGETS, lane 0/],
  },
  'a text of 2^63 bytes': {
    start: sends('WRITE_TO_STDOUT', 2n ** 63n),
    ends: ['LIMIT_EXCEEDED', /WRITE_TO_STDOUT, lane 0: the client sends 9223372036854775808 bytes/],
  },
  'a path of 2^40 bytes': { start: sends('OPEN_FILE', 2n ** 40n), ends: ['LIMIT_EXCEEDED', /OPEN_FILE, lane 0/] },
  'memory of 2^63 bytes': {
    start: (wave) =>
      wave.call('MALLOC', [0], function* (port) {
        yield* port.sendWords([[2n ** 63n]]);
        assert.deepEqual(yield* port.receiveWords(), [0n]);
      }),
    ends: 0,
  },
  'freeing the RPC buffer': {
    start(wave) {
      const buffer = [...wave.memory.allocations.values()].find(({ label }) => label === 'RPC buffer')!;
      return sends('FREE', buffer.address)(wave);
    },
    ends: ['RPC_PROTOCOL', /FREE, lane 0: free of .* which malloc did not return/],
  },
  'freeing twice': {
    *start(wave) {
      let address = 0n;
      yield* wave.call('MALLOC', [0], function* (port) {
        yield* port.sendWords([[64n]]);
        [address] = (yield* port.receiveWords()) as [bigint];
      });
      for (const _ of [1, 2]) yield* wave.call('FREE', [0], (port) => port.sendWords([[address]]));
    },
    ends: ['RPC_PROTOCOL', /FREE, lane 0: free of/],
  },
  'seeking before the start and behind the end of all files': {
    *start(wave) {
      const handle = yield* opens(wave, 'mine');
      for (const [offset, whence] of [
        [-1n, 0n],
        [2n ** 63n - 1n, 0n],
        [-(2n ** 63n), 1n],
        [0n, 3n],
      ] as const) {
        yield* wave.call('FSEEK', [0], function* (port) {
          yield* port.sendWords([[handle, offset, whence]]);
          assert.equal(BigInt.asIntN(64, (yield* port.receiveWords())[0]!), -1n);
        });
      }
    },
    ends: 0,
  },
  'a file of an exabyte by seeking': {
    *start(wave) {
      const handle = yield* opens(wave, 'mine');
      yield* sends('FSEEK', handle, 2n ** 52n, 0n)(wave);
      yield* wave.call('WRITE_TO_STREAM', [0], function* (port) {
        yield* port.sendWords([[handle]]);
        yield* port.sendBytes([text('x')]);
        assert.deepEqual(yield* port.receiveWords(), [0n]);
      });
    },
    ends: 0,
  },
  'more files than may be open': {
    *start(wave) {
      const handles: bigint[] = [];
      for (let n = 0; n < 5; n++) handles.push(yield* opens(wave, `file ${n}`));
      assert.deepEqual(
        handles.map((handle) => handle !== 0n),
        [true, true, true, false, false],
      );
    },
    options: { limits: { openFiles: 3 } },
    ends: 0,
  },
  'endless output': {
    *start(wave) {
      for (;;) yield* wave.print('more and more\n');
    },
    options: { limits: { outputBytes: 10_000 } },
    ends: ['LIMIT_EXCEEDED', /WRITE_TO_STDOUT, lane 0: the program writes more than 10000 bytes/],
  },
  'endless output into a file': {
    *start(wave) {
      const handle = yield* opens(wave, 'mine');
      for (;;) {
        yield* wave.call('WRITE_TO_STREAM', [0], function* (port) {
          yield* port.sendWords([[handle]]);
          yield* port.sendBytes([text('x'.repeat(1000))]);
          yield* port.receiveWords();
        });
      }
    },
    options: { limits: { outputBytes: 10_000 } },
    ends: ['LIMIT_EXCEEDED', /WRITE_TO_STREAM, lane 0: the program writes more than 10000 bytes/],
  },
  'a flood of requests': {
    *start(wave) {
      for (;;) yield* wave.call('NOOP', [0], (port) => port.sendWords([[0n]]));
    },
    options: { timeoutMs: 100 },
    ends: ['TIMEOUT', /the time limit of 0\.1 s ran out/],
  },
  'a text that never ends to arrive': {
    start: (wave) =>
      wave.call('WRITE_TO_STDOUT', [0], function* (port) {
        yield* port.send((packet) => packet.setBigUint64(0, 1000n, true));
        for (;;) yield 'waiting';
      }),
    options: { timeoutMs: 100 },
    ends: ['TIMEOUT', /time limit/],
  },
  'a printf with a format that asks for two gigabytes of padding': {
    start: (wave) =>
      wave.call('PRINTF_TO_STDOUT_PACKED', [0], function* (port) {
        yield* port.sendBytes([text('%2147483647d')]);
        yield* port.receiveWords();
        yield* port.sendBytes([new Uint8Array(4)]);
        yield* port.receiveWords();
      }),
    ends: ['LIMIT_EXCEEDED', /PRINTF_TO_STDOUT_PACKED, lane 0/],
  },
  'a command': {
    start: (wave) =>
      wave.call('SYSTEM', [0], function* (port) {
        yield* port.sendBytes([text('true')]);
        assert.equal(BigInt.asIntN(64, (yield* port.receiveWords())[0]!), -1n);
      }),
    ends: 0,
  },
  'a function of the host': {
    start: (wave) =>
      wave.call('HOST_CALL', [0], function* (port) {
        yield* port.sendBytes([text('argument')]);
        yield* port.sendWords([[0x40_1000n]]);
        yield* port.receiveWords();
      }),
    ends: ['UNSUPPORTED', /HOST_CALL, lane 0: the program calls a function of this host at 0x401000/],
  },
  'a path of 5000 characters': {
    *start(wave) {
      assert.equal(yield* opens(wave, 'x'.repeat(5000)), 0n);
    },
    ends: 0,
  },
  'texts of a gigabyte from two waves': {
    start: together(
      (wave) =>
        wave.call('WRITE_TO_STDOUT', [0], function* (port) {
          yield* port.sendWords([[600n << 20n]]);
          for (;;) yield 'waiting';
        }),
      sends('WRITE_TO_STDERR', 600n << 20n),
    ),
    ends: ['LIMIT_EXCEEDED', /WRITE_TO_STDERR: the conversations hold \d+ bytes together, at most 1073741824/],
  },
  'an endless file, read by all lanes': {
    start: (wave) =>
      wave.call('READ_FROM_STREAM', ALL_LANES, function* (port) {
        yield* port.sendWords(ALL_LANES.map(() => [200n << 20n, 1n]));
        yield* port.receiveWords();
      }),
    options: { stdin: { read: (into) => into.length } },
    ends: ['LIMIT_EXCEEDED', /READ_FROM_STREAM, lane 5: the conversations hold \d+ bytes together/],
  },
  'a format of a megabyte of conversions': {
    start: (wave) =>
      wave.call('PRINTF_TO_STDOUT_PACKED', [3], function* (port) {
        yield* port.sendBytes([text('%d'.repeat(2 ** 19))]);
        yield* port.receiveWords();
      }),
    ends: ['LIMIT_EXCEEDED', /PRINTF_TO_STDOUT_PACKED, lane 3: a printf format of 1048576 bytes/],
  },
  'a printf that sends fewer arguments than its format has': {
    start: (wave) =>
      wave.call('PRINTF_TO_STDOUT_PACKED', [0], function* (port) {
        yield* port.sendBytes([text('%d %d')]);
        assert.deepEqual(yield* port.receiveWords(), [8n]);
        yield* port.sendBytes([new Uint8Array(4)]);
        yield* port.receiveWords();
      }),
    ends: ['RPC_PROTOCOL', /PRINTF_TO_STDOUT_PACKED: printf sent 4 bytes of arguments, expected 8/],
  },
  'pushing back without end': {
    *start(wave) {
      let pushed = 0;
      let answer = 65n;
      for (; answer === 65n; pushed++) {
        yield* wave.call('UNGETC', [0], function* (port) {
          yield* port.sendWords([[65n, 1n]]);
          [answer] = (yield* port.receiveWords()) as [bigint];
        });
      }
      assert.ok(pushed > 4096);
      assert.equal(BigInt.asIntN(64, answer), -1n);
    },
    ends: 0,
  },
  'an opcode that does not exist': {
    start: (wave) => wave.call(0xffff_ffff - 0x6300_0000, [0, 2], (port) => port.sendWords([[0n], [0n]])),
    ends: ['RPC_PROTOCOL', /RPC port 0: the client asks for opcode 0xffffffff, which does not exist \(lanes 0x5\)/],
  },
  'a mailbox that is written over in the middle of a long text': {
    start: (wave) =>
      wave.call('WRITE_TO_STDOUT', [0], function* (port) {
        yield* port.sendWords([[2n ** 29n]]);
        const image = [...wave.memory.allocations.values()].find(({ label }) => label.includes('prog.co'))!.address;
        const struct = wave.memory.data(image + DATA_OFFSET + BigInt(CLIENT_OFFSET), 64);
        yield 'waiting';
        wave.memory.data(struct.getBigUint64(16, true), 4).setUint32(0, 7, true);
        yield 'waiting';
      }),
    ends: ['RPC_PROTOCOL', /RPC port 0, WRITE_TO_STDOUT: the mailbox words are 0x[01] and 0x7/],
  },
  "the server's mailbox, written over": {
    start: scribbles(1, 0xdead_beef_dead_beefn),
    ends: ['RPC_PROTOCOL', /RPC port \d+: the mailbox words are 0xdeadbeef and 0x1/],
  },
  "the client's mailbox, written over": {
    start: scribbles(2, 0x5555_5555_5555_5554n),
    ends: ['RPC_PROTOCOL', /RPC port \d+: the mailbox words are 0x0 and 0x5555555/],
  },
  'a header without lanes': { start: scribbles(3, 0n), ends: ['RPC_PROTOCOL', /NOOP for lanes 0x0 of a wave of 64/] },
};

for (const [what, { start, options = {}, ends }] of Object.entries(ATTEMPTS)) {
  test(`${what}: ${typeof ends === 'number' ? 'fails as in C' : ends[0]}`, { timeout: 600_000 }, async () => {
    const { promise, device } = await run({
      start,
      options: { timeoutMs: 600_000, filesystem: new MemoryFileSystem(), ...options },
    });
    if (typeof ends === 'number') assert.equal((await promise).status, ends);
    else {
      await assert.rejects(promise, (error: unknown) => {
        assert.ok(error instanceof WavewrightError, String(error));
        assert.equal(error.code, ends[0], error.message);
        assert.match(error.message, ends[1]);
        return true;
      });
    }
    assert.deepEqual([...device.memory.allocations.values()], []);
  });
}
