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

const FORMATTED = 'buffer_store_format_xyzw v[4:7], v[2:3], s[4:7], 0 idxen offen';
/** Each of 4 lanes stores in 16 bytes of its own; a float of each iteration adds to what is stored last. */
const formattedStores = (iterations: number): string => `
  s_mov_b32 s4, s0
  s_and_b32 s5, s1, 0xffff
  s_or_b32 s5, s5, 0x100000
  s_movk_i32 s6, 64
  s_mov_b32 s7, 0x77fac
  s_mov_b64 exec, 15
  v_mov_b32 v2, v0
  v_mov_b32 v3, 0
  v_mov_b32 v4, 0
  v_mov_b32 v5, 1.0
  v_mov_b32 v6, 2.0
  v_mov_b32 v7, 4.0
  s_movk_i32 s10, ${iterations}
.Lloop:
  v_add_f32 v4, 0.5, v4
  ${`${FORMATTED}\n`.repeat(195)}
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc0 .Lend
  s_branch .Lloop
.Lend:
  s_endpgm`;

for (const [executor, iterations] of [
  ['reference', 1],
  ['handlers', 40],
  ['jit', 40],
] as const) {
  test(`${executor}: a loop whose function would be too long for WebAssembly runs`, () => {
    using rig = new Rig({ executor, compileThreshold: 1 });
    const dispatch = rig.run(formattedStores(iterations));
    assert.equal(dispatch.state, 'complete');
    const floats = new Float32Array(rig.emulator.memory.buffer, rig.buffer, 20);
    const expected = [0, 1, 2, 3].flatMap(() => [iterations * 0.5, 1, 2, 4]);
    assert.deepEqual([...floats], [...expected, 0, 0, 0, 0]);
    if (executor === 'jit') assert.ok(dispatch.tiers.regions > 0.9 * dispatch.instructions);
  });
}
