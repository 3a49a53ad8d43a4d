// scale(int *out, int factor): out[i] = i * factor, one element per work-item. Launch: one workgroup of any size up to 256.
    .text
    .globl scale
    .p2align 8
    .type scale,@function
scale:                                      // s[0:1]: the kernel's arguments, v0: the work-item
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    s_load_dword s4, s[0:1], 0x8
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    v_mul_lo_u32 v2, v0, s4
    global_store_dword v1, v2, s[2:3]
    s_endpgm
    .size scale, .-scale

    .rodata
    .p2align 6
    .amdhsa_kernel scale
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_kernarg_size 12
        .amdhsa_next_free_vgpr 3
        .amdhsa_next_free_sgpr 5
        .amdhsa_accum_offset 4
    .end_amdhsa_kernel

    .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: scale
    .symbol: scale.kd
    .kernarg_segment_size: 12
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 5
    .vgpr_count: 3
    .max_flat_workgroup_size: 256
    .args:
      - .name: out
        .type_name: 'int*'
        .value_kind: global_buffer
        .address_space: global
        .offset: 0
        .size: 8
      - .name: factor
        .type_name: int
        .value_kind: by_value
        .offset: 8
        .size: 4
    .end_amdgpu_metadata
