/**
 * Instructions of gfx1100 in small programs from the test suite of another emulator:
 * `shared/vectors/gfx11-instructions` beside the repository, or the file that WAVEWRIGHT_GFX11_VECTORS names.
 * A few of them are always there.
 *
 * A program starts with s[0:1] = address of the kernel arguments, the address of a buffer, and stores there
 * what it leaves in v0 to v15, s0 to s15, VCC_LO, SCC and EXEC_LO.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { InstructionVectorRunner, readInstructionVectors } from './instruction-vectors.ts';

const SHARED = path.resolve(import.meta.dirname, '../../shared');
const ALL = process.env['WAVEWRIGHT_GFX11_VECTORS'] ?? path.join(SHARED, 'vectors/gfx11-instructions/vectors.jsonl');
const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined && existsSync(SHARED);

/**
 * Programs whose expected registers are not what the "RDNA3 Instruction Set Architecture" says, with what
 * differs. Of v_div_scale_f32 (page "V_DIV_SCALE_F32 764") it says that VCC begins as 0 and is set in the
 * branches for large quotients and for denormal ones only; a zero (here a flushed denormal, too) and a tiny
 * numerator are in others. NAN.f has no sign there.
 */
const NO_SCALING = 'vcc_lo: 0x00000000, expected 0x00000001';
const NAN_SIGN = 'v2 lane 0: 0xffc00000, expected 0x7fc00000';
const CONTRADICTIONS: Readonly<Record<string, readonly string[]>> = {
  // "V_LOG_F32(0xbf800000) => 0xffc00000 // log(-1.0) = NAN"
  'test_vop1.py::TestLog::test_v_log_f32_negative': ['v1 lane 0: 0xffc00000, expected 0x7fc00000'],
  'test_vop3.py::TestDivScale::test_div_scale_f32_denorm_denom': [NAN_SIGN, NO_SCALING],
  'test_vop3.py::TestDivScale::test_div_scale_f32_zero_numer_gives_nan': [NAN_SIGN, NO_SCALING],
  'test_vop3.py::TestDivScale::test_div_scale_f32_tiny_numer_exp_le_23': [NO_SCALING],
  // Table of exceptions: the result of an invalid operation is "QNaN".
  'test_vop3.py::TestAddF32EdgeCases::test_v_add_f32_inf_minus_inf': ['v2 lane 0: 0x7fc00000, expected 0xffc00000'],
};

for (const executor of ['handlers', 'jit', 'reference'] as const) {
  const runner = new InstructionVectorRunner('gfx1100', executor);
  for (const vector of readInstructionVectors(path.join(import.meta.dirname, 'data/gfx11-instructions.jsonl'))) {
    test(`${vector.test}: ${executor}`, () => assert.deepEqual(runner.run(vector), []));
  }
  test(`all programs: ${executor}`, { skip: !existsSync(ALL) && !isRequired && `no vectors at ${ALL}` }, () => {
    const vectors = readInstructionVectors(ALL);
    assert.ok(vectors.length > 400, 'the file is not cut off');
    const found = vectors.map((vector) => [vector.test, runner.run(vector)]).filter(([, lines]) => lines!.length > 0);
    assert.deepEqual(Object.fromEntries(found), CONTRADICTIONS);
  });
}
