/** Ranges of buffers as operations name them (iree_hal_buffer_ref_t), and what they are when one runs. */
import type { BufferAccess, BufferUsage } from '../core/flags.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { HalBuffer } from './buffer.ts';
import type { BufferStorage } from './storage.ts';

/** A buffer, or a part of it. */
export type DirectRef =
  | HalBuffer
  | {
      readonly buffer: HalBuffer;
      readonly offsetBytes?: number | undefined;
      /** Default: up to the end. */
      readonly sizeBytes?: number | undefined;
    };

/** A buffer with a range in it that was checked. */
export interface BufferRange {
  readonly buffer: HalBuffer;
  readonly offsetBytes: number;
  readonly sizeBytes: number;
}

/** A range of memory that is there now. */
export interface StorageRange {
  readonly storage: BufferStorage;
  readonly offsetBytes: number;
  readonly sizeBytes: number;
}

/** Throws INVALID_ARGUMENT for what is no buffer, OUT_OF_RANGE. */
export function bufferRange(ref: DirectRef): BufferRange {
  if (ref instanceof HalBuffer) return ref.whole;
  const buffer = ref?.buffer;
  if (!(buffer instanceof HalBuffer)) throw invalidArgument(`${String(ref)} is no buffer`);
  const { offsetBytes = 0, sizeBytes = buffer.sizeBytes - offsetBytes } = ref;
  buffer.checkRange(offsetBytes, sizeBytes);
  return { buffer, offsetBytes, sizeBytes };
}

/** What an operation does with a range. Throws INVALID_ARGUMENT and PERMISSION_DENIED at once. */
export function checkUse(range: BufferRange, device: object, usage: BufferUsage, access: BufferAccess): void {
  const { buffer } = range;
  if (buffer.placement.device !== device) throw invalidArgument(`'${buffer.label}' belongs to another device`);
  if (buffer.allocation.isDisposed) throw invalidArgument(`'${buffer.label}' is disposed`);
  buffer.checkUsage(usage);
  buffer.checkAccess(access);
}

/** Throws FAILED_PRECONDITION where the memory is not there now. */
export function storageOf(range: BufferRange): StorageRange {
  const { buffer, offsetBytes, sizeBytes } = range;
  if (range === buffer.whole) return buffer.wholeStorage;
  return { storage: buffer.allocation.storage, offsetBytes: buffer.offsetBytes + offsetBytes, sizeBytes };
}

/** The bytes of a range, for the host. */
export const bytesOfRange = ({ storage, offsetBytes, sizeBytes }: StorageRange): Uint8Array =>
  storage.bytes().subarray(offsetBytes, offsetBytes + sizeBytes);

/** Where kernels have a range. */
export function rangeAddress({ storage, offsetBytes }: StorageRange): bigint {
  if (storage.address !== undefined) return offsetBytes === 0 ? storage.address : storage.address + BigInt(offsetBytes);
  throw new HalError('INTERNAL', 'memory of the host has no address for kernels');
}

/** Whether two ranges of one allocation have bytes in common. */
export function rangesOverlap(a: BufferRange, b: BufferRange): boolean {
  if (a.buffer.allocation !== b.buffer.allocation) return false;
  const [startA, startB] = [a, b].map((range) => range.buffer.offsetBytes + range.offsetBytes) as [number, number];
  return startA < startB + b.sizeBytes && startB < startA + a.sizeBytes;
}
