/**
 * IREE's conformance suite and ours on every driver, directly and by slots, with tiny rings, under other
 * schedules, on several GPUs and with threads.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeThreads } from '../../devices/emulated/node-threads.ts';
import { recordDevice } from '../devices/device-recorder.ts';
import { CTS_NAMES } from './cts-names.test-support.ts';
import { type Axis, CTS_GROUPS, OWN_GROUPS, runSuite } from './cts-run.test-support.ts';
import { createRegistry, SUBJECTS, type TestThreads } from './subject.test-support.ts';

/** Groups whose commands name buffers directly or by slots. */
const COMMANDS = /^(?:CommandBuffer|Dispatch|Transient|ZeroLength|Event)/;

interface SubjectsAxis extends Axis {
  readonly subjects: RegExp;
  /** GPUs that there are; default 1. */
  readonly gpus?: number;
  readonly threads?: TestThreads;
}

/** Groups in which operations wait for each other. */
const ORDER = /Queue|Semaphore|Pipeline|Reuse|Stress|Ring|Loss|Abort|Cross|Failure|Program/;

const TINY = 'ring=4&notifications=2&kernargs=8';

const AXES: readonly SubjectsAxis[] = [
  { name: '', subjects: /./ },
  { name: 'by slots', isIndirect: true, subjects: /./, groups: COMMANDS },
  { name: 'another schedule', parameters: 'seed=1', subjects: /local/ },
  {
    name: 'a ring of one packet',
    parameters: 'ring=1',
    isIndirect: true,
    subjects: /gfx1100/,
    groups: /Dispatch|Queue|Stress|Ring|Loss|Abort/,
  },
  { name: 'transfers by kernels', parameters: 'transfers=kernels', subjects: /gfx/ },
  {
    name: 'small blocks',
    parameters: 'block=256&ring=4&transfers=kernels',
    isIndirect: true,
    subjects: /gfx90a|gfx1100/,
    groups: COMMANDS,
  },
  {
    name: 'waits by barrier-value packets',
    parameters: 'waits=barrier-value',
    subjects: /gfx90a|gfx942/,
    groups: ORDER,
  },
  { name: 'waits by barrier packets', parameters: 'waits=barrier', subjects: /gfx90a|gfx942|gfx1100/, groups: ORDER },
  { name: 'waits by the host', parameters: 'waits=defer', subjects: /gfx90a|gfx942|gfx1100/, groups: ORDER },
  { name: 'tiny rings', parameters: TINY, subjects: /gfx90a|gfx1100/, groups: new RegExp(`${ORDER.source}|^Dispatch`) },
  {
    name: 'tiny rings and transfers by kernels',
    parameters: `${TINY}&transfers=kernels&waits=barrier`,
    isIndirect: true,
    subjects: /gfx1100/,
    groups: ORDER,
  },
  {
    name: 'recorded',
    subjects: /local|gfx942/,
    wrap: (device) => recordDevice(device, ({ method }) => assert.ok(method)),
  },
  { name: 'two GPUs', path: '1,0', subjects: /gfx90a/, gpus: 2 },
  {
    name: 'threads',
    subjects: /gfx942/,
    groups: /Dispatch|Ring|Loss|Dispose|Cross|Abort/,
    threads: { threads: nodeThreads, workers: 2 },
  },
];

test('every name of the suite has a body or a reason, and no other name is here', () => {
  const ours = Object.entries(CTS_GROUPS).map(([group, bodies]) => [group, Object.keys(bodies).toSorted()] as const);
  const theirs = Object.entries(CTS_NAMES).map(([group, names]) => [group, names.split(' ').toSorted()] as const);
  assert.deepEqual(Object.fromEntries(ours), Object.fromEntries(theirs));
  assert.deepEqual(
    Object.keys(OWN_GROUPS).filter((group) => group in CTS_NAMES),
    [],
  );
});

for (const { subjects, gpus, threads, ...axis } of AXES) {
  for (const subject of SUBJECTS)
    if (subjects.test(subject.name)) runSuite(subject, axis, createRegistry(gpus, threads));
}
