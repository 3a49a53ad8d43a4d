/**
 * Lanes that write to one place by several accesses of one instruction: which of them is the last is the same
 * on every executor.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig } from './emulator-rig.test-support.ts';

/** Stores what LDS holds in its first 1 KiB. */
const READ_BACK = `
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v1, 4, v0
  ds_read_b128 v[4:7], v1
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v1, v[4:7], s[0:1]
  s_endpgm`;
/** v[4:5] and v[6:7] tell lanes and accesses apart. */
const DATA = `
  v_mov_b32 v4, v0
  v_add_u32 v5, 0x100, v0
  v_add_u32 v6, 0x200, v0
  v_add_u32 v7, 0x300, v0`;
const write2 = (bytesApart: number, first: number, second: number): string => `${DATA}
  v_mul_u32_u24 v1, ${bytesApart}, v0
  ds_write2_b64 v1, v[4:5], v[6:7] offset0:${first} offset1:${second}${READ_BACK}`;
const exchange2 = (bytesApart: number): string => `${DATA}
  v_mul_u32_u24 v1, ${bytesApart}, v0
  ds_wrxchg2_rtn_b64 v[8:11], v1, v[4:5], v[6:7] offset0:2 offset1:0
  v_lshlrev_b32 v2, 5, v0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v2, v[8:11], s[0:1] offset:2048${READ_BACK}`;

const PROGRAMS = {
  'the first access ahead': write2(8, 2, 0),
  'the second access ahead': write2(8, 0, 2),
  'dwords that overlap': write2(4, 1, 0),
  'all at one place': write2(0, 0, 0),
  'backwards, far apart': write2(8, 0, 5),
  exchanges: exchange2(8),
};
const EXECUTORS = {
  T0: { executor: 'handlers' },
  T1: { executor: 'jit', compileThreshold: 0, vertical: 'never' },
  T2: { executor: 'jit', compileThreshold: 0, vertical: 'always' },
} as const;

const outputOf = (program: string, options: ConstructorParameters<typeof EmulatorRig>[0]): number[] => {
  using rig = new EmulatorRig(options);
  const dispatch = rig.run(program, { ldsSizeBytes: 2048 });
  assert.equal(dispatch.state, 'complete');
  return Array.from({ length: 1024 }, (_, i) => rig.dword(i));
};

for (const [name, program] of Object.entries(PROGRAMS)) {
  test(`several writes of lanes: ${name}`, () => {
    const expected = outputOf(program, { executor: 'reference' });
    assert.ok(expected.some((value) => value !== 0));
    for (const [executor, options] of Object.entries(EXECUTORS))
      assert.deepEqual(outputOf(program, options), expected, executor);
  });
}
