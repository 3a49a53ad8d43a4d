/**
 * A wave that names registers out of range at run time, in a loop over all indices, beside waves that only
 * wait for it: none of their registers changes, nor its own. On all executors, and with workgroups on several
 * threads.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { nodeThreads } from '../src/devices/emulated/node-threads.ts';
import { linkCodeObject } from '../src/linker/link.ts';

/**
 * Each of them has a destination or a source that all indices, or all from some on, lead out of its file;
 * what is in range comes first.
 */
const ATTACKS = [
  'v_accvgpr_write_b32 a255, v1',
  'v_accvgpr_write_b32 a224, v1',
  'v_mov_b32 v255, v1',
  'v_add_co_u32 v254, s[30:31], v1, v1',
  'v_mfma_f32_32x32x1f32 a[190:221], v128, v24, a[114:145]',
  'v_mfma_f32_32x32x1f32 v[224:255], v128, v24, v[114:145]',
  'v_mfma_f64_16x16x4f64 a[248:255], v[2:3], v[4:5], a[248:255]',
  'v_pk_mov_b32 v[254:255], v[2:3], v[4:5]',
];
/** From where on an index leads the destination out of its file. */
const FIRST_INDICES = [1, 32, 1, 2, 35, 1, 1, 1];
const DST = 8;

const attack = (text: string, i: number): string => `
  s_movk_i32 s20, ${FIRST_INDICES[i]}
.Lnext${i}:
  s_set_gpr_idx_on s20, ${DST}
  ${text}
  s_set_gpr_idx_off
  s_add_u32 s20, s20, 1
  s_cmp_lt_u32 s20, 0x100
  s_cbranch_scc1 .Lnext${i}`;

/**
 * Waves of four; the second one attacks. All store 1 from every lane where s11, s31, v5, v255, a0, a7, a255
 * and VCC are what they had been set to, else which one is not.
 */
const SOURCE = `
  .text
  .globl attack
  .p2align 8
  .type attack,@function
attack:
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s12, s2
  v_lshrrev_b32 v2, 6, v0
  v_readfirstlane_b32 s10, v2
  s_movk_i32 s11, 0x1234
  s_movk_i32 s30, 0x77
  s_movk_i32 s31, 0x78
  s_mov_b64 vcc, 0x55
  v_mov_b32 v1, 0x41414141
  v_mov_b32 v4, 0
  v_mov_b32 v5, 0x99
  v_mov_b32 v255, 0x98
  v_accvgpr_write_b32 a0, v5
  v_accvgpr_write_b32 a7, v5
  v_accvgpr_write_b32 a255, v5
  s_cmp_lg_u32 s10, 1
  s_cbranch_scc1 .Lwait
${ATTACKS.map(attack).join('')}
.Lwait:
  s_barrier
  s_movk_i32 s13, 1
${[
  ['s11', '0x1234'],
  ['s30', '0x77'],
  ['s31', '0x78'],
  ['vcc_lo', '0x55'],
]
  .map(
    ([register, value], i) => `
  s_cmp_lg_u32 ${register}, ${value}
  s_cselect_b32 s13, ${i + 2}, s13`,
  )
  .join('')}
  v_mov_b32 v3, s13
  v_accvgpr_read_b32 v6, a0
  v_accvgpr_read_b32 v7, a7
  v_accvgpr_read_b32 v8, a255
${[
  ['v5', '0x99'],
  ['v6', '0x99'],
  ['v7', '0x99'],
  ['v8', '0x99'],
  ['v255', '0x98'],
]
  .map(
    ([register, value], i) => `
  v_xor_b32 v9, ${value}, ${register}
  v_cmp_ne_u32 s[14:15], 0, v9
  v_cndmask_b32 v3, v3, ${i + 10}, s[14:15]`,
  )
  .join('')}
  v_and_b32 v0, 0x3ff, v0
  s_lshl_b32 s12, s12, 10
  v_lshl_add_u32 v0, v0, 2, s12
  global_store_dword v0, v3, s[6:7]
  s_endpgm
.Lend:
  .size attack, .Lend-attack
  .section .rodata,"a",@progbits
  .p2align 6
  .amdhsa_kernel attack
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 8
    .amdhsa_next_free_vgpr 512
    .amdhsa_next_free_sgpr 96
    .amdhsa_accum_offset 256
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: attack
    .symbol: attack.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: 512
    .max_flat_workgroup_size: 256
    .args:
      - .address_space: global
        .offset: 0
        .size: 8
        .value_kind: global_buffer
...
  .end_amdgpu_metadata
`;

const bytes = linkCodeObject([{ bytes: assembleFile(SOURCE, { processor: 'gfx90a' }), name: 'attack.o' }]);

for (const [executor, workers] of [
  ['reference', 0],
  ['handlers', 0],
  ['jit', 0],
  ['handlers', 2],
  ['jit', 2],
] as const) {
  test(`${executor}, ${workers} workers: registers of neighbouring waves stay as they are`, () => {
    const threads = workers > 0 ? { threads: nodeThreads, workers, workersAtOnce: true } : {};
    using runner = new KernelRunner({ processor: 'gfx90a', executor, compileThreshold: 2, ...threads });
    const groups = executor === 'reference' ? 1 : 6;
    const launch = { grid: [256 * groups], workgroup: [256], args: [{ sizeBytes: 1024 * groups }] };
    const { output } = runner.prepare({ name: 'attack.co', bytes }, 'attack', launch)();
    const words = new Uint32Array(output.buffer, output.byteOffset, 256 * groups);
    for (const [item, word] of words.entries()) assert.equal(word, 1, `work-item ${item}`);
  });
}
