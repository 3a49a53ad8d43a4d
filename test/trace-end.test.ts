/**
 * A trace ends where its buffer does: what lies behind is as it was. What is no record is not taken for one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineTool, readTrace, traceCode, traceIn, tracePoint } from '../src/instrument/index.ts';
import { encodeRecords } from '../src/instrument/tool/lane-trace.ts';
import { at, PROCESSORS, runWithTool } from './tool-points.test-support.ts';

const source = { body: 'v_mov_b32_e32 v1, 5\ns_nop 2\nstore\nend' };

/** Leaves no gap behind its trace: the records and what counts them fill a multiple of 64 bytes. */
const guarded = (capacity: number) =>
  defineTool({
    name: 'guarded',
    summary: 'a trace with memory behind it',
    options: {},
    attach(code) {
      const trace = traceIn(code, 'trace', capacity);
      const guard = code.memory('guard', new Uint8Array(64).fill(0xa5), 64);
      const values = traceCode(trace, (b) => ({ value: b.pack(b.vector(0), b.constant(9)) }));
      code.before(at(code, 's_nop 2'), tracePoint(values, 0));
      return ({ memory }) => {
        const { records, lost } = readTrace(memory, trace, 1);
        const isWhole = memory.read(guard.symbol, 64).every((byte) => byte === 0xa5);
        const isRight = records.every(({ lane, value }) => value === BigInt(lane) + (9n << 32n));
        return { summary: { records: records.length, lost, isWhole: `${isWhole && isRight}` }, tables: [] };
      };
    },
  });

for (const processor of PROCESSORS) {
  test(`${processor}: nothing is written behind a trace, nor is its last record left out`, () => {
    const lanes = processor === 'gfx1100' ? 32 : 64;
    for (const capacity of [lanes - 1, lanes, lanes + 3]) {
      const records = Math.min(capacity, lanes);
      const { summary } = runWithTool(processor, source, guarded(capacity)).result;
      assert.deepEqual(summary, { records, lost: BigInt(lanes - records), isWhole: 'true' });
    }
  });
}

test('records that the application wrote over are lost, whatever they say', () => {
  const variable = { name: 'trace', symbol: 'trace', kind: 'records', sizeBytes: 16 * 6, alignmentBytes: 64 } as const;
  const records = [
    { value: 5n, point: 1, lane: 63, group: 0 },
    { value: 5n, point: 2, lane: 0, group: 0 },
    { value: 5n, point: 0xff_ffff, lane: 0, group: 0 },
    { value: 5n, point: 0, lane: 64, group: 0 },
  ];
  const bytes = new Uint8Array(variable.sizeBytes);
  bytes.set(encodeRecords(records), 16);
  const contents = (count: bigint) => {
    new DataView(bytes.buffer).setBigUint64(0, count, true);
    return readTrace({ read: () => bytes, write: () => undefined }, { variable, capacity: 5 }, 2);
  };
  assert.deepEqual(contents(4n), { records: [records[0]], lost: 3n });
  const { records: kept, lost } = contents(2n ** 64n - 1n);
  // The slot that nobody wrote reads as a record of the first point.
  assert.deepEqual([kept.length, lost], [2, 2n ** 64n - 3n]);
});
