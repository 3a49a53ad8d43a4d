/**
 * What was in memory before: code that was decoded there, what another kernel left. Nothing of it is used, or
 * shown, on any executor.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HsaError } from '../src/hsa/index.ts';
import { EXECUTORS, imageOf, KernelRig, kernelText } from './kernel-rig.test-support.ts';

const CODE_BYTES = 256;

/** Functions that store a number at s[8:9]; `go` jumps to the code at its second argument. */
const store = (name: string, value: number): string => `
.text
.globl ${name}
.p2align 8
.type ${name},@function
${name}:
  v_mov_b32 v1, ${value}
  v_mov_b32 v2, 0
  s_movk_i32 s12, 4
.L${name}:
  global_store_dword v2, v1, s[8:9]
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 .L${name}
  s_endpgm
  .fill 56, 4, 0xbf800000
.size ${name}, ${CODE_BYTES}
`;

const GO = `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_setpc_b64 s[10:11]`;

/** Fills scratch with a pattern, or stores what is in it to the first argument, 64 dwords of each lane. */
const scratch = (access: string): string => `
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v3, 0x5ec2e701
  v_mov_b32 v2, 0
  s_movk_i32 s12, 64
  s_waitcnt lgkmcnt(0)
1:
  ${access}
  v_add_u32 v1, 0x100, v1
  v_add_u32 v2, 4, v2
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 1b
  s_endpgm`;
const SCRATCH = ['.amdhsa_private_segment_fixed_size 256', '.amdhsa_system_sgpr_private_segment_wavefront_offset 1'];

/**
 * Registers beyond those that the kernel asked for: the first kernel leaves something in them, the second
 * stores what it finds.
 */
const LEAVE = `
  v_mov_b32 v200, 0x5ec2e701
  v_accvgpr_write_b32 a200, v200
  s_mov_b32 s90, 0x5ec2e701
  s_endpgm`;
const LOOK = `
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_accvgpr_read_b32 v3, a200
  v_or_b32 v3, v200, v3
  v_or_b32 v3, s90, v3
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[8:9]
  s_endpgm`;

const image = imageOf(
  kernelText('leave', LEAVE),
  kernelText('look', LOOK),
  kernelText('go', GO),
  kernelText(
    'fill',
    scratch(
      's_mov_b64 s[16:17], src_private_base\n v_mov_b32 v7, s17\n v_mov_b32 v6, v2\n flat_store_dword v[6:7], v3',
    ),
    SCRATCH,
  ),
  kernelText(
    'show',
    scratch(
      's_mov_b64 s[16:17], src_private_base\n v_mov_b32 v7, s17\n v_mov_b32 v6, v2\n flat_load_dword v3, v[6:7]\n s_waitcnt vmcnt(0) lgkmcnt(0)\n global_store_dword v1, v3, s[8:9]',
    ),
    SCRATCH,
  ),
  store('first', 1),
  store('second', 2),
);

class CodeRig extends KernelRig {
  readonly out = this.allocate(64);

  copyCode(name: string, to: bigint): void {
    this.runtime.view(to, CODE_BYTES).set(this.runtime.view(this.address(name), CODE_BYTES));
  }

  /** What the code at `address` stores. */
  runCode(address: bigint): number {
    this.run('go', this.out, address);
    return this.view(this.out, 4).getUint32(0, true);
  }
}

for (const [executor, options] of Object.entries(EXECUTORS)) {
  test(`${executor}: code is what stands in memory since it was freed, published or permitted again`, () => {
    using rig = new CodeRig(options, image);
    const { memory } = rig.device;
    const code = rig.allocate(CODE_BYTES);
    rig.copyCode('first', code);
    for (let i = 0; i < 3; i++) assert.equal(rig.runCode(code), 1);

    rig.copyCode('second', code);
    rig.device.publishCode({ address: code, sizeBytes: CODE_BYTES, name: 'second', symbols: [] });
    for (let i = 0; i < 3; i++) assert.equal(rig.runCode(code), 2);

    rig.device.withdrawCode(code);
    rig.runtime.cpuAgent.pool('fine-grained').free(code);
    // All memory is used once, so that the same place comes again.
    const places: bigint[] = [];
    for (let sizeBytes = 2 ** 25; sizeBytes >= 4096; sizeBytes /= 2) {
      try {
        for (;;) places.push(memory.allocate(sizeBytes));
      } catch {
        // The next smaller ones.
      }
    }
    const again = places.find((place) => place <= code && code < place + 4096n);
    assert.equal(again, code, 'the same place');
    memory.free(places[0]!);
    rig.copyCode('first', code);
    for (let i = 0; i < 3; i++) assert.equal(rig.runCode(code), 1);
  });

  test(`${executor}: code whose memory the GPU may not read any more does not run`, () => {
    using rig = new CodeRig(options, image);
    const code = rig.allocate(CODE_BYTES);
    rig.copyCode('first', code);
    for (let i = 0; i < 3; i++) assert.equal(rig.runCode(code), 1);
    rig.device.memory.setAccess!(code, false);
    assert.throws(
      () => rig.runCode(code),
      (error: unknown) => error instanceof HsaError && /jump to/.test(error.message),
    );
  });

  test(`${executor}: registers show nothing of other kernels`, () => {
    using rig = new KernelRig(options, image);
    const out = rig.allocate(64 * 4);
    for (let i = 0; i < 3; i++) {
      rig.run('leave');
      // Its waves' state is no longer kept for the kernel: the next one gets it.
      const address = rig.address('leave.kd');
      rig.device.publishCode({ address, sizeBytes: 64, name: 'leave', symbols: [] });
      rig.run('look', out);
      const seen = new Uint32Array(rig.runtime.view(out, 64 * 4).slice().buffer);
      assert.ok(seen.every((dword) => dword === 0));
    }
  });

  test(`${executor}: scratch shows nothing of other kernels`, () => {
    using rig = new KernelRig(options, image);
    const sizeBytes = 64 * 64 * 4;
    const out = rig.allocate(sizeBytes);
    for (let i = 0; i < 3; i++) {
      rig.run('fill', out);
      rig.run('show', out);
      const seen = new Uint32Array(rig.runtime.view(out, sizeBytes).slice().buffer);
      assert.ok(seen.every((dword) => dword === 0));
    }
  });
}
