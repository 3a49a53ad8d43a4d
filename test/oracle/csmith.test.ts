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
import { compare } from '../fuzz/differential.ts';
import { AMD_GPUS, type Fleet, onFleet, PTX_DEVICES, seedRange } from '../fuzz/fleets.ts';
import { Toolchain } from '../fuzz/toolchain.ts';

const LIMITS = { hostMs: 500, deviceMs: 120_000 };
const DEVICE_HEADERS = path.resolve(import.meta.dirname, '../data/csmith');
/** Programs that end soon on the host only because its compiler sees through their loops. */
const LONG: Readonly<Record<number, string>> = { 50: '-O0: a loop of 160 million turns' };
const execute = promisify(execFile);

/** csmith leaves a file where it runs. */
const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-csmith-'));
after(() => rmSync(scratch, { recursive: true }));

async function csmith(seed: number, options: readonly string[]): Promise<string> {
  const { stdout } = await execute('csmith', ['--concise', ...options, '--seed', String(seed)], {
    cwd: scratch,
    maxBuffer: 2 ** 26,
  });
  return stdout;
}

/** Numbers of programs from a seed on, and those that others take the place of. */
class Seeds {
  readonly replaced: string[] = [];
  readonly #from: number;
  readonly #count: number;

  constructor({ from, count }: { readonly from: number; readonly count: number }) {
    this.#from = from;
    this.#count = count;
  }

  /** Ends only for the moment: who replaces the last one gets another one. */
  [Symbol.iterator](): Iterator<number> {
    let seed = this.#from;
    return {
      next: () => {
        for (; seed < this.#from + this.#count + this.replaced.length; seed++) {
          const reason = LONG[seed];
          if (reason === undefined) return { value: seed++, done: false };
          this.replace(seed, reason);
        }
        return { value: undefined, done: true };
      },
    };
  }

  replace(seed: number, reason: string): void {
    this.replaced.push(`${seed}: ${reason}`);
    const isEnough = this.replaced.length <= this.#count / 2;
    assert.ok(isEnough, `too few programs can be compared: ${this.replaced.join(', ')}`);
  }
}

interface Run {
  readonly fleet: Fleet;
  readonly sample: number;
  readonly full: number;
  readonly options: readonly string[];
}

const RUNS: readonly Run[] = [
  { fleet: { ...AMD_GPUS, processors: ['gfx90a', 'gfx1100'] }, sample: 30, full: 100, options: [] },
  // Members of packed structures are not aligned, and programs access them through pointers of their type.
  { fleet: PTX_DEVICES, sample: 10, full: 300, options: ['--no-packed-struct'] },
];

for (const { fleet, options, ...sizes } of RUNS)
  test(`programs of csmith print the same on the host and on ${fleet.name}`, async (t) => {
    const toolchain = new Toolchain({
      flags: ['-isystem', '/usr/include/csmith'],
      deviceFlags: ['-isystem', DEVICE_HEADERS],
    });
    const range = seedRange(sizes);
    const seeds = new Seeds(range);
    const disagreements: string[] = [];
    let instructions = 0;
    let compared = 0;
    try {
      await onFleet(fleet, seeds, async (seed, deviceOf) => {
        const level = seed % 2 === 0 ? 'O0' : 'O2';
        const subject = { name: `csmith-${seed}`, text: await csmith(seed, options), levels: [level] } as const;
        // Two seeds each: both levels.
        const device = deviceOf(seed >> 1);
        const result = await compare(toolchain, device, subject, LIMITS);
        if (result.skipped === undefined) compared++;
        else seeds.replace(seed, result.skipped);
        instructions += result.instructions;
        disagreements.push(...result.disagreements.map((text) => `${device.name}: ${text}`));
      });
    } finally {
      toolchain.close();
    }
    t.diagnostic(`${compared} programs, ${instructions} instructions of waves`);
    t.diagnostic(`${seeds.replaced.length} programs replaced: ${seeds.replaced.join(', ')}`);
    assert.deepEqual(disagreements, []);
    assert.ok(compared >= range.count);
  });
