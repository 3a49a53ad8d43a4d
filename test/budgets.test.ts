/**
 * What the host does for GPU code is bounded: it decodes and compiles in small steps that count, and forgets
 * what is too much.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineCode } from '../src/assembler/machine-code.test-support.ts';
import { nodeThreads } from '../src/devices/emulated/node-threads.ts';
import { EmulatorRig } from '../src/emulator/emulator-rig.test-support.ts';

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
    using rig = new EmulatorRig({ executor, vertical: 'always', compileThreshold: 0 });
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
const formattedStores = (iterations: number, stores: number): string => `
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
  ${`${FORMATTED}\n`.repeat(stores)}
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc0 .Lend
  s_branch .Lloop
.Lend:
  s_endpgm`;

for (const [executor, iterations, stores] of [
  ['reference', 2, 20],
  ['handlers', 40, 195],
  ['jit', 40, 195],
] as const) {
  test(`${executor}: a loop whose function would be too long for WebAssembly runs`, () => {
    using rig = new EmulatorRig({ executor, compileThreshold: 1 });
    const dispatch = rig.run(formattedStores(iterations, stores));
    assert.equal(dispatch.state, 'complete');
    const floats = new Float32Array(rig.emulator.memory.buffer, rig.buffer, 20);
    const expected = [0, 1, 2, 3].flatMap(() => [iterations * 0.5, 1, 2, 4]);
    assert.deepEqual([...floats], [...expected, 0, 0, 0, 0]);
    if (executor === 'jit') assert.ok(dispatch.tiers.regions > 0.9 * dispatch.instructions);
  });
}

/** Many instructions of different shapes: each needs a handler of its own. */
function manyShapes(count: number): string {
  const lines: string[] = [];
  for (const name of ['v_div_fixup_f32', 'v_fma_f32', 'v_med3_f32', 'v_min3_f32', 'v_max3_f32'])
    for (const clamp of ['', 'clamp'])
      for (const factor of ['', 'mul:2', 'mul:4', 'div:2'])
        for (let signs = 0; signs < 64; signs++) {
          const operands = ['v4', 'v5', 'v6'].map((text, i) => {
            const size = (signs >> i) & 1 ? `|${text}|` : text;
            return (signs >> (3 + i)) & 1 ? `-${size}` : size;
          });
          lines.push(`${name} v7, ${operands.join(', ')} ${clamp} ${factor}`);
        }
  return lines.slice(0, count).join('\n');
}

for (const executor of ['reference', 'handlers', 'jit'] as const) {
  test(`${executor}: code of many shapes is decoded and compiled in steps, between which the host has its turn`, () => {
    using rig = new EmulatorRig({ executor });
    const dispatch = rig.start(`${manyShapes(300)}\nv_mov_b32 v1, 1\nv_mov_b32 v0, 0
      global_store_dword v0, v1, s[0:1]\ns_endpgm`);
    let turns = 0;
    // Each call has one turn of the wave at least, and returns behind its deadline.
    for (; rig.emulator.advance(0) !== 'idle'; turns++);
    assert.equal(dispatch.state, 'complete');
    assert.ok(turns >= 3, `${turns} turns`);
    assert.equal(rig.dword(0), 1);
    // Without T1, records between blocks count, too.
    if (executor !== 'handlers') assert.equal(dispatch.instructions, 304);
  });

  test(`${executor}: a wave that changes MODE for ever does not keep the host from its turn`, () => {
    using rig = new EmulatorRig({ executor });
    const dispatch = rig.start(`.Lloop:
      s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s4\ns_add_u32 s4, s4, 1\n${manyShapes(20)}\ns_branch .Lloop`);
    for (let i = 0; i < 10; i++) {
      assert.equal(rig.emulator.advance(0), 'running');
      assert.ok(dispatch.instructions < 10_000, `${dispatch.instructions} instructions after ${i} turns`);
    }
    dispatch.cancel();
  });

  test(`${executor}: waves that wait for others of their workgroup do not use up all turns`, () => {
    using rig = new EmulatorRig({ executor });
    const dispatch = rig.start(
      `
      v_readfirstlane_b32 s4, v0\nv_mov_b32 v2, 0\nv_mov_b32 v3, 1\ns_cmp_eq_u32 s4, ${15 * 64}\ns_cbranch_scc1 .Lstore
    .Lwait:
      s_load_dword s5, s[0:1], 0 glc\ns_waitcnt lgkmcnt(0)\ns_cmp_eq_u32 s5, 0\ns_cbranch_scc1 .Lwait\ns_endpgm
    .Lstore:
      global_store_dword v2, v3, s[0:1]\ns_endpgm`,
      { gridSize: [1024, 1, 1], workgroupSize: [1024, 1, 1] },
    );
    for (let i = 0; i < 50 && rig.emulator.advance(5) !== 'idle'; i++);
    assert.equal(dispatch.state, 'complete');
    dispatch.cancel();
  });
}

/** Every wave adds 1 to a counter many times, with a call, a barrier and another MODE in between. */
const longWaves = (iterations: number): string => `
  v_mov_b32 v2, 0
  v_mov_b32 v3, 1
  s_movk_i32 s10, ${iterations}
.Lloop:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, .Lcalled-.Lloop-4
  s_addc_u32 s5, s5, 0
  s_swappc_b64 s[6:7], s[4:5]
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s10
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lloop
  s_endpgm
.Lcalled:
  s_barrier
  s_mov_b64 exec, 1
  global_atomic_add v2, v3, s[0:1]
  s_setpc_b64 s[6:7]`;

for (const [name, iterations, options] of [
  ['reference', 100, { executor: 'reference' }],
  ['handlers', 500, { executor: 'handlers' }],
  ['jit', 500, { compileThreshold: 3 }],
  ['jit with workers', 500, { compileThreshold: 3, workers: 3, threads: nodeThreads, workersAtOnce: true }],
] as const) {
  test(`${name}: code is forgotten and decoded again while waves run`, () => {
    using rig = new EmulatorRig(options);
    const dispatch = rig.start(longWaves(iterations), { gridSize: [8 * 128, 1, 1], workgroupSize: [128, 1, 1] });
    let turns = 0;
    for (; rig.emulator.advance(0) !== 'idle'; turns++) rig.emulator.withdrawCode(rig.entry);
    assert.equal(dispatch.state, 'complete', String(dispatch.fault?.message));
    assert.equal(rig.dword(0), 8 * 2 * iterations);
    assert.ok(turns > 5, `${turns} turns`);
  });
}

test('more code than may be decoded at a time runs, and its memory is given back', () => {
  using rig = new EmulatorRig();
  const count = 300_000;
  const end = machineCode('v_mov_b32 v0, 0\nv_mov_b32 v1, 1\nglobal_store_dword v0, v1, s[0:1]\ns_endpgm');
  const zeros = new Uint8Array(count * 4 + end.length);
  zeros.set(end, count * 4);
  const dispatch = rig.start(zeros);
  let mostBytes = 0;
  while (rig.emulator.advance(20) !== 'idle') mostBytes = Math.max(mostBytes, rig.emulator.state.usedBytes);
  assert.equal(dispatch.state, 'complete');
  assert.equal(dispatch.instructions, count + 4);
  assert.equal(rig.dword(0), 1);
  assert.ok(mostBytes < count * 96, `${mostBytes} bytes for records and what else there is`);
});

for (const executor of ['reference', 'handlers', 'jit'] as const) {
  test(`${executor}: a turn has the fewer instructions, the longer one of them takes`, () => {
    const instructionsOf = (body: string): number => {
      using rig = new EmulatorRig({ executor, compileThreshold: 1 });
      const dispatch = rig.start(body);
      // Each call gives the waves one turn: no time is left for another.
      for (let i = 0; i < 40; i++) rig.emulator.advance(0);
      const before = dispatch.instructions;
      rig.emulator.advance(0);
      return dispatch.instructions - before;
    };
    const loopWith = (other: string): string => `
      .L: v_add_u32 v0, 1, v0
      s_cbranch_scc0 .L
      ${other}
      s_endpgm`;
    const light = instructionsOf(loopWith('s_nop 0'));
    const heavy = instructionsOf(loopWith(FORMATTED));
    assert.ok(heavy > 0 && heavy < light / 8, `${heavy} and ${light} instructions`);
  });
}
