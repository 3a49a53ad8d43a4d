import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { HsaError } from '../hsa/index.ts';
import { encodeReply, type IncomingRequest, RequestReader } from './messages.ts';
import { OPERATION_NAMES, OPERATIONS, protocolHeader } from './protocol.ts';

/** A request as the library sends it. */
function request({ operation, words, tail }: IncomingRequest): Buffer {
  const names: readonly string[] = OPERATIONS[operation].request;
  const head = new Uint32Array([OPERATION_NAMES.indexOf(operation), names.length * 8 + tail.length]);
  return Buffer.concat([
    new Uint8Array(head.buffer),
    new Uint8Array(BigUint64Array.from(names, (name) => words[name]!).buffer),
    tail,
  ]);
}

const requests = fc.array(
  fc.record({
    operation: fc.constantFrom(...OPERATION_NAMES),
    seed: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    tail: fc.uint8Array({ maxLength: 40 }),
  }),
  { maxLength: 6 },
);

const made = ({
  operation,
  seed,
  tail,
}: {
  operation: (typeof OPERATION_NAMES)[number];
  seed: bigint;
  tail: Uint8Array;
}) => {
  const shape: { readonly request: readonly string[]; readonly tail?: string } = OPERATIONS[operation];
  const words = Object.fromEntries(shape.request.map((name, i) => [name, BigInt.asUintN(64, seed * BigInt(i + 1))]));
  return { operation, words, tail: shape.tail === 'request' ? tail : new Uint8Array(0) };
};

test('the header of the library is made of the tables', () => {
  const file = new URL('../../native/hsa/protocol.h', import.meta.url);
  assert.equal(readFileSync(file, 'utf8'), protocolHeader(), 'run node tools/native.ts --write');
});

test('requests arrive whole, however their bytes are cut', () => {
  fc.assert(
    fc.property(requests, fc.integer({ min: 1, max: 30 }), (list, chunkBytes) => {
      const sent = list.map(made);
      const bytes = Buffer.concat(sent.map(request));
      const reader = new RequestReader();
      const received: IncomingRequest[] = [];
      for (let at = 0; at < bytes.length; at += chunkBytes) {
        for (const each of reader.push(bytes.subarray(at, at + chunkBytes))) {
          received.push({ ...each, tail: new Uint8Array(each.tail) });
        }
      }
      assert.deepEqual(received, sent);
    }),
    { numRuns: 200 },
  );
});

test('other bytes are refused with a status', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (chunks) => {
      const reader = new RequestReader();
      try {
        for (const chunk of chunks) for (const { operation } of reader.push(chunk)) assert.ok(operation in OPERATIONS);
      } catch (error) {
        assert.ok(error instanceof HsaError, String(error));
      }
    }),
    { numRuns: 300 },
  );
  const sized = (number: number, sizeBytes: number) => new Uint8Array(Uint32Array.of(number, sizeBytes).buffer);
  const take = (bytes: Uint8Array) => [...new RequestReader().push(bytes)];
  assert.throws(() => take(sized(OPERATION_NAMES.length, 0)), /sent operation \d+/);
  assert.throws(() => take(sized(2, 2 ** 32 - 1)), /a request of 4294967295 bytes/);
  assert.throws(() => take(Buffer.concat([sized(2, 8), new Uint8Array(8)])), /8 bytes for allocate/);
});

test('a reply has its words and its tail', () => {
  const bytes = encodeReply({ words: [1n, 2n ** 64n - 1n], tail: Uint8Array.of(7) });
  assert.equal(Buffer.from(bytes).toString('hex'), '00000000110000000100000000000000ffffffffffffffff07');
});
