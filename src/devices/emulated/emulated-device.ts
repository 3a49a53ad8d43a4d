/** The emulator behind the Device contract, whatever language its code is in. */

import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { AdvanceResult, Device, PublishedCode } from '../../device/device.ts';
import type { Fault } from '../../device/fault.ts';
import type { GuestAddress, HostAddress } from '../../device/guest-address.ts';
import type { Dispatch, KernelLaunch } from '../../device/launch.ts';
import type { AllocateOptions, Allocation, DeviceMemory, GuestAccess, PartAccess } from '../../device/memory.ts';
import type { DeviceProperties } from '../../device/properties.ts';
import type { DispatchStatistics } from '../../device/statistics.ts';
import type { EmulatorDispatch } from '../../emulator/dispatch.ts';
import { CLOCK_FREQUENCY_HZ, type Emulator, type EmulatorOptions } from '../../emulator/emulator.ts';
import type { EmulatorFault } from '../../emulator/machine/faults.ts';
import type { Launch } from '../../emulator/machine/launch.ts';
import { MAX_LDS_BYTES, MAY_READ, MAY_WRITE } from '../../emulator/machine/layout.ts';
import type { MemoryRegion } from '../../emulator/machine/memory.ts';
import type { MissedWait } from '../../emulator/reference/wait-check.ts';
import { Lifetime } from '../../hsa/objects/lifetime.ts';
import { type MissedWaitReport, reportMissedWait } from './missed-wait.ts';

/**
 * The lanes' dwords are interleaved: a wave64 has a GiB then, so that every offset in its scratch is a
 * positive number of 32 bits.
 */
const MAX_PRIVATE_SIZE_BYTES = 2 ** 24;
const MAX_WORKGROUP_SIZE = 1024;
const MAX_INDEX = 127;
const MAX_WORKERS = 256;
const MAX_MEMORY_BYTES = 2 ** 32;
const DEFAULT_SLICE_MS = 5;

/** What an emulated device needs to know of the language of its code. */
export interface DeviceLanguage {
  readonly emulator: Emulator;
  /** By which users choose the device. */
  readonly name: string;
  readonly processor: string;
  readonly targetId: string;
  readonly wavefrontSize: 32 | 64;
  /** Throws BAD_INPUT, UNSUPPORTED, LIMIT_EXCEEDED and USAGE for what cannot be launched. */
  launch(device: Device, launch: KernelLaunch): Launch;
}

const PART_PERMISSIONS: Readonly<Record<PartAccess, number>> = {
  none: 0,
  read: MAY_READ,
  write: MAY_WRITE,
  all: MAY_READ | MAY_WRITE,
};

class EmulatedMemory implements DeviceMemory {
  readonly #emulator: Emulator;
  readonly #lifetime: Lifetime;
  /**
   * Offsets of what the host allocated, with what kernels may do there at most: the emulator has regions
   * besides, which are nobody else's.
   */
  readonly #allocated = new Map<number, number>();

  constructor(emulator: Emulator, lifetime: Lifetime) {
    this.#emulator = emulator;
    this.#lifetime = lifetime;
  }

  get usedBytes(): number {
    return this.#emulator.memory.usage.bytes;
  }

  allocate(sizeBytes: number, options: AllocateOptions = {}): bigint {
    this.#lifetime.expect();
    const { memory } = this.#emulator;
    const permissions = options.readOnly ? MAY_READ : MAY_READ | MAY_WRITE;
    const offset = memory.allocate(sizeBytes, {
      ...(options.alignmentBytes !== undefined && { alignmentBytes: options.alignmentBytes }),
      ...(options.label !== undefined && { label: options.label }),
      permissions,
    });
    this.#allocated.set(offset, permissions);
    return memory.address(offset);
  }

  free(address: bigint): void {
    if (!this.#lifetime.isLive) return;
    const offset = this.#start(address);
    this.#emulator.memory.free(offset);
    this.#allocated.delete(offset);
  }

  setAccess(address: bigint, isAllowed: boolean): void {
    this.#lifetime.expect();
    const offset = this.#start(address);
    this.#emulator.memory.protect(offset, isAllowed ? this.#allocated.get(offset)! : 0);
  }

  setPartAccess(address: bigint, sizeBytes: number, access: PartAccess): void {
    const region = this.#find(address);
    if (!region) throw new WavewrightError('USAGE', `${hex(address)} is in no allocation`);
    this.#emulator.memory.protectPages(Number(address & 0xffff_ffffn), sizeBytes, PART_PERMISSIONS[access]);
  }

  view(address: HostAddress, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    const region = this.#find(address);
    const bytes = region && this.#viewInside(region, address, sizeBytes);
    if (bytes) return bytes;
    throw new WavewrightError('USAGE', `${sizeBytes} bytes at ${hex(address)} are not inside one allocation`);
  }

  guestView(address: GuestAddress, sizeBytes: number, access: GuestAccess): Uint8Array<SharedArrayBuffer> | undefined {
    this.#lifetime.expect();
    const { memory } = this.#emulator;
    const offset = memory.offset(address);
    const region = offset === undefined ? undefined : memory.find(offset);
    const wanted = access === 'write' ? MAY_WRITE : MAY_READ;
    const isPermitted = region && memory.permits(offset!, sizeBytes, wanted);
    return isPermitted ? this.#viewInside(region, address, sizeBytes) : undefined;
  }

  find(address: bigint): Allocation | undefined {
    return allocationOf(this.#emulator, this.#find(address));
  }

  /** The region of an allocation of the host's. */
  #find(address: bigint): MemoryRegion | undefined {
    this.#lifetime.expect();
    const { memory } = this.#emulator;
    const offset = memory.offset(address);
    const region = offset === undefined ? undefined : memory.find(offset);
    return region && this.#allocated.has(region.offset) ? region : undefined;
  }

  /** `address` is in the region; undefined when the range does not end there. */
  #viewInside(region: MemoryRegion, address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> | undefined {
    const { memory } = this.#emulator;
    const offset = Number(address & 0xffff_ffffn);
    const isInside = sizeBytes >= 0 && offset + sizeBytes <= region.offset + region.sizeBytes;
    return isInside ? new Uint8Array(memory.buffer, offset, sizeBytes) : undefined;
  }

  /** Throws USAGE for what is not the start of an allocation of the host's. */
  #start(address: bigint): number {
    const offset = this.#emulator.memory.offset(address);
    if (offset !== undefined && this.#allocated.has(offset)) return offset;
    throw new WavewrightError('USAGE', `no allocation starts at ${hex(address)}`);
  }
}

function allocationOf(emulator: Emulator, region: MemoryRegion | undefined): Allocation | undefined {
  if (!region) return undefined;
  const { offset, sizeBytes, label, permissions } = region;
  const allocation = { address: emulator.memory.address(offset), sizeBytes, label };
  return permissions & MAY_WRITE ? allocation : { ...allocation, access: permissions & MAY_READ ? 'read' : 'none' };
}

class EmulatedDispatch implements Dispatch {
  readonly #emulator: Emulator;
  readonly #inner: EmulatorDispatch;

  constructor(emulator: Emulator, inner: EmulatorDispatch) {
    this.#emulator = emulator;
    this.#inner = inner;
  }

  get state(): Dispatch['state'] {
    return this.#inner.state;
  }

  get fault(): Fault | undefined {
    const { fault } = this.#inner;
    return fault && faultOf(this.#emulator, fault);
  }

  get error(): WavewrightError | undefined {
    return this.#inner.error;
  }

  get startTicks(): bigint {
    return this.#inner.startTicks;
  }

  get endTicks(): bigint {
    return this.#inner.endTicks;
  }

  get statistics(): DispatchStatistics {
    const { instructions, tiers, classes, workgroups, waves, pcCounts, trace, state } = this.#inner;
    const { memory } = this.#emulator;
    const own = { instructions, tiers, workgroups, waves };
    const ownTrace = state === 'running' ? undefined : trace;
    // Of most launches that is all, and each is asked for it.
    if (!classes && !pcCounts && !ownTrace) return own;
    const pcs = pcCounts && new Map(Array.from(pcCounts, ([offset, count]) => [memory.address(offset), count]));
    return {
      ...own,
      ...(classes && { classes }),
      ...(pcs && { pcCounts: pcs }),
      ...(ownTrace && { trace: ownTrace.trace((offset) => memory.address(offset)) }),
    };
  }

  cancel(): void {
    this.#inner.cancel();
  }

  describeWaves(sourceOf?: (pc: bigint) => string | undefined): string[] {
    return this.#inner.describeWaves(sourceOf);
  }
}

function faultOf(emulator: Emulator, { nearest, freed, ...fault }: EmulatorFault): Fault {
  const nearestAllocation = allocationOf(emulator, nearest);
  const freedAllocation = allocationOf(emulator, freed);
  return { ...fault, ...(nearestAllocation && { nearestAllocation }), ...(freedAllocation && { freedAllocation }) };
}

export interface EmulatorDeviceOptions extends Omit<EmulatorOptions, 'onMissedWait'> {
  /** With `checkWaits`: is told of each wait that is missing, once, however often it is missed. */
  readonly onMissedWait?: (report: MissedWaitReport) => void;
}

/** The options of the emulator itself, and what makes the language of them. */
export type MakeLanguage = (options: EmulatorOptions) => DeviceLanguage;

/** Throws USAGE for options out of range. */
function checkOptions(options: EmulatorDeviceOptions): void {
  const { index = 0, workers = 1, memorySizeBytes = MAX_MEMORY_BYTES, now, threads } = options;
  if (now !== undefined && (options.workers ?? threads?.parallelism ?? 1) > 1) {
    throw new WavewrightError('USAGE', 'workers go by the time of the host, and not by that of `now`');
  }
  if (!Number.isInteger(index) || index < 0 || index > MAX_INDEX) {
    throw new WavewrightError('USAGE', `device index ${index}, expected an integer from 0 to ${MAX_INDEX}`);
  }
  if (!Number.isInteger(workers) || workers < 1 || workers > MAX_WORKERS) {
    throw new WavewrightError('USAGE', `${workers} workers, expected an integer from 1 to ${MAX_WORKERS}`);
  }
  if (!Number.isInteger(memorySizeBytes) || memorySizeBytes < 1 || memorySizeBytes > MAX_MEMORY_BYTES) {
    const what = `${memorySizeBytes} bytes of memory, expected an integer from 1 to ${MAX_MEMORY_BYTES}`;
    throw new WavewrightError('USAGE', what);
  }
}

export class EmulatedDevice implements Device {
  readonly name: string;
  readonly properties: DeviceProperties;
  readonly memory: DeviceMemory;
  readonly #emulator: Emulator;
  readonly #language: DeviceLanguage;
  readonly #lifetime: Lifetime;
  readonly #published = new Map<bigint, PublishedCode>();

  /** Throws USAGE for options out of range, and what `makeLanguage` throws. */
  constructor({ onMissedWait, ...options }: EmulatorDeviceOptions, makeLanguage: MakeLanguage) {
    checkOptions(options);
    const language = makeLanguage({
      ...options,
      onMissedWait: (missed: MissedWait) =>
        onMissedWait?.(reportMissedWait(this.#emulator, missed, (pc) => this.#codeAt(pc)?.sourceLine?.(pc))),
    });
    this.#language = language;
    this.#emulator = language.emulator;
    const { memory } = this.#emulator;
    const spaces = this.#emulator.spaces(language.wavefrontSize);
    this.name = language.name;
    this.#lifetime = new Lifetime(1, `device ${this.name} was closed`);
    this.memory = new EmulatedMemory(this.#emulator, this.#lifetime);
    this.properties = {
      processor: language.processor,
      targetId: language.targetId,
      capabilities: ['execution', 'faults', 'access'],
      wavefrontSize: language.wavefrontSize,
      computeUnitCount: 1,
      ldsSizeBytes: MAX_LDS_BYTES,
      maxPrivateSizeBytes: MAX_PRIVATE_SIZE_BYTES,
      maxWorkgroupSize: MAX_WORKGROUP_SIZE,
      maxWavesPerComputeUnit: 32,
      memorySizeBytes: memory.sizeBytes,
      timestampFrequencyHz: CLOCK_FREQUENCY_HZ,
      sharedApertureHi: spaces.sharedApertureHi,
      privateApertureHi: spaces.privateApertureHi,
    };
  }

  clock(): bigint {
    this.#lifetime.expect();
    return this.#emulator.clock();
  }

  publishCode(code: PublishedCode): void {
    this.#lifetime.expect();
    const { memory } = this.#emulator;
    this.#published.set(code.address, code);
    this.#emulator.publishCode(memory.offset(code.address) ?? 0, () =>
      code.symbols.map(({ name, address, sizeBytes }) => ({ name, offset: memory.offset(address) ?? 0, sizeBytes })),
    );
  }

  #codeAt(pc: bigint): PublishedCode | undefined {
    return [...this.#published.values()].find(
      ({ address, sizeBytes }) => pc >= address && pc < address + BigInt(sizeBytes),
    );
  }

  withdrawCode(address: bigint): void {
    this.#published.delete(address);
    if (this.#lifetime.isLive) this.#emulator.withdrawCode(this.#emulator.memory.offset(address) ?? 0);
  }

  dispatch(launch: KernelLaunch): Dispatch {
    this.#lifetime.expect();
    const ready = this.#language.launch(this, launch);
    return new EmulatedDispatch(this.#emulator, this.#emulator.dispatch(ready));
  }

  advance(sliceMs = DEFAULT_SLICE_MS): AdvanceResult {
    this.#lifetime.expect();
    return this.#emulator.advance(sliceMs);
  }

  close(): void {
    // The memory is unmapped when the device is collected.
    if (this.#lifetime.release()) this.#emulator.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
