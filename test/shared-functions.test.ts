/**
 * Functions that other code objects call by their names, with tools in them: waves of kernels that know
 * nothing of the tools run them, and keep all that the calling convention promises.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { dispatchKernel } from '../src/dispatch/dispatch.ts';
import { parseArgument } from '../src/launch/argument-text.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';

const PROCESSOR = 'gfx90a';
const [LANES, FIRST_SCALAR, SCALARS] = [64, 34, 96];
/** VGPRs that a callee gives back as they were (LLVM AMDGPU usage, "Non-Kernel Functions"). */
const KEPT_VECTORS = [40, 41, 47, 56, 63, 72, 79];

const kernel = (name: string, body: readonly string[], vgprs: number, sgprs: number): string => `.text
.globl ${name}
.p2align 8
.type ${name},@function
${name}:
${body.join('\n')}
s_endpgm
.size ${name}, .-${name}
.rodata
.p2align 6
.amdhsa_kernel ${name}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr ${vgprs}
  .amdhsa_next_free_sgpr ${sgprs}
  .amdhsa_accum_offset ${vgprs}
.end_amdhsa_kernel
`;

/** Calls `twice`, which the address is made of as `how` says. */
const call = (how: 'rel32' | 'gotpcrel32'): readonly string[] => [
  's_getpc_b64 s[8:9]',
  `s_add_u32 s8, s8, twice@${how}@lo+4`,
  `s_addc_u32 s9, s9, twice@${how}@hi+12`,
  ...(how === 'gotpcrel32' ? ['s_load_dwordx2 s[8:9], s[8:9], 0x0', 's_waitcnt lgkmcnt(0)'] : []),
  's_swappc_b64 s[30:31], s[8:9]',
];
const store = ['s_load_dwordx2 s[4:5], s[0:1], 0x0', 's_waitcnt lgkmcnt(0)', 'global_store_dword v2, v0, s[4:5]'];

const LIBRARY = `${kernel('own', ['v_lshlrev_b32_e32 v2, 2, v0', ...call('rel32'), ...store], 8, 32)}
.text
.globl twice
.p2align 2
.globl twice
.protected twice
.type twice,@function
twice:
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
v_add_u32_e32 v0, v0, v0
s_setpc_b64 s[30:31]
.size twice, .-twice
`;

/** All that is kept is live over the call. */
const OTHER = kernel(
  'other',
  [
    'v_lshlrev_b32_e32 v2, 2, v0',
    'v_mov_b32_e32 v80, v2',
    ...KEPT_VECTORS.map((i) => `v_add_u32_e32 v${i}, ${i * 7919}, v0`),
    ...Array.from({ length: SCALARS - FIRST_SCALAR }, (_, i) => `s_mov_b32 s${FIRST_SCALAR + i}, ${(i + 1) * 104729}`),
    's_mov_b64 s[34:35], s[0:1]',
    ...call('gotpcrel32'),
    's_mov_b64 s[0:1], s[34:35]',
    ...KEPT_VECTORS.map((i) => `v_add_u32_e32 v0, v0, v${i}`),
    ...Array.from({ length: SCALARS - 36 }, (_, i) => `v_add_u32_e32 v0, s${36 + i}, v0`),
    'v_mov_b32_e32 v2, v80',
    ...store,
  ],
  88,
  SCALARS,
);

const linked = (text: string, name: string): Uint8Array =>
  linkCodeObject([{ bytes: assembleFile(text, { processor: PROCESSOR }), name }]);

async function outputOf(kernelName: string, tool?: string) {
  const session = tool === undefined ? undefined : new ToolSession([await chooseTool(tool)]);
  const library = { bytes: linked(LIBRARY, 'library.o'), name: 'library.co' };
  const device = await createEmulatedDevice({ processor: PROCESSOR });
  try {
    const { outputs } = dispatchKernel({
      device,
      images: [{ bytes: linked(OTHER, 'other.o'), name: 'other.co' }, session ? session.instrument(library) : library],
      ...{ kernel: kernelName, grid: [LANES], workgroup: [LANES], observer: session },
      args: [parseArgument(`out:numbers:${4 * LANES}`, () => assert.fail('no file is read'))],
    });
    session?.onFinished();
    return { output: [...new Uint32Array(outputs[0]!.bytes.slice().buffer)], report: session?.reports[0] };
  } finally {
    device.close();
  }
}

for (const tool of ['instruction-count', 'block-count', 'opcode-histogram']) {
  test(`${tool}: a kernel of another code object calls a function that a kernel of its own calls, too`, async () => {
    for (const name of ['own', 'other']) {
      const { output } = await outputOf(name);
      const { output: found, report } = await outputOf(name, tool);
      assert.deepEqual(found, output, name);
      assert.deepEqual(report?.coverage.refused, {});
      if (tool === 'opcode-histogram') continue;
      const { rows } = report!.result.tables.find((each) => each.name === 'instructions')!;
      const counted = rows.filter(([, , , text]) => text === 'v_add_u32_e32 v0, v0, v0').map((row) => row[4]);
      assert.deepEqual(counted, [64n], name);
    }
  });
}
