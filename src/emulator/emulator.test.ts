import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Launch, Triple } from './amdgpu/launch.ts';
import { CLOCK_FREQUENCY_HZ, Emulator, type ExecutorName } from './emulator.ts';
import type { EmulatorDispatch } from './schedule/dispatch.ts';

const DEFAULT_MODE = 0x3f0;

interface Options {
  grid?: Triple;
  workgroup?: Triple;
  ldsSizeBytes?: number;
  privateSizeBytes?: number;
  mode?: number;
}

/** A kernel given as dwords, with the address of one zero-filled buffer in s[0:1] and the workgroup id in s2. */
class Rig {
  readonly emulator: Emulator;
  readonly buffer: number;
  /** Offset of the latest kernel. */
  code = 0;

  constructor(executor: ExecutorName) {
    this.emulator = new Emulator({ processor: 'gfx90a', executor, compileThreshold: 0, memorySizeBytes: 2 ** 28 });
    this.buffer = this.emulator.memory.allocate(4096, { label: 'buffer' });
  }

  start(words: readonly number[], options: Options = {}): EmulatorDispatch {
    const { memory } = this.emulator;
    const entry = memory.allocate(words.length * 4, { label: 'code' });
    this.code = entry;
    for (const [i, word] of words.entries()) memory.view.setUint32(entry + i * 4, word, true);
    this.emulator.publishCode(entry, () => [{ name: 'kernel', offset: entry, sizeBytes: words.length * 4 }]);
    const launch: Launch = {
      entry,
      waveSize: 64,
      gridSize: options.grid ?? [64, 1, 1],
      workgroupSize: options.workgroup ?? [64, 1, 1],
      ldsSizeBytes: options.ldsSizeBytes ?? 0,
      privateSizeBytes: options.privateSizeBytes ?? 0,
      userSgprs: Uint32Array.of(this.buffer, memory.windowHi),
      scratchDescriptorSgpr: undefined,
      flatScratchSgpr: undefined,
      workgroupIdSgprs: [2, undefined, undefined],
      scratchOffsetSgpr: undefined,
      workItemIdComponents: 0,
      mode: options.mode ?? DEFAULT_MODE,
      vgprCount: 16,
      agprCount: 0,
    };
    return this.emulator.dispatch(launch);
  }

  run(words: readonly number[], options?: Options): EmulatorDispatch {
    const dispatch = this.start(words, options);
    for (let i = 0; i < 100 && this.emulator.advance(50) !== 'idle'; i++);
    return dispatch;
  }

  dword(index: number): number {
    return this.emulator.memory.view.getUint32(this.buffer + index * 4, true);
  }
}

// v_and_b32 v0, 0x3ff, v0; v_lshlrev_b32 v1, 2, v0; ds_write_b32 v1, v0; s_barrier; v_xor_b32 v2, 0xff, v0;
// v_lshlrev_b32 v2, 2, v2; ds_read_b32 v3, v2; global_store_dword v1, v3, s[0:1]
const EXCHANGE = [
  0x260000ff, 0x000003ff, 0x24020082, 0xd81a0000, 0x00000001, 0xbf8cc07f, 0xbf8a0000, 0x2a0400ff, 0x000000ff,
  0x24040482, 0xd86c0000, 0x03000002, 0xbf8cc07f, 0xdc708000, 0x00000301, 0xbf810000,
];
// Workgroup 0 loads s[0:1] until it is 7; workgroup 3 stores 7 there.
const WAIT_FOR_WORKGROUP_3 = [
  0xbf068002, 0xbf840008, 0xc0020100, 0x00000000, 0xbf8cc07f, 0xbf068704, 0xbf84fffb, 0xbf810000, 0xbf800000,
  0xbf800000, 0xbf068302, 0xbf840004, 0x7e020280, 0x7e040287, 0xdc708000, 0x00000201, 0xbf810000,
];
// v_mov_b32 v0, 0; v_mov_b32 v1, 0; s_mov_b64 exec, 0xf0; global_load_dword v2, v[0:1], off
const NULL_LOAD = [0x7e000280, 0x7e020280, 0xbefe01ff, 0x000000f0, 0xdc508000, 0x027f0000, 0xbf810000];
// v_mov_b32 v1, 1; v_add_f32 v2, v1, v1; s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0; v_add_f32 v3, v1, v1; store v[2:3]
const SWITCH_DENORMALS_OFF = [
  0x7e020281, 0x02040301, 0xba000901, 0x00000000, 0x02060301, 0x24000083, 0xdc748000, 0x00000200, 0xbf810000,
];
// s_getpc_b64 s[4:5]; s_add_u32 s4, s4, 24; s_addc_u32 s5, s5, 0; s_swappc_b64 s[6:7], s[4:5]; global_store_dword v0, v1, s[0:1];
// s_endpgm; function: v_lshlrev_b32 v0, 2, v0; v_mov_b32 v1, 0x1234; s_setpc_b64 s[6:7]
const CALL = [
  0xbe841c00, 0x80049804, 0x82058005, 0xbe861e04, 0xdc708000, 0x00000100, 0xbf810000, 0x24000082, 0x7e0202ff,
  0x00001234, 0xbe801d06,
];
// v2 = 1 + v0 % 4, in private memory; v[4:5] = 0x44332211 + v0, 0x88776655: flat_store_dwordx2 v[2:3], v[4:5];
// flat_store_short v[2:3], v4 offset:10; then flat loads of dwordx4 at 0, dwordx2 at v2, ushort at v2 + 10, stored at s[0:1] + 32 * v0
const MISALIGNED_PRIVATE = [
  0x26040083, 0x68040481, 0x7e0602ff, 0x00020000, 0x680800ff, 0x44332211, 0x7e0a02ff, 0x88776655, 0xdc740000,
  0x00000402, 0xdc68000a, 0x00000402, 0xbf8c0070, 0x7e0c0280, 0x7e0e0303, 0xdc5c0000, 0x08000006, 0xdc540000,
  0x0c000002, 0xdc48000a, 0x0e000002, 0xbf8c0070, 0x24020085, 0xdc7c8000, 0x00000801, 0xdc748010, 0x00000c01,
  0xdc708018, 0x00000e01, 0xbf810000,
];
const LOOP = [0xbf82ffff]; // s_branch -1
// v_readfirstlane_b32 s4, v0; s_cmp_eq_u32 s4, 64; s_cbranch_scc1 2; s_barrier; s_endpgm; s_branch -1
const MISSED_BARRIER = [0x7e080500, 0xbf06c004, 0xbf850002, 0xbf8a0000, 0xbf810000, 0xbf82ffff];
const SLEEP_LOOP = [0xbf8e0001, 0xbf82fffe]; // s_sleep 1; s_branch -2

for (const executor of ['handlers', 'reference', 'jit'] as const) {
  test(`${executor}: waves of a workgroup meet at a barrier and see each other's LDS`, () => {
    const rig = new Rig(executor);
    const dispatch = rig.run(EXCHANGE, { grid: [256, 1, 1], workgroup: [256, 1, 1], ldsSizeBytes: 1024 });
    assert.equal(dispatch.state, 'complete');
    for (let i = 0; i < 256; i++) assert.equal(rig.dword(i), i ^ 0xff);
    assert.equal(dispatch.waves, 4);
    assert.equal(dispatch.instructions, 4 * 11);
  });

  test(`${executor}: a workgroup that waits for a later one does not hang`, () => {
    const rig = new Rig(executor);
    assert.equal(rig.run(WAIT_FOR_WORKGROUP_3, { grid: [256, 1, 1] }).state, 'complete');
    assert.equal(rig.dword(0), 7);
  });

  test(`${executor}: a fault names access, address, instruction, place, lane and the nearest allocation`, () => {
    const rig = new Rig(executor);
    const dispatch = rig.run(NULL_LOAD);
    assert.equal(dispatch.state, 'faulted');
    const { fault } = dispatch;
    assert.equal(fault?.kind, 'memory');
    assert.equal(fault?.lane, 4);
    assert.equal(fault?.address, 0n);
    assert.equal(fault?.access, 'read');
    assert.match(
      fault?.message ?? '',
      /^invalid read of address 0x0 by 'global_load_dword.*' at pc 0x7f00[0-9a-f]{8} in kernel\+0x10; workgroup \(0, 0, 0\), wave 0, lane 4; not an address of this device$/,
    );
  });

  test(`${executor}: code after a write of MODE follows the new mode`, () => {
    const rig = new Rig(executor);
    assert.equal(rig.run(SWITCH_DENORMALS_OFF).state, 'complete');
    assert.deepEqual([rig.dword(0), rig.dword(1)], [2, 0]);
  });

  test(`${executor}: a call through s_swappc_b64 returns`, () => {
    const rig = new Rig(executor);
    assert.equal(rig.run(CALL).state, 'complete');
    for (let i = 0; i < 64; i++) assert.equal(rig.dword(i), 0x1234);
  });

  test(`${executor}: an endless kernel gives the time back and can be cancelled`, () => {
    const rig = new Rig(executor);
    const dispatch = rig.start(LOOP);
    assert.equal(rig.emulator.advance(5), 'running');
    assert.match(
      dispatch.describeWaves().join(),
      /^1 wave running at pc 0x7f00[0-9a-f]+ in kernel\+0x0: s_branch .*; EXEC 0xffffffffffffffff; workgroup \(0, 0, 0\) wave 0,this looks like an endless loop/,
    );
    dispatch.cancel();
    assert.equal(rig.emulator.advance(5), 'idle');
    assert.equal(dispatch.state, 'cancelled');
  });

  test(`${executor}: waves that only sleep are reported as waiting`, () => {
    const rig = new Rig(executor);
    const dispatch = rig.start(SLEEP_LOOP, { grid: [512, 1, 1] });
    for (let turn = 0; turn < 10_000 && rig.emulator.advance(5000) === 'running'; turn++);
    assert.equal(rig.emulator.advance(5000), 'waiting');
    const [place, impression] = dispatch.describeWaves();
    assert.match(place!, /^8 waves asleep at pc 0x7f00[0-9a-f]+ in kernel\+0x0: s_sleep 1; .*; and 4 more workgroups$/);
    assert.match(impression!, /RPC port/);
  });

  test(`${executor}: a barrier that one wave does not reach is reported with where every wave is`, () => {
    const rig = new Rig(executor);
    const dispatch = rig.start(MISSED_BARRIER, { grid: [256, 1, 1], workgroup: [256, 1, 1] });
    const waiting = (): number => dispatch.wavePlaces().filter(({ state }) => state === 'barrier').length;
    for (let i = 0; i < 1000 && waiting() < 3; i++) rig.emulator.advance(5);
    assert.deepEqual(
      dispatch.describeWaves().map((line) => line.replace(/pc 0x[0-9a-f]+ /, '').replace(/ {2,}/g, ' ')),
      [
        '3 waves waiting at in kernel+0xc: s_barrier; EXEC 0xffffffffffffffff; workgroup (0, 0, 0) waves 0, 2 to 3',
        '1 wave running at in kernel+0x14: s_branch 65535; EXEC 0xffffffffffffffff; workgroup (0, 0, 0) wave 1',
        'this looks like a barrier that not all waves reach: 1 wave of workgroup (0, 0, 0) is elsewhere',
      ],
    );
  });

  test(`${executor}: bytes that are no instruction, and code that ends, are illegal instructions`, () => {
    const rig = new Rig(executor);
    const bad = rig.run([0xbf800000, 0x7fffffff]);
    assert.equal(bad.fault?.kind, 'illegal-instruction');
    assert.match(
      bad.fault?.message ?? '',
      /^illegal instruction: 0x7fffffff is not a gfx90a instruction at pc 0x7f00[0-9a-f]+ in kernel\+0x4; workgroup \(0, 0, 0\), wave 0$/,
    );
    assert.match(rig.run([0xbf800000]).fault?.message ?? '', /^illegal instruction: no code at this address/);
  });

  test(`${executor}: what does not fit into memory at once runs one after the other`, () => {
    const rig = new Rig(executor);
    // 128 MiB of private memory for each workgroup, in 256 MiB of memory; a workgroup that sleeps asks for the next one.
    const dispatch = rig.run([0xbf8e0001, 0xbf8e0001, ...CALL], { grid: [512, 1, 1], privateSizeBytes: 2 ** 21 });
    assert.equal(dispatch.state, 'complete');
    assert.equal(dispatch.workgroups, 8);
  });

  test(`${executor}: work-items beyond the grid do not run`, () => {
    const rig = new Rig(executor);
    const dispatch = rig.run(CALL, { grid: [100, 1, 1] });
    assert.equal(dispatch.workgroups, 2);
    assert.deepEqual([rig.dword(35), rig.dword(36), rig.dword(63)], [0x1234, 0x1234, 0x1234]);
    const small = new Rig(executor);
    small.run(CALL, { grid: [36, 1, 1] });
    assert.deepEqual([small.dword(35), small.dword(36)], [0x1234, 0]);
  });

  test(`${executor}: private memory takes accesses that begin inside a dword`, () => {
    const rig = new Rig(executor);
    assert.equal(rig.run(MISALIGNED_PRIVATE, { privateSizeBytes: 32 }).state, 'complete');
    for (let lane = 0; lane < 64; lane++) {
      const at = 1 + (lane % 4);
      const memory = new DataView(new ArrayBuffer(16));
      memory.setUint32(at, 0x44332211 + lane, true);
      memory.setUint32(at + 4, 0x88776655, true);
      memory.setUint16(at + 10, 0x2211 + lane, true);
      const expected = [0, 4, 8, 12].map((offset) => memory.getUint32(offset, true));
      expected.push(0x44332211 + lane, 0x88776655, 0x2211 + lane);
      assert.deepEqual(
        Array.from(expected, (_, i) => rig.dword(lane * 8 + i)),
        expected,
      );
    }
  });

  test(`${executor}: withdrawn code leaves no memory behind`, () => {
    const rig = new Rig(executor);
    const { memory } = rig.emulator;
    const words = [...new Array<number>(5000).fill(0xbf800000), 0xbf810000];
    const runAndWithdraw = (): object => {
      assert.equal(rig.run(words).state, 'complete');
      const code = memory.find(rig.code)!;
      rig.emulator.withdrawCode(code.offset);
      memory.free(code.offset);
      const { regions, bytes } = memory.usage;
      return { regions, bytes };
    };
    const first = runAndWithdraw();
    assert.deepEqual(runAndWithdraw(), first);
  });
}

test('the clock of a new device is beyond its first second', () => {
  assert.ok(new Rig('jit').emulator.clock() > BigInt(CLOCK_FREQUENCY_HZ));
});
