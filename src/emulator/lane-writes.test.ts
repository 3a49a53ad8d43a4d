/** Lanes of a row that the wave writes and reads one by one, as compilers keep scalars there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig } from './emulator-rig.test-support.ts';

/** Each leaves a value in v1 of every lane; s[4:5] is the EXEC of some lanes. */
const BODIES: readonly (readonly [what: string, body: string])[] = [
  [
    'masks that go through lanes of a row',
    `v_cmp_gt_u32 vcc, 40, v0
    v_writelane_b32 v4, vcc_lo, 3
    v_writelane_b32 v4, vcc_hi, 64
    v_cmp_lt_u32 s[6:7], 9, v0
    v_writelane_b32 v4, s6, 3
    v_readlane_b32 s8, v4, 3
    v_readlane_b32 s9, v4, 0
    s_and_b64 s[8:9], s[8:9], s[6:7]
    v_cndmask_b32 v1, 7, v0, s[8:9]`,
  ],
  [
    'a lane that is off, and the row afterwards',
    `s_mov_b64 exec, s[4:5]
    s_movk_i32 s8, 77
    v_writelane_b32 v1, s8, 2
    v_add_u32 v1, v1, v0`,
  ],
  [
    'the row before',
    `v_mul_u32_u24 v1, 3, v0
    v_readlane_b32 s8, v1, 5
    v_writelane_b32 v1, s8, 6
    v_readlane_b32 s9, v1, 6
    v_readlane_b32 s10, v1, 7
    s_add_u32 s9, s9, s10
    v_writelane_b32 v1, s9, 0`,
  ],
  [
    'lanes that are not known',
    `v_mov_b32 v4, v0
    s_movk_i32 s8, 13
    v_writelane_b32 v4, s8, s8
    v_readlane_b32 s9, v4, 13
    v_writelane_b32 v4, s9, 14
    v_readlane_b32 s10, v4, s9
    v_writelane_b32 v4, s10, s10
    v_readlane_b32 s11, v4, 12
    v_add_u32 v1, s11, v4`,
  ],
  [
    'lanes that others read',
    `v_mov_b32 v4, v0
    v_lshlrev_b32 v5, 2, v0
    s_movk_i32 s8, 99
    v_writelane_b32 v4, s8, 9
    ds_bpermute_b32 v1, v5, v4`,
  ],
];

/** The same for 32 lanes, whose masks are one register. */
const narrow = (text: string): string =>
  text
    .replaceAll('vcc_hi', 'vcc_lo')
    .replace(/s\[(\d+):(\d+)\]/g, (registers, first) => (first === '0' ? registers : `s${first}`))
    .replaceAll('_b64', '_b32')
    .replaceAll('exec', 'exec_lo')
    .replaceAll('vcc,', 'vcc_lo,')
    .replaceAll('v_add_u32', 'v_add_nc_u32')
    .replace('dword v0', 'b32 v0');

const SET_UP = `v_and_b32 v0, 0x3ff, v0\ns_mov_b32 s4, 0x7ffe3f1b\ns_mov_b32 s5, 0xf0f7ffff
  v_mov_b32 v1, 64\nv_mov_b32 v4, 0`;
const END = `s_mov_b64 exec, -1\nv_lshlrev_b32 v0, 2, v0\nglobal_store_dword v0, v1, s[0:1]\ns_endpgm`;

for (const [waveSize, processor] of [
  [64, 'gfx90a'],
  [32, 'gfx1100'],
] as const) {
  for (const [what, body] of BODIES) {
    test(`${waveSize} lanes: ${what}`, () => {
      const [reference, compiled] = (['reference', 'jit'] as const).map((executor) => {
        using rig = new EmulatorRig({ processor, executor, compileThreshold: 0 });
        const text = `${SET_UP}\n${body}\n${END}`;
        const size = [waveSize, 1, 1] as const;
        const code = waveSize === 64 ? text : narrow(text);
        const { fault } = rig.run(code, { waveSize, gridSize: size, workgroupSize: size, agprCount: 0 });
        assert.equal(fault?.message, undefined);
        return Array.from({ length: waveSize }, (_, i) => rig.dword(i));
      });
      assert.deepEqual(compiled, reference);
      assert.ok(new Set(reference).size > 3, `lanes differ: ${reference}`);
    });
  }
}
