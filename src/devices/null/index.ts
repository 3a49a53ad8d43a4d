/**
 * A device that runs nothing: every launch is complete when the device is advanced next, and memory stays as
 * the host left it. It measures and tests what stands above devices (queues, programs, graphs of launches)
 * without the time that kernels take, and it is the shortest implementation of the contract.
 */
import type { AdvanceResult, Device, PublishedCode } from '../../device/device.ts';
import type { Fault } from '../../device/fault.ts';
import type { Dispatch, KernelLaunch } from '../../device/launch.ts';
import type { DeviceProperties } from '../../device/properties.ts';
import { type DispatchStatistics, NO_STATISTICS } from '../../device/statistics.ts';
import { Lifetime } from '../../hsa/objects/lifetime.ts';
import { NullMemory } from './memory.ts';

export interface NullDeviceOptions {
  /** Target that code must have been built for. Default `gfx90a:sramecc+:xnack-`. */
  readonly targetId?: string;
  /** Default 64 MiB. */
  readonly memorySizeBytes?: number;
}

/**
 * What a test runs in place of a kernel (the fake device of `src/hsa/runtime` does): it is advanced with the
 * device, says how it goes on, and may end in a fault.
 */
export type LaunchBody = Iterator<'running' | 'waiting', Fault | undefined, void>;

const DEFAULT_MEMORY_BYTES = 64 * 2 ** 20;

class NullDispatch implements Dispatch {
  state: Dispatch['state'] = 'running';
  fault?: Fault;
  endTicks = 0n;
  readonly startTicks: bigint;
  readonly statistics: DispatchStatistics;
  readonly body: LaunchBody;
  readonly #kind: string;

  constructor(kind: string, body: LaunchBody, statistics: DispatchStatistics, startTicks: bigint) {
    this.#kind = kind;
    this.body = body;
    this.statistics = statistics;
    this.startTicks = startTicks;
  }

  cancel(): void {
    if (this.state === 'running') this.state = 'cancelled';
  }

  /** The first wave is listed for all, because there are none. */
  describeWaves(): string[] {
    return [`workgroup 0,0,0 wave 0: ${this.#kind}`];
  }
}

/** The clock counts how often the device was asked for the time; it measures none. */
export class NullDevice implements Device {
  readonly name: string;
  readonly properties: DeviceProperties;
  readonly memory: NullMemory;
  /** Code that is published now. */
  readonly published: PublishedCode[] = [];
  readonly #kind: string;
  readonly #lifetime: Lifetime;
  readonly #running: NullDispatch[] = [];
  #ticks = 0n;

  /** `kind`: what the name begins with. */
  constructor(
    { targetId = 'gfx90a:sramecc+:xnack-', memorySizeBytes = DEFAULT_MEMORY_BYTES }: NullDeviceOptions = {},
    kind = 'null',
  ) {
    const processor = targetId.split(':')[0]!;
    this.#kind = kind;
    this.name = `${kind}:${processor}`;
    this.#lifetime = new Lifetime(1, `device ${this.name} was closed`);
    this.memory = new NullMemory(memorySizeBytes, this.#lifetime);
    this.properties = {
      processor,
      targetId,
      capabilities: [],
      wavefrontSize: 64,
      computeUnitCount: 4,
      ldsSizeBytes: 65_536,
      maxPrivateSizeBytes: 262_128,
      maxWorkgroupSize: 1024,
      maxWavesPerComputeUnit: 32,
      memorySizeBytes,
      timestampFrequencyHz: 25_000_000,
      sharedApertureHi: 0x1_0000,
      privateApertureHi: 0x2_0000,
    };
  }

  clock(): bigint {
    this.#lifetime.expect();
    this.#ticks += 1n;
    return this.#ticks;
  }

  publishCode(code: PublishedCode): void {
    this.#lifetime.expect();
    this.published.push(code);
  }

  withdrawCode(address: bigint): void {
    const index = this.published.findIndex((code) => code.address === address);
    if (index >= 0) this.published.splice(index, 1);
  }

  dispatch(launch: KernelLaunch): Dispatch {
    this.#lifetime.expect();
    const dispatch = new NullDispatch(this.#kind, this.bodyOf(launch), this.statisticsOf(launch), this.clock());
    this.#running.push(dispatch);
    return dispatch;
  }

  advance(): AdvanceResult {
    this.#lifetime.expect();
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

  close(): void {
    for (const dispatch of this.#running) dispatch.cancel();
    this.#running.length = 0;
    this.#lifetime.release();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** What runs in place of the kernel: nothing, so that the launch is complete at once. */
  protected bodyOf(_launch: KernelLaunch): LaunchBody {
    return { next: () => ({ done: true, value: undefined }) };
  }

  /** The workgroups and waves that the launch would have had; no instruction ran. */
  protected statisticsOf({ gridSize, workgroupSize }: KernelLaunch): DispatchStatistics {
    const workItems = workgroupSize[0] * workgroupSize[1] * workgroupSize[2];
    const groups = (d: 0 | 1 | 2): number => Math.ceil(gridSize[d] / workgroupSize[d]);
    const workgroups = groups(0) * groups(1) * groups(2);
    const waves = workgroups * Math.ceil(workItems / this.properties.wavefrontSize);
    return { ...NO_STATISTICS, workgroups, waves };
  }

  #step(dispatch: NullDispatch): 'running' | 'waiting' | 'done' {
    const { done, value } = dispatch.body.next();
    if (!done) return value;
    dispatch.state = value === undefined ? 'complete' : 'faulted';
    if (value !== undefined) dispatch.fault = value;
    dispatch.endTicks = this.clock();
    return 'done';
  }
}

/** `using` closes it. */
export const createNullDevice = (options?: NullDeviceOptions): Device => new NullDevice(options);
