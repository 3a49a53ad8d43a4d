/**
 * Whatever bodies of the conformance suite and random programs do is recorded, and comes out the same in a
 * replay on another device: bytes that the host sees, statuses of all operations. `WAVEWRIGHT_SCALE=full`
 * takes all bodies on all devices and 1,000 programs.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IS_FULL_SCALE } from '../../../test/scale.ts';
import { World } from '../../hal/conformance/cts.test-support.ts';
import { suiteBodies } from '../../hal/conformance/cts-run.test-support.ts';
import { randomProgram } from '../../hal/conformance/random-program.test-support.ts';
import { differences } from '../../hal/conformance/random-run.test-support.ts';
import { createRegistry, SUBJECTS, type Subject } from '../../hal/conformance/subject.test-support.ts';
import type { DriverRegistry, HalExecutable } from '../../hal/index.ts';
import { recorded, replayed } from './recorded-suite.test-support.ts';

/** Bodies that are about what a recording changes, or leave open what comes of them. */
const EXCEPTIONS: ReadonlySet<string> = new Set([
  // It counts who listens to an abort signal.
  'AbortTest.SignalsAreNotKept',
  // What ends before a device is closed is not determined.
  'RingTest.ClosedWhileTheRingIsFull',
]);

const subjectNamed = (name: string): Subject => SUBJECTS.find((each) => each.name === name)!;

/** Groups for the sample on a GPU: what differs most from `local`. */
const SAMPLE = /^(?:Dispatch|CommandBufferDispatch|Program|Fault|ExternalMemory|Executable|Loss)/;
const SUITES: readonly (readonly [string, RegExp])[] = IS_FULL_SCALE
  ? SUBJECTS.map(({ name }) => [name, /./] as const)
  : [
      ['local', /^(?!.*(?:Stress|Large))/],
      ['gfx90a', SAMPLE],
    ];

for (const [name, groups] of SUITES) {
  const subject = subjectNamed(name);
  for (const body of suiteBodies(subject, groups)) {
    const skip = body.skip || (EXCEPTIONS.has(body.name) && 'it is not determined, or about recordings themselves');
    test(`${name}: ${body.name} is the same in a replay`, { skip, timeout: 60_000 }, async () => {
      using registry = createRegistry(2);
      const bytes = await recorded(registry, async (open) => {
        const device = await open.open(subject.uri);
        let loaded: HalExecutable | undefined;
        const code = (): HalExecutable => {
          loaded ??= device.load(subject.code());
          return loaded;
        };
        const world = new World({ subject, registry: open, uri: subject.uri, device, code, isIndirect: false });
        await body.run(world);
        world.dispose();
        await device.queue().barrier();
      });
      for (const order of ['recorded', 'parallel'] as const) {
        const outcome = await replayed(subject, bytes, { order, timeoutMs: 20_000 });
        assert.deepEqual(outcome.differences, [], order);
        assert.ok(outcome.comparedCount > 0);
      }
    });
  }
}

interface Programs {
  readonly subject: string;
  readonly count: number;
  readonly parameters: string;
}

const PROGRAMS: readonly Programs[] = [
  { subject: 'local', count: IS_FULL_SCALE ? 400 : 40, parameters: 'seed=3' },
  { subject: 'null', count: IS_FULL_SCALE ? 100 : 10, parameters: '' },
  { subject: 'gfx90a', count: IS_FULL_SCALE ? 300 : 20, parameters: 'waits=barrier&ring=4&notifications=2' },
  { subject: 'gfx1100', count: IS_FULL_SCALE ? 200 : 5, parameters: 'waits=defer' },
];

async function recordedProgram(subject: Subject, registry: DriverRegistry, seed: number): Promise<Uint8Array> {
  return recorded(registry, async (open) => {
    const device = await open.open(subject.uri);
    const code = device.load(subject.code());
    const storeAt = subject.tags.includes('faults') ? code.lookup('store_at') : undefined;
    const found = await differences({ device, mix: code.lookup('mix'), storeAt }, randomProgram(seed, 24));
    assert.deepEqual(found, []);
  });
}

for (const { subject: name, count, parameters } of PROGRAMS) {
  test(`${name}: ${count} random programs are the same in replays, one after the other and side by side`, async () => {
    const subject = subjectNamed(name);
    for (let seed = 1; seed <= count; seed++) {
      using registry = createRegistry(1);
      const bytes = await recordedProgram(subject, registry, seed);
      for (const order of ['recorded', 'parallel'] as const) {
        const outcome = await replayed(subject, bytes, { order, timeoutMs: 20_000 }, parameters);
        assert.deepEqual(outcome.differences, [], `seed ${seed}, ${order}`);
      }
    }
  });
}
