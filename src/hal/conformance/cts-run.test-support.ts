/** Runs the bodies of the suite on a device: IREE's, by its names, and ours. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { DriverRegistry } from '../devices/driver.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { HalExecutable } from '../executables/executable.ts';
import { type Body, type Group, World } from './cts.test-support.ts';
import * as core from './cts-core.test-support.ts';
import * as dispatch from './cts-dispatch.test-support.ts';
import * as external from './cts-external.test-support.ts';
import * as lifetime from './cts-lifetime.test-support.ts';
import * as limits from './cts-limits.test-support.ts';
import * as memory from './cts-memory.test-support.ts';
import * as order from './cts-order.test-support.ts';
import * as programs from './cts-programs.test-support.ts';
import * as submission from './cts-submission.test-support.ts';
import * as transfer from './cts-transfer.test-support.ts';
import { type Subject, withParameters } from './subject.test-support.ts';

type Groups = Readonly<Record<string, Group>>;

/** The groups of IREE's suite. */
export const CTS_GROUPS: Groups = { ...core, ...transfer, ...memory, ...dispatch, ...submission };
/** What that suite does not ask for. */
export const OWN_GROUPS: Groups = { ...order, ...lifetime, ...external, ...programs, ...limits };
const GROUPS: Groups = { ...CTS_GROUPS, ...OWN_GROUPS };

/** One way to run the suite on a subject. */
export interface Axis {
  /** Empty for the plain one. */
  readonly name: string;
  /** Added to the parameters of the URI. */
  readonly parameters?: string;
  /** GPUs that are opened, in place of the subject's. */
  readonly path?: string;
  /** Whether command buffers name buffers by slots. */
  readonly isIndirect?: boolean;
  /** What the bodies get in place of the device. */
  readonly wrap?: (device: LogicalDevice) => LogicalDevice;
  /** Default: all. */
  readonly groups?: RegExp;
}

/** A body of the suite for a subject. */
export interface SuiteBody {
  readonly name: string;
  readonly run: Body;
  /** Why the subject has it not; false where it has. */
  readonly skip: string | false;
}

/** The bodies of some groups, or of all, in their order. */
export function suiteBodies(subject: Subject, groups = /./): SuiteBody[] {
  const chosen = Object.entries(GROUPS).filter(([group]) => groups.test(group));
  return chosen.flatMap(([group, bodies]) =>
    Object.entries(bodies).map(([body, entry]) => {
      const name = `${group}.${body}`;
      if (typeof entry === 'string') return { name, run: () => {}, skip: entry };
      const { needs, body: run } = typeof entry === 'object' ? entry : { needs: [], body: entry };
      const missing = needs.filter((tag) => !subject.tags.includes(tag));
      return { name, run, skip: missing.length > 0 && `needs ${missing.join(', ')}` };
    }),
  );
}

/** Runs the bodies on one device; after each of them nothing of it is left. */
export function runSuite(subject: Subject, axis: Axis, registry: DriverRegistry): void {
  const { name: axisName, parameters = '', path = '0', isIndirect = false, groups, wrap } = axis;
  after(() => registry[Symbol.dispose]());
  let loaded: HalExecutable | undefined;
  const uri = withParameters(subject.uri.replace('//0', `//${path}`), parameters);
  const opened = registry.open(uri).then((device) => wrap?.(device) ?? device);
  for (const { name, run, skip } of suiteBodies(subject, groups)) {
    const title = [subject.name, axisName, name].filter((part) => part !== '').join(': ');
    test(title, { skip, timeout: 30_000 }, async () => {
      const device = await opened;
      const code = (): HalExecutable => {
        loaded ??= device.load(subject.code());
        return loaded;
      };
      const world = new World({ subject, registry, uri, device, code, isIndirect });
      await run(world);
      world.dispose();
      await device.queue().barrier();
      assert.deepEqual(device.pendingCounts, { waiting: 0, running: 0 });
      const { liveCount, liveBytes } = device.allocator.statistics;
      assert.deepEqual([liveCount, liveBytes], [0, 0], 'no memory is left');
    });
  }
}
