import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applicationGoals, GOAL_KERNELS, limitGoals, ratioGoals, safetyGoals } from './goals.ts';
import { KERNELS } from './kernels.ts';
import type { ApplicationMeasurement } from './measure-application.ts';
import type { KernelMeasurement } from './measure-kernel.ts';

const report = (
  kernel: string,
  perSecond: number,
  comparisons: Readonly<Record<string, number>>,
  loops = 0,
): KernelMeasurement => ({
  ...{ target: 'gfx90a', kernel, unit: 'FMA', operations: 1, perSecond, cpuMs: 1, wallMs: 1, compileMs: 1 },
  ...{ instructions: 100, waves: 1, tiers: { reference: 0, handlers: 0, regions: 100 - loops, loops } },
  comparisons: Object.entries(comparisons).map(([name, rate]) => ({ name, perSecond: rate, ratio: perSecond / rate })),
});

test('goals name kernels that there are', () => {
  for (const name of GOAL_KERNELS)
    assert.ok(
      KERNELS.some((kernel) => kernel.name === name),
      name,
    );
});

test('a ratio is met or missed; without its baseline there is none', () => {
  const [goal, ...others] = ratioGoals([report('fma8', 15e9, { pocl: 8e9, gcc: 4e9 })]);
  assert.deepEqual(others, []);
  assert.deepEqual([goal!.measured, goal!.baseline, goal!.value, goal!.met], [15000, 8000, 1.875, false]);
  assert.equal(ratioGoals([report('fma8', 16e9, { pocl: 8e9 })])[0]!.met, true);
  assert.deepEqual(ratioGoals([report('fma8', 16e9, {})]), []);
});

test('where loops are compiled as a whole, more is wanted', () => {
  const results = ratioGoals([report('fma8', 20e9, { pocl: 8e9 }, 90)]);
  assert.deepEqual(
    results.map(({ goal, met }) => [goal, met]),
    [
      ['>= 2 x', true],
      ['>= 3 x', false],
    ],
  );
});

test('another kernel of the same target can be the baseline', () => {
  const product = report('matmul16', 1e9, {});
  assert.equal(ratioGoals([product, report('mfma16', 4e9, {})]).at(-1)!.met, true);
  assert.deepEqual(ratioGoals([{ ...product, target: 'gfx942' }, report('mfma16', 4e9, {})]), []);
});

test('checks may cost a quarter', () => {
  const metWith = (unchecked: number) => safetyGoals([report('saxpy', 1e9, { unchecked })]).map(({ met }) => met);
  assert.deepEqual([metWith(1.25e9), metWith(1.26e9)], [[true], [false]]);
  assert.deepEqual(safetyGoals([report('saxpy', 1e9, { gcc: 2e9 })]), []);
});

/** Ten milliseconds steadily and a second cold, next to a PoCL that takes so many times as long. */
const application = (name: string, launches: number, steady: number, cold: number): ApplicationMeasurement => ({
  ...{
    target: 'gfx90a',
    application: name,
    launches,
    steadyMs: 10,
    uncheckedMs: 8,
    coldMs: 1000,
    againMs: 800,
    instructions: 1,
  },
  tiers: { reference: 0, handlers: 0, regions: 1, loops: 0 },
  rivals: [{ name: 'pocl', steadyMs: 10 * steady, coldMs: 1000 * cold }],
});

test('applications are held against PoCL, and the cost of many launches and of checks against limits', () => {
  const results = applicationGoals([application('few', 2, 4, 4), application('many', 400, 0.25, 1)]);
  assert.deepEqual(
    results.map(({ what, value, met }) => [what, Number(value.toFixed(6)), met]),
    [
      ['applications on gfx90a / pocl, steady, geometric mean', 1, true],
      ['applications on gfx90a / pocl, steady, least: many', 0.25, false],
      ['applications on gfx90a / pocl, first run, geometric mean', 2, true],
      ['applications on gfx90a / pocl, first run, least: many', 1, true],
      ['few on gfx90a, first run over a steady one', 990, true],
      ['many on gfx90a, CPU of each of 400 launches', 25, false],
      ['applications on gfx90a, time with checks / without, median: many', 1.25, false],
      ['applications on gfx90a, time with checks / without, most: many', 1.25, true],
    ],
  );
});

test('starting and compiling have limits, PTX its own', () => {
  const times = { cpuMs: 120, perInstructionUs: 120, gpuInstructions: 1000, peakMemoryBytes: 3e8 };
  const results = limitGoals({
    hello: { nodeMs: 40, helloMs: 150, overNodeMs: 110, ptxMs: 180 },
    emptyDispatch: { cpuUs: 21, wallUs: 22 },
    compile: ['gfx90a', 'sm_70'].map((target, i) => ({ ...times, target, isFirst: i === 0 })),
  });
  assert.deepEqual(
    results.map(({ what, value, goal, met }) => [what, value, goal, met]),
    [
      ['hello, wall, over node -e 0', 110, '<= 150 ms', true],
      ['empty dispatch of one wave, CPU', 21, '<= 20 us', false],
      ['hello on sm_70 / gfx90a, wall', 1.2, '<= 1.2 x', true],
      ['compile 1000 instructions on gfx90a, cold, CPU of each', 120, '<= 100 us', false],
      ['compile 1000 instructions on sm_70, CPU of each', 120, '<= 150 us', true],
      ['memory after 1000 instructions on sm_70', 300, '<= 1000 MB', true],
    ],
  );
});
