import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceFrom, type Result } from './kernels/kernel-benchmark.ts';

const bytesOf = (values: Result): Uint8Array => new Uint8Array(values.buffer);

test('integers and floats without a tolerance must be the same', () => {
  const counts = Uint32Array.of(1, 2, 3);
  assert.equal(differenceFrom(counts, bytesOf(counts)), undefined);
  assert.equal(differenceFrom(counts, bytesOf(Uint32Array.of(1, 4, 3)), 10), 'element 1 is 4, expected 2');
  assert.equal(differenceFrom(counts, bytesOf(Uint32Array.of(1, 2))), '2 elements, expected 3');
  const values = Float32Array.of(0.5, Number.NaN);
  assert.equal(differenceFrom(values, bytesOf(values)), undefined);
  assert.equal(differenceFrom(values, bytesOf(Float32Array.of(0.5, 1))), 'element 1 is 1, expected NaN');
});

test('a tolerance is relative to large values and absolute for small ones', () => {
  const values = Float64Array.of(1000, 0.001);
  assert.equal(differenceFrom(values, bytesOf(Float64Array.of(1000.9, 0.0019)), 0.001), undefined);
  assert.match(differenceFrom(values, bytesOf(Float64Array.of(1001.1, 0.001)), 0.001)!, /element 0/);
  assert.match(differenceFrom(values, bytesOf(Float64Array.of(1000, 0.0021)), 0.001)!, /element 1/);
  assert.match(differenceFrom(values, bytesOf(Float64Array.of(1000, Number.NaN)), 0.001)!, /element 1 is NaN/);
});
