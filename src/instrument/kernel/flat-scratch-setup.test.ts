/** Which writes of FLAT_SCRATCH are known to give it what preambles give it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { parseCodeObject } from '../../codeobject/code-object.ts';
import { liftCodeObject } from '../../lift/lifted-code.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { flatScratchSetup } from './flat-scratch-setup.ts';

/** A kernel that begins with the base in s[2:3], the workgroup's x in s4 and the wave's offset in s5. */
const source = (body: string, isPrivate: boolean): string => `.text
.globl k
.p2align 8
.type k,@function
k:
${body}
 s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_user_sgpr_flat_scratch_init 1
 ${isPrivate ? '.amdhsa_system_sgpr_private_segment_wavefront_offset 1' : ''}
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 24
.end_amdhsa_kernel
`;

function setup(processor: string, body: string, isPrivate = true): string[] {
  const text = source(body, isPrivate).replace(
    '.end_',
    processor === 'gfx90a' ? ' .amdhsa_accum_offset 8\n.end_' : '.end_',
  );
  const bytes = linkCodeObject([{ bytes: assembleFile(text, { processor }), name: 'k.o' }]);
  const codeObject = parseCodeObject(bytes, 'k.co');
  const root = liftCodeObject(codeObject).functions.find(({ kernels }) => kernels.length > 0)!;
  return [...flatScratchSetup(codeObject.kernels[0]!, root)].map((step) => step.text().trim());
}

const [LOW, HIGH] = ['s_add_u32 flat_scratch_lo, s2, s5', 's_addc_u32 flat_scratch_hi, s3, 0'];
const SETREG = ['LO', 'HI'].map((half, i) => `s_setreg_b32 hwreg(HW_REG_FLAT_SCR_${half}), s${i + 2}`);
const SUM = ['s_add_u32 s2, s2, s5', 's_addc_u32 s3, s3, 0'];

test('what compilers write is known, with private memory and without', () => {
  for (const isPrivate of [true, false]) {
    assert.deepEqual(setup('gfx90a', [LOW, 's_load_dword s2, s[0:1], 0', HIGH].join('\n'), isPrivate), [LOW, HIGH]);
    assert.deepEqual(setup('gfx1030', [...SUM, ...SETREG].join('\n'), isPrivate), SETREG);
  }
});

test('what leads elsewhere is not', () => {
  const other = (...lines: string[]): string[] => setup('gfx90a', lines.join('\n'));
  assert.deepEqual(other('s_add_u32 flat_scratch_lo, s2, s4'), [], 'another offset');
  assert.deepEqual(other('s_mov_b32 s5, 16', LOW!, HIGH!), [], 'an offset that is overwritten');
  assert.deepEqual(other(LOW!, 's_add_u32 flat_scratch_hi, s3, 0'), [LOW], 'without the carry');
  assert.deepEqual(other(LOW!, 's_cmp_eq_u32 s0, s1', HIGH!), [LOW], 'with another carry');
  assert.deepEqual(other(LOW!, HIGH!, 's_mov_b32 flat_scratch_hi, s2'), [LOW, HIGH], 'one more');
  assert.deepEqual(other('s_mov_b64 flat_scratch, s[2:3]'), [], 'the base alone');
  assert.deepEqual(setup('gfx1030', [...SUM, SETREG[1]!.replace('s3', 's2')].join('\n')), [], 'the other half');
  const part = 's_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO, 4, 8), s2';
  assert.deepEqual(setup('gfx1030', [...SUM, part].join('\n')), [], 'some bits');
});

test('what runs again is not known', () => {
  assert.deepEqual(setup('gfx90a', ['again:', LOW, HIGH, 's_cmp_eq_u32 s0, 1', 's_cbranch_scc1 again'].join('\n')), []);
});
