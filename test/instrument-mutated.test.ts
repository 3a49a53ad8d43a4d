/**
 * Damaged code objects are instrumented, or refused with an error that says why: nothing else is thrown, and
 * none of them takes long. `WAVEWRIGHT_SCALE=full` damages a thousand.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../src/base/errors.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { PF_X } from '../src/elf/constants.ts';
import { instrumentImage } from '../src/instrument/index.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { readTestFile } from './data/codeobjects/load.ts';
import { mutate } from './fuzz/mutations.ts';
import { Random } from './fuzz/random.ts';

const COUNT = process.env['WAVEWRIGHT_SCALE'] === 'full' ? 1000 : 40;
const STUCK_MS = 20_000;
const FILES = ['kernels.gfx90a.v5.co', 'kernels.gfx942.v5.co', 'kernels.gfx1100.v5.co', 'arguments.gfx90a.v5.co'];

/** A few bits of the code alone, so that much of it is still code. */
function damageCode(bytes: Uint8Array, random: Random): Uint8Array {
  const { elf } = parseCodeObject(bytes, 'before');
  const { offset, fileSizeBytes } = elf.segments.find(({ flags }) => (flags & PF_X) !== 0)!;
  for (let count = random.between(1, 4); count > 0; count--) {
    bytes[Number(offset) + random.below(Number(fileSizeBytes))]! ^= 1 << random.below(8);
  }
  return bytes;
}

test('damaged code objects end in clear errors', async (t) => {
  const use = await chooseTool('instruction-count');
  const outcomes = new Map<string, number>();
  for (let seed = 0; seed < COUNT; seed++) {
    const file = FILES[seed % FILES.length]!;
    const random = new Random(seed);
    const whole = Uint8Array.from(readTestFile(file));
    const bytes = random.chance(30) ? mutate(whole, random) : damageCode(whole, random);
    const startMs = performance.now();
    let outcome = 'instrumented';
    try {
      instrumentImage({ bytes, name: file }, [use]);
    } catch (error) {
      if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') {
        throw new Error(`${file}, seed ${seed}`, { cause: error });
      }
      outcome = error.code;
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const durationMs = performance.now() - startMs;
    assert.ok(durationMs < STUCK_MS, `${file}, seed ${seed}: ${Math.round(durationMs)} ms`);
  }
  t.diagnostic([...outcomes].map(([name, count]) => `${count} ${name}`).join(', '));
  assert.ok(outcomes.size > 1);
});
