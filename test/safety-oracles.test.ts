/**
 * The oracles of test/fuzz for a few seconds, each with a fixed seed and on every target: GPU code does not
 * leave its memory, executors agree, nothing is INTERNAL, and the host has its turn in time. For longer:
 * `node test/fuzz/NAME.ts --seconds=3600`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration } from './fuzz/duration.ts';
import { attackDevice } from './fuzz/exec-socket.ts';
import { createInstructions, instructions } from './fuzz/instructions.ts';
import { isolation } from './fuzz/isolation.ts';
import { ORACLE_TARGETS, type Oracle, runOracle, type Tally } from './fuzz/oracle.ts';
import { packets } from './fuzz/packets.ts';
import { reclaim } from './fuzz/reclaim.ts';

const SEED = 1;

interface Sample {
  readonly oracle: Oracle;
  /** On each target. */
  readonly iterations: number;
  /** What must have happened, so that an oracle that tests nothing is noticed. */
  readonly happens: (tally: Tally) => boolean;
}

const event = (tally: Tally, name: string): number => tally.events.get(name) ?? 0;

const SAMPLES: readonly Sample[] = [
  {
    oracle: instructions,
    iterations: 25,
    happens: (tally) => tally.faults.size > 4 && event(tally, 'trap') > tally.executions / 10,
  },
  {
    oracle: isolation,
    iterations: 10,
    happens: (tally) => event(tally, 'neighbours unharmed') > 0 && event(tally, 'no secret found') > 0,
  },
  {
    oracle: packets,
    iterations: 30,
    happens: (tally) => tally.faults.size > 1 && event(tally, 'checks after serve') > tally.executions,
  },
  {
    oracle: reclaim,
    iterations: 12,
    happens: (tally) => event(tally, 'code replaced') > 0 && tally.faults.has('memory'),
  },
  { oracle: duration, iterations: 5, happens: (tally) => tally.executions > 0 },
];

for (const { oracle, iterations, happens } of SAMPLES) {
  test(`${oracle.name}: no finding`, (context) => {
    const tally = runOracle(oracle, { targets: ORACLE_TARGETS, iterations, seed: SEED });
    context.diagnostic(String(tally));
    assert.deepEqual(tally.findings, []);
    assert.ok(happens(tally), String(tally));
  });
}

test('an executor that does not check its accesses is found', () => {
  const oracle = createInstructions({ checksAccesses: false });
  const { findings } = runOracle(oracle, { targets: ['gfx90a'], iterations: 100, seed: SEED, findings: 1 });
  assert.equal(findings.length, 1);
});

const withoutExec = process.platform === 'linux' && process.arch === 'x64' ? false : 'exec is for x64 Linux';

test('exec-socket: no finding', { skip: withoutExec }, async (context) => {
  const { events, findings } = await attackDevice(30, SEED);
  context.diagnostic([...events].join('; '));
  assert.deepEqual(findings, []);
  assert.ok(events.get('waves')! > 0 && events.get('reported USAGE')! > 0);
});
