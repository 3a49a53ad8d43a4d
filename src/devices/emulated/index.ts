/** The emulator behind the Device contract. */
import { WavewrightError } from '../../base/errors.ts';
import { processorNamed } from '../../codeobject/processors.ts';
import type { EmulatorDispatch } from '../../emulator/dispatch.ts';
import { CLOCK_FREQUENCY_HZ, Emulator, type EmulatorOptions } from '../../emulator/emulator.ts';
import type { EmulatorFault } from '../../emulator/faults.ts';
import { MAY_READ, MAY_WRITE } from '../../emulator/layout.ts';
import type { Region } from '../../emulator/memory.ts';
import type {
  AdvanceResult,
  AllocateOptions,
  Allocation,
  Device,
  DeviceMemory,
  DeviceProperties,
  Dispatch,
  DispatchStatistics,
  Fault,
  KernelDispatch,
  PublishedCode,
} from '../../hsa/device.ts';
import { DescriptorCache, launchOf } from './launch.ts';

const LDS_SIZE_BYTES = 65536;
const MAX_WORKGROUP_SIZE = 1024;
const MAX_INDEX = 127;
const MAX_WORKERS = 256;
const DEFAULT_SLICE_MS = 5;

/** With the features that the processor lets a code object choose as the emulated device sets them. */
function targetIdOf(processor: string): string {
  const known = processorNamed(processor);
  return `${processor}${known?.sramecc ? ':sramecc+' : ''}${known?.xnack ? ':xnack-' : ''}`;
}

class EmulatedMemory implements DeviceMemory {
  readonly #emulator: Emulator;

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
  }

  allocate(sizeBytes: number, options: AllocateOptions = {}): bigint {
    const { memory } = this.#emulator;
    const offset = memory.allocate(sizeBytes, {
      ...(options.alignmentBytes !== undefined && { alignmentBytes: options.alignmentBytes }),
      ...(options.label !== undefined && { label: options.label }),
      permissions: options.readOnly ? MAY_READ : MAY_READ | MAY_WRITE,
    });
    return memory.address(offset);
  }

  free(address: bigint): void {
    this.#emulator.memory.free(this.#offset(address));
  }

  setAccess(address: bigint, isAllowed: boolean): void {
    this.#emulator.memory.protect(this.#offset(address), isAllowed ? MAY_READ | MAY_WRITE : 0);
  }

  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    const offset = this.#offset(address);
    const region = this.#emulator.memory.find(offset);
    if (!region || offset + sizeBytes > region.offset + region.sizeBytes) {
      throw new WavewrightError(
        'USAGE',
        `${sizeBytes} bytes at 0x${address.toString(16)} are not inside one allocation`,
      );
    }
    return new Uint8Array(this.#emulator.memory.buffer, offset, sizeBytes);
  }

  find(address: bigint): Allocation | undefined {
    const offset = this.#emulator.memory.offset(address);
    return offset === undefined ? undefined : allocationOf(this.#emulator, this.#emulator.memory.find(offset));
  }

  #offset(address: bigint): number {
    const offset = this.#emulator.memory.offset(address);
    if (offset === undefined)
      throw new WavewrightError('USAGE', `0x${address.toString(16)} is not an address of this device`);
    return offset;
  }
}

function allocationOf(emulator: Emulator, region: Region | undefined): Allocation | undefined {
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

  get startTicks(): bigint {
    return this.#inner.startTicks;
  }

  get endTicks(): bigint {
    return this.#inner.endTicks;
  }

  get statistics(): DispatchStatistics {
    const { instructions, tiers, classes, workgroups, waves } = this.#inner;
    return { instructions, tiers: { ...tiers }, ...(classes && { classes }), workgroups, waves };
  }

  cancel(): void {
    this.#inner.cancel();
  }

  describeWaves(): string[] {
    return this.#inner.describeWaves();
  }
}

function faultOf(emulator: Emulator, { nearest, freed, ...fault }: EmulatorFault): Fault {
  const nearestAllocation = allocationOf(emulator, nearest);
  const freedAllocation = allocationOf(emulator, freed);
  return { ...fault, ...(nearestAllocation && { nearestAllocation }), ...(freedAllocation && { freedAllocation }) };
}

class EmulatedDevice implements Device {
  readonly name: string;
  readonly properties: DeviceProperties;
  readonly memory: DeviceMemory;
  readonly #emulator: Emulator;
  readonly #descriptors: DescriptorCache;

  constructor(options: EmulatorOptions) {
    const { index = 0 } = options;
    if (!Number.isInteger(index) || index < 0 || index > MAX_INDEX) {
      throw new WavewrightError('USAGE', `device index ${index}, expected an integer from 0 to ${MAX_INDEX}`);
    }
    const { workers = 1 } = options;
    if (!Number.isInteger(workers) || workers < 1 || workers > MAX_WORKERS) {
      throw new WavewrightError('USAGE', `${workers} workers, expected an integer from 1 to ${MAX_WORKERS}`);
    }
    this.#emulator = new Emulator(options);
    this.#descriptors = new DescriptorCache(this.#emulator);
    const { target, memory } = this.#emulator;
    const spaces = this.#emulator.spaces(target.waveSizes[0]!);
    this.name = `emulated:${target.processor}`;
    this.memory = new EmulatedMemory(this.#emulator);
    this.properties = {
      processor: target.processor,
      targetId: targetIdOf(target.processor),
      wavefrontSize: target.waveSizes[0]!,
      computeUnitCount: 1,
      ldsSizeBytes: LDS_SIZE_BYTES,
      maxWorkgroupSize: MAX_WORKGROUP_SIZE,
      maxWavesPerComputeUnit: 32,
      memorySizeBytes: memory.sizeBytes,
      timestampFrequencyHz: CLOCK_FREQUENCY_HZ,
      sharedApertureHi: spaces.sharedApertureHi,
      privateApertureHi: spaces.privateApertureHi,
    };
  }

  clock(): bigint {
    return this.#emulator.clock();
  }

  publishCode(code: PublishedCode): void {
    const { memory } = this.#emulator;
    this.#emulator.publishCode(memory.offset(code.address) ?? 0, () =>
      code.symbols.map(({ name, address, sizeBytes }) => ({ name, offset: memory.offset(address) ?? 0, sizeBytes })),
    );
  }

  withdrawCode(address: bigint): void {
    this.#emulator.withdrawCode(this.#emulator.memory.offset(address) ?? 0);
  }

  dispatch(packet: KernelDispatch): Dispatch {
    const launch = launchOf(this.#emulator, this.memory, packet, this.#descriptors);
    return new EmulatedDispatch(this.#emulator, this.#emulator.dispatch(launch));
  }

  advance(sliceMs = DEFAULT_SLICE_MS): AdvanceResult {
    return this.#emulator.advance(sliceMs);
  }

  close(): void {
    // The memory is unmapped when the device is collected.
    this.#emulator.close();
  }
}

/**
 * Throws UNSUPPORTED for a processor without instruction tables. Kernels run on several threads where there are `threads` (in Node: nodeThreads);
 * `close` ends them.
 */
export function createEmulatedDevice(options: EmulatorOptions): Device {
  return new EmulatedDevice(options);
}
