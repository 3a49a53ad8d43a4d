/**
 * Lanes that access memory at equal distances are looked at together only where no hole fits between them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HsaError } from '../src/hsa/index.ts';
import { EXECUTORS, imageOf, KernelRig, kernelText } from './kernel-rig.test-support.ts';

/** Every lane stores or loads two words at the first argument plus its number times the second one. */
const KERNEL = (access: string): string => `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_and_b32 v0, 63, v0
  v_mov_b32 v3, 7
  s_movk_i32 s12, 4
  s_waitcnt lgkmcnt(0)
  v_mul_lo_u32 v1, v0, s10
1:
  ${access}
  s_waitcnt vmcnt(0)
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 1b
  s_endpgm`;
const image = imageOf(
  kernelText('store', KERNEL('global_store_dword v1, v3, s[8:9]\n global_store_dword v1, v3, s[8:9] offset:4')),
  kernelText('load', KERNEL('global_load_dword v3, v1, s[8:9]\n global_load_dword v4, v1, s[8:9] offset:4')),
);

const SIZE_BYTES = 2 ** 17;
const PAGE_BYTES = 4096n;

for (const [executor, options] of Object.entries(EXECUTORS)) {
  test(`${executor}: first and last lane are in two allocations, others between them`, () => {
    for (const kernel of ['store', 'load']) {
      for (const stride of [4n, 128n, 132n, 256n, 1024n, 1028n]) {
        using rig = new KernelRig(options, image);
        const { memory } = rig.device;
        const [first, second] = [memory.allocate(SIZE_BYTES), memory.allocate(SIZE_BYTES)].toSorted() as [
          bigint,
          bigint,
        ];
        const end = first + BigInt(SIZE_BYTES);
        assert.equal(second, end + PAGE_BYTES, 'a hole is between them');
        // Compiled where all is permitted.
        for (let i = 0; i < 3; i++) rig.run(kernel, first, stride);
        const start = end - 6n * stride;
        assert.throws(
          () => rig.run(kernel, start, stride),
          (error) => error instanceof HsaError && new RegExp(`address 0x${end.toString(16)} `).test(error.message),
          `${kernel}, ${stride} bytes apart`,
        );
      }
    }
  });
}
