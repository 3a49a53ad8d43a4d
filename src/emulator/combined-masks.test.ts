/** Masks that lanes make and that are combined before lanes use them, while some lanes are off. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig } from './emulator-rig.test-support.ts';

const WIDE = `
  s_mov_b64 exec, s[4:5]
  v_cmp_gt_u32 vcc, 40, v0
  v_cmp_lt_u32 s[6:7], 9, v0
  s_and_b64 s[8:9], vcc, s[6:7]
  s_or_b64 s[10:11], vcc, s[2:3]
  s_andn2_b64 s[12:13], s[10:11], s[8:9]
  s_xor_b64 s[14:15], s[12:13], s[6:7]
  s_not_b64 s[16:17], s[14:15]
  s_and_b64 s[18:19], exec, s[16:17]
  v_cndmask_b32 v1, 0, 1, s[8:9]
  v_cndmask_b32 v2, 0, 2, s[12:13]
  v_cndmask_b32 v3, 0, 4, s[14:15]
  v_cndmask_b32 v4, 0, 8, s[18:19]
  v_add3_u32 v1, v1, v2, v3
  v_add_u32 v1, v1, v4
  s_mov_b64 exec, -1
  v_cndmask_b32 v2, 0, 16, s[18:19]
  v_cndmask_b32 v3, 0, 32, s[14:15]
  v_add3_u32 v1, v1, v2, v3
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v1, s[0:1]
  s_endpgm`;

/** The same for 32 lanes, whose masks are one register. */
const narrow = (text: string): string =>
  text
    .replace(/s\[(\d+):(\d+)\]/g, (registers, first) => (first === '0' ? registers : `s${first}`))
    .replace('s_andn2_b64', 's_and_not1_b64')
    .replaceAll('_b64', '_b32')
    .replaceAll('exec', 'exec_lo')
    .replaceAll('vcc', 'vcc_lo')
    .replace('v_add_u32', 'v_add_nc_u32')
    .replace('dword v0', 'b32 v0');

for (const [waveSize, processor] of [
  [64, 'gfx90a'],
  [32, 'gfx1100'],
] as const) {
  test(`${waveSize} lanes: combined masks are those that the reference has`, () => {
    const [reference, compiled] = (['reference', 'jit'] as const).map((executor) => {
      using rig = new EmulatorRig({ processor, executor, compileThreshold: 0 });
      const setUp = `v_and_b32 v0, 0x3ff, v0\ns_mov_b32 s2, 0x0ff0f0aa\ns_mov_b32 s3, 0x12345678\n
        s_mov_b32 s4, 0x7ffe3f1b\ns_mov_b32 s5, 0xf0f7ffff\nv_mov_b32 v1, 64`;
      const code = `${setUp}\n${waveSize === 64 ? WIDE : narrow(WIDE)}`;
      const size = [waveSize, 1, 1] as const;
      const { fault } = rig.run(code, { waveSize, gridSize: size, workgroupSize: size, agprCount: 0 });
      assert.equal(fault?.message, undefined);
      return Array.from({ length: waveSize }, (_, i) => rig.dword(i));
    });
    assert.deepEqual(compiled, reference);
    assert.ok(new Set(reference).size > 3, `lanes differ: ${reference}`);
  });
}
