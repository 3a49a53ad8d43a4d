/**
 * Every function of priority P0 and P1 with the errors that the specification names for it: after the end of
 * the runtime, with null, with objects of another runtime, with destroyed ones, after freezing, with sizes
 * and agents that cannot be.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../device/device.ts';
import type { HsaStatus } from '../objects/status.ts';
import { createRuntime, type Runtime } from '../runtime/runtime.ts';
import { executableFunctions } from './executable-errors.test-support.ts';
import { infoFunctions, runtimeFunctions } from './info-errors.test-support.ts';
import { memoryFunctions, sharingFunctions } from './memory-errors.test-support.ts';
import { queueFunctions, signalFunctions } from './object-errors.test-support.ts';
import { refused, type Subject } from './subject.test-support.ts';
import { destroy, type Objects, objectsOf, type World } from './world.test-support.ts';

const PARTS = [
  runtimeFunctions,
  infoFunctions,
  signalFunctions,
  queueFunctions,
  memoryFunctions,
  sharingFunctions,
  executableFunctions,
];

function openWorld(open: () => Device): { readonly world: World; end(): void } {
  const devices = [open(), open(), open()] as const;
  const [own, other, ended] = devices.map((device) => createRuntime({ devices: [device] })) as [
    Runtime,
    Runtime,
    Runtime,
  ];
  const objects = (device: Device, runtime: Runtime): Objects => objectsOf(device, runtime, runtime.gpuAgents[0]!);
  const world: World = {
    own: objects(devices[0], own),
    gone: objects(devices[0], own),
    other: objects(devices[1], other),
    ended: objects(devices[2], ended),
  };
  destroy(world.gone);
  ended[Symbol.dispose]();
  const end = (): void => {
    for (const runtime of [own, other]) runtime[Symbol.dispose]();
    for (const device of devices) device.close();
  };
  return { world, end };
}

/** The statuses of each row: names of functions in C, and with what they refuse. */
export function refusalsOf(open: () => Device): readonly (readonly [string, readonly string[]])[] {
  const { world, end } = openWorld(open);
  const rows = PARTS.flatMap((part) => Object.entries(part(world)));
  end();
  return rows.map(([name, refusals]) => {
    const tried = Object.entries(refusals).filter(([, calls]) => calls.length > 0);
    return [name, tried.map(([status]) => status)];
  });
}

export function conformErrors(subject: Subject): void {
  test(`${subject.name}: every function with its errors`, async (context) => {
    const { world, end } = openWorld(() => subject.open());
    for (const [name, refusals] of PARTS.flatMap((part) => Object.entries(part(world)))) {
      await context.test(name, () => {
        for (const [status, calls] of Object.entries(refusals)) {
          for (const call of calls) assert.throws(call, refused(status as HsaStatus), `${status}: ${call}`);
        }
      });
    }
    await context.test('what was refused changed nothing', () => {
      const { runtime, executable, queue, signal, pool, address } = world.own;
      assert.deepEqual([queue.writeIndex, signal.load(), runtime.progress()], [0n, 1n, 'idle']);
      executable.freeze();
      pool.free(address);
    });
    end();
  });
}
