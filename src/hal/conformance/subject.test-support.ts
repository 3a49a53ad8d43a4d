/** What the HAL's suite runs on: devices of all drivers, fresh for every test. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { type AgentProvider, amdgpuDriver, uuidOf } from '../amdgpu/index.ts';
import { DriverRegistry } from '../devices/driver.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { HalExecutable } from '../executables/executable.ts';
import { localDriver } from '../local/index.ts';
import { nullDriver } from '../null/index.ts';
import type { QueueEvent } from '../queues/scheduler.ts';
import { conformanceModule } from './kernels.test-support.ts';

/**
 * `execution`: dispatches run code; `code-objects`: it is that of GPUs; `faults`: code that misuses memory is
 * stopped; `native`: memory is that of a native runtime, of which a stand-in says that it executes, and does
 * not.
 */
export type SubjectTag = 'execution' | 'code-objects' | 'faults' | 'native';

export interface Subject {
  readonly name: string;
  readonly uri: string;
  readonly tags: readonly SubjectTag[];
  /** The suite's kernels. */
  readonly code: () => unknown;
}

export interface Setting {
  readonly registry: DriverRegistry;
  readonly device: LogicalDevice;
  /** Loads the suite's kernels. */
  readonly load: () => HalExecutable;
  readonly events: readonly QueueEvent[];
  readonly context: TestContext;
}

const DATA = path.resolve(import.meta.dirname, '../../../test/data/hal');
const MEMORY_BYTES = 2 ** 26;

export const conformanceCode = (target: string): Uint8Array =>
  readFileSync(path.join(DATA, `conformance.${target}.co`));

/** Threads that run kernels. */
export type TestThreads = Pick<Parameters<typeof createEmulatedDevice>[0], 'threads' | 'workers'>;

/** Emulated GPUs, as src/hal.ts has them, with little memory. */
export const testAgents = (count = 1, threads: TestThreads = {}): AgentProvider => ({
  list: (target) =>
    Array.from({ length: count }, (_, index) => {
      const processor = target === '' ? 'gfx90a' : target;
      return {
        uuid: uuidOf(`${processor} ${index}`),
        name: processor,
        open: () => createEmulatedDevice({ processor, index, memorySizeBytes: MEMORY_BYTES, ...threads }),
      };
    }),
});

const gpu = (target: string): Subject => ({
  name: target,
  uri: `amdgpu://0?target=${target}`,
  tags: ['execution', 'code-objects', 'faults'],
  code: () => conformanceCode(target),
});

export const SUBJECTS: readonly Subject[] = [
  { name: 'null', uri: 'null', tags: [], code: conformanceModule },
  { name: 'local', uri: 'local', tags: ['execution'], code: conformanceModule },
  gpu('gfx90a'),
  gpu('gfx942'),
  gpu('gfx1100'),
  gpu('gfx1201'),
];

export const createRegistry = (gpus = 1, threads: TestThreads = {}): DriverRegistry =>
  new DriverRegistry(amdgpuDriver(testAgents(gpus, threads)), localDriver(), nullDriver());

/** A URI with further parameters. */
export const withParameters = (uri: string, parameters: string): string =>
  parameters === '' ? uri : `${uri}${uri.includes('?') ? '&' : '?'}${parameters}`;

export interface CaseOptions {
  /** A subject that has not all of them skips the case by name. */
  readonly needs?: readonly SubjectTag[];
  /** Added to the parameters of the URI. */
  readonly parameters?: string;
}

/** A test of each subject, with a device of its own. */
export function onSubjects(
  name: string,
  run: (setting: Setting) => void | Promise<void>,
  { needs = [], parameters = '' }: CaseOptions = {},
): void {
  for (const subject of SUBJECTS) {
    const missing = needs.filter((tag) => !subject.tags.includes(tag));
    const skip = missing.length > 0 && `needs ${missing.join(', ')}`;
    test(`${subject.name}: ${name}`, { skip, timeout: 20_000 }, async (context) => {
      using registry = createRegistry();
      const events: QueueEvent[] = [];
      const uri = withParameters(subject.uri, parameters);
      const device = await registry.open(uri, { onEvent: (event) => events.push(event) });
      await run({ registry, device, load: () => device.load(subject.code()), events, context });
    });
  }
}
