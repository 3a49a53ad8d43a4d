import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ErrorCode, WavewrightError } from '../../base/errors.ts';
import { BUFFER, HEADER, hostcallLayout, initializeHostcallBuffer, PAYLOAD_SIZE_BYTES, READY } from './layout.ts';
import { Messages } from './messages.ts';
import { HostcallServer } from './server.ts';

const ADDRESS = 0x1000_0000n;
const [FUNCTION_CALL, PRINTF, MEMORY, SANITIZER] = [1, 2, 3, 4];

/** A buffer with its server, and the wave's side of the protocol. */
class Rig {
  readonly layout = hostcallLayout(6);
  readonly bytes = new Uint8Array(new SharedArrayBuffer(this.layout.sizeBytes));
  readonly view = new DataView(this.bytes.buffer);
  readonly allocated: [number, number][] = [];
  readonly freed: bigint[] = [];
  printed = '';
  readonly server: HostcallServer;

  constructor() {
    initializeHostcallBuffer(this.view, this.layout, ADDRESS, 0x2000n);
    const heap = {
      allocate: (size: number, alignment: number) => {
        this.allocated.push([size, alignment]);
        return 0x5000n;
      },
      free: (address: bigint) => {
        this.freed.push(address);
      },
    };
    const print = (stream: string, text: Uint8Array) => {
      this.printed += `${stream}: ${new TextDecoder().decode(text)}`;
    };
    this.server = new HostcallServer(this.layout, this.bytes, { heap, print });
  }

  #header = (index: number): number => this.layout.headers + HEADER.sizeBytes * index;

  pop(): bigint {
    const pointer = this.view.getBigUint64(BUFFER.freeStack, true);
    const index = Number(pointer & BigInt(this.layout.packetCount - 1));
    this.view.setBigUint64(BUFFER.freeStack, this.view.getBigUint64(this.#header(index), true), true);
    return pointer;
  }

  /** Asks in the packet of a pointer; each lane has words. */
  ask(pointer: bigint, service: number, lanes: ReadonlyMap<number, readonly bigint[]>): number {
    const index = Number(pointer & BigInt(this.layout.packetCount - 1));
    const header = this.#header(index);
    this.view.setBigUint64(header + HEADER.next, this.view.getBigUint64(BUFFER.readyStack, true), true);
    const mask = [...lanes.keys()].reduce((sum, lane) => sum | (1n << BigInt(lane)), 0n);
    this.view.setBigUint64(header + HEADER.activeMask, mask, true);
    this.view.setUint32(header + HEADER.service, service, true);
    this.view.setUint32(header + HEADER.control, READY, true);
    for (const [lane, words] of lanes) {
      words.forEach((word, i) => {
        this.view.setBigUint64(this.#slot(index, lane) + 8 * i, BigInt.asUintN(64, word), true);
      });
    }
    this.view.setBigUint64(BUFFER.readyStack, pointer, true);
    return index;
  }

  #slot = (index: number, lane: number): number => this.layout.payloads + index * PAYLOAD_SIZE_BYTES + 64 * lane;

  answer(index: number, lane: number): bigint {
    assert.equal(this.view.getUint32(this.#header(index) + HEADER.control, true), 0, 'the packet is the wave again');
    return this.view.getBigUint64(this.#slot(index, lane), true);
  }

  /** One lane asks once; what it finds in word 0. */
  call(service: number, ...words: readonly bigint[]): bigint {
    const pointer = this.pop();
    const index = this.ask(pointer, service, new Map([[3, words]]));
    assert.equal(this.server.poll(Number.POSITIVE_INFINITY), 1);
    const answer = this.answer(index, 3);
    this.view.setBigUint64(this.#header(index), this.view.getBigUint64(BUFFER.freeStack, true), true);
    this.view.setBigUint64(BUFFER.freeStack, pointer, true);
    return answer;
  }

  refuses(code: ErrorCode, what: RegExp, service: number, ...words: readonly bigint[]): void {
    assert.throws(
      () => this.call(service, ...words),
      (error: unknown) => {
        assert.ok(error instanceof WavewrightError);
        assert.equal(error.code, code);
        assert.match(error.message, what);
        return true;
      },
    );
  }
}

/** 64-bit words of text with its NUL. */
function wordsOf(text: string): bigint[] {
  const bytes = new Uint8Array(Math.ceil((text.length + 1) / 8) * 8);
  bytes.set(new TextEncoder().encode(text));
  return [...new BigUint64Array(bytes.buffer)];
}

const [BEGIN, END] = [1n, 2n];
const descriptor = (flags: bigint, count: number, number = 0n): bigint => flags | BigInt(count << 5) | (number << 8n);

/** One message in requests of a word each; what printf returns. */
function printf(rig: Rig, control: bigint, ...words: readonly bigint[]): bigint {
  let state = rig.call(PRINTF, descriptor(BEGIN, 0));
  for (const word of [control, ...words]) state = rig.call(PRINTF, (state & ~0xffn) | descriptor(0n, 1), word);
  return rig.call(PRINTF, (state & ~0xffn) | END);
}

test('a new buffer has all packets but the guard to give', () => {
  const rig = new Rig();
  assert.equal(rig.layout.packetCount, 8);
  assert.equal(rig.view.getBigUint64(BUFFER.headers, true), ADDRESS + BigInt(rig.layout.headers));
  assert.equal(rig.view.getBigUint64(BUFFER.payloads, true), ADDRESS + BigInt(rig.layout.payloads));
  assert.deepEqual(
    [rig.view.getBigUint64(BUFFER.doorbell, true), rig.view.getBigUint64(BUFFER.indexMask, true)],
    [0x2000n, 7n],
  );
  assert.deepEqual(
    Array.from({ length: 7 }, () => rig.pop()),
    [7n, 6n, 5n, 4n, 3n, 2n, 1n],
  );
  assert.deepEqual([rig.pop(), rig.pop()], [8n, 8n]);
  assert.equal(rig.server.poll(0), 0);
});

test('printf: format, numbers and strings in as many requests as they take', () => {
  const rig = new Rig();
  const arguments_ = [7n, ...wordsOf('a string of some length'), BigInt.asUintN(64, -1n)];
  assert.equal(
    printf(rig, 0n, ...wordsOf('%d %s %.3s %ld|'), ...arguments_.slice(0, 4), ...wordsOf('cut'), arguments_[4]!),
    33n,
  );
  assert.equal(printf(rig, 1n, ...wordsOf('%*.*f %p %%\n'), 8n, 2n, 0x3ff8_0000_0000_0000n, 0n), 17n);
  assert.equal(rig.printed, 'stdout: 7 a string of some length cut -1|stderr:     1.50 (nil) %\n');
});

test('printf: lanes of a packet one after the other, packets in the order in which they were ready', () => {
  const rig = new Rig();
  const request = (text: string): bigint[] => [descriptor(BEGIN | END, 1 + wordsOf(text).length), 0n, ...wordsOf(text)];
  const first = rig.ask(
    rig.pop(),
    PRINTF,
    new Map([
      [63, request('b')],
      [0, request('a')],
    ]),
  );
  const second = rig.ask(rig.pop(), PRINTF, new Map([[5, request('third')]]));
  assert.equal(rig.server.poll(0), 1, 'one at least, and no more behind the deadline');
  assert.ok(rig.server.isBusy);
  assert.equal(rig.server.poll(Number.POSITIVE_INFINITY), 1);
  assert.equal(rig.printed, 'stdout: astdout: bstdout: third');
  assert.deepEqual([rig.answer(first, 0), rig.answer(first, 63), rig.answer(second, 5)], [1n, 1n, 5n]);
});

test('printf: an unknown stream prints nothing, arguments that are not there end the text', () => {
  const rig = new Rig();
  assert.equal(BigInt.asIntN(64, printf(rig, 2n, ...wordsOf('text'))), -1n);
  assert.equal(BigInt.asIntN(64, rig.call(PRINTF, descriptor(BEGIN | END, 0))), -1n);
  assert.equal(rig.printed, '');
  assert.equal(printf(rig, 0n, ...wordsOf('%d,%s,%d'), 1n), 2n);
  assert.equal(printf(rig, 0n), 0n);
  assert.equal(printf(rig, 0n, 0x6161_6161_6161_6161n), 8n, 'a format without its NUL');
});

test('device memory: slabs are aligned, nothing and too much are null', () => {
  const rig = new Rig();
  assert.deepEqual([rig.call(MEMORY, 0n, 5000n), rig.call(MEMORY, 0n, 1n << 21n)], [0x5000n, 0x5000n]);
  assert.deepEqual(rig.allocated, [
    [5000, 4096],
    [2 ** 21, 2 ** 21],
  ]);
  assert.deepEqual([rig.call(MEMORY, 0n, 0n), rig.call(MEMORY, 0n, (1n << 64n) - 1n)], [0n, 0n]);
  rig.call(MEMORY, 0x5000n, 0n);
  assert.deepEqual([rig.allocated.length, rig.freed], [2, [0x5000n]]);
});

test('what is missing here and what does not exist is refused by name', () => {
  new Rig().refuses('UNSUPPORTED', /hostcall, function call, lane 3: .*a call of a function/, FUNCTION_CALL, 1n);
  new Rig().refuses('UNSUPPORTED', /address sanitizer/, SANITIZER, 1n);
  for (const service of [0, 5, 2 ** 32 - 1])
    new Rig().refuses('RPC_PROTOCOL', /service \d+, which does not exist/, service);
});

test('hostile messages: numbers that nobody has, too many and too long ones', () => {
  const rig = new Rig();
  rig.refuses('RPC_PROTOCOL', /message 72057594037927935 did not begin/, PRINTF, descriptor(END, 7, (1n << 56n) - 1n));
  const state = rig.call(PRINTF, descriptor(BEGIN | END, 2), 0n, 0n);
  assert.equal(state, 0n);
  rig.refuses('RPC_PROTOCOL', /message 0 did not begin, or ended/, PRINTF, descriptor(0n, 1));
  const messages = new Messages(4096);
  const slot = new DataView(new ArrayBuffer(64));
  const begin = (flags: bigint) => {
    slot.setBigUint64(0, descriptor(flags, 7), true);
    return messages.take(slot)?.length;
  };
  for (let i = 0; i < 1000; i++) assert.equal(begin(BEGIN | END), 56, 'those that end take nothing');
  for (let i = 0; i < 13; i++) assert.equal(begin(BEGIN), undefined);
  assert.throws(() => begin(BEGIN), { code: 'LIMIT_EXCEEDED', message: /begun and not ended/ });
});

test('hostile formats: long texts and formats end with an error', () => {
  const rig = new Rig();
  assert.throws(() => printf(rig, 0n, ...wordsOf('%2000000000d'), 1n), { code: 'LIMIT_EXCEEDED' });
  assert.throws(() => printf(rig, 0n, ...wordsOf('%'.repeat(66_000))), {
    code: 'LIMIT_EXCEEDED',
    message: /a printf format of/,
  });
});

test('hostile stacks: rings, the guard, numbers of no packet', () => {
  const ring = new Rig();
  ring.ask(5n, MEMORY, new Map());
  ring.ask(5n, MEMORY, new Map());
  assert.throws(() => ring.server.poll(0), { code: 'RPC_PROTOCOL', message: /ring/ });
  const guard = new Rig();
  guard.ask(8n, MEMORY, new Map());
  assert.throws(() => guard.server.poll(0), { code: 'LIMIT_EXCEEDED', message: /more than 7 waves/ });
  const far = new Rig();
  far.ask(0xffff_ffff_ffff_ff05n, MEMORY, new Map([[1, [0n, 8n]]]));
  far.view.setBigUint64(BUFFER.headers, 0n, true);
  far.view.setBigUint64(BUFFER.payloads, 1n, true);
  far.view.setBigUint64(BUFFER.indexMask, (1n << 64n) - 1n, true);
  assert.equal(far.server.poll(0), 1);
  assert.equal(far.answer(5, 1), 0x5000n);
});

test('whatever stands in the buffer ends in nothing but a WavewrightError', () => {
  const small = fc.bigInt(0n, 9n);
  const word = fc.oneof(small, fc.bigInt(0n, (1n << 64n) - 1n), fc.bigInt(0n, 255n));
  const requests = fc.array(fc.tuple(word, fc.nat(5), fc.array(word, { maxLength: 8 }), fc.nat(63)), { maxLength: 12 });
  fc.assert(
    fc.property(requests, (all) => {
      const rig = new Rig();
      for (const [pointer, service, words, lane] of all) {
        rig.ask(pointer, service, new Map([[lane, words]]));
        try {
          rig.server.poll(Number.POSITIVE_INFINITY);
        } catch (error) {
          if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
        }
      }
    }),
    { numRuns: 500 },
  );
});
