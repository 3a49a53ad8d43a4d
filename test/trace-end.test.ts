/** A trace ends where its buffer does: what lies behind is as it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineTool, readTrace, traceCode, traceIn, tracePoint } from '../src/instrument/index.ts';
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
        const { records, lost } = readTrace(memory, trace);
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
