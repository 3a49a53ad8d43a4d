/**
 * Tools get all points of what clang makes without optimisation, where nearly all registers are live: calls
 * go to places that are not known, and behind these everything may be needed. With optimisation, functions
 * are shared by kernels of which one uses all VGPRs and another all SGPRs.
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
  test(`${processor} wave${waveSize}: no point of -O0 and -O2 is refused`, { skip: !hasClang }, async () => {
    for (const [source, language, level] of [
      ['control.cl', 'C', 'O0'],
      ['control.cl', 'OpenCL C', 'O2'],
      ['classes.hip', 'HIP', 'O0'],
    ] as const) {
      const flags = source.endsWith('.cl') ? EXACT : [];
      const bytes = await compilers.forDevice(source, language, level, { processor, waveSize }, flags);
      const { coverage } = instrumentImage({ bytes, name: source }, [await chooseTool('instruction-count')]);
      assert.deepEqual(coverage.refused, {}, source);
      assert.ok(coverage.served.borrowed > 0, source);
      const worse = coverage.kernels.filter(({ wavesPerSimd: [before, after] }) => before !== after);
      assert.deepEqual(level === 'O2' ? worse : [], [], 'no wave is lost');
    }
  });
}
