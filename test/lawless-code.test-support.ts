/**
 * Kernels in hand-written assembly that keep no calling convention, for several targets: gfx9's words, with
 * `EXEC`, `VCC`, `M10` for masks as wide as a wave, and `b##` for how wide they are. Each begins with the
 * arguments in s[0:1], the workgroup in s4 and the work-item in v0, and stores v2 of each lane.
 */
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { mostRegisters } from '../src/lift/register-limits.ts';

export const LAWLESS_TARGETS = ['gfx90a', 'gfx942', 'gfx1100', 'gfx1200'] as const;

export interface LawlessCode {
  readonly name: string;
  readonly text: (processor: string) => string;
  /** Default: all. */
  readonly targets?: RegExp;
  /** Kernels that are launched; default `main`. */
  readonly kernels?: readonly string[];
  /** Why hooks are refused, or code stays as it is. */
  readonly refused?: RegExp;
  /** What runs behind jumps to places that are not known may not be counted. */
  readonly isUnresolved?: boolean;
}

/** That kernels are launched with. */
const VECTORS = 32;

const count = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** s[8:9]: the results; v1: where that of the lane is, from there. */
const BEGIN = `
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_lshl_b32 s5, s4, 6
  v_add_u32_e32 v1, s5, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)`;
const END = `
  global_store_dword v1, v2, s[8:9]
  s_endpgm`;

const addressOf = (label: string, first: number): string => `
  s_getpc_b64 s[${first}:${first + 1}]
.Lbase${label}${first}:
  s_add_u32 s${first}, s${first}, ${label}-.Lbase${label}${first}
  s_addc_u32 s${first + 1}, s${first + 1}, 0`;

const functionText = (name: string, body: string): string => `
.p2align 8
.type ${name},@function
${name}:
${body}
.size ${name}, .-${name}`;

export const LAWLESS_CODE: readonly LawlessCode[] = [
  {
    name: 'all scalar registers are live, with VCC, M0 and SCC',
    text: (processor) => {
      const own = count(10, mostRegisters(processor).sgprCount);
      return `${BEGIN}
${own.map((i) => `  s_add_u32 s${i}, s4, ${i * 7919}`).join('\n')}
  s_mov_b32 vcc_lo, 0x1234
  s_mov_b32 vcc_hi, 0x4321
  s_mov_b32 m0, s10
  s_cmp_lg_u32 s4, 3
  v_add_u32_e32 v2, s10, v2
  s_nop 0
  v_xor_b32_e32 v2, s11, v2
  s_cselect_b32 s10, 17, s12
  v_add_u32_e32 v2, vcc_lo, v2
  v_add_u32_e32 v2, vcc_hi, v2
  v_add_u32_e32 v2, m0, v2
${own.map((i) => `  v_add_u32_e32 v2, s${i}, v2`).join('\n')}
${END}`;
    },
  },
  {
    name: 'all registers that the kernel is launched with are live',
    text: (processor) => {
      const scalars = count(10, mostRegisters(processor).sgprCount);
      const vectors = count(3, VECTORS);
      return `${BEGIN}
${scalars.map((i) => `  s_add_u32 s${i}, s4, ${i * 7919}`).join('\n')}
${vectors.map((i) => `  v_add_u32_e32 v${i}, s${10 + (i % 60)}, v0`).join('\n')}
  s_nop 0
  v_add_u32_e32 v3, v3, v4
${scalars.map((i) => `  v_xor_b32_e32 v2, s${i}, v2`).join('\n')}
${vectors.map((i) => `  v_add_u32_e32 v2, v2, v${i}`).join('\n')}
${END}`;
    },
  },
  {
    name: 'lanes that are off hold what is needed, and waves end without any',
    text: () => `${BEGIN}
  v_add_u32_e32 v4, 7, v0
  v_add_u32_e32 v5, 9, v0
  s_mov_b## M10, EXEC
  s_mov_b## EXEC, 0
  v_mov_b32_e32 v4, 100
  v_readlane_b32 s14, v4, 3
  v_writelane_b32 v5, s14, 1
  global_store_dword v1, v4, s[8:9]
  global_load_dword v5, v1, s[8:9]
  s_waitcnt vmcnt(0)
  v_cmp_eq_u32_e32 vcc, v4, v5
  s_add_u32 s14, s14, vcc_lo
  s_mov_b## EXEC, M10
  v_add_u32_e32 v2, s14, v4
  v_add_u32_e32 v2, v2, v5
  global_store_dword v1, v2, s[8:9]
  s_mov_b## EXEC, 0
  s_cmp_eq_u32 s4, 5
  s_cbranch_scc1 early
  v_mov_b32_e32 v2, 11
  s_branch late
early:
  v_mov_b32_e32 v2, 12
  s_endpgm
late:
${END}`,
  },
  {
    name: 'two streams of code overlap, one in the literals of the other',
    // The literals are s_add_u32 s12, s12, 5 and s_branch over one dword.
    text: () => `${BEGIN}
  s_mov_b32 s12, s4
  s_mov_b32 s10, 0
outer:
  s_mov_b32 s11, 0x800c850c
  s_mov_b32 s13, BRANCH
  s_nop 0
  s_add_u32 s10, s10, 1
  s_cmp_lt_u32 s10, 4
  s_cbranch_scc1 outer+4
  s_cmp_lt_u32 s10, 6
  s_cbranch_scc1 outer+12
  v_mov_b32_e32 v2, s12
${END}`,
  },
  {
    name: 'a loop that is entered in its middle',
    text: () => `${BEGIN}
  s_mov_b32 s10, 0
  s_cmp_eq_u32 s4, 2
  s_cbranch_scc1 middle
head:
  s_add_u32 s10, s10, 1
  v_add_u32_e32 v2, 3, v2
middle:
  v_lshlrev_b32_e32 v2, 1, v2
  s_cmp_lt_u32 s10, 5
  s_cbranch_scc1 head
${END}`,
  },
  {
    name: 'a function that returns behind an argument among the code',
    isUnresolved: true,
    refused: /computes with the address behind|may be data/,
    text: () => `${BEGIN}
${addressOf('helper', 12)}
  s_swappc_b64 s[20:21], s[12:13]
  .long 4711
  v_add_u32_e32 v2, s14, v2
${END}
${functionText(
  'helper',
  `  s_load_dword s14, s[20:21], 0x0
  s_waitcnt lgkmcnt(0)
  s_add_u32 s20, s20, 4
  s_addc_u32 s21, s21, 0
  s_setpc_b64 s[20:21]`,
)}`,
  },
  {
    name: 'coroutines that swap their places through one pair of registers',
    text: () => `${BEGIN}
${addressOf('other', 12)}
  s_swappc_b64 s[12:13], s[12:13]
  v_lshlrev_b32_e32 v2, 1, v2
  s_swappc_b64 s[12:13], s[12:13]
  v_lshlrev_b32_e32 v2, 2, v2
  s_swappc_b64 s[12:13], s[12:13]
${END}
${functionText(
  'other',
  `  v_add_u32_e32 v2, 5, v2
  s_swappc_b64 s[12:13], s[12:13]
  v_add_u32_e32 v2, 6, v2
  s_swappc_b64 s[12:13], s[12:13]
  v_add_u32_e32 v2, 7, v2
  s_setpc_b64 s[12:13]`,
)}`,
    isUnresolved: true,
  },
  {
    name: 'a jump to one of several pieces of equal size, by their number',
    isUnresolved: true,
    text: () => `${BEGIN}
${addressOf('pieces', 12)}
  s_and_b32 s10, s4, 3
  s_mul_i32 s10, s10, 12
  s_add_u32 s12, s12, s10
  s_addc_u32 s13, s13, 0
  s_setpc_b64 s[12:13]
pieces:
${[11, 13, 17, 19].map((value) => `  v_add_u32_e32 v2, ${100 * value}, v2\n  s_branch behind`).join('\n')}
behind:
${END}`,
  },
  {
    name: 'a kernel that is called, too, and asks in a register which of both',
    kernels: ['main', 'other'],
    text: () => `${BEGIN}
  s_mov_b32 s16, 0x5a5a
${addressOf('inside', 12)}
  s_swappc_b64 s[18:19], s[12:13]
${END}
${functionText(
  'other',
  `${BEGIN}
  s_mov_b32 s16, 0
inside:
  v_add_u32_e32 v2, 23, v2
  s_cmp_eq_u32 s16, 0x5a5a
  s_cbranch_scc0 alone
  s_setpc_b64 s[18:19]
alone:
${END}`,
)}`,
  },
  {
    name: 'numbers of registers that M0 completes, over branches',
    targets: /gfx9/,
    text: () => `${BEGIN}
${count(4, 12)
  .map((i) => `  v_add_u32_e32 v${i}, ${i}, v0`)
  .join('\n')}
  s_and_b32 s10, s4, 3
  s_set_gpr_idx_on s10, gpr_idx(SRC0,DST)
  v_mov_b32_e32 v4, v6
  s_cmp_eq_u32 s10, 2
  s_cbranch_scc1 skip
  v_mov_b32_e32 v5, v7
skip:
  s_set_gpr_idx_off
${count(4, 12)
  .map((i) => `  v_lshl_add_u32 v2, v2, 1, v${i}`)
  .join('\n')}
${END}`,
  },
  {
    name: 'registers relative to M0',
    targets: /gfx1/,
    text: () => `${BEGIN}
${count(4, 12)
  .map((i) => `  v_add_u32_e32 v${i}, ${i}, v0`)
  .join('\n')}
  s_and_b32 m0, s4, 3
  v_movrels_b32_e32 v12, v4
  s_nop 0
  v_movreld_b32_e32 v5, v12
${count(4, 13)
  .map((i) => `  v_lshl_add_u32 v2, v2, 1, v${i}`)
  .join('\n')}
  v_add_u32_e32 v2, m0, v2
${END}`,
  },
  {
    name: 'a branch into the middle of a clause',
    targets: /gfx1/,
    text: () => `${BEGIN}
  s_mov_b32 s10, 0
  v_mov_b32_e32 v5, 0
  global_store_dword v1, v2, s[8:9]
  s_waitcnt_vscnt null, 0x0
  s_clause 0x2
  global_load_dword v4, v1, s[8:9]
inside:
  global_load_dword v5, v1, s[8:9]
  global_load_dword v6, v1, s[8:9]
  s_waitcnt vmcnt(0)
  s_add_u32 s10, s10, 1
  v_add_u32_e32 v2, v2, v4
  v_add_u32_e32 v2, v2, v5
  s_cmp_lt_u32 s10, 3
  s_cbranch_scc1 inside
${END}`,
  },
  {
    name: 'rounding that differs between parts of the code',
    text: () => `${BEGIN}
  v_cvt_f32_u32_e32 v4, v0
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
  v_mul_f32_e32 v5, 0x3dcccccd, v4
  s_getreg_b32 s10, hwreg(HW_REG_MODE, 0, 2)
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 2
  v_mul_f32_e32 v6, 0x3dcccccd, v4
  v_sub_u32_e32 v2, v5, v6
  v_add_u32_e32 v2, s10, v2
  v_xor_b32_e32 v2, v5, v2
${END}`,
  },
];

const GFX11: readonly (readonly [RegExp, string])[] = [
  [/s_load_dwordx2/g, 's_load_b64'],
  [/s_load_dword\b/g, 's_load_b32'],
  [/global_(load|store)_dword\b/g, 'global_$1_b32'],
  [/v_(add|sub)_u32_e32/g, 'v_$1_nc_u32_e32'],
];
const GFX12: readonly (readonly [RegExp, string])[] = [
  [/s_(add|sub)_u32/g, 's_$1_co_u32'],
  [/s_addc_u32/g, 's_add_co_ci_u32'],
  [/s_waitcnt lgkmcnt\(0\)/g, 's_wait_kmcnt 0x0'],
  [/s_waitcnt vmcnt\(0\)/g, 's_wait_loadcnt 0x0'],
  [/s_waitcnt_vscnt null, 0x0/g, 's_wait_storecnt 0x0'],
];

/** For the assembler. */
export function lawlessSource({ text, kernels = ['main'] }: LawlessCode, processor: string): string {
  const { families, waveSizes, workgroupIdsInTrapRegisters } = targetFor(processor);
  const isOld = families.includes('gfx9');
  const isWide = waveSizes[0] === 64;
  const words: readonly (readonly [RegExp, string])[] = [
    ...(isOld ? [] : GFX11),
    ...(families.includes('gfx12') ? GFX12 : []),
    [/\bEXEC\b/g, isWide ? 'exec' : 'exec_lo'],
    [/, vcc\b|\bvcc,/g, isWide ? '$&' : 'vcc_lo,'],
    [/\bM(\d\d)\b/g, isWide ? 's[$1:($1+1)]' : 's$1'],
    [/b##/g, isWide ? 'b64' : 'b32'],
    [/BRANCH/g, isOld ? '0xbf820001' : '0xbfa00001'],
  ];
  const start = workgroupIdsInTrapRegisters ? '  s_mov_b32 s4, ttmp9\n' : '';
  const body = words.reduce(
    (all, [from, to]) => all.replace(from, to),
    text(processor).replaceAll(BEGIN, start + BEGIN),
  );
  const descriptor = (name: string): string => `
.rodata
.p2align 6
.amdhsa_kernel ${name}
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_user_sgpr_count 4
 .amdhsa_next_free_vgpr ${VECTORS}
 .amdhsa_next_free_sgpr ${isOld ? mostRegisters(processor).sgprCount : 104}
${isOld ? ` .amdhsa_accum_offset ${VECTORS}` : ' .amdhsa_wavefront_size32 1'}
.end_amdhsa_kernel`;
  return [
    '.text',
    ...kernels.map((name) => `.globl ${name}`),
    '.p2align 8\n.type main,@function\nmain:',
    `${body}\n.size main, .-main`,
    ...kernels.map(descriptor),
    '',
  ].join('\n');
}
