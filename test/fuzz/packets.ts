/**
 * Packets, descriptors, signals and mailboxes with any contents, from the host and from kernels: what serves
 * them changes nothing but what kernels may store to, throws nothing, and all executors end the same way.
 */

import { createHash } from 'node:crypto';
import type { AdvanceResult, Device } from '../../src/device/device.ts';
import type { AmdgpuEmulatorOptions } from '../../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { type Agent, createRuntime, type Queue, type Runtime, type Signal } from '../../src/hsa/index.ts';
import { PACKET, PACKET_TYPE, SIGNAL } from '../../src/hsa/objects/layouts.ts';
import { descriptorBytes, Emitter } from './emitter.ts';
import { STRIDES } from './hostile-instructions.ts';
import { MemoryWatch, type Phase } from './memory-watch.ts';
import { Found, type Oracle, oracleMain, type Subject, type Tally } from './oracle.ts';
import { Random } from './random.ts';
import { EXECUTOR_OPTIONS, WORKER_OPTIONS } from './wave-machine.ts';

const MEMORY_SIZE_BYTES = 2 ** 30;
const DATA_SIZE = 8192;
const ARGUMENTS_SIZE = 4096;
const KERNEL_STEP = 256;
const SIGNALS = 6;
const DESCRIPTORS = 64;
const PROGRESS_CALLS = 6;
const WORKERS_PERCENT = 10;

const DEVICES: Readonly<Record<string, Partial<AmdgpuEmulatorOptions>>> = {
  ...EXECUTOR_OPTIONS,
  workers: WORKER_OPTIONS,
};

const LDS_SIZES = [0, 4, 1024, 1024, 4096, 65532, 65536, 65536, 65537, 65600, 2 ** 17, 2 ** 24];
/** So large that addresses of few lanes wrap 32 bits within it. */
const HUGE_SIZES = [2 ** 28, ...new Array<number>(6).fill(805306368), 2 ** 30, 2 ** 31, 2 ** 32 - 64, 2 ** 32 - 1];
const PRIVATE_SIZES = [0, 4, 16, 64, 512, 4096, 16384];
const HUGE_PRIVATE_SIZES = [65536, 262128, 2 ** 20, 2 ** 24, ...HUGE_SIZES];
const ACCESSES = {
  lds: [
    'ds_write_b32',
    'ds_write_b64',
    'ds_write_b128',
    'ds_write_b8',
    'ds_read_b32',
    'ds_read_b128',
    'ds_add_rtn_u32',
  ],
  scratch: ['scratch_store_dword', 'scratch_store_dwordx4', 'scratch_store_byte', 'scratch_load_dword'],
  global: ['global_store_dword', 'global_store_dwordx4', 'global_load_dword', 'global_atomic_add'],
} as const;

interface Place {
  readonly address: bigint;
  readonly name: string;
}

type Kernel = {
  readonly name: string;
  readonly kind: 'poke' | 'end' | 'jump' | keyof typeof ACCESSES;
  readonly offset: number;
};

class Rig implements Disposable {
  readonly name: string;
  readonly watch: MemoryWatch;
  readonly #device: Device;
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  readonly #signals: readonly Signal[];
  readonly #kernels: readonly Kernel[];
  readonly #code: bigint;
  readonly #descriptors: bigint;
  readonly #arguments: bigint;
  readonly #data: bigint;
  readonly #isWave32: boolean;
  #queue: Queue;
  #tally: Tally | undefined;
  /** One wave after the other: then executors can be compared. */
  #isOrdered = false;

  constructor(name: string, processor: string) {
    this.name = name;
    this.#device = createEmulatedDevice({ processor, memorySizeBytes: MEMORY_SIZE_BYTES, ...DEVICES[name] });
    this.watch = MemoryWatch.of(this.#device);
    const { memory } = this.#device;
    const emitter = new Emitter(processor);
    this.#isWave32 = !emitter.target.waveSizes.includes(64) || emitter.target.waveSizes.includes(32);
    this.#code = memory.allocate(65536, { label: 'code', readOnly: true });
    this.#descriptors = memory.allocate(64 * DESCRIPTORS, { label: 'descriptors' });
    this.#arguments = memory.allocate(ARGUMENTS_SIZE, { label: 'arguments' });
    this.#data = memory.allocate(DATA_SIZE, { label: 'data' });
    memory.setAccess!(memory.allocate(4096, { label: 'secret' }), false);
    memory.free(memory.allocate(4096, { label: 'freed' }));
    this.#kernels = this.#place(emitter);
    this.#device.publishCode({ address: this.#code, sizeBytes: 65536, name: 'code', symbols: [] });
    this.#observe();
    this.#runtime = createRuntime({ devices: [this.#device] });
    this.#agent = this.#runtime.gpuAgents[0]!;
    this.#signals = Array.from({ length: SIGNALS }, () => this.#runtime.createSignal(0n));
    this.#queue = this.#runtime.createQueue(this.#agent, { sizePackets: 16 });
  }

  #place(emitter: Emitter): Kernel[] {
    const codes: [Kernel['kind'], number[], string?][] = [
      ['poke', emitter.poke()],
      ['end', emitter.end()],
      ['jump', emitter.jump('s_setpc_b64')],
      ['jump', emitter.jump('s_swappc_b64')],
    ];
    for (const kind of ['lds', 'scratch', 'global'] as const)
      for (const access of ACCESSES[kind]) codes.push([kind, emitter.accesses(kind, access), access]);
    return codes.map(([kind, words, name = kind], i) => {
      const bytes = new Uint8Array(Uint32Array.from(words).buffer);
      this.#device.memory.view(this.#code + BigInt(i * KERNEL_STEP), bytes.length).set(bytes);
      return { name, kind, offset: i * KERNEL_STEP };
    });
  }

  /** The host's turns and those of waves are looked at apart. */
  #observe(): void {
    const { watch } = this;
    const advance = this.#device.advance.bind(this.#device);
    this.#device.advance = (sliceMs) => {
      watch.check(this.#serving, this.#tally!);
      watch.accept();
      const result = this.#advance(() => advance(sliceMs));
      watch.check('run', this.#tally!);
      watch.accept();
      return result;
    };
  }

  /** Workers run waves while the host serves. */
  get #serving(): Phase {
    return this.name === 'workers' ? 'run' : 'serve';
  }

  /** A dispatch for whose waves there is no memory is cancelled by an error. */
  #advance(advance: () => AdvanceResult): AdvanceResult {
    try {
      return advance();
    } catch (error) {
      this.#tally!.refused(error);
      return 'running';
    }
  }

  #view(address: bigint, sizeBytes: number): DataView {
    const bytes = this.#device.memory.view(address, sizeBytes);
    return new DataView(bytes.buffer, bytes.byteOffset, sizeBytes);
  }

  /**
   * One iteration; what came of it, comparable with that of another device unless it named what only this one
   * has.
   */
  run(random: Random, tally: Tally): string | undefined {
    this.#tally = tally;
    this.#fill(this.#data, DATA_SIZE);
    this.#fill(this.#arguments, ARGUMENTS_SIZE);
    for (const signal of this.#signals) this.#resetSignal(signal, random);
    const usesOwn = random.chance(40);
    this.#isOrdered = random.chance(50);
    const packets = random.times(random.between(1, 4), () => this.#packet(random, usesOwn));
    this.watch.accept();
    let instructions = 0;
    const ends: string[] = [];
    try {
      for (const packet of packets) this.#queue.submitPacket(packet);
    } catch (error) {
      tally.refused(error);
    }
    try {
      for (let call = 0; call < PROGRESS_CALLS; call++) if (this.#runtime.progress(2) === 'idle') break;
    } catch (error) {
      if (error instanceof Found) throw error;
      throw new Found('internal', `processing packets threw ${error instanceof Error ? error.stack : error}`);
    }
    this.watch.check(this.#serving, tally);
    instructions += this.#queue.statistics.instructions;
    const { error: failure, running } = this.#queue;
    if (failure) {
      tally.refused(failure.error);
      const { fault } = failure;
      if (fault) tally.fault(fault.kind);
      // Behind the end of code there is none: nothing was fetched.
      const isNoCode = fault?.message.includes('no code at this address') ?? true;
      if (fault && !isNoCode && !this.watch.isReadable(fault.pc))
        throw new Found('escape', `an instruction was fetched from where kernels may not read: ${fault.message}`);
      const place = fault && `${fault.kind} ${fault.instruction} at ${this.#nameOf(fault.pc)} lane ${fault.lane}`;
      ends.push(place ?? `${failure.error.code} in packet ${failure.packetIndex - this.#queue.readDispatchId}`);
    }
    if (running) tally.event('unfinished');
    tally.executions++;
    tally.instructions += instructions;
    ends.push(this.#hash());
    // A queue that is not idle, or whose structure a kernel wrote, is no fresh ground.
    this.#queue[Symbol.dispose]();
    this.#queue = this.#runtime.createQueue(this.#agent, { sizePackets: 16 });
    return usesOwn || running || !this.#isOrdered ? undefined : ends.join('; ');
  }

  #nameOf(pc: bigint): string {
    return pc >= this.#code && pc < this.#code + 65536n ? `code + ${pc - this.#code}` : 'other code';
  }

  #hash(): string {
    return createHash('sha1').update(this.#device.memory.view(this.#data, DATA_SIZE)).digest('hex');
  }

  #fill(address: bigint, sizeBytes: number): void {
    this.#device.memory.view(address, sizeBytes).fill(0x11);
  }

  #resetSignal({ address }: Signal, random: Random): void {
    const view = this.#view(address, SIGNAL.sizeBytes);
    view.setBigInt64(SIGNAL.kind, 1n, true);
    view.setBigInt64(SIGNAL.value, random.pick([0n, 0n, 1n, -1n, 2n ** 63n - 1n]), true);
    view.setBigUint64(SIGNAL.eventMailboxPtr, random.chance(15) ? this.#anyPlace(random, false).address : 0n, true);
    view.setBigUint64(SIGNAL.eventId, BigInt(random.next()), true);
  }

  /**
   * Addresses that packets, signals and kernels may name. `usesOwn`: those of the emulator's own regions too.
   */
  #anyPlace(random: Random, usesOwn: boolean): Place {
    const { live, memory: inner } = this.watch;
    const named = (label: string): Place => {
      const region = live.find((candidate) => candidate.label === label);
      const size = region?.sizeBytes ?? 64;
      const at = random.pick([
        0,
        0,
        64,
        8,
        4,
        1,
        size - 64,
        size - 8,
        size,
        size + 64,
        random.below(size) & ~63,
        random.below(size),
      ]);
      return { address: inner.address((region?.start ?? 0) + at), name: `${label} + ${at}` };
    };
    const wild = (): Place => {
      const address = random.pick([
        ...[1n, 64n, 2n ** 63n, 2n ** 64n - 64n, 2n ** 64n - 8n],
        ...[
          inner.address(0),
          inner.address(64),
          inner.address(0x10000),
          inner.address(0x10000 + 0x400),
          inner.address(2 ** 31),
        ],
        ...[
          inner.address(2 ** 32 - 64),
          inner.address(2 ** 32 - 4),
          inner.address(0) + 2n ** 32n,
          inner.address(0) - 64n,
        ],
        inner.address(0x4010000),
        inner.address(0x4010000 + 64),
      ]);
      return { address, name: `0x${address.toString(16)}` };
    };
    const own = (): Place => {
      const regions = live.filter(({ isEmulators }) => isEmulators);
      if (regions.length === 0) return wild();
      const { start, sizeBytes, label } = random.pick(regions);
      const at = random.below(sizeBytes) & ~63;
      return { address: inner.address(start + at), name: `${label} + ${at}` };
    };
    const freed = (): Place => {
      const region = this.watch.freed[0];
      return { address: inner.address((region?.start ?? 0) + 64), name: 'freed' };
    };
    return random.weighted<() => Place>([
      [6, () => named('data')],
      [2, () => named('arguments')],
      [3, () => named('signals')],
      [2, () => named('code')],
      [2, () => named('secret')],
      [2, () => named('descriptors')],
      [1, freed],
      [3, wild],
      [usesOwn ? 12 : 0, own],
      [usesOwn ? 4 : 0, () => named(`queue ${this.#queue.id}`)],
    ])();
  }

  #signalAddress(random: Random, usesOwn: boolean): bigint {
    if (random.chance(93)) return random.pick(this.#signals).address;
    return random.chance(30) ? 0n : this.#anyPlace(random, usesOwn).address;
  }

  #packet(random: Random, usesOwn: boolean): Uint8Array {
    const bytes = new Uint8Array(64);
    const view = new DataView(bytes.buffer);
    const { kernelDispatch, barrierAnd, barrierOr, vendor, agentDispatch, invalid } = PACKET_TYPE;
    const type = random.weighted([
      [12, kernelDispatch],
      [2, barrierAnd],
      [2, barrierOr],
      [2, vendor],
      [1, random.pick([agentDispatch, invalid, 6, 255])],
    ]);
    if (type !== kernelDispatch && random.chance(20))
      random.times(16, (i) => view.setUint32(4 * i, random.next(), true));
    view.setUint16(0, type | (this.#isOrdered || random.chance(50) ? 1 << 8 : 0), true);
    view.setBigUint64(PACKET.completionSignal, this.#signalAddress(random, usesOwn), true);
    if (type === kernelDispatch) this.#fillDispatch(view, random, usesOwn);
    else if (type === vendor) {
      const { barrierValue } = PACKET;
      view.setUint8(
        barrierValue.format,
        random.weighted([
          [9, 2],
          [1, random.below(256)],
        ]),
      );
      view.setBigUint64(barrierValue.signal, this.#signalAddress(random, usesOwn), true);
      view.setBigUint64(barrierValue.mask, random.pick([0n, 1n, 2n ** 64n - 1n]), true);
      view.setUint32(
        barrierValue.condition,
        random.weighted([
          [9, random.below(4)],
          [1, random.next()],
        ]),
        true,
      );
    } else {
      const count = random.below(6);
      for (let i = 0; i < count; i++)
        view.setBigUint64(PACKET.barrier.dependencies + 8 * i, this.#signalAddress(random, usesOwn), true);
    }
    return bytes;
  }

  #fillDispatch(view: DataView, random: Random, usesOwn: boolean): void {
    const { dispatch } = PACKET;
    const kernel = random.pick(this.#kernels.filter(({ kind }) => kind !== 'poke' || random.chance(90)));
    const isHuge = random.chance(2);
    // Accesses of four dwords are the ones that lanes make together.
    const ofLds = this.#kernels.filter(({ name }) => /^ds_.*b128/.test(name));
    const chosen = isHuge ? random.pick(ofLds) : random.chance(35) ? this.#kernels[0]! : kernel;
    const ldsSize = random.pick(isHuge ? HUGE_SIZES : LDS_SIZES);
    const privateSize = random.pick(random.chance(2) ? HUGE_PRIVATE_SIZES : PRIVATE_SIZES);
    const slot = random.below(DESCRIPTORS);
    const descriptor = this.#descriptors + BigInt(64 * slot);
    const entry = random.chance(94) ? this.#code + BigInt(chosen.offset) : this.#anyPlace(random, usesOwn).address;
    const bytes = descriptorBytes({
      ldsSizeBytes: isHuge || random.chance(60) ? ldsSize : 0,
      privateSizeBytes: random.chance(60) ? privateSize : 0,
      entryOffset: BigInt.asIntN(64, entry - descriptor),
      isWave32: this.#isWave32 ? random.chance(70) : random.chance(2),
    });
    if (random.chance(10)) bytes[44 + random.below(16)]! ^= 1 << random.below(8);
    this.#device.memory.view(descriptor, 64).set(bytes);
    view.setUint16(
      dispatch.setup,
      random.weighted([
        [9, 1],
        [1, random.below(5)],
      ]),
      true,
    );
    const one = random.pick([1, 32]);
    const some = random.chance(97)
      ? [random.pick([64, 64, 1, 32, 65, 128, 1024]), 1, 1]
      : random.times(3, () => random.below(70));
    const sizes = this.#isOrdered ? [one, 1, 1] : some;
    for (const [i, size] of sizes.entries()) view.setUint16(dispatch.workgroupSize + 2 * i, size, true);
    const many = random.chance(98)
      ? [sizes[0]! * random.pick([1, 1, 2, 5]), 1, 1]
      : random.times(3, () => random.next());
    const grid = this.#isOrdered ? sizes : many;
    for (const [i, size] of grid.entries()) view.setUint32(dispatch.gridSize + 4 * i, size, true);
    view.setUint32(dispatch.groupSegmentSize, random.chance(30) ? ldsSize : 0, true);
    view.setUint32(dispatch.privateSegmentSize, random.chance(30) ? privateSize : 0, true);
    const kernelObject = random.chance(95) ? descriptor : this.#anyPlace(random, usesOwn).address;
    view.setBigUint64(dispatch.kernelObject, kernelObject, true);
    const kernarg = this.#fillArguments(chosen, random, usesOwn, isHuge ? ldsSize : 0);
    view.setBigUint64(
      dispatch.kernargAddress,
      random.chance(97) ? kernarg : this.#anyPlace(random, usesOwn).address,
      true,
    );
  }

  /** What a kernel does: where it pokes, jumps, or goes. */
  #fillArguments({ kind }: Kernel, random: Random, usesOwn: boolean, hugeSize: number): bigint {
    const slot = 256 * random.below(ARGUMENTS_SIZE / 256);
    const address = this.#arguments + BigInt(slot);
    const view = this.#view(address, 256);
    if (kind === 'poke') {
      const count = random.between(1, 5);
      view.setUint32(0, count, true);
      for (let i = 1; i <= count; i++) {
        // Mailboxes and event ids of signals, fields of packets and descriptors, and anywhere.
        const signal = random.pick(this.#signals).address + BigInt(random.pick([16, 16, 24, 8, 0]));
        const target = random.chance(65) ? signal : this.#anyPlace(random, usesOwn).address;
        view.setBigUint64(16 * i, target, true);
        const value = random.chance(75) ? this.#anyPlace(random, usesOwn).address : BigInt(random.next());
        view.setBigUint64(16 * i + 8, value, true);
      }
    } else if (kind === 'jump') view.setBigUint64(0, this.#anyPlace(random, usesOwn).address, true);
    else {
      const wraps = [...STRIDES.slice(-6), Math.ceil(2 ** 32 / 15)];
      const edge = kind === 'global' ? DATA_SIZE : random.pick([...LDS_SIZES, ...PRIVATE_SIZES, hugeSize]);
      const stride = random.pick(hugeSize > 0 ? wraps : STRIDES);
      const base =
        hugeSize > 0 && random.chance(60)
          ? 0
          : edge - random.pick([4, 16, 0, edge, edge, 64]) - (random.chance(40) ? stride * random.below(64) : 0);
      view.setInt32(0, base | 0, true);
      view.setUint32(4, stride >>> 0, true);
      view.setUint32(8, random.between(1, 4), true);
      view.setUint32(12, random.pick(STRIDES) >>> 0, true);
      view.setBigUint64(16, this.#data, true);
    }
    return address;
  }

  [Symbol.dispose](): void {
    this.#tally = undefined;
    this.#device.close();
  }
}

class Packets implements Subject {
  readonly #target: string;
  readonly #rigs: readonly Rig[];
  /** Made when it is first used: threads take a while to begin. */
  #workers: Rig | undefined;

  constructor(target: string) {
    this.#target = target;
    this.#rigs = Object.keys(EXECUTOR_OPTIONS).map((name) => new Rig(name, target));
  }

  iterate(random: Random, tally: Tally): void {
    const seed = random.next();
    let expected: string | undefined;
    for (const rig of this.#rigs) {
      tally.doing = `on ${rig.name}`;
      const outcome = rig.run(new Random(seed), tally);
      expected ??= outcome;
      if (outcome !== expected) throw new Found('difference', `${outcome}, reference: ${expected}`);
    }
    if (!random.chance(WORKERS_PERCENT)) return;
    // Workgroups of several threads race: nothing is compared.
    tally.doing = 'with workers';
    this.#workers ??= new Rig('workers', this.#target);
    this.#workers.run(new Random(seed), tally);
  }

  [Symbol.dispose](): void {
    for (const rig of this.#rigs) rig[Symbol.dispose]();
    this.#workers?.[Symbol.dispose]();
  }
}

export const packets: Oracle = {
  name: 'packets',
  lifetime: 64,
  stuckMs: 10_000,
  create: (target) => new Packets(target),
};

oracleMain(packets, import.meta);
