/** The `amdgpu` driver: GPUs by URI, as IREE's driver of this name has them. */

import { HalError, withHalStatus } from '../core/status.ts';
import type { DeviceUri } from '../core/uri.ts';
import { devicesOfPath, parameterValues } from '../core/uri.ts';
import { type DeviceInfo, type Driver, type DriverContext, STALL_PARAMETER, watchOf } from '../devices/driver.ts';
import { LogicalDevice } from '../devices/logical-device.ts';
import type { AgentProvider, AgentSource } from './agents.ts';
import { GpuBackend, type GpuBackendOptions, type OpenGpu } from './gpu-backend.ts';
import { libraryImage } from './library/library-image.ts';
import { WAIT_PARAMETER } from './order/wait-strategy.ts';

export { type AgentProvider, type AgentSource, type InstructionReader, uuidOf } from './agents.ts';
export { PacketProfile, type PacketProfileOptions, type PacketSink } from './packet-profile.ts';

/** What stands behind the question mark of a URI. */
const PARAMETERS = {
  /** Of each GPU. */
  queues: { kind: 'integer', min: 1, max: 1024, default: 2 },
  /** Of each queue's rings: packets, submissions whose end it keeps in mind, blocks of 64 bytes. */
  ring: { kind: 'integer', min: 1, max: 131_072, default: 4096 },
  notifications: { kind: 'integer', min: 1, max: 131_072, default: 4096 },
  kernargs: { kind: 'integer', min: 1, max: 2 ** 20, default: 16_384 },
  /** Who fills and copies memory: the host, or kernels of the device library. */
  transfers: { kind: 'choice', values: ['host', 'kernels'], default: 'host' },
  /** How queues wait for what other queues do: `auto` is what IREE's driver would choose for the GPU. */
  waits: { kind: 'choice', values: WAIT_PARAMETER, default: 'auto' },
  /** Bytes of a block of a command buffer, unless one command needs more. */
  block: { kind: 'integer', min: 256, max: 2 ** 24, default: 131_072 },
  /** The processor of emulated GPUs. */
  target: { kind: 'text', default: '' },
  /** Which of the operations that may begin does: a schedule for each seed. -1: the first submitted. */
  seed: { kind: 'integer', min: 0, max: 2 ** 32 - 1, default: -1 },
  /** Milliseconds without a begin or an end of an operation, after which somebody is told. */
  stall: STALL_PARAMETER,
} as const;

/** The GPUs of a list such as ROCR_VISIBLE_DEVICES: ordinals and UUIDs; without one all. */
const visible = (agents: readonly AgentSource[], names: string | undefined): readonly AgentSource[] =>
  names === undefined ? agents : names.trim() === '' ? [] : devicesOfPath(names.replaceAll(' ', ''), agents);

const list = (agents: readonly AgentSource[]): DeviceInfo[] =>
  agents.map(({ uuid, name }, i) => ({ uri: `amdgpu://${uuid}`, uuid, name: `${name} (Node ${i + 1})` }));

/** Throws INCOMPATIBLE for GPUs of different ISAs; then none is open. */
async function openAll(sources: readonly AgentSource[]): Promise<OpenGpu[]> {
  using opened = new DisposableStack();
  const gpus: OpenGpu[] = [];
  for (const source of sources) {
    const device = opened.adopt(await source.open(), (each) => each.close());
    const { uuid, name, counters, instructions, tracesWaves } = source;
    const counted = {
      ...(counters !== undefined && { counters }),
      ...(instructions !== undefined && { instructions }),
      ...(tracesWaves !== undefined && { tracesWaves }),
    };
    gpus.push({ uuid, name, ...counted, device });
  }
  const isaOf = ({ device }: OpenGpu): string => device.properties.targetId;
  const other = gpus.find((gpu) => isaOf(gpu) !== isaOf(gpus[0]!));
  if (other !== undefined) {
    const [one, two] = [gpus[0]!, other].map((gpu) => `${gpu.uuid} is ${isaOf(gpu)}`);
    throw new HalError('INCOMPATIBLE', `the GPUs of a logical device have one ISA, but ${one} and ${two}`, {
      hint: 'open each as a device of its own: semaphores order operations across them',
    });
  }
  opened.move();
  return gpus;
}

type BackendOptions = Omit<GpuBackendOptions, 'library'> & { readonly transfers: 'host' | 'kernels' };

/** Throws INCOMPATIBLE also where there is no device library for the ISA. */
async function openBackend(
  sources: readonly AgentSource[],
  { transfers, ...options }: BackendOptions,
): Promise<GpuBackend> {
  const gpus = await openAll(sources);
  try {
    const { processor } = gpus[0]!.device.properties;
    const library = transfers === 'kernels' ? await libraryImage(processor) : undefined;
    return withHalStatus(() => new GpuBackend(gpus, { ...options, library }));
  } catch (error) {
    for (const { device } of gpus) device.close();
    throw error;
  }
}

export class AmdgpuDriver implements Driver {
  readonly name = 'amdgpu';
  readonly fullName = 'AMD GPU Driver (HSA)';
  readonly #provider: AgentProvider;
  readonly #visibleDevices: string | undefined;
  readonly #createRuntime: AmdgpuDriverOptions['createRuntime'];

  constructor(provider: AgentProvider, { visibleDevices, createRuntime }: AmdgpuDriverOptions = {}) {
    this.#provider = provider;
    this.#visibleDevices = visibleDevices;
    this.#createRuntime = createRuntime;
  }

  #agents(target: string): readonly AgentSource[] {
    return visible(this.#provider.list(target), this.#visibleDevices);
  }

  devices(): DeviceInfo[] {
    return list(this.#agents(''));
  }

  /** Throws also what the HSA runtime has not enough of; then nothing of the device is left. */
  async open(uri: DeviceUri, { loop, onEvent, ...context }: DriverContext): Promise<LogicalDevice> {
    const values = parameterValues(uri, PARAMETERS);
    const { queues, ring, notifications, kernargs, block, target, transfers, waits, seed, stall } = values;
    if (!Number.isInteger(Math.log2(ring))) {
      throw new HalError('INVALID_ARGUMENT', `amdgpu parameter ring=${ring}: expected a power of two`);
    }
    const chosen = devicesOfPath(uri.path, this.#agents(target));
    if (chosen.length === 0) throw new HalError('UNAVAILABLE', 'there is no AMD GPU');
    const { decompress } = this.#provider;
    const rings = { packets: ring, notifications, kernargBlocks: kernargs };
    const container = { decompress };
    const how = {
      now: loop.now,
      rings,
      container,
      transfers,
      blockBytes: block,
      waits,
      createRuntime: this.#createRuntime,
    };
    const backend = await openBackend(chosen, how);
    const name = `amdgpu://${chosen.map(({ uuid }) => uuid).join(',')}`;
    const schedule = { loop, onEvent, seed: seed < 0 ? undefined : seed, watch: watchOf(stall, context) };
    try {
      return withHalStatus(() => new LogicalDevice(backend, { name, queuesPerDevice: queues, ...schedule }));
    } catch (error) {
      backend[Symbol.dispose]();
      throw error;
    }
  }
}

export interface AmdgpuDriverOptions {
  /** Which GPUs there are, and in what order, as ROCR_VISIBLE_DEVICES says it: `1,GPU-...`. Default: all. */
  readonly visibleDevices?: string | undefined;
  /** Makes the HSA runtime of a logical device, such as one that records its calls or lets them fail. */
  readonly createRuntime?: GpuBackendOptions['createRuntime'];
}

/** A driver for the GPUs of `provider`. */
export const amdgpuDriver = (provider: AgentProvider, options?: AmdgpuDriverOptions): Driver =>
  new AmdgpuDriver(provider, options);
