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

export function conformErrors(subject: Subject): void {
  test(`${subject.name}: every function with its errors`, async (context) => {
    const devices = [subject.open(), subject.open(), subject.open()] as const;
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
    const parts = [
      runtimeFunctions,
      infoFunctions,
      signalFunctions,
      queueFunctions,
      memoryFunctions,
      sharingFunctions,
      executableFunctions,
    ];
    for (const [name, refusals] of parts.flatMap((part) => Object.entries(part(world)))) {
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
    for (const runtime of [own, other]) runtime[Symbol.dispose]();
    for (const device of devices) device.close();
  });
}
