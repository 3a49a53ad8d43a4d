/**
 * Code that compilers seldom make, as assembler text: kernels whose first argument leads to memory for
 * results. Each begins with the arguments in s[0:1], the workgroup in s4 and the work-item in v0.
 */

export interface OddCode {
  readonly name: string;
  /** Default gfx90a. */
  readonly processor?: string;
  /** In `.text`; it begins with the code of `main`. */
  readonly text: string;
  /** Kernels that are launched; default `main`. */
  readonly kernels?: readonly string[];
  /** Directives of the descriptors. */
  readonly directives?: string;
  /** Why code stays where it is, and hooks in it are refused. */
  readonly kept?: RegExp;
  /** Why hooks are refused where the code itself moves. */
  readonly refused?: RegExp;
  /** There are jumps whose targets are not known: what runs behind them may not be counted. */
  readonly isUnresolved?: boolean;
  /** All that runs is counted nevertheless. */
  readonly isWholeCounted?: boolean;
  /** Addresses that code reads of itself stay those of the original. */
  readonly isPinned?: boolean;
  /** Tools make the code so large that branches need islands. */
  readonly isFar?: boolean;
}

/** s[8:9]: the results; v1: where that of the lane is, from there. */
const BEGIN = `
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_lshl_b32 s5, s4, 6
  v_add_u32_e32 v1, s5, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
`;
/** Stores v2. */
const END = `
  global_store_dword v1, v2, s[8:9]
  s_endpgm
`;

/** The address of a label into a pair of registers. */
const addressOf = (label: string, first: number): string => `
  s_getpc_b64 s[${first}:${first + 1}]
.Lbase${label}${first}:
  s_add_u32 s${first}, s${first}, ${label}-.Lbase${label}${first}
  s_addc_u32 s${first + 1}, s${first + 1}, 0
`;

const functionText = (name: string, body: string): string => `
.p2align 8
.type ${name},@function
${name}:
${body}
.size ${name}, .-${name}
`;

/** Through memory behind the results, a place for each workgroup, which is as it was then. */
const throughMemory = (label: string): string => `
${addressOf(label, 12)}
  v_mov_b32_e32 v4, s12
  v_mov_b32_e32 v5, s13
  v_mov_b32_e32 v6, 0x4000
  s_lshl_b32 s5, s4, 3
  v_add_u32_e32 v6, s5, v6
  global_store_dwordx2 v6, v[4:5], s[8:9]
  s_waitcnt vmcnt(0)
  global_load_dwordx2 v[4:5], v6, s[8:9]
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v7, 0
  global_store_dwordx2 v6, v[6:7], s[8:9]
  v_readfirstlane_b32 s14, v4
  v_readfirstlane_b32 s15, v5
`;

const call = (label: string): string => `${addressOf(label, 12)}\n  s_swappc_b64 s[30:31], s[12:13]\n`;

export const ODD_CODE: readonly OddCode[] = [
  {
    name: 'instructions that overlap: a branch leads into the literal of another',
    // The literal is s_add_u32 s12, s12, 5.
    text: `${BEGIN}
  s_mov_b32 s10, 0
  s_mov_b32 s12, s4
again:
  s_mov_b32 s11, 0x800c850c
  s_add_u32 s10, s10, 1
  s_cmp_eq_u32 s10, 3
  s_cbranch_scc0 again+4
  v_mov_b32_e32 v2, s12
${END}`,
  },
  {
    name: 'a branch into the middle of another kernel',
    kernels: ['main', 'other'],
    text: `${BEGIN}
  v_mov_b32_e32 v2, 7
  s_branch other_middle
${functionText('other', `${BEGIN}\n  v_mov_b32_e32 v2, 9\nother_middle:\n  v_add_u32_e32 v2, s4, v2\n${END}`)}`,
  },
  {
    name: 'a call of the middle of a function, and of its beginning',
    text: `${BEGIN}
${call('helper')}
${call('helper_middle')}
${END}
${functionText('helper', '  v_add_u32_e32 v2, 100, v2\nhelper_middle:\n  v_lshlrev_b32_e32 v2, 1, v2\n  s_setpc_b64 s[30:31]')}`,
  },
  {
    name: 'a jump to an address that was in memory',
    isUnresolved: true,
    isWholeCounted: true,
    text: `${BEGIN}
${throughMemory('landing')}
  s_setpc_b64 s[14:15]
  s_nop 0
landing:
  v_add_u32_e32 v2, 41, v2
${END}`,
  },
  {
    name: 'a function whose address was in memory, and what it calls',
    isUnresolved: true,
    isWholeCounted: true,
    text: `${BEGIN}
${throughMemory('outer')}
  s_swappc_b64 s[30:31], s[14:15]
${END}
${functionText('outer', `  s_mov_b64 s[34:35], s[30:31]\n${call('inner')}\n  s_mov_b64 s[30:31], s[34:35]\n  s_setpc_b64 s[30:31]`)}
${functionText('inner', '  v_add_u32_e32 v2, 100, v2\n  s_setpc_b64 s[30:31]')}`,
  },
  {
    name: 'jumps through a table of addresses among the code',
    isPinned: true,
    kept: /may be data/,
    isWholeCounted: true,
    text: `${BEGIN}
  s_and_b32 s10, s4, 1
  s_lshl_b32 s10, s10, 3
${addressOf('table', 12)}
  s_load_dwordx2 s[14:15], s[12:13], s10
  s_waitcnt lgkmcnt(0)
  s_setpc_b64 s[14:15]
even:
  v_add_u32_e32 v2, 41, v2
${END}
odd:
  v_add_u32_e32 v2, 43, v2
${END}
.p2align 3
table: .quad even, odd`,
    isUnresolved: true,
  },
  {
    name: 's_call_b64',
    text: `${BEGIN}
  s_call_b64 s[30:31], helper
  s_call_b64 s[34:35], other
${END}
${functionText('helper', '  v_add_u32_e32 v2, 100, v2\n  s_setpc_b64 s[30:31]')}
${functionText('other', '  v_lshlrev_b32_e32 v2, 1, v2\n  s_setpc_b64 s[34:35]')}`,
  },
  {
    name: 'a kernel whose first instruction is branched back to',
    text: `
  s_sub_u32 s4, s4, 1
  v_add_u32_e32 v0, 1, v0
  s_cmp_gt_i32 s4, 0
  s_cbranch_scc1 main
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, s4
  v_add_u32_e32 v2, v0, v2
  s_waitcnt lgkmcnt(0)
${END}`,
  },
  {
    name: 'kernels that share their code',
    kernels: ['main', 'alias'],
    text: `alias:
${BEGIN}
  v_add_u32_e32 v2, s4, v2
${END}`,
  },
  {
    name: 'code without an end, which is not reached',
    text: `${BEGIN}
  s_cmp_eq_u32 s4, 100
  s_cbranch_scc1 last
${END}
last:
  v_mov_b32_e32 v2, 3`,
  },
  {
    name: 'code with EXEC = 0',
    text: `${BEGIN}
  s_mov_b64 s[10:11], exec
  v_cmp_gt_u32_e32 vcc, 3, v0
  s_and_b64 exec, exec, vcc
  s_cbranch_execz none
  v_add_u32_e32 v2, 5, v2
  s_mov_b64 exec, 0
  v_add_u32_e32 v2, 7, v2
  global_store_dword v1, v2, s[8:9]
  s_cbranch_execz none
  v_add_u32_e32 v2, 9, v2
none:
  v_add_u32_e32 v2, 11, v2
  s_mov_b64 exec, s[10:11]
${END}`,
  },
  {
    name: 'registers that M0 completes',
    text: `${BEGIN}
  v_mov_b32_e32 v4, 10
  v_mov_b32_e32 v5, 11
  s_and_b32 s10, s4, 1
  s_set_gpr_idx_on s10, gpr_idx(SRC0)
  v_mov_b32_e32 v2, v4
  s_nop 0
  v_mov_b32_e32 v6, v4
  s_set_gpr_idx_off
  v_add_u32_e32 v2, v2, v6
${END}`,
  },
  {
    name: 's_clause and s_delay_alu',
    processor: 'gfx1100',
    text: `
  s_clause 0x1
  s_load_b64 s[8:9], s[0:1], 0x0
  s_load_b32 s10, s[0:1], 0x0
  s_lshl_b32 s5, s4, 6
  s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_add_nc_u32_e32 v1, s5, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v2, s4
  s_waitcnt lgkmcnt(0)
  s_clause 0x2
  global_load_b32 v4, v1, s[8:9]
  global_load_b32 v5, v1, s[8:9] offset:4
  global_load_b32 v6, v1, s[8:9] offset:8
  s_delay_alu instid0(VALU_DEP_1)
  v_add_nc_u32_e32 v2, v2, v2
  s_waitcnt vmcnt(0)
  global_store_b32 v1, v2, s[8:9]
  s_endpgm`,
  },
  {
    name: 'preloaded arguments: two entries',
    processor: 'gfx942',
    directives: ' .amdhsa_user_sgpr_kernarg_preload_length 2\n .amdhsa_user_sgpr_kernarg_preload_offset 0\n',
    text: `
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_branch body
.p2align 8
body:
  s_lshl_b32 s5, s4, 6
  v_add_u32_e32 v1, s5, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v2, s4
  global_store_dword v1, v2, s[2:3]
  s_endpgm`,
  },
  {
    name: 's_getpc_b64 with a distance in a register',
    isPinned: true,
    text: `${BEGIN}
  s_mov_b32 s14, constants-base
  s_getpc_b64 s[12:13]
base:
  s_add_u32 s12, s12, s14
  s_addc_u32 s13, s13, 0
  s_load_dword s14, s[12:13], 0x4
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s14
${END}
constants: .long 12345, 67890`,
  },
  {
    name: 's_getpc_b64 of constants among the code, its sum used in halves',
    isPinned: true,
    kept: /may be data/,
    isWholeCounted: true,
    text: `${BEGIN}
  s_getpc_b64 s[12:13]
base:
  s_add_u32 s12, s12, constants-base
  s_addc_u32 s13, s13, 0
  s_sub_u32 s16, s12, 4
  s_subb_u32 s17, s13, 0
  s_load_dword s14, s[16:17], 0x4
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s14
${END}
constants: .long 12345, 67890`,
  },
  {
    name: 'bytes that the loader changes, which are decoded as an instruction',
    kept: /the loader changes 'v_cndmask_b32'/,
    text: `${BEGIN}
  s_cmp_eq_u32 s4, 100
  s_cbranch_scc0 over
  .quad over
over:
${END}`,
  },
  {
    name: 'functions that run into each other',
    text: `${BEGIN}
${call('helper')}
${call('second')}
${END}
${functionText('helper', '  v_add_u32_e32 v2, 100, v2')}
${functionText('second', '  v_lshlrev_b32_e32 v2, 1, v2\n  s_setpc_b64 s[30:31]')}`,
  },
  {
    name: 'kernels that run into each other',
    kernels: ['main', 'other'],
    text: `${BEGIN}
  v_mov_b32_e32 v2, 7
${functionText('other', `${BEGIN}\n  v_add_u32_e32 v2, s4, v2\n${END}`)}`,
  },
  {
    name: 'branches over more than 128 KiB of code with hooks',
    isFar: true,
    text: `${BEGIN}
  s_mov_b32 s10, 0
loop:
  s_cmp_eq_u32 s10, 2
  s_cbranch_scc1 done
${'  s_nop 0\n'.repeat(2500)}
  s_add_u32 s10, s10, 1
${'  v_add_u32_e32 v2, 1, v2\n'.repeat(1000)}
  s_branch loop
done:
${END}`,
  },
];

const descriptor = (name: string, processor: string, directives: string): string => `
.rodata
.p2align 6
.amdhsa_kernel ${name}
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
${directives.includes('preload') ? '' : ' .amdhsa_user_sgpr_count 4\n'} .amdhsa_next_free_vgpr 32
 .amdhsa_next_free_sgpr 64
${processor.startsWith('gfx9') ? ' .amdhsa_accum_offset 32\n' : ' .amdhsa_wavefront_size32 1\n'}${directives}.end_amdhsa_kernel
`;

/** All of it for the assembler. */
export function sourceOf({ processor = 'gfx90a', text, kernels = ['main'], directives = '' }: OddCode): string {
  const exported = kernels.map((name) => `.globl ${name}\n`).join('');
  const descriptors = kernels.map((name) => descriptor(name, processor, directives)).join('');
  return `.text\n${exported}.p2align 8\n.type main,@function\nmain:\n${text}\n.size main, .-main\n${descriptors}`;
}
