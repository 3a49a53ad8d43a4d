/** Programs in C that speak HSA, built with gcc, and a kernel for them. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { assembledImage } from '../../src/bench/assembled-kernel.ts';

export const ROOT = path.join(import.meta.dirname, '../..');
export const LAUNCHER = path.join(ROOT, 'bin/wavewright.js');
export const LIBRARY = path.join(ROOT, 'native/hsa/x86-64/libhsa-runtime64.so.1');

/** out[i] = value + i, of { uint32_t *out; uint32_t value; }. */
const STORE = `.text
.globl store
.p2align 8
.type store,@function
store:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x8
  s_lshl_b32 s7, s2, 6
  v_add_u32_e32 v0, s7, v0
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v2, s6, v0
  global_store_dword v1, v2, s[4:5]
  s_endpgm
.size store, .-store
.rodata
.p2align 6
.amdhsa_kernel store
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 12
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: store
    .symbol: store.kd
    .kernarg_segment_size: 12
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
...
.end_amdgpu_metadata
`;

/** A program of the folder hsa-program, built against our library. */
export function buildHsaProgram(name: string, folder: string): string {
  const source = path.join(import.meta.dirname, 'hsa-program', `${name}.c`);
  const file = path.join(folder, name);
  const flags = ['-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', '-pthread', `-I${path.join(ROOT, 'native/hsa')}`];
  execFileSync('gcc', [...flags, '-o', file, source, LIBRARY]);
  return file;
}

/** The code object of `store`. */
export function storeKernel(folder: string): string {
  const file = path.join(folder, 'store.co');
  writeFileSync(file, assembledImage(STORE, 'store').bytes);
  return file;
}
