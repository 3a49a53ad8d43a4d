import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import { decodePcMap, encodePcMap, PcMap, type PcRow, PcRows } from './pc-map.ts';

function randomRows(random: (limit: number) => number): PcRow[] {
  const rows: PcRow[] = [];
  let address = random(1000) * 4;
  for (let i = random(200); i > 0; i--) {
    const sizeBytes = 4 * (1 + random(4));
    const kind = (['original', 'payload', 'island', 'branch', 'filler'] as const)[random(5)]!;
    rows.push({ address, sizeBytes, origin: kind === 'filler' ? undefined : random(2 ** 28) * 4, kind });
    address += sizeBytes + (random(4) === 0 ? random(100_000) * 4 : 0);
  }
  return rows;
}

function generator(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

test('what is written is read again, and damaged bytes end in an error at most', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = generator(seed);
    const rows = randomRows(random);
    const bytes = encodePcMap(new PcMap(rows));
    assert.deepEqual(decodePcMap(bytes, {}).rows, rows);
    const damaged = bytes.slice(0, random(2) === 0 ? bytes.length : random(bytes.length));
    if (damaged.length > 0) damaged[random(damaged.length)] = random(256);
    try {
      decodePcMap(damaged, { file: 'x' });
    } catch (error) {
      assert.ok(error instanceof WavewrightError && error.code === 'BAD_INPUT', String(error));
    }
  }
});

test('addresses are found from both sides, through two rewritings too', () => {
  const map = new PcMap([
    { address: 100, sizeBytes: 8, origin: 16, kind: 'payload' },
    { address: 108, sizeBytes: 4, origin: 16, kind: 'original' },
    { address: 112, sizeBytes: 8, origin: 20, kind: 'original' },
    { address: 200, sizeBytes: 4, origin: 112, kind: 'original' },
  ]);
  assert.deepEqual(
    [99, 100, 104, 108, 112, 116, 120, 203, 204].map((address) => map.rowAt(address)?.origin),
    [undefined, 16, 16, 16, 20, 20, undefined, 112, undefined],
  );
  assert.deepEqual(
    [16, 20, 24, 112].map((origin) => map.newAddressOf(origin)),
    [108, 112, undefined, 200],
  );
  assert.deepEqual([map.originOf(200), map.originOf(104), map.originOf(16)], [20, 16, 16]);
  assert.equal(map.newSizeOf(16, 8), 12);
});

test('a payload is a row for each of its instructions', () => {
  const rows = new PcRows(1);
  rows.addPayload(100, [8, 4, 8], 16);
  rows.addPayload(120, [], 16);
  rows.add(120, 4, 16, 'original');
  rows.addPayload(124, [4], 20);
  const map = new PcMap(rows);
  const expected = [
    [100, 8, 16, 'payload'],
    [108, 4, 16, 'payload'],
    [112, 8, 16, 'payload'],
    [120, 4, 16, 'original'],
    [124, 4, 20, 'payload'],
  ].map(([address, sizeBytes, origin, kind]) => ({ address, sizeBytes, origin, kind }));
  assert.deepEqual(map.rows, expected);
  assert.deepEqual(decodePcMap(encodePcMap(map), {}).rows, expected);
  const found = [100, 104, 108, 119, 120, 127, 128].map((address) => map.rowAt(address)?.address);
  assert.deepEqual(found, [100, 100, 108, 112, 120, 124, undefined]);
  assert.equal(map.newAddressOf(16), 120);
  const twice = new PcRows();
  twice.addAll(rows);
  assert.deepEqual(new PcMap(twice).rows, expected);
  assert.equal(twice.length, 5);
});
