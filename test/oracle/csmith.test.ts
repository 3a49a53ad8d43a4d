/**
 * Programs of csmith on this machine and on emulated GPUs, alternately at -O0 and -O2: the checksums must
 * agree. csmith also makes programs that never end, and programs that clang 19 cannot compile for gfx90a;
 * both are replaced by others.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { createEmulatedDevice } from '../../src/index.ts';
import { compare, inParallel } from '../fuzz/differential.ts';
import { Toolchain } from '../fuzz/toolchain.ts';

const [FROM = 1, COUNT = 100] = (process.env['WAVEWRIGHT_SEEDS'] ?? '1:100').split(':').map(Number);
/** For two seeds each. */
const PROCESSORS = ['gfx90a', 'gfx1100'] as const;
const MAX_REPLACED = COUNT / 2;
const LIMITS = { hostMs: 500, deviceMs: 120_000 };
const DEVICE_HEADERS = path.resolve(import.meta.dirname, '../data/csmith');
/** Programs that end soon on the host only because its compiler sees through their loops. */
const LONG: Readonly<Record<number, string>> = { 50: '-O0: a loop of 160 million turns' };
const execute = promisify(execFile);

/** csmith leaves a file where it runs. */
const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-csmith-'));
after(() => rmSync(scratch, { recursive: true }));

async function csmith(seed: number): Promise<string> {
  const { stdout } = await execute('csmith', ['--concise', '--seed', String(seed)], {
    cwd: scratch,
    maxBuffer: 2 ** 26,
  });
  return stdout;
}

test('programs of csmith print the same on the host and on GPUs', async (t) => {
  const toolchain = new Toolchain(['-isystem', '/usr/include/csmith'], ['-isystem', DEVICE_HEADERS]);
  const devices = [1, 2].map(
    () => new Map(PROCESSORS.map((name) => [name, createEmulatedDevice({ processor: name })])),
  );
  const disagreements: string[] = [];
  let instructions = 0;
  let compared = 0;
  const replaced: string[] = [];
  function* seeds(): Generator<number> {
    for (let seed = FROM; seed < FROM + COUNT + replaced.length; seed++) {
      if (LONG[seed] === undefined) yield seed;
      else replaced.push(`${seed}: ${LONG[seed]}`);
    }
  }
  try {
    await inParallel(seeds(), devices.length, async (seed, worker) => {
      const level = seed % 2 === 0 ? 'O0' : 'O2';
      const subject = { name: `csmith-${seed}`, text: await csmith(seed), levels: [level] } as const;
      const device = devices[worker]!.get(PROCESSORS[(seed >> 1) % PROCESSORS.length]!)!;
      const result = await compare(toolchain, device, subject, LIMITS);
      if (result.skipped === undefined) compared++;
      else replaced.push(`${seed}: ${result.skipped}`);
      assert.ok(replaced.length <= MAX_REPLACED, `too few programs can be compared: ${replaced.join(', ')}`);
      instructions += result.instructions;
      disagreements.push(...result.disagreements.map((text) => `${device.name}: ${text}`));
    });
  } finally {
    for (const device of devices.flatMap((each) => [...each.values()])) device.close();
    toolchain.close();
  }
  t.diagnostic(`${compared} programs, ${instructions} instructions of waves`);
  t.diagnostic(`${replaced.length} programs replaced: ${replaced.join(', ')}`);
  assert.deepEqual(disagreements, []);
  assert.ok(compared >= COUNT);
});
