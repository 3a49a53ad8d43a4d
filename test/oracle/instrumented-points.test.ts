/**
 * Tools get all points of what clang makes without optimisation, where nearly all registers are live: calls
 * go to places that are not known, and behind these everything may be needed.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instrumentImage } from '../../src/instrument/index.ts';
import { chooseTool } from '../../src/tools/chosen-tool.ts';
import { hasClang } from './device-code.ts';
import { Compilers } from './opencl/compilers.ts';
import { EXACT } from './opencl/subject.ts';

const compilers = new Compilers();
after(() => compilers.close());

for (const [processor, waveSize] of [
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1100', 32],
  ['gfx1100', 64],
] as const) {
  test(`${processor} wave${waveSize}: no point of -O0 is refused`, { skip: !hasClang }, async () => {
    for (const [source, language] of [
      ['control.cl', 'C'],
      ['classes.hip', 'HIP'],
    ] as const) {
      const flags = source.endsWith('.cl') ? EXACT : [];
      const bytes = await compilers.forDevice(source, language, 'O0', { processor, waveSize }, flags);
      const { coverage } = instrumentImage({ bytes, name: source }, [await chooseTool('instruction-count')]);
      assert.deepEqual(coverage.refused, {}, source);
      assert.ok(coverage.served.borrowed > 0, source);
    }
  });
}
