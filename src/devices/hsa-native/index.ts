/** A real AMD GPU behind the Device contract: `hsa:N`, through the HSA runtime of the machine. */
import { WavewrightError } from '../../base/errors.ts';
import type { AdvanceResult, Device, PublishedCode } from '../../device/device.ts';
import type { Dispatch, KernelLaunch } from '../../device/launch.ts';
import type { DeviceProperties } from '../../device/properties.ts';
import { Lifetime } from '../../hsa/objects/lifetime.ts';
import { SharedHostMemory } from '../native/host-memory.ts';
import { type LibraryOptions, noDevice } from '../native/shared-library.ts';
import { driverHint, HsaLibrary } from './library.ts';
import { HsaMemorySource } from './memory-source.ts';
import { type NativeClock, NativeQueue } from './native-queue.ts';
import { AgentQueries, boardOf } from './properties.ts';

export { LIBRARY_VARIABLE } from './library.ts';

export interface NativeDeviceOptions extends LibraryOptions {
  /** Which GPU agent. Default 0. */
  readonly index?: number;
}

/** The private memory that ROCr gives a lane at most (amd_aql_queue.cpp). */
const MAX_PRIVATE_SIZE_BYTES = 262_128;
const SYSTEM_TIMESTAMP = 2;
const SYSTEM_TIMESTAMP_FREQUENCY = 3;

class NativeDevice implements Device {
  readonly name: string;
  readonly properties: DeviceProperties;
  readonly memory: SharedHostMemory;
  readonly #library: HsaLibrary;
  readonly #agent: bigint;
  readonly #clock: NativeClock;
  /** Native queues by the address of the queue of ours that they work for; 0 has launches without a queue. */
  readonly #queues = new Map<bigint, NativeQueue>();
  readonly #lifetime: Lifetime;

  constructor(library: HsaLibrary, index: number) {
    const queries = new AgentQueries(library);
    const agents = queries.agents();
    const gpus = agents.filter((agent) => queries.isGpu(agent));
    const agent = gpus[index];
    if (agent === undefined) {
      const what = gpus.length === 0 ? 'no GPU' : `GPUs hsa:0 to hsa:${gpus.length - 1}`;
      throw noDevice(`no device 'hsa:${index}': ${library.path} has ${what}`, { hint: driverHint() });
    }
    const host = agents.find((each) => !queries.isGpu(each));
    const pool = host === undefined ? undefined : queries.fineGrainedPool(host);
    if (pool === undefined) throw noDevice(`${library.path} has no memory that the host and hsa:${index} share`);
    this.#library = library;
    this.#agent = agent;
    this.name = `hsa:${index}`;
    this.#lifetime = new Lifetime(1, `device ${this.name} was closed`);
    this.memory = new SharedHostMemory(library.ffi, new HsaMemorySource(library, pool.handle, agent), this.#lifetime);
    const frequency = queries.timestampFrequency(agent);
    const systemFrequency = this.#system(SYSTEM_TIMESTAMP_FREQUENCY);
    this.#clock = { ticks: (time) => (time * frequency) / systemFrequency };
    const wavefrontSize = queries.wavefrontSize(agent);
    const first = new NativeQueue(library, agent, wavefrontSize, this.#clock);
    this.#queues.set(0n, first);
    this.properties = {
      processor: queries.name(agent),
      targetId: queries.targetId(agent),
      capabilities: ['execution', 'faults'],
      wavefrontSize,
      computeUnitCount: queries.computeUnitCount(agent),
      ldsSizeBytes: queries.groupSegmentBytes(agent),
      maxPrivateSizeBytes: MAX_PRIVATE_SIZE_BYTES,
      maxWorkgroupSize: queries.maxWorkgroupSize(agent),
      maxWavesPerComputeUnit: queries.maxWavesPerComputeUnit(agent),
      memorySizeBytes: pool.sizeBytes,
      timestampFrequencyHz: Number(frequency),
      sharedApertureHi: first.apertures.shared,
      privateApertureHi: first.apertures.private,
      board: boardOf(queries, agent),
    };
  }

  #system(id: number): bigint {
    const value = this.#library.info((out) => this.#library.call.hsa_system_get_info(id, out), 8);
    if (value === undefined)
      throw new WavewrightError('INTERNAL', `${this.#library.path}: no system information ${id}`);
    return value;
  }

  clock(): bigint {
    this.#lifetime.expect();
    return this.#clock.ticks(this.#system(SYSTEM_TIMESTAMP));
  }

  /** No code was ever at an address before: nothing has to be told to instruction caches. */
  publishCode({ address }: PublishedCode): void {
    this.#lifetime.expect();
    this.memory.keep(address);
  }

  /** The library needs no word of it; `SharedHostMemory.free` keeps the place of code. */
  withdrawCode(): void {}

  dispatch(launch: KernelLaunch): Dispatch {
    this.#lifetime.expect();
    const { queueAddress = 0n } = launch.origin ?? {};
    let queue = this.#queues.get(queueAddress);
    if (queue === undefined) {
      queue = new NativeQueue(this.#library, this.#agent, this.properties.wavefrontSize, this.#clock);
      this.#queues.set(queueAddress, queue);
    }
    return queue.dispatch(launch);
  }

  releaseQueue(queueAddress: bigint): void {
    this.#queues.get(queueAddress)?.close();
    this.#queues.delete(queueAddress);
  }

  advance(): AdvanceResult {
    this.#lifetime.expect();
    let isRunning = false;
    for (const queue of this.#queues.values()) isRunning = queue.advance() || isRunning;
    return isRunning ? 'running' : 'idle';
  }

  close(): void {
    if (!this.#lifetime.isLive) return;
    for (const queue of this.#queues.values()) queue.close();
    this.memory.freeAll();
    this.#lifetime.release();
    this.#library.call.hsa_shut_down();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Throws NO_DEVICE, with what was tried, where there is no HSA runtime, no GPU, or no GPU of that number. */
export async function openNativeDevice({ index = 0, ...options }: NativeDeviceOptions = {}): Promise<Device> {
  const library = await HsaLibrary.open(options);
  return startDevice(library, index);
}

/** Opens a device of a library that is already loaded. Errors as `openNativeDevice`. */
export function startDevice(library: HsaLibrary, index: number): Device {
  try {
    library.check(library.call.hsa_init(), 'hsa_init');
  } catch (cause) {
    const what = cause instanceof WavewrightError ? cause.what : String(cause);
    throw noDevice(`no device 'hsa:${index}': ${library.path}: ${what}`, { hint: driverHint(), cause });
  }
  try {
    return new NativeDevice(library, index);
  } catch (error) {
    library.call.hsa_shut_down();
    throw error;
  }
}
