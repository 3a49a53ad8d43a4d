/** SDWA and DPP forms of vector instructions. CDNA2 ISA 13.3.7 to 13.3.9. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, type FieldValues } from '../encoding/encode.test-support.ts';
import { TestWave } from '../semantics/machine.test-support.ts';
import { expectAll, f16, f32, f64 } from './vector.test-support.ts';

const SDWA = 'VOP2_SDWA';
const [BYTE0, BYTE1, BYTE3, WORD0, WORD1, DWORD] = [0, 1, 3, 4, 5, 6];
const [PAD, SEXT, PRESERVE] = [0, 1, 2];

test('SDWA selects and extends the sources', () => {
  const tuple = [0x80ff_1234n, 0x0000_0010n];
  const sum = (fields: FieldValues, expected: bigint): void =>
    expectAll('v_add_u32', [tuple], () => expected, { format: SDWA, fields });
  sum({ src0_sel: BYTE0 }, 0x44n);
  sum({ src0_sel: BYTE3 }, 0x90n);
  sum({ src0_sel: BYTE3, src0_sext: 1 }, 0xffff_ff90n);
  sum({ src0_sel: WORD0 }, 0x1244n);
  sum({ src0_sel: WORD1 }, 0x810fn);
  sum({ src0_sel: WORD1, src0_sext: 1 }, 0xffff_810fn);
  sum({ src0_sel: DWORD, src1_sel: BYTE1 }, 0x80ff_1234n);
});

test('SDWA places the result', () => {
  const tuple = [0x0000_0080n, 0x0000_0300n];
  const before = 0xaabb_ccddn;
  const sum = (fields: FieldValues, expected: bigint): void =>
    expectAll('v_add_u32', [tuple], () => expected, { format: SDWA, fields, before });
  sum({ dst_sel: DWORD }, 0x380n);
  sum({ dst_sel: BYTE0, dst_unused: PAD }, 0x80n);
  sum({ dst_sel: BYTE1, dst_unused: PAD }, 0x8000n);
  sum({ dst_sel: BYTE1, dst_unused: SEXT }, 0xffff_8000n);
  sum({ dst_sel: BYTE1, dst_unused: PRESERVE }, 0xaabb_80ddn);
  sum({ dst_sel: WORD1, dst_unused: PRESERVE }, 0x0380_ccddn);
  sum({ dst_sel: WORD0, dst_unused: SEXT }, 0x380n);
});

test('SDWA with floats: halves, absolute value, negation', () => {
  const tuple = [f16(1.5) << 16n, f16(-2)];
  const fields = { src0_sel: WORD1, src1_sel: WORD0, src0_neg: 1, src1_abs: 1 };
  expectAll('v_mul_f16', [tuple], () => f16(-3), { format: SDWA, fields });
  expectAll('v_mul_f16', [tuple], () => (f16(-3) << 16n) | 0x1234n, {
    format: SDWA,
    fields: { ...fields, dst_sel: WORD1, dst_unused: PRESERVE },
    before: 0x5678_1234n,
  });
  expectAll('v_cvt_f32_f16', [[f16(2.5) << 16n]], () => f32(2.5), { format: 'VOP1_SDWA', fields: { src0_sel: WORD1 } });
  // A 16-bit result in a whole register has zeros above.
  expectAll('v_sub_u16', [[1n, 2n]], () => 0xffffn, { format: SDWA });
});

test('SDWA comparisons write VCC or another mask', () => {
  const wave = new TestWave();
  wave.vgprs[4]!.forEach((_, lane, lanes) => {
    lanes[lane] = lane << 24;
  });
  wave.sgprs[6] = 5;
  const fields = { src0: 4, src0_sel: BYTE3, src1: 6, src1_sgpr: 1, src1_sel: DWORD };
  wave.run(encode('v_cmp_lt_u32', fields, 'VOPC_SDWA'));
  assert.equal(wave.vcc, 0x1fn);
  wave.run(encode('v_cmp_gt_u32', { ...fields, sdst_en: 1, sdst: 12 }, 'VOPC_SDWA'));
  assert.equal(wave.pair(12), 0xffff_ffff_ffff_ffc0n);
});

/** Lane numbers plus 100 in v4, -1 in v2; after the instruction v2. */
function moved(fields: FieldValues, exec = -1n): number[] {
  const wave = new TestWave();
  wave.vgprs[4]!.forEach((_, lane, lanes) => {
    lanes[lane] = lane + 100;
  });
  wave.vgprs[2]!.fill(-1);
  wave.exec = exec;
  wave.run(encode('v_mov_b32', { vdst: 2, src0: 4, bank_mask: 15, row_mask: 15, ...fields }, 'VOP1_DPP'));
  return [...wave.vgprs[2]!];
}
const lanes = (model: (lane: number) => number): number[] => Array.from({ length: 64 }, (_, lane) => model(lane));

test('DPP moves between lanes', () => {
  assert.deepEqual(
    moved({ dpp_ctrl: 0b00_01_10_11 }),
    lanes((lane) => 100 + (lane & ~3) + 3 - (lane & 3)),
  );
  assert.deepEqual(
    moved({ dpp_ctrl: 0x101 }),
    lanes((lane) => ((lane & 15) === 15 ? -1 : 101 + lane)),
  );
  assert.deepEqual(
    moved({ dpp_ctrl: 0x113, bound_ctrl: 1 }),
    lanes((lane) => ((lane & 15) < 3 ? 0 : 97 + lane)),
  );
  assert.deepEqual(
    moved({ dpp_ctrl: 0x121 }),
    lanes((lane) => 100 + (lane & ~15) + ((lane + 15) & 15)),
  );
  assert.deepEqual(
    moved({ dpp_ctrl: 0x140 }),
    lanes((lane) => 100 + (lane & ~15) + 15 - (lane & 15)),
  );
  assert.deepEqual(
    moved({ dpp_ctrl: 0x142 }),
    lanes((lane) => (lane < 16 ? -1 : 99 + (lane & ~15))),
  );
  assert.deepEqual(
    moved({ dpp_ctrl: 0x155 }),
    lanes((lane) => 105 + (lane & ~15)),
  );
});

test('DPP masks rows and banks, and does not read lanes that are off', () => {
  const quad = { dpp_ctrl: 0 };
  assert.deepEqual(
    moved({ ...quad, row_mask: 0b0101 }),
    lanes((lane) => ((lane >> 4) & 1 ? -1 : 100 + (lane & ~3))),
  );
  assert.deepEqual(
    moved({ ...quad, bank_mask: 0b0010 }),
    lanes((lane) => (((lane >> 2) & 3) === 1 ? 100 + (lane & ~3) : -1)),
  );
  // Lanes 0, 4, 8, ... are off: they are not read and, being off, not written.
  const exec = 0xeeee_eeee_eeee_eeeen;
  assert.deepEqual(
    moved(quad, exec),
    lanes(() => -1),
  );
  assert.deepEqual(
    moved({ ...quad, bound_ctrl: 1 }, exec),
    lanes((lane) => (lane & 3 ? 0 : -1)),
  );
});

test('DPP of a 64-bit source moves both dwords', () => {
  const wave = new TestWave();
  for (let lane = 0; lane < 64; lane++) {
    const bits = f64(lane + 0.5);
    wave.vgprs[4]![lane] = Number(BigInt.asIntN(32, bits));
    wave.vgprs[5]![lane] = Number(BigInt.asIntN(32, bits >> 32n));
  }
  wave.run(encode('v_ceil_f64', { vdst: 2, src0: 4, dpp_ctrl: 0x153, bank_mask: 15, row_mask: 15 }, 'VOP1_DPP'));
  assert.deepEqual([wave.vgprs[2]![20], wave.vgprs[3]![20]], [0, Number(f64(20) >> 32n)]);
});

test('DPP with source modifiers', () => {
  const fields = {
    src0: 4,
    src1: 8,
    vdst: 16,
    dpp_ctrl: 0b11_10_01_00,
    bank_mask: 15,
    row_mask: 15,
    src0_neg: 1,
    src1_abs: 1,
  };
  expectAll('v_add_f32', [[f32(2), f32(-5)]], () => f32(3), { format: 'VOP2_DPP', fields });
});

test('modifiers without meaning stop the instruction', () => {
  const fields = { vdst: 2, src0: 4, src1: 6, dpp_ctrl: 0b11_10_01_00, bank_mask: 15, row_mask: 15, src0_neg: 1 };
  assert.throws(() => new TestWave().run(encode('v_dot2c_f32_f16', fields, 'VOP2_DPP')), { code: 'UNSUPPORTED' });
  const clamped = encode('v_and_b32', { vdst: 2, src0: 256 + 4, src1: 256 + 6, clamp: 1 }, 'VOP3');
  assert.throws(() => new TestWave().run(clamped), /unknown/);
});
