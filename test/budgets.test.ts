/** What the host does for GPU code is bounded: it decodes and compiles in small steps that count, and forgets what is too much. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rig } from './budgets.test-support.ts';

const FAULT_IN_LOOP = `
  v_mov_b32 v0, 0
  v_mov_b32 v4, 0
  s_movk_i32 s10, 100
.Lloop:
  global_load_dword v1, v0, s[0:1]
  s_waitcnt vmcnt(0)
  global_load_dword v3, v1, s[0:1]
  s_waitcnt vmcnt(0)
  v_add_u32 v4, v4, v3
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lloop
  v_mov_b32 v6, 1
  global_store_dword v0, v6, s[0:1] offset:8
  s_endpgm`;

for (const executor of ['reference', 'handlers', 'jit'] as const) {
  test(`${executor}: after a fault a wave does nothing, even when another thread mends what it faulted for`, () => {
    using rig = new Rig({ executor, vertical: 'always', compileThreshold: 0 });
    rig.setDword(0, 0x400000);
    const waveExecutor = rig.emulator.executor(64);
    const firstFault = waveExecutor.firstFault?.bind(waveExecutor);
    if (firstFault) {
      waveExecutor.firstFault = (fault, wave) => {
        rig.setDword(0, 4);
        return firstFault(fault, wave);
      };
    }
    const dispatch = rig.run(FAULT_IN_LOOP);
    assert.equal(dispatch.state, 'faulted');
    assert.match(dispatch.fault!.message, /invalid read.* by 'global_load_dword v3, v1, s\[0:1\]'/);
    assert.equal(rig.dword(2), 0);
  });
}
