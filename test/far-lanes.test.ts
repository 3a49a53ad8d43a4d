/**
 * Lanes that access memory at equal distances are looked at together only where no hole fits between them,
 * and their indices do not wrap.
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
/** The same where a lane's address is not the sum of a base and an index. */
const APART = (access: string): string => KERNEL(`v_add_u32 v4, s8, v1\n v_mov_b32 v5, s9\n ${access}`);
const image = imageOf(
  kernelText('store', KERNEL('global_store_dword v1, v3, s[8:9]\n global_store_dword v1, v3, s[8:9] offset:4')),
  kernelText('load', KERNEL('global_load_dword v3, v1, s[8:9]\n global_load_dword v4, v1, s[8:9] offset:4')),
  kernelText('apart', APART('global_load_dword v3, v[4:5], off\n global_load_dword v6, v[4:5], off offset:4')),
);

const SIZE_BYTES = 2 ** 17;
const PAGE_BYTES = 4096n;

for (const [executor, options] of Object.entries(EXECUTORS)) {
  test(`${executor}: first and last lane are in two allocations, others between them`, () => {
    for (const kernel of ['store', 'load', 'apart']) {
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

/** Every lane loads or stores a word at the first argument plus four times its number and the second one. */
const INDEXED = (access: string): string =>
  KERNEL(`
  v_add_u32 v4, s10, v0
  v_ashrrev_i32_e32 v5, 31, v4
  v_lshlrev_b64 v[4:5], 2, v[4:5]
  v_mov_b32 v6, s9
  v_add_co_u32_e32 v4, vcc, s8, v4
  v_addc_co_u32_e32 v5, vcc, v6, v5, vcc
  ${access}`);
/** The same with a number of bytes that is not signed. */
const BYTES = (access: string): string =>
  KERNEL(`
  v_lshlrev_b32 v4, 2, v0
  v_add_u32 v4, s10, v4
  ${access}`);
const indexed = imageOf(
  kernelText('signed_load', INDEXED('global_load_dword v3, v[4:5], off')),
  kernelText('signed_store', INDEXED('global_store_dword v[4:5], v3, off')),
  kernelText('unsigned_load', BYTES('global_load_dword v3, v4, s[8:9]')),
  kernelText('unsigned_store', BYTES('global_store_dword v4, v3, s[8:9]')),
);
/** Bytes by which the first lane's index moves its address, whose eighth follower wraps. */
const WRAPPING = [
  { sign: 'signed', index: 2n ** 31n - 8n, bytes: 2n ** 33n - 32n, wrapsTo: -(2n ** 33n) },
  { sign: 'unsigned', index: 2n ** 32n - 32n, bytes: 2n ** 32n - 32n, wrapsTo: 0n },
];

for (const [executor, options] of Object.entries(EXECUTORS).filter(([name]) => name !== 'workers')) {
  for (const { sign, index, bytes, wrapsTo } of WRAPPING) {
    for (const access of ['load', 'store']) {
      const kernel = `${sign}_${access}`;
      test(`${executor}: ${kernel} of a base and an index that wraps`, () => {
        using rig = new KernelRig(options, indexed);
        const start = rig.device.memory.allocate(SIZE_BYTES);
        const faults = (base: bigint, first: bigint, address: bigint): void =>
          assert.throws(
            () => rig.run(kernel, base, first),
            (error) => error instanceof HsaError && error.message.includes(`address 0x${address.toString(16)} `),
            `0x${address.toString(16)}`,
          );
        for (let i = 0; i < 3; i++) rig.run(kernel, start, 8n);
        rig.run(kernel, start + 1024n - bytes - 64n * 4n, index - (sign === 'signed' ? 64n : 256n));
        const base = start + 1024n - bytes;
        faults(base, index, base + wrapsTo);
      });

      test(`${executor}: ${kernel} in another window`, () => {
        using rig = new KernelRig(options, indexed);
        const start = rig.device.memory.allocate(SIZE_BYTES);
        for (let i = 0; i < 3; i++) rig.run(kernel, start, 8n);
        const other = start + 2n ** 32n;
        assert.throws(
          () => rig.run(kernel, other, 0n),
          (error) => error instanceof HsaError && error.message.includes(`address 0x${other.toString(16)} `),
        );
      });
    }
  }
}
