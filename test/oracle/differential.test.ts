/**
 * Generated C programs on this machine and on the emulated gfx90a, at -O0 and -O2: every checksum must agree. A disagreement names
 * the seed; `WAVEWRIGHT_SEEDS=FROM:COUNT` runs other programs than the usual ones.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { makeProgram } from '../fuzz/c-programs/program.ts';
import { compare, inParallel } from '../fuzz/differential.ts';
import { Toolchain } from '../fuzz/toolchain.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const INCLUDES = ['test/data/c-programs', 'examples/device'].map((folder) => `-I${path.join(ROOT, folder)}`);
const [FROM = 1, COUNT = 320] = (process.env['WAVEWRIGHT_SEEDS'] ?? '1:320').split(':').map(Number);
const LIMITS = { hostMs: 10_000, deviceMs: 60_000 };
/** One work-item that may change static data, part of a wave, a whole wave and a part of another. */
const THREADS = [
  [1, 1, 1],
  [1, 1, 1],
  [13, 1, 1],
  [10, 7, 1],
] as const;

test('generated programs print the same on the host and on gfx90a', async (t) => {
  const toolchain = new Toolchain(INCLUDES);
  const disagreements: string[] = [];
  let instructions = 0;
  const seeds = Array.from({ length: COUNT }, (_, i) => FROM + i);
  try {
    await inParallel(seeds, 2, async (seed) => {
      const threads = THREADS[seed % THREADS.length]!;
      const text = makeProgram({ seed, alone: threads[0] === 1 });
      const subject = { name: `seed-${seed}`, text, levels: ['O0', 'O2'], threads } as const;
      const result = await compare(toolchain, subject, LIMITS);
      assert.equal(result.skipped, undefined, `seed ${seed}`);
      instructions += result.instructions;
      disagreements.push(...result.disagreements);
    });
  } finally {
    toolchain.close();
  }
  t.diagnostic(`${COUNT} programs, ${2 * COUNT} images, ${instructions} instructions of waves`);
  assert.deepEqual(disagreements, []);
});
