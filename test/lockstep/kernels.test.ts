/**
 * Random programs on the reference executor, the handlers and compiled code, from the same state: registers,
 * memory and faults must be the same at the end. `WAVEWRIGHT_SEEDS=FROM:COUNT` runs other programs than the
 * usual ones.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IS_FULL_SCALE } from '../scale.ts';
import { difference, type Fill, Lockstep, randomGenerator } from './lockstep.test-support.ts';
import { KernelGenerator, WINDOW_SGPR } from './random-kernel.test-support.ts';
import { relativeProgram } from './relative-program.test-support.ts';

const [FROM = 1, COUNT = 16] = (process.env['WAVEWRIGHT_SEEDS'] ?? (IS_FULL_SCALE ? '1:200' : '1:16'))
  .split(':')
  .map(Number);
/** Programs that once were compiled to something else, and why. */
const ONCE_WRONG: Readonly<Record<number, string>> = {
  1089: 'on gfx1100: fi was not in the key of a handler after gfx90a, which has no such field, had run in the process',
  1183: 'as 1089, in waves of 64 lanes',
  6029: 'on gfx1100: a loop did not look for NaNs in lanes that are off in its first iteration, and on in the second',
  5140: 'on gfx942: a loop did not notice that a mask of the iteration before made something rare happen',
};
/** Programs of loops that once ran to something else chunk by chunk, and why. */
const ONCE_WRONG_LOOPS: Readonly<Record<number, string>> = {
  1129: 'on gfx942: what a fast way noted on skips before it gave up was counted',
  12027: 'on gfx942: a row that a wave came to in its middle ended behind the last lane',
  1166: 'on gfx1100 in waves of 64 lanes: a mask that became a constant where nothing rare happens was not there',
};
const MODES = [0x3f0, 0x3f0, 0x3f0, 0x3c0, 0x1f0, 0x330];
/** FP_ROUND, f32 in the low two bits. */
const ROUNDINGS = [0, 0, 0, 0b0101, 0b1010, 0b1111, 0b0110];
const FILLS: readonly Fill[] = ['interesting', 'random', 'small'];
const EXECS = [-1n, -1n, -1n, 0x0ffffff0ffff0001n, 0x00000000ffffffffn, 0x5a5a5a5af0f0ffffn, 1n];
/** A wave that is interrupted goes on in the tier that comes to its record first. */
const BUDGETS = [1_000_000, 40, 7];

const TARGETS = [
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1100', 32],
  ['gfx1100', 64],
] as const;

/** Runs a program from three states on all executors. */
function compare(lockstep: Lockstep, random: () => number, seed: number, words: number[], mode: number): void {
  const record = lockstep.place(words);
  for (let state = 0; state < 3; state++) {
    const fill = FILLS[random() % FILLS.length]!;
    lockstep.randomize(random, fill, BigInt.asUintN(64, EXECS[random() % EXECS.length]!), mode, 'global');
    lockstep.setWindow(WINDOW_SGPR);
    const reference = lockstep.run(record, 'reference', 1_000_000, true);
    // An instruction with two accesses makes both for 4 lanes at a time: another of them may be the first to
    // fault.
    const handlers = reference.fault === undefined ? undefined : lockstep.run(record, 'handlers', 1_000_000, true);
    assert.equal(handlers && handlers.fault === undefined, handlers && false, `seed ${seed}: no fault`);
    const expected = handlers ?? reference;
    for (const executor of ['handlers', 'jit', 'vertical', 'lanes'] as const) {
      for (const budget of BUDGETS) {
        const found = difference(lockstep.run(record, executor, budget, true), expected, lockstep.waveSize);
        assert.equal(found, undefined, `seed ${seed}, state ${state}, ${executor}, budget ${budget}: ${found}`);
      }
    }
  }
}

const randomMode = (random: () => number): number =>
  MODES[random() % MODES.length]! | ROUNDINGS[random() % ROUNDINGS.length]!;
const SEEDS = Array.from({ length: COUNT }, (_, i) => FROM + i);

for (const [processor, waveSize] of TARGETS) {
  test(`${processor} wave${waveSize}: random programs`, () => {
    const lockstep = new Lockstep(processor, waveSize);
    for (const seed of [...Object.keys(ONCE_WRONG).map(Number), ...SEEDS]) {
      const random = randomGenerator(seed);
      const mode = randomMode(random);
      const size = [4, 12, 40, 120][random() % 4]!;
      compare(lockstep, random, seed, new KernelGenerator(processor, waveSize, mode, random).program(size), mode);
    }
  });

  test(`${processor} wave${waveSize}: random loops`, () => {
    const lockstep = new Lockstep(processor, waveSize);
    for (const seed of [...Object.keys(ONCE_WRONG_LOOPS).map(Number), ...SEEDS]) {
      const random = randomGenerator(seed);
      const mode = randomMode(random);
      compare(lockstep, random, seed, new KernelGenerator(processor, waveSize, mode, random).loops(), mode);
    }
  });

  test(`${processor} wave${waveSize}: random programs with registers relative to M0`, () => {
    const lockstep = new Lockstep(processor, waveSize);
    for (const seed of SEEDS) {
      const random = randomGenerator(seed);
      const mode = randomMode(random);
      const generator = new KernelGenerator(processor, waveSize, mode, random);
      compare(lockstep, random, seed, relativeProgram(generator, processor, waveSize, random), mode);
    }
  });
}
