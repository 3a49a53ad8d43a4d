import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AmdgpuLaunch } from '../../devices/emulated/amdgpu/initial-registers.ts';
import { EmulatorRig, type RigOptions } from '../emulator-rig.test-support.ts';
import type { MissedWait } from './wait-check.ts';

/** What is reported: who is too early, in what, what is in flight, and the waits that are missing. */
function missing(code: string, options: RigOptions = {}, launch: Partial<AmdgpuLaunch> = {}): string[] {
  const found: MissedWait[] = [];
  using rig = new EmulatorRig({ checkWaits: {}, onMissedWait: (each) => found.push(each), ...options });
  const dispatch = rig.run(code, launch);
  assert.equal(dispatch.fault?.message, undefined);
  return found.map(({ kind, register, step, earlier, waits }) => {
    const what = register ? `${kind} ${register.file[0]}${register.number}` : kind;
    const counts = [...waits].map(([counter, atMost]) => `${counter}(${atMost})`).join(' ');
    return `${step.text()} | ${what} | ${earlier.text()} | ${counts}`;
  });
}

/** A case: code, and the reports of it. */
const CASES: Readonly<Record<string, readonly [code: string, ...reports: string[]]>> = {
  'loads that are waited for, by counts and all of them': [
    `v_lshlrev_b32 v0, 2, v0
     global_load_dword v1, v0, s[0:1]
     global_load_dword v2, v0, s[0:1] offset:4
     s_load_dwordx2 s[4:5], s[0:1], 0
     s_waitcnt vmcnt(1)
     v_add_u32 v1, v1, v1
     s_waitcnt vmcnt(0) lgkmcnt(0)
     v_add_u32 v1, v1, v2
     v_add_u32 v1, s4, v1
     global_store_dword v0, v1, s[0:1]`,
  ],
  'a count that is one too high': [
    `global_load_dword v1, v0, s[0:1]
     global_load_dword v2, v0, s[0:1] offset:4
     s_waitcnt vmcnt(2)
     v_mov_b32 v3, v1
     s_waitcnt vmcnt(1)
     v_mov_b32 v3, v2`,
    'v_mov_b32_e32 v3, v1 | read v1 | global_load_dword v1, v0, s[0:1] | vmcnt(1)',
    'v_mov_b32_e32 v3, v2 | read v2 | global_load_dword v2, v0, s[0:1] offset:4 | vmcnt(0)',
  ],
  'stores count in vmcnt, too': [
    `global_load_dword v1, v0, s[0:1]
     global_store_dword v0, v0, s[0:1]
     s_waitcnt vmcnt(1)
     v_mov_b32 v3, v1`,
  ],
  'an address, and data that is stored': [
    `global_load_dword v1, v0, s[0:1]
     global_load_dword v2, v1, s[0:1]
     global_store_dword v0, v2, s[0:1]`,
    'global_load_dword v2, v1, s[0:1] | read v1 | global_load_dword v1, v0, s[0:1] | vmcnt(0)',
    'global_store_dword v0, v2, s[0:1] | read v2 | global_load_dword v2, v1, s[0:1] | vmcnt(0)',
  ],
  'the destination is overwritten: a later load of the same counter comes later, anything else does not': [
    `global_load_dword v1, v0, s[0:1]
     global_load_dword v1, v0, s[0:1]
     global_load_dword v2, v0, s[0:1]
     ds_read_b32 v1, v0
     v_mov_b32 v2, 0`,
    'ds_read_b32 v1, v0 | write v1 | global_load_dword v1, v0, s[0:1] | vmcnt(2)',
    'ds_read_b32 v1, v0 | write v1 | global_load_dword v1, v0, s[0:1] | vmcnt(1)',
    'v_mov_b32_e32 v2, 0 | write v2 | global_load_dword v2, v0, s[0:1] | vmcnt(0)',
  ],
  'scalar loads come in any order': [
    `s_load_dword s4, s[0:1], 0
     s_load_dword s5, s[0:1], 4
     s_waitcnt lgkmcnt(1)
     s_mov_b32 s6, s4
     s_load_dword s5, s[0:1], 8`,
    's_mov_b32 s6, s4 | read s4 | s_load_dword s4, s[0:1], 0x0 | lgkmcnt(0)',
    's_load_dword s5, s[0:1], 0x8 | write s5 | s_load_dword s5, s[0:1], 0x4 | lgkmcnt(0)',
  ],
  'LDS keeps its order beside scalar loads': [
    `ds_read_b32 v1, v0
     s_load_dword s4, s[0:1], 0
     ds_read_b32 v2, v0
     s_waitcnt lgkmcnt(1)
     v_mov_b32 v3, v1
     v_mov_b32 v3, v2`,
    'v_mov_b32_e32 v3, v2 | read v2 | ds_read_b32 v2, v0 | lgkmcnt(0)',
  ],
  'of LDS and a scalar load, which may be over first, one is left': [
    `ds_read_b32 v1, v0
     s_load_dword s4, s[0:1], 0
     s_waitcnt lgkmcnt(1)
     v_mov_b32 v3, v1`,
    'v_mov_b32_e32 v3, v1 | read v1 | ds_read_b32 v1, v0 | lgkmcnt(0)',
  ],
  'the way back of a loop': [
    `v_mov_b32 v1, 0
     s_mov_b32 s6, 2
   loop:
     v_mov_b32 v3, v1
     global_load_dword v1, v0, s[0:1]
     s_sub_u32 s6, s6, 1
     s_cmp_lg_u32 s6, 0
     s_cbranch_scc1 loop`,
    'v_mov_b32_e32 v3, v1 | read v1 | global_load_dword v1, v0, s[0:1] | vmcnt(0)',
  ],
  'a call, in the callee and behind its return': [
    `global_load_dword v1, v0, s[0:1]
     s_call_b64 s[8:9], callee
     v_mov_b32 v3, v2
     s_endpgm
   callee:
     v_mov_b32 v3, v1
     global_load_dword v2, v0, s[0:1]
     s_setpc_b64 s[8:9]`,
    'v_mov_b32_e32 v3, v1 | read v1 | global_load_dword v1, v0, s[0:1] | vmcnt(0)',
    'v_mov_b32_e32 v3, v2 | read v2 | global_load_dword v2, v0, s[0:1] | vmcnt(0)',
  ],
  'halves of a register': [
    `global_load_short_d16 v1, v0, s[0:1]
     global_load_short_d16_hi v1, v0, s[0:1] offset:2
     s_waitcnt vmcnt(0)
     v_mov_b32 v2, v1
     global_load_short_d16 v1, v0, s[0:1]
     ds_read_u16_d16_hi v1, v0`,
    'ds_read_u16_d16_hi v1, v0 | write v1 | global_load_short_d16 v1, v0, s[0:1] | vmcnt(0)',
  ],
  'a flat access is what it leads to': [
    `v_mov_b32 v2, s0
     v_mov_b32 v3, s1
     flat_load_dword v4, v[2:3]
     s_waitcnt lgkmcnt(0)
     v_mov_b32 v5, v4
     flat_load_dword v4, v[2:3]
     s_waitcnt vmcnt(0)
     v_mov_b32 v5, v4`,
    'v_mov_b32_e32 v5, v4 | read v4 | flat_load_dword v4, v[2:3] | vmcnt(0)',
  ],
  'other lanes are not waited for': [
    `s_mov_b64 exec, 0xff
     global_load_dword v1, v0, s[0:1]
     s_not_b64 exec, exec
     v_mov_b32 v1, 3
     v_readlane_b32 s4, v1, 1`,
    'v_readlane_b32 s4, v1, 1 | read v1 | global_load_dword v1, v0, s[0:1] | vmcnt(0)',
  ],
  'atomics that return something': [
    `v_mov_b32 v1, 1
     global_atomic_add v2, v0, v1, s[0:1] glc
     v_mov_b32 v3, v2
     global_atomic_add v0, v1, s[0:1]
     v_mov_b32 v0, v1`,
    'v_mov_b32_e32 v3, v2 | read v2 | global_atomic_add v2, v0, v1, s[0:1] glc | vmcnt(0)',
  ],
  'registers that M0 chooses': [
    `global_load_dword v3, v0, s[0:1]
     s_mov_b32 s4, 2
     s_set_gpr_idx_on s4, gpr_idx(SRC0)
     v_mov_b32 v5, v1
     s_set_gpr_idx_off`,
    'v_mov_b32_e32 v5, v1 | read v3 | global_load_dword v3, v0, s[0:1] | vmcnt(0)',
  ],
};

for (const [name, [code, ...reports]] of Object.entries(CASES)) {
  test(name, () => {
    assert.deepEqual(missing(`v_and_b32 v0, 0xfc, v0\n${code}\n s_endpgm`, {}, { ldsSizeBytes: 1024 }), reports);
  });
}

test('each kind of counter of gfx11 and gfx12', () => {
  const launch = { waveSize: 32, ldsSizeBytes: 1024 } as const;
  const gfx11 = `v_and_b32 v0, 0xfc, v0
     global_load_b32 v1, v0, s[0:1]
     global_store_b32 v0, v0, s[0:1]
     s_waitcnt vmcnt(1)
     v_mov_b32 v3, v1
     s_endpgm`;
  assert.deepEqual(missing(gfx11, { processor: 'gfx1100' }, launch), [
    'v_mov_b32_e32 v3, v1 | read v1 | global_load_b32 v1, v0, s[0:1] | vmcnt(0)',
  ]);
  const gfx12 = (...waits: readonly string[]): string => `v_and_b32 v0, 0xfc, v0
     global_load_b32 v1, v0, s[0:1]
     ds_load_b32 v2, v0
     s_load_b32 s4, s[0:1], 0x0
     ${waits.join('\n')}
     v_mov_b32 v3, v1
     v_mov_b32 v3, v2
     v_mov_b32 v3, s4
     s_endpgm`;
  const all = ['s_wait_loadcnt 0x0', 's_wait_dscnt 0x0', 's_wait_kmcnt 0x0'];
  const needed = ['v1 | global_load_b32 v1, v0, s[0:1] | loadcnt(0)', 'v2 | ds_load_b32 v2, v0 | dscnt(0)'];
  needed.push('s4 | s_load_b32 s4, s[0:1], 0x0 | kmcnt(0)');
  for (const [index, expected] of needed.entries()) {
    const found = missing(gfx12(...all.toSpliced(index, 1)), { processor: 'gfx1200' }, launch);
    assert.deepEqual(
      found.map((line) => line.replace(/.*read /, '')),
      [expected],
    );
  }
  assert.deepEqual(missing(gfx12(...all), { processor: 'gfx1200' }, launch), []);
});

const THROUGH_LDS = (wait: string): string => `
  v_lshlrev_b32 v1, 2, v0
  ds_write_b32 v1, v0
  ${wait}
  s_barrier
  v_xor_b32 v1, 0x100, v1
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v0, 2, v0
  global_store_dword v0, v2, s[0:1]
  s_endpgm`;

test('LDS that another wave stored to and did not wait for', () => {
  const launch = { gridSize: [256, 1, 1], workgroupSize: [256, 1, 1], ldsSizeBytes: 1024 } as const;
  assert.deepEqual(missing(THROUGH_LDS('s_waitcnt lgkmcnt(0)'), {}, launch), []);
  assert.deepEqual(missing(THROUGH_LDS(''), {}, launch), [
    'ds_read_b32 v2, v1 | lds | ds_write_b32 v1, v0 | lgkmcnt(0)',
  ]);
  // Atomics of several waves need no order among themselves.
  const add = 'v_mov_b32 v1, 0\n ds_add_u32 v1, v0\n s_endpgm';
  assert.deepEqual(missing(add, {}, launch), []);
});

test('gfx12 has a counter for each kind', () => {
  const code = (wait: string): string => `
    v_and_b32 v0, 0xfc, v0
    global_load_b32 v1, v0, s[0:1]
    ds_load_b32 v2, v0
    s_load_b32 s4, s[0:1], 0x0
    ${wait}
    v_add_nc_u32 v3, v1, v2
    s_mov_b32 s5, s4
    s_endpgm`;
  const options = { processor: 'gfx1200' };
  const launch = { waveSize: 32, ldsSizeBytes: 1024 } as const;
  assert.deepEqual(missing(code('s_wait_loadcnt_dscnt 0x0\n s_wait_kmcnt 0x0'), options, launch), []);
  assert.deepEqual(missing(code('s_wait_loadcnt 0x0'), options, launch), [
    'v_add_nc_u32_e32 v3, v1, v2 | read v2 | ds_load_b32 v2, v0 | dscnt(0)',
    's_mov_b32 s5, s4 | read s4 | s_load_b32 s4, s[0:1], 0x0 | kmcnt(0)',
  ]);
});

test('what has not landed is random, and lands with the wait or before', () => {
  const code = `
    v_lshlrev_b32 v0, 2, v0
    v_mov_b32 v3, 7
    global_store_dword v0, v3, s[0:1]
    global_load_dword v1, v0, s[0:1]
    v_mov_b32 v4, 0
    s_waitcnt vmcnt(0)
    global_store_dword v0, v1, s[0:1] offset:256
    s_endpgm`;
  for (const landing of ['last', 'random'] as const) {
    const seen = new Set<number>();
    for (let seed = 1; seed <= 20; seed++) {
      using rig = new EmulatorRig({
        checkWaits: { seed, landing },
        observer: {
          beforeStep: (wave, step) => void (/v4/.test(step.text()) && seen.add(wave.register('vector', 1)[0]!)),
        },
      });
      assert.equal(rig.run(code).state, 'complete');
      assert.deepEqual([rig.dword(0), rig.dword(64)], [7, 7]);
    }
    assert.ok(seen.size > 15, 'a value for nearly each seed');
  }
});

test('only the reference executor checks waits', () => {
  assert.throws(() => new EmulatorRig({ executor: 'jit', checkWaits: {} }), /checks no waits/);
});
