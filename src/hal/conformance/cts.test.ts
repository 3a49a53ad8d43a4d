/** IREE's conformance suite on every driver, directly and by slots, under tiny rings and other schedules. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { HalExecutable } from '../executables/executable.ts';
import { type Group, World } from './cts.test-support.ts';
import * as core from './cts-core.test-support.ts';
import * as dispatch from './cts-dispatch.test-support.ts';
import * as memory from './cts-memory.test-support.ts';
import { CTS_NAMES } from './cts-names.test-support.ts';
import * as submission from './cts-submission.test-support.ts';
import * as transfer from './cts-transfer.test-support.ts';
import { createRegistry, SUBJECTS, type Subject, withParameters } from './subject.test-support.ts';

const GROUPS: Readonly<Record<string, Group>> = { ...core, ...transfer, ...memory, ...dispatch, ...submission };
/** Groups whose commands name buffers directly or by slots. */
const COMMANDS = /^(?:CommandBuffer|Dispatch|Transient)/;

interface Axis {
  readonly name: string;
  readonly parameters: string;
  /** GPUs that there are, and the path of those that are opened, in place of the subject's. */
  readonly gpus?: readonly [number, string];
  readonly isIndirect: boolean;
  readonly subjects: RegExp;
  readonly groups: RegExp;
}

const AXES: readonly Axis[] = [
  { name: '', parameters: '', isIndirect: false, subjects: /./, groups: /./ },
  { name: 'by slots', parameters: '', isIndirect: true, subjects: /./, groups: COMMANDS },
  { name: 'another schedule', parameters: 'seed=1', isIndirect: false, subjects: /local/, groups: /./ },
  {
    name: 'a ring of one packet',
    parameters: 'ring=1',
    isIndirect: true,
    subjects: /gfx1100/,
    groups: /Dispatch|Queue/,
  },
  {
    name: 'transfers by kernels',
    parameters: 'transfers=kernels',
    isIndirect: false,
    subjects: /gfx/,
    groups: /./,
  },
  {
    name: 'two GPUs',
    parameters: '',
    gpus: [2, '1,0'],
    isIndirect: false,
    subjects: /gfx90a/,
    groups: /./,
  },
];

test('every name of the suite has a body or a reason, and no other name is here', () => {
  const ours = Object.entries(GROUPS).map(([group, bodies]) => [group, Object.keys(bodies).toSorted()] as const);
  const theirs = Object.entries(CTS_NAMES).map(([group, names]) => [group, names.split(' ').toSorted()] as const);
  assert.deepEqual(Object.fromEntries(ours), Object.fromEntries(theirs));
});

/** Runs the bodies on one device; after each of them nothing of it is left. */
function runOn(subject: Subject, { name, parameters, gpus, isIndirect, groups }: Axis): void {
  const [gpuCount, path] = gpus ?? [1, '0'];
  const registry = createRegistry(gpuCount);
  after(() => registry[Symbol.dispose]());
  let code: HalExecutable | undefined;
  const opened = registry.open(withParameters(subject.uri.replace('//0', `//${path}`), parameters));
  for (const [group, bodies] of Object.entries(GROUPS)) {
    if (!groups.test(group)) continue;
    for (const [body, entry] of Object.entries(bodies)) {
      const { needs, run } =
        typeof entry === 'object' ? { needs: entry.needs, run: entry.body } : { needs: [], run: entry };
      const missing = needs.filter((tag) => !subject.tags.includes(tag));
      const skip = typeof run === 'string' ? run : missing.length > 0 && `needs ${missing.join(', ')}`;
      const title = [subject.name, name, `${group}.${body}`].filter((part) => part !== '').join(': ');
      test(title, { skip, timeout: 30_000 }, async () => {
        const device = await opened;
        const load = (): HalExecutable => {
          code ??= device.load(subject.code());
          return code;
        };
        const world = new World(subject, registry, device, load, isIndirect);
        if (typeof run !== 'string') await run(world);
        world.dispose();
        await device.queue().barrier();
        assert.deepEqual(device.pendingCounts, { waiting: 0, running: 0 });
        const { liveCount, liveBytes } = device.allocator.statistics;
        assert.deepEqual([liveCount, liveBytes], [0, 0], 'no memory is left');
      });
    }
  }
}

for (const axis of AXES) {
  for (const subject of SUBJECTS) if (axis.subjects.test(subject.name)) runOn(subject, axis);
}
