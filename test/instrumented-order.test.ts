/**
 * In kernels with tools in them, each wave executes the original instructions that it executes without, in
 * the same order, and finds the same in each register that is live there.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { instrumentCodeObject } from '../src/instrument/instrument.ts';
import type { PcMap } from '../src/instrument/layout/pc-map.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';
import { differenceOf, type RunCode } from './rewritten-sides.ts';
import { IS_FULL_SCALE } from './scale.ts';
import { imageOf, type KernelCase, kernelCases, TARGETS } from './tool-runs.test-support.ts';

/** Divergent loops; LDS, barriers and atomics; numbers that by chance are addresses of code. */
const NAMES = ['gather', 'collatz', 'histogram', 'ihash'];
const CHOSEN = IS_FULL_SCALE ? undefined : NAMES;
/** In each dimension. */
const MAX_WORKGROUPS = 1;
const NOP = 0xbf80_0000;
const TOOLS = ['identity', 'instruction-count', 'block-count', 'memory-trace'];

interface NewCode {
  readonly bytes: Uint8Array;
  readonly map: PcMap;
}

async function rewritten(each: KernelCase, tool: string): Promise<NewCode> {
  const image = imageOf(each);
  if (tool === 'identity') return instrumentCodeObject(image.bytes, { name: image.name });
  return new ToolSession([await chooseTool(tool)]).rewrite(image);
}

const runner =
  ({ processor, benchmark }: KernelCase): RunCode =>
  (bytes, observer, launches) => {
    const { name, kernel = name } = benchmark;
    const launch = benchmark.launch('small');
    const grid = launch.grid.map((size, axis) => Math.min(size, MAX_WORKGROUPS * launch.workgroup[axis]!));
    using runner = new KernelRunner({ processor, executor: 'reference', observer }, launches);
    runner.prepare({ bytes, name }, kernel, { ...launch, grid })();
  };

for (const processor of TARGETS) {
  for (const each of kernelCases(processor, CHOSEN)) {
    test(`${each.file}: the same instructions, in the same order, find the same registers`, async () => {
      const original = imageOf(each).bytes;
      for (const tool of TOOLS) {
        const { bytes, map } = await rewritten(each, tool);
        assert.equal(differenceOf({ original, bytes, map }, runner(each)), undefined, tool);
      }
    });
  }
}

test('an EXEC that a payload does not put back is found behind it', async () => {
  const [each = assert.fail('no kernel')] = kernelCases('gfx90a', ['gather']);
  const { bytes, map } = await rewritten(each, 'instruction-count');
  const codeObject = parseCodeObject(bytes, 'whole');
  const code = liftCodeObject(codeObject);
  const { address } = map.rows.find(
    (row) => row.kind === 'payload' && /^s_mov_b64 exec, s/.test(code.stepAt(row.address)!.text()),
  )!;
  const word = codeObject.elf.read(BigInt(address), 4, 'an instruction');
  new DataView(word.buffer, word.byteOffset).setUint32(0, NOP, true);
  const difference = differenceOf({ original: imageOf(each).bytes, bytes, map }, runner(each));
  assert.match(difference!.registers[0]!, /^exec /);
});
