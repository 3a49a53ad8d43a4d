import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../assembler/assemble-file.ts';
import { parseElf } from '../elf/elf.ts';
import { waveSizeOfCode } from './wave-size.ts';

function evidenceOf(source: string, features: string[] = []) {
  const processor = 'gfx1100';
  const elf = parseElf(assembleFile(`${source}\n s_setpc_b64 s[30:31]\n`, { processor, features }), 'test');
  return waveSizeOfCode(elf.sectionBytes(elf.sectionNamed('.text')!), processor);
}
const sizeOf = (source: string, features: string[] = []) => evidenceOf(source, features).waveSize;

test('the wave size shows where EXEC is used', () => {
  assert.equal(sizeOf('s_or_saveexec_b64 s[4:5], -1'), 64);
  assert.equal(sizeOf('s_mov_b64 exec, s[4:5]'), 64);
  assert.equal(sizeOf('s_and_b64 vcc, exec, s[4:5]'), 64);
  assert.equal(sizeOf('s_and_saveexec_b32 s4, vcc_lo'), 32);
  assert.equal(sizeOf('s_mov_b32 exec_lo, s4'), 32);
  assert.equal(sizeOf('s_and_not1_wrexec_b64 s[4:5], s[6:7]'), 64);
  assert.equal(sizeOf('s_cmp_eq_u64 exec, 0'), 64);
});

test('code that leaves EXEC alone, or takes half of it, is for waves of any size', () => {
  assert.equal(sizeOf('s_nop 0'), undefined);
  assert.equal(sizeOf('s_mov_b32 s4, exec_lo'), undefined);
  assert.equal(sizeOf('s_lshl_b64 s[0:1], s[2:3], exec_lo'), undefined);
  assert.equal(sizeOf('.long 0xffffffff'), undefined);
});

const WAVE64 = ['+wavefrontsize64'];

test('the wave size shows where scalar instructions use masks that vector instructions made', () => {
  const compare = 'v_cmp_lt_i32_e64 s[0:1], v1, v2\n';
  assert.equal(sizeOf(`${compare} s_and_b64 vcc, vcc, s[0:1]`, WAVE64), 64);
  assert.equal(sizeOf('v_cmp_lt_i32_e32 vcc, v0, v1\n s_cmp_eq_u64 vcc, 0', WAVE64), 64);
  assert.equal(sizeOf('s_cselect_b64 s[2:3], -1, 0\n v_cndmask_b32_e64 v0, v1, v2, s[2:3]', WAVE64), 64);
  assert.equal(sizeOf('v_cmp_lt_i32_e64 s0, v1, v2\n s_and_b32 vcc_lo, vcc_lo, s0'), 32);
  assert.equal(sizeOf('s_cselect_b32 s2, -1, 0\n v_cndmask_b32_e64 v0, v1, v2, s2'), 32);
  assert.equal(sizeOf('v_cmp_lt_i32_e64 s3, v1, v2'), 32);
});

test('what is no mask any more, or on another way, shows nothing; masks in SGPRs are told', () => {
  const compare = 'v_cmp_lt_i32_e64 s[0:1], v1, v2\n';
  const unclear = { waveSize: undefined, keepsMasks: true };
  assert.deepEqual(evidenceOf(`${compare} s_mov_b64 s[0:1], 0\n s_add_u32 s0, s0, s1`, WAVE64), unclear);
  assert.deepEqual(evidenceOf(`${compare} s_branch 0\n s_add_u32 s0, s0, s1`, WAVE64), unclear);
  assert.deepEqual(evidenceOf(`${compare} v_cndmask_b32_e64 v0, v1, v2, s[0:1]`, WAVE64), unclear);
  const clear = { waveSize: undefined, keepsMasks: false };
  assert.deepEqual(evidenceOf('v_cmp_lt_i32_e32 vcc, v0, v1\n v_cndmask_b32_e32 v0, v1, v2, vcc', WAVE64), clear);
  assert.deepEqual(
    evidenceOf('s_mov_b32 s0, 1\n s_mov_b32 s1, 2\n v_cndmask_b32_e64 v0, v1, v2, s[0:1]', WAVE64),
    clear,
  );
});
