/**
 * Profiles of programs below the HAL: kernels in packets of HSA queues, as a session of a logical device
 * tells of its own. Each packet is an operation of one queue.
 */
import { matchesGlob } from '../../base/glob.ts';
import type { Device } from '../../device/device.ts';
import type { DispatchStatistics } from '../../device/statistics.ts';
import type { Executable } from '../../hsa/executables/executable.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import { type FinishedPacket, occupancyIn } from '../../hsa/queues/packet-processor.ts';
import type { LaunchObserver } from '../../hsa/runtime/launch-observer.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import type { CounterInfo, DispatchTimes } from '../backend/backend.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import type { ClockSample, DeviceDescription } from '../devices/device-description.ts';
import { DeviceSamples, isRangeCounter } from '../devices/device-samples.ts';
import { InstructionTally } from '../devices/instruction-tally.ts';
import {
  chosenCounters,
  type ProfileChunk,
  type ProfileData,
  type ProfileEvent,
  tracedKernel,
} from '../devices/profile-session.ts';
import { type ExecutableExport, HalExecutable } from '../executables/executable.ts';
import type { DispatchCounter, InstructionReader } from './agents.ts';
import { AmdgpuCode } from './code.ts';

/** As `ProfileSink`, at once. */
export interface PacketSink {
  begin(device: DeviceDescription, counters: readonly CounterInfo[], data: readonly ProfileData[]): void;
  write(chunk: ProfileChunk): void;
  end(): void;
}

export interface PacketProfileOptions {
  readonly device: Device;
  readonly sink: PacketSink;
  /** Default: all that there is. */
  readonly data?: readonly ProfileData[] | undefined;
  /** What the device counts of each dispatch. */
  readonly counters: readonly DispatchCounter[];
  /** Names of those that are wanted. Default: all. */
  readonly counterNames?: readonly string[] | undefined;
  /** Names of the kernels that are told of: `*` stands for any characters. Default: all. */
  readonly kernels?: string | undefined;
  /** Where the device counts the executions of each instruction. */
  readonly instructions?: InstructionReader | undefined;
  /** Whether the device traces waves. */
  readonly tracesWaves?: boolean;
  /** Whether `onTransfer` is called. */
  readonly hasTransfers?: boolean;
  /** Milliseconds of the host. */
  readonly now: () => number;
}

/** What the host did with memory of the device, in milliseconds of `now`. */
export interface HostTransfer {
  readonly kind: 'copy' | 'fill';
  readonly startMs: number;
  readonly endMs: number;
  readonly sizeBytes: number;
}

/** What packets tell of, and transfers. */
const PACKET_DATA = [
  'host-execution',
  'dispatch-events',
  'counters',
  'counter-ranges',
  'device-metrics',
  'instruction-counts',
  'executable-traces',
] as const satisfies readonly ProfileData[];
const QUEUE = 'queue';
/** Events that are kept before they are written. */
const MAX_EVENTS = 4096;

/** Observes the queues of a launcher; `onFinished` completes the profile. */
export class PacketProfile implements LaunchObserver {
  readonly #options: PacketProfileOptions;
  readonly #data: readonly ProfileData[];
  readonly #counterIndices: readonly number[];
  readonly #instructions = new InstructionTally();
  readonly #samples: DeviceSamples;
  /** By the names of kernels. */
  readonly #exports = new Map<string, ExecutableExport>();
  #events: ProfileEvent[] = [];
  #operationCount = 0;
  #lostCount = 0;

  /** Throws UNIMPLEMENTED for data that packets do not tell of, INVALID_ARGUMENT for an unknown counter. */
  constructor(options: PacketProfileOptions) {
    const { device, sink, data, counters, counterNames, instructions, now } = options;
    const { tracesWaves = false, hasTransfers = false } = options;
    this.#options = options;
    const has = (each: ProfileData): boolean =>
      PACKET_DATA.some((known) => known === each) &&
      (each !== 'host-execution' || hasTransfers) &&
      (each !== 'instruction-counts' || instructions !== undefined) &&
      (each !== 'executable-traces' || tracesWaves);
    const missing = data?.find((each) => !has(each));
    if (missing !== undefined) {
      throw new HalError('UNIMPLEMENTED', `packets of HSA queues tell nothing of ${missing}`, {
        hint: `there are ${PACKET_DATA.slice(hasTransfers ? 0 : 1).join(', ')}; a HAL device (wavewright hal) tells of queues and memory`,
      });
    }
    this.#data = data ?? PACKET_DATA.filter(has);
    const isRanged = this.#data.includes('counter-ranges');
    const isCounted = isRanged || this.#data.includes('counters');
    this.#counterIndices = isCounted ? chosenCounters({ counters }, counterNames) : [];
    if (counterNames !== undefined && !isCounted) throw invalidArgument('counters without counters');
    this.#samples = new DeviceSamples({
      isRanged,
      isMetered: this.#data.includes('device-metrics'),
      counterIndices: this.#counterIndices.filter((index) => isRangeCounter(counters[index]!)),
      memoryOf: () => ({ usedBytes: device.memory.usedBytes, sizeBytes: device.properties.memorySizeBytes }),
    });
    const chosen = this.#counterIndices.map((index) => counters[index]!);
    sink.begin(describe(device), chosen, this.#data);
    this.#clock = () => {
      const hostBeforeMs = now();
      return { deviceTicks: device.clock(), hostBeforeMs, hostAfterMs: now() };
    };
    this.flush();
  }

  readonly #clock: () => ClockSample;

  onLoaded(runtime: Runtime, agent: Agent, executable: Executable): void {
    // The launcher disposes the executable: nobody disposes this one.
    const code = new AmdgpuCode(runtime, executable, [agent], this.#options.instructions);
    const loaded = new HalExecutable(this, code);
    for (const entry of Object.values(loaded.exports)) this.#exports.set(entry.name, entry);
  }

  onLaunch(): void {
    // What a kernel did is known when it is over.
  }

  onPacket(packet: FinishedPacket): void {
    const { dispatch, kernel, gridSize, workgroupSize } = packet;
    const entry = kernel === undefined ? undefined : this.#exports.get(kernel);
    if (dispatch === undefined || entry === undefined) return;
    const { statistics, startTicks, endTicks } = dispatch;
    const { waves: waveCount, pcCounts: byPc, trace } = statistics;
    const times: DispatchTimes = {
      operation: { id: ++this.#operationCount, kind: 'dispatch', queue: QUEUE },
      deviceOrdinal: 0,
      kernel: { entry, groups: groupsOf(gridSize, workgroupSize), workgroupSize },
      ...{ startTicks, endTicks },
      ...(this.#counterIndices.length > 0 && { counts: this.#counts(packet, statistics) }),
      ...(byPc !== undefined && { instructions: { waveCount, byPc } }),
      ...(trace !== undefined && { trace }),
    };
    this.#samples.add(times);
    if (!matchesGlob(entry.name, this.#options.kernels ?? '*')) return;
    if (this.#data.includes('dispatch-events')) this.#events.push({ data: 'dispatch-events', ...times });
    if (this.#data.includes('instruction-counts')) this.#instructions.add(times);
    const traced = this.#data.includes('executable-traces') ? tracedKernel(times) : undefined;
    if (traced !== undefined) this.#events.push({ data: 'executable-traces', ...traced });
    if (this.#data.includes('counters')) {
      const counts = this.#counterIndices.map((index) => times.counts![index]!);
      this.#events.push({ data: 'counters', ...times, counts });
    }
    if (this.#events.length >= MAX_EVENTS) this.flush();
  }

  onTransfer({ kind, startMs, endMs, sizeBytes: payloadBytes }: HostTransfer): void {
    if (!this.#data.includes('host-execution')) return;
    const operation = { id: ++this.#operationCount, kind, queue: QUEUE } as const;
    const request = { waitCount: 0, signalCount: 0, payloadBytes };
    this.#events.push({ data: 'host-execution', operation, request, startMs, endMs });
    if (this.#events.length >= MAX_EVENTS) this.flush();
  }

  /** Transfers of which nobody told, because there were too many. */
  onLostTransfers(count: number): void {
    if (this.#data.includes('host-execution')) this.#lostCount += count;
  }

  /** Of all counters. */
  #counts(packet: FinishedPacket, statistics: DispatchStatistics): number[] {
    const occupancy = occupancyIn(packet);
    return this.#options.counters.map(({ count }) => count(statistics, occupancy));
  }

  onFinished(): void {
    this.flush();
    this.#options.sink.end();
  }

  /** Writes what there is: counts of instructions are read beside their code, which must still be there. */
  flush(): void {
    const kernels = this.#instructions.take().map((kernel) => ({ data: 'instruction-counts', ...kernel }) as const);
    const clocks = [this.#clock()];
    const events = [...this.#events, ...kernels, ...this.#samples.take(clocks)];
    this.#events = [];
    const droppedCount = this.#lostCount;
    const dropped = droppedCount === 0 ? {} : { 'host-execution': droppedCount };
    this.#lostCount = 0;
    this.#options.sink.write({ events, droppedCount, dropped, clocks });
    for (const { entry } of kernels) entry.executable.release();
  }
}

type Extent = readonly [number, number, number];

const groupsOf = (grid: Extent, workgroup: Extent): Extent => {
  const [x, y, z] = grid.map((size, i) => Math.ceil(size / Math.max(1, workgroup[i]!)));
  return [x!, y!, z!];
};

function describe({ name, properties }: Device): DeviceDescription {
  const info = {
    uuid: '',
    name,
    formats: [properties.targetId, properties.processor],
    computeUnitCount: properties.computeUnitCount,
    maxWorkgroupSize: properties.maxWorkgroupSize,
    memorySizeBytes: properties.memorySizeBytes,
    clockFrequencyHz: properties.timestampFrequencyHz,
    executes: true,
  };
  return { name, devices: [{ ...info, queues: [QUEUE] }], links: [], heaps: [] };
}
