/** Kernels in assembly: the text around their instructions. */

export interface KernelShape {
  readonly waveSize: 32 | 64;
  readonly sgprCount: number;
  readonly vgprCount: number;
  readonly workgroupSize: number;
  /** Of private memory, in each lane. */
  readonly privateBytes?: number;
  /** More of the descriptor, without `.amdhsa_`. */
  readonly directives?: readonly string[];
}

/** Kernel `k`, which gets the address of one buffer in s[0:1]; `more` stands behind it. */
export function kernelAssembly(body: string, shape: KernelShape, more = ''): string {
  const { waveSize, sgprCount, vgprCount, workgroupSize, privateBytes = 0, directives = [] } = shape;
  const all = [
    ...['user_sgpr_kernarg_segment_ptr 1', 'kernarg_size 8', `private_segment_fixed_size ${privateBytes}`],
    ...[`next_free_vgpr ${vgprCount}`, `next_free_sgpr ${sgprCount}`, ...directives],
  ];
  return `.text
.globl k
.p2align 8
.type k,@function
k:
${body}
.size k, .-k
${more}
.rodata
.p2align 6
.amdhsa_kernel k
${all.map((each) => `  .amdhsa_${each}`).join('\n')}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: ${privateBytes}
    .wavefront_size: ${waveSize}
    .sgpr_count: ${sgprCount}
    .vgpr_count: ${vgprCount}
    .agpr_count: 0
    .max_flat_workgroup_size: ${workgroupSize}
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
`;
}
