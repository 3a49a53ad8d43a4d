/**
 * Damaged recordings: each is read, dumped and planned, and ends in nothing but a `WavewrightError`, within
 * little memory. `node test/fuzz/replay-files.ts 1000000 1` mutates a million files from seed 1 on.
 */
import { WavewrightError } from '../../src/base/errors.ts';
import { seededIntegers } from '../../src/hal/core/random.ts';
import { jsonLinesOf, textLinesOf } from '../../src/replay/dump/dump.ts';
import { planReplay } from '../../src/replay/execute/plan.ts';
import { allPayloads } from '../../src/replay/format/all-payloads.test-support.ts';
import { readReplayFile } from '../../src/replay/format/file.ts';

export interface MutationResult {
  readonly count: number;
  /** Files that were refused. */
  readonly refused: number;
  /** Of the process, beyond what it had before. */
  readonly grownBytes: number;
}

const BORDERS = [0, 1, 0x7f, 0x80, 0xff];

/** Bytes changed, cut out, or put in, at places that headers and counts are likelier at. */
export function mutated(bytes: Uint8Array, random: (limit: number) => number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  for (let i = 1 + random(4); i > 0; i--) {
    const at = random(4) === 0 ? random(Math.min(copy.length, 200)) : random(copy.length);
    copy[at] = random(2) === 0 ? BORDERS[random(BORDERS.length)]! : random(256);
  }
  switch (random(6)) {
    case 0:
      return copy.subarray(0, random(copy.length + 1));
    case 1: {
      const [from, to] = [random(copy.length), random(copy.length)].toSorted((a, b) => a - b) as [number, number];
      copy.copyWithin(from, to);
      return copy;
    }
    default:
      return copy;
  }
}

/** Throws what is no `WavewrightError`, and one that says INTERNAL. `use`: what else is done with each. */
export function mutateFiles(
  count: number,
  seed: number,
  files: readonly Uint8Array[] = Array.from({ length: 8 }, (_, i) => allPayloads(seed + i)),
  use: (bytes: Uint8Array) => void = readAll,
): MutationResult {
  const random = seededIntegers(seed);
  const before = process.memoryUsage().rss;
  let [refused, most] = [0, 0];
  for (let i = 0; i < count; i++) {
    const bytes = mutated(files[i % files.length]!, random);
    try {
      use(bytes);
    } catch (error) {
      if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') {
        throw new Error(`seed ${seed}, file ${i}: ${Buffer.from(bytes).toString('base64')}`, { cause: error });
      }
      refused++;
    }
    if (i % 1000 === 0) most = Math.max(most, process.memoryUsage().rss - before);
  }
  return { count, refused, grownBytes: most };
}

function readAll(bytes: Uint8Array): void {
  const file = readReplayFile(bytes);
  for (const _ of jsonLinesOf(file));
  for (const _ of textLinesOf(file));
  planReplay(file);
}

if (import.meta.main) {
  const [count = 1_000_000, seed = 1] = process.argv.slice(2).map(Number);
  console.log(JSON.stringify(mutateFiles(count, seed)));
}
