import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, bytes, cString, setUp, text } from './bench.test-support.ts';
import type { ClientPort, Spin } from './client.test-support.ts';
import type { OpcodeName } from './protocol/opcodes.ts';

const signed = (value: bigint | undefined) => BigInt.asIntN(64, value!);

function* open(bench: Bench, path: string, mode: string): Spin<bigint> {
  let handle = 0n;
  yield* bench.call('OPEN_FILE', [7], function* (port) {
    yield* port.sendBytes([cString(path)]);
    yield* port.send((packet) => new Uint8Array(packet.buffer, packet.byteOffset, 64).set(cString(mode)));
    [handle] = (yield* port.receiveWords()) as [bigint];
  });
  return handle;
}

/** A request of one packet with one reply, from one lane. */
function* ask(bench: Bench, name: OpcodeName, ...slots: bigint[]): Spin<bigint> {
  let reply = 0n;
  yield* bench.call(name, [7], function* (port) {
    yield* port.sendWords([slots]);
    reply = signed((yield* port.receiveWords())[0]);
  });
  return reply;
}

function* readAll(bench: Bench, stream: bigint, sizeBytes: bigint): Spin<string> {
  let data = '';
  yield* bench.call('READ_FROM_STREAM', [7], function* (port) {
    yield* port.sendWords([[sizeBytes, stream]]);
    const [found] = (yield* port.receiveBytes()) as [Uint8Array];
    assert.deepEqual(yield* port.receiveWords(), [BigInt(found.length)]);
    data = text(found);
  });
  return data;
}

function* line(bench: Bench, stream: bigint, sizeBytes: bigint): Spin<Uint8Array> {
  let data = new Uint8Array();
  yield* bench.call('READ_FGETS', [7], function* (port) {
    yield* port.sendWords([[sizeBytes, stream]]);
    [data] = (yield* port.receiveBytes()) as [Uint8Array<ArrayBuffer>];
  });
  return data;
}

function* write(bench: Bench, stream: bigint, string: string): Spin<bigint> {
  let reply = 0n;
  yield* bench.call('WRITE_TO_STREAM', [7], function* (port) {
    yield* port.sendWords([[stream]]);
    yield* port.sendBytes([bytes(string)]);
    [reply] = (yield* port.receiveWords()) as [bigint];
  });
  return reply;
}

/** Runs one wave that does all of `talk`. */
function converse(bench: Bench, talk: () => Spin): void {
  bench.run(talk());
}

test('a file is written, sought, read, and closed', () => {
  const bench = setUp();
  converse(bench, function* () {
    const file = yield* open(bench, 'data/new.txt', 'w+b');
    assert.ok(file > 0n && file % 4n === 0n);
    assert.equal(yield* write(bench, file, 'first\nsecond line\nlast'), 22n);
    assert.equal(yield* ask(bench, 'FTELL', file), 22n);
    assert.equal(yield* ask(bench, 'FSEEK', file, 6n, 0n), 0n);
    assert.equal(yield* readAll(bench, file, 6n), 'second');
    assert.equal(yield* ask(bench, 'FTELL', file), 12n);
    assert.equal(yield* ask(bench, 'FSEEK', file, -4n, 2n), 0n);
    assert.equal(yield* readAll(bench, file, 100n), 'last');
    assert.equal(yield* ask(bench, 'FEOF', file), 1n);
    assert.equal(yield* ask(bench, 'CLEARERR', file), 0n);
    assert.equal(yield* ask(bench, 'FEOF', file), 0n);
    assert.equal(yield* ask(bench, 'FSEEK', file, -10n, 1n), 0n);
    assert.equal(yield* write(bench, file, 'LINE'), 4n);
    assert.equal(yield* ask(bench, 'FFLUSH', file), 0n);
    assert.equal(yield* ask(bench, 'FFLUSH', 0n), 0n);
    assert.equal(yield* ask(bench, 'CLOSE_FILE', file), 0n);
  });
  assert.equal(text(bench.files.get('data/new.txt')!), 'first\nsecondLINEe\nlast');
});

test('a read that was started goes on with a write at the place that the program sees', () => {
  const bench = setUp();
  bench.files.set('f', bytes('abcdefgh'));
  converse(bench, function* () {
    const file = yield* open(bench, 'f', 'r+');
    assert.equal(yield* readAll(bench, file, 2n), 'ab');
    assert.equal(yield* write(bench, file, 'XY'), 2n);
    assert.equal(yield* readAll(bench, file, 2n), 'ef');
  });
  assert.equal(text(bench.files.get('f')!), 'abXYefgh');
});

test('fgets gives lines with their newline and NUL, cut to the buffer, and nothing at the end', () => {
  const bench = setUp();
  bench.files.set('lines', bytes(`one\n\n${'x'.repeat(130)}\nlast`));
  converse(bench, function* () {
    const file = yield* open(bench, 'lines', 'r');
    assert.equal(text(yield* line(bench, file, 100n)), 'one\n\0');
    assert.equal(text(yield* line(bench, file, 100n)), '\n\0');
    assert.equal(text(yield* line(bench, file, 100n)), `${'x'.repeat(99)}\0`);
    assert.equal(text(yield* line(bench, file, 1n)), '\0');
    assert.equal(text(yield* line(bench, file, 1000n)), `${'x'.repeat(31)}\n\0`);
    assert.equal((yield* line(bench, file, 0n)).length, 0);
    assert.equal((yield* line(bench, file, -1n)).length, 0);
    assert.equal(text(yield* line(bench, file, 100n)), 'last\0');
    assert.equal((yield* line(bench, file, 100n)).length, 0);
    assert.equal(yield* ask(bench, 'FEOF', file), 1n);
  });
});

test('standard input is read by its tag, with pushed-back characters first', () => {
  const bench = setUp({ stdin: 'hello\nworld\n' });
  const stdin = 0x1235n;
  converse(bench, function* () {
    assert.equal(text(yield* line(bench, stdin, 100n)), 'hello\n\0');
    assert.equal(yield* ask(bench, 'UNGETC', 0x21n, stdin), 0x21n);
    assert.equal(yield* ask(bench, 'UNGETC', -1n, stdin), -1n);
    assert.equal(yield* readAll(bench, stdin, 7n), '!world\n');
    assert.equal(yield* ask(bench, 'FSEEK', stdin, 0n, 0n), -1n);
    assert.equal(yield* ask(bench, 'FTELL', stdin), -1n);
  });
});

test('modes are checked, failures give 0 and -1', () => {
  const bench = setUp();
  bench.files.set('there', bytes('x'));
  converse(bench, function* () {
    assert.equal(yield* open(bench, 'missing', 'r'), 0n);
    assert.equal(yield* open(bench, 'there', 'q'), 0n);
    assert.equal(yield* open(bench, 'there', 'wx'), 0n);
    const reading = yield* open(bench, 'there', 'r');
    assert.equal(yield* write(bench, reading, 'no'), 0n);
    assert.equal(yield* ask(bench, 'FERROR', reading), 1n);
    const appending = yield* open(bench, 'there', 'a');
    assert.equal(yield* ask(bench, 'FSEEK', appending, 0n, 0n), 0n);
    assert.equal(yield* write(bench, appending, 'yz'), 2n);
    // Any bits in slots 1 and 2 must be survived: ftell of real clients leaves them unset.
    assert.equal(yield* ask(bench, 'FSEEK', reading, 0n, 77n), -1n);
    assert.equal(yield* ask(bench, 'FSEEK', reading, -5n, 0n), -1n);
    assert.equal(yield* ask(bench, 'FSEEK', reading, 1n << 62n, 0n), -1n);
  });
  assert.equal(text(bench.files.get('there')!), 'xyz');
});

test('files are renamed and removed', () => {
  const bench = setUp();
  bench.files.set('a', bytes('x'));
  converse(bench, function* () {
    yield* bench.call('RENAME', [0, 1], function* (port) {
      yield* port.sendBytes([cString('a'), cString('missing')]);
      yield* port.sendBytes([cString('b'), cString('c')]);
      assert.deepEqual((yield* port.receiveWords()).map(signed), [0n, -1n]);
    });
    yield* bench.call('REMOVE', [0, 1, 2], function* (port) {
      yield* port.sendBytes([cString('a'), cString('b'), Uint8Array.of(0xff, 0)]);
      assert.deepEqual((yield* port.receiveWords()).map(signed), [-1n, 0n, -1n]);
    });
  });
  assert.equal(bench.files.get('b'), undefined);
});

interface PrintfCall {
  readonly format: string;
  readonly area: Uint8Array;
  /** Strings in device memory, by address. */
  readonly strings?: Readonly<Record<number, string>>;
}

/** The client's printf: returns d[0] of the last packet of every lane. */
function* printf(port: ClientPort, calls: readonly PrintfCall[], stream?: bigint): Spin<bigint[]> {
  if (stream !== undefined) yield* port.sendWords(calls.map(() => [stream]));
  yield* port.sendBytes(calls.map(({ format }) => cString(format)));
  const sizes = yield* port.receiveWords();
  assert.deepEqual(
    sizes,
    calls.map(({ area }) => BigInt(area.length)),
  );
  yield* port.sendBytes(calls.map(({ area }) => area));
  for (;;) {
    const results: bigint[] = [];
    const pointers: bigint[] = [];
    yield* port.receive((packet) => {
      results.push(packet.getBigInt64(0, true));
      pointers.push(packet.getBigUint64(8, true));
    });
    if (pointers.every((pointer) => pointer === 0n)) return results;
    yield* port.sendBytes(
      pointers.map((pointer, index) =>
        pointer === 0n ? new Uint8Array() : cString(calls[index]!.strings![Number(pointer)]!),
      ),
    );
  }
}

/** Arguments without padding: numbers are 4 bytes, bigints 8. */
function area(...values: (number | bigint)[]): Uint8Array {
  const data = new DataView(new ArrayBuffer(64));
  let at = 0;
  for (const value of values) {
    if (typeof value === 'number') data.setInt32(at, value, true);
    else data.setBigUint64(at, value, true);
    at += typeof value === 'number' ? 4 : 8;
  }
  return new Uint8Array(data.buffer, 0, at);
}

test('printf: lanes with different formats and numbers of strings, null strings, results', () => {
  const bench = setUp();
  const calls: PrintfCall[] = [
    { format: 'none\n', area: area() },
    { format: '%s-%d-%s\n', area: area(0x10n, 42, 0x20n), strings: { 16: 'first', 32: 'x'.repeat(150) } },
    { format: '%s|%s|%5.1s\n', area: area(0n, 0x30n, 0x40n), strings: { 48: 'mid', 64: 'end' } },
    { format: '%c%%%*d\n', area: area(0x41, 4, 7) },
  ];
  bench.run(
    bench.call('PRINTF_TO_STDOUT_PACKED', [1, 5, 30, 63], function* (port) {
      assert.deepEqual(yield* printf(port, calls), [5n, 160n, 17n, 7n]);
    }),
  );
  assert.equal(bench.out.stdout, `none\nfirst-42-${'x'.repeat(150)}\n(null)|mid|    e\nA%   7\n`);
});

test('printf to stderr, to a stream, and with natural alignment', () => {
  const bench = setUp();
  converse(bench, function* () {
    yield* bench.call('PRINTF_TO_STDERR_PACKED', [0], function* (port) {
      assert.deepEqual(yield* printf(port, [{ format: '%d %ld', area: area(-1, 2n) }]), [4n]);
    });
    const file = yield* open(bench, 'log', 'w');
    yield* bench.call('PRINTF_TO_STREAM_PACKED', [0], function* (port) {
      assert.deepEqual(yield* printf(port, [{ format: '%x', area: area(255) }], file), [2n]);
    });
    yield* bench.call('PRINTF_TO_STDOUT', [0], function* (port) {
      const padded = area(1, 0, 2n, 3);
      assert.deepEqual(yield* printf(port, [{ format: '%d %ld %d', area: padded }]), [5n]);
    });
    yield* bench.call('PRINTF_TO_STREAM_PACKED', [0], function* (port) {
      const reading = yield* open(bench, 'log', 'r');
      assert.deepEqual(yield* printf(port, [{ format: 'x', area: area() }], reading), [-1n]);
    });
  });
  assert.equal(bench.out.stderr, '-1 2');
  assert.equal(bench.out.stdout, '1 2 3');
  assert.equal(text(bench.files.get('log')!), 'ff');
});
