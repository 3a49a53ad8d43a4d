/**
 * What compilers write assembles to what they assemble it to themselves: `clang -S` at all levels, with and
 * without debug information, against LLVM's assembler for the same text and against clang's own object.
 * WAVEWRIGHT_SCALE=full takes 300 files.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { assembleFile } from '../../src/assembler/assemble-file.ts';
import { parseElf } from '../../src/elf/elf.ts';
import { IS_FULL_SCALE } from '../scale.ts';
import { describeObject, type ObjectDescription } from './object-description.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-compiler-output-'));
after(() => rmSync(folder, { recursive: true }));

const isMissing = spawnSync('clang-19', ['--version']).status !== 0;

function execute(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr.slice(0, 500)}`);
}

const AMDHSA = ['--target=amdgcn-amd-amdhsa', '-mcode-object-version=5', '-nogpulib', '-w'];
const C = [
  ...AMDHSA,
  '-std=c17',
  '-ffreestanding',
  '-nostdlibinc',
  '-isystem',
  'examples/device/include',
  '-Iexamples/device',
];
const OPENCL = [...AMDHSA, '-cl-std=CL2.0', '-Xclang', '-finclude-default-header', '-Itest/data/opencl', '-DWAVE=32'];
/** To bitcode: clang would link an object. */
const HIP = [
  ...['-x', 'hip', '--cuda-device-only', '-fgpu-rdc', '--no-gpu-bundle-output', '-nogpuinc', '-nogpulib', '-w'],
  ...['-Itest/data/hip', '-DWAVE=32'],
];

const files = (under: string, extension: string, names: string): string[] =>
  names.split(' ').map((name) => `${under}/${name}.${extension}`);

/** Those that compile for every processor. */
const SOURCES: readonly (readonly [file: string, options: readonly string[]])[] = [
  ...files('test/data/opencl', 'cl', 'algorithms control conversions floats groups integers memory patterns vectors'),
  ...files('examples/kernels', 'cl', 'bitonic gather histogram nbody reduction sha256'),
  ...files('examples/device', 'c', 'crt stdio stdlib string'),
  ...files(
    'examples',
    'c',
    'hello/hello quicksort/quicksort sha256/sha256 sieve/sieve checks/constructors checks/divergence',
  ),
  ...files('test/data/hip', 'hip', 'classes templates'),
].map((file) => [file, { '.c': C, '.cl': OPENCL, '.hip': HIP }[path.extname(file)] ?? []]);

const PROCESSORS = ['gfx90a', 'gfx942', 'gfx1030', 'gfx1100', 'gfx1200'];
const LEVELS = ['-O0', '-O1', '-O2', '-O3', '-Os'];
const DEBUG = [[], ['-g'], ['-g', '-gdwarf-4'], ['-gline-tables-only']];

interface Sample {
  readonly source: string;
  readonly processor: string;
  /** Level and debug information. */
  readonly flavour: readonly string[];
  readonly options: readonly string[];
}

/** `count` samples, in which every value of every choice comes up as often as every other. */
function samples(count: number): Sample[] {
  return Array.from({ length: count }, (_, i) => {
    const [source, options] = SOURCES[(i * 7) % SOURCES.length]!;
    const processor = PROCESSORS[i % PROCESSORS.length]!;
    const level = LEVELS[(i + Math.floor(i / LEVELS.length)) % LEVELS.length]!;
    const debug = DEBUG[(i + Math.floor(i / (4 * LEVELS.length))) % DEBUG.length]!;
    return { source, processor, flavour: [level, ...debug], options };
  });
}

/** Writes assembler text and object of a sample. */
function compile({ source, processor, flavour, options }: Sample, text: string, object: string): void {
  const isHip = options === HIP;
  const bitcode = path.join(folder, 'bitcode.bc');
  if (isHip) execute('clang-19', [...options, `--offload-arch=${processor}`, ...flavour, '-c', source, '-o', bitcode]);
  const input = isHip ? [...AMDHSA, '-x', 'ir', bitcode] : [...options, source];
  for (const output of [text, object]) {
    const how = output === text ? '-S' : '-c';
    execute('clang-19', [`-mcpu=${processor}`, ...flavour, ...input, how, '-o', output]);
  }
}

/**
 * Sections with their sizes, symbols and relocations. The bytes of clang's own object differ in places from
 * what its own assembler makes of its text, and so does its line table, to which the text does not say where
 * functions end; an empty section is in the text alone.
 */
function comparable({ header, sections, symbols, relocations }: ObjectDescription): unknown {
  const kept = sections
    .filter(({ name }) => name !== '.AMDGPU.csdata')
    .map(({ name, kind }) => (name.endsWith('.debug_line') ? name : `${name} ${kind}`));
  const others = relocations.filter((text) => !text.startsWith('.rela.debug_line '));
  return { header, sections: kept.toSorted(), symbols, relocations: others.toSorted() };
}

/** Directives that compilers do not write, in all their forms. */
const HAND_WRITTEN = `
.macro plain
  s_nop 1
.endm
.macro mov2 d, s=7, t:req
  s_mov_b32 s\\d, \\s
  s_mov_b32 s\\d, \\t
  .long \\@
.endm
.macro many args:vararg
  .long \\args
.endm
.macro count n
  .if \\n
    .long \\n
    count (\\n-1)
  .endif
.endm
.macro leave x
  .long 1
  .ifc \\x,stop
    .exitm
  .endif
  .long 2
.endm
.macro str text
  .ascii "\\text"
  .ascii "a\\()b"
.endm
.macro lab name
\\name\\()_x: s_branch \\name\\()_x
1: s_branch 1b
.endm
.text
plain
foo: plain
mov2 1, , 5
mov2 2 3 4
mov2 t=1, d=3
mov2 d=4 , t = 9
lab a
lab b
.data
many 1, 2 , 3
count 3
leave stop
leave go
str "hello world"
str hi
.set i, 0
.rept 4
  .byte i
  .set i, i+1
.endr
.irp r, 1, 2,(3 + 4)
  .long \\r
  .irp q,5 6
   .byte \\r * \\q
  .endr
.endr
.irpc c,abc
  .byte 0x\\c
.endr
.irpc c,12
  .byte \\@
.endr
.rept 0
 .byte 99
.endr
.macro outer n
 .macro inner\\n v
   .short \\v + \\n
 .endm
.endm
outer 5
inner5 3
.purgem inner5
.if 0
 .byte 1
 .if 1
  .byte 2
 .else
  .byte 3
 .endif
.elseif 1
 .byte 4
.elseif 1
 .byte 5
.else
 .byte 6
.endif
.ifdef foo
 .byte 7
.else
 .byte 8
.endif
.ifndef nope
 .byte 9
.endif
.ifb
 .byte 10
.endif
.ifnb x
 .byte 11
.endif
.ifeqs "a","a"
 .byte 12
.endif
.ifnes "a","b"
 .byte 13
.endif
.ifnc a b , a b
 .byte 14
.else
 .byte 15
.endif
.ifge i - 4
 .byte 16
.endif
.iflt i - 4
 .byte 17
.endif
.if i == 4 && 1
 .byte 18
.endif
.macro exprs a, b
 .long \\a, \\b
.endm
exprs 1 + 2, 3 * (4 + 5)
exprs -1, -2
exprs 4 (5)
.uleb128 300, 5, end - start
.sleb128 -300, -64, start - end
start:
.skip 200
end:
.uleb128 end2 - end
.byte 1
end2:
.long end2
.text
.file "a.c"
.file 1 "dir/b.c"
.file 2 "/x" "c.c"
.file 3 "d.c"
.loc 1 5
s_nop 0
.loc 2 5 7 basic_block prologue_end is_stmt 0 isa 3 discriminator 5
s_nop 0
.loc 3 900 epilogue_begin
.loc 3 900 3
.skip 4000
s_nop 0
.fill 16, 4, 1
.loc 3 899 3 is_stmt 1
.long 5
.p2align 8
.section .text.b,"ax",@progbits
.loc 1 1 1
s_nop 0
.data
.loc 1 2 3
.byte 7
.text
s_nop 0
.loc 1 100000 3
s_endpgm
.cfi_sections .debug_frame
framed:
.cfi_startproc
s_nop 0
.cfi_def_cfa 40, 8
s_nop 0
.cfi_def_cfa_offset 16
.cfi_offset 33, 4
.cfi_offset 33, -4
.cfi_offset 100, 8
s_nop 0
.cfi_adjust_cfa_offset 12
.cfi_rel_offset 34, 20
.cfi_register 34, 35
.skip 400
.cfi_restore 34
.cfi_restore 134
.cfi_undefined 36
.cfi_same_value 37
.cfi_remember_state
.skip 4000
.cfi_restore_state
.cfi_def_cfa_register 41
.cfi_escape 0x0f, 1, 2
.skip 400000
.cfi_undefined 36
s_endpgm
.cfi_endproc
.section .x,"axG",@progbits,grp,comdat
s_nop 0
.section .x,"axG",@progbits,grp2
s_nop 0
.long .x
.section .y,"ax?",@progbits
.long 1
.section .x,"ax",@progbits,unique,3
s_nop 0
.section .z,"ao",@progbits,framed
.long framed
.section .m,"aMSR",@progbits,1
.asciz "x"
`;

/** Resources of kernels as LLVM 20 and later write them, in the functions that LLVM 19 knows. */
const RESOURCES = `
.set k.num_vgpr, max(32, f.num_vgpr)
.set k.num_agpr, max(0, f.num_agpr)
.set k.uses_vcc, or(1, f.uses_vcc)
.set f.num_vgpr, 41
.set f.num_agpr, 7
.set f.uses_vcc, 0
.text
resources: s_endpgm
.rodata
.long max(1, 5, 3), or(1, 6), alignto(5, 4), extrasgprs(1, 0, 0), extrasgprs(0, 1, 0), extrasgprs(0,0,1), extrasgprs(0,0,0), totalnumvgprs(7, 41), totalnumvgprs(0, 41), totalnumvgprs(50, 41)
.long k.num_vgpr, k.num_agpr, k.uses_vcc, late
.p2align 6
.amdhsa_kernel resources
 .amdhsa_next_free_vgpr max(totalnumvgprs(k.num_agpr, k.num_vgpr), 1)
 .amdhsa_next_free_sgpr max(late + extrasgprs(k.uses_vcc, 0, 1), 1) - extrasgprs(k.uses_vcc, 0, 1)
 .amdhsa_reserve_vcc k.uses_vcc
 .amdhsa_private_segment_fixed_size late * 4
 ACC
.end_amdhsa_kernel
.set late, max(17, 20)
`;

test('macros, conditions, line tables, frames and groups mean what they mean to LLVM', { skip: isMissing }, () => {
  for (const processor of [...PROCESSORS, 'gfx908']) {
    const accumulators = /gfx9[04][a2]/.test(processor) ? '.amdhsa_accum_offset alignto(max(k.num_vgpr, 1), 4)' : '';
    const source = `${HAND_WRITTEN}${RESOURCES.replace('ACC', accumulators)}`;
    const [text, object] = [path.join(folder, 'hand.s'), path.join(folder, 'hand.o')];
    writeFileSync(text, source);
    execute('llvm-mc-19', ['--triple=amdgcn-amd-amdhsa', `--mcpu=${processor}`, '--filetype=obj', text, '-o', object]);
    const own = parseElf(assembleFile(source, { processor, file: text }));
    assert.deepEqual(describeObject(own), describeObject(parseElf(readFileSync(object))), processor);
  }
});

const COUNT = IS_FULL_SCALE ? 300 : 10;

test(`${COUNT} files that clang writes become the objects that LLVM makes of them`, { skip: isMissing }, () => {
  const text = path.join(folder, 'text.s');
  const assembled = path.join(folder, 'assembled.o');
  const compiled = path.join(folder, 'compiled.o');
  for (const sample of samples(COUNT)) {
    const { source, processor, flavour } = sample;
    const name = [source, processor, ...flavour].join(' ');
    compile(sample, text, compiled);
    execute('llvm-mc-19', [
      '--triple=amdgcn-amd-amdhsa',
      `--mcpu=${processor}`,
      '--filetype=obj',
      text,
      '-o',
      assembled,
    ]);
    const own = describeObject(parseElf(assembleFile(readFileSync(text, 'utf8'), { file: source })));
    const [theirs, direct] = [assembled, compiled].map((file) => describeObject(parseElf(readFileSync(file))));
    assert.deepEqual(own, theirs, name);
    assert.deepEqual(comparable(own), comparable(direct!), name);
  }
});
