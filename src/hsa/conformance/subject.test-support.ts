/** What the runtime's conformance suite runs on: any device, fresh for every test. */
import { type TestContext, test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import type { Device } from '../../device/device.ts';
import type { DeviceCapability } from '../../device/properties.ts';
import type { Agent } from '../objects/agent.ts';
import { HsaError, type HsaStatus } from '../objects/status.ts';
import { createRuntime, type Runtime } from '../runtime/runtime.ts';

export interface Subject {
  readonly name: string;
  open(): Device;
  /**
   * What its devices cannot do here, whatever they say: a library that stands in for a real one runs no code.
   */
  readonly lacks?: readonly DeviceCapability[];
}

export interface CaseOptions {
  /** A subject that cannot do all of it skips the case, which says so. */
  readonly needs?: readonly DeviceCapability[];
  /** Only for subjects that cannot do this. */
  readonly without?: DeviceCapability;
}

export interface Setting {
  readonly device: Device;
  readonly runtime: Runtime;
  readonly agent: Agent;
}

/** A test with a runtime of its own; a second device makes agents of another runtime. */
export function withRuntime(
  subject: Subject,
  name: string,
  run: (setting: Setting, context: TestContext) => void,
  { needs = [], without }: CaseOptions = {},
): void {
  test(`${subject.name}: ${name}`, (context) => {
    const device = subject.open();
    const can = (what: DeviceCapability): boolean =>
      device.properties.capabilities.includes(what) && !subject.lacks?.includes(what);
    const missing = needs.filter((what) => !can(what));
    const isOther = without !== undefined && can(without);
    if (missing.length > 0 || isOther) {
      device.close();
      context.skip(isOther ? `for devices without ${without}` : `needs ${missing.join(', ')}`);
      return;
    }
    const runtime = createRuntime({ devices: [device] });
    try {
      run({ device, runtime, agent: runtime.gpuAgents[0]! }, context);
    } finally {
      runtime[Symbol.dispose]();
      device.close();
    }
  });
}

export const refused =
  (status: HsaStatus) =>
  (error: unknown): boolean => {
    if (error instanceof HsaError && error.status === status) return true;
    throw error instanceof WavewrightError ? new Error(`expected ${status}, got: ${error.message}`) : error;
  };
