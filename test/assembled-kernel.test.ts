/** A hand-written kernel: assembled, linked, run on the emulated GPU; and the same on the command line. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { runCommandLine } from '../src/cli/command-line.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { CodeObjectReader, createRuntime } from '../src/hsa/index.ts';
import { linkCodeObject } from '../src/linker/link.ts';

/** Every work-item stores 3 * its number + table[1], which a relocated pointer leads to. */
const SOURCE = `
  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
  .text
  .globl triple
  .p2align 8
  .type triple,@function
triple:
  s_load_dwordx2 s[0:1], s[4:5], 0x0
  s_getpc_b64 s[2:3]
  s_add_u32 s2, s2, pointer@rel32@lo+4
  s_addc_u32 s3, s3, pointer@rel32@hi+12
  s_load_dwordx2 s[2:3], s[2:3], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s6, s[2:3], 4
  v_mul_u32_u24 v1, 3, v0
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  v_add_u32 v1, s6, v1
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.Lend:
  .size triple, .Lend-triple
  .data
  .hidden pointer
  .globl pointer
  .p2align 3
pointer:
  .quad table
table:
  .long 7, 1000
  .section .rodata,"a",@progbits
  .p2align 6
  .amdhsa_kernel triple
    .amdhsa_user_sgpr_private_segment_buffer 1
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 8
    .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
    .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
  .amdgpu_metadata
amdhsa.kernels:
  - .name: triple
    .symbol: triple.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
amdhsa.version: [1, 2]
  .end_amdgpu_metadata
`;

test('a kernel from source runs', () => {
  const image = linkCodeObject([{ name: 'triple.o', bytes: assembleFile(SOURCE) }]);
  const runtime = createRuntime({ devices: [createEmulatedDevice({ processor: 'gfx90a' })] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  executable.loadCodeObject(agent, new CodeObjectReader(image, 'triple.co'));
  executable.freeze();
  const kernel = executable.getSymbol('triple.kd');
  assert.ok(kernel.kind === 'kernel');
  const pool = agent.pool('coarse-grained');
  const [kernarg, output] = [pool.allocate(64), pool.allocate(256)];
  const view = runtime.view(kernarg, 8);
  new DataView(view.buffer, view.byteOffset, 8).setBigUint64(0, output, true);
  const completionSignal = runtime.createSignal(1n);
  runtime.createQueue(agent).dispatch({
    kernel: kernel.kernelObject,
    grid: [64],
    workgroup: [64],
    kernarg,
    completionSignal,
    groupSegmentSizeBytes: kernel.groupSegmentSizeBytes,
    privateSegmentSizeBytes: kernel.privateSegmentSizeBytes,
  });
  completionSignal.waitSync('lt', 1n);
  const results = new Uint32Array(Uint8Array.from(runtime.view(output, 256)).buffer);
  assert.deepEqual(
    [...results],
    Array.from({ length: 64 }, (_, i) => 3 * i + 1000),
  );
});

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-asm-'));
after(() => rmSync(folder, { recursive: true }));

test('wavewright asm: objects, code objects, errors', async () => {
  const run = async (...argv: string[]): Promise<[status: number, stderr: string]> => {
    let stderr = '';
    const status = await runCommandLine(COMMANDS, ['asm', ...argv], {
      stdout: () => {},
      stderr: (data) => {
        stderr += data;
      },
      env: {},
    });
    return [status, stderr];
  };
  const file = (name: string): string => path.join(folder, name);
  writeFileSync(file('k.s'), SOURCE);
  writeFileSync(file('wrong.s'), 's_nop 0\n  v_mov_b32 v0\n');
  assert.deepEqual(await run(file('k.s'), '-o', file('k.o')), [0, '']);
  assert.deepEqual(new Uint8Array(readFileSync(file('k.o'))), assembleFile(SOURCE));
  assert.deepEqual(await run(file('k.o'), '-o', file('k.co')), [0, '']);
  const fromObject = readFileSync(file('k.co'));
  assert.deepEqual(await run(file('k.s'), '-o', file('k.co'), '--mcpu=gfx90a'), [0, '']);
  assert.deepEqual(readFileSync(file('k.co')), fromObject);
  mkdirSync(file('include'));
  writeFileSync(path.join(folder, 'include', 'nops.inc'), '.rept 3\n s_nop 0\n.endr\n');
  writeFileSync(file('nops.s'), '.include "nops.inc"\n');
  writeFileSync(file('empty.s'), '');
  const target = '--mcpu=gfx90a';
  assert.deepEqual(await run(file('nops.s'), '-o', file('nops.o'), target, '-I', file('include')), [0, '']);
  assert.deepEqual(
    new Uint8Array(readFileSync(file('nops.o'))),
    assembleFile(' s_nop 0\n'.repeat(3), { processor: 'gfx90a' }),
  );
  for (const [argv, status, message] of [
    [[file('nops.s'), '-o', file('k.o'), target], 3, /nops\.s:1:10: 'nops\.inc': no such file \[IO\]/],
    [[file('empty.s'), '-o', file('k.o')], 3, /empty\.s: is empty, expected assembler source/],
    [[file('k.o'), '-o', file('l.o')], 2, /k\.o: is an object, expected assembler source/],
    [[file('k.s')], 2, /no output: name it with -o \[USAGE\]/],
    [[file('k.s'), '-o', file('k.elf')], 2, /ends in neither \.o nor \.co/],
    [[file('k.s'), file('k.s'), '-o', file('k.o')], 2, /several files make a \.co/],
    [[file('wrong.s'), '-o', file('k.o')], 2, /no processor/],
    [
      [file('wrong.s'), '-o', file('k.o'), '-mcpu=gfx90a'],
      3,
      /wrong\.s:2:3: too few operands for instruction \[BAD_INPUT\]/,
    ],
    [[file('k.s'), '-o', file('k.o'), '-mattr=+fast'], 2, /unknown feature '\+fast'/],
    [[file('k.s'), '-o', file('k.o'), '-mcpu=gfx803'], 4, /no instruction set for 'gfx803'/],
    [[file('k.s'), '-o', path.join(folder, 'none', 'k.o')], 3, /cannot be written \(ENOENT\)/],
  ] as const) {
    const [found, stderr] = await run(...argv);
    assert.match(stderr, message);
    assert.equal(found, status, stderr);
  }
});
