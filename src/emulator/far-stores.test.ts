/**
 * A loop whose lanes store some 2 GiB in front, and then behind that, where others stored: chunk by chunk,
 * what the last iteration stores must stay.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmulatorRig, type RigOptions } from './emulator-rig.test-support.ts';

const BUFFER_BYTES = 3 * 2 ** 30;
/** From the buffer's end back to where the first lane begins. */
const BACK_BYTES = 2 ** 20;

/** The third iteration stores 64 bytes behind what the first one stored. */
const programOf = (step: number): string => `
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v1, 2, v0
    v_add_u32 v8, s2, v1
    v_mov_b32 v9, s1
    v_mov_b32 v5, v0
    s_mov_b32 s20, 3
    s_mov_b32 s22, ${step}
    s_mov_b32 s23, ${step < 0 ? -1 : 0}
  1:
    v_mul_lo_u32 v5, 37, v5
    v_add_u32 v5, 11, v5
    global_store_dword v[8:9], v5, off
    v_mov_b32 v12, s23
    v_add_co_u32 v8, vcc, s22, v8
    v_addc_co_u32 v9, vcc, v9, v12, vcc
    s_sub_u32 s22, 64, s22
    s_subb_u32 s23, 0, s23
    s_sub_u32 s20, s20, 1
    s_cmp_lg_u32 s20, 0
    s_cbranch_scc1 1b
    s_endpgm`;

function outcomeOf(step: number, options: RigOptions) {
  using rig = new EmulatorRig({ memorySizeBytes: 2 ** 32, bufferSizeBytes: BUFFER_BYTES, ...options });
  const { memory } = rig.emulator;
  const at = rig.buffer + BUFFER_BYTES - BACK_BYTES;
  const dispatch = rig.run(programOf(step), {
    userSgprs: Uint32Array.of(rig.buffer, memory.windowHi, at, 0),
    workgroupIdSgprs: [4, undefined, undefined],
  });
  const stored = Array.from({ length: 128 }, (_, i) => memory.view.getUint32(at + i * 4, true));
  return { stored, fault: dispatch.fault?.message };
}

for (const step of [-(2 ** 31) + 200, -(2 ** 31), -256])
  test(`a store ${-step} bytes back`, () => {
    const expected = outcomeOf(step, { executor: 'reference' });
    assert.equal(expected.fault, undefined);
    const options = { executor: 'jit', compileThreshold: 0, vertical: 'always' } as const;
    assert.deepEqual(outcomeOf(step, options), expected);
  });
