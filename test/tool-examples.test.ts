/** The tools of examples/tools, which import the package by its name. */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { hookOf, type Tool } from '../src/instrument/index.ts';
import { at, PROCESSORS, runWithMarks, runWithTool } from './tool-points.test-support.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'wavewright/instrument'
      ? { url: pathToFileURL(path.join(ROOT, 'src/instrument.ts')).href, shortCircuit: true }
      : next(specifier, context),
});
const { dotProducts }: { dotProducts: Tool } = await import('../examples/tools/dot-products.ts');

const body = `
  s_mov_b32 s4, 0xff01a503
  v_mul_u32_u24_e32 v3, 0x123456, v0
  v_not_b32_e32 v4, v3
  v_dot4_u32_u8 v1, v3, v4, 7
  v_dot4_u32_u8 v1, s4, v1, v1
  v_dot4_u32_u8 v5, v3, s4, v4 clamp
  v_xor_b32_e32 v1, v1, v5
  store
  end`;
const dot = (x: number, y: number, sum: number): number =>
  [0, 8, 16, 24].reduce((all, shift) => (all + ((x >>> shift) & 255) * ((y >>> shift) & 255)) >>> 0, sum);

for (const processor of PROCESSORS) {
  test(`${processor}: dot products are worked out without their instruction`, () => {
    const native = runWithMarks(processor, { body }, () => undefined);
    const { output, result, coverage } = runWithTool(processor, { body }, dotProducts);
    assert.deepEqual(coverage.refused, {});
    assert.deepEqual(result.summary, { replaced: 2, kept: 1 });
    assert.deepEqual(output, native.output);
    const first = dot(0x123456, ~0x123456 >>> 0, 7);
    const second = dot(0xff01a503, first, first);
    const third = Math.min(dot(0x123456, 0xff01a503, 0) + (~0x123456 >>> 0), 0xffff_ffff);
    assert.equal(output[1], (second ^ third) >>> 0);
    // What stands in its place is what counts: with nothing there, lanes store something else.
    const without = runWithMarks(processor, { body }, (code) => {
      code.replace(
        at(code, 'v_dot4_u32_u8 v1, v3'),
        hookOf((b) => b.setVector(1, b.constant(1))),
      );
    });
    assert.notDeepEqual(without.output, native.output);
  });
}
