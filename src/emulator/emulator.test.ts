import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineCode } from '../assembler/machine-code.test-support.ts';
import { CLOCK_FREQUENCY_HZ } from './emulator.ts';
import { EmulatorRig } from './emulator-rig.test-support.ts';

/** Work-items i and i ^ 0xff exchange their numbers. */
const EXCHANGE = `
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32 v2, 0xff, v0
  v_lshlrev_b32 v2, 2, v2
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[0:1]
  s_endpgm`;
/** Workgroup 0 loads the first dword until it is 7; workgroup 3 stores 7 there. */
const WAIT_FOR_WORKGROUP_3 = `
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lothers
.Lwait:
  s_load_dword s4, s[0:1], 0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s4, 7
  s_cbranch_scc0 .Lwait
  s_endpgm
  s_nop 0
  s_nop 0
.Lothers:
  s_cmp_eq_u32 s2, 3
  s_cbranch_scc0 .Lend
  v_mov_b32 v1, 0
  v_mov_b32 v2, 7
  global_store_dword v1, v2, s[0:1]
.Lend:
  s_endpgm`;
const NULL_LOAD = `
  v_mov_b32 v0, 0
  v_mov_b32 v1, 0
  s_mov_b64 exec, 0xf0
  global_load_dword v2, v[0:1], off
  s_endpgm`;
const SWITCH_DENORMALS_OFF = `
  v_mov_b32 v1, 1
  v_add_f32 v2, v1, v1
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
  v_add_f32 v3, v1, v1
  v_lshlrev_b32 v0, 3, v0
  global_store_dwordx2 v0, v[2:3], s[0:1]
  s_endpgm`;
const CALL = `
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, 24         // the function
  s_addc_u32 s5, s5, 0
  s_swappc_b64 s[6:7], s[4:5]
  global_store_dword v0, v1, s[0:1]
  s_endpgm
  v_lshlrev_b32 v0, 2, v0
  v_mov_b32 v1, 0x1234
  s_setpc_b64 s[6:7]`;
/**
 * Stores to private memory at 1 + v0 % 4, then loads what stands around it and stores that in 32 bytes of
 * each work-item.
 */
const MISALIGNED_PRIVATE = `
  v_and_b32 v2, 3, v0
  v_add_u32 v2, 1, v2
  v_mov_b32 v3, 0x20000
  v_add_u32 v4, 0x44332211, v0
  v_mov_b32 v5, 0x88776655
  flat_store_dwordx2 v[2:3], v[4:5]
  flat_store_short v[2:3], v4 offset:10
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32 v6, 0
  v_mov_b32 v7, v3
  flat_load_dwordx4 v[8:11], v[6:7]
  flat_load_dwordx2 v[12:13], v[2:3]
  flat_load_ushort v14, v[2:3] offset:10
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_lshlrev_b32 v1, 5, v0
  global_store_dwordx4 v1, v[8:11], s[0:1]
  global_store_dwordx2 v1, v[12:13], s[0:1] offset:16
  global_store_dword v1, v14, s[0:1] offset:24
  s_endpgm`;
const LOOP = '.L: s_branch .L';
const WAIT_FOR_LAST_WAVE = `
  v_and_b32 v0, 0x3ff, v0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 7
  v_readfirstlane_b32 s2, v0
  s_barrier
  s_cmp_eq_u32 s2, 192
  s_cbranch_scc1 .Llast
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lend
.Lwait:
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  v_cmp_ne_u32 vcc, 0, v3
  s_cbranch_vccz .Lwait
  global_store_dword v1, v3, s[0:1]
  s_endpgm
.Llast:
  ds_write_b32 v1, v2
.Lend:
  s_endpgm`;

const MISSED_BARRIER = `
  v_readfirstlane_b32 s4, v0
  s_cmp_eq_u32 s4, 64
  s_cbranch_scc1 .Lwave1
  s_barrier
  s_endpgm
.Lwave1:
  s_branch .Lwave1`;
const SLEEP_LOOP = '.L: s_sleep 1\n s_branch .L';

for (const executor of ['handlers', 'reference', 'jit'] as const) {
  test(`${executor}: waves of a workgroup meet at a barrier and see each other's LDS`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    const dispatch = rig.run(EXCHANGE, { gridSize: [256, 1, 1], workgroupSize: [256, 1, 1], ldsSizeBytes: 1024 });
    assert.equal(dispatch.state, 'complete');
    for (let i = 0; i < 256; i++) assert.equal(rig.dword(i), i ^ 0xff);
    assert.equal(dispatch.waves, 4);
    assert.equal(dispatch.instructions, 4 * 11);
  });

  test(`${executor}: a workgroup that waits for a later one does not hang`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    assert.equal(rig.run(WAIT_FOR_WORKGROUP_3, { gridSize: [256, 1, 1] }).state, 'complete');
    assert.equal(rig.dword(0), 7);
  });

  test(`${executor}: one that goes through barriers alone meanwhile stops for nobody, and lets others run`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0, bufferSizeBytes: 4096 });
    rig.setDword(0, 0);
    const waiting = WAIT_FOR_WORKGROUP_3.replace('.Lwait:', '.Lwait:\n s_barrier');
    assert.equal(rig.run(waiting, { gridSize: [256, 1, 1] }).state, 'complete');
    assert.equal(rig.dword(0), 7);
  });

  test(`${executor}: a fault names access, address, instruction, place, lane and the nearest allocation`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
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
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    assert.equal(rig.run(SWITCH_DENORMALS_OFF).state, 'complete');
    assert.deepEqual([rig.dword(0), rig.dword(1)], [2, 0]);
  });

  test(`${executor}: a call through s_swappc_b64 returns`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    assert.equal(rig.run(CALL).state, 'complete');
    for (let i = 0; i < 64; i++) assert.equal(rig.dword(i), 0x1234);
  });

  test(`${executor}: an endless kernel gives the time back and can be cancelled`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
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

  test(`${executor}: a short slice has as many instructions less, however many waves spin`, () => {
    let nowMs = 0;
    using rig = new EmulatorRig({ executor, compileThreshold: 0, now: () => (nowMs += 100) });
    const dispatch = rig.start(LOOP, { gridSize: [1024, 1, 1], workgroupSize: [1024, 1, 1] });
    const executedIn = (sliceMs: number): number => {
      const before = dispatch.instructions;
      rig.emulator.advance(sliceMs);
      return dispatch.instructions - before;
    };
    const long = Array.from({ length: 16 }, () => executedIn(5)).at(-1)!;
    const [short, next] = [executedIn(0.1), executedIn(5)];
    assert.ok(short < long / 2 && next < long, `${short}, then ${next} in place of ${long}`);
  });

  test(`${executor}: waves that only sleep are reported as waiting`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    const dispatch = rig.start(SLEEP_LOOP, { gridSize: [512, 1, 1] });
    for (let turn = 0; turn < 10_000 && rig.emulator.advance(5000) === 'running'; turn++);
    assert.equal(rig.emulator.advance(5000), 'waiting');
    const [place, impression] = dispatch.describeWaves();
    assert.match(place!, /^8 waves asleep at pc 0x7f00[0-9a-f]+ in kernel\+0x0: s_sleep 1; .*; and 4 more workgroups$/);
    assert.match(impression!, /RPC port/);
  });

  test(`${executor}: behind a barrier a wave waits for another, longer than its turn`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    const shape = { gridSize: [256, 1, 1], workgroupSize: [256, 1, 1], ldsSizeBytes: 64 } as const;
    const dispatch = rig.start(WAIT_FOR_LAST_WAVE, shape);
    for (let turn = 0; turn < 200 && rig.emulator.advance(5) === 'running'; turn++);
    assert.equal(dispatch.state, 'complete');
    assert.equal(rig.dword(0), 7);
  });

  test(`${executor}: a barrier that one wave does not reach is reported with where every wave is`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    const dispatch = rig.start(MISSED_BARRIER, { gridSize: [256, 1, 1], workgroupSize: [256, 1, 1] });
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
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    const bad = rig.run('s_nop 0\n .long 0x7fffffff');
    assert.equal(bad.fault?.kind, 'illegal-instruction');
    assert.match(
      bad.fault?.message ?? '',
      /^illegal instruction: 0x7fffffff is not a gfx90a instruction at pc 0x7f00[0-9a-f]+ in kernel\+0x4; workgroup \(0, 0, 0\), wave 0$/,
    );
    assert.match(rig.run('s_nop 0').fault?.message ?? '', /^illegal instruction: no code at this address/);
  });

  test(`${executor}: what does not fit into memory at once runs one after the other`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    // 128 MiB of private memory for each workgroup, in 256 MiB of memory; a workgroup that sleeps asks for
    // the next one.
    const dispatch = rig.run(`s_sleep 1\n s_sleep 1\n ${CALL}`, { gridSize: [512, 1, 1], privateSizeBytes: 2 ** 21 });
    assert.equal(dispatch.state, 'complete');
    assert.equal(dispatch.workgroups, 8);
  });

  test(`${executor}: work-items beyond the grid do not run`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    const dispatch = rig.run(CALL, { gridSize: [100, 1, 1] });
    assert.equal(dispatch.workgroups, 2);
    assert.deepEqual([rig.dword(35), rig.dword(36), rig.dword(63)], [0x1234, 0x1234, 0x1234]);
    using small = new EmulatorRig({ executor, compileThreshold: 0 });
    small.run(CALL, { gridSize: [36, 1, 1] });
    assert.deepEqual([small.dword(35), small.dword(36)], [0x1234, 0]);
  });

  test(`${executor}: private memory takes accesses that begin inside a dword`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
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
    using rig = new EmulatorRig({ executor, compileThreshold: 0 });
    const { memory } = rig.emulator;
    const code = machineCode(`${'s_nop 0\n'.repeat(5000)} s_endpgm`);
    const runAndWithdraw = (): object => {
      assert.equal(rig.run(code).state, 'complete');
      rig.emulator.withdrawCode(rig.entry);
      memory.free(rig.entry);
      const { regions, bytes } = memory.usage;
      return { regions, bytes };
    };
    const first = runAndWithdraw();
    assert.deepEqual(runAndWithdraw(), first);
  });
}

test('the clock of a new device is beyond its first second', () => {
  using rig = new EmulatorRig();
  assert.ok(rig.emulator.clock() > BigInt(CLOCK_FREQUENCY_HZ));
});
