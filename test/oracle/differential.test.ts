/**
 * Generated C programs on this machine and on emulated GPUs, at -O0 and -O2: every checksum must agree. A
 * disagreement names the seed, on which the GPU depends; `WAVEWRIGHT_SEEDS=FROM:COUNT` runs other programs
 * than the usual ones.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { makeProgram } from '../fuzz/c-programs/program.ts';
import { compare } from '../fuzz/differential.ts';
import { AMD_GPUS, onFleet, PTX_DEVICES, seedRange } from '../fuzz/fleets.ts';
import { Toolchain } from '../fuzz/toolchain.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const INCLUDES = ['test/data/c-programs', 'examples/device'].map((folder) => `-I${path.join(ROOT, folder)}`);
const LIMITS = { hostMs: 10_000, deviceMs: 60_000 };
/** One work-item that may change static data, part of a wave, a whole wave and a part of another. */
const THREADS = [
  [1, 1, 1],
  [1, 1, 1],
  [13, 1, 1],
  [10, 7, 1],
] as const;

/** Programs that clang 19 miscompiles, and where the generated code can be seen to be wrong. */
const MISCOMPILED: Readonly<Record<number, string>> = {
  245: '-O2: (0.0 - x) - x becomes -x - x, which is another zero for x = 0.0',
};

const RUNS = [
  { fleet: AMD_GPUS, ...seedRange({ sample: 72, full: 360 }) },
  { fleet: PTX_DEVICES, ...seedRange({ sample: 16, full: 300 }) },
];

for (const { fleet, from, count } of RUNS)
  test(`generated programs print the same on the host and on ${fleet.name}`, async (t) => {
    const toolchain = new Toolchain({ flags: INCLUDES });
    const disagreements: string[] = [];
    const skipped: number[] = [];
    let instructions = 0;
    const seeds = Array.from({ length: count }, (_, i) => from + i).filter((seed) => MISCOMPILED[seed] === undefined);
    try {
      await onFleet(fleet, seeds, async (seed, deviceOf) => {
        const threads = THREADS[seed % THREADS.length]!;
        const text = makeProgram({ seed, alone: threads[0] === 1 });
        const subject = { name: `seed-${seed}`, text, levels: ['O0', 'O2'], threads } as const;
        // For all numbers of threads.
        const device = deviceOf(seed >> 2);
        const result = await compare(toolchain, device, subject, LIMITS);
        assert.notEqual(result.skipped, 'too long on the host', `seed ${seed}`);
        if (result.skipped !== undefined) skipped.push(seed);
        instructions += result.instructions;
        disagreements.push(...result.disagreements.map((text) => `${device.name}: ${text}`));
      });
    } finally {
      toolchain.close();
    }
    const compared = seeds.length - skipped.length;
    t.diagnostic(`${compared} programs, ${2 * compared} images, ${instructions} instructions of waves`);
    t.diagnostic(`seeds of programs that clang fails to compile: ${skipped.join(', ')}`);
    assert.deepEqual(disagreements, []);
    assert.ok(compared >= 0.9 * count);
  });
