/** Tools count what is: their numbers are those of native runs, instruction by instruction. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cell } from '../src/instrument/index.ts';
import { readTraceFile } from '../src/instrument/index.ts';
import type { ToolReport } from '../src/tools/tool-session.ts';
import { assertSameLines } from './line-differences.test-support.ts';
import { IS_FULL_SCALE } from './scale.ts';
import {
  isVector,
  kernelCases,
  nameIn,
  observeNatively,
  runNative,
  runWithTools,
  TARGETS,
} from './tool-runs.test-support.ts';

/** Loops, divergence, LDS with barriers, atomics, calls that are inlined, matrices, all registers in use. */
const NAMES = ['vadd', 'gather', 'stencil', 'collatz', 'histogram', 'mfma16', 'wmma16', 'matmul4x4'];
const CHOSEN = IS_FULL_SCALE ? undefined : NAMES;

const table = ({ result }: ToolReport, name: string): readonly (readonly Cell[])[] =>
  result.tables.find((each) => each.name === name)?.rows ?? [];
for (const processor of TARGETS) {
  for (const each of kernelCases(processor, CHOSEN)) {
    test(`${each.file}: instructions are counted as they are executed`, async () => {
      const native = runNative(each);
      const { output, reports } = await runWithTools(each, 'instruction-count', 'opcode-histogram');
      assert.deepEqual(output, native.output);
      const [counts, histogram] = reports;
      assert.deepEqual(counts!.coverage.refused, {});
      const byName = new Map<string, bigint>();
      let total = 0n;
      for (const [address, , , text, count] of table(counts!, 'instructions')) {
        const { waves, lanes } = native.counts.get(Number(address)) ?? { waves: 0, lanes: 0 };
        const expected = BigInt(isVector(text!) ? lanes : waves);
        assert.equal(count, expected, `${address} ${text}`);
        const name = nameIn(`${text}`);
        byName.set(name, (byName.get(name) ?? 0n) + expected);
        total += expected;
      }
      assert.ok(total > 0n);
      assert.equal(counts!.result.summary.total, total);
      const blocks = (await runWithTools(each, 'block-count')).reports[0]!;
      assert.deepEqual(blocks.coverage.refused, {});
      assert.deepEqual(table(blocks, 'instructions'), table(counts!, 'instructions'));
      assert.ok(blocks.coverage.requested < counts!.coverage.requested / 2);
      const expected = [...byName].filter(([, count]) => count > 0n).sort();
      assert.deepEqual(table(histogram!, 'opcodes').toSorted(), expected);
    });
  }
}

for (const processor of TARGETS) {
  for (const each of kernelCases(processor, CHOSEN && ['collatz', 'histogram'])) {
    test(`${each.file}: waves with an active lane are counted`, async () => {
      const native = runNative(each);
      const { activeWaves } = observeNatively(each);
      const tools = ['instruction-count:level=wave', 'block-count:level=wave'];
      for (const tool of tools) {
        const { reports } = await runWithTools(each, tool);
        for (const [address, , , text, count] of table(reports[0]!, 'instructions')) {
          const waves = native.counts.get(Number(address))?.waves ?? 0;
          const expected = isVector(text!) ? (activeWaves.get(Number(address)) ?? 0) : waves;
          assert.equal(count, BigInt(expected), `${tool}: ${address} ${text}`);
        }
      }
    });
  }
}

for (const processor of TARGETS) {
  for (const each of kernelCases(processor, CHOSEN && ['vadd', 'gather', 'bitonic'])) {
    test(`${each.file}: traced accesses are those of the kernel`, async () => {
      const { reports, image } = await runWithTools(each, 'memory-trace:file=x');
      const { result, coverage } = reports[0]!;
      assert.deepEqual(coverage.refused, {});
      assert.deepEqual([result.summary.lost, result.summary['accesses without a known address']], [0n, 0]);
      const { points, records } = readTraceFile(result.files![0]!.bytes, 'x');
      const found = records.map(({ point, lane, value }) => {
        const { address: pc } = points[point]!;
        return { pc, lane, address: value };
      });
      const native = observeNatively(each);
      assertSameLines(image.accessText(found), native.image.accessText(native.accesses));
      assert.ok(found.length > 0);
    });
  }
}
