/**
 * Every workgroup of a grid knows where it is, however it was begun: by the host, as a copy of the one before
 * it, or by another thread, and wherever the target's hardware puts its position.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { nodeThreads } from '../src/devices/emulated/node-threads.ts';
import { createContext } from '../src/kernels/index.ts';

const COUNTS = [7, 5, 3] as const;
const EXECUTORS = {
  reference: { executor: 'reference' },
  T0: { executor: 'handlers' },
  T1: { executor: 'jit', compileThreshold: 0 },
  workers: { executor: 'jit', threads: nodeThreads, workers: 2, workersAtOnce: true },
} as const;

/** Moves the position to s8, s9 and s10; from gfx12 on it comes in trap registers. */
const POSITION = 's_mov_b32 s8, s2\n s_mov_b32 s9, s3\n s_mov_b32 s10, s4';
const TRAP_POSITION = 's_mov_b32 s8, ttmp9\n s_and_b32 s9, ttmp7, 0xffff\n s_lshr_b32 s10, ttmp7, 16';
const GFX9 = {
  ...{ load: 's_load_dwordx2', wait: 's_waitcnt lgkmcnt(0)', store: 'global_store_dword' },
  ...{ add: 's_add_u32', position: POSITION },
};
const GFX11 = { ...GFX9, load: 's_load_b64', store: 'global_store_b32' };
const TARGETS = {
  gfx90a: { ...GFX9, more: '.amdhsa_accum_offset 4' },
  gfx942: { ...GFX9, more: '.amdhsa_accum_offset 4' },
  gfx1030: { ...GFX9, more: '.amdhsa_wavefront_size32 1' },
  gfx1100: { ...GFX11, more: '.amdhsa_wavefront_size32 1' },
  gfx1200: {
    ...GFX11,
    wait: 's_wait_kmcnt 0',
    add: 's_add_co_u32',
    position: TRAP_POSITION,
    more: '.amdhsa_wavefront_size32 1',
  },
};

/** Stores x + 16 y + 256 z at the workgroup's number, counted with x first. */
const source = ({ load, wait, store, add, position, more }: (typeof TARGETS)['gfx90a']): string => `.text
.globl ids
.p2align 8
.type ids,@function
ids:
 ${load} s[6:7], s[0:1], 0x0
 ${position}
 s_mul_i32 s11, s10, ${COUNTS[1]}
 ${add} s11, s11, s9
 s_mul_i32 s11, s11, ${COUNTS[0]}
 ${add} s11, s11, s8
 s_lshl_b32 s11, s11, 2
 v_mov_b32 v1, s11
 s_lshl_b32 s9, s9, 4
 s_lshl_b32 s10, s10, 8
 ${add} s8, s8, s9
 ${add} s8, s8, s10
 v_mov_b32 v2, s8
 ${wait}
 ${store} v1, v2, s[6:7]
 s_endpgm
.size ids, .-ids
.rodata
.p2align 6
.amdhsa_kernel ids
 .amdhsa_kernarg_size 8
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_user_sgpr_count 2
 .amdhsa_system_sgpr_workgroup_id_x 1
 .amdhsa_system_sgpr_workgroup_id_y 1
 .amdhsa_system_sgpr_workgroup_id_z 1
 .amdhsa_next_free_vgpr 4
 .amdhsa_next_free_sgpr 16
 ${more}
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: ids
    .symbol: ids.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: ${more.includes('size32') ? 32 : 64}
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 64
    .args:
      - .value_kind: global_buffer
        .offset: 0
        .size: 8
.end_amdgpu_metadata
`;

for (const [processor, words] of Object.entries(TARGETS)) {
  for (const [name, options] of Object.entries(EXECUTORS)) {
    test(`${processor}, ${name}: every workgroup knows where it is`, async () => {
      using device = createEmulatedDevice({ processor, memorySizeBytes: 2 ** 26, ...options });
      using context = createContext(device);
      const kernel = context.load(source(words), { name: 'ids.s' }).kernel('ids');
      using positions = context.buffer(new Uint32Array(COUNTS[0] * COUNTS[1] * COUNTS[2]));
      await kernel.launch({ grid: COUNTS, workgroup: 1 }, positions);
      const expected = Array.from({ length: positions.length }, (_, i) => {
        const [x, y] = [i % COUNTS[0], Math.floor(i / COUNTS[0]) % COUNTS[1]];
        return x + 16 * y + 256 * Math.floor(i / (COUNTS[0] * COUNTS[1]));
      });
      assert.deepEqual([...positions.read()], expected);
    });
  }
}
