/** Bytes of buffers that the host need not see, by a copy to one that it does. */
import type { WaitInput } from '../core/semaphore.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { HalBuffer } from '../memory/buffer.ts';

export async function contentsOf(
  device: LogicalDevice,
  buffer: HalBuffer,
  waits: readonly WaitInput[] = [],
): Promise<Uint8Array<ArrayBuffer>> {
  if (buffer.sizeBytes === 0) return new Uint8Array(0);
  using staging = device.allocate(buffer.sizeBytes, { memoryType: 'host-local', usage: ['transfer', 'mapping'] });
  await device.queue().copy({ source: buffer, target: staging, waits });
  return Uint8Array.from(staging.read());
}

export const integersOf = async (
  device: LogicalDevice,
  buffer: HalBuffer,
  waits: readonly WaitInput[] = [],
): Promise<number[]> => [...new Int32Array((await contentsOf(device, buffer, waits)).buffer)];

/** A buffer of device memory that holds `contents`. */
export async function bufferOf(device: LogicalDevice, contents: ArrayBufferView): Promise<HalBuffer> {
  const usage = ['default', 'dispatch-indirect-parameters'] as const;
  const buffer = device.allocate(contents.byteLength, { usage });
  await device.queue().update({ target: buffer, contents });
  return buffer;
}
