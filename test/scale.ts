import { Random } from './fuzz/random.ts';

/**
 * How much a test does: of many cases a sample, the same each time, so that all tests together take minutes;
 * `WAVEWRIGHT_SEED=N` draws another one, and `WAVEWRIGHT_SCALE=full` takes all.
 */
export const IS_FULL_SCALE = process.env['WAVEWRIGHT_SCALE'] === 'full';

/**
 * What has not ended by then hangs, in milliseconds: the 5 s that `exec` promises in a full run, which has
 * the machine for itself; else so much that other load cannot make a hang of what is slow.
 */
export const HANG_MS = IS_FULL_SCALE ? 5000 : 60_000;

/** Of what is drawn. */
export const SEED = Number(process.env['WAVEWRIGHT_SEED'] ?? 1);

/** Of each `step` neighbours one; other ones for another `turn`, such as that of the same items elsewhere. */
export function sampled<T>(items: readonly T[], step: number, turn = 0): readonly T[] {
  if (IS_FULL_SCALE) return items;
  const random = new Random(SEED);
  const places = Array.from({ length: Math.ceil(items.length / step) }, () => random.below(step));
  return items.filter((_, i) => i % step === (places[Math.floor(i / step)]! + turn) % step);
}
