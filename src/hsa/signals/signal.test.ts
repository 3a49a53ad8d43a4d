import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HsaError } from '../objects/status.ts';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';

const runtime = createRuntime({ devices: [new FakeDevice()] });
const int64 = fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n });

test('every operation does to the value at +8 what 64-bit arithmetic says', () => {
  const signal = runtime.createSignal(0n);
  const bytes = runtime.view(signal.address, 64);
  const value = () => new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(8, true);
  fc.assert(
    fc.property(int64, int64, (a, b) => {
      signal.store(a);
      assert.equal(value(), a);
      signal.add(b);
      assert.equal(value(), BigInt.asIntN(64, a + b));
      signal.subtract(b);
      assert.equal(signal.load(), a);
      signal.and(b);
      assert.equal(signal.load(), a & b);
      signal.or(a);
      assert.equal(signal.load(), a);
      signal.xor(b);
      assert.equal(signal.load(), a ^ b);
      assert.equal(signal.exchange(b), a ^ b);
      assert.equal(signal.compareAndSwap(b + 1n, a), b);
      assert.equal(signal.load(), b);
      assert.equal(signal.compareAndSwap(b, a), b);
      assert.equal(signal.load(), a);
    }),
    { numRuns: 50 },
  );
});

test('a signal is an amd_signal_t: 64-byte aligned, of kind USER, zero but for its value', () => {
  const signal = runtime.createSignal(5n);
  assert.equal(signal.address % 64n, 0n);
  const bytes = runtime.view(signal.address, 64);
  assert.deepEqual([...new BigInt64Array(bytes.slice().buffer)], [1n, 5n, 0n, 0n, 0n, 0n, 0n, 0n]);
});

test('a disposed signal gives its slot to the next one, cleared', () => {
  const first = runtime.createSignal(-1n);
  const { address } = first;
  first[Symbol.dispose]();
  const second = runtime.createSignal(3n);
  assert.equal(second.address, address);
  assert.equal(second.load(), 3n);
});

test('100 signals have 100 addresses', () => {
  const addresses = new Set(Array.from({ length: 100 }, () => runtime.createSignal(0n).address));
  assert.equal(addresses.size, 100);
});

test('a wait compares signed and returns the value at once when the condition holds', () => {
  const signal = runtime.createSignal(-2n);
  assert.equal(signal.waitSync('lt', 0n), -2n);
  assert.equal(signal.waitSync('eq', -2n), -2n);
  assert.equal(signal.waitSync('ne', 7n), -2n);
  assert.equal(signal.waitSync('gte', -2n), -2n);
});

test('a wait that nothing can end says so; with a time limit it returns what the value is', () => {
  const signal = runtime.createSignal(1n);
  assert.throws(
    () => signal.waitSync('eq', 0n),
    (error: unknown) => error instanceof HsaError && error.code === 'USAGE' && /would never end/.test(error.message),
  );
  assert.equal(signal.waitSync('eq', 0n, { timeoutMs: 1 }), 1n);
});

test('an asynchronous wait sees what other host code stores', async () => {
  const signal = runtime.createSignal(1n);
  setTimeout(() => signal.store(0n), 2);
  assert.equal(await signal.wait('eq', 0n), 0n);
  assert.equal(await signal.wait('eq', 9n, { timeoutMs: 2 }), 0n);
});
