/** Tools between a launcher and its device: they see code when it is loaded, and packets before they run. */
import type { Executable } from '../executables/executable.ts';
import type { Agent } from '../objects/agent.ts';
import { PACKET_TYPE } from '../objects/layouts.ts';
import { decodeHeader } from '../queues/packet.ts';
import type { FinishedPacket } from '../queues/packet-processor.ts';
import type { Queue, QueueOptions } from '../queues/queue.ts';
import type { Runtime } from './runtime.ts';

export interface LaunchObserver {
  /** The code is in memory, relocated; nothing has run but constructors. */
  onLoaded(runtime: Runtime, agent: Agent, executable: Executable): void;
  /**
   * A kernel dispatch packet of 64 bytes is on its way to the device, and may be changed: the kernel object
   * and the sizes of its segments. Kernels that call constructors are not shown.
   */
  onLaunch(packet: DataView): void;
  /** A packet is over. */
  onPacket?(packet: FinishedPacket): void;
  /** All kernels are over; memory is still as they left it. */
  onFinished(): void;
}

/** A queue whose kernels `observer` sees, or a plain one. */
export function createObservedQueue(
  runtime: Runtime,
  agent: Agent,
  observer: LaunchObserver | undefined,
  options?: QueueOptions,
): Queue {
  return observer ? createSharedQueue(runtime, agent, () => [observer], options) : runtime.createQueue(agent, options);
}

/** A queue whose kernels those see that `observers` gives when a packet is on its way. */
export function createSharedQueue(
  runtime: Runtime,
  agent: Agent,
  observers: () => Iterable<LaunchObserver>,
  options: QueueOptions = {},
): Queue {
  const onPacket: QueueOptions['onPacket'] = (packet, of) => {
    options.onPacket?.(packet, of);
    for (const observer of observers()) observer.onPacket?.(packet);
  };
  const queue = runtime.createInterceptQueue(agent, { ...options, onPacket });
  queue.register((packets, _index, write) => {
    for (const packet of packets) {
      const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
      if (decodeHeader(view.getUint16(0, true)).type === PACKET_TYPE.kernelDispatch) {
        for (const observer of observers()) observer.onLaunch(view);
      }
    }
    write(packets);
  });
  return queue;
}

/** What several see, in their order. */
export const observedBy = (observers: readonly LaunchObserver[]): LaunchObserver => ({
  onLoaded: (...loaded) => {
    for (const each of observers) each.onLoaded(...loaded);
  },
  onLaunch: (packet) => {
    for (const each of observers) each.onLaunch(packet);
  },
  onPacket: (packet) => {
    for (const each of observers) each.onPacket?.(packet);
  },
  onFinished: () => {
    for (const each of observers) each.onFinished();
  },
});
