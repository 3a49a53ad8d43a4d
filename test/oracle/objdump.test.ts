/**
 * `wavewright objdump` against llvm-objdump 19, byte for byte: the checked-in code objects, and objects
 * assembled for what those lack.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../../src/cli/run-command.test-support.ts';
import { sampled } from '../scale.ts';

const GFX9 = ['gfx900', 'gfx90a', 'gfx942'];
const PROCESSORS = [...GFX9, 'gfx1030', 'gfx1100'];
const ROOT = path.resolve(import.meta.dirname, '../..');
const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-objdump-'));
after(() => rmSync(scratch, { recursive: true }));

async function ours(argv: readonly string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const { status, bytes, stderr } = await runCommand(['objdump', ...argv]);
  return { status, stdout: bytes.toString('latin1'), stderr };
}

function theirs(argv: readonly string[]): string {
  const options = { encoding: 'latin1', maxBuffer: 2 ** 30, timeout: 60_000, cwd: ROOT } as const;
  const { stdout, error } = spawnSync('llvm-objdump-19', argv, options);
  assert.equal(error, undefined, `llvm-objdump-19: ${error?.message}`);
  return stdout;
}

/** The first lines that differ, or nothing. */
function difference(mine: string, expected: string): string | undefined {
  if (mine === expected) return undefined;
  const [a, b] = [mine.split('\n'), expected.split('\n')];
  const at = a.findIndex((line, i) => line !== b[i]);
  return `line ${at + 1}: ${JSON.stringify(a[at])}, expected ${JSON.stringify(b[at])}`;
}

async function compare(file: string, combinations: readonly (readonly string[])[]): Promise<void> {
  const wrong: string[] = [];
  for (const options of combinations) {
    const argv = [...options, file];
    const { stdout, stderr, status } = await ours(argv);
    const found = status === 0 ? difference(stdout, theirs(argv)) : stderr;
    if (found !== undefined) wrong.push(`${argv.join(' ')}: ${found}`);
  }
  assert.deepEqual(wrong, []);
}

const ALWAYS: readonly (readonly string[])[] = [
  ['-d'],
  ['-f', '-h', '-t', '-T', '-r'],
  ['--file-headers', '--headers', '--syms', '--dynamic-syms', '--reloc'],
  ['-dr'],
  ['-d', '--no-show-raw-insn', '--no-leading-addr', '--reloc'],
  ['--disassemble', '--symbolize-operands'],
  ['-S'],
  ['-d', '--start-address=0x1a10', '--stop-address=0x2810'],
  ['-t', '-T', '-r', '--start-address=0x1000', '--stop-address=0x2000'],
  ['-j', '.text', '-d', '-h', '-r'],
  ['-D', '--section=.data', '-j', '.bss'],
];
const ALL_SECTIONS: readonly (readonly string[])[] = [['-D'], ['-Dr', '--no-leading-addr'], ['-d', '-j', '.rodata']];

/**
 * Files with data that LLVM shows as instructions whose operands it complains about ("Invalid register"):
 * what we show in their place is the instruction without the complaint. On gfx1100 most data look like 16-bit
 * operations on registers that LLVM 19 does not know as halves.
 */
const COMPLAINTS = /^examples\/(kernels\/)?sha256\b|\.gfx1100\./;

for (const processor of PROCESSORS) {
  const files = globSync([`examples/**/*.${processor}.co`, `test/data/codeobjects/*.${processor}.*o`], { cwd: ROOT });
  test(`${processor}: ${files.length} checked-in code objects`, { skip: files.length === 0 }, async () => {
    for (const file of sampled(files.sort(), 3)) {
      await compare(file, ALWAYS);
      if (!COMPLAINTS.test(file)) await compare(file, ALL_SECTIONS);
      if (/\.co$/.test(file) && !file.includes('stripped')) await compare(file, [['-R'], ['-TR']]);
    }
  });
}

/**
 * Local labels, calls, data in text, weak and absolute symbols, several sections, relocations of every kind.
 */
const EVERYTHING = `
	.text
	.globl foo
	.p2align 8
	.type foo,@function
foo:
	s_branch L1
	v_mov_b32 v0, s0
	s_cbranch_scc1 foo
L1:
	s_call_b64 s[4:5], bar
	s_cbranch_execz L2
	s_cbranch_vccz L1
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, ext@rel32@lo+4
	s_addc_u32 s1, s1, ext@rel32@hi+12
	s_mov_b32 s2, ext@abs32@lo
	s_mov_b32 s3, ext@gotpcrel32@hi-20
L2:
	s_endpgm
	.zero 12
	.long 0xffffffff
	.byte 1,2,3
data:
	.type data,@object
	.long 1,2,3
	.asciz "hello"
	.byte 9,9,9
	.type bar,@function
bar:
alias:
	s_setpc_b64 s[4:5]
	.size bar,.-bar
	.zero 64
	s_nop 7
	.byte 1
	.section .text.other,"ax",@progbits
	.weak w
w:
	s_nop 3
	s_branch foo
lo:
	s_nop 2
	s_branch w
	.section .text.empty,"ax",@progbits
	.section .data,"aw"
	.quad foo
	.quad ext+8
	.quad bar-2
	.section .bss,"aw",@nobits
	.zero 16
	.comm comm,16,8
	.set abs, 0x1234
	.globl abs
	.ident "an identification of the producer"
	.rodata
	.p2align 6
	.amdhsa_kernel foo
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 8
	.amdhsa_user_sgpr_kernarg_preload_length 2
	.amdhsa_user_sgpr_kernarg_preload_offset 1
	.amdhsa_accum_offset 4
	.end_amdhsa_kernel
	.amdhsa_kernel alias
	.amdhsa_next_free_vgpr 90
	.amdhsa_next_free_sgpr 48
	.amdhsa_accum_offset 88
	.amdhsa_system_vgpr_workitem_id 2
	.end_amdhsa_kernel
	.byte 1
`;

function assemble(name: string, processor: string, source: string): string {
  const [input, output] = [path.join(scratch, `${name}.s`), path.join(scratch, `${name}.o`)];
  writeFileSync(input, source);
  const target = ['-triple=amdgcn-amd-amdhsa', `-mcpu=${processor}`, '-filetype=obj'];
  execFileSync('llvm-mc-19', [...target, input, '-o', output], { timeout: 60_000 });
  return output;
}

const without = (source: string, line: RegExp): string =>
  source
    .split('\n')
    .filter((text) => !line.test(text))
    .join('\n');

for (const processor of PROCESSORS) {
  test(`${processor}: an object with everything, relocatable and linked`, async () => {
    const isNew = !GFX9.includes(processor);
    const isCdna = processor === 'gfx90a' || processor === 'gfx942';
    const source = isCdna ? EVERYTHING : without(EVERYTHING, /accum_offset|preload/);
    const object = assemble(`everything-${processor}`, processor, source);
    const combinations = [
      ...ALWAYS,
      ['-d', '--disassemble-symbols=bar,data,w'],
      ['-D', '--disassemble-symbols=foo.kd,alias', '--disassemble-symbols=lo'],
      ['-d', '--disassemble-symbols=nothing'],
      ['-d', '-r', '-j', '.data', '-j', '.rodata', '-j', '.text.other'],
      ['-d', '--mcpu=gfx90a'],
      ['-d', '--triple=amdgcn-amd-amdhsa', '--start-address=24'],
      ['-dr', '--symbolize-operands', '--stop-address=0x44'],
      ...(isNew ? [['-d', '--mattr=+wavefrontsize64']] : ALL_SECTIONS.slice(2)),
    ];
    await compare(object, combinations);
    const linkable = assemble(`linkable-${processor}`, processor, without(source, /\bext[@+]|branch (foo|w)$|\.comm/));
    const linked = path.join(scratch, `everything-${processor}.co`);
    execFileSync('ld.lld-19', ['-shared', linkable, '-o', linked], { timeout: 60_000 });
    await compare(linked, [...combinations, ['-R'], ['-d', '--start-address=0x1404', '--stop-address=0x1470']]);
  });

  test(`${processor}: kernel descriptors with any bit set`, async () => {
    const kernels = Array.from({ length: 512 }, (_, bit) => {
      const bytes = new Uint8Array(64);
      const view = new DataView(bytes.buffer);
      view.setUint32(48, GFX9.includes(processor) ? 0xac0040 : 0xac0000, true);
      view.setUint32(52, 0x84, true);
      view.setUint16(56, 8, true);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      return `\t.type k${bit}.kd,@object\nk${bit}.kd:\n\t.byte ${bytes.join(',')}\n`;
    });
    const source = `\t.section .rodata,"a",@progbits\n\t.p2align 6\n${kernels.join('')}`;
    const object = assemble(`descriptors-${processor}`, processor, source);
    await compare(object, [
      ['-d', '-j', '.rodata'],
      ['-j', '.rodata', '-d', '--stop-address=0x1020'],
      ['-d', '-j', '.rodata', '--disassemble-symbols=k3.kd,k460.kd'],
    ]);
  });
}

test('what is wrong with options and files is said on stderr', async () => {
  const file = 'test/data/codeobjects/kernels.gfx90a.v5.co';
  const missing = await ours(['-d', '--disassemble-symbols=nope', '-j', '.text', file]);
  assert.deepEqual(
    [missing.status, missing.stdout],
    [0, theirs(['-d', '--disassemble-symbols=nope', '-j', '.text', file])],
  );
  assert.match(missing.stderr, /warning: '.*': failed to disassemble missing symbol nope\n$/);
  assert.match((await ours(['-h', '-j', '.nope', file])).stderr, /warning: section '\.nope' mentioned in a -j/);
  assert.match((await ours(['-d', '--start-address=0xffffff', file])).stderr, /no section has address greater than/);
});

const TWO_KERNELS = `
kernel void small(global int *p) {
  p[0] = 1;
}
int helper(int x) { return x * 3; }
kernel void large(global int *p) {
  for (int i = 0; i < 100; i++)
    p[i] = helper(p[i]) + i;
}
`;

for (const processor of ['gfx90a', 'gfx1100']) {
  test(`${processor}: source lines of an object that is not linked, in one section or several`, async () => {
    const source = path.join(scratch, 'two.cl');
    writeFileSync(source, TWO_KERNELS);
    const flags = ['--target=amdgcn-amd-amdhsa', `-mcpu=${processor}`, '-nogpulib', '-cl-std=CL2.0', '-O1', '-g', '-c'];
    const [together, apart] = ['together', 'apart'].map((name) => path.join(scratch, `${name}.${processor}.o`));
    execFileSync('clang-19', [...flags, source, '-o', together!], { stdio: 'pipe', timeout: 60_000 });
    execFileSync('clang-19', [...flags, '-ffunction-sections', source, '-o', apart!], {
      stdio: 'pipe',
      timeout: 60_000,
    });
    await compare(together!, [['-S'], ['-d', '-l'], ['-l', '-S', '-r']]);
    // For the padding of a section without functions LLVM 19 names one of another section.
    await compare(apart!, [['-S']]);
    assert.match((await ours(['-S', apart!])).stdout, /^; {3}p\[0\] = 1;$/m);
  });

  test(`${processor}: -S shows the lines of the source, -l their numbers`, async () => {
    const wrong: string[] = [];
    for (const debug of ['-g', '-gdwarf-4', '-gline-tables-only']) {
      for (const level of ['-O0', '-O2']) {
        for (const kernel of ['mandelbrot', 'reduction']) {
          const source = path.join(ROOT, `examples/kernels/${kernel}.cl`);
          const file = path.join(scratch, `${kernel}.${processor}${debug}${level}.co`);
          const flags = [
            '--target=amdgcn-amd-amdhsa',
            `-mcpu=${processor}`,
            '-nogpulib',
            '-cl-std=CL2.0',
            '-x',
            'cl',
            level,
            '-g',
            debug,
          ];
          execFileSync('clang-19', [...flags, source, '-o', file], { stdio: 'pipe', timeout: 60_000 });
          // DWARF 4 has names relative to a folder that only .debug_info says.
          for (const argv of debug === '-gdwarf-4' ? [['-S']] : [['-S'], ['-d', '-l'], ['-l', '-S']]) {
            const { stdout, stderr, status } = await ours([...argv, file]);
            const expected = theirs([...argv, file]);
            assert.match(expected, argv.includes('-S') ? /^; {2,}.*;$/m : /^; \S+\.cl:\d+$/m);
            const found = status === 0 ? difference(stdout, expected) : stderr;
            if (found !== undefined) wrong.push(`${path.basename(file)} ${argv}: ${found}`);
          }
        }
      }
    }
    assert.deepEqual(wrong, []);
  });
}
