import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CODE_OBJECT_FILES, readTestFile } from '../../test/data/codeobjects/load.ts';
import { parseCodeObject } from '../codeobject/code-object.ts';
import { checkCode } from './check-code.ts';
import { codeObjectOf, kernelText } from './lift-text.test-support.ts';
import { liftCodeObject } from './lifted-code.ts';

const END = 's_endpgm';

/** The findings of a kernel, each with its rule and what it says. */
function findings(lines: string, { processor = 'gfx90a', directives = '' } = {}): string[] {
  const codeObject = codeObjectOf(kernelText('k', `${lines}\n${END}`, directives), processor);
  return checkCode(liftCodeObject(codeObject)).map(({ rule, text, hint }) => `${rule}: ${text}; ${hint}`);
}

test('wait: what is used too early, and the wait that mends it', () => {
  const loads = 'global_load_dword v0, v[8:9], off\n global_load_dword v1, v[8:9], off\n';
  const found = findings(`${loads} v_add_u32 v2, v0, v0`);
  assert.match(found.join('\n'), /^wait: v_add_u32 uses a register that .* may write later; s_waitcnt vmcnt\(1\)$/);
  assert.deepEqual(findings(`${loads} s_waitcnt vmcnt(1)\n v_add_u32 v2, v0, v0`), []);
  const gfx12 = findings('s_load_b32 s0, s[2:3], 0x0\n s_add_co_i32 s1, s0, s0', { processor: 'gfx1200' });
  assert.match(gfx12.join('\n'), /s_wait_kmcnt 0x0$/);
});

/** The findings of a kernel that calls the local function `f`. */
function ofCall(kernel: string, callee: string, symbol = '.type f,@function'): string[] {
  const source = `${kernelText('k', `${kernel}\n${END}`)}\n.p2align 8\n${symbol}\nf:\n${callee}\n s_setpc_b64 s[30:31]\n`;
  return checkCode(liftCodeObject(codeObjectOf(source))).map(({ rule, text }) => `${rule}: ${text}`);
}
const LOAD = 'global_load_dword v0, v[8:9], off\n';
const CALL = 's_call_b64 s[30:31], f\n';
const WAIT = 's_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\n';

test('wait: what is in flight over calls and returns', () => {
  const use = 'v_mov_b32 v1, v0\n';
  const found = ['wait: v_mov_b32 uses a register that global_load_dword at 0x1000 may write later'];
  const text = (lines: readonly string[]): string[] => lines.map((line) => line.replace(/0x\w+/, '0x1000'));
  assert.deepEqual(text(ofCall(LOAD + CALL, use)), found);
  assert.deepEqual(ofCall(LOAD + CALL, WAIT + use), []);
  assert.deepEqual(text(ofCall(CALL + use, LOAD)), found);
  assert.deepEqual(ofCall(CALL + use, LOAD + WAIT), []);
  assert.deepEqual(text(ofCall(LOAD + CALL + use, 's_nop 0\n')), found);
});

test('wait: a function that others may call waits when it is entered, and before it returns', () => {
  const symbol = '.globl f\n.protected f\n.type f,@function';
  const use = 'v_mov_b32 v1, v0\n';
  assert.deepEqual(ofCall('', use, symbol), [
    'wait: v_mov_b32 uses registers that accesses of unknown callers may write later',
  ]);
  assert.deepEqual(ofCall('', WAIT + use, symbol), []);
  assert.match(ofCall('', WAIT + LOAD, symbol).join(), /^wait: returns to unknown callers while global_load_dword at/);
  assert.deepEqual(ofCall('', WAIT + LOAD + WAIT, symbol), []);
});

test('hazard: over a call and a return', () => {
  const writes = 'v_readlane_b32 s0, v0, 1\n';
  const uses = 'global_load_dword v1, v2, s[0:1]\n';
  assert.match(ofCall(writes + CALL, uses + WAIT).join(), /^hazard: .*global_load_dword behind v_readlane_b32/);
  assert.match(ofCall(CALL + uses, writes).join(), /^hazard: .*global_load_dword behind v_readlane_b32/);
  assert.deepEqual(ofCall(CALL + uses, `${writes}s_nop 4\n`), []);
});

test('wait: by each kind of counter, and over the way back of a loop', () => {
  const rules = (lines: string, processor: string): string =>
    findings(lines, { processor })
      .map((line) => line.replace(/.*; /, ''))
      .join();
  const store = 'global_store_dword v[8:9], v5, off\n';
  const use = 'v_mov_b32 v1, v0\n';
  assert.equal(rules(`${LOAD}${store}s_waitcnt vmcnt(1)\n${use}`, 'gfx90a'), '');
  const gfx11 = `${LOAD}${store}s_waitcnt vmcnt(1)\n${use}`.replaceAll('dword', 'b32');
  assert.equal(rules(gfx11, 'gfx1100'), 's_waitcnt vmcnt(0)', 'stores have a counter of their own');
  const mixed = 'ds_read_b32 v0, v8\n s_load_dword s0, s[2:3], 0x0\n s_waitcnt lgkmcnt(1)\n';
  assert.equal(rules(mixed + use, 'gfx90a'), 's_waitcnt lgkmcnt(0)', 'scalar loads come in any order');
  const gfx12 = 'ds_load_b32 v0, v8\n global_load_b32 v4, v[8:9], off\n';
  assert.equal(rules(`${gfx12}s_wait_loadcnt 0x0\n${use}`, 'gfx1200'), 's_wait_dscnt 0x0');
  assert.equal(rules(`${gfx12}s_wait_dscnt 0x0\n${use}`, 'gfx1200'), '');
  const loop = `1:\n${use}${LOAD}s_cbranch_scc0 1b\n`;
  assert.equal(rules(loop, 'gfx90a'), 's_waitcnt vmcnt(0)');
  assert.equal(rules(loop.replace('s_cb', `${WAIT}s_cb`), 'gfx90a'), '');
});

test('hazard: so many wait states, or another instruction', () => {
  const found = findings('v_readlane_b32 s0, v0, 1\n global_load_dword v1, v2, s[0:1]');
  assert.match(found.join('\n'), /^hazard: .*v_readlane_b32 .*\(valu-sgpr-vmem; CDNA2 ISA 4.5\); s_nop 4 before it$/);
  const gfx11 = findings('v_exp_f32 v0, v1\n v_add_f32 v2, v0, v0', { processor: 'gfx1100' });
  assert.match(gfx11.join('\n'), /s_waitcnt_depctr depctr_va_vdst\(0\) before it$/);
});

test('clause: as many instructions of one kind as it says', () => {
  const load = (first: number): string => `global_load_b32 v${first}, v[8:9], off\n`;
  const gfx11 = { processor: 'gfx1100' };
  assert.deepEqual(findings(`s_clause 0x1\n ${load(0)} ${load(1)}`, gfx11), []);
  assert.match(findings(`s_clause 0x2\n ${load(0)} v_mov_b32 v5, 0\n ${load(1)}`, gfx11)[0]!, /has v_mov_b32 in it/);
  assert.match(findings(`s_clause 0x1\n ${load(0)} global_store_b32 v[8:9], v5, off`, gfx11)[0]!, /^clause: /);
  assert.match(findings(`s_clause 0x3\n ${load(0)} ${load(1)}`, gfx11)[0]!, /^clause: /);
});

test('replay: with XNACK scalar loads that stand together do not clobber addresses', () => {
  const loads = (between: string): string => `s_load_dword s0, s[2:3], 0x0\n ${between} s_load_dword s2, s[4:5], 0x0`;
  assert.match(findings(loads(''))[0]!, /^replay: .*s_nop 0/);
  assert.deepEqual(findings(loads('s_nop 0\n')), []);
});

test('registers: alignment, and no more than the descriptor grants', () => {
  // The assembler refuses odd groups, so that the words stand here: global_load_dwordx2 v[1:2], v[4:5], off.
  assert.match(
    findings('.long 0xdc548000, 0x017f0004')[0]!,
    /^register-alignment: v\[1:2\] begins at no multiple of 2/,
  );
  assert.deepEqual(findings('v_mov_b32 v63, 0\n s_mov_b32 s63, 0'), []);
  assert.match(findings('v_mov_b32 v64, 0')[0]!, /^register-count: v64 is used, but waves of 'k' have 64/);
  assert.match(findings('v_accvgpr_write_b32 a0, v0')[0]!, /^register-count: a0 is used, but waves of 'k' have 0/);
  // The descriptor counts eight at a time, and hardware allocates sixteen.
  assert.deepEqual(findings('s_mov_b32 s79, 0'), []);
  assert.match(findings('s_mov_b32 s90, 0')[0]!, /^register-count: s90/);
});

test('freed: no VGPRs behind the message that gives them back', () => {
  const gfx11 = { processor: 'gfx1100' };
  const message = 's_sendmsg sendmsg(MSG_DEALLOC_VGPRS)';
  assert.deepEqual(findings(`v_mov_b32 v0, 0\n ${message}\n s_mov_b32 s0, 0`, gfx11), []);
  assert.match(findings(`${message}\n v_mov_b32 v0, 0`, gfx11)[0]!, /^register-freed: v_mov_b32 uses VGPRs/);
  const branch = `s_cbranch_scc0 1f\n ${message}\n1:\n v_mov_b32 v0, 0`;
  assert.match(findings(branch, gfx11)[0]!, /^register-freed: v_mov_b32 uses VGPRs/);
  assert.deepEqual(findings(`s_cbranch_scc0 1f\n ${message}\n ${END}\n1:\n v_mov_b32 v0, 0`, gfx11), []);
});

test('target: branches lead to instructions, and something follows', () => {
  assert.match(findings('s_branch 100')[0]!, /^target: s_branch goes to 0x[0-9a-f]+, where no instruction is/);
  assert.match(findings('s_cbranch_scc0 1f\n s_mov_b32 s0, 0x7e000280\n1:\n').join(), /^$/);
});

test('overlap: a branch into an instruction', () => {
  // The literal is v_mov_b32 v0, 0.
  const found = findings('s_cbranch_scc0 1\n s_mov_b32 s0, 0x7e000280');
  assert.match(found[0]!, /^overlap: begins inside of s_mov_b32/);
});

test('descriptor and metadata say the same, and workgroups fit', () => {
  const metadata = (size: number, lds: number): string => `.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: ${lds}
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 64
    .vgpr_count: 64
    .agpr_count: 0
    .max_flat_workgroup_size: ${size}
...
.end_amdgpu_metadata
.rodata
`;
  const check = (vgprs: number, size: number, lds: number): string[] => {
    const source = kernelText('k', END)
      .replace('vgpr 64', `vgpr ${vgprs}`)
      .replace('.end_amdhsa_kernel\n', metadata(size, lds));
    return checkCode(liftCodeObject(codeObjectOf(source))).map(({ rule, text }) => `${rule}: ${text}`);
  };
  assert.deepEqual(check(64, 1024, 0), []);
  assert.match(check(64, 1024, 16)[0]!, /^descriptor: LDS of 'k': 0 in the descriptor, 16 in the metadata/);
  assert.match(check(256, 1024, 0)[0]!, /^occupancy: a workgroup of 'k' has up to 1024 work-items, of which 512 fit/);
});

test("compilers' code has no findings", () => {
  for (const file of CODE_OBJECT_FILES) {
    if (!/^(kernels|arguments)\..*\.co$/.test(file) || file.includes('gfx803')) continue;
    const codeObject = parseCodeObject(readTestFile(file), file);
    if (codeObject.isRelocatable) continue;
    assert.deepEqual(checkCode(liftCodeObject(codeObject)), [], file);
  }
});
