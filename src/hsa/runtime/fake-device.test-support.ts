/** A device whose kernels are JavaScript generators: for tests of everything above the `Device` contract. */
import { WavewrightError } from '../../base/errors.ts';
import type { AdvanceResult, Device, PublishedCode } from '../../device/device.ts';
import type { Fault } from '../../device/fault.ts';
import type { GuestAddress } from '../../device/guest-address.ts';
import type { Dispatch, KernelLaunch } from '../../device/launch.ts';
import type { AllocateOptions, Allocation, DeviceMemory } from '../../device/memory.ts';
import type { DeviceProperties } from '../../device/properties.ts';
import { NO_STATISTICS } from '../../device/statistics.ts';

/** Yields `waiting` where a wave would spin on the host, `running` to give up its slice. Throws a `FakeFault` to fault. */
export type KernelBody = (context: KernelContext) => Generator<'running' | 'waiting', void>;

export interface KernelContext {
  readonly launch: KernelLaunch;
  readonly memory: FakeMemory;
}

export class FakeFault {
  readonly fault: Fault;

  constructor(fault: Partial<Fault> & Pick<Fault, 'kind' | 'message'>) {
    const place = { pc: 0n, instruction: 's_nop 0', location: 'kernel+0x0', workgroup: [0, 0, 0], wave: 0 } as const;
    this.fault = { ...place, ...fault };
  }
}

const BASE = 0x7_0000_0000n;
const PAGE_BYTES = 4096n;

function* pagesOf({ address, sizeBytes }: Allocation): Generator<bigint> {
  for (let page = address / PAGE_BYTES; page * PAGE_BYTES < address + BigInt(sizeBytes); page++) yield page;
}

export class FakeMemory implements DeviceMemory {
  readonly buffer: SharedArrayBuffer;
  readonly allocations = new Map<bigint, Allocation>();
  /** By page, for `find`. */
  readonly #pages = new Map<bigint, Allocation>();
  #next = 4096;

  constructor(sizeBytes: number) {
    this.buffer = new SharedArrayBuffer(sizeBytes);
  }

  allocate(sizeBytes: number, { alignmentBytes = 4096, label = '' }: AllocateOptions = {}): bigint {
    if (sizeBytes <= 0 || (alignmentBytes & (alignmentBytes - 1)) !== 0) {
      throw new WavewrightError('USAGE', `allocation of ${sizeBytes} bytes aligned to ${alignmentBytes}`);
    }
    const granule = Math.max(alignmentBytes, 4096);
    const offset = Math.ceil(this.#next / granule) * granule;
    if (offset + sizeBytes > this.buffer.byteLength) {
      throw new WavewrightError('LIMIT_EXCEEDED', `device memory is exhausted: ${sizeBytes} bytes asked for`);
    }
    this.#next = offset + sizeBytes;
    const address = BASE + BigInt(offset);
    const allocation = { address, sizeBytes, label };
    this.allocations.set(address, allocation);
    for (const page of pagesOf(allocation)) this.#pages.set(page, allocation);
    return address;
  }

  free(address: bigint): void {
    const allocation = this.allocations.get(address);
    if (allocation === undefined) {
      throw new WavewrightError('USAGE', `0x${address.toString(16)} is not the start of a live allocation`);
    }
    this.allocations.delete(address);
    for (const page of pagesOf(allocation)) this.#pages.delete(page);
  }

  find(address: bigint): Allocation | undefined {
    const allocation = this.#pages.get(address / PAGE_BYTES);
    return allocation && address < allocation.address + BigInt(allocation.sizeBytes) ? allocation : undefined;
  }

  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    const bytes = this.#view(address, sizeBytes);
    if (bytes !== undefined) return bytes;
    throw new WavewrightError('USAGE', `0x${address.toString(16)} is not inside one allocation`);
  }

  /** Fake kernels may do everything with all memory. */
  guestView(address: GuestAddress, sizeBytes: number): Uint8Array<SharedArrayBuffer> | undefined {
    return this.#view(address, sizeBytes);
  }

  #view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> | undefined {
    const owner = this.find(address);
    if (owner === undefined || address + BigInt(sizeBytes) > owner.address + BigInt(owner.sizeBytes)) return undefined;
    return new Uint8Array(this.buffer, Number(address - BASE), sizeBytes);
  }

  data(address: bigint, sizeBytes: number): DataView {
    const bytes = this.view(address, sizeBytes);
    return new DataView(bytes.buffer, bytes.byteOffset, sizeBytes);
  }

  cString(address: bigint): string {
    const owner = this.find(address)!;
    const bytes = this.view(address, Number(owner.address - address) + owner.sizeBytes);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }
}

class FakeDispatch implements Dispatch {
  state: Dispatch['state'] = 'running';
  fault?: Fault;
  readonly startTicks: bigint;
  endTicks = 0n;
  readonly statistics = { ...NO_STATISTICS, instructions: 7, workgroups: 1, waves: 1 };
  readonly body: Generator<'running' | 'waiting', void>;

  constructor(body: Generator<'running' | 'waiting', void>, startTicks: bigint) {
    this.body = body;
    this.startTicks = startTicks;
  }

  cancel(): void {
    if (this.state === 'running') this.state = 'cancelled';
  }

  describeWaves(): string[] {
    return ['workgroup 0,0,0 wave 0: fake'];
  }
}

export class FakeDevice implements Device {
  readonly name: string;
  readonly properties: DeviceProperties;
  readonly memory: FakeMemory;
  readonly published: PublishedCode[] = [];
  readonly launches: KernelLaunch[] = [];
  /** Bodies of kernels in loaded code objects, by function name. */
  readonly kernels: Record<string, KernelBody> = {};
  readonly #bodies = new Map<bigint, KernelBody>();
  readonly #running: FakeDispatch[] = [];
  #ticks = 0n;

  constructor(sizeBytes = 4 * 2 ** 20, targetId = 'gfx90a:sramecc+:xnack-') {
    const processor = targetId.split(':')[0]!;
    this.name = `fake:${processor}`;
    this.memory = new FakeMemory(sizeBytes);
    this.properties = {
      processor,
      targetId,
      wavefrontSize: 64,
      computeUnitCount: 4,
      ldsSizeBytes: 65_536,
      maxPrivateSizeBytes: 262_128,
      maxWorkgroupSize: 1024,
      maxWavesPerComputeUnit: 32,
      memorySizeBytes: sizeBytes,
      timestampFrequencyHz: 25_000_000,
      sharedApertureHi: 0x1_0000,
      privateApertureHi: 0x2_0000,
    };
  }

  /** A kernel that is in no code object; returns its kernel object. */
  addKernel(body: KernelBody): bigint {
    const address = this.memory.allocate(64, { label: 'fake kernel' });
    this.#bodies.set(address, body);
    return address;
  }

  clock(): bigint {
    this.#ticks += 1n;
    return this.#ticks;
  }

  publishCode(code: PublishedCode): void {
    this.published.push(code);
  }

  withdrawCode(address: bigint): void {
    this.published.splice(
      this.published.findIndex((code) => code.address === address),
      1,
    );
  }

  dispatch(launch: KernelLaunch): Dispatch {
    const body = this.#bodies.get(launch.entry) ?? this.#publishedBody(launch.entry);
    if (body === undefined) throw new WavewrightError('UNSUPPORTED', 'the fake device has no body for this kernel');
    this.launches.push(launch);
    const dispatch = new FakeDispatch(body({ launch, memory: this.memory }), this.clock());
    this.#running.push(dispatch);
    return dispatch;
  }

  advance(): AdvanceResult {
    let result: AdvanceResult = 'idle';
    for (const dispatch of [...this.#running]) {
      if (dispatch.state === 'running') {
        const state = this.#step(dispatch);
        if (state === 'running' || (state === 'waiting' && result === 'idle')) result = state;
      }
      if (dispatch.state !== 'running') this.#running.splice(this.#running.indexOf(dispatch), 1);
    }
    return result;
  }

  close(): void {}

  [Symbol.dispose](): void {}

  #step(dispatch: FakeDispatch): 'running' | 'waiting' | 'done' {
    try {
      const { done, value } = dispatch.body.next();
      if (!done) return value;
      dispatch.state = 'complete';
    } catch (error) {
      if (!(error instanceof FakeFault)) throw error;
      dispatch.state = 'faulted';
      dispatch.fault = error.fault;
    }
    dispatch.endTicks = this.clock();
    return 'done';
  }

  #publishedBody(kernelObject: bigint): KernelBody | undefined {
    const entry = kernelObject + this.memory.data(kernelObject, 64).getBigInt64(16, true);
    for (const { symbols } of this.published) {
      const found = symbols.find(({ address }) => address === entry);
      if (found !== undefined) return this.kernels[found.name];
    }
    return undefined;
  }
}
