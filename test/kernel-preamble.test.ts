/** Kernels get more of the launch than they asked for, and find everything else where it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { dispatchKernel } from '../src/dispatch/dispatch.ts';
import { instrumentCodeObject } from '../src/instrument/instrument.ts';
import { type KeptValue, kernelPreamble } from '../src/instrument/kernel/preamble.ts';
import type { CodeItem } from '../src/instrument/layout/code-item.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../src/isa/amdgpu/text/assembler/assemble.ts';
import { parseArgument } from '../src/launch/argument-text.ts';
import { linkCodeObject } from '../src/linker/link.ts';

/** The register of each value that the kernel begins with, without the preamble. */
interface Registers {
  readonly processor: string;
  readonly users: string;
  readonly args: number;
  readonly x: number;
}

/**
 * Each workgroup stores its x where the argument leads. The branch, never taken, comes back to the first
 * instruction, and must not come to the preamble.
 */
const source = ({ users, args, x }: Registers): string => `
.text
.globl first
.p2align 8
.type first,@function
first:
  s_cmp_eq_u32 s${x}, 12345
  s_cbranch_scc1 first
  s_load_dwordx2 s[20:21], s[${args}:${args + 1}], 0x0
  v_mov_b32_e32 v2, s${x}
  v_lshlrev_b32_e32 v1, 3, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[20:21]
  s_endpgm
.size first, .-first
.rodata
.p2align 6
.amdhsa_kernel first
  ${users}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_kernarg_size 8
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 24
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: first
    .symbol: first.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: ${users.includes('wavefront_size32') ? 32 : 64}
    .sgpr_count: 24
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
`;

/** What gfx11 calls the instructions of the kernel and of the payload. */
const GFX11_NAMES: readonly (readonly [old: string, name: string])[] = [
  ['s_load_dwordx2', 's_load_b64'],
  ['s_load_dword', 's_load_b32'],
  ['global_store_dword', 'global_store_b32'],
];
const inNamesOf = (processor: string, text: string): string =>
  processor.startsWith('gfx11') ? GFX11_NAMES.reduce((said, [old, name]) => said.replaceAll(old, name), text) : text;

const KEPT = 40;
const dispatchPtr: KeptValue = { kind: 'initial', value: 'dispatchPtr', first: KEPT };
const WAVE32 = '.amdhsa_wavefront_size32 1';
const CASES: readonly Registers[] = [
  { processor: 'gfx90a', users: '.amdhsa_accum_offset 8', args: 0, x: 2 },
  { processor: 'gfx90a', users: '.amdhsa_accum_offset 8\n.amdhsa_user_sgpr_private_segment_buffer 1', args: 4, x: 6 },
  { processor: 'gfx90a', users: '.amdhsa_accum_offset 8\n.amdhsa_user_sgpr_dispatch_ptr 1', args: 2, x: 4 },
  { processor: 'gfx942', users: '.amdhsa_accum_offset 8', args: 0, x: 2 },
  { processor: 'gfx1030', users: WAVE32, args: 0, x: 2 },
  { processor: 'gfx1100', users: `${WAVE32}\n.amdhsa_user_sgpr_count 15`, args: 0, x: 15 },
];

for (const registers of CASES) {
  const { processor, users } = registers;
  test(`${processor}, ${users.replaceAll('\n', ', ')}: the size of the grid is read at the end`, async () => {
    const target = targetFor(processor);
    const waveSize = users.includes(WAVE32) ? 32 : 64;
    const object = assembleFile(inNamesOf(processor, source(registers)), { processor });
    const bytes = linkCodeObject([{ bytes: object, name: 'first.o' }]);
    const atEnd = [
      `s_load_dword s${KEPT}, s[${KEPT}:${KEPT + 1}], 0xc`,
      's_waitcnt lgkmcnt(0)',
      `v_mov_b32_e32 v2, s${KEPT}`,
      'global_store_dword v1, v2, s[20:21] offset:4',
    ].map((text): CodeItem => {
      const { words } = assembleInstruction(inNamesOf(processor, text), { target, waveSize });
      return { kind: 'instruction', words };
    });
    const instrumented = instrumentCodeObject(bytes, {
      edit: (step) => (step.control === 'end' ? { before: atEnd } : undefined),
      preambleOf: ([kernel]) => {
        const preamble = kernelPreamble(kernel!, processor, { kept: [dispatchPtr] });
        assert.ok(typeof preamble !== 'string', String(preamble));
        return preamble;
      },
    });
    const device = await createEmulatedDevice({ processor });
    try {
      const { outputs } = dispatchKernel({
        device,
        images: [{ bytes: instrumented.bytes, name: 'first.co' }],
        ...{ grid: [3 * 64], workgroup: [64] },
        args: [
          parseArgument('out:numbers:24', () => {
            throw new Error('no file is read');
          }),
        ],
      });
      const numbers = new Uint32Array(outputs[0]!.bytes.slice().buffer);
      assert.deepEqual([...numbers], [0, 192, 1, 192, 2, 192]);
    } finally {
      device.close();
    }
  });
}
