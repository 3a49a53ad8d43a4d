/**
 * Runs damaged copies of a program: `run-mutated-images.ts IMAGE FIRST COUNT`. Prints a line `NUMBER OUTCOME`
 * for each: `status N` or the code of the error. Anything but a WavewrightError ends the process, and after
 * all of them the undamaged program must still run.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createEmulatedDevice, WavewrightError } from '../../src/index.ts';
import { mutate } from './mutations.ts';
import { Random } from './random.ts';
import { runImage } from './run-image.ts';

const MEMORY_BYTES = 2 ** 28;
const LIMIT_MS = 60;
/** The time limit is looked at between slices: a run that takes this long was out of its control. */
const STUCK_MS = 5000;

const [imagePath = '', first = '1', count = '1'] = process.argv.slice(2);
const original = readFileSync(imagePath);
const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: MEMORY_BYTES });

async function outcomeOf(bytes: Uint8Array): Promise<string> {
  try {
    const { status } = await runImage(bytes, { device, args: ['fuzz'], timeoutMs: LIMIT_MS });
    return `status ${status}`;
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    return error.code;
  }
}

const { stdout, status } = await runImage(original, { device, args: ['fuzz'] });
for (let number = Number(first); number < Number(first) + Number(count); number++) {
  console.log(`${number} starts`);
  const startMs = performance.now();
  const outcome = await outcomeOf(mutate(original, new Random(number)));
  console.log(`${number} ${outcome}`);
  assert.notEqual(outcome, 'INTERNAL');
  const durationMs = performance.now() - startMs;
  assert.ok(durationMs < STUCK_MS, `image ${number} took ${Math.round(durationMs)} ms`);
}
const again = await runImage(original, { device, args: ['fuzz'] });
assert.deepEqual({ stdout: again.stdout, status: again.status }, { stdout, status });
device.close();
console.log('undamaged: the same');
