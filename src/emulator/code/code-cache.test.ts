import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig } from '../emulator-rig.test-support.ts';

const LONG = 20_000;

/** A loop around code that is skipped, as handling of errors is, or executed in each round. */
const kernel = (isSkipped: boolean): string => `
  s_mov_b32 s3, 3
  v_mov_b32 v1, 0
back:
  s_cmp_eq_u32 s3, ${isSkipped ? 's3' : '100'}
  s_cbranch_scc1 behind
  ${'v_add_u32 v1, 1, v1\n'.repeat(LONG)}
behind:
  s_sub_u32 s3, s3, 1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 back
  v_mov_b32 v2, 0
  global_store_dword v2, v1, s[0:1]
  s_endpgm`;

/** Bytes that the wave's code takes, with what it stores. */
function codeOf(isSkipped: boolean, executor: 'handlers' | 'jit'): { readonly bytes: number; readonly sum: number } {
  using rig = new EmulatorRig({ executor, compileThreshold: 2 });
  const before = rig.emulator.state.usedBytes;
  rig.run(kernel(isSkipped));
  // What is kept for the next launch is no code.
  rig.emulator.keptSlots.clear();
  return { bytes: rig.emulator.state.usedBytes - before, sum: rig.dword(0) };
}

for (const executor of ['handlers', 'jit'] as const) {
  test(`of long code that no wave gets to little is decoded: ${executor}`, () => {
    const [skipped, whole] = [codeOf(true, executor), codeOf(false, executor)];
    assert.equal(skipped.sum, 0);
    assert.equal(whole.sum, 3 * LONG);
    assert.ok(whole.bytes > LONG * 96, `${whole.bytes}`);
    assert.ok(skipped.bytes < whole.bytes / 8, `${skipped.bytes} of ${whole.bytes}`);
  });
}
