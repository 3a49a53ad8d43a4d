/** The runtime's suite for any device: what holds on the emulator holds on a real GPU. */
import { conformErrors } from './errors.test-support.ts';
import { conformExecution } from './execution.test-support.ts';
import { conformInfo } from './info.test-support.ts';
import { conformIpc } from './ipc.test-support.ts';
import { conformMemory } from './memory.test-support.ts';
import { conformObjects } from './objects.test-support.ts';
import type { Subject } from './subject.test-support.ts';

export function conform(subject: Subject): void {
  conformInfo(subject);
  conformMemory(subject);
  conformObjects(subject);
  conformExecution(subject);
  conformErrors(subject);
  conformIpc(subject);
}
