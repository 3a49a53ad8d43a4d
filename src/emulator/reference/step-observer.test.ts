import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig } from '../emulator-rig.test-support.ts';
import type { StepObserver } from './step-observer.ts';

const TWO_WAVES = {
  gridSize: [128, 1, 1],
  workgroupSize: [128, 1, 1],
  ldsSizeBytes: 1024,
  privateSizeBytes: 16,
} as const;

test('each access of each lane, with where it leads', () => {
  const accesses: string[] = [];
  using rig = new EmulatorRig({
    observer: {
      access({ index }, step, { access, space, address, sizeBytes, lane }) {
        const [name] = step.text().split(' ');
        const at = space === 'global' ? address - rig.emulator.memory.address(rig.buffer) : address;
        accesses.push(`${index} ${name} ${access} ${space} ${at} ${sizeBytes} ${lane}`);
      },
    },
  });
  const dispatch = rig.run(
    `v_lshlrev_b32 v1, 2, v0
     s_mov_b64 exec, 5
     s_load_dwordx2 s[4:5], s[0:1], 8
     global_store_byte v1, v0, s[0:1]
     ds_add_u32 v1, v0
     v_mov_b32 v2, s0
     v_mov_b32 v3, s1
     flat_load_dword v4, v[2:3]
     s_endpgm`,
    { ldsSizeBytes: 1024 },
  );
  assert.equal(dispatch.state, 'complete');
  assert.deepEqual(accesses, [
    '0 s_load_dwordx2 read global 8 8 -1',
    ...['0 global_store_byte write global 0 1 0', '0 global_store_byte write global 8 1 2'],
    ...['0 ds_add_u32 atomic lds 0 4 0', '0 ds_add_u32 atomic lds 8 4 2'],
    ...['0 flat_load_dword read global 0 4 0', '0 flat_load_dword read global 0 4 2'],
  ]);
});

test('registers and state can be read and written before a step', () => {
  using rig = new EmulatorRig({
    observer: {
      beforeStep(wave, step) {
        if (!/^s_nop/.test(step.text())) return;
        assert.deepEqual([wave.state('exec'), wave.state('scc'), wave.state('mode')], [0xffffn, 0n, 0x3f0n]);
        assert.equal(wave.register('scalar', 4)[0], 9);
        wave.register('vector', 1).fill(7, 0, 4);
        wave.setState('exec', 0xffn);
        wave.setState('scc', 1n);
      },
    },
  });
  rig.run(`v_lshlrev_b32 v0, 2, v0
    s_mov_b32 s4, 9
    s_cmp_eq_u32 s4, 0
    s_mov_b64 exec, 0xffff
    v_mov_b32 v1, 5
    s_nop 0
    s_cselect_b32 s5, 100, 10
    v_add_u32 v1, s5, v1
    global_store_dword v0, v1, s[0:1]
    s_endpgm`);
  assert.deepEqual(
    [0, 3, 4, 7, 8].map((i) => rig.dword(i)),
    [107, 107, 105, 105, 0],
  );
});

test('free steps do not change in which order waves run', () => {
  const orderOf = (code: string): string[] => {
    const order: string[] = [];
    const observer: StepObserver = {
      isFree: (step) => /^s_nop/.test(step.text()),
      beforeStep: ({ index }, step) =>
        void (/^s_nop/.test(step.text()) || order.push(`${index} ${step.text().split(' ')[0]}`)),
    };
    using rig = new EmulatorRig({ observer });
    assert.equal(rig.run(code, TWO_WAVES).state, 'complete');
    return order;
  };
  const loop = (inside: string): string => `
    s_movk_i32 s4, 600
  .Lloop:
    ${inside}
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 .Lloop
    s_endpgm`;
  const order = orderOf(loop(''));
  assert.ok(order.indexOf('1 s_movk_i32') < order.lastIndexOf('0 s_sub_u32'), 'the waves take turns');
  assert.deepEqual(orderOf(loop('s_nop 0\n s_nop 1\n s_nop 2')), order);
});
