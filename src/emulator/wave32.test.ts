import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Emulator } from './emulator.ts';

/**
 * v0 = work-item, exec_hi = 0x1234, vcc_hi = 0x5678; v_cmp_gt_u32 vcc_lo, 5, v0 and s_and_saveexec_b32 s4, vcc_lo around v1 = 7 (else 1);
 * s_add_u32 null, 5, 6; s_add_u32 s5, null, 3; with m0 = 2, v4 = 9: v_movrels_b32 v2, v2; with m0 = 300: v_movreld_b32 v3, v0 and
 * v_movrels_b32 v3, v1; with m0 = 1: s_movrels_b32 s6, s4; s_not_b32 exec_lo, exec_lo; s7 = scc, 99 unless s_cbranch_execz branches.
 * Stores v1, v2, v3, lane 37 of v0 at 16 * v0 of s[0:1]; from 1024 on s4, s5, s6, exec_hi, vcc_hi, vcc_lo, s7, s2.
 */
const PROGRAM = [
  0x360000ff, 0x000003ff, 0xbeff00ff, 0x00001234, 0xbeeb00ff, 0x00005678, 0x7e020281, 0x7c980085, 0xbe84206a,
  0x7e020287, 0xbefe0004, 0x807c8685, 0x8005837c, 0xbefd0082, 0x7e080289, 0x7e048702, 0xb07d012c, 0x7e068500,
  0x7e068701, 0xbefd0081, 0xbe864004, 0xbefe1e7e, 0x98078081, 0xbfa50001, 0xb0070063, 0xbefe0004, 0x300a0084,
  0xdc6a0000, 0x00000105, 0xdc6a0004, 0x00000205, 0xdc6a0008, 0x00000305, 0xd7600008, 0x00014b00, 0x7e0c0208,
  0xdc6a000c, 0x00000605, 0x7e0a0280, 0x7e0c0204, 0x7e0e0205, 0x7e100206, 0x7e12027f, 0xdc760400, 0x00000605,
  0x7e0c026b, 0x7e0e026a, 0x7e100207, 0x7e120202, 0xdc760410, 0x00000605, 0xbfb00000,
];

for (const executor of ['handlers', 'reference', 'jit'] as const) {
  test(`${executor}: masks of 32 lanes, the null register, registers relative to M0`, () => {
    const emulator = new Emulator({ processor: 'gfx1100', executor, compileThreshold: 0, memorySizeBytes: 2 ** 28 });
    const { memory } = emulator;
    const buffer = memory.allocate(4096);
    const entry = memory.allocate(PROGRAM.length * 4);
    for (const [i, word] of PROGRAM.entries()) memory.view.setUint32(entry + i * 4, word, true);
    const dispatch = emulator.dispatch({
      entry,
      waveSize: 32,
      gridSize: [32, 1, 1],
      workgroupSize: [32, 1, 1],
      ldsSizeBytes: 0,
      privateSizeBytes: 0,
      userSgprs: Uint32Array.of(buffer, memory.windowHi),
      scratchDescriptorSgpr: undefined,
      flatScratchSgpr: undefined,
      workgroupIdSgprs: [2, undefined, undefined],
      scratchOffsetSgpr: undefined,
      workItemIdComponents: 0,
      mode: 0x3f0,
      vgprCount: 16,
      agprCount: 0,
    });
    for (let i = 0; i < 100 && emulator.advance(50) !== 'idle'; i++);
    assert.equal(dispatch.fault?.message, undefined);
    assert.equal(dispatch.state, 'complete');
    const dwords = (offset: number, count: number): number[] =>
      Array.from({ length: count }, (_, i) => memory.view.getUint32(buffer + offset + i * 4, true));
    // RDNA3 ISA 3.3.2.2: a source out of range is v0, a destination out of range is not written.
    for (let lane = 0; lane < 32; lane++) {
      assert.deepEqual(dwords(lane * 16, 4), [lane < 5 ? 7 : 1, 9, lane, 5], `lane ${lane}`);
    }
    assert.deepEqual(dwords(1024, 8), [0xffffffff, 3, 3, 0x1234, 0x5678, 0x1f, 0, 0]);
  });
}
