/**
 * The host follows no address of GPU code's to where the GPU itself could not go: kernels write mailboxes,
 * packets, kernel descriptors and code, and memory is freed under signals. What is not allowed is not
 * written, the queue ends with an error that says why, and nothing throws on the way.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import type { AmdgpuEmulatorOptions } from '../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import {
  type Agent,
  CodeObjectReader,
  createRuntime,
  type Device,
  HSA_STATUS,
  HsaError,
  type HsaStatus,
  type Queue,
  type Runtime,
  type Signal,
} from '../src/hsa/index.ts';
import { AQL_PACKET_SIZE_BYTES, SIGNAL } from '../src/hsa/objects/layouts.ts';
import { encodeBarrier, encodeBarrierValue, encodeKernelDispatch } from '../src/hsa/queues/packet.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { EXECUTORS } from './kernel-rig.test-support.ts';

/**
 * Waits until the word at the third argument is not 0, if there is one; then stores pairs of address and
 * 64-bit value from a list.
 */
const SOURCE = `.text
.globl poke
.p2align 8
.type poke,@function
poke:
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_load_dwordx2 s[4:5], s[0:1], 0x10
  v_mov_b32 v0, 0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u64 s[4:5], 0
  s_cbranch_scc1 2f
1:
  s_sleep 1
  global_load_dword v1, v0, s[4:5] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v1
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 1b
2:
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc1 4f
3:
  s_load_dwordx4 s[12:15], s[8:9], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v2, s14
  v_mov_b32 v3, s15
  global_store_dwordx2 v0, v[2:3], s[12:13]
  s_add_u32 s8, s8, 16
  s_addc_u32 s9, s9, 0
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 3b
4:
  s_waitcnt vmcnt(0)
  s_endpgm
.size poke, .-poke
.rodata
.p2align 6
.amdhsa_kernel poke
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 16
 .amdhsa_accum_offset 8
.end_amdhsa_kernel
`;
const image = linkCodeObject([{ bytes: assembleFile(SOURCE, { processor: 'gfx90a' }), name: 'poke.o' }]);

const LANES = 64;
const DESCRIPTOR_BYTES = 64;
const PAGE_BYTES = 4096;
const MEMORY_BYTES = 2 ** 27;
/** What may not be found anywhere but in allowed memory. */
const MARK = 0x5eed_5eedn;
const PATTERN = 0xa5;
/** Everything here ends long before. */
const MAX_SETTLE_MS = 30_000;
/** Of an `amd_kernel_descriptor_t`. */
const DESCRIPTOR = { groupSegmentSize: 0, privateSegmentSize: 4, entryOffset: 16 } as const;

const GROUPS = 12;

type Store = readonly [address: bigint, value: bigint];
/** Memory that the GPU may not write, with the host's view of what must stay there. */
interface Target {
  readonly address: bigint;
  /** It is the emulator's own: it changes, and may be given to others. */
  readonly isState?: boolean;
  readonly bytes: Uint8Array;
}

class Rig implements Disposable {
  readonly device: Device;
  readonly runtime: Runtime;
  readonly agent: Agent;
  readonly kernel: bigint;
  readonly #view: (address: bigint, sizeBytes: number) => Uint8Array<SharedArrayBuffer>;

  constructor(options: Partial<AmdgpuEmulatorOptions>) {
    this.device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: MEMORY_BYTES, ...options });
    this.runtime = createRuntime({ devices: [this.device], enforcesAccess: true });
    this.agent = this.runtime.gpuAgents[0]!;
    const executable = this.runtime.createExecutable();
    executable.loadCodeObject(this.agent, new CodeObjectReader(image, 'poke.co'));
    executable.freeze();
    this.kernel = executable.getSymbol('poke.kd').address;
    this.#view = (address, sizeBytes) => this.runtime.view(address, sizeBytes);
    using queue = this.runtime.createQueue(this.agent);
    // The emulator has all the state that it will have.
    this.poke(queue, this.kernarg([])).waitSync('eq', 0n);
  }

  data(address: bigint, sizeBytes = 64): DataView {
    const bytes = this.#view(address, sizeBytes);
    return new DataView(bytes.buffer, bytes.byteOffset, sizeBytes);
  }

  /** That the GPU may use. */
  allocate(sizeBytes: number): bigint {
    return this.agent.pool('coarse-grained').allocate(sizeBytes);
  }

  /** Where GPU code may not write, by why. */
  targets(): Readonly<Record<string, Target>> {
    const pool = this.runtime.cpuAgent.pool('fine-grained');
    const at = (address: bigint): Target => ({ address, bytes: this.#view(address, 64).fill(PATTERN) });
    const inaccessible = at(pool.allocate(64));
    const freed = at(this.allocate(64));
    this.agent.pool('coarse-grained').free(freed.address);
    const readOnly = at(this.device.memory.allocate(64, { readOnly: true }));
    this.device.memory.setAccess?.(readOnly.address, true);
    const nowhere = { address: 0x40n, bytes: new Uint8Array(64) };
    const end = this.allocate(PAGE_BYTES) + BigInt(PAGE_BYTES);
    const bytes = this.#view(end - 4n, 4).fill(PATTERN);
    return { inaccessible, freed, readOnly, nowhere, edge: { address: end - 4n, bytes }, ...this.#emulatorState() };
  }

  /** Pages of the device's window that are nobody's allocation but hold something. */
  #emulatorState(): Record<string, Target> {
    const place = this.#view(this.kernel, 1);
    const base = this.kernel - BigInt(place.byteOffset);
    const targets: Record<string, Target> = { 'start of the window': this.#raw(base, 0) };
    // What is handed out is at the end of the window. The pages before it may be 4 GiB, all of which would be
    // there once they were read.
    const endPage = place.buffer.byteLength / PAGE_BYTES;
    for (let page = endPage - MEMORY_BYTES / PAGE_BYTES; page < endPage; page++) {
      const target = this.#raw(base, page * PAGE_BYTES);
      const isOurs = this.runtime.memory.pointerInfo(target.address).type === 'unknown';
      if (isOurs && target.bytes.some((byte) => byte !== 0)) targets[`state at page ${page}`] = target;
      if (Object.keys(targets).length > 4) break;
    }
    return targets;
  }

  #raw(base: bigint, offset: number): Target {
    const at = offset + (offset === 0 ? 64 : 0);
    return {
      address: base + BigInt(at),
      isState: true,
      bytes: new Uint8Array(this.#view(this.kernel, 1).buffer, at, 64),
    };
  }

  /** Whether GPU code still may not write there. */
  isForbidden({ address, isState = false }: Target): boolean {
    return !isState || this.runtime.memory.pointerInfo(address).type === 'unknown';
  }

  /** Lets all workgroups do what the arguments say. */
  poke(queue: Queue, kernarg: bigint, completionSignal = this.runtime.createSignal(1n)): Signal {
    queue.dispatch({ kernel: this.kernel, grid: [GROUPS * LANES], workgroup: [LANES], kernarg, completionSignal });
    return completionSignal;
  }

  /** For a list of stores; `wait`: the address of a word that the kernel waits for. */
  kernarg(stores: readonly Store[], wait = 0n): bigint {
    const list = this.allocate(16 * Math.max(stores.length, 1));
    const entries = this.data(list, 16 * Math.max(stores.length, 1));
    for (const [i, [address, value]] of stores.entries()) {
      entries.setBigUint64(16 * i, address, true);
      entries.setBigUint64(16 * i + 8, value, true);
    }
    const kernarg = this.allocate(64);
    const data = this.data(kernarg);
    data.setBigUint64(0, list, true);
    data.setUint32(8, stores.length, true);
    data.setBigUint64(16, wait, true);
    return kernarg;
  }

  /**
   * The kernel writes a packet behind its own, and rings the doorbell. `bytes`: of a whole packet, header and
   * all.
   */
  pokePacket(queue: Queue, packet: Uint8Array): void {
    const data = new DataView(packet.buffer, packet.byteOffset, AQL_PACKET_SIZE_BYTES);
    const slot = queue.ringAddress + BigInt(AQL_PACKET_SIZE_BYTES);
    const words = [1, 2, 3, 4, 5, 6, 7, 0];
    const stores = words.map((word): Store => [slot + BigInt(8 * word), data.getBigUint64(8 * word, true)]);
    this.poke(queue, this.kernarg([...stores, [queue.doorbellAddress, 1n]]));
  }

  /** Until nothing happens any more. Throws what `progress` throws, which is nothing. */
  settle(): void {
    const deadline = performance.now() + MAX_SETTLE_MS;
    for (let idle = 0; idle < 2 && performance.now() < deadline; )
      idle = this.runtime.progress(1) === 'idle' ? idle + 1 : 0;
  }

  /** A kernel descriptor of `poke`, with other fields, at an address that the GPU may read. */
  descriptor(change: (data: DataView, address: bigint) => void, address = this.allocate(DESCRIPTOR_BYTES)): bigint {
    this.#view(address, DESCRIPTOR_BYTES).set(this.#view(this.kernel, DESCRIPTOR_BYTES));
    const data = this.data(address);
    const entry = this.kernel + this.data(this.kernel).getBigInt64(DESCRIPTOR.entryOffset, true);
    data.setBigInt64(DESCRIPTOR.entryOffset, entry - address, true);
    change(data, address);
    return address;
  }

  [Symbol.dispose](): void {
    this.runtime[Symbol.dispose]();
    this.device.close();
  }
}

/** The queue ended with this error, and the target is as it was. */
function checkRefused(rig: Rig, queue: Queue, status: HsaStatus, message: RegExp, target?: Target): void {
  const before = target?.bytes.slice();
  rig.settle();
  const { error } = queue.error ?? {};
  assert.ok(error instanceof HsaError, `the queue ended with ${error ?? 'no error'}, ${message}`);
  assert.match(error.message, message);
  assert.equal(error.status, status);
  if (target?.isState) assert.notEqual(Buffer.from(target.bytes).readBigUInt64LE(), MARK);
  else if (target) assert.deepEqual(target.bytes, before, 'something was written');
}

const hex = (address: bigint): string => `0x${address.toString(16)}`;
const packetOf = (encode: (packet: Uint8Array) => number): Uint8Array => {
  const packet = new Uint8Array(AQL_PACKET_SIZE_BYTES);
  new DataView(packet.buffer).setUint32(0, encode(packet), true);
  return packet;
};

/** GPU code that writes `mailbox` and its event into a signal. */
const intoMailbox = ({ address }: Signal, mailbox: bigint): readonly Store[] => [
  [address + BigInt(SIGNAL.eventMailboxPtr), mailbox],
  [address + BigInt(SIGNAL.eventId), MARK],
];

function testMailboxes(rig: Rig): void {
  const { runtime, agent } = rig;
  for (const [why, target] of Object.entries(rig.targets())) {
    using queue = runtime.createQueue(agent);
    using done = runtime.createSignal(1n);
    const kernarg = rig.kernarg(intoMailbox(done, target.address));
    if (!rig.isForbidden(target)) continue;
    rig.poke(queue, kernarg, done);
    const message = new RegExp(`^AQL packet 0: .*mailbox ${hex(target.address)} .*signal ${hex(done.address)}`);
    checkRefused(rig, queue, 'MEMORY_FAULT', message, target);
    assert.deepEqual([done.load(), done.startTicks], [1n, 0n], why);
  }
  using queue = runtime.createQueue(agent);
  using done = runtime.createSignal(1n);
  const mailbox = rig.allocate(64);
  rig.poke(queue, rig.kernarg(intoMailbox(done, mailbox)), done).waitSync('eq', 0n);
  assert.equal(rig.data(mailbox).getBigUint64(0, true), MARK);
}

function testPackets(rig: Rig): void {
  const { runtime, agent } = rig;
  using good = runtime.createSignal(0n);
  const kernarg = rig.kernarg([]);
  const none = { kernargAddress: kernarg, completionSignal: 0n, privateSegmentSizeBytes: 0, groupSegmentSizeBytes: 0 };
  const one = {
    dimensions: 1,
    workgroupSize: [1, 1, 1],
    gridSize: [1, 1, 1],
    kernelObject: rig.kernel,
    ...none,
  } as const;
  const waits = { signal: good.address, condition: 'eq', value: 0n, mask: -1n, completionSignal: 0n } as const;
  const aligned = (address: bigint): bigint => address & -64n;
  const completions = (address: bigint): readonly Uint8Array[] => [
    packetOf((packet) => encodeBarrier(packet, { dependencies: [], completionSignal: address }, 'all', true)),
    packetOf((packet) => encodeBarrierValue(packet, { ...waits, completionSignal: address }, true)),
    packetOf((packet) => encodeKernelDispatch(packet, { ...one, completionSignal: address }, true)),
  ];
  const reads = (address: bigint): readonly Uint8Array[] => [
    packetOf((packet) => encodeBarrier(packet, { dependencies: [address], completionSignal: 0n }, 'any', true)),
    packetOf((packet) => encodeBarrierValue(packet, { ...waits, signal: address }, true)),
  ];
  for (const [why, target] of Object.entries(rig.targets())) {
    if (why === 'edge') continue;
    const address = aligned(target.address);
    const check = (packet: Uint8Array, status: HsaStatus, message: RegExp): void => {
      using queue = runtime.createQueue(agent);
      rig.pokePacket(queue, packet);
      if (!rig.isForbidden(target)) return;
      checkRefused(rig, queue, status, message, target);
    };
    for (const packet of completions(address))
      check(packet, 'INVALID_SIGNAL', new RegExp(`^AQL packet 1.*${hex(address)}`));
    if (why === 'readOnly') continue;
    for (const packet of reads(address)) check(packet, 'INVALID_SIGNAL', new RegExp(`^AQL packet 1.*${hex(address)}`));
    const dispatch = packetOf((packet) => encodeKernelDispatch(packet, { ...one, kernelObject: address }, true));
    check(dispatch, 'INVALID_CODE_OBJECT', new RegExp(`^AQL packet 1: no kernel descriptor at ${hex(address)}`));
  }
  for (const packet of completions(good.address)) {
    good.store(0n);
    using queue = runtime.createQueue(agent);
    rig.pokePacket(queue, packet);
    rig.settle();
    assert.deepEqual([queue.error, good.load()], [undefined, -1n]);
  }
}

/** The memory of a completion signal changes while the kernel runs. */
function testLostSignals(rig: Rig): void {
  const { runtime, agent } = rig;
  const pool = agent.pool('coarse-grained');
  const system = runtime.cpuAgent.pool('fine-grained');
  const allowed = (): bigint => {
    const address = system.allocate(64);
    runtime.memory.allowAccess([agent], address);
    return address;
  };
  const changes = [
    [pool.allocate(64), (address: bigint) => pool.free(address)],
    [allowed(), (address: bigint) => runtime.memory.allowAccess([runtime.cpuAgent], address)],
  ] as const;
  for (const [address, change] of changes) {
    using queue = runtime.createQueue(agent);
    const bytes = runtime.view(address, 64);
    const flag = rig.allocate(64);
    const fields = { dimensions: 1, workgroupSize: [LANES, 1, 1], gridSize: [GROUPS * LANES, 1, 1] } as const;
    const addresses = { kernelObject: rig.kernel, kernargAddress: rig.kernarg([], flag), completionSignal: address };
    const sizes = { privateSegmentSizeBytes: 0, groupSegmentSizeBytes: 0 };
    queue.submitPacket(packetOf((packet) => encodeKernelDispatch(packet, { ...fields, ...addresses, ...sizes }, true)));
    for (let turn = 0; turn < 5; turn++) runtime.progress(1);
    assert.ok(queue.running);
    change(address);
    bytes.fill(PATTERN);
    rig.data(flag).setUint32(0, 1, true);
    const message = new RegExp(`^AQL packet 0: no signal at ${hex(address)}: .* may write$`);
    checkRefused(rig, queue, 'INVALID_SIGNAL', message, { address, bytes });
  }
}

/** Kernel descriptors and code that somebody wrote into plain memory. */
function testCode(rig: Rig): void {
  const { runtime, agent } = rig;
  const run = (kernel: bigint, { groupSegmentSizeBytes = 0, privateSegmentSizeBytes = 0 } = {}): Queue => {
    const queue = runtime.createQueue(agent);
    const sizes = { groupSegmentSizeBytes, privateSegmentSizeBytes };
    queue.dispatch({ kernel, grid: [LANES], workgroup: [LANES], kernarg: rig.kernarg([]), ...sizes });
    return queue;
  };
  const refused = (queue: Queue, code: string, message: RegExp): void => {
    rig.settle();
    const { error } = queue.error ?? {};
    assert.match(error?.message ?? 'no error', message);
    assert.equal(error?.code, code);
    queue[Symbol.dispose]();
  };
  for (const [why, { address }] of Object.entries(rig.targets())) {
    // The last bytes of an allocation hold an instruction.
    if (why === 'readOnly' || why === 'edge') continue;
    const kernel = rig.descriptor((data, at) => data.setBigInt64(DESCRIPTOR.entryOffset, address - at, true));
    refused(run(kernel), 'BAD_INPUT', new RegExp(`entry ${hex(address)} is not in memory that the GPU may read`));
  }
  const large = (field: number, size: number): bigint => rig.descriptor((data) => data.setUint32(field, size, true));
  const lds = / 805306368 bytes of group memory, emulated:gfx90a has 65536$/;
  refused(run(large(DESCRIPTOR.groupSegmentSize, 768 * 2 ** 20)), 'LIMIT_EXCEEDED', lds);
  const scratch = / 4294967295 bytes of private memory for each work-item, emulated:gfx90a has at most 16777216$/;
  refused(run(large(DESCRIPTOR.privateSegmentSize, 2 ** 32 - 1)), 'LIMIT_EXCEEDED', scratch);
  refused(run(rig.kernel, { privateSegmentSizeBytes: 2 ** 32 - 1 }), 'LIMIT_EXCEEDED', /^AQL packet 0: kernel 'poke' /);
  refused(
    run(rig.kernel, { groupSegmentSizeBytes: 65_537 }),
    'LIMIT_EXCEEDED',
    /kernel 'poke' .* \(0 of its own, 65537 /,
  );
  // Allowed, but there is not so much: what the device finds out while it runs ends the queue, too.
  refused(
    run(rig.kernel, { privateSegmentSizeBytes: 2 ** 24 }),
    'LIMIT_EXCEEDED',
    /^AQL packet 0: out of device memory/,
  );

  // Code that a host wrote into plain memory, with its descriptor behind it, runs.
  const entry = rig.kernel + rig.data(rig.kernel).getBigInt64(DESCRIPTOR.entryOffset, true);
  const place = rig.allocate(PAGE_BYTES);
  runtime.copy(place, entry, 256);
  const kernel = rig.descriptor(
    (data, at) => data.setBigInt64(DESCRIPTOR.entryOffset, place - at, true),
    place + 1024n,
  );
  const result = rig.allocate(64);
  using queue = runtime.createQueue(agent);
  using done = runtime.createSignal(1n);
  const kernarg = rig.kernarg([[result, MARK]]);
  queue.dispatch({ kernel, grid: [LANES], workgroup: [LANES], kernarg, completionSignal: done });
  assert.equal(done.waitSync('eq', 0n), 0n);
  assert.equal(rig.data(result).getBigUint64(0, true), MARK);
}

for (const [executor, options] of Object.entries(EXECUTORS)) {
  test(executor, async (context) => {
    using rig = new Rig(options);
    await context.test('event mailboxes', () => testMailboxes(rig));
    await context.test('packets that a kernel writes', () => testPackets(rig));
    await context.test('signals that are lost while a kernel runs', () => testLostSignals(rig));
    await context.test('kernel descriptors and code', () => testCode(rig));
  });
}

test('copies look at signals as packets do', () => {
  using rig = new Rig({});
  const { runtime } = rig;
  const [source, destination] = [rig.allocate(64), rig.allocate(64)];
  for (const [why, target] of Object.entries(rig.targets())) {
    using completionSignal = runtime.createSignal(1n);
    for (const [address, value] of intoMailbox(completionSignal, target.address))
      rig.data(address, 8).setBigUint64(0, value, true);
    const before = target.bytes.slice();
    runtime.copyAsync({ destination, source, sizeBytes: 64, completionSignal });
    assert.equal(completionSignal.waitSync('lt', 1n), BigInt(-HSA_STATUS.MEMORY_FAULT.value), why);
    assert.deepEqual(target.bytes, before);
  }
  using dependency = runtime.createSignal(1n);
  using completionSignal = runtime.createSignal(1n);
  runtime.copyAsync({ destination, source, sizeBytes: 64, dependencies: [dependency], completionSignal });
  rig.agent.pool('coarse-grained').free(destination);
  dependency.store(0n);
  assert.equal(completionSignal.waitSync('lt', 1n), BigInt(-HSA_STATUS.INVALID_ARGUMENT.value));
});
