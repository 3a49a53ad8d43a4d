/** One conversation of each opcode with random contents: what the client sends, and what it must get back. */
import assert from 'node:assert/strict';
import { type Bench, bytes, cString, HOST_FUNCTION, text } from './bench.test-support.ts';
import type { ClientPort, Spin } from './client.test-support.ts';
import { OFFLOAD_HOST_CALL, OPCODES, type OpcodeName } from './protocol/opcodes.ts';

/** A small generator of numbers (xorshift), so that a whole storm of waves follows from one seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 1;
  }

  /** From 0 to below `limit`. */
  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % limit;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  /** One lane, all, or any of them; never none. */
  lanes(laneCount: number): number[] {
    const all = Array.from({ length: laneCount }, (_, lane) => lane);
    const kind = this.below(4);
    if (kind === 0) return [this.below(laneCount)];
    if (kind === 1) return all;
    const some = all.filter(() => this.below(kind) === 0);
    return some.length > 0 ? some : [laneCount - 1];
  }

  /** Around the borders of packets: 56 bytes in the first, 64 in the others. */
  size(): number {
    return this.below(3) === 0
      ? this.below(400)
      : this.pick([0, 1, 7, 8, 55, 56, 57, 63, 64, 65, 119, 120, 121, 184, 185]);
  }

  bytes(sizeBytes = this.size()): Uint8Array {
    return Uint8Array.from({ length: sizeBytes }, () => 1 + this.below(255));
  }
}

export interface Wave {
  readonly bench: Bench;
  readonly random: Random;
  readonly lanes: readonly number[];
  /** Different for every conversation. */
  readonly id: number;
}

const signed = (values: readonly bigint[]) => values.map((value) => BigInt.asIntN(64, value));
const sizes = (streams: readonly Uint8Array[]) => streams.map(({ length }) => BigInt(length));

/** `talk` on a port of this opcode of the C library. */
function call({ bench, lanes, random }: Wave, name: OpcodeName, talk: (port: ClientPort) => Spin): Spin {
  return bench.call(name, lanes, talk, random.below(64));
}

/** A packet of words from every lane, answered with a word. */
function* ask(wave: Wave, name: OpcodeName, words: readonly (readonly bigint[])[]): Spin<bigint[]> {
  let replies: bigint[] = [];
  yield* call(wave, name, function* (port) {
    yield* port.sendWords(words);
    replies = signed(yield* port.receiveWords());
  });
  return replies;
}

function* opened(wave: Wave, paths: readonly string[], mode: string): Spin<bigint[]> {
  let handles: bigint[] = [];
  yield* call(wave, 'OPEN_FILE', function* (port) {
    yield* port.sendBytes(paths.map(cString));
    yield* port.send((packet) => new Uint8Array(packet.buffer, packet.byteOffset, 64).set(cString(mode)));
    handles = yield* port.receiveWords();
  });
  for (const handle of handles) assert.ok(handle !== 0n && handle % 4n === 0n);
  assert.equal(new Set(handles).size, handles.length);
  return handles;
}

/** Makes a file for every lane, and goes through all that can be done to it. */
function* files(wave: Wave): Spin {
  const { lanes, random, id } = wave;
  const each = <T>(value: T) => lanes.map(() => value);
  const paths = lanes.map((lane) => `${id}/${lane}/${'p'.repeat(random.below(80))}`);
  const contents = lanes.map(() => random.bytes(1 + random.size()).map((byte) => (byte === 10 ? 11 : byte)));
  const handles = yield* opened(wave, paths, 'w+');
  const words = (...slots: bigint[]) => handles.map((handle) => [handle, ...slots]);
  yield* call(wave, 'WRITE_TO_STREAM', function* (port) {
    yield* port.sendWords(words());
    yield* port.sendBytes(contents);
    assert.deepEqual(yield* port.receiveWords(), sizes(contents));
  });
  assert.deepEqual(yield* ask(wave, 'FFLUSH', words()), each(0n));
  assert.deepEqual(yield* ask(wave, 'FTELL', words()), sizes(contents));
  assert.deepEqual(yield* ask(wave, 'FSEEK', words(0n, 9n)), each(-1n));
  assert.deepEqual(yield* ask(wave, 'FSEEK', words(0n, 0n)), each(0n));
  assert.deepEqual(
    yield* ask(
      wave,
      'UNGETC',
      handles.map((handle) => [65n, handle]),
    ),
    each(65n),
  );
  yield* call(wave, 'READ_FROM_STREAM', function* (port) {
    yield* port.sendWords(handles.map((handle) => [1000n, handle]));
    const read = yield* port.receiveBytes();
    assert.deepEqual(
      read.map((one) => text(one.slice(0, 1))),
      each('A'),
    );
    assert.deepEqual(
      read.map((one) => one.slice(1)),
      contents,
    );
    assert.deepEqual(yield* port.receiveWords(), sizes(read));
  });
  assert.deepEqual(yield* ask(wave, 'FEOF', words()), each(1n));
  assert.deepEqual(yield* ask(wave, 'FERROR', words()), each(0n));
  assert.deepEqual(yield* ask(wave, 'CLEARERR', words()), each(0n));
  assert.deepEqual(yield* ask(wave, 'FSEEK', words(0n, 0n)), each(0n));
  yield* call(wave, 'READ_FGETS', function* (port) {
    const room = lanes.map(() => 2 + random.below(100));
    yield* port.sendWords(handles.map((handle, index) => [BigInt(room[index]!), handle]));
    const lines = yield* port.receiveBytes();
    const expected = contents.map((content, index) => Uint8Array.of(...content.slice(0, room[index]! - 1), 0));
    assert.deepEqual(lines, expected);
  });
  assert.deepEqual(yield* ask(wave, 'CLOSE_FILE', words()), each(0n));
  const renamed = paths.map((path) => `${path}-renamed`);
  yield* call(wave, 'RENAME', function* (port) {
    yield* port.sendBytes(paths.map(cString));
    yield* port.sendBytes(renamed.map(cString));
    assert.deepEqual(yield* port.receiveWords(), each(0n));
  });
  for (const [index, path] of renamed.entries()) assert.deepEqual(wave.bench.files.get(path), contents[index]);
  yield* call(wave, 'REMOVE', function* (port) {
    yield* port.sendBytes([...renamed.slice(0, -1), 'missing'].map(cString));
    assert.deepEqual(signed(yield* port.receiveWords()), [...each(0n).slice(0, -1), -1n]);
  });
}

function writes(name: 'WRITE_TO_STDOUT' | 'WRITE_TO_STDERR' | 'WRITE_TO_STDOUT_NEWLINE') {
  return (wave: Wave): Spin => {
    const texts = wave.lanes.map((lane) => bytes(`<${wave.id}:${lane}:${'x'.repeat(wave.random.size())}>`));
    const extra = name === 'WRITE_TO_STDOUT_NEWLINE' ? 1n : 0n;
    return call(wave, name, function* (port) {
      yield* port.sendBytes(texts);
      assert.deepEqual(
        yield* port.receiveWords(),
        sizes(texts).map((size) => size + extra),
      );
      const output = name === 'WRITE_TO_STDERR' ? wave.bench.out.stderr : wave.bench.out.stdout;
      assert.ok(
        output.includes(texts.map(text).join(extra === 1n ? '\n' : '')),
        'lanes in order, without anything between',
      );
    });
  };
}

/** Formats with 0 to 3 strings, different in every lane. */
function prints(name: OpcodeName) {
  return function* (wave: Wave): Spin {
    const { lanes, random, id, bench } = wave;
    const packed = name.endsWith('PACKED');
    const calls = lanes.map((lane) => {
      const strings = Array.from({ length: random.below(4) }, () => 's'.repeat(random.size()));
      const format = `{${id}:${lane}:%d${':%s'.repeat(strings.length)}}`;
      const number = random.below(1000);
      return {
        strings,
        format,
        number,
        output: `{${id}:${lane}:${number}${strings.map((one) => `:${one}`).join('')}}`,
      };
    });
    const areas = calls.map(({ strings, number }) => {
      const from = packed ? 4 : 8;
      const data = new DataView(new ArrayBuffer(strings.length === 0 ? 4 : from + 8 * strings.length));
      data.setInt32(0, number, true);
      for (const index of strings.keys()) data.setBigUint64(from + 8 * index, BigInt(16 * (index + 1)), true);
      return new Uint8Array(data.buffer);
    });
    const toStream = name.includes('STREAM');
    const paths = lanes.map((lane) => `${id}-${lane}`);
    const handles = toStream ? yield* opened(wave, paths, 'w') : [];
    yield* call(wave, name, function* (port) {
      if (toStream) yield* port.sendWords(handles.map((handle) => [handle]));
      yield* port.sendBytes(calls.map(({ format }) => cString(format)));
      assert.deepEqual(yield* port.receiveWords(), sizes(areas));
      yield* port.sendBytes(areas);
      for (;;) {
        const results: bigint[] = [];
        const pointers: bigint[] = [];
        yield* port.receive((packet) => {
          results.push(packet.getBigInt64(0, true));
          pointers.push(packet.getBigUint64(8, true));
        });
        if (pointers.every((pointer) => pointer === 0n)) {
          assert.deepEqual(
            results,
            calls.map(({ output }) => BigInt(output.length)),
          );
          break;
        }
        const asked = pointers.map((pointer, index) =>
          pointer === 0n ? new Uint8Array() : cString(calls[index]!.strings[Number(pointer) / 16 - 1]!),
        );
        yield* port.sendBytes(asked);
      }
    });
    const whole = calls.map(({ output }) => output);
    if (toStream) {
      assert.deepEqual(
        paths.map((path) => text(bench.files.get(path)!)),
        whole,
      );
      yield* ask(
        wave,
        'CLOSE_FILE',
        handles.map((handle) => [handle]),
      );
    } else assert.ok((name.includes('STDERR') ? bench.out.stderr : bench.out.stdout).includes(whole.join('')));
  };
}

function* memory(wave: Wave): Spin {
  const slab = 2 * 2 ** 20;
  const wanted = wave.lanes.map(() => (wave.random.below(2) === 0 ? slab : 1 + wave.random.below(5000)));
  const addresses = yield* ask(
    wave,
    'MALLOC',
    wanted.map((size) => [BigInt(size)]),
  );
  for (const [index, address] of addresses.entries()) {
    const allocated = wave.bench.allocated.get(address);
    assert.equal(allocated?.sizeBytes, wanted[index]);
    assert.equal(allocated?.alignmentBytes, wanted[index] === slab ? slab : 4096);
  }
  yield* call(wave, 'FREE', (port) => port.sendWords(addresses.map((address) => [address])));
}

function* hostCall(wave: Wave): Spin {
  const parameters = wave.lanes.map(() => wave.random.bytes());
  yield* call(wave, 'HOST_CALL', function* (port) {
    yield* port.sendBytes(parameters);
    yield* port.sendWords(parameters.map(() => [HOST_FUNCTION]));
    if (wave.bench.generation.name === 'P19') return;
    assert.deepEqual(
      signed(yield* port.receiveWords()),
      sizes(parameters).map((size) => -size),
    );
  });
}

function* system(wave: Wave): Spin {
  const commands = wave.lanes.map(() => 'c'.repeat(wave.random.size()));
  yield* call(wave, 'SYSTEM', function* (port) {
    yield* port.sendBytes(commands.map(cString));
    assert.deepEqual(
      yield* port.receiveWords(),
      commands.map(({ length }) => BigInt(256 * length)),
    );
  });
}

/** LLVM's own test opcodes, by the numbers of the generation. */
function selfTest(which: 'INCREMENT' | 'INTERFACE' | 'STREAM') {
  return function* ({ bench, lanes, random }: Wave): Spin {
    const at = ['INCREMENT', 'INTERFACE', 'STREAM'].indexOf(which);
    const opcode = (bench.generation.name === 'P23' ? 0x6300_8000 : 0x8001) + at;
    const port = yield* bench.client.open(opcode, lanes, random.below(64));
    if (which === 'INCREMENT') {
      const values = lanes.map(() => BigInt(random.below(2 ** 31)) << BigInt(random.below(33)));
      yield* port.sendWords(values.map((value) => [value]));
      assert.deepEqual(
        yield* port.receiveWords(),
        values.map((value) => BigInt.asUintN(64, value + 1n)),
      );
    } else if (which === 'STREAM') {
      const streams = lanes.map(() => random.bytes());
      yield* port.sendBytes(streams);
      assert.deepEqual(yield* port.receiveBytes(), streams);
    } else {
      const endsWithReceive = random.below(2) === 0;
      let counter = 0n;
      const receive = function* () {
        [counter] = (yield* port.receiveWords()) as [bigint];
      };
      const send = function* () {
        counter++;
        yield* port.sendWords(lanes.map(() => [counter]));
      };
      yield* port.sendWords(lanes.map(() => [endsWithReceive ? 1n : 0n]));
      for (const step of [send, receive, send, receive, send, send, receive, receive]) yield* step();
      yield* endsWithReceive ? send() : receive();
      assert.equal(counter, 9n);
    }
    port.close();
  };
}

const noop = (wave: Wave): Spin => call(wave, 'NOOP', (port) => port.sendWords(wave.lanes.map(() => [0n])));

/** EXIT and ABORT: the status is that of the first active lane, and nobody is served afterwards. */
function ends(name: 'EXIT' | 'ABORT') {
  return function* (wave: Wave): Spin {
    const { bench, lanes, random } = wave;
    const statuses = lanes.map(() => BigInt(random.below(2 ** 31)) - 2n ** 30n);
    yield* call(wave, name, function* (port) {
      yield* port.sendWords(lanes.map(() => [7n]));
      assert.deepEqual(
        yield* port.receiveWords(),
        lanes.map(() => 7n),
      );
      yield* port.sendWords(statuses.map((status) => [status]));
    });
    bench.server.poll();
    const exit = { kind: 'exit', status: Number(statuses[0]) };
    assert.deepEqual(bench.host.termination, name === 'EXIT' ? exit : { kind: 'abort' });
    assert.equal(bench.server.poll(), 0);
  };
}

/** The host call of the offload runtime; LLVM 19 has none. */
function* offloadHostCall({ bench, lanes, random }: Wave): Spin {
  if (bench.generation.name === 'P19') return;
  const parameters = lanes.map(() => random.bytes());
  const port = yield* bench.client.open(OFFLOAD_HOST_CALL, lanes, random.below(64));
  yield* port.sendBytes(parameters);
  yield* port.sendWords(parameters.map(() => [HOST_FUNCTION]));
  assert.deepEqual(
    signed(yield* port.receiveWords()),
    sizes(parameters).map((size) => -size),
  );
  port.close();
}

/** Conversations by the opcodes that they use. */
export const CONVERSATIONS: readonly (readonly [opcodes: readonly string[], talk: (wave: Wave) => Spin])[] = [
  [['EXIT'], ends('EXIT')],
  [['ABORT'], ends('ABORT')],
  [['NOOP'], noop],
  [['WRITE_TO_STDOUT'], writes('WRITE_TO_STDOUT')],
  [['WRITE_TO_STDERR'], writes('WRITE_TO_STDERR')],
  [['WRITE_TO_STDOUT_NEWLINE'], writes('WRITE_TO_STDOUT_NEWLINE')],
  [
    [
      'OPEN_FILE',
      'WRITE_TO_STREAM',
      'FFLUSH',
      'FTELL',
      'FSEEK',
      'UNGETC',
      'READ_FROM_STREAM',
      'FEOF',
      'FERROR',
      'CLEARERR',
    ],
    files,
  ],
  [['READ_FGETS', 'CLOSE_FILE', 'RENAME', 'REMOVE'], files],
  [['MALLOC', 'FREE'], memory],
  [['HOST_CALL'], hostCall],
  [['SYSTEM'], system],
  ...(Object.keys(OPCODES) as OpcodeName[])
    .filter((name) => name.startsWith('PRINTF'))
    .map((name) => [[name], prints(name)] as const),
  [['OFFLOAD_HOST_CALL'], offloadHostCall],
  [['TEST_INCREMENT'], selfTest('INCREMENT')],
  [['TEST_INTERFACE'], selfTest('INTERFACE')],
  [['TEST_STREAM'], selfTest('STREAM')],
];
