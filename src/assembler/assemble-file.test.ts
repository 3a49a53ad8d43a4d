import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { parseElf } from '../elf/elf.ts';
import { describeFile } from '../inspect/report.ts';
import { linkCodeObject } from '../linker/link.ts';
import { assembleFile } from './assemble-file.ts';

const assemble = (source: string) => assembleFile(source, { processor: 'gfx90a', file: 'f.s' });

const sectionHex = (source: string, name = '.text'): string => {
  const elf = parseElf(assemble(source));
  return Buffer.from(elf.sectionBytes(elf.sectionNamed(name)!)).toString('hex');
};

test('instructions, labels and data', () => {
  assert.equal(
    sectionHex('a: s_nop 0\n s_branch a\n s_branch b\nb: s_endpgm'),
    '000080bf' + 'feff82bf' + '000082bf' + '000081bf',
  );
  assert.equal(sectionHex('1: s_branch 1b\n s_branch 1f\n1:'), 'ffff82bf' + '000082bf');
  const data = '.data\n.byte 1, -1\n.p2align 2\n.long 1 + 2 * 3\n.asciz "a\\n"';
  assert.equal(sectionHex(data, '.data'), '01ff000007000000610a00');
});

/** Message with its place; the rest is the line and the caret. */
const ERRORS: readonly (readonly [source: string, message: string])[] = [
  ['  v_mov_b32 v0', 'f.s:1:3: too few operands for instruction'],
  ['\n s_branch nowhere', "f.s:2:2: undefined label 'nowhere'"],
  ['.foo', "f.s:1:1: unknown directive '.foo'"],
  ['.macro m', "f.s:1:1: no '.endm' behind"],
  ['a: \na:', "f.s:2:1: symbol 'a' is already defined"],
  ['.long 1,', 'f.s:1:9: expected an expression'],
  ['.byte 256', 'f.s:1:1: 256 does not fit 1 bytes'],
  ['.p2align 40', 'f.s:1:10: an alignment cannot be 40'],
  ['.fill -1', 'f.s:1:7: repeat count is -1'],
  ['.set x, 1 / 0', 'f.s:1:1: division by zero'],
  ['.section .x,"q"', "f.s:1:13: section flag 'q'"],
  ['.popsection', 'f.s:1:12: .popsection without .pushsection'],
  ['s_nop 0 0', 'f.s:1:9: unexpected token'],
  [
    '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"',
    'f.s:1:16: the source is for another target than gfx90a with its features',
  ],
  ['.amdhsa_kernel k\n.end_amdhsa_kernel', 'f.s:2:1: .amdhsa_next_free_vgpr is required'],
  ['.amdhsa_kernel k\n.amdhsa_foo 1', "f.s:2:1: unknown .amdhsa_kernel directive '.amdhsa_foo'"],
  ['.amdhsa_kernel k\n.amdhsa_ieee_mode 2', 'f.s:2:1: .amdhsa_ieee_mode is 2, expected 0 to 1'],
  ['.amdhsa_kernel k\n.amdhsa_wavefront_size32 1', 'f.s:2:1: .amdhsa_wavefront_size32 is not for gfx90a'],
  ['.amdhsa_kernel k', 'f.s:1:1: the file ends within this block'],
  ['.loc 1 2 3', 'f.s:1:6: no .file 1'],
  ['.short undefined', 'f.s:1:1: there is no relocation of 1 or 2 bytes'],
  ['.long a * 2', 'f.s:1:1: expected an expression that a relocation can hold'],
];

test('errors have file, line and column', () => {
  for (const [source, message] of ERRORS) {
    assert.throws(
      () => assemble(source),
      (error) => {
        assert.ok(error instanceof WavewrightError, String(error));
        assert.equal(error.message.split('\n')[0], message);
        assert.match(error.code, /^(BAD_INPUT|UNSUPPORTED)$/);
        return true;
      },
    );
  }
});

test('what sizes ask for has a limit', () => {
  for (const source of [
    '.skip 0x100000000',
    '.fill 0x10000000, 8, 1',
    '.org 0x7fffffff\n.org 0xffffffff',
    '.p2align 30\n.skip 1\n.p2align 30\n.byte 1',
  ]) {
    assert.throws(() => assemble(source), { name: 'WavewrightError' }, source);
  }
});

const KERNEL = `
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
  s_load_dwordx2 s[0:1], s[4:5], 0x0
  s_endpgm
.Lend:
  .size k, .Lend-k
  .rodata
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 8
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 6
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
  .amdgpu_metadata
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 12
    .vgpr_count: 1
    .max_flat_workgroup_size: 256
amdhsa.version: [1, 2]
  .end_amdgpu_metadata
`;

test('a kernel is linked to a code object that says what the source says', () => {
  const image = linkCodeObject([{ name: 'k.o', bytes: assemble(KERNEL) }]);
  const report = JSON.stringify(describeFile(image, 'k.co', {}), (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  assert.match(report, /"k\.kd"/);
  const elf = parseElf(image);
  const [code, descriptor] = ['k', 'k.kd'].map((name) => elf.dynamicSymbols.find((symbol) => symbol.name === name)!);
  const entry = new DataView(elf.read(descriptor!.value, 64, 'descriptor').slice().buffer).getBigInt64(16, true);
  assert.equal(descriptor!.value + entry, code!.value);
  assert.equal(code!.value % 256n, 0n);
});

test('what a kernel needs may be said behind it', () => {
  const late = KERNEL.replace('next_free_vgpr 1', 'next_free_vgpr max(k.vgprs, 1)')
    .replace('accum_offset 4', 'accum_offset alignto(k.vgprs, 4)')
    .concat('.set k.vgprs, max(9, other.vgprs)\n.set other.vgprs, 41\n');
  const known = KERNEL.replace('next_free_vgpr 1', 'next_free_vgpr 41').replace('accum_offset 4', 'accum_offset 44');
  const rodata = (source: string) => sectionHex(source, '.rodata');
  assert.equal(rodata(late), rodata(known));
  assert.throws(
    () => assemble(late.replace('vgprs, 41', 'vgprs, 641')),
    /f\.s:18:5: \.amdhsa_accum_offset is 644, expected 0 to 256/,
  );
});

test('linking refuses what it cannot resolve', () => {
  const hidden = assemble('.hidden far\n s_add_u32 s0, s0, far@rel32@lo+4');
  assert.throws(() => linkCodeObject([{ name: 'a.o', bytes: hidden }]), /undefined hidden symbol 'far'/);
  const external = assemble(' s_add_u32 s0, s0, far@rel32@lo+4');
  assert.throws(() => linkCodeObject([{ name: 'a.o', bytes: external }]), /REL32_LO against symbol 'far'/);
  const twice = assemble('.globl k\nk: s_endpgm');
  assert.throws(
    () =>
      linkCodeObject([
        { name: 'a.o', bytes: twice },
        { name: 'b.o', bytes: twice },
      ]),
    /defined twice/,
  );
});

test('relocations with a dynamic symbol table are refused', () => {
  const bytes = assemble(KERNEL);
  const symbols = parseElf(bytes).sections.find(({ name }) => name === '.symtab')!;
  // The type of a section stands four bytes behind the begin of its header, of 64 bytes.
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(Number(view.getBigUint64(40, true)) + symbols.index * 64 + 4, 11, true);
  assert.throws(
    () => linkCodeObject([{ name: 'k.o', bytes }]),
    (error) =>
      error instanceof WavewrightError && error.code === 'BAD_INPUT' && /expected \.symtab/.test(error.message),
  );
});

test('mutated source and objects end in nothing but a WavewrightError', () => {
  const mutate = <T>(run: () => T): void => {
    try {
      run();
    } catch (error) {
      assert.ok(error instanceof WavewrightError && error.code !== 'INTERNAL', String((error as Error).stack));
    }
  };
  const object = assemble(KERNEL);
  const position = fc.nat(object.length - 1);
  fc.assert(
    fc.property(fc.nat(KERNEL.length - 1), fc.constantFrom('', ',', '"', '-', 'k', '9', '\n', '(', '@'), (at, text) => {
      mutate(() => assemble(KERNEL.slice(0, at) + text + KERNEL.slice(at + 1)));
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(position, fc.nat(255)), { minLength: 1, maxLength: 4 }), (changes) => {
      const bytes = object.slice();
      for (const [at, byte] of changes) bytes[at] = byte;
      mutate(() => linkCodeObject([{ name: 'k.o', bytes }]));
    }),
    { numRuns: 1000 },
  );
});
