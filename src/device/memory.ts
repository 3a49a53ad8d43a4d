/**
 * Memory of a device. All addresses are those of the GPU; host code reaches its own through `view`, those
 * that GPU code can have chosen through `guestView`.
 */
import type { GuestAddress, HostAddress } from './guest-address.ts';

export interface Allocation {
  readonly address: bigint;
  readonly sizeBytes: number;
  /** Who asked for it, for fault reports: "kernarg pool", "code object hello.co", "malloc". */
  readonly label: string;
  /** What kernels may do there, if not everything. */
  readonly access?: 'none' | 'read';
}

export interface AllocateOptions {
  /** Power of two, at least 4096 is used. */
  alignmentBytes?: number;
  label?: string;
  /** GPU stores fault. The host may still write. */
  readOnly?: boolean;
}

/** What whoever follows addresses from outside has of a memory. */
export interface GuestMemory {
  /**
   * A live host view of memory that the GPU itself may use so now; undefined where it may not: nothing is
   * allocated there, the range is not inside one allocation, access was taken away, it is read-only, or it is
   * the device's own. Looked up again for each use: what was there may be freed.
   */
  guestView(address: GuestAddress, sizeBytes: number, access: GuestAccess): Uint8Array<SharedArrayBuffer> | undefined;
}

export type GuestAccess = 'read' | 'write';

/** What kernels may do with some pages of an allocation. */
export type PartAccess = 'none' | 'read' | 'write' | 'all';

export interface DeviceMemory extends GuestMemory {
  /** Bytes that are allocated; absent where the device does not know what others have. */
  readonly usedBytes?: number;
  /**
   * The address of new, zero-filled memory, which is the caller's until `free`. Throws LIMIT_EXCEEDED when
   * memory is exhausted, USAGE on a bad size or alignment.
   */
  allocate(sizeBytes: number, options?: AllocateOptions): bigint;
  /** Throws USAGE when `address` is not the start of a live allocation. */
  free(address: bigint): void;
  /**
   * Live host view of what the host allocated (backed by a SharedArrayBuffer), whatever kernels may do there.
   * Throws USAGE when the range is not inside one allocation.
   */
  view(address: HostAddress, sizeBytes: number): Uint8Array<SharedArrayBuffer>;
  /**
   * The live allocation of the host's that contains `address`: for reports, and to find the memory that an
   * address belongs to.
   */
  find(address: bigint): Allocation | undefined;
  /**
   * Lets kernels use the allocation that starts at `address`, or not; the host uses it in any case. Devices
   * with the capability `access` have this, and no others. Throws USAGE where no allocation starts.
   */
  setAccess?(address: bigint, isAllowed: boolean): void;
  /**
   * Says what kernels may do with some pages (4,096 bytes) of an allocation from now on, but for running code
   * there; `setAccess` says it of all again. Devices with the capability `access` have this, and no others.
   * Throws USAGE for what are no whole pages of one allocation.
   */
  setPartAccess?(address: bigint, sizeBytes: number, access: PartAccess): void;
}
