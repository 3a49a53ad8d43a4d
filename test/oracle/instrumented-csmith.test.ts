/**
 * Programs of csmith with tools in them: they print what they printed, execute the same instructions of their
 * own, and tools say what the emulator counts. A few are drawn; `WAVEWRIGHT_SEED` draws others,
 * `WAVEWRIGHT_SCALE=full` more.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import type { Level } from '../fuzz/build-targets.ts';
import { Toolchain } from '../fuzz/toolchain.ts';
import { IS_FULL_SCALE, SEED } from '../scale.ts';
import { hasClang } from './device-code.ts';
import type { ProgramImage } from './program-runs.ts';
import { instructionsOf, runNative, testWithTools } from './program-tools.ts';

const COUNT = IS_FULL_SCALE ? 60 : 6;
const LEVELS: readonly Level[] = ['O0', 'O1', 'O2', 'O3', 'Os'];
const PROCESSORS = ['gfx90a', 'gfx942', 'gfx1100'];
/** Larger programs take long to rewrite, several times over. */
const SMALL = ['--concise', '--max-funcs', '3', '--max-block-depth', '2'];
const MAX_IMAGE_BYTES = IS_FULL_SCALE ? 250_000 : 100_000;
/** Those that do more take minutes on the reference executor. */
const MAX_INSTRUCTIONS = IS_FULL_SCALE ? 1_000_000 : 400_000;
const DEVICE_HEADERS = path.resolve(import.meta.dirname, '../data/csmith');
const SEED_STEP = 1000;
const execute = promisify(execFile);

/** csmith leaves a file where it runs. */
const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-csmith-tools-'));
const toolchain = new Toolchain({
  flags: ['-isystem', '/usr/include/csmith'],
  deviceFlags: ['-isystem', DEVICE_HEADERS],
});
after(() => {
  toolchain.close();
  rmSync(scratch, { recursive: true });
});

const drawnSeeds = (): readonly number[] => Array.from({ length: COUNT }, (_, i) => (SEED * COUNT + i) * SEED_STEP);

/** Undefined for programs that do not end or fail here, cannot be compiled, or are too large. */
async function compiled(seed: number, level: Level, processor: string): Promise<ProgramImage | undefined> {
  const options = { cwd: scratch, maxBuffer: 2 ** 26 };
  const { stdout } = await execute('csmith', [...SMALL, '--seed', String(seed)], options);
  const source = toolchain.source(`csmith-${seed}`, stdout);
  const host = await toolchain.onHost(source, { timeoutMs: 5000 }).catch(() => undefined);
  if (host === undefined) return undefined;
  const bytes = await toolchain.forDevice(source, level, processor);
  if (bytes === undefined || bytes.length > MAX_IMAGE_BYTES) return undefined;
  return { bytes, processor, name: `csmith-${seed}` };
}

for (const seed of hasClang ? drawnSeeds() : []) {
  const turn = seed / SEED_STEP;
  const level = LEVELS[turn % LEVELS.length]!;
  const processor = PROCESSORS[turn % PROCESSORS.length]!;
  test(`${processor} -${level}: a program of csmith from seed ${seed} on`, async (t) => {
    for (let next = seed; ; next++) {
      const image = await compiled(next, level, processor);
      if (!image) continue;
      const native = await runNative(image);
      const instructions = instructionsOf(native);
      if (instructions > MAX_INSTRUCTIONS) continue;
      t.diagnostic(`${image.name}, ${image.bytes.length} bytes, ${instructions} instructions`);
      await testWithTools(native);
      return;
    }
  });
}
