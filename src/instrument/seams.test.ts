/** Hazards between payloads and the code around them, as the checks of code see them: no emulator has any. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCodeObject } from '../codeobject/code-object.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import { assembleInstruction } from '../isa/amdgpu/text/assembler/assemble.ts';
import { checkCode } from '../lift/check-code.ts';
import { codeObjectOf, kernelText } from '../lift/lift-text.test-support.ts';
import { liftCodeObject } from '../lift/lifted-code.ts';
import { instrumentCodeObject } from './instrument.ts';
import type { CodeItem } from './layout/code-item.ts';
import type { StepEdit } from './layout/compose.ts';

type Side = 'before' | 'after' | 'taken';

/** `at` says by the text of an instruction whether the payload is to stand there. */
function instrumented(
  lines: string,
  payload: string,
  side: Side,
  { processor = 'gfx90a', at = /./, isWave64 = false },
) {
  const [directives, features] = isWave64 ? ['.amdhsa_wavefront_size32 0', ['+wavefrontsize64']] : ['', []];
  const { elf } = codeObjectOf(kernelText('k', `${lines}\ns_endpgm`, directives), processor, features);
  const items = ({ instruction: { waveSize } }: AmdgpuStep): CodeItem[] =>
    payload.split('\n').map((line) => {
      const { words } = assembleInstruction(line.trim(), { target: targetFor(processor), waveSize });
      return { kind: 'instruction', words };
    });
  const edit = (step: AmdgpuStep): StepEdit | undefined => (at.test(step.text()) ? { [side]: items(step) } : undefined);
  const { bytes, nopCount } = instrumentCodeObject(elf.bytes, { edit });
  const code = liftCodeObject(parseCodeObject(bytes, 'new'));
  const findings = checkCode(code).filter(({ rule }) => rule === 'hazard' || rule === 'clause');
  const texts = code.functions.flatMap(({ blocks }) =>
    blocks.flatMap(({ instructions }) => instructions.map((step) => step.text().trim())),
  );
  return { nopCount, texts, findings: findings.map(({ text }) => text) };
}

/** Each has a hazard with something in one of the payloads, none with itself. */
const CODE: Readonly<Record<string, string>> = {
  gfx90a: `v_readlane_b32 s20, v1, 0
 s_cmp_eq_u32 s20, 0
 s_cbranch_scc1 far
loop:
 v_mfma_f32_32x32x1f32 a[0:31], v2, v3, a[0:31]
 s_nop 15
 s_nop 1
 v_div_fmas_f32 v4, v5, v6, v7
 v_mov_b32_dpp v8, v9 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
 s_sub_u32 s21, s21, 1
 s_cbranch_scc1 loop
far:
 global_store_dword v10, v11, s[22:23]
 s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0`,
  gfx1100: `s_clause 0x1
 global_load_b32 v2, v3, s[22:23]
 global_load_b32 v4, v3, s[22:23]
 s_waitcnt vmcnt(0)
loop:
 v_exp_f32 v5, v6
 v_permlane16_b32 v7, v8, s4, s5
 s_sub_u32 s21, s21, 1
 v_cndmask_b32_e64 v9, v10, v11, s[24:25]
 s_cbranch_scc1 loop
 s_mov_b32 s26, s27`,
};

/** Code that a tool may want: each is right by itself. */
const PAYLOADS: Readonly<Record<string, readonly string[]>> = {
  gfx90a: [
    'v_readlane_b32 s23, v30, 1',
    'v_cmp_eq_u32_e32 vcc, v30, v31\nv_mov_b32_e32 v9, v30',
    'v_cmpx_eq_u32_e32 vcc, v30, v31',
    'v_accvgpr_read_b32 v30, a31',
    's_getreg_b32 s30, hwreg(HW_REG_MODE, 0, 4)\nv_mov_b32_e32 v11, v30',
    'global_load_dword v30, v31, s[20:21]',
  ],
  gfx1100: [
    'v_add_f32_e32 v30, v5, v5',
    'v_cmpx_eq_u32_e32 v30, v31',
    's_mov_b32 s24, s28\ns_add_u32 s29, s24, s24',
    'v_exp_f32_e32 v6, v31',
  ],
};

for (const [processor, of] of [
  ['gfx90a', 'gfx90a'],
  ['gfx942', 'gfx90a'],
  ['gfx1100', 'gfx1100'],
] as const) {
  const isWave64 = processor === 'gfx1100';
  test(`${processor}: payloads anywhere leave code without hazards`, () => {
    const lines = processor === 'gfx942' ? CODE[of]!.replace('x1f32', 'x1_2b_f32') : CODE[of]!;
    assert.deepEqual(instrumented(lines, 's_nop 0', 'before', { processor, at: /^$/, isWave64 }).findings, []);
    let total = 0;
    for (const payload of PAYLOADS[of]!) {
      for (const side of ['before', 'after', 'taken'] as const) {
        const { findings, nopCount } = instrumented(lines, payload, side, { processor, isWave64 });
        assert.deepEqual(findings, [], `${payload} ${side}`);
        total += nopCount;
      }
    }
    assert.ok(total > 10, `${total} instructions were needed`);
  });
}

test('as many wait states as are missing, where the payload ends', () => {
  const store = 'global_store_dword v10, v11, s[22:23]';
  const { texts, nopCount } = instrumented(store, 'v_readlane_b32 s23, v30, 1', 'before', { at: /store/ });
  assert.deepEqual(texts, ['v_readlane_b32 s23, v30, 1', 's_nop 4', store, 's_endpgm']);
  assert.equal(nopCount, 1);
});

for (const [where, lines, at, side, added] of [
  ['in front of a call', 'CALL s_endpgm FUNCTION STORE RETURN', /s_swappc/, 'before', 's_nop 3'],
  ['at a return', 'CALL STORE s_endpgm FUNCTION RETURN', /s_setpc/, 'before', 's_nop 3'],
  [
    'where a function goes on with another',
    'CALLS CALL STORE s_endpgm FUNCTION s_branch g OTHER RETURN',
    /s_branch/,
    'before',
    's_nop 2',
  ],
] as const) {
  test(`as many wait states as are missing ${where}, in the other function`, () => {
    const texts = {
      CALL: `s_getpc_b64 s[30:31]\ns_add_u32 s30, s30, f@rel32@lo+4\ns_addc_u32 s31, s31, f@rel32@hi+12\ns_swappc_b64 s[30:31], s[30:31]\n`,
      CALLS: 's_call_b64 s[30:31], g\n',
      FUNCTION: 'f:\n',
      OTHER: 'g:\n',
      STORE: 'global_store_dword v10, v11, s[22:23]\n',
      RETURN: 's_setpc_b64 s[30:31]\n',
    };
    const text = lines
      .replace(/[A-Z]+/g, (name) => texts[name as keyof typeof texts])
      .replace(/(endpgm|branch g) /g, '$1\n');
    const made = instrumented(text, 'v_readlane_b32 s23, v30, 1', side, { at });
    assert.deepEqual([made.findings, made.nopCount], [[], 1]);
    assert.ok(made.texts.includes(added), made.texts.join('; '));
  });
}

test('code without payloads stays as it is, be it wrong', () => {
  const lines = 'v_readlane_b32 s23, v30, 1\nglobal_store_dword v10, v11, s[22:23]';
  const { texts, nopCount } = instrumented(lines, 's_nop 0', 'before', { at: /^$/ });
  assert.deepEqual([texts.length, nopCount], [3, 0]);
});

test('nothing comes between the instructions of a clause', () => {
  const load = (first: number): string => `global_load_b32 v${first}, v3, s[22:23]`;
  const lines = `s_clause 0x1\n${load(2)}\n${load(4)}`;
  const options = { processor: 'gfx1100', at: /s_clause/, isWave64: true };
  const { texts, findings } = instrumented(lines, 's_mov_b32 s24, s28', 'before', options);
  assert.deepEqual(texts.slice(0, 2), ['s_mov_b32 s24, s28', 's_clause 0x1']);
  assert.deepEqual(findings, []);
});

test('what an instruction inside of a clause needs comes before the clause', () => {
  const lines = 's_clause 0x1\nlds_direct_load v2 wait_vdst:15\nlds_direct_load v5 wait_vdst:15';
  const options = { processor: 'gfx1100', at: /s_clause/ };
  const { texts, nopCount } = instrumented(lines, 'v_add_f32_e32 v9, v5, v5', 'before', options);
  assert.equal(nopCount, 1);
  assert.deepEqual(texts.slice(0, 3), [
    ...['v_add_f32_e32 v9, v5, v5', 's_waitcnt_depctr depctr_va_vdst(0)', 's_clause 0x1'],
  ]);
});

test('wait states between two entries of a kernel leave each its place', () => {
  // The first entry's code fits between them with its payloads, and not with the wait states of these.
  const count = 14;
  const store = 'global_store_dword v10, v11, s[22:23]\n';
  const lines = `${store.repeat(count)}s_endpgm\n.p2align 8\ns_nop 3\ns_endpgm`;
  const preload = '.amdhsa_user_sgpr_kernarg_preload_length 2';
  const { elf, kernels } = codeObjectOf(kernelText('k', lines, preload), 'gfx90a');
  const { words } = assembleInstruction('v_readlane_b32 s23, v30, 1', { target: targetFor('gfx90a'), waveSize: 64 });
  const made = instrumentCodeObject(elf.bytes, {
    edit: (step) => (/store/.test(step.text()) ? { before: [{ kind: 'instruction', words }] } : undefined),
  });
  assert.equal(made.nopCount, count);
  const entries = [kernels[0]!, parseCodeObject(made.bytes, 'new').kernels[0]!];
  const [old, now] = entries.map(({ entryAddress }) => Number(entryAddress));
  assert.equal(made.map.originOf(now!), old);
  assert.equal(made.map.originOf(now! + 256), old! + 256);
});

test('a move of a register to itself takes one that is waited for', () => {
  const options = { processor: 'gfx1100', at: /permlane/ };
  const { texts } = instrumented('v_permlane16_b32 v7, v8, s4, s5', 'v_cmpx_eq_u32_e32 v30, v31', 'before', options);
  assert.deepEqual(texts.slice(0, 3), [
    'v_cmpx_eq_u32_e32 v30, v31',
    'v_mov_b32_e32 v7, v7',
    'v_permlane16_b32 v7, v8, s4, s5',
  ]);
});

test('payloads keep the VGPRs that they need, others give them back', () => {
  const message = 's_sendmsg sendmsg(MSG_DEALLOC_VGPRS)';
  const textsWith = (at: RegExp): readonly string[] =>
    instrumented(message, 'v_mov_b32_e32 v30, 0', 'before', { processor: 'gfx1100', at }).texts;
  assert.deepEqual(textsWith(/s_endpgm/), ['v_mov_b32_e32 v30, 0', 's_endpgm']);
  assert.deepEqual(textsWith(/s_sendmsg/), ['v_mov_b32_e32 v30, 0', message, 's_endpgm']);
  const branched = `s_cbranch_scc0 1f\n${message}\n1:\n s_nop 0`;
  const isKept = (at: RegExp): boolean =>
    instrumented(branched, 'v_mov_b32_e32 v30, 0', 'before', { processor: 'gfx1100', at }).texts.includes(message);
  assert.equal(isKept(/s_nop/), false, 'a payload in the next block');
  assert.equal(isKept(/s_endpgm/), false);
  assert.equal(isKept(/s_cbranch/), true, 'a payload before it');
});
