/**
 * The assembler against LLVM's: the texts of random instructions, the objects of compiled sources section by
 * section, and what linked code objects do.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { assembleFile } from '../../src/assembler/assemble-file.ts';
import { WavewrightError } from '../../src/base/errors.ts';
import { type ElfFile, parseElf } from '../../src/elf/elf.ts';
import { bytesOf } from '../../src/isa/amdgpu/encoding/encode.ts';
import { targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../../src/isa/amdgpu/text/assembler/assemble.ts';
import { linkCodeObject } from '../../src/linker/link.ts';
import { encodingSamples } from './encoding-samples.ts';
import { LLVM_ERRATA } from './llvm-errata.ts';
import { llvmAssemble, llvmDisassemble } from './llvm-mc.ts';
import { describeObject } from './object-description.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-assembler-'));
after(() => rmSync(folder, { recursive: true }));

function execute(command: string, args: readonly string[], input?: string): { stdout: string; stderr: string } {
  const options = {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    timeout: 120_000,
    ...(input && { input }),
  } as const;
  const { status, stdout, stderr, signal } = spawnSync(command, args, options);
  assert.ok(status === 0 || status === 1, `${command}: ${signal ?? stderr.slice(0, 500)}`);
  return { stdout, stderr };
}

function ownAssemble(text: string, processor: string, waveSize: 32 | 64): string | undefined {
  try {
    const { words } = assembleInstruction(text, { target: targetFor(processor), waveSize });
    return Buffer.from(bytesOf(words)).toString('hex');
  } catch (error) {
    if (error instanceof WavewrightError && error.code === 'BAD_INPUT') return undefined;
    throw error;
  }
}

/** Images are known by name only. */
const ABSENT = /^image_/;
/** Texts that one process of llvm-mc takes. */
const BATCH = 50_000;
const SAMPLES_PER_ENCODING = 110;
/**
 * Of all texts, those that LLVM's assembler refuses and ours takes: combinations that its many checks find.
 */
const LENIENCY = 0.02;

for (const [processor, waveSize] of [
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1100', 32],
] as const) {
  test(`${processor}: texts of random instructions assemble to the same bytes`, () => {
    const samples = encodingSamples(SAMPLES_PER_ENCODING / (processor === 'gfx1100' ? 4 : 1), 7, processor).map(
      ({ words }) => words,
    );
    const texts = new Set<string>();
    for (let at = 0; at < samples.length; at += BATCH) {
      for (const text of llvmDisassemble(samples.slice(at, at + BATCH), processor, waveSize)) {
        const first = text?.split('; ')[0];
        if (first !== undefined && !ABSENT.test(first) && !LLVM_ERRATA.some((erratum) => erratum.text.test(first)))
          texts.add(first);
      }
    }
    const all = [...texts];
    const differences: string[] = [];
    let accepted = 0;
    let lenient = 0;
    for (let at = 0; at < all.length; at += BATCH) {
      const batch = all.slice(at, at + BATCH);
      for (const [index, expected] of llvmAssemble(batch, processor, waveSize).entries()) {
        const text = batch[index]!;
        const own = ownAssemble(text, processor, waveSize);
        if (expected === undefined) {
          if (own !== undefined) lenient++;
          continue;
        }
        accepted++;
        if (own !== expected) differences.push(`${text}: ${own}, expected ${expected}`);
      }
    }
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > 25_000, `${accepted} of ${all.length} texts accepted`);
    assert.ok(lenient < LENIENCY * all.length, `${lenient} of ${all.length} texts accepted that LLVM refuses`);
  });
}

const C = ['-std=c17', '-ffreestanding', '-nostdlibinc', '-isystem', 'examples/device/include', '-Iexamples/device'];
const OPENCL = ['-x', 'cl', '-cl-std=CL2.0', '-Xclang', '-finclude-default-header', '-Itest/data/opencl'];
const SOURCES: readonly (readonly [source: string, ...options: string[]])[] = [
  ...['algorithms', 'floats', 'groups', 'integers', 'memory', 'vectors'].map(
    (name) => [`test/data/opencl/${name}.cl`, ...OPENCL] as const,
  ),
  ...['crt', 'stdio', 'stdlib', 'string'].map((name) => [`examples/device/${name}.c`, ...C] as const),
  ...['hello', 'quicksort', 'sha256'].map((name) => [`examples/${name}/${name}.c`, ...C] as const),
  ['examples/checks/constructors.c', ...C],
];

/** Assembler source of a C source, as a file. */
function compile(source: string, options: readonly string[], processor: string): string {
  const output = path.join(folder, `${path.basename(source)}.${processor}.s`);
  const common = [
    '--target=amdgcn-amd-amdhsa',
    `-mcpu=${processor}`,
    '-mcode-object-version=5',
    '-nogpulib',
    '-w',
    '-O2',
  ];
  const { stderr } = execute('clang-19', [...common, ...options, '-S', source, '-o', output]);
  assert.equal(stderr, '');
  return output;
}

/** Every directive and operator in one file. */
const HAND_WRITTEN = `
  .amdgcn_target "TARGET"
  .amdhsa_code_object_version 5
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
  s_load_dwordx2 s[0:1], s[4:5], 0x0 ; a comment
  s_branch k // a global label
  s_branch .Lnear
.Lnear: /* over
  lines */ s_nop 0
1:
  s_cbranch_scc0 1b
  s_cbranch_scc1 1f
1:
  s_add_u32 s0, s0, near@rel32@lo+4
  s_addc_u32 s1, s1, near@rel32@hi+12
  s_add_u32 s0, s0, far@gotpcrel32@lo+4
  s_addc_u32 s1, s1, far@gotpcrel32@hi+12
  s_mov_b32 s2, far@abs32@lo
  s_mov_b32 s3, far@abs32@hi
  s_mov_b32 s4, far
  s_mov_b32 s5, near
  s_mov_b32 s6, .Lnear-k
  .set early, (1 << 4) | 3
  s_mov_b32 s7, early
  s_mov_b32 s8, early * 100 + ~1
  s_mov_b32 s9, late
near:
  s_endpgm
.Lend:
  .size k, .Lend-k
  .p2align 4
  .fill 3, 4, 0xbf800000
  .section .rodata,"a",@progbits
  .p2align 6, 0x0
  .amdhsa_kernel k
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr + 8
    .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
    .amdhsa_float_denorm_mode_32 3
    ACCUM
  .end_amdhsa_kernel
  .long far, near, late, far-., .Lend-k, 3 == 3, 2 > 5, !4, 7 % 4, 0x10 >> 2, 017, 0b101
  .quad far, near+8, far@rel64, -1
  .short 0x1234, 1
  .byte 1, 2, 'T' - 0
  .ascii "a\\tb\\n\\101\\x41\\""
  .asciz "zero"
  .string "one", "two"
  .data
  .globl table
  .type table,@object
table:
  .zero 5
  .balign 8
  .space 3, 7
  .skip 2
  .org table + 32, 1
  .quad table
  .size table, .-table
  .float 1.5, -2.25
  .double 0.1
  .bss
  .skip 12
  .pushsection .note.GNU-stack,"",@progbits
  .popsection
  .section .custom,"awx",@progbits
  .previous
  .comm common, 8, 4
  .local space
  .comm space, 16, 3
  .weak weakling
  .hidden hidden_far
  .protected table
  .set alias, near + 4
  .globl alias
  other = 5
  .set late, 7
  .ident "by hand"
  .addrsig
  .addrsig_sym table
  .amdgpu_metadata
---
amdhsa.kernels:
  - .name:           k
    .symbol:         k.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 300
    .max_flat_workgroup_size: 0x100
    .uses_dynamic_stack: false
    .reqd_workgroup_size: [ 64, 1, 70000 ]
    .args:
      - .offset: 0
        .size: 8
        .value_kind: 'global_buffer'
        .type_name: 'it''s'
        .name: "a long name of more than thirty-one characters"
amdhsa.version:
  - 1
  - 2
...
  .end_amdgpu_metadata
`.replace(", 'T' - 0", '');

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  const theirs = (source: string): ElfFile => {
    const output = `${source}.o`;
    execute('llvm-mc-19', [
      '--triple=amdgcn-amd-amdhsa',
      `--mcpu=${processor}`,
      '--filetype=obj',
      source,
      '-o',
      output,
    ]);
    return parseElf(readFileSync(output));
  };

  test(`${processor}: objects of compiled sources are those of LLVM`, () => {
    for (const [source, ...options] of SOURCES) {
      const file = compile(source, options, processor);
      const own = parseElf(assembleFile(readFileSync(file, 'utf8'), { file }));
      assert.deepEqual(describeObject(own), describeObject(theirs(file)), source);
    }
  });

  test(`${processor}: every directive and operator means what it means to LLVM`, () => {
    const file = path.join(folder, `hand.${processor}.s`);
    const accumulators = processor === 'gfx1100' ? '' : '.amdhsa_accum_offset 4';
    const names = processor === 'gfx1100' ? HAND_WRITTEN.replace('s_load_dwordx2', 's_load_b64') : HAND_WRITTEN;
    const source = names.replace('TARGET', `amdgcn-amd-amdhsa--${processor}`).replace('ACCUM', accumulators);
    writeFileSync(file, source);
    assert.deepEqual(describeObject(parseElf(assembleFile(source, { file }))), describeObject(theirs(file)));
  });

  test(`${processor}: assembled and linked programs run as those of clang and lld`, () => {
    const parts = ['crt', 'stdio', 'stdlib', 'string'].map((name) => `examples/device/${name}.c`);
    for (const [program, ...args] of [
      ['examples/hello/hello.c', 'world'],
      ['examples/quicksort/quicksort.c', '500'],
      ['examples/checks/constructors.c'],
    ] as const) {
      const files = [program, ...parts].map((source) => compile(source, C, processor));
      const output = path.join(folder, `${path.basename(program)}.${processor}.co`);
      const objects = files.map((name) => ({ name, bytes: assembleFile(readFileSync(name, 'utf8'), { file: name }) }));
      writeFileSync(output, linkCodeObject(objects));
      for (const [index, { bytes }] of objects.entries()) writeFileSync(`${files[index]}.o`, bytes);
      const expected = `${output}.lld`;
      execute('ld.lld-19', ['-shared', ...files.map((file) => `${file}.o`), '-o', expected]);
      const [own, reference] = [output, expected].map((image) =>
        execute(process.execPath, ['bin/wavewright.js', 'run', image, ...args]),
      );
      assert.ok(own!.stdout.length > 0, own!.stderr);
      assert.deepEqual(own, reference, program);
    }
  });
}
