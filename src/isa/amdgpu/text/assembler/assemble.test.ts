import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../../../base/errors.ts';
import { targetFor } from '../../encoding/targets.ts';
import { assembleInstruction } from './assemble.ts';

const context = (processor: string) => {
  const target = targetFor(processor);
  return { target, waveSize: target.waveSizes[0]! };
};

const hex = (text: string, processor = 'gfx90a'): string =>
  assembleInstruction(text, context(processor))
    .words.map((word) => word.toString(16).padStart(8, '0'))
    .join(' ');

/** Dwords as llvm-mc 19 makes them of the text. */
const EXAMPLES: Readonly<Record<string, string>> = {
  's_mov_b32 s0, 1.0': 'be8000f2',
  's_mov_b32 s0, 0x3f800000': 'be8000f2',
  's_mov_b32 s0, 0xffffffffffffffff': 'be8000c1',
  's_mov_b64 s[0:1], -17': 'be8001ff ffffffef',
  's_mov_b64 s[0:1], [s2,s3]': 'be800102',
  's_mov_b32 s0, (1 << 4) | 0x3': 'be800093',
  's_load_dword s4, s[4:5], s0': 'c0000102 00000000',
  's_load_dword s4, s[4:5], s0 offset:0xc': 'c0024102 0000000c',
  's_load_dword s4, s[4:5], -4': 'c0020102 001ffffc',
  's_waitcnt vmcnt(0)&lgkmcnt(0)': 'bf8c0070',
  's_sendmsg sendmsg(MSG_INTERRUPT)': 'bf900001',
  'v_add_f32 v0, s0, v1': '02000200',
  'v_add_f32 v0, v1, s0': 'd1010000 00000101',
  'v_add_f32 v0, v1, v2 clamp': 'd1018000 00020501',
  'v_add_u16 v0, 1.0, v1': '4c0002f2',
  'v_add_u16 v0, 0xffff, v1': '4c0002ff 0000ffff',
  'v_add_f16 v0, 2.5, v1': '3e0002ff 00004100',
  'v_fma_f32 v0, |1.0|, -|1|, - v3': 'd1cb0300 c40d02f2',
  'v_mov_b32 v0, v1 row_shl:1': '7e0002fa ff010101',
  'v_mov_b32 v0, v1 src0_sel:BYTE_0': '7e0002f9 00001601',
  'v_cndmask_b32 v0, v1, v2, s[0:1]': 'd1000000 00020501',
  'v_pk_add_f16 v0, v1, 1.0': 'd38f4000 1801e501',
  'v_mfma_f32_32x32x1f32 a[0:31], v0, v1, 1.0': 'd3c08000 03ca0300',
  'flat_atomic_add v1, v[2:3], v4 glc': 'dd090000 01000402',
  'buffer_load_dword v0, off, s[0:3], s4 offset:4095 glc': 'e0504fff 04000000',
  'ds_swizzle_b32 v1, v2 offset:swizzle(SWAP,16)': 'd87a401f 01000002',
};

test('instructions, as llvm-mc assembles them', () => {
  for (const [text, words] of Object.entries(EXAMPLES)) assert.equal(hex(text), words, text);
});

test('both halves of VOPD', () => {
  assert.equal(hex('v_dual_mov_b32 v3, 0 :: v_dual_mov_b32 v4, 0', 'gfx1100'), 'ca100080 03040080');
});

test('what a half of VOPD accumulates into counts among its sources, behind a constant in the middle too', () => {
  const text = 'v_dual_dot2acc_f32_f16 v0, v1, v2 :: v_dual_fmamk_f32 v3, v4, 0xaf123456, ';
  // As llvm-mc 19: v0 is of one bank with v6 and v8, of which v2 would admit v8, and not with v7.
  assert.throws(() => hex(`${text}v6`, 'gfx1100'), /different banks/);
  assert.throws(() => hex(`${text}v8`, 'gfx1100'), /different banks/);
  assert.equal(hex(`${text}v7`, 'gfx1100'), 'cb040501 00020f04 af123456');
});

test('two moves of VOPD may read one bank of VGPRs from gfx12 on', () => {
  const text = 'v_dual_mov_b32 v42, v31 :: v_dual_mov_b32 v41, v3';
  assert.equal(hex(text, 'gfx1200'), 'ca10011f 2a280103');
  assert.throws(() => hex(text, 'gfx1100'), /different banks/);
  assert.throws(() => hex('v_dual_mul_f32 v42, v31, v0 :: v_dual_mov_b32 v41, v3', 'gfx1200'), /different banks/);
});

test('offsets and formats of gfx12', () => {
  assert.equal(hex('flat_store_b64 v[0:1], v[2:3] offset:-4', 'gfx1200'), 'ec06c07c 01000000 fffffc00');
  assert.equal(hex('buffer_load_b32 v2, off, s[0:3], null offset:4', 'gfx1200'), 'c405007c 00800002 00000400');
  assert.throws(() => hex('flat_load_b32 v0, v[2:3] offset:-4', 'gfx1100'), /expected 0 to 4095/);
  assert.equal(hex('buffer_load_b32 v2, off, s[0:3], null offset:-4', 'gfx1200'), 'c405007c 00800002 fffffc00');
  assert.equal(hex('s_load_b96 s[0:2], s[80:81], 0x67612d', 'gfx1200'), 'f400a028 f867612d');
  assert.throws(() => hex('s_load_b64 s[0:1], s[80:81], 0x67612d', 'gfx1100'), /expected a number from -1048576/);
  assert.equal(hex('s_buffer_load_u8 s0, s[48:51], s36 offset:-0x70acf3', 'gfx1200'), 'f4032018 488f530d');
});

test('gfx11.5 takes scalars behind lanes', () => {
  const text = 'v_xnor_b32_e64_dpp v104, v107, s3 dpp8:[1,3,3,0,0,0,0,0] fi:1';
  assert.equal(hex(text, 'gfx1200'), 'd51e0068 000006ea 0000d96b');
  assert.throws(() => hex(text, 'gfx1100'), /cannot have the modifier 'dpp8'/);
});

test('gfx908 has accumulators in matrix products and moves, and nowhere else', () => {
  assert.equal(hex('v_mfma_f32_16x16x4f32 a[0:3], a3, v1, a[4:7]', 'gfx908'), 'd3c50000 0c120303');
  assert.equal(hex('v_accvgpr_read_b32 v2, a0', 'gfx908'), 'd3d84002 18000100');
  assert.equal(hex('v_accvgpr_write_b32 a0, 1.0', 'gfx908'), 'd3d94000 180000f2');
  for (const [text, what] of [
    ['v_mfma_f32_16x16x4f32 v[0:3], v3, v1, v[0:3]', /invalid operand/],
    ['v_mfma_f32_32x32x4bf16_1k a[0:31], v[2:3], v[2:3], a[0:31]', /unknown instruction/],
    ['global_load_dword a0, v[0:1], off', /invalid operand/],
    ['ds_write_b32 v0, a0', /invalid operand/],
  ] as const) {
    assert.throws(() => hex(text, 'gfx908'), what, text);
  }
  assert.throws(() => hex('v_accvgpr_read_b32 v2, a0', 'gfx906'), /unknown instruction/);
});

test('in front of a relocation, the name of a register is that of a symbol', () => {
  for (const name of ['s1', 'v5', 'vcc', 'exec', 'm0', 'off']) {
    const { words, fixup } = assembleInstruction(`s_add_u32 s4, s4, ${name}@rel32@lo+4`, context('gfx90a'));
    assert.equal(words[0], 0x8004ff04);
    assert.deepEqual(fixup?.expression, {
      kind: 'binary',
      operator: '+',
      left: { kind: 'symbol', name, variant: 'rel32@lo' },
      right: { kind: 'number', value: 4n },
    });
  }
});

/** Text, column of the caret, message. */
const ERRORS: readonly (readonly [text: string, column: number, what: RegExp])[] = [
  ['v_foo v0', 1, /unknown instruction 'v_foo'/],
  ['v_mov_b32', 1, /too few operands/],
  ['v_mov_b32 v0, v1, v2', 19, /too many operands/],
  ['v_mov_b32 v256, v0', 11, /register index is out of range/],
  ['s_mov_b32 s102, 0', 11, /register index is out of range/],
  ['s_mov_b64 s[0:1], s[1:2]', 19, /invalid register alignment/],
  ['s_mov_b64 s[0:1], [s2,s4]', 19, /consecutive/],
  ['s_mov_b32 s0, v0', 15, /invalid operand/],
  ['s_mov_b32 s0, 1e39', 15, /invalid operand/],
  ['s_add_u32 s0, 0x1234, 0x1235', 23, /only one unique literal/],
  ['v_add_f32_e64 v0, 0x1234, v1', 19, /literal operands are not supported/],
  ['v_fma_f32 v0, s0, s1, v2', 23, /constant bus/],
  ['v_mov_b32 v0, v1 glc', 18, /cannot have the modifier 'glc'/],
  ['v_mov_b32_dpp v0, v1', 1, /lane control/],
  ['v_mov_b32_dpp v0, v1 row_shl:16', 30, /row_shl cannot be 16/],
  ['global_load_dword v0, v[1:2], off', 31, /even register/],
  ['global_load_dword v0, v3, s[2:3] offset:4096', 41, /expected -4096 to 4095/],
  ['s_waitcnt vmcnt(64)', 17, /expected 0 to 63/],
  ['s_sendmsg sendmsg(MSG_FOO)', 19, /absolute expression/],
  ['s_movk_i32 s0, 65536', 16, /expected a number from -32768 to 65535/],
  ['s_nop (1', 9, /expected '\)'/],
  ['ds_swizzle_b32 v1, v2 offset:swizzle(SWAP,3)', 43, /power of 2/],
];

test('errors say what is wrong and where', () => {
  for (const [text, column, what] of ERRORS) {
    assert.throws(
      () => hex(text),
      (error) => {
        assert.ok(error instanceof WavewrightError && error.code === 'BAD_INPUT', text);
        assert.match(error.message, what);
        assert.match(error.message, new RegExp(`^column ${column}: `), text);
        assert.equal(error.message.split('\n').at(-1), `${' '.repeat(column - 1)}^`);
        return true;
      },
    );
  }
});

test('any text ends in words or in BAD_INPUT', () => {
  const pieces = [
    'v_mov_b32',
    's_add_u32',
    'v_dual_mov_b32',
    's_waitcnt',
    'v1',
    's[0:1]',
    ',',
    '|',
    '-',
    '(',
    ')',
    '[',
    '1.0',
    '0x',
    '::',
    'sext(',
    'glc',
    'offset:',
    ' ',
    'lit(',
  ];
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }),
      fc.constantFrom('gfx90a', 'gfx1100'),
      (parts, processor) => {
        try {
          hex(parts.join(' '), processor);
        } catch (error) {
          assert.ok(error instanceof WavewrightError && error.code === 'BAD_INPUT', String(error));
        }
      },
    ),
    { numRuns: 3000 },
  );
});
