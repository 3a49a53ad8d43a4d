import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig } from './emulator-rig.test-support.ts';

/** Stores four dwords of each work-item, then eight scalars at 1024. */
const PROGRAM = `
  v_and_b32 v0, 0x3ff, v0
  s_mov_b32 exec_hi, 0x1234
  s_mov_b32 vcc_hi, 0x5678
  v_mov_b32 v1, 1
  v_cmp_gt_u32 vcc_lo, 5, v0
  s_and_saveexec_b32 s4, vcc_lo
  v_mov_b32 v1, 7
  s_mov_b32 exec_lo, s4
  s_add_u32 null, 5, 6
  s_add_u32 s5, null, 3
  s_mov_b32 m0, 2
  v_mov_b32 v4, 9
  v_movrels_b32 v2, v2
  s_movk_i32 m0, 300           // beyond the registers
  v_movreld_b32 v3, v0
  v_movrels_b32 v3, v1
  s_mov_b32 m0, 1
  s_movrels_b32 s6, s4
  s_not_b32 exec_lo, exec_lo   // 0: SCC too
  s_cselect_b32 s7, 1, 0
  s_cbranch_execz .Lempty      // exec_hi does not count
  s_movk_i32 s7, 99
.Lempty:
  s_mov_b32 exec_lo, s4
  v_lshlrev_b32 v5, 4, v0
  global_store_b32 v5, v1, s[0:1]
  global_store_b32 v5, v2, s[0:1] offset:4
  global_store_b32 v5, v3, s[0:1] offset:8
  v_readlane_b32 s8, v0, 37    // lane 5
  v_mov_b32 v6, s8
  global_store_b32 v5, v6, s[0:1] offset:12
  v_mov_b32 v5, 0
  v_mov_b32 v6, s4
  v_mov_b32 v7, s5
  v_mov_b32 v8, s6
  v_mov_b32 v9, exec_hi
  global_store_b128 v5, v[6:9], s[0:1] offset:1024
  v_mov_b32 v6, vcc_hi
  v_mov_b32 v7, vcc_lo
  v_mov_b32 v8, s7
  v_mov_b32 v9, s2
  global_store_b128 v5, v[6:9], s[0:1] offset:1040
  s_endpgm`;

for (const executor of ['handlers', 'reference', 'jit'] as const) {
  test(`${executor}: masks of 32 lanes, the null register, registers relative to M0`, () => {
    using rig = new EmulatorRig({ processor: 'gfx1100', executor, compileThreshold: 0 });
    const dispatch = rig.run(PROGRAM, {
      waveSize: 32,
      gridSize: [32, 1, 1],
      workgroupSize: [32, 1, 1],
      vgprCount: 16,
      agprCount: 0,
    });
    assert.equal(dispatch.fault?.message, undefined);
    assert.equal(dispatch.state, 'complete');
    const dwords = (offset: number, count: number): number[] =>
      Array.from({ length: count }, (_, i) => rig.dword(offset / 4 + i));
    // RDNA3 ISA 3.3.2.2: a source out of range is v0, a destination out of range is not written.
    for (let lane = 0; lane < 32; lane++) {
      assert.deepEqual(dwords(lane * 16, 4), [lane < 5 ? 7 : 1, 9, lane, 5], `lane ${lane}`);
    }
    assert.deepEqual(dwords(1024, 8), [0xffffffff, 3, 3, 0x1234, 0x5678, 0x1f, 0, 0]);
  });
}
