/**
 * Dispatches keep to themselves: all memory that is not the GPU's is the same before and after each, waves
 * beside a hostile one keep their registers, all executors store the same, and nothing of an earlier kernel
 * shows in registers, LDS and scratch of a later one.
 */

import type { Device } from '../../src/device/device.ts';
import { guestAddress } from '../../src/device/guest-address.ts';
import type { Dispatch } from '../../src/device/launch.ts';
import type { AmdgpuEmulatorOptions } from '../../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { PRIVATE_APERTURE_HI, SHARED_APERTURE_HI } from '../../src/isa/amdgpu/encoding/registers.ts';
import { descriptorBytes, Emitter, LITERAL, ZERO } from './emitter.ts';
import { HostileInstructions, STRIDES } from './hostile-instructions.ts';
import { MemoryWatch } from './memory-watch.ts';
import { Found, type Oracle, oracleMain, type Subject, type Tally } from './oracle.ts';
import { Random } from './random.ts';
import { EXECUTOR_OPTIONS, WORKER_OPTIONS } from './wave-machine.ts';

const MEMORY_SIZE_BYTES = 2 ** 28;
const CODE_SIZE = 8192;
const DATA_SIZE = 8192;
const OUT_SIZE = 16384;
/** What a hostile wave's registers begin with: dwords of scalars, then a dword of each lane for each VGPR. */
const SCALARS_SIZE = 512;
const IMAGE_VGPRS = 24;
/** Between what hostile addresses are made of and what victims write: no stride leads there. */
const SPACER_SIZE = 37 * 2 ** 20 + 5 * 4096;
const CANARY = 0x0ca9a97b;
const SECRET = 0x5ec2e701;
const SLICES = 400;
const WORKERS_PERCENT = 8;
const VGPR = 256;
const PROLOGUE_SCALAR_GROUPS = [16, 32, 48, 64, 80];
/** Of the reader: registers that nobody wrote, the last of them beyond what it was given. */
const UNWRITTEN_VGPRS = [8, 20, 31];

interface LaunchSizes {
  /** Of a workgroup. */
  readonly waves: number;
  readonly groups: number;
  /** Bytes of a workgroup. */
  readonly lds: number;
  /** Bytes of a work-item. */
  readonly scratch: number;
}

class Rig implements Disposable {
  readonly name: string;
  readonly #device: Device;
  readonly #watch: MemoryWatch;
  readonly #emitter: Emitter;
  readonly #lanes: 32 | 64;
  readonly #code: bigint;
  readonly #descriptor: bigint;
  readonly #arguments: bigint;
  readonly #data: bigint;
  readonly #out: bigint;
  #codeSize = 0;

  constructor(name: string, processor: string, options: Partial<AmdgpuEmulatorOptions>) {
    this.name = name;
    this.#emitter = new Emitter(processor);
    this.#lanes = /gfx9/.test(processor) ? 64 : 32;
    this.#device = createEmulatedDevice({ processor, memorySizeBytes: MEMORY_SIZE_BYTES, ...options });
    this.#watch = MemoryWatch.of(this.#device);
    const { memory } = this.#device;
    this.#descriptor = memory.allocate(64, { label: 'descriptor', readOnly: true });
    this.#arguments = memory.allocate(SCALARS_SIZE + IMAGE_VGPRS * 256, { label: 'image', readOnly: true });
    this.#code = memory.allocate(64 * CODE_SIZE, { label: 'code', readOnly: true });
    this.#data = memory.allocate(DATA_SIZE, { label: 'data' });
    memory.free(memory.allocate(DATA_SIZE, { label: 'freed' }));
    memory.allocate(SPACER_SIZE, { label: 'spacer', readOnly: true });
    this.#out = memory.allocate(OUT_SIZE, { label: 'out' });
  }

  #set(address: bigint, words: ArrayLike<number>): void {
    const source = Uint32Array.from(words);
    this.#device.memory.view(address, source.byteLength).set(new Uint8Array(source.buffer));
  }

  #words(address: bigint, sizeBytes: number): Uint32Array {
    const bytes = this.#device.memory.view(address, sizeBytes);
    return new Uint32Array(bytes.buffer, bytes.byteOffset, sizeBytes / 4);
  }

  /** Runs code in workgroups of `waves` waves; the watch is told what goes before and after. */
  #run(words: readonly number[], { waves, groups, lds, scratch }: LaunchSizes, tally: Tally): Dispatch {
    // Each kernel has its own place, so that no decoded code is in question.
    if (this.#codeSize + words.length * 4 > 64 * CODE_SIZE) this.#codeSize = 0;
    const entry = this.#code + BigInt(this.#codeSize);
    this.#codeSize += Math.ceil((words.length * 4) / 256) * 256;
    this.#set(entry, words);
    this.#device.publishCode({ address: this.#code, sizeBytes: 64 * CODE_SIZE, name: 'code', symbols: [] });
    const bytes = descriptorBytes({
      entryOffset: entry - this.#descriptor,
      isWave32: this.#lanes === 32,
      ldsSizeBytes: lds,
      privateSizeBytes: scratch,
      isLarge: true,
    });
    this.#device.memory.view(this.#descriptor, 64).set(bytes);
    this.#watch.accept();
    const dispatch = this.#device.dispatch({
      workgroupSize: [waves * this.#lanes, 1, 1],
      gridSize: [waves * groups * this.#lanes, 1, 1],
      entry: guestAddress(this.#descriptor),
      argumentsAddress: guestAddress(this.#arguments),
      resources: { privateSizeBytes: 0, groupSizeBytes: 0 },
    });
    try {
      for (let slice = 0; slice < SLICES && this.#device.advance(2) !== 'idle'; slice++);
    } finally {
      if (dispatch.state === 'running') tally.event('unfinished');
      dispatch.cancel();
      this.#device.advance(1);
    }
    this.#watch.check('run', tally);
    tally.executions++;
    tally.instructions += dispatch.statistics.instructions;
    if (dispatch.fault) tally.fault(dispatch.fault.kind);
    else tally.event(dispatch.state);
    return dispatch;
  }

  /** The middle one of three waves is hostile. What came of it, comparable with other devices. */
  hostile(body: readonly number[], random: Random, tally: Tally): string | undefined {
    this.#fillImage(random);
    const data = this.#words(this.#data, DATA_SIZE);
    for (let i = 0; i < data.length; i++) data[i] = Math.imul(i, 0x9e3779b1);
    const out = this.#words(this.#out, OUT_SIZE).fill(0);
    const groups = random.pick([1, 2, 4]);
    const lds = random.pick([0, 64, 1024, 65536]);
    const scratch = random.pick([0, 16, 512]);
    const dispatch = this.#run(this.#hostileKernel(body), { waves: 3, groups, lds, scratch }, tally);
    if (dispatch.state === 'complete') {
      const stray = out.findIndex((value, i) => value !== (i < 2 * this.#lanes ? CANARY : 0));
      if (stray >= 0)
        throw new Found('escape', `a wave beside found 0x${out[stray]!.toString(16)} in its registers (${stray})`);
      tally.event('neighbours unharmed');
    }
    const { fault, state } = dispatch;
    if (state === 'cancelled') return undefined;
    // Which of several lanes and workgroups comes first is not told by the reference.
    return fault
      ? `${fault.kind} by ${fault.instruction}`
      : `${state} ${data.reduce((sum, value) => (Math.imul(sum, 31) + value) | 0, 0)}`;
  }

  /** Waves 0 and 2 hold canaries while wave 1 runs the body. */
  #hostileKernel(body: readonly number[]): number[] {
    const e = this.#emitter;
    const shift = this.#lanes === 64 ? 6 : 5;
    const outAddress = [...e.arguments('s_load_dwordx2', 8, 0)];
    const rows = [40, 41, 100, 255];
    const victim = [
      ...rows.flatMap((vdst) => [...e.emit('v_mov_b32', { vdst, src0: LITERAL }), CANARY]),
      ...[30, 31, 90].flatMap((sdst) => [...e.emit('s_mov_b32', { sdst, ssrc0: LITERAL }), CANARY]),
      ...e.barrier(),
      ...e.barrier(),
      ...e.emit('v_and_b32', { vdst: 1, src0: ZERO + this.#lanes - 1, src1: 0 }),
      ...e.emit('v_lshlrev_b32', { vdst: 1, src0: ZERO + 2, src1: 1 }),
      ...rows.slice(1).flatMap((row) => e.differs(40, VGPR + row)),
      ...[30, 31, 90].flatMap((scalar) => e.differs(40, scalar)),
      ...outAddress,
      ...e.emit('s_cmp_lg_u32', { ssrc0: 12, ssrc1: ZERO }),
      ...e.emit('s_cbranch_scc0', { simm16: 2 }),
      ...[...e.emit('v_add_u32', { vdst: 1, src0: LITERAL, src1: 1 }), this.#lanes * 4],
      ...e.emit('global_store_dword', { addr: 1, data: 40, saddr: 8 }),
      ...e.end(),
    ];
    const attacker = [
      ...e.barrier(),
      ...e.emit('v_and_b32', { vdst: 1, src0: ZERO + this.#lanes - 1, src1: 0 }),
      ...e.emit('v_lshlrev_b32', { vdst: 1, src0: ZERO + 2, src1: 1 }),
      ...Array.from({ length: IMAGE_VGPRS }, (_, i) => [
        ...[...e.emit('v_add_u32', { vdst: 1, src0: LITERAL, src1: 1 }), i === 0 ? SCALARS_SIZE : 256],
        ...e.emit('global_load_dword', { vdst: 2 + i, addr: 1, saddr: 0 }),
      ]).flat(),
      ...PROLOGUE_SCALAR_GROUPS.flatMap((group, i) => e.arguments('s_load_dwordx16', group, 64 * (i + 1))),
      ...e.emit('s_mov_b32', { sdst: e.target.scalars.m0, ssrc0: 16 }),
      ...body,
      ...e.leaveIndexMode(),
      ...e.emit(`s_mov_b${this.#lanes}`, { sdst: 126, ssrc0: 193 }),
      ...e.barrier(),
      ...e.end(),
    ];
    return [
      ...e.emit('v_lshrrev_b32', { vdst: 2, src0: ZERO + shift, src1: 0 }),
      ...e.emit('v_readfirstlane_b32', { vdst: 12, src0: VGPR + 2 }),
      ...e.emit('s_cmp_lg_u32', { ssrc0: 12, ssrc1: ZERO + 1 }),
      ...e.emit('s_cbranch_scc0', { simm16: victim.length }),
      ...victim,
      ...attacker,
    ];
  }

  /** Addresses at all edges, as the registers of a hostile wave. */
  #fillImage(random: Random): void {
    const { memory, live, freed } = this.#watch;
    const words = new Uint32Array((SCALARS_SIZE + IMAGE_VGPRS * 256) / 4);
    new DataView(words.buffer).setBigUint64(0, this.#out, true);
    const data = Number(this.#data & 0xffffffffn);
    const regions = [...live, ...freed].filter(({ sizeBytes, label }) => label !== 'out' && sizeBytes < SPACER_SIZE);
    const edges = regions.flatMap(({ start, sizeBytes }) => [start, start + sizeBytes]);
    edges.push(
      ...[0, 0x10000, 2 ** 31, 2 ** 32 - 1, 64, 512, 1024, 65536, data, data, data + DATA_SIZE, data + DATA_SIZE],
    );
    const high = random.pick([memory.windowHi, memory.windowHi, SHARED_APERTURE_HI, PRIVATE_APERTURE_HI]);
    const isInside = random.chance(40);
    const low = (): number =>
      isInside
        ? (high === memory.windowHi ? data : 0) + 4 * random.below(64)
        : random.pick(edges) - random.pick([0, 4, 8, 16, random.below(80)]);
    for (let i = 16; i < SCALARS_SIZE / 4; i++) words[i] = i & 1 ? high : low();
    words[16] = random.pick([0xffffffff, 0, 1, 0xf0ff, 0x80ff, 0x8000, 255, 256, 1024, random.next()]);
    for (let row = 0, at = SCALARS_SIZE / 4; row < IMAGE_VGPRS; row++, at += 64) {
      const [base, stride] = [low(), random.pick(STRIDES)];
      for (let lane = 0; lane < 64; lane++) words[at + lane] = row & 1 ? high : base + lane * stride;
    }
    this.#set(this.#arguments, words);
  }

  /** A kernel leaves a secret wherever it can; another one, of other sizes, looks where it wrote nothing. */
  secrets(random: Random, tally: Tally): void {
    const e = this.#emitter;
    const image = new Uint32Array(4);
    new DataView(image.buffer).setBigUint64(0, this.#out, true);
    this.#set(this.#arguments, image);
    const out = this.#words(this.#out, OUT_SIZE).fill(0);
    const scratchFields = {
      addr: 1,
      saddr: e.target.scalars.none,
      ...(e.target.families.includes('gfx11') && { sve: 1 }),
    };
    const lds = random.pick([256, 4096, 65536]);
    const scratch = random.pick([16, 64, 512, 4096]);
    const writer = [
      ...Array.from({ length: 254 }, (_, i) => [...e.emit('v_mov_b32', { vdst: 2 + i, src0: LITERAL }), SECRET]).flat(),
      ...Array.from({ length: 80 }, (_, i) => [
        ...e.emit('s_mov_b32', { sdst: 10 + i, ssrc0: LITERAL }),
        SECRET,
      ]).flat(),
      ...e.emit('v_lshlrev_b32', { vdst: 1, src0: ZERO + 2, src1: 0 }),
      ...e.emit('ds_write_b32', { addr: 1, data0: 8 }),
      ...e.emit('v_mov_b32', { vdst: 1, src0: ZERO }),
      ...e.emit('scratch_store_dwordx4', { ...scratchFields, data: 8 }),
      ...e.end(),
    ];
    this.#run(writer, { waves: random.between(1, 4), groups: random.between(1, 4), lds, scratch }, tally);
    const size = random.pick([64, 512, 2048]);
    const turns = Math.min(size / 4, 64);
    const store = (data: number) => [
      ...e.emit('global_store_dword', { addr: 3, data, saddr: 8 }),
      ...[...e.emit('v_add_u32', { vdst: 3, src0: LITERAL, src1: 3 }), 4],
    ];
    const reader = [
      ...e.arguments('s_load_dwordx2', 8, 0),
      ...e.emit('v_mov_b32', { vdst: 3, src0: ZERO }),
      ...UNWRITTEN_VGPRS.flatMap(store),
      ...e.emit('v_mov_b32', { vdst: 1, src0: ZERO }),
      ...e.emit('s_movk_i32', { sdst: 12, simm16: turns }),
      ...e.loop(12, [
        ...e.emit('ds_read_b32', { vdst: 4, addr: 1 }),
        ...store(4),
        ...e.emit('scratch_load_dword', { ...scratchFields, vdst: 4 }),
        ...store(4),
        ...e.emit('v_add_u32', { vdst: 1, src0: ZERO + 4, src1: 1 }),
      ]),
      ...e.end(),
    ];
    const dispatch = this.#run(reader, { waves: 1, groups: 1, lds: size, scratch: size }, tally);
    const at = out.findIndex((value) => value !== 0);
    if (dispatch.fault) throw new Found('difference', `the reader faulted: ${dispatch.fault.message}`);
    if (at < 0) {
      tally.event('no secret found');
      return;
    }
    const place =
      at < UNWRITTEN_VGPRS.length ? `v${UNWRITTEN_VGPRS[at]}` : (at - UNWRITTEN_VGPRS.length) & 1 ? 'scratch' : 'LDS';
    throw new Found('escape', `0x${out[at]!.toString(16)} of an earlier kernel shows in ${place}`);
  }

  [Symbol.dispose](): void {
    this.#device.close();
  }
}

class Isolation implements Subject {
  readonly #target: string;
  readonly #instructions: HostileInstructions;
  readonly #rigs: readonly Rig[];
  #workers: Rig | undefined;

  constructor(target: string) {
    this.#target = target;
    this.#instructions = new HostileInstructions(target, /gfx9/.test(target) ? 64 : 32);
    this.#rigs = Object.entries(EXECUTOR_OPTIONS).map(([name, options]) => new Rig(name, target, options));
  }

  iterate(random: Random, tally: Tally): void {
    const seed = random.next();
    const hasSecrets = random.chance(20);
    const body = this.#instructions.program(random);
    const text = hasSecrets ? 'secrets' : this.#instructions.textOf(body);
    const ends = new Map<string, string | undefined>();
    const run = (rig: Rig): void => {
      tally.doing = `on ${rig.name}:\n${text}`;
      if (hasSecrets) rig.secrets(new Random(seed), tally);
      else ends.set(rig.name, rig.hostile(body, new Random(seed), tally));
    };
    for (const rig of this.#rigs) run(rig);
    const found = [...ends].filter(([, end]) => end !== undefined);
    // Where lanes make several accesses, which fails first is the executor's business, but not whether one
    // does.
    const isFault = (end: string | undefined): boolean => !end?.startsWith('complete');
    const [first, ...others] = found;
    for (const other of others) {
      if (other[1] === first![1] || (isFault(other[1]) && isFault(first![1]))) continue;
      throw new Found('difference', `${other.join(': ')}, ${first!.join(': ')}`);
    }
    if (!random.chance(WORKERS_PERCENT)) return;
    this.#workers ??= new Rig('workers', this.#target, WORKER_OPTIONS);
    run(this.#workers);
  }

  [Symbol.dispose](): void {
    for (const rig of this.#rigs) rig[Symbol.dispose]();
    this.#workers?.[Symbol.dispose]();
  }
}

export const isolation: Oracle = {
  name: 'isolation',
  lifetime: 64,
  stuckMs: 20_000,
  create: (target) => new Isolation(target),
};

oracleMain(isolation, import.meta);
