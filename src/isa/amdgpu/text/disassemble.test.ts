import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decoderFor } from '../decoder.ts';
import { formatInstruction } from './disassemble.ts';

function text(words: readonly number[], processor = 'gfx90a'): string {
  const code = new DataView(new ArrayBuffer(words.length * 4));
  words.forEach((word, i) => {
    code.setUint32(i * 4, word, true);
  });
  const instruction = decoderFor(processor, 64).decode(code, 0);
  return typeof instruction === 'string' ? `<${instruction}>` : formatInstruction(instruction);
}

/** Encoding and text, as LLVM 19 prints them; the oracle test compares many more. */
const EXAMPLES: Readonly<Record<string, readonly (readonly [words: string, text: string])[]>> = {
  'scalar operands and constants': [
    ['8000c106', 's_add_u32 s0, s6, -1'],
    ['be8400ff deadbeef', 's_mov_b32 s4, 0xdeadbeef'],
    ['be8401f2', 's_mov_b64 s[4:5], 1.0'],
    ['be8601f8', 's_mov_b64 s[6:7], 0.15915494309189532'],
    ['be8601eb', 's_mov_b64 s[6:7], src_shared_base'],
    ['beea206a', 's_and_saveexec_b64 vcc, vcc'],
    ['be8000ff 00000005', 's_mov_b32 s0, 5'],
    ['bf067f80', 's_cmp_eq_u32 0, exec_hi'],
  ],
  immediates: [
    ['bf8c0070', 's_waitcnt vmcnt(0) lgkmcnt(0)'],
    ['bf8cc07f', 's_waitcnt lgkmcnt(0)'],
    ['bf8cffff', 's_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)'],
    ['bf85fffd', 's_cbranch_scc1 65533'],
    ['bf810000', 's_endpgm'],
    ['bf800041', 's_nop 0x41'],
    ['bf800040', 's_nop 64'],
    ['bf900001', 's_sendmsg sendmsg(MSG_INTERRUPT)'],
    ['bf900122', 's_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)'],
    ['b001fff0', 's_movk_i32 s1, 0xfff0'],
    ['b0010005', 's_movk_i32 s1, 0x5'],
    ['b880f801', 's_getreg_b32 s0, hwreg(HW_REG_MODE)'],
    ['ba000901 00000003', 's_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3'],
    ['bf110905', 's_set_gpr_idx_on s5, gpr_idx(SRC0,DST)'],
  ],
  'scalar memory': [
    ['c0060102 00000008', 's_load_dwordx2 s[4:5], s[4:5], 0x8'],
    ['c0024102 0000000c', 's_load_dword s4, s[4:5], s0 offset:0xc'],
    ['c0030102 001ffffc', 's_load_dword s4, s[4:5], -0x4 glc'],
    ['c0900140 00000000', 's_memtime s[4:5]'],
  ],
  'vector operands and modifiers': [
    ['02040702', 'v_add_f32_e32 v2, v2, v3'],
    ['7e0c02ff 3e22f983', 'v_mov_b32_e32 v6, 0.15915494'],
    ['7e0c0501', 'v_readfirstlane_b32 s6, v1'],
    ['2e040702 00000040', 'v_madmk_f32 v2, v2, 0x40, v3'],
    ['d1018102 28020702', 'v_add_f32_e64 v2, -|v2|, v3 clamp mul:2'],
    ['d1010202 00020702', 'v_add_f32_e64 v2, v2, |v3|'],
    ['d1010002 200206c1', 'v_add_f32_e64 v2, neg(-1), v3'],
    ['d1196a02 00020702', 'v_add_co_u32_e64 v2, vcc, v2, v3'],
    ['32040702', 'v_add_co_u32_e32 v2, vcc, v2, v3'],
    ['d0ca0006 00020702', 'v_cmp_eq_u32_e64 s[6:7], v2, v3'],
    ['7d860702', 'v_cmp_le_i32_e32 vcc, v2, v3'],
    ['d2064002 040e0702', 'v_fma_f16 v2, v2, v3, v3 op_sel:[0,0,0,1]'],
    ['d3b04008 1c120904', 'v_pk_fma_f32 v[8:9], v[4:5], v[4:5], v[4:5]'],
    ['d38f0002 00020702', 'v_pk_add_f16 v2, v2, v3 op_sel_hi:[0,0]'],
    ['d3d9400c 18000103', 'v_accvgpr_write_b32 a12, v3'],
  ],
  'sub-dword and lane forms': [
    [
      '020406f9 06058601',
      'v_add_f32_sdwa v2, v1, v3 mul:4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD',
    ],
    ['7e0402f9 000c1501', 'v_mov_b32_sdwa v2, sext(v1) dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0'],
    ['7e0402fa ff0800e4', 'v_mov_b32_dpp v2, v228 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf bound_ctrl:1'],
    ['7e0402fa af01111e', 'v_mov_b32_dpp v2, v30 row_shr:1 row_mask:0xa bank_mask:0xf'],
    ['7e0402fa ff01421e', 'v_mov_b32_dpp v2, v30 row_bcast:15 row_mask:0xf bank_mask:0xf'],
  ],
  memory: [
    ['d86c0010 04000001', 'ds_read_b32 v4, v1 offset:16'],
    ['d8ee0201 04000001', 'ds_read2_b64 v[4:7], v1 offset0:1 offset1:2'],
    ['d8ee0200 04000001', 'ds_read2_b64 v[4:7], v1 offset1:2'],
    ['d87a8000 04000001', 'ds_swizzle_b32 v4, v1 offset:swizzle(QUAD_PERM,0,0,0,0)'],
    ['d87a80e1 04000001', 'ds_swizzle_b32 v4, v1 offset:swizzle(QUAD_PERM,1,0,2,3)'],
    ['d93b0000 00000002', 'ds_gws_barrier v2 gds'],
    ['dc500004 08000002', 'flat_load_dword v8, v[2:3] offset:4'],
    ['dc518ffc 087f0002', 'global_load_dword v8, v[2:3], off offset:4092 glc'],
    ['dd0b9fff 08060402', 'global_atomic_add v8, v2, v4, s[6:7] offset:-1 glc slc'],
    ['dd080000 00000402', 'flat_atomic_add v[2:3], v4'],
    ['dc704004 00060400', 'scratch_store_dword off, v4, s6 offset:4'],
    ['e0700008 20000400', 'buffer_store_dword v4, off, s[0:3], s32 offset:8'],
    ['e050307c 80810402', 'buffer_load_dword a4, v[2:3], s[4:7], 0 idxen offen offset:124'],
    ['e0510004 80010002', 'buffer_load_dword off, s[4:7], 0 offset:4 lds'],
    ['e0f54004 80010000', 'buffer_store_lds_dword s[4:7], 0 offset:4 lds glc'],
    ['e0514004 80010002', 'buffer_load_dword off, s[4:7], 0 offset:4 glc lds'],
    ['e0fc0000 00000000', 'buffer_wbinvl1_vol'],
  ],
};

for (const [name, examples] of Object.entries(EXAMPLES)) {
  test(name, () => {
    for (const [words, expected] of examples) {
      assert.equal(text(words.split(' ').map((word) => Number.parseInt(word, 16))), expected, words);
    }
  });
}

test('any words have a text', () => {
  const word = fc.nat(0xffffffff);
  fc.assert(
    fc.property(word, word, (first, second) => {
      const found = text([first, second]);
      assert.match(found, /^([a-z0-9_]+( .*)?|<unknown>|<truncated>)$/);
      assert.doesNotMatch(found, /undefined|NaN/);
    }),
    { numRuns: 2000 },
  );
});

test('wide vector instructions that LLVM 23 wrote: from gfx10 on, sources that are not there are the constant 0', () => {
  const idle = 0x80 << 18;
  for (const [processor, opcode, mov] of [
    ['gfx1030', 0xd7650008, 0xd5810001],
    ['gfx1100', 0xd71f0008, 0xd5810001],
    ['gfx1200', 0xd71f0008, 0xd5810001],
  ] as const) {
    for (const source of [0, idle]) {
      assert.equal(text([opcode, 0x000100c1 | source], processor), 'v_mbcnt_lo_u32_b32 v8, -1, 0');
      assert.equal(text([mov, 0x00000102 | source | (source >> 9)], processor), 'v_mov_b32_e64 v1, v2');
    }
  }
  assert.equal(text([0xd28c0008, 0x000100c1]), 'v_mbcnt_lo_u32_b32 v8, -1, 0');
  assert.equal(text([0xd28c0008, 0x000100c1 | idle]), '<unknown>');
});
