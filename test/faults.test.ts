/**
 * Every kind of fault on every executor, with workers too: status, event, and each thing that the report
 * names. The queue ends, others and the device go on.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultKind } from '../src/device/fault.ts';
import type { AmdgpuEmulatorOptions } from '../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import {
  type Agent,
  CodeObjectReader,
  createRuntime,
  FAULT_REASON,
  HSA_STATUS,
  HsaError,
  type HsaStatus,
  type MemoryFaultEvent,
  type Queue,
  type QueueError,
  type Runtime,
} from '../src/hsa/index.ts';
import { EXECUTORS, type ExecutorOptions, imageOf, kernelText } from './kernel-rig.test-support.ts';

const LANES = 64;
/** Of the buffer: the last iteration of a loop leaves it. */
const ITERATIONS = 40;
const BUFFER_BYTES = ITERATIONS * LANES * 4;

/**
 * Goes through the buffer, 64 words at a time; the workgroup whose number is the second argument goes on
 * behind it.
 */
const walk = (before: string, body: string, again: string) => `
  s_load_dwordx4 s[0:3], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, 7
  s_movk_i32 s5, ${ITERATIONS}
  s_waitcnt lgkmcnt(0)
  s_cmp_lg_u32 s2, s4
  s_cbranch_scc1 2f
  s_movk_i32 s5, ${ITERATIONS + 1}
2:
  ${before}
1:
  ${body}
  v_add_u32 v1, ${LANES * 4}, v1
  ${again} 1b
  s_endpgm`;

/** All lanes together. */
const loop = (body: string) => walk('', body, 's_sub_u32 s5, s5, 1\n s_cmp_lg_u32 s5, 0\n s_cbranch_scc1');

/** Lanes 0, 8, 16 and so on to the end; the others leave before them. */
const loopWithExit = (body: string) =>
  walk(
    'v_and_b32 v4, 7, v0\n v_sub_u32 v4, s5, v4',
    body,
    'v_subrev_u32 v4, 1, v4\n v_cmp_lt_i32 vcc, 0, v4\n s_and_b64 exec, exec, vcc\n s_cbranch_execnz',
  );

/**
 * For lane 5 of wave 1 of the workgroup whose number is the second argument, with the pointer of the first
 * one in v[2:3].
 */
const once = (body: string) => `
  s_load_dwordx4 s[0:3], s[0:1], 0x0
  v_mov_b32 v4, 1
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v2, s0
  v_mov_b32 v3, s1
  s_cmp_lg_u32 s2, s4
  s_cbranch_scc1 3f
  v_mov_b32 v6, ${LANES + 5}
  v_cmpx_eq_u32 vcc, v6, v0
  s_cbranch_execz 3f
  ${body}
3:
  s_endpgm`;

interface Expected {
  readonly body: string;
  readonly kind: FaultKind;
  readonly status: HsaStatus;
  readonly message: RegExp;
  readonly instruction: RegExp;
  readonly access?: 'read' | 'write' | 'atomic' | 'execute';
  /** What the first argument points to: the buffer by default. */
  readonly target?: 'freed' | 'unallowed' | 'nowhere';
  /** FAULT_REASON of the event; none: there is no event. */
  readonly reason?: number;
  readonly lane?: number;
  readonly wave?: number;
}

const { pageNotPresent, noExecute } = FAULT_REASON;
const memory = { kind: 'memory', status: 'MEMORY_FAULT', reason: pageNotPresent, lane: 0, wave: 0 } as const;
const beyond = new RegExp(`; 0 bytes after buffer \\(${BUFFER_BYTES} bytes at 0x[0-9a-f]+\\); agent 1 \\(gfx90a\\)$`);
const single = { lane: 5, wave: 1 } as const;

const CASES: Readonly<Record<string, Expected>> = {
  read: {
    ...{ ...memory, access: 'read', message: beyond, instruction: /^global_load_dword v3, v1, s\[0:1\]$/ },
    body: loop('global_load_dword v3, v1, s[0:1]\n s_waitcnt vmcnt(0)\n v_add_u32 v2, v2, v3'),
  },
  leaving: {
    ...{ ...memory, access: 'read', message: beyond, instruction: /^global_load_dword v3, v1, s\[0:1\]$/ },
    body: loopWithExit('global_load_dword v3, v1, s[0:1]\n s_waitcnt vmcnt(0)\n v_add_u32 v2, v2, v3'),
  },
  write: {
    ...{ ...memory, access: 'write', message: beyond, instruction: /^global_store_dword v1, v2, s\[0:1\]$/ },
    body: loop('global_store_dword v1, v2, s[0:1]'),
  },
  atomic: {
    ...{ ...memory, access: 'atomic', message: beyond, instruction: /^global_atomic_add v1, v2, s\[0:1\]$/ },
    body: loop('global_atomic_add v1, v2, s[0:1]'),
  },
  freed: {
    ...{ ...memory, ...single, target: 'freed', access: 'read', instruction: /^global_load_dword v5, v\[2:3\], off$/ },
    message: /inside freed victim at 0x[0-9a-f]+; freed by .*faults\.test\.ts:\d+:\d+\)?; agent 1/,
    body: once('global_load_dword v5, v[2:3], off'),
  },
  unallowed: {
    ...{
      ...memory,
      ...single,
      target: 'unallowed',
      access: 'write',
      instruction: /^global_store_dword v\[2:3\], v4, off$/,
    },
    message: /inside inaccessible secret at 0x[0-9a-f]+; agent 1 \(gfx90a\), which has no access$/,
    body: once('global_store_dword v[2:3], v4, off'),
  },
  nowhere: {
    ...{ ...memory, ...single, target: 'nowhere', access: 'read', instruction: /^flat_load_dword v5, v\[2:3\]$/ },
    message: /invalid read of address 0x40 .*; not an address of this device; agent 1/,
    body: once('flat_load_dword v5, v[2:3]'),
  },
  jump: {
    ...{ kind: 'memory', status: 'MEMORY_FAULT', access: 'execute', reason: noExecute, wave: 1 },
    ...{ target: 'freed', instruction: /^s_setpc_b64 s\[0:1\]$/ },
    message: /^jump to 0x[0-9a-f]+, where there is no code, by 's_setpc_b64 s\[0:1\]' .*; inside freed victim/,
    body: once('s_setpc_b64 s[0:1]'),
  },
  lds: {
    ...{ kind: 'lds', status: 'MEMORY_APERTURE_VIOLATION', access: 'write', ...single },
    ...{ message: /^write outside the workgroup's LDS at 0x100000 by /, instruction: /^ds_write_b32 v5, v4$/ },
    body: once('v_mov_b32 v5, 0x100000\n ds_write_b32 v5, v4'),
  },
  private: {
    ...{ kind: 'aperture', status: 'MEMORY_APERTURE_VIOLATION', access: 'write', ...single },
    ...{
      message: /^write outside the private segment at 0x100000 by /,
      instruction: /^flat_store_dword v\[6:7\], v4$/,
    },
    body: once(
      's_mov_b64 s[6:7], src_private_base\n v_mov_b32 v6, 0x100000\n v_mov_b32 v7, s7\n flat_store_dword v[6:7], v4',
    ),
  },
  illegal: {
    ...{ kind: 'illegal-instruction', status: 'ILLEGAL_INSTRUCTION', wave: 1 },
    ...{ message: /^illegal instruction: 0x7fffffff is not a gfx90a instruction /, instruction: /not an instruction/ },
    body: once('.long 0x7fffffff'),
  },
  unsupported: {
    ...{ kind: 'unsupported', status: 'NOT_SUPPORTED', wave: 1 },
    ...{
      message: /v_screen_partition_4se_b32.*\(gfx90a\) /,
      instruction: /^v_screen_partition_4se_b32(?:_e32)? v5, v4$/,
    },
    body: once('v_screen_partition_4se_b32 v5, v4'),
  },
  mode: {
    ...{ kind: 'unsupported', status: 'NOT_SUPPORTED', wave: 1 },
    ...{ message: /^unsupported MODE 0x[0-9a-f]+ \(gfx90a\) by 's_setreg/, instruction: /^s_setreg_imm32_b32 / },
    body: once('s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 32), 0x8003f0\n v_mov_b32 v5, v4'),
  },
  trap: {
    ...{ kind: 'exception', status: 'EXCEPTION', wave: 1 },
    ...{ message: /^trap by 's_trap 2' /, instruction: /^s_trap 2$/ },
    body: once('s_trap 2'),
  },
};

const PRIVATE_SEGMENT = ['.amdhsa_private_segment_fixed_size 64'];
const image = imageOf(...Object.entries(CASES).map(([name, { body }]) => kernelText(name, body, PRIVATE_SEGMENT)));

const isLoop = (name: string): boolean => ['read', 'leaving', 'write', 'atomic'].includes(name);

const GROUPS = 24;
const BAD_GROUP = 9;

class Rig implements Disposable {
  readonly runtime: Runtime;
  readonly agent: Agent;
  readonly events: MemoryFaultEvent[] = [];
  readonly buffer: bigint;
  readonly #close: () => void;
  readonly #executable;

  readonly tier: ExecutorOptions['tier'];

  constructor(options: Partial<AmdgpuEmulatorOptions>, tier: ExecutorOptions['tier']) {
    this.tier = tier;
    const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 27, ...options });
    this.#close = () => device.close();
    this.runtime = createRuntime({ devices: [device], enforcesAccess: true });
    this.agent = this.runtime.gpuAgents[0]!;
    this.#executable = this.runtime.createExecutable();
    this.#executable.loadCodeObject(this.agent, new CodeObjectReader(image, 'faults.co'));
    this.#executable.freeze();
    this.buffer = this.agent.pool('coarse-grained').allocate(BUFFER_BYTES, { label: 'buffer' });
    this.runtime.onSystemEvent((event) => this.events.push(event));
  }

  target(name: Expected['target']): bigint {
    if (name === undefined) return this.buffer;
    if (name === 'nowhere') return 0x40n;
    const pool = this.runtime.cpuAgent.pool('fine-grained');
    if (name === 'unallowed') return pool.allocate(64, { label: 'secret' });
    const address = pool.allocate(64, { label: 'victim' });
    pool.free(address);
    return address;
  }

  /** Two waves in each workgroup; the one with the number `group` goes wrong, none if that is negative. */
  launch(name: string, pointer: bigint, group: number, queue: Queue) {
    const kernarg = this.runtime.cpuAgent.pool('kernarg').allocate(16);
    this.runtime.memory.allowAccess([this.agent], kernarg);
    const bytes = this.runtime.view(kernarg, 16);
    const data = new DataView(bytes.buffer, bytes.byteOffset, 16);
    data.setBigUint64(0, pointer, true);
    data.setInt32(8, group, true);
    const completionSignal = this.runtime.createSignal(1n);
    const { address } = this.#executable.getSymbol(`${name}.kd`);
    const workgroup = isLoop(name) ? LANES : 2 * LANES;
    queue.dispatch({ kernel: address, grid: [GROUPS * workgroup], workgroup: [workgroup], kernarg, completionSignal });
    return completionSignal;
  }

  [Symbol.dispose](): void {
    this.runtime[Symbol.dispose]();
    this.#close();
  }
}

function check(rig: Rig, name: string, expected: Expected): void {
  const { runtime, agent, buffer } = rig;
  const errors: QueueError[] = [];
  rig.events.length = 0;
  using bad = runtime.createQueue(agent, { onError: (error) => errors.push(error) });
  using good = runtime.createQueue(agent);
  const target = rig.target(expected.target);
  // Twice, so that the second is compiled.
  rig.launch(name, target, -1, bad).waitSync('eq', 0n);
  const lost = rig.launch(name, target, BAD_GROUP, bad);
  const done = rig.launch('write', buffer, -1, good);
  assert.equal(done.waitSync('eq', 0n), 0n);
  assert.throws(
    () => lost.waitSync('eq', 0n),
    (error: unknown) => error instanceof HsaError && error.status === expected.status,
  );
  assert.equal(errors.length, 1, 'the callback comes once');
  const [{ fault, error, packetIndex, kernel: dispatched }] = errors as [QueueError];
  assert.ok(fault);
  assert.match(error.message, expected.message);
  assert.match(error.message, new RegExp(`; workgroup \\(${BAD_GROUP}, 0, 0\\), wave [01]`));
  assert.match(error.message, new RegExp(`at pc 0x[0-9a-f]+ in ${name}\\+0x[0-9a-f]+;`));
  assert.ok(error instanceof HsaError && error.hsaStatus === HSA_STATUS[expected.status].value);
  assert.deepEqual(
    [fault.kind, fault.access, fault.workgroup, fault.wave, fault.lane, packetIndex, dispatched],
    [expected.kind, expected.access, [BAD_GROUP, 0, 0], expected.wave, expected.lane, 1n, name],
  );
  assert.match(fault.instruction, expected.instruction);
  assert.match(fault.location, new RegExp(`^${name}\\+0x[0-9a-f]+$`));
  assert.equal(runtime.memory.pointerInfo(fault.pc).label, 'code object faults.co');
  if (isLoop(name)) {
    assert.deepEqual(fault.nearestAllocation, { address: buffer, sizeBytes: BUFFER_BYTES, label: 'buffer' });
    assert.equal(fault.address, buffer + BigInt(BUFFER_BYTES));
  }
  if (expected.target === 'freed') assert.equal(fault.freedAllocation?.address, target);
  const seen = rig.events.map((event) => [event.agent, event.address, event.reason, event.kernel]);
  assert.deepEqual(seen, expected.reason === undefined ? [] : [[agent, fault.address, expected.reason, name]]);
  assert.equal(good.error, undefined);
  const again = rig.launch('write', buffer, -1, runtime.createQueue(agent));
  assert.equal(bad.error?.error, error);
  // Only loops that store nothing run as a whole.
  if (rig.tier && ['read', 'leaving'].includes(name)) assert.ok(bad.statistics.tiers[rig.tier] > 0);
  bad[Symbol.dispose]();
  assert.equal(again.waitSync('eq', 0n), 0n);
}

for (const [executor, { tier, ...options }] of Object.entries(EXECUTORS)) {
  test(executor, async (context) => {
    using rig = new Rig(options, tier);
    for (const [name, expected] of Object.entries(CASES)) await context.test(name, () => check(rig, name, expected));
  });
}
