/**
 * Recordings of programs below the HAL: what kernels an HSA runtime launched, with their code, arguments and
 * the memory that arguments point to, as a recording that devices of the HAL replay.
 */
import type { BundleTarget } from '../../base/bundle-target.ts';
import { concatenate } from '../../base/concatenate.ts';
import { exportOf } from '../../hal/amdgpu/code.ts';
import { BUFFER_USAGE, type ExportInfo, MEMORY_TYPES } from '../../hal/index.ts';
import type { Executable } from '../../hsa/executables/executable.ts';
import type { KernelSymbol } from '../../hsa/executables/kernel-symbol.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import { PACKET } from '../../hsa/objects/layouts.ts';
import type { LaunchObserver } from '../../hsa/runtime/launch-observer.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import { encodeMetadata } from '../format/executable-metadata.ts';
import { ReplayWriter } from '../format/file.ts';
import type { BufferRefRecord } from '../format/payload-kinds.ts';
import {
  ALLOCATE_BUFFER,
  BUFFER_RANGE_DATA,
  DISPATCH_CALL,
  EXECUTABLE_CACHE_OBJECT,
  EXECUTABLE_PREPARE,
  SEMAPHORE_OBJECT,
} from '../format/payloads.ts';
import { contentsNote } from '../record/contents-note.ts';
import { metadataOf } from '../record/executable-records.ts';
import { ANY_QUEUE } from '../record/thing-records.ts';

const DEVICE = 1;
const ALLOCATOR = 2;
const CACHE = 3;
/** Emulated GPUs have so many, and recordings name how many there were. */
const QUEUES = 2;
const HOST_MEMORY = MEMORY_TYPES.set('host-local').with('device-visible').bits;
const USAGE = BUFFER_USAGE.set(['default', 'mapping']).bits;
const ALL_ACCESS = 7;
const DISCARD_WRITE = 6;

/** Memory that kernels got, and what of it the recording has. */
interface RecordedBuffer {
  readonly id: number;
  readonly base: bigint;
  readonly known: Uint8Array;
}

interface LoadedKernel {
  readonly executableId: number;
  readonly ordinal: number;
  readonly kernel: KernelSymbol;
  readonly info: ExportInfo;
}

export class LaunchRecorder implements LaunchObserver {
  readonly #writer: ReplayWriter;
  #runtime: Runtime | undefined;
  #lastId = CACHE;
  readonly #kernels = new Map<bigint, LoadedKernel>();
  readonly #buffers = new Map<bigint, RecordedBuffer>();
  /** Launches that have not ended, as far as the recording knows. */
  #open: number[] = [];
  /** What they may have written to. */
  readonly #bound = new Set<RecordedBuffer>();
  #previousEnd = 0;
  /** Launches that are not complete. */
  #running = 0;

  constructor(target: BundleTarget) {
    this.#writer = new ReplayWriter(target);
    this.#writer.session();
  }

  onLoaded(runtime: Runtime, agent: Agent, executable: Executable): void {
    if (this.#runtime === undefined) this.#begin(agent);
    this.#runtime = runtime;
    const kernels = executable.agentSymbols(agent).filter((symbol) => symbol.kind === 'kernel');
    const infos = kernels.map(exportOf);
    const pieces = executable.loadedCodeObjects.filter((each) => each.agent === agent).map(({ storage }) => storage);
    const executableId = ++this.#lastId;
    const header = { deviceId: DEVICE, objectId: CACHE, relatedObjectId: executableId } as const;
    const format = agent.requireDevice().properties.targetId;
    const metadata = encodeMetadata(metadataOf(infos));
    if (pieces.length === 1) {
      const payload = { queueAffinity: ANY_QUEUE, format, data: pieces[0]!, metadata };
      const prepare = { ...header, objectType: 'executable_cache' } as const;
      this.#writer.operation('executable_cache.prepare_executable', prepare, EXECUTABLE_PREPARE, payload);
    } else {
      const sizes = pieces.map(({ length }) => length);
      const told = { format, pieces: sizes, constants: [], metadataBytes: metadata.length };
      this.#writer.own('device.prepare_linked', header, told, concatenate([...pieces, metadata]));
    }
    for (const [ordinal, kernel] of kernels.entries()) {
      this.#kernels.set(kernel.kernelObject, { executableId, ordinal, kernel, info: infos[ordinal]! });
    }
  }

  #begin(agent: Agent): void {
    const { targetId } = agent.requireDevice().properties;
    const [processor] = targetId.split(':');
    const writer = this.#writer;
    writer.object({ deviceId: DEVICE, objectId: DEVICE, objectType: 'device' });
    writer.object({ deviceId: DEVICE, objectId: ALLOCATOR, objectType: 'allocator' });
    const uri = `amdgpu://0?target=${processor}`;
    writer.own('note.device', { deviceId: DEVICE }, { uri, queues: QUEUES, formats: [targetId] });
    const cache = { deviceId: DEVICE, objectId: DEVICE, relatedObjectId: CACHE, objectType: 'device' } as const;
    writer.operation('device.create_executable_cache', cache, EXECUTABLE_CACHE_OBJECT, { identifier: 'wavewright' });
  }

  onLaunch(packet: DataView): void {
    this.#running++;
    const { kernelObject, kernargAddress, gridSize, workgroupSize, groupSegmentSize } = PACKET.dispatch;
    const found = this.#kernels.get(packet.getBigUint64(kernelObject, true));
    const axes = [0, 1, 2];
    const sizes = axes.map((axis) => Math.max(1, packet.getUint16(workgroupSize + 2 * axis, true)));
    const grid = axes.map((axis) => packet.getUint32(gridSize + 4 * axis, true));
    const isWhole = grid.every((size, axis) => size % sizes[axis]! === 0);
    const problem = found === undefined ? 'its code is not known' : found.info.problem;
    if (found === undefined || problem !== undefined || !isWhole) {
      this.#refuse(problem ?? 'its grid has a workgroup that is not whole');
      return;
    }
    const { info, kernel, executableId, ordinal } = found;
    const address = packet.getBigUint64(kernargAddress, true);
    const block = this.#runtime!.view(address, Math.max(1, info.argumentsSizeBytes ?? 0));
    const bindings = this.#bindings(info, block);
    if (bindings === undefined) {
      this.#refuse('a pointer of its arguments leads to no memory');
      return;
    }
    this.#synchronise();
    const end = ++this.#lastId;
    const semaphore = { deviceId: DEVICE, objectId: DEVICE, relatedObjectId: end, objectType: 'device' } as const;
    this.#writer.operation('device.create_semaphore', semaphore, SEMAPHORE_OBJECT, { queueAffinity: ANY_QUEUE });
    const waits = this.#previousEnd === 0 ? [] : [{ semaphoreId: this.#previousEnd, value: 1 }];
    const dispatch = { deviceId: DEVICE, objectId: DEVICE, objectType: 'device' } as const;
    const launched = this.#writer.operation('device.queue_dispatch', dispatch, DISPATCH_CALL, {
      executableId,
      exportOrdinal: ordinal,
      queueAffinity: 1n,
      workgroupCount: grid.map((size, axis) => size / sizes[axis]!),
      workgroupSize: sizes,
      dynamicWorkgroupLocalMemory: Math.max(0, packet.getUint32(groupSegmentSize, true) - kernel.groupSegmentSizeBytes),
      constants: constantsOf(info, block),
      bindings,
      waitSemaphores: waits,
      signalSemaphores: [{ semaphoreId: end, value: 1 }],
    });
    this.#previousEnd = end;
    this.#open.push(launched);
  }

  #refuse(why: string): void {
    this.#writer.own('note.operation', { deviceId: DEVICE }, { refused: why });
    this.#writer.unsupported('device.queue_dispatch', { deviceId: DEVICE, objectType: 'device' });
  }

  /** Undefined where a pointer leads nowhere. */
  #bindings({ parameters }: ExportInfo, block: Uint8Array): BufferRefRecord[] | undefined {
    const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
    const refs: BufferRefRecord[] = [];
    for (const { kind, offsetBytes, isReadOnly } of parameters) {
      if (kind !== 'binding') continue;
      const pointer = view.getBigUint64(offsetBytes, true);
      const { base, sizeBytes } = this.#runtime!.memory.pointerInfo(pointer);
      if (base === undefined || sizeBytes === undefined) return undefined;
      const buffer = this.#buffer(base, sizeBytes);
      if (isReadOnly !== true) this.#bound.add(buffer);
      const offset = Number(pointer - base);
      refs.push({ bufferId: buffer.id, offset, length: sizeBytes - offset, slot: 0 });
    }
    return refs;
  }

  #buffer(base: bigint, sizeBytes: number): RecordedBuffer {
    const known = this.#buffers.get(base);
    if (known?.known.length === sizeBytes) return known;
    const id = ++this.#lastId;
    const header = { deviceId: DEVICE, objectId: ALLOCATOR, relatedObjectId: id, objectType: 'allocator' } as const;
    this.#writer.operation('allocator.allocate_buffer', header, ALLOCATE_BUFFER, {
      allocationSize: sizeBytes,
      queueAffinity: ANY_QUEUE,
      minAlignment: 1,
      usage: USAGE,
      type: HOST_MEMORY,
      access: ALL_ACCESS,
    });
    const buffer = { id, base, known: new Uint8Array(sizeBytes) };
    this.#buffers.set(base, buffer);
    return buffer;
  }

  /** What memory holds that the recording does not have, before a kernel sees it. */
  #synchronise(): void {
    this.#tellEnds();
    for (const { id, base, known } of this.#buffers.values()) {
      const bytes = this.#bytesAt(base, known.length);
      if (bytes === undefined) continue;
      let start = 0;
      while (start < known.length && known[start] === bytes[start]) start++;
      if (start === known.length) continue;
      let end = known.length;
      while (known[end - 1] === bytes[end - 1]) end--;
      const data = bytes.slice(start, end);
      known.set(data, start);
      const header = { deviceId: DEVICE, objectId: id, objectType: 'buffer' } as const;
      const range = { byteOffset: start, byteLength: data.length, memoryAccess: DISCARD_WRITE };
      this.#writer.operation('buffer.unmap_range', header, BUFFER_RANGE_DATA, { ...range, data });
    }
  }

  /** Undefined for memory that was given back. */
  #bytesAt(base: bigint, sizeBytes: number): Uint8Array | undefined {
    const found = this.#runtime!.memory.pointerInfo(base);
    return found.base === base && found.sizeBytes === sizeBytes ? this.#runtime!.view(base, sizeBytes) : undefined;
  }

  #tellEnds(): void {
    for (const operation of this.#open) {
      this.#writer.own('note.operation_ended', { deviceId: DEVICE }, { operation, status: 0 });
    }
    this.#open = [];
  }

  /** A launch is complete. Memory is looked at when no other one runs. */
  onCompleted(): void {
    this.#running--;
    if (this.#running === 0) this.onFinished();
  }

  /** All launches so far are complete: what they wrote is what the recording expects. */
  onFinished(): void {
    this.#running = 0;
    this.#tellEnds();
    for (const { id, base, known } of this.#bound) {
      const bytes = this.#bytesAt(base, known.length);
      if (bytes === undefined) continue;
      known.set(bytes);
      contentsNote(this.#writer, 'note.contents', { deviceId: DEVICE, objectId: id }, { offset: 0, bytes });
    }
    this.#bound.clear();
  }

  /** Nothing comes any more. */
  close(): void {
    this.#writer.end();
  }
}

/** Whole words of each value, as dispatches of the HAL take them. */
function constantsOf({ parameters }: ExportInfo, block: Uint8Array): Uint8Array {
  const parts = parameters
    .filter(({ kind }) => kind === 'constant')
    .map(({ offsetBytes, sizeBytes }) => {
      const words = new Uint8Array(Math.ceil(sizeBytes / 4) * 4);
      words.set(block.subarray(offsetBytes, offsetBytes + sizeBytes));
      return words;
    });
  return concatenate(parts);
}
