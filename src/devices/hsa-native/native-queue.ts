/** A queue of the real runtime: takes dispatches from one queue of ours, and says when they are done. */
import type { Fault } from '../../device/fault.ts';
import type { Dispatch, KernelLaunch } from '../../device/launch.ts';
import type { DispatchStatistics } from '../../device/statistics.ts';
import { NO_STATISTICS } from '../../device/statistics.ts';
import { QUEUE } from '../../hsa/objects/layouts.ts';
import { encodeKernelDispatch } from '../../hsa/queues/packet.ts';
import type { HsaLibrary } from './library.ts';

const PACKETS = 1024;
const PACKET_BYTES = 64;
const NO_WISH = 0xffff_ffff;
/** hsa_queue_type_t: one producer. */
const SINGLE = 1;
/** What a queue's inactive signal holds once its error was told. */
const TOLD = -1n;

/** Bits of the inactive signal (ROCr, amd_aql_queue.cpp), in the order in which they are looked at. */
const ERRORS: readonly (readonly [bits: bigint, kind: Fault['kind'], what: string])[] = [
  [2n, 'unsupported', 'the dimensions of the dispatch are not valid'],
  [4n, 'unsupported', 'more group memory than there is'],
  [8n, 'unsupported', 'the kernel object is not valid'],
  [32n | 256n, 'unsupported', 'the packet is not valid'],
  [64n, 'unsupported', 'the workgroup is too large'],
  [128n, 'unsupported', 'more registers than there are'],
  [0x2000_0000n, 'aperture', 'access outside all apertures'],
  [0x4000_0000n, 'illegal-instruction', 'illegal instruction'],
  [0x8000_0000n, 'exception', 'trap'],
];

/** Times and rates of a device, to turn what the library tells into ticks of the device. */
export interface NativeClock {
  /** System time to ticks of the device. */
  ticks(systemTime: bigint): bigint;
}

class NativeDispatch implements Dispatch {
  state: Dispatch['state'] = 'running';
  fault?: Fault;
  startTicks = 0n;
  endTicks = 0n;
  /** The GPU does not count instructions. */
  readonly statistics: DispatchStatistics;
  readonly #queue: NativeQueue;

  constructor(queue: NativeQueue, workgroups: number, waves: number) {
    this.#queue = queue;
    this.statistics = { ...NO_STATISTICS, workgroups, waves };
  }

  /** A GPU cannot stop one kernel: the queue ends, and all that it runs. */
  cancel(): void {
    if (this.state === 'running') this.#queue.close('cancelled');
  }

  describeWaves(): string[] {
    return [];
  }
}

interface Entry {
  readonly dispatch: NativeDispatch;
  readonly launch: KernelLaunch;
  signal: bigint;
}

export class NativeQueue {
  readonly #library: HsaLibrary;
  readonly #agent: bigint;
  readonly #clock: NativeClock;
  readonly #waveSize: number;
  readonly #queue: bigint;
  readonly #words: DataView;
  readonly #ring: Uint8Array;
  readonly #doorbell: bigint;
  readonly #running: Entry[] = [];
  readonly #waiting: Entry[] = [];
  readonly #signals: bigint[] = [];
  /** Packets, since the queue was made. */
  #submitted = 0n;
  #isOpen = true;

  constructor(library: HsaLibrary, agent: bigint, waveSize: number, clock: NativeClock) {
    const { call, ffi } = library;
    this.#library = library;
    this.#agent = agent;
    this.#clock = clock;
    this.#waveSize = waveSize;
    const out = new Uint8Array(8);
    // No callback: the library would call it from a thread of its own. The inactive signal tells of errors.
    library.check(call.hsa_queue_create(agent, PACKETS, SINGLE, 0n, 0n, NO_WISH, NO_WISH, out), 'hsa_queue_create');
    this.#queue = new DataView(out.buffer).getBigUint64(0, true);
    this.#words = new DataView(ffi.toArrayBuffer(this.#queue, QUEUE.inactiveSignal + 8, false));
    const size = this.#words.getUint32(QUEUE.sizePackets, true);
    const base = this.#words.getBigUint64(QUEUE.baseAddress, true);
    this.#ring = new Uint8Array(ffi.toArrayBuffer(base, size * PACKET_BYTES, false));
    this.#doorbell = this.#words.getBigUint64(QUEUE.doorbellSignal, true);
    library.check(
      call.hsa_amd_profiling_set_profiler_enabled(this.#queue, 1),
      'hsa_amd_profiling_set_profiler_enabled',
    );
  }

  /** High words of the apertures, which a queue tells. */
  get apertures(): { readonly shared: number; readonly private: number } {
    return {
      shared: this.#words.getUint32(QUEUE.groupApertureHi, true),
      private: this.#words.getUint32(QUEUE.privateApertureHi, true),
    };
  }

  dispatch(launch: KernelLaunch): Dispatch {
    const groups = launch.gridSize.map((size, i) => Math.ceil(size / launch.workgroupSize[i]!));
    const workgroups = groups.reduce((product, each) => product * each, 1);
    const workItems = launch.workgroupSize.reduce((product, each) => product * each, 1);
    const dispatch = new NativeDispatch(this, workgroups, workgroups * Math.ceil(workItems / this.#waveSize));
    this.#waiting.push({ dispatch, launch, signal: 0n });
    this.advance();
    return dispatch;
  }

  /** Hands over what there is room for, takes back what is done; returns whether anything runs. */
  advance(): boolean {
    if (!this.#isOpen) return false;
    const { call } = this.#library;
    for (let i = 0; i < this.#running.length; ) {
      const entry = this.#running[i]!;
      if (call.hsa_signal_load_scacquire(entry.signal) > 0n) {
        i++;
        continue;
      }
      this.#complete(entry);
      this.#running.splice(i, 1);
    }
    while (this.#waiting.length > 0 && this.#hasRoom()) this.#submit(this.#waiting.shift()!);
    this.#checkErrors();
    return this.#running.length > 0;
  }

  /** A slot is free when its packet and all earlier ones are complete. */
  #hasRoom(): boolean {
    return this.#submitted - this.#library.call.hsa_queue_load_read_index_scacquire(this.#queue) < BigInt(PACKETS);
  }

  #submit(entry: Entry): void {
    const { call } = this.#library;
    entry.signal = this.#signals.pop() ?? this.#createSignal();
    call.hsa_signal_store_screlease(entry.signal, 1n);
    const index = call.hsa_queue_add_write_index_screlease(this.#queue, 1n);
    this.#submitted = index + 1n;
    const slot = Number(index % BigInt(this.#ring.length / PACKET_BYTES)) * PACKET_BYTES;
    const bytes = this.#ring.subarray(slot, slot + PACKET_BYTES);
    const { workgroupSize, gridSize, entry: kernelObject, argumentsAddress: kernargAddress, resources } = entry.launch;
    const fields = {
      ...{ dimensions: 3, workgroupSize, gridSize, kernelObject, kernargAddress, completionSignal: entry.signal },
      privateSegmentSizeBytes: resources.privateSizeBytes,
      groupSegmentSizeBytes: resources.groupSizeBytes,
    };
    // Order among dispatches is the business of the queue above: no barrier bit.
    const header = encodeKernelDispatch(bytes, fields, false);
    Atomics.store(new Int32Array(bytes.buffer, bytes.byteOffset, 1), 0, header);
    call.hsa_signal_store_screlease(this.#doorbell, index);
    this.#running.push(entry);
  }

  #createSignal(): bigint {
    const out = new Uint8Array(8);
    this.#library.check(this.#library.call.hsa_signal_create(1n, 0, 0n, out), 'hsa_signal_create');
    return new DataView(out.buffer).getBigUint64(0, true);
  }

  #complete({ dispatch, signal }: Entry): void {
    const times = new Uint8Array(16);
    const status = this.#library.call.hsa_amd_profiling_get_dispatch_time(this.#agent, signal, times);
    const data = new DataView(times.buffer);
    if (status === 0) {
      dispatch.startTicks = this.#clock.ticks(data.getBigUint64(0, true));
      dispatch.endTicks = this.#clock.ticks(data.getBigUint64(8, true));
    }
    dispatch.state = 'complete';
    this.#signals.push(signal);
  }

  #checkErrors(): void {
    const handle = this.#words.getBigUint64(QUEUE.inactiveSignal, true);
    if (handle === 0n) return;
    const value = this.#library.call.hsa_signal_load_scacquire(handle);
    const known = ERRORS.find(([bits]) => (value & bits) !== 0n);
    if (value !== TOLD && known === undefined) return;
    const [, kind, what] =
      value === TOLD || known === undefined ? ([0n, 'exception', 'the queue stopped'] as const) : known;
    const message = `${what}: the GPU runtime ended the queue`;
    const place = { pc: 0n, instruction: '', location: '', workgroup: [0, 0, 0], wave: 0 } as const;
    this.close('faulted', { kind, message, ...place });
  }

  /** Ends the queue with all that it runs. Idempotent. */
  close(state: 'cancelled' | 'faulted' = 'cancelled', fault?: Fault): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { call } = this.#library;
    call.hsa_queue_destroy(this.#queue);
    const left = [...this.#running.splice(0), ...this.#waiting.splice(0)];
    for (const { dispatch, signal } of left) {
      if (fault !== undefined) dispatch.fault = fault;
      dispatch.state = state;
      if (signal !== 0n) this.#signals.push(signal);
    }
    for (const signal of this.#signals.splice(0)) call.hsa_signal_destroy(signal);
  }
}
