import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effects } from '../../../ir/effects.ts';
import { targetFor } from '../encoding/targets.ts';
import { assembleInstruction } from '../text/assembler/assemble.ts';
import { effectsOf } from './effects.ts';

function effects(text: string, processor = 'gfx90a'): Effects {
  const target = targetFor(processor);
  const { instruction } = assembleInstruction(text, { target, waveSize: target.waveSizes[0]! });
  return effectsOf(instruction);
}

const LETTERS = { scalar: 's', vector: 'v', accumulator: 'a' };
const registers = (ranges: Effects['reads'] | Effects['writes']): string =>
  ranges
    .map((range) => {
      const flags = `${'isCrossLane' in range && range.isCrossLane ? '*' : ''}${'isPartial' in range && range.isPartial ? '?' : ''}`;
      return `${LETTERS[range.file]}${range.first}+${range.dwords}${flags}`;
    })
    .join(' ');

test('EXEC, VCC and M0 are registers and state', () => {
  const written = effects('s_mov_b64 vcc, exec');
  assert.equal(registers(written.writes), 's106+2');
  assert.deepEqual([...written.writesState], ['vcc']);
  assert.deepEqual([...written.readsState], ['exec']);
  const compared = effects('v_cmpx_lt_u32 v1, v2', 'gfx1100');
  assert.equal(registers(compared.writes), 's126+1');
  assert.deepEqual([...compared.writesState], ['exec']);
});

test('parts of registers, other lanes, and all lanes', () => {
  assert.equal(registers(effects('v_add_u32_dpp v0, v1, v2 row_shr:1').reads), 'v1+1* v2+1 s126+2');
  assert.equal(registers(effects('v_add_u32_dpp v0, v1, v2 row_shr:1').writes), 'v0+1?');
  assert.equal(registers(effects('global_load_short_d16_hi v0, v[2:3], off').writes), 'v0+1?');
  assert.deepEqual(effects('v_writelane_b32 v0, s1, 3').writes, [
    { file: 'vector', first: 0, dwords: 1, lanes: 'all', isPartial: true },
  ]);
  assert.equal(effects('v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]').writes[0]!.lanes, 'all');
});

test('registers that M0 chooses', () => {
  const moved = effects('s_movrels_b32 s0, s1');
  assert.deepEqual([...moved.readsAnyOf], ['scalar']);
  assert.deepEqual([...moved.readsState], ['m0']);
});

test('counters raised and waited for, by generation', () => {
  const raised = (text: string, processor: string): string => [...effects(text, processor).counters].join();
  assert.equal(raised('global_store_dword v[0:1], v2, off', 'gfx90a'), 'vmcnt');
  assert.equal(raised('global_store_dword v[0:1], v2, off', 'gfx1030'), 'vscnt');
  assert.equal(raised('global_store_b32 v[0:1], v2, off', 'gfx1200'), 'storecnt');
  assert.equal(raised('flat_load_dword v0, v[2:3]', 'gfx90a'), 'vmcnt,lgkmcnt');
  assert.equal(raised('flat_load_b32 v0, v[2:3]', 'gfx1200'), 'loadcnt,dscnt');
  assert.equal(raised('s_load_b32 s0, s[2:3], 0x0', 'gfx1200'), 'kmcnt');
  const waits = (text: string, processor: string): string =>
    [...effects(text, processor).waits].map(([name, left]) => `${name} ${left}`).join();
  assert.equal(waits('s_waitcnt vmcnt(17) lgkmcnt(2)', 'gfx90a'), 'vmcnt 17,lgkmcnt 2');
  assert.equal(waits('s_waitcnt vmcnt(17) lgkmcnt(2)', 'gfx1100'), 'vmcnt 17,lgkmcnt 2');
  assert.equal(waits('s_waitcnt_vscnt null, 0x1', 'gfx1100'), 'vscnt 1');
  assert.equal(waits('s_wait_loadcnt_dscnt 0x305', 'gfx1200'), 'loadcnt 3,dscnt 5');
});

test('no counter counts invalidations surely; gfx12 counts them, and all write-backs are counted', () => {
  const raised = (text: string, processor: string): string => [...effects(text, processor).counters].join();
  for (const [processor, ...names] of [
    ['gfx908', 'buffer_wbinvl1', 'buffer_wbinvl1_vol'],
    ['gfx90a', 'buffer_wbinvl1_vol', 'buffer_invl2'],
    ['gfx942', 'buffer_inv sc1'],
    ['gfx1030', 'buffer_gl0_inv', 'buffer_gl1_inv'],
    ['gfx1100', 'buffer_gl0_inv', 'buffer_gl1_inv'],
  ] as const)
    for (const name of names) assert.equal(raised(name, processor), '', `${processor} ${name}`);
  assert.equal(raised('buffer_wbl2', 'gfx90a'), 'vmcnt');
  assert.equal(raised('buffer_wbl2 sc1', 'gfx942'), 'vmcnt');
  assert.equal(raised('global_inv scope:SCOPE_DEV', 'gfx1200'), 'loadcnt');
  assert.equal(raised('global_wb scope:SCOPE_DEV', 'gfx1200'), 'storecnt');
});

test('hazards of gfx9', () => {
  const hazards = (text: string): string =>
    effects(text)
      .hazards.map(({ hazard, role }) => `${role} ${hazard}`)
      .join();
  assert.equal(
    hazards('v_cmp_lt_u32 vcc, v0, v1'),
    'before valu-sgpr-vmem,before valu-sgpr-lane-select,before valu-vcc-div-fmas,before valu-vccz,' +
      'after dot-result,after matrix-result-read',
  );
  assert.equal(
    hazards('global_load_dword v0, v1, s[2:3]'),
    'after valu-sgpr-vmem,after dot-result,after matrix-result-read,' +
      'after matrix-result-overwritten,after valu-vgpr-double-vmem',
  );
  assert.match(hazards('v_readlane_b32 s0, v1, s2'), /after valu-sgpr-lane-select/);
  assert.match(hazards('v_div_fmas_f32 v0, v1, v2, v3'), /after valu-vcc-div-fmas/);
  assert.match(hazards('v_add_u32_dpp v0, v1, v2 row_shr:1'), /after valu-vgpr-dpp,after valu-exec-dpp/);
});
